"""Machines: TPUs by chip, GPUs and CPUs by machine, with what hangs on them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, lines, month, of, usd

from infra.cost.line import LineItem
from infra.declared import UNKNOWN, Declared

REGION = "us-central1"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
HOUR = Decimal("0.8536243")
"""g2-standard-8 on demand."""


def machine(name: str = "serve", **change: Any) -> Declared:
    inputs = {
        "zone": "us-central1-a",
        "machineType": "g2-standard-8",
        "bootDisk": {"initializeParams": {"size": 100, "type": "pd-balanced"}},
    } | change
    return declared("gcp:compute/instance:Instance", name, inputs)


def found(*resources: Declared, name: str = "serve", **usage: Any) -> dict[str, LineItem]:
    return of(name, *resources, usage=assuming({name: usage} if usage else None), region=REGION)


def template(**change: Any) -> Declared:
    inputs = {
        "machineType": "g2-standard-8",
        "disks": [{"boot": True, "diskType": "pd-balanced", "diskSizeGb": 100}, {"type": "SCRATCH", "interface": "NVME"}],
        "networkInterfaces": [{"subnetwork": UNKNOWN}],
    } | change
    return declared(TEMPLATE, "template", inputs)


def group(made_from: Declared, kind: str = "instanceGroupManager:InstanceGroupManager", **change: Any) -> Declared:
    inputs = {"versions": [{"instanceTemplate": UNKNOWN}], "zone": "us-central1-a", "targetSize": 3} | change
    return declared(f"gcp:compute/{kind}", "serve", inputs, made_from)


def autoscaler(of_group: Declared, least: Any = 1, most: Any = 4, kind: str = "autoscaler:Autoscaler") -> Declared:
    inputs = {"target": UNKNOWN, "autoscalingPolicy": {"minReplicas": least, "maxReplicas": most}}
    return declared(f"gcp:compute/{kind}", "scaler", inputs, of_group)


@pytest.mark.parametrize(
    ("change", "what", "expected"),
    [
        ({}, "g2-standard-8 on-demand", usd(730 * HOUR)),
        ({"machineType": "zones/us-central1-a/machineTypes/g2-standard-8"}, "g2-standard-8 on-demand", usd(730 * HOUR)),
        ({"machineType": "e2-standard-4"}, "e2-standard-4 on-demand", usd(730 * Decimal("0.1340228"))),
        ({"machineType": "n2-standard-8"}, "n2-standard-8 on-demand", usd(730 * Decimal("0.388472"))),
        (
            {"scheduling": {"provisioningModel": "SPOT"}},
            "g2-standard-8 spot",
            usd(730 * Decimal("0.479872"), 730 * Decimal("0.479872"), 730 * HOUR),
        ),
        (
            {"scheduling": {"preemptible": True}},
            "g2-standard-8 spot",
            usd(730 * Decimal("0.479872"), 730 * Decimal("0.479872"), 730 * HOUR),
        ),
        (
            {"machineType": "a3-highgpu-8g", "scheduling": {"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": 36000}}},
            "a3-highgpu-8g flex-start",
            usd(10 * Decimal("38.3200383"), 10 * Decimal("38.3200383"), 730 * Decimal("38.3200383")),
        ),
        ({"reservationAffinity": {"type": "SPECIFIC_RESERVATION"}}, "g2-standard-8 reservation", usd(730 * HOUR)),
    ],
)
def test_a_machine_costs_its_hours(change: dict[str, Any], what: str, expected: tuple[str, ...]) -> None:
    """Every kind of machine, in every way of buying."""
    assert month(found(machine(**change))[what]) == expected


def test_gpus_of_n1_are_billed_by_one() -> None:
    """An n1-standard-4 with two T4: 4 vCPUs, 15 GiB, and twice 0.35 an hour."""
    lines_of = found(machine(machineType="n1-standard-4", guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 2}]))
    assert month(lines_of["n1-standard-4 on-demand"]) == usd(730 * (4 * Decimal("0.031611") + 15 * Decimal("0.004237")))
    assert month(lines_of["2 x nvidia-tesla-t4 on-demand"]) == usd(730 * 2 * Decimal("0.35"))


def test_what_hangs_on_a_machine_is_counted() -> None:
    """Boot disk, two local SSDs of 375 GiB, one external address; an attached disk where it is declared, or with its owner."""
    own = declared("gcp:compute/disk:Disk", "cache", {"name": "cache", "zone": "us-central1-a", "type": "pd-ssd", "size": 500})
    one = machine(
        scratchDisks=[{"interface": "NVME"}, {"interface": "NVME"}],
        attachedDisks=[{"source": "cache"}, {"source": "projects/p/zones/us-central1-a/disks/theirs"}, {"source": UNKNOWN}],
        networkInterfaces=[{"accessConfigs": [{}]}],
    )
    lines_of = found(one, own)
    assert month(lines_of["boot disk pd-balanced"]) == usd(100 * Decimal("0.1"))
    assert month(lines_of["local SSD"]) == usd(2 * 375 * Decimal("0.08"))
    assert month(lines_of["external address"]) == usd(730 * Decimal("0.005"))
    assert lines_of["disk theirs"].status == "others pay"
    assert month(found(one, own, name="cache")["disk pd-ssd"]) == usd(500 * Decimal("0.17"))


def test_spot_lowers_local_ssd_and_address_too() -> None:
    """Local SSD of a Spot machine at its Spot price under that on demand; its address at half price."""
    lines_of = found(
        machine(
            scheduling={"provisioningModel": "SPOT"}, scratchDisks=[{"interface": "NVME"}], networkInterfaces=[{"accessConfigs": [{}, {}]}]
        )
    )
    low = 375 * Decimal("0.0428")
    assert month(lines_of["local SSD"]) == usd(low, low, 375 * Decimal("0.08"))
    assert month(lines_of["external address"]) == usd(2 * 730 * Decimal("0.0025"))


def test_a_bundled_ssd_is_in_the_price_of_its_machine() -> None:
    """An a3-highgpu-8g brings its SSDs."""
    assert "local SSD" not in found(machine(machineType="a3-highgpu-8g", scratchDisks=[{"interface": "NVME"}] * 16))


def test_hours_that_the_stack_file_says_hold_for_the_machine_and_not_for_its_disk() -> None:
    """A machine that stands 100 hours is only stopped for the rest: its disk stays."""
    lines_of = found(machine(), hours_month={"low": 50, "expected": 100, "high": 200})
    assert month(lines_of["g2-standard-8 on-demand"]) == usd(50 * HOUR, 100 * HOUR, 200 * HOUR)
    assert month(lines_of["boot disk pd-balanced"]) == usd(Decimal(10))


def test_a_disk_goes_with_the_machine_that_is_deleted() -> None:
    """After 73 hours, a tenth of a month, nothing is left of either."""
    lines_of = found(machine(scheduling={"provisioningModel": "STANDARD", "maxRunDuration": {"seconds": 73 * 3600}}))
    assert month(lines_of["boot disk pd-balanced"]) == usd(Decimal(1), Decimal(1), Decimal(10))


def test_a_disk_goes_with_the_hours_that_the_stack_file_says_of_a_machine_that_is_deleted() -> None:
    """7.3 to 146 hours of a machine that is deleted after each run are as many of its disk."""
    limited = {"provisioningModel": "STANDARD", "maxRunDuration": {"seconds": 5400}, "instanceTerminationAction": "DELETE"}
    lines_of = found(machine(scheduling=limited), hours_month={"low": 7.3, "expected": 73, "high": 146})
    assert month(lines_of["boot disk pd-balanced"]) == usd(Decimal("0.1"), Decimal(1), Decimal(2))


@pytest.mark.parametrize("said", [{}, {"hours_month": 73}], ids=str)
@pytest.mark.parametrize(
    "change",
    [
        {"scheduling": {"maxRunDuration": {"seconds": 73 * 3600}, "instanceTerminationAction": "STOP"}},
        {
            "scheduling": {"maxRunDuration": {"seconds": 73 * 3600}, "instanceTerminationAction": "DELETE"},
            "bootDisk": {"autoDelete": False, "initializeParams": {"type": "pd-balanced", "size": 100}},
        },
    ],
    ids=str,
)
def test_a_disk_that_outlives_its_machine_stands_all_month(change: dict[str, Any], said: dict[str, Any]) -> None:
    """The machine's run ends, by a stop or without its disk; what is left is billed."""
    assert month(found(machine(**change), **said)["boot disk pd-balanced"]) == usd(Decimal(10))


def test_a_machine_that_is_declared_stopped_costs_its_disks() -> None:
    """Nothing runs, and the disk stands."""
    lines_of = found(machine(desiredStatus="TERMINATED", networkInterfaces=[{"accessConfigs": [{}]}]))
    assert month(lines_of["g2-standard-8 on-demand"]) == ("0", "0", "0")
    assert month(lines_of["external address"]) == ("0", "0", "0")
    assert month(lines_of["boot disk pd-balanced"]) == usd(Decimal(10))


@pytest.mark.parametrize(
    "change",
    [
        {"machineType": "g9-standard-8"},
        {"desiredStatus": "SUSPENDED"},
        {"desiredStatus": UNKNOWN},
        {"guestAccelerators": UNKNOWN},
        {"guestAccelerators": [{"type": "nvidia-l4", "count": 3}]},
        {"scheduling": {"provisioningModel": "NOVEL"}},
        {"attachedDisks": UNKNOWN},
        {"scratchDisks": UNKNOWN},
        {"scratchDisks": [{"size": UNKNOWN}]},
        {"networkInterfaces": UNKNOWN},
        {"networkInterfaces": [{"accessConfigs": UNKNOWN}]},
        {"networkInterfaces": [{"ipv6AccessConfigs": [{}]}]},
        {"machineType": "ct5lp-hightpu-4t", "scheduling": {"provisioningModel": "FLEX_START"}},
        {"zone": "us-central9-a"},
    ],
    ids=str,
)
def test_what_is_not_known_of_a_machine_is_unknown(change: dict[str, Any]) -> None:
    """A miss says why."""
    result = estimated(machine(**change), region=REGION)
    assert not result.complete
    assert all(line.note for line in result.unknown)


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("instanceGroupManager:InstanceGroupManager", {"zone": "us-central1-a"}),
        ("regionInstanceGroupManager:RegionInstanceGroupManager", {"zone": None, "region": "us-central1"}),
    ],
)
def test_a_group_is_its_size_of_machines(kind: str, place: dict[str, Any]) -> None:
    """Three machines with their disks, zonal or regional; the template costs nothing."""
    made_from = template()
    lines_of = found(made_from, group(made_from, kind, **place))
    assert list(lines_of) == ["g2-standard-8 on-demand", "boot disk pd-balanced", "local SSD"]
    assert month(lines_of["g2-standard-8 on-demand"]) == usd(3 * 730 * HOUR)
    assert month(lines_of["boot disk pd-balanced"]) == usd(3 * 100 * Decimal("0.1"))
    assert month(lines_of["local SSD"]) == usd(3 * 375 * Decimal("0.08"))
    assert month(found(made_from, name="template")["InstanceTemplate"]) == ("0", "0", "0")


def tpu_group(*, policy: bool = True, region: str = "us-east5", **change: Any) -> dict[str, LineItem]:
    """The lines of a group of v6e hosts with four chips each."""
    made_from = template(
        machineType="ct6e-standard-4t", disks=[{"boot": True, "diskType": "pd-balanced", "diskSizeGb": 100}], **change.pop("template", {})
    )
    policies = {"resourcePolicies": {"workloadPolicy": UNKNOWN}} if policy else {}
    return of("serve", made_from, group(made_from, zone=f"{region}-a", **({"targetSize": 4} | policies | change)), region=region)


@pytest.mark.parametrize(
    ("policy", "size", "what", "chips"),
    [
        (True, 4, "v6e-16 on-demand", 16),
        (True, 16, "v6e-64 on-demand", 64),
        (True, 3, "v6e-4 on-demand", 12),  # no slice has three hosts: so many machines, whatever they are
        (False, 4, "v6e-4 on-demand", 16),  # four slices of one host each
        (True, 0, "v6e-4 on-demand", 0),
    ],
)
def test_hosts_of_a_slice_are_billed_by_the_chip(policy: bool, size: int, what: str, chips: int) -> None:
    """Hosts x chips x 2.70 x 730, once."""
    found_lines = tpu_group(policy=policy, targetSize=size)
    assert list(found_lines) == [what, "boot disk pd-balanced"]
    assert month(found_lines[what]) == usd(chips * Decimal("2.7") * 730)


def test_a_flex_start_slice_runs_once() -> None:
    """v6e-64 for 10 hours: 64 chips x 10 h x 1.35; its disks stand as long."""
    run = {"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": 36000}}
    found_lines = tpu_group(targetSize=16, template={"scheduling": run})
    line = found_lines["v6e-64 flex-start"]
    assert line.quantity is not None
    assert line.quantity[1] == 640
    assert found_lines["boot disk pd-balanced"].quantity is not None
    disks = found_lines["boot disk pd-balanced"].quantity[1]
    assert disks == pytest.approx(Decimal(1600) * 10 / 730, abs=Decimal("0.000001"))


def test_an_autoscaler_bounds_its_group() -> None:
    """One to four machines, two as the stack file says; the target size then means nothing."""
    made_from = template()
    many = group(made_from, targetSize=None)
    lines_of = found(made_from, many, autoscaler(many), nodes=2)
    assert month(lines_of["g2-standard-8 on-demand"]) == usd(730 * HOUR, 2 * 730 * HOUR, 4 * 730 * HOUR)
    result = estimated(made_from, many, autoscaler(many), region=REGION)
    assert result.complete
    assert {one.name for one in result.assumptions} >= {"resources.serve.nodes"}


def test_a_resize_request_is_machines_that_are_deleted_after_their_run() -> None:
    """Two more machines for 73 hours, flex-start, of a group of none; expected once, at most again and again."""
    made_from = template(machineType="a3-highgpu-8g", scheduling={"provisioningModel": "FLEX_START"})
    empty = group(made_from, targetSize=0)
    inputs = {"instanceGroupManager": UNKNOWN, "resizeBy": 2, "requestedRunDuration": {"seconds": "262800"}}
    request = declared("gcp:compute/resizeRequest:ResizeRequest", "train", inputs, empty)
    line = found(made_from, empty, request, name="train")["a3-highgpu-8g flex-start"]
    once = 2 * 73 * Decimal("38.3200383")
    assert month(line) == usd(once, once, 10 * once)
    assert month(found(made_from, empty, request)["a3-highgpu-8g flex-start"]) == ("0", "0", "0")
    for change in ({"resizeBy": UNKNOWN}, {"requestedRunDuration": {"seconds": UNKNOWN}}):
        assert not estimated(made_from, empty, declared(request.type, "train", inputs | change, empty), region=REGION).complete
    assert found(made_from, request, name="train")["ResizeRequest"].status == "unknown"


@pytest.mark.parametrize(
    "change",
    [{"targetSize": UNKNOWN}, {"targetSize": None}, {"versions": UNKNOWN}, {"versions": []}, {"versions": [{}, {}]}, {"zone": UNKNOWN}],
    ids=str,
)
def test_what_is_not_known_of_a_group_is_unknown(change: dict[str, Any]) -> None:
    """How many machines, of which template, and where."""
    made_from = template()
    assert found(made_from, group(made_from, **change))["InstanceGroupManager"].status == "unknown"


@pytest.mark.parametrize(("least", "most"), [(UNKNOWN, 3), (1, UNKNOWN), (3, 1), (-1, 3)])
def test_bounds_that_are_none_are_unknown(least: Any, most: Any) -> None:
    """Bounds upside down are no bounds."""
    made_from = template()
    many = group(made_from)
    assert "bounds of its autoscaler" in found(made_from, many, autoscaler(many, least, most))["InstanceGroupManager"].note


def test_an_autoscaler_of_no_known_group_is_unknown() -> None:
    """What it may make is billed nowhere else."""
    lost = declared("gcp:compute/autoscaler:Autoscaler", "scaler", {"target": UNKNOWN})
    assert not estimated(lost, region=REGION).complete


def test_a_template_whose_disks_are_not_known_leaves_the_group_open() -> None:
    """The machines have a price, the disks have not."""
    made_from = template(disks=UNKNOWN)
    lines_of = found(made_from, group(made_from))
    assert (lines_of["g2-standard-8 on-demand"].status, lines_of["disks"].status) == ("priced", "unknown")


def test_nat_counts_groups_and_hours() -> None:
    """Three machines of a group and one that stands 100 hours."""
    made_from = template()
    gateway = declared("gcp:compute/routerNat:RouterNat", "network", {"region": REGION})
    usage = assuming({"one": {"hours_month": 100}})
    line = lines(gateway, made_from, group(made_from), machine("one"), usage=usage, region=REGION)["NAT of 4 machines"]
    assert month(line) == usd((3 * 730 + 100) * Decimal("0.0014"))
