"""What resources cost: figures calculated by hand, and nothing that is guessed."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalog import prices
from infra.cost.estimate import Estimate, estimate
from infra.cost.free import FREE
from infra.cost.line import LineItem
from infra.cost.usage import Usage
from infra.declared import UNKNOWN, Declared, Secret

AMOUNTS = [name for name in Usage.model_fields if name != "resources"]
NOTHING = Usage.model_validate(dict.fromkeys(AMOUNTS, 0))


def instance(**change: Any) -> Declared:
    inputs = {
        "zone": "us-east5-a",
        "machineType": "ct6e-standard-8t",
        "scheduling": {"provisioningModel": "SPOT"},
        "bootDisk": {"initializeParams": {"size": 100, "type": "hyperdisk-balanced"}},
    } | change
    return Declared("gcp:compute/instance:Instance", "eval", inputs)


def node(**change: Any) -> Declared:
    inputs = {"zone": "asia-east1-c", "acceleratorType": "v2-8", "schedulingConfig": {"spot": False, "reserved": False}} | change
    return Declared("gcp:tpu/v2Vm:V2Vm", "eval", inputs)


def bucket(name: str = "data", **change: Any) -> Declared:
    return Declared("gcp:storage/bucket:Bucket", name, {"location": "us-east5"} | change)


def repository(name: str = "images", **change: Any) -> Declared:
    return Declared("gcp:artifactregistry/repository:Repository", name, {"location": "us-east5"} | change)


def nat(**change: Any) -> Declared:
    return Declared("gcp:compute/routerNat:RouterNat", "network", {"region": "us-east5"} | change)


def assuming(**usage: Any) -> Usage:
    return Usage.model_validate(dict.fromkeys(AMOUNTS, 0) | usage)


def lines(*resources: Declared, usage: Usage = NOTHING, region: str = "us-east5") -> dict[str, LineItem]:
    return {line.what: line for line in estimate(resources, usage, region=region).lines}


def month(line: LineItem) -> tuple[str, ...]:
    assert line.usd_month is not None
    return tuple(f"{amount.normalize():f}" for amount in line.usd_month)


@pytest.mark.parametrize(
    ("resource", "what", "expected"),
    [
        # 8 chips x 730 h x 1.27575; at most 8 x 730 x 2.70 on demand
        (instance(), "v6e-8 spot", ("7450.38", "7450.38", "15768")),
        # 1 chip x 730 h x 2.70
        (
            instance(machineType="ct6e-standard-1t", scheduling={"provisioningModel": "STANDARD"}),
            "v6e-1 on-demand",
            ("1971", "1971", "1971"),
        ),
        # 4 chips x 3 h x 1.35, and at most 730 h
        (
            instance(machineType="ct6e-standard-4t", scheduling={"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": 10800}}),
            "v6e-4 flex-start",
            ("16.2", "16.2", "3942"),
        ),
        # 4 chips x 730 h x 1.2
        (
            instance(
                machineType="ct5lp-hightpu-4t",
                scheduling={"provisioningModel": "STANDARD"},
                reservationAffinity={"type": "SPECIFIC_RESERVATION"},
            ),
            "v5litepod-4 reservation",
            ("3504", "3504", "3504"),
        ),
        # 4 chips x 730 h x 1.305
        (node(), "v2-8 on-demand", ("3810.6", "3810.6", "3810.6")),
        # 4 chips x 730 h x 0.3915, at most 1.305
        (node(schedulingConfig={"preemptible": True}), "v2-8 spot", ("1143.18", "1143.18", "3810.6")),
        (node(schedulingConfig={"spot": True}), "v2-8 spot", ("1143.18", "1143.18", "3810.6")),
    ],
)
def test_a_tpu_machine_costs_chips_times_hours(resource: Declared, what: str, expected: tuple[str, ...]) -> None:
    """A slice costs its chips, an hour each, its host included; Spot is bounded by the on-demand price."""
    assert month(lines(resource)[what]) == expected


def test_a_boot_disk_is_bounded_where_sources_disagree() -> None:
    """100 GiB of Hyperdisk Balanced lie between 6 and 12 USD, and the line says that they do."""
    line = lines(instance())["boot disk hyperdisk-balanced"]
    assert month(line) == ("6", "8", "12")
    assert line.status == "bounded"
    assert month(lines(instance(bootDisk={"initializeParams": {"size": 200, "type": "pd-balanced"}}))["boot disk pd-balanced"]) == (
        "20",
        "20",
        "20",
    )


def test_storage_costs_what_is_assumed_to_lie_there() -> None:
    """10 GiB at 0.02 are 0.20; the repository's first half GiB is free."""
    usage = assuming(data_gib={"low": 1, "expected": 10, "high": 100}, images_gib=10)
    found = lines(bucket(), repository(), usage=usage)
    assert month(found["data bucket"]) == ("0.02", "0.2", "2")
    assert month(found["images"]) == ("0.95", "0.95", "0.95")


def test_nat_costs_by_machine_address_and_data() -> None:
    """One machine is 730 x 0.0014, one address 730 x 0.005, and each GiB 0.045; 40 machines cost what 32 do."""
    found = lines(nat(), instance(), usage=assuming(nat_data_gib=20))
    assert month(found["NAT of 1 machine"]) == ("1.022", "1.022", "1.022")
    assert month(found["NAT address"]) == ("3.65", "3.65", "3.65")
    assert month(found["NAT data"]) == ("0.9", "0.9", "0.9")
    many = [Declared(instance().type, str(number), instance().inputs) for number in range(40)]
    assert month(lines(nat(), *many)["NAT of 40 machines"]) == ("32.704", "32.704", "32.704")


def test_nat_does_not_count_a_machine_that_others_own() -> None:
    """What will not be made here is not counted here."""
    assert "NAT of 1 machine" in lines(nat(), instance(), replace(instance(), name="theirs", existing=True))


@pytest.mark.parametrize("free", [50, 3])
def test_what_is_free_is_what_the_tier_of_the_price_says(free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The free amount of logs follows the price table, and the line says it."""
    known = prices.price("logging", "us-east5")
    assert known.tier == "after 50 GiB free per project"
    told = replace(known, tier=f"after {free} GiB free per project")
    monkeypatch.setattr(prices, "price", lambda item, region: replace(told, item=item))
    line = lines(bucket(), usage=assuming(logs_gib=60))["logs"]
    assert line.quantity == (60 - free,) * 3
    assert line.note == f"first {free} a month free"


def test_no_operation_is_taken_off_as_free() -> None:
    """The free operations of a bucket hold in three regions of the US alone: each thousand writes costs 0.005."""
    assert month(lines(bucket(), usage=assuming(storage_class_a_thousands=5))["bucket writes"]) == ("0.025", "0.025", "0.025")


@pytest.mark.parametrize("kind", FREE)
def test_what_is_free_says_why(kind: str) -> None:
    """A free type makes a line of nothing, with the reason, and leaves the total complete."""
    result = estimate([Declared(kind, "x", {"name": "x"})], NOTHING, region="us-east5")  # what has no inputs is a component
    line = next(line for line in result.lines if line.resource == "x")
    assert (line.status, month(line), line.note) == ("free", ("0", "0", "0"), FREE[kind])
    assert result.complete


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (Declared("gcp:compute/reservation:Reservation", "x", {}), "is in no price table"),
        (Declared("gcp:novel/thing:Thing", "x", {}), "is in no price table"),
        (instance(machineType="n9-standard-2"), "no price of n9-standard-2 instance-hour, spot in us-east5 is known"),
        (instance(machineType=UNKNOWN), "is not known yet"),
        (instance(zone=UNKNOWN), "is not known yet"),
        (
            instance(zone="asia-east1-c", scheduling={"provisioningModel": "STANDARD"}),
            "no price of tpu-v6e chip-hour, on-demand in asia-east1 is known",
        ),
        (instance(bootDisk={"initializeParams": {"size": UNKNOWN, "type": "pd-balanced"}}), "no price of a disk"),
        (instance(bootDisk={"initializeParams": {"size": 10, "type": "pd-novel"}}), "no price of a disk"),
        (node(acceleratorType="v9-8"), "is not a TPU accelerator type"),
        (node(acceleratorType=UNKNOWN), "is not known yet"),
        (instance(bootDisk={"initializeParams": {"size": Secret(10), "type": "pd-balanced"}}), "no price of a disk"),
        (instance(bootDisk={"initializeParams": {"size": "much", "type": "pd-balanced"}}), "no price of a disk"),
        (instance(bootDisk={"initializeParams": {"size": 10, "type": ["pd-balanced"]}}), "no price of a disk"),
        (instance(bootDisk={"initializeParams": {"size": 10, "type": "pd-balanced", "provisionedIops": 9000}}), "provisionedIops"),
        (instance(reservationAffinity=UNKNOWN), "is not known yet"),
        (instance(reservationAffinity={"type": UNKNOWN}), "is not known yet"),
        (instance(scheduling={"provisioningModel": "SPOT", "maxRunDuration": {"seconds": True}}), "is not known yet"),
        (node(schedulingConfig={"spot": Secret(False)}), "is not known yet"),
        (node(dataDisks=[{"sourceDisk": "x"}]), "no price of dataDisks"),
        (node(networkConfig={"enableExternalIps": True}), "no price of networkConfig.enableExternalIps"),
        (nat(region="us-central1"), "no price of region us-central1"),
        (nat(region=UNKNOWN), "no price of region UNKNOWN"),
        (repository(location="europe-west4"), "no price of location europe-west4"),
        (repository(location=UNKNOWN), "no price of location UNKNOWN"),
        (repository("other"), "no assumption says how much repository other holds"),
        (bucket(location="US"), "no price of location US"),
        (bucket(location=UNKNOWN), "no price of location UNKNOWN"),
        (instance(scheduling={"provisioningModel": "SPOT", "maxRunDuration": {"seconds": UNKNOWN}}), "is not known yet"),
        (instance(scheduling={"provisioningModel": "SPOT", "maxRunDuration": {"seconds": Secret(60)}}), "is not known yet"),
        (bucket("other"), "no assumption says how much bucket other holds"),
        (bucket(storageClass="NOVEL"), "no price of storage class NOVEL"),
        (Declared("gcp:monitoring/alertPolicy:AlertPolicy", "x", {}), "no source says since when"),
        (Declared("gcp:monitoring/dashboard:Dashboard", "x", {}), "no source says"),
        (bucket(storageClass=UNKNOWN), "no price of storage class"),
    ],
)
def test_what_has_no_price_is_unknown_and_never_nothing(resource: Declared, said: str) -> None:
    """A miss makes a line that says why, and a total that is only a lower bound."""
    result = estimate([resource], NOTHING, region="us-east5")
    assert not result.complete
    assert any(said in line.note and line.usd_month is None for line in result.unknown)


def test_nat_is_unknown_while_a_run_limit_behind_it_is() -> None:
    """The hours of a machine are the hours of its NAT."""
    behind = instance(scheduling={"provisioningModel": "SPOT", "maxRunDuration": {"seconds": UNKNOWN}})
    assert lines(nat(), behind)["NAT"].note == "how many machines stand behind it, and how long, is not known yet"


def test_what_the_program_declares_has_no_unpriced_extras() -> None:
    """A machine without external address, further disks or bought IOPS makes no line but its own."""
    plain = instance(networkInterfaces=[{"subnetwork": UNKNOWN, "nicType": "GVNIC"}], scratchDisks=[])
    assert estimate([plain, node(networkConfig={"enableExternalIps": False})], NOTHING, region="us-east5").complete


def test_a_region_without_a_price_is_unknown() -> None:
    """A region that no table prices is not priced as another."""
    result = estimate([bucket(location="us-central2")], NOTHING, region="us-central2")
    assert "data bucket" in {line.what for line in result.unknown}


def test_others_pay_for_what_is_only_read() -> None:
    """An existing bucket costs its owner."""
    existing = Declared("gcp:storage/bucket:Bucket", "data", {"location": "us-east5"}, existing=True)
    result = estimate([existing], Usage(), region="us-east5")
    assert [line.status for line in result.lines if line.resource == "data"] == ["others pay"]
    assert "data_gib" not in {one.name for one in result.assumptions}


def test_groups_and_providers_cost_nothing_and_are_not_listed() -> None:
    """Components and providers are no resources of the cloud."""
    assert lines(Declared("accelform:storage:Storage", "storage", {}), Declared("pulumi:providers:gcp", "p", {"project": "p"})) == {}


def test_an_assumption_says_whose_it_is() -> None:
    """What the file sets is the user's; the rest is said to be a default."""
    result = estimate([bucket()], Usage.model_validate({"data_gib": 3}), region="us-east5")
    assert {one.name: one.is_default for one in result.assumptions}["data_gib"] is False
    assert {one.name: one.is_default for one in result.assumptions}["logs_gib"] is True


SHOP = [
    bucket(),
    bucket("models"),
    instance(),
    node(zone="us-central1-b"),
    nat(),
    repository(),
]
QUANTITY = st.decimals(0, 10_000, places=2)


def usage_of(values: list[Decimal]) -> Usage:
    return Usage.model_validate(dict(zip(AMOUNTS, values, strict=True)))


@given(st.lists(QUANTITY, min_size=len(AMOUNTS), max_size=len(AMOUNTS)))
def test_low_is_never_above_high_and_the_total_is_the_sum(values: list[Decimal]) -> None:
    """Every line rises from low to high, and the total is exactly their sum."""
    result: Estimate = estimate(SHOP, usage_of(values), region="us-east5")
    months = [line.usd_month for line in result.lines if line.usd_month is not None]
    assert all(low <= expected <= high for low, expected, high in months)
    assert result.total == tuple(sum(column, Decimal(0)) for column in zip(*months, strict=True))


@given(st.lists(QUANTITY, min_size=len(AMOUNTS), max_size=len(AMOUNTS)), st.integers(0, len(AMOUNTS) - 1))
def test_more_usage_never_costs_less(values: list[Decimal], which: int) -> None:
    """No column of the total falls when an assumption rises."""
    more = [value + (100 if index == which else 0) for index, value in enumerate(values)]
    less, total = (estimate(SHOP, usage_of(each), region="us-east5").total for each in (values, more))
    assert all(before <= after for before, after in zip(less, total, strict=True))
