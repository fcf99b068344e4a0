"""Whatever an example stack declares that runs has a price where it stands, bought the way it is bought, and its budget holds what is expected."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from infra.catalog import machine_prices, places, prices, tpu
from infra.catalog.gpu_machines import by_machine_type
from infra.check import Checked, StackFile, check, place, stack_files
from infra.declared import Declared
from infra.errors import SpecError
from infra.stack_kinds import kind_of

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*stack_files([], ROOT / "stacks"), *stack_files([], ROOT / "docs" / "examples")], key=lambda file: file.stack)
REFUSED = {"dreams"}
"""Examples of what is refused: they declare nothing."""

HIGH = re.compile(r"monthly: # expected: ([\d,]+) USD a month\. High: ([\d,]+) USD")

WAYS = {"STANDARD": "on-demand", "SPOT": "spot", "FLEX_START": "flex-start", "RESERVATION_BOUND": "reservation"}


@cache
def checked(file: StackFile) -> Checked:
    """An example, which is judged once for all tests here."""
    return check(file)


def way_of(resource: Declared) -> str:
    """How a machine, a node of the Cloud TPU API or the nodes of a pool are bought."""
    if resource.get("schedulingConfig.spot") or resource.get("schedulingConfig.preemptible"):
        return "spot"
    if resource.get("nodeConfig.spot"):
        return "spot"
    if resource.get("nodeConfig.flexStart"):
        return "flex-start"
    if resource.get("nodeConfig.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION":
        return "reservation"
    if resource.get("schedulingConfig.reserved") or resource.get("reservationAffinity.type") == "SPECIFIC_RESERVATION":
        return "reservation"
    return WAYS[resource.get("scheduling.provisioningModel") or "STANDARD"]


def look_up(key: str, name: str, region: str, way: str) -> prices.Price:
    """The price of what a leaf of the inputs names: a slice, a machine with or without GPUs, or a GPU that is attached."""
    if key == "type":
        return machine_prices.gpu_hour(name, region, way)
    slice_shape = tpu.shape(name) if key == "acceleratorType" else tpu.by_machine_type(name)
    return prices.tpu_chip_hour(slice_shape, region, way) if slice_shape else machine_prices.machine_hour(name, region, way)


def held(resources: Iterable[Declared]) -> list[tuple[str, str, str, str]]:
    """Every machine type, slice and attached GPU among the inputs, at any depth: its key, name, region and way."""
    found = []
    for resource in resources:
        if resource.type.startswith("kubernetes:"):
            continue  # nodes of a class are lines of the estimate, way by way and zone by zone
        where = place(resource).partition(",")[0]  # of a pool in several zones any tells the region
        region = where if where in places.regions() else places.region_of(where)
        built_in = by_machine_type(str(resource.get("nodeConfig.machineType"))) is not None
        for path, value in resource.leaves():
            key = path.rpartition(".")[2]
            if built_in and "guestAccelerators[" in path:  # a pool names them for their driver: the machine's price has them
                continue
            if key in ("machineType", "acceleratorType") or (key == "type" and "guestAccelerators[" in path):
                found.append((key, str(value), region, way_of(resource)))
    return found


def unpriced(resources: Iterable[Declared]) -> list[str]:
    """What has no price, in the words of the refusal."""
    missing = []
    for one in held(resources):
        try:
            look_up(*one)
        except prices.PriceUnknown as error:
            missing.append(str(error))
    return missing


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stack)
def test_every_example_is_priced(file):
    """A machine type or slice of an example without a price row in its region and way of buying is a hole in the tables."""
    if file.stack in REFUSED:
        with pytest.raises(SpecError):
            check(file)
    else:
        assert unpriced(checked(file).resources) == []


def test_examples_hold_something_that_runs():
    """The test above has something to look at."""
    assert [one for file in EXAMPLES if file.stack not in REFUSED for one in held(checked(file).resources)]


REGIONS = [file for file in EXAMPLES if file.path.parent.name == "stacks" and kind_of(file.path) == "region"]


@pytest.mark.parametrize("file", REGIONS, ids=lambda file: file.stack)
def test_the_regions_are_expected_to_stay_within_their_budgets(file):
    """The total is complete, the month's budget holds what is expected, and what the file says of both amounts is so."""
    estimate = checked(file).estimate
    _, expected, high = estimate.total
    (amount,) = [one.amount.amount for one in checked(file).spec.budgets.values() if one.period is None]
    assert estimate.complete
    assert expected <= amount
    if "# expected" in (text := file.path.read_text(encoding="utf-8")):
        assert HIGH.findall(text) == [(f"{expected:,.0f}", f"{high:,.0f}")]


def machine(machine_type: str, zone: str, model: str, **inputs: object) -> Declared:
    inputs |= {"machineType": machine_type, "zone": zone, "scheduling": {"provisioningModel": model}}
    return Declared("gcp:compute/instance:Instance", "one", inputs)


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (machine("g2-standard-4", "us-central1-a", "SPOT"), []),
        (machine("e2-standard-2", "us-east5-a", "STANDARD"), []),
        (machine("ct6e-standard-8t", "us-east5-a", "FLEX_START"), []),
        (machine("n1-standard-4", "us-east1-c", "SPOT", guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 1}]), []),
        (
            machine("n1-standard-4", "us-east1-c", "SPOT", guestAccelerators=[{"type": "nvidia-l4", "count": 1}]),
            ["no price of nvidia-l4 gpu-hour, spot in us-east1 is known"],
        ),
        (
            machine("e2-standard-2", "us-east5-a", "FLEX_START"),
            ["no price of e2-standard-2 instance-hour, flex-start in us-east5 is known"],
        ),
        (
            Declared("gcp:tpu/v2Vm:V2Vm", "one", {"acceleratorType": "v6e-8", "zone": "asia-east1-c", "schedulingConfig": {"spot": True}}),
            ["no price of tpu-v6e chip-hour, spot in asia-east1 is known"],
        ),
        (
            Declared("gcp:container/nodePool:NodePool", "one", {"location": "us-east5", "nodeConfig": {"machineType": "m9-mega-1"}}),
            ["no price of m9-mega-1 instance-hour, on-demand in us-east5 is known"],
        ),
    ],
)
def test_a_hole_is_found(resource, said):
    """At any depth of the inputs, by region and by way."""
    assert unpriced([resource]) == said
