"""A TPU slice: what its hosts wait for, what they are, and that it costs its chips once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.catalog import tpu
from infra.catalog.fits_tpu import chips_of
from infra.check import check, stack_files
from infra.collect import collect
from infra.declared import Declared
from infra.program import declare
from infra.stack import StackSpec


@pytest.mark.parametrize("way", ["compute-engine", "tpu-api"])
def test_a_machine_waits_for_nat_and_for_its_own_grants(
    way: str, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Callable[..., Path]
) -> None:
    """Without NAT its startup script has no way out; without its grants its first pull is refused. Others' grants do not matter."""
    slices = {name: a_slice | {"way": way} for name in ("eval", "other")}
    spec = StackSpec.load(stack_file(base | {"accelform:tpu_slices": slices}))
    declared = {(one.type.rpartition(":")[2], one.name): one for one in collect(lambda: declare(spec, "try"), "try")}
    machine = declared["Instance" if way == "compute-engine" else "V2Vm", "eval"]
    needed = {
        declared["RouterNat", "network"].urn,
        *(one.urn for (kind, name), one in declared.items() if kind.lower().endswith("iammember") and name.startswith("tpu-eval-")),
    }
    assert len(needed) == 6
    assert needed <= set(machine.dependencies)
    assert not any("tpu-other" in urn for urn in machine.dependencies)


def declared(spec: StackSpec) -> dict[tuple[str, str], Declared]:
    return {(one.type.rpartition(":")[2], one.name): one for one in collect(lambda: declare(spec, "try"), "try")}


def test_hosts_boot_once_they_can_reach_each_other(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """A group waits for NAT, the rule between its hosts, its grants, its template and its policy; the second slice is apart from the first."""
    slices = {name: a_slice | {"accelerator_type": "v6e-16"} for name in ("eval", "other")}
    found = declared(StackSpec.load(stack_file(base | {"accelform:tpu_slices": slices})))
    needed = [("RouterNat", "network"), ("Firewall", "eval-hosts"), ("InstanceTemplate", "eval"), ("ResourcePolicy", "eval")]
    group = found["InstanceGroupManager", "eval"]
    assert {found[one].urn for one in needed} <= set(group.dependencies)
    assert not any("other" in urn for urn in group.dependencies)


@pytest.mark.parametrize(
    "shape", [one for one in tpu.shapes().values() if one.compute_engine and one.single_host], ids=lambda one: one.accelerator_type
)
def test_no_slice_of_one_host_has_a_policy(shape: tpu.TpuShape, base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """Every one of them, whatever its chips, is an instance alone: AI-Hypercomputer/xpk pull requests 595 and 822."""
    region, zone = {"v5e": ("us-west4", "us-west4-a"), "tpu7x": ("us-central1", "us-central1-c")}.get(
        shape.generation, ("us-east5", "us-east5-a")
    )
    one = {"accelerator_type": shape.accelerator_type, "zone": zone, "provisioning": "on-demand", "max_run_minutes": 60}
    found = declared(StackSpec.load(stack_file(base | {"accelform:region": region, "accelform:tpu_slices": {"eval": one}})))
    assert found["Instance", "eval"].get("machineType") == shape.machine_type
    assert not {kind for kind, _ in found} & {"ResourcePolicy", "InstanceTemplate", "InstanceGroupManager"}


def test_hosts_times_their_chips_are_the_slice() -> None:
    """What a group is told of a shape, its hosts, their machine type and its topology, means the same chips each way."""
    groups = [one for one in tpu.shapes().values() if one.compute_engine and not one.single_host]
    assert len(groups) > 200
    for shape in groups:
        hosts = tpu.single_hosts()[shape.machine_type].chips * shape.hosts
        assert (hosts, chips_of(shape.topology)) == (shape.chips, shape.chips), shape.accelerator_type


def test_a_slice_costs_its_chips_once(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """v5litepod-16 on demand in us-west4, written out: 16 chips at 1.20 an hour for 730 hours, and 4 boot disks of 100 GiB at 0.11."""
    one = {"accelerator_type": "v5litepod-16", "zone": "us-west4-a", "provisioning": "on-demand", "max_run_minutes": "unlimited"}
    one |= {"because": "it serves at every hour"}
    path = stack_file(base | {"accelform:region": "us-west4", "accelform:tpu_slices": {"train": one}})
    checked = check(stack_files([str(path)], path.parent)[0])
    lines = {line.what: line for line in checked.estimate.lines if line.resource == "train"}
    priced = {what: str(line.usd_month[1].normalize()) for what, line in lines.items() if line.usd_month and line.usd_month[1]}
    assert priced == {"v5litepod-16 on-demand": "14016", "boot disk pd-balanced": "44"}
    assert checked.findings == []
    assert checked.estimate.complete
