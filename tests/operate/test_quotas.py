"""Regional and project-wide quota, by metric, against what the stack wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, inspect

Look = Callable[..., dict[str, Found]]


def line(metric: str, limit: float, usage: float = 0) -> dict[str, Any]:
    return {"metric": metric, "limit": limit, "usage": usage}


def test_fails_on_quota_of_nothing_in_either_scope(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """Regional and project-wide limits are held apart, each with its metric, limit, usage and what is wanted."""
    answers[f"/compute/v1/projects/{cloud.project}"]["quotas"] = [line("NETWORKS", 0)]
    answers[f"/compute/v1/projects/{cloud.project}/regions/us-east5"]["quotas"] = [line("INSTANCES", 0)]
    found = look(answers)
    assert (found["quota, project"].level, found["quota, project"].message) == ("failed", "NETWORKS: limit 0, used 0, wanted 1")
    assert (found["quota, us-east5"].level, found["quota, us-east5"].message) == ("failed", "INSTANCES: limit 0, used 0, wanted 1")
    assert found["quota, us-east5"].fix.startswith("ask for more INSTANCES: https://console.cloud.google.com/iam-admin/quotas")


def test_a_limit_that_the_stack_itself_may_fill_is_no_failure(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """What is used may be what this stack made before: that is a warning."""
    answers[f"/compute/v1/projects/{cloud.project}"]["quotas"] = [line("NETWORKS", 1, 1)]
    found = look(answers)["quota, project"]
    assert found.level == "warning"
    assert found.message == "NETWORKS: limit 1, used 1, wanted 1: enough only if what is used is this stack's own"


def test_boot_disks_count_by_their_type_and_size(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """v6e boots from Hyperdisk, v5e from a balanced disk: each has a quota of its own."""
    answers[f"/compute/v1/projects/{cloud.project}/regions/us-east5"]["quotas"] = [line("HDB_TOTAL_GB", 500), line("SSD_TOTAL_GB", 50)]
    large = replace(needs.tpus[0], boot_disk_gib=600)
    assert look(answers)["quota, us-east5"].level == "ok"
    assert look(answers, replace(needs, tpus=(large,)))["quota, us-east5"].message == "HDB_TOTAL_GB: limit 500, used 0, wanted 600"
    v5e = replace(needs.tpus[0], generation="v5e", accelerator_type="v5litepod-4")
    assert look(answers, replace(needs, tpus=(v5e,)))["quota, us-east5"].message == "SSD_TOTAL_GB: limit 50, used 0, wanted 100"


def test_a_slice_counts_its_hosts(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """Four hosts are four machines and four boot disks, in one group, with one policy, one template and one rule between them."""
    regional = {"INSTANCES": 4, "HDB_TOTAL_GB": 400, "INSTANCE_GROUP_MANAGERS": 1, "RESOURCE_POLICIES": 1}
    everywhere = {"NETWORKS": 1, "FIREWALLS": 2, "INSTANCE_TEMPLATES": 1}
    slice_of_four = replace(needs.tpus[0], accelerator_type="v6e-16", machine_type="ct6e-standard-4t", chips=16, hosts=4)
    for path, wanted in (("regions/us-east5", regional), ("", everywhere)):
        where = f"/compute/v1/projects/{cloud.project}/{path}".rstrip("/")
        check = "quota, us-east5" if path else "quota, project"
        for metric, count in wanted.items():
            answers[where]["quotas"] = [line(metric, count - 1)]
            found = look(answers, replace(needs, tpus=(slice_of_four,)))[check]
            assert (found.level, found.message) == ("failed", f"{metric}: limit {count - 1}, used 0, wanted {count}")
            answers[where]["quotas"] = [line(metric, count)]
            assert look(answers, replace(needs, tpus=(slice_of_four,)))[check].level == "ok"


T4 = GpuNeed("lab", "n1-standard-8", "nvidia-tesla-t4", 2, True, "us-east5-a", "spot", "pd-balanced", 50)


def test_gpus_count_in_both_scopes(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """By kind and way of buying in the region, all kinds together in the project; what no list tells is not known."""
    wants = replace(needs, tpus=(), gpus=(T4, replace(T4, name="big", accelerator_type="nvidia-h200-141gb", provisioning="reservation")))
    regional = [line("PREEMPTIBLE_NVIDIA_T4_GPUS", 1), line("SSD_TOTAL_GB", 100), line("INSTANCES", 2), line("NVIDIA_T4_GPUS", 8)]
    answers[f"/compute/v1/projects/{cloud.project}/regions/us-east5"]["quotas"] = regional
    answers[f"/compute/v1/projects/{cloud.project}"]["quotas"] = [line("GPUS_ALL_REGIONS", 3)]
    said = [one.message for one in inspect(wants, connect=cloud.transport(answers)) if one.check.startswith("quota")]
    assert "PREEMPTIBLE_NVIDIA_T4_GPUS: limit 1, used 0, wanted 2" in said
    assert "GPUS_ALL_REGIONS: limit 3, used 0, wanted 4" in said
    assert "SSD_TOTAL_GB: limit 100, used 0, wanted 100" in said
    assert "compute.googleapis.com/gpus_per_gpu_family of NVIDIA_H200: is not told, wanted 2" in said
    assert not any(one.startswith("NVIDIA_T4_GPUS") for one in said)


L4 = GpuNeed("pool", "g2-standard-8", "nvidia-l4", 1, False, "us-east5-a", "spot", "pd-balanced", 100, "gke", 3)


def test_a_pool_counts_all_its_nodes_once(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """Its nodes may come in either zone, and are there once: GPUs, machines and disks of its maximum, beside what stands."""
    wants = replace(needs, tpus=(), gpus=(T4, L4, replace(L4, zone="us-east5-b")))
    everywhere = {"GPUS_ALL_REGIONS": 5}
    for path, wanted in (("/regions/us-east5", {"PREEMPTIBLE_NVIDIA_L4_GPUS": 3, "INSTANCES": 4, "SSD_TOTAL_GB": 350}), ("", everywhere)):
        check = "quota, us-east5" if path else "quota, project"
        for metric, count in wanted.items():
            lines = [line(metric, count - 1)]
            answers[f"/compute/v1/projects/{cloud.project}{path}"]["quotas"] = lines
            said = [one for one in inspect(wants, connect=cloud.transport(answers)) if one.check == check]
            assert ("failed", f"{metric}: limit {count - 1}, used 0, wanted {count}") in [(one.level, one.message) for one in said]


def test_a_pool_of_several_hosts_makes_no_group_of_the_stacks(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """Its machines and disks count, v4's of the older kind; GKE makes groups and rules itself."""
    pool = replace(needs.tpus[0], generation="v4", way="gke", chips=16, hosts=4)
    wants = replace(needs, tpus=(pool,))
    none = [line(one, 0) for one in ("INSTANCE_GROUP_MANAGERS", "RESOURCE_POLICIES", "INSTANCE_TEMPLATES", "HDB_TOTAL_GB")]
    region = f"/compute/v1/projects/{cloud.project}/regions/us-east5"
    answers[region]["quotas"] = [*none, line("INSTANCES", 4), line("SSD_TOTAL_GB", 400)]
    answers[f"/compute/v1/projects/{cloud.project}"]["quotas"] = [line("FIREWALLS", 1), *none]
    assert {look(answers, wants)[one].level for one in ("quota, us-east5", "quota, project")} == {"ok"}
    answers[region]["quotas"] = [line("SSD_TOTAL_GB", 399)]
    assert look(answers, wants)["quota, us-east5"].message == "SSD_TOTAL_GB: limit 399, used 0, wanted 400"


def test_jobs_wait_for_each_other(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """Of several jobs the largest counts, beside what stands."""
    job = replace(T4, stands=False)
    wants = replace(needs, tpus=(), gpus=(T4, replace(job, name="night"), replace(job, name="week", count=4)))
    region = f"/compute/v1/projects/{cloud.project}/regions/us-east5"
    answers[region]["quotas"] = [line("PREEMPTIBLE_NVIDIA_T4_GPUS", 6)]
    assert look(answers, wants)["quota, us-east5"].level == "ok"
    answers[region]["quotas"] = [line("PREEMPTIBLE_NVIDIA_T4_GPUS", 5)]
    assert look(answers, wants)["quota, us-east5"].message == "PREEMPTIBLE_NVIDIA_T4_GPUS: limit 5, used 0, wanted 6"


def test_a_job_that_may_be_bought_in_another_way_is_warned_of(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """No quota of one way fails a job only where no other way has enough; what has the one way alone fails with it."""
    spot = replace(T4, name="night", stands=False)
    wants = replace(needs, tpus=(), gpus=(spot, replace(spot, provisioning="on-demand")))
    region = f"/compute/v1/projects/{cloud.project}/regions/us-east5"
    answers[region]["quotas"] = [line("PREEMPTIBLE_NVIDIA_T4_GPUS", 0), line("NVIDIA_T4_GPUS", 2)]
    found = look(answers, wants)["quota, us-east5"]
    assert (found.level, found.message.partition("; ")[2]) == (
        "warning",
        "what wants it may be bought in another way, whose quota is enough",
    )
    assert look(answers, replace(wants, gpus=(T4, *wants.gpus)))["quota, us-east5"].level == "failed"
    answers[region]["quotas"] = [line("PREEMPTIBLE_NVIDIA_T4_GPUS", 0), line("NVIDIA_T4_GPUS", 1)]
    assert look(answers, wants)["quota, us-east5"].level == "failed"


def test_what_jobs_of_vertex_ai_count_against_is_not_looked_at(answers: dict[str, Any], needs: CloudNeeds, look: Look) -> None:
    """And is said, whether or not the stack has machines of its own."""
    for tpus in ((), needs.tpus):
        found = look(answers, replace(needs, tpus=tpus, vertex_jobs=("night",)))
        words = "Vertex AI's quota of custom model training, which night counts against, is not looked at"
        assert (found["quota of custom jobs"].level, found["quota of custom jobs"].message) == ("unknown", words)
        assert "quota" not in found


def test_warns_of_a_project_shut_to_accelerators(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """GPUS_ALL_REGIONS of 0 may shut a project to TPUs too, by one guide of Google's."""
    answers[f"/compute/v1/projects/{cloud.project}"]["quotas"].append(line("GPUS_ALL_REGIONS", 0))
    found = look(answers)["quota, project"]
    assert found.level == "warning"
    assert found.message.startswith("GPUS_ALL_REGIONS is 0")


def test_a_stack_without_machines_asks_for_no_quota(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    """Buckets and endpoints want no Compute Engine."""
    transport = cloud.transport(answers)
    found = {one.check: one for one in inspect(replace(needs, tpus=()), connect=transport)}
    assert found["quota"].level == found["accelerator types"].level == "ok"
    assert not [path for _, path in transport.asked if path.startswith("/compute")]
