"""Which metric a TPU machine counts against, by API, generation and provisioning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, inspect

Look = Callable[..., dict[str, Found]]
Quota = Callable[..., Found]

SPOT = "compute.googleapis.com/preemptible_tpu_v6e"
FAMILY = "compute.googleapis.com/tpus_per_tpu_family"


@pytest.fixture
def quota(answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace) -> Quota:
    """The finding of v6e-1, changed as said, where these metrics are told."""

    def of(*metrics: dict[str, Any], service: str = "compute.googleapis.com", copies: int = 1, **changed: Any) -> Found:
        answers[f"serviceusage/v1beta1/projects/{cloud.project}/services/{service}/consumerQuotaMetrics"] = {"metrics": list(metrics)}
        need = replace(needs.tpus[0], **changed)
        return look(answers, replace(needs, tpus=tuple(replace(need, name=f"try-{number}") for number in range(copies))))["quota of v6e-1"]

    return of


@pytest.fixture
def standard_only(cloud: SimpleNamespace) -> list[dict[str, Any]]:
    """No preemptible chip, and 32 standard ones."""
    return [
        cloud.metric(SPOT, cloud.bucket(1536), cloud.bucket(0, region="us-east5")),
        cloud.metric(FAMILY, cloud.bucket(0), cloud.bucket(32, region="us-east5", tpu_family="CT6E")),
    ]


def test_names_metric_limit_need_and_that_it_is_no_capacity(quota: Quota, cloud: SimpleNamespace) -> None:
    """Enough quota is said with everything that a person would ask."""
    found = quota(cloud.metric(SPOT, cloud.bucket(0), cloud.bucket(8, region="us-east5")))
    assert found.level == "ok"
    assert found.message == (
        "compute.googleapis.com/preemptible_tpu_v6e in us-east5-a: limit 8 per region; chips wanted 1; "
        "quota is not capacity: the zone may be sold out all the same"
    )


def test_asks_for_places_whose_limit_nobody_changed(answers: dict[str, Any], needs: CloudNeeds, cloud: SimpleNamespace) -> None:
    """The basic view leaves out places that have no override, a zone of 0 among them."""
    transport = cloud.transport(answers)
    inspect(needs, connect=transport)
    path = f"serviceusage/v1beta1/projects/{cloud.project}/services/compute.googleapis.com/consumerQuotaMetrics"
    assert "view=FULL" in transport.queries[path]


def test_fails_on_spot_without_preemptible_quota(quota: Quota, standard_only: list[dict[str, Any]]) -> None:
    """Spot takes no standard quota, however much there is; a value left out is 0, not the default."""
    found = quota(*standard_only)
    assert found.level == "failed"
    assert found.message.startswith(f"{SPOT} in us-east5-a: limit 0 per region")
    assert found.fix.startswith(f"ask for 1 of {SPOT} in us-east5")


@pytest.mark.parametrize("provisioning", ["flex-start", "on-demand"])
def test_what_takes_standard_quota_finds_it(provisioning: str, quota: Quota, standard_only: list[dict[str, Any]]) -> None:
    """On-demand takes standard quota of its family; flex-start takes it where preemptible quota is lacking."""
    assert quota(*standard_only, provisioning=provisioning).level == "ok"


def test_fails_on_quota_of_another_family(quota: Quota, cloud: SimpleNamespace) -> None:
    """Chips of another TPU family are no help."""
    metric = cloud.metric(FAMILY, cloud.bucket(0), cloud.bucket(32, region="us-east5", tpu_family="CT5P"))
    assert quota(metric, provisioning="on-demand").level == "failed"


def test_fails_where_machines_together_want_more(quota: Quota, cloud: SimpleNamespace) -> None:
    """Machines share what they count against."""
    metric = cloud.metric(SPOT, cloud.bucket(8, region="us-east5"))
    assert quota(metric, chips=8).level == "ok"
    found = quota(metric, chips=8, copies=2)
    assert found.level == "failed"
    assert "limit 8 per region; chips wanted 16" in found.message


def test_unlimited_is_enough(quota: Quota, cloud: SimpleNamespace) -> None:
    """-1 is no limit, not less than nothing."""
    assert "limit unlimited per region" in quota(cloud.metric(SPOT, cloud.bucket(-1))).message
    assert quota(cloud.metric(SPOT, cloud.bucket(-1))).level == "ok"


def test_warns_where_zone_and_region_disagree(quota: Quota, cloud: SimpleNamespace) -> None:
    """A metric with a limit per region and one per zone may hold by either: which is not known, and said."""
    metric = cloud.metric(SPOT, cloud.bucket(1536, region="us-east5"))
    metric["consumerQuotaLimits"] += cloud.metric(SPOT, cloud.bucket(0), per="zone")["consumerQuotaLimits"]
    found = quota(metric)
    assert found.level == "warning"
    assert "limit 1536 per region, limit 0 per zone" in found.message


def test_fails_where_the_region_has_none_beside_an_unlimited_zone(quota: Quota, cloud: SimpleNamespace) -> None:
    """v6e's limit by zone is -1 where that by region is the one that counts: it is no second opinion."""
    metric = cloud.metric(SPOT, cloud.bucket(0, region="us-east5"))
    metric["consumerQuotaLimits"] += cloud.metric(SPOT, cloud.bucket(-1), per="zone")["consumerQuotaLimits"]
    assert quota(metric).level == "failed"


def test_small_nodes_of_v5e_count_as_serving(quota: Quota, cloud: SimpleNamespace) -> None:
    """Plenty of quota for training is of no use to a v5litepod-4 of the Cloud TPU API."""
    training = cloud.metric("tpu.googleapis.com/tpu-v5s-litepod", cloud.bucket(512), per="zone")
    serving = cloud.metric("tpu.googleapis.com/tpu-v5s-litepod-serving", cloud.bucket(0), per="zone")
    node = {"way": "tpu-api", "generation": "v5e", "provisioning": "on-demand", "chips": 4}
    found = quota(training, serving, service="tpu.googleapis.com", **node)
    assert found.level == "failed"
    assert found.message.startswith("tpu.googleapis.com/tpu-v5s-litepod-serving in us-east5-a: limit 0 per zone")


def test_the_cloud_tpu_api_has_metrics_of_its_own(quota: Quota, cloud: SimpleNamespace) -> None:
    """A node counts against the Cloud TPU API's metric in its zone."""
    name = "tpu.googleapis.com/tpu-v6e-preemptible"
    metric = cloud.metric(name, cloud.bucket(0), cloud.bucket(64, zone="us-east5-a"), per="zone")
    found = quota(metric, service="tpu.googleapis.com", way="tpu-api")
    assert (found.level, found.message.partition(";")[0]) == ("ok", f"{name} in us-east5-a: limit 64 per zone")


def test_says_how_much_is_used_where_compute_engine_tells(quota: Quota, answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """v5e is in the region's own list, with what is in use."""
    region = answers[f"/compute/v1/projects/{cloud.project}/regions/us-east5"]
    region["quotas"].append({"metric": "PREEMPTIBLE_TPU_LITE_PODSLICE_V5", "limit": 16, "usage": 4})
    metric = cloud.metric("compute.googleapis.com/preemptible_tpu_lite_podslice_v5", cloud.bucket(16, region="us-east5"))
    assert "limit 16 per region, used 4 in the region" in quota(metric, generation="v5e").message


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"provisioning": "reservation"}, "which metric reservation v6e counts against is not known"),
        ({"generation": "v5p", "way": "compute-engine"}, "compute.googleapis.com/preemptible_tpu_v5p is not told"),
    ],
)
def test_says_what_is_not_known(changed: dict[str, Any], said: str, quota: Quota, cloud: SimpleNamespace) -> None:
    """No metric is guessed: those that are there are listed with their limits."""
    found = quota(
        cloud.metric(SPOT, cloud.bucket(8, region="us-east5")), cloud.metric("compute.googleapis.com/cpus", cloud.bucket(24)), **changed
    )
    assert found.level == "unknown"
    assert found.message == f"{said}; TPU metrics in us-east5-a: {SPOT}: limit 8 per region"


def test_nodes_of_gke_count_against_compute_engine(quota: Quota, cloud: SimpleNamespace) -> None:
    """A pool takes the chips that machines of its kind take, a small one of v5e too: none of the Cloud TPU API's."""
    name = "compute.googleapis.com/tpu_lite_podslice_v5"
    found = quota(cloud.metric(name, cloud.bucket(3, region="us-east5")), way="gke", generation="v5e", provisioning="on-demand", chips=4)
    assert found.level == "failed"
    assert found.message.startswith(f"{name} in us-east5-a: limit 3 per region; chips wanted 4")


def test_what_may_stand_in_several_zones_counts_once(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """Its chips are in one zone or the other: together they are no more, and each zone may have to hold all."""
    path = f"serviceusage/v1beta1/projects/{cloud.project}/services/compute.googleapis.com/consumerQuotaMetrics"
    metric = cloud.metric(SPOT, cloud.bucket(8, region="us-east5"))
    answers[path] = {"metrics": [metric]}
    pool = replace(needs.tpus[0], name="pool", way="gke", chips=8, hosts=2)
    both = replace(needs, tpus=(pool, replace(pool, zone="us-east5-b")))
    found = look(answers, both)["quota of v6e-1"]
    assert (found.level, "chips wanted 8;" in found.message) == ("ok", True)
    found = look(answers, replace(both, tpus=(*both.tpus, needs.tpus[0])))["quota of v6e-1"]
    assert (found.level, "chips wanted 9;" in found.message) == ("failed", True)


def test_a_try_without_quota_is_no_failure_where_another_has_it(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace, standard_only: list[dict[str, Any]]
) -> None:
    """A job that is bought on demand where Spot is not to be had runs all the same; Spot alone does not."""
    path = f"serviceusage/v1beta1/projects/{cloud.project}/services/compute.googleapis.com/consumerQuotaMetrics"
    answers[path] = {"metrics": standard_only}
    spot = replace(needs.tpus[0], stands=False)
    assert look(answers, replace(needs, tpus=(spot,)))["quota of v6e-1"].level == "failed"
    found = look(answers, replace(needs, tpus=(spot, replace(spot, provisioning="on-demand"))))["quota of v6e-1"]
    assert (found.level, "another way" in found.message) == ("warning", True)


@pytest.mark.parametrize("generation", ["v3", "v4", "tpu7x"])
def test_a_pool_whose_metric_no_source_names_is_not_known(generation: str, quota: Quota, cloud: SimpleNamespace) -> None:
    """It is not guessed from the names of others."""
    found = quota(cloud.metric(SPOT, cloud.bucket(8, region="us-east5")), way="gke", generation=generation)
    assert (found.level, found.message.partition(";")[0]) == ("unknown", f"which metric spot {generation} counts against is not known")


def test_a_pool_of_a_reservation_takes_no_quota_of_tpus(quota: Quota) -> None:
    """GKE says so of its nodes; of other machines no source does."""
    found = quota(way="gke", provisioning="reservation")
    assert (found.level, found.message) == ("ok", "try-0 consumes a reservation: GKE needs no quota of TPUs for it")
    assert quota(provisioning="reservation").level == "unknown"
