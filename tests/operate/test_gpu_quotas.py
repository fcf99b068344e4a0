"""Quota of newer GPUs, which a region's own list does not tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed
from infra.operate.gpu_quotas import METRIC

Look = Callable[..., dict[str, Found]]
Family = Callable[..., Found]

H100 = GpuNeed("pool", "a3-highgpu-8g", "nvidia-h100-80gb", 8, False, "us-east5-a", "on-demand", "pd-balanced", 100, "gke", 2)
CHECK = "quota, us-east5"


@pytest.fixture
def family(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> Family:
    """The finding of GPUs, where these buckets are told of the metric by family, and these lines of the region."""

    def of(*gpus: GpuNeed, buckets: list[dict[str, Any]], lines: tuple[dict[str, Any], ...] = ()) -> Found:
        answers[f"/compute/v1/projects/{cloud.project}/regions/us-east5"]["quotas"] = list(lines)
        path = f"serviceusage/v1beta1/projects/{cloud.project}/services/compute.googleapis.com/consumerQuotaMetrics"
        answers[path] = {"metrics": [cloud.metric(METRIC, *buckets)]}
        return look(answers, replace(needs, tpus=(), gpus=gpus))[CHECK]

    return of


def test_counts_by_family_in_the_region(family: Family, cloud: SimpleNamespace) -> None:
    """Of another family, of another region and of all regions is no help; -1 is no limit."""
    others = [cloud.bucket(99, region="us-east5", gpu_family="NVIDIA_H200"), cloud.bucket(99, region="us-east4", gpu_family="NVIDIA_H100")]
    here = {"region": "us-east5", "gpu_family": "NVIDIA_H100"}
    found = family(H100, buckets=[cloud.bucket(99, gpu_family="NVIDIA_H100"), *others, cloud.bucket(15, **here)])
    assert (found.level, found.message) == ("failed", f"{METRIC} of NVIDIA_H100: limit 15 per region, wanted 16")
    assert found.fix.startswith("ask for more GPUS_PER_GPU_FAMILY of NVIDIA_H100: https://")
    for enough in (16, -1):
        assert family(H100, buckets=[cloud.bucket(enough, **here)]).level == "ok"


def test_what_the_region_tells_is_not_asked_again(family: Family, cloud: SimpleNamespace) -> None:
    """Its own list holds where it has the metric."""
    line = {"metric": "NVIDIA_H100_GPUS", "limit": 16}
    assert family(H100, buckets=[cloud.bucket(0, gpu_family="NVIDIA_H100")], lines=(line,)).message.startswith("NVIDIA_H100_GPUS: limit 16")


@pytest.mark.parametrize(
    ("need", "metric"),
    [
        (replace(H100, accelerator_type="nvidia-gb200"), "NVIDIA_GB200_GPUS"),
        (replace(H100, provisioning="spot", accelerator_type="nvidia-b200"), "PREEMPTIBLE_NVIDIA_B200_GPUS"),
    ],
)
def test_a_family_that_no_source_names_is_not_known(need: GpuNeed, metric: str, family: Family, cloud: SimpleNamespace) -> None:
    """Nor is what counts where GPUs may be taken away."""
    found = family(need, buckets=[cloud.bucket(99, gpu_family="NVIDIA_B200")])
    assert (found.level, found.message) == ("unknown", f"{metric} is not told: whether there is quota for the GPUs is not known")


def test_fails_only_where_no_other_way_has_enough(family: Family, cloud: SimpleNamespace) -> None:
    """Either way round: what one list lacks, the other may have."""
    tries = [replace(H100, way="compute-engine", machines=1, provisioning=way, stands=False) for way in ("spot", "on-demand")]
    for preemptible, standard, level in ((8, 7, "warning"), (7, 8, "warning"), (7, 7, "failed"), (8, 8, "ok")):
        line = {"metric": "PREEMPTIBLE_NVIDIA_H100_GPUS", "limit": preemptible}
        found = family(*tries, buckets=[cloud.bucket(standard, gpu_family="NVIDIA_H100")], lines=(line,))
        assert (found.level, "another way" in found.message) == (level, level == "warning")
