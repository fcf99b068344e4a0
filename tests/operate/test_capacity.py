"""What zones offer at this moment, asked of the API that would make the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed

Look = Callable[..., dict[str, Found]]


def test_the_machine_type_is_there_now(answers: dict[str, Any], look: Look) -> None:
    """Compute Engine is asked for the machine type of its instances."""
    assert look(answers)["v6e-1 in us-east5-a"].message == "ct6e-standard-1t is there now"


def test_fails_where_the_zone_has_no_such_type_now(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """A zone without the machine type lists those that it has."""
    machines = f"/compute/v1/projects/{cloud.project}/zones/us-east5-a/machineTypes"
    answers[machines] = {"items": [{"name": "ct6e-standard-4t"}, {"name": "ct5p-hightpu-4t"}]}
    found = look(answers)["v6e-1 in us-east5-a"]
    assert found.message == "ct6e-standard-1t is not there now; the zone has ct5p-hightpu-4t, ct6e-standard-4t"
    assert (found.level, found.fix) == ("failed", "accelform explain tpu_slices.zone; set another zone of us-east5")
    answers[machines] = {}
    assert look(answers)["v6e-1 in us-east5-a"].message.endswith("the zone has no TPU")


def test_gpus_are_asked_for_where_they_are_listed(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """Attached ones in the zone's list of accelerators, built-in ones by their machine type."""
    there = f"/compute/v1/projects/{cloud.project}/zones/us-east5-a"
    answers[f"{there}/acceleratorTypes"] = {"items": [{"name": "nvidia-tesla-t4"}]}
    answers[f"{there}/machineTypes"] = {"items": [{"name": "a3-highgpu-8g"}]}
    attached = GpuNeed("lab", "n1-standard-8", "nvidia-tesla-t4", 1, True, "us-east5-a", "spot", "pd-balanced")
    built_in = GpuNeed("big", "a2-ultragpu-1g", "nvidia-a100-80gb", 1, False, "us-east5-a", "spot", "pd-balanced")
    found = look(answers, replace(needs, tpus=(), gpus=(attached, built_in)))
    assert found["n1-standard-8 with 1 x nvidia-tesla-t4 in us-east5-a"].message == "nvidia-tesla-t4 is there now"
    missing = found["a2-ultragpu-1g with 1 x nvidia-a100-80gb in us-east5-a"]
    assert (missing.level, missing.message) == ("failed", "a2-ultragpu-1g is not there now; the zone has a3-highgpu-8g")
    assert missing.fix == "accelform explain gpu_vms.zone; set another zone of us-east5"


def test_nodes_of_gke_are_asked_for_as_machines(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """By their machine type, and the fix names the pool's key."""
    answers[f"/compute/v1/projects/{cloud.project}/zones/us-east5-a/machineTypes"] = {"items": [{"name": "ct6e-standard-4t"}]}
    pool = replace(needs.tpus[0], way="gke", key="node_pools.zones")
    found = look(answers, replace(needs, tpus=(pool,)))["v6e-1 in us-east5-a"]
    assert found.message == "ct6e-standard-1t is not there now; the zone has ct6e-standard-4t"
    assert found.fix == "accelform explain node_pools.zones; set another zone of us-east5"


def test_asks_the_cloud_tpu_api_where_it_makes_the_machine(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """The Cloud TPU API's own types and runtimes count for its nodes."""
    node = replace(needs, tpus=(replace(needs.tpus[0], way="tpu-api"),))
    there = f"tpu/v2/projects/{cloud.project}/locations/us-east5-a"
    answers[f"{there}/acceleratorTypes"] = {"acceleratorTypes": [{"type": "v6e-1"}]}
    answers[f"{there}/runtimeVersions"] = {"runtimeVersions": [{"version": "tpu-ubuntu2204-base"}]}
    found = look(answers, node)
    assert found["v6e-1 in us-east5-a"].level == "ok"
    runtime = found["runtime v2-alpha-tpuv6e in us-east5-a"]
    assert (runtime.level, runtime.message) == ("failed", "is not there now; the zone has tpu-ubuntu2204-base")
    answers[f"{there}/runtimeVersions"] = {"runtimeVersions": [{"version": "v2-alpha-tpuv6e"}]}
    assert look(answers, node)["runtime v2-alpha-tpuv6e in us-east5-a"].level == "ok"


def test_types_that_cannot_be_asked_say_nothing_of_runtimes(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """Types that are refused leave the runtime's own finding."""
    there = f"tpu/v2/projects/{cloud.project}/locations/us-east5-a"
    answers[f"{there}/acceleratorTypes"] = cloud.error(403, "PERMISSION_DENIED", "no")
    answers[f"{there}/runtimeVersions"] = {"runtimeVersions": [{"version": "v2-alpha-tpuv6e"}]}
    found = look(answers, replace(needs, tpus=(replace(needs.tpus[0], way="tpu-api"),)))
    assert found["v6e-1 in us-east5-a"].fix.endswith("--role=roles/tpu.viewer")
    assert found["runtime v2-alpha-tpuv6e in us-east5-a"].level == "ok"
