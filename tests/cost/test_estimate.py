"""What resources cost: figures calculated by hand, and nothing that is guessed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.cost.estimate import Estimate, LineItem, estimate
from infra.cost.usage import Usage
from infra.declared import UNKNOWN, Declared, Secret

NOTHING = Usage.model_validate(dict.fromkeys(Usage.model_fields, 0))


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
    usage = Usage.model_validate(
        dict.fromkeys(Usage.model_fields, 0) | {"data_gib": {"low": 1, "expected": 10, "high": 100}, "images_gib": 10}
    )
    repository = Declared("gcp:artifactregistry/repository:Repository", "images", {"location": "us-east5"})
    found = lines(bucket(), repository, usage=usage)
    assert month(found["data bucket"]) == ("0.02", "0.2", "2")
    assert month(found["images"]) == ("0.95", "0.95", "0.95")


def test_nat_costs_by_machine_address_and_data() -> None:
    """One machine is 730 x 0.0014, one address 730 x 0.005, and each GiB 0.045; 40 machines cost what 32 do."""
    nat = Declared("gcp:compute/routerNat:RouterNat", "network", {"region": "us-east5"})
    usage = Usage.model_validate(dict.fromkeys(Usage.model_fields, 0) | {"nat_data_gib": 20})
    found = lines(nat, instance(), usage=usage)
    assert month(found["NAT of 1 machine"]) == ("1.022", "1.022", "1.022")
    assert month(found["NAT address"]) == ("3.65", "3.65", "3.65")
    assert month(found["NAT data"]) == ("0.9", "0.9", "0.9")
    many = [Declared(instance().type, str(number), instance().inputs) for number in range(40)]
    assert month(lines(nat, *many)["NAT of 40 machines"]) == ("32.704", "32.704", "32.704")


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (Declared("gcp:compute/reservation:Reservation", "x", {}), "is in no price table"),
        (Declared("gcp:novel/thing:Thing", "x", {}), "is in no price table"),
        (instance(machineType="n1-standard-2"), "no price of machine type n1-standard-2"),
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
        (bucket(location="US"), "no price of location US"),
        (bucket(location=UNKNOWN), "no price of location UNKNOWN"),
        (instance(scheduling={"provisioningModel": "SPOT", "maxRunDuration": {"seconds": UNKNOWN}}), "is not known yet"),
        (instance(scheduling={"provisioningModel": "SPOT", "maxRunDuration": {"seconds": Secret(60)}}), "is not known yet"),
        (instance(scratchDisks=[{"interface": "NVME"}]), "no price of scratchDisks"),
        (bucket("other"), "no assumption says how much bucket other holds"),
        (bucket(storageClass="ARCHIVE"), "no price of storage class ARCHIVE"),
        (bucket(storageClass=UNKNOWN), "no price of storage class"),
    ],
)
def test_what_has_no_price_is_unknown_and_never_nothing(resource: Declared, said: str) -> None:
    """A miss makes a line that says why, and a total that is only a lower bound."""
    result = estimate([resource], NOTHING, region="us-east5")
    assert not result.complete
    assert any(said in line.note and line.usd_month is None for line in result.unknown)


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
    Declared("gcp:compute/routerNat:RouterNat", "n", {"region": "us-east5"}),
]
QUANTITY = st.decimals(0, 10_000, places=2)


def usage_of(values: list[Decimal]) -> Usage:
    return Usage.model_validate(dict(zip(Usage.model_fields, values, strict=True)))


@given(st.lists(QUANTITY, min_size=len(Usage.model_fields), max_size=len(Usage.model_fields)))
def test_low_is_never_above_high_and_the_total_is_the_sum(values: list[Decimal]) -> None:
    """Every line rises from low to high, and the total is exactly their sum."""
    result: Estimate = estimate(SHOP, usage_of(values), region="us-east5")
    months = [line.usd_month for line in result.lines if line.usd_month is not None]
    assert all(low <= expected <= high for low, expected, high in months)
    assert result.total == tuple(sum(column, Decimal(0)) for column in zip(*months, strict=True))


@given(st.lists(QUANTITY, min_size=len(Usage.model_fields), max_size=len(Usage.model_fields)), st.integers(0, len(Usage.model_fields) - 1))
def test_more_usage_never_costs_less(values: list[Decimal], which: int) -> None:
    """The total never falls when an assumption rises."""
    more = [value + (100 if index == which else 0) for index, value in enumerate(values)]
    assert estimate(SHOP, usage_of(more), region="us-east5").total >= estimate(SHOP, usage_of(values), region="us-east5").total
