"""What stands of a stack, as Google's APIs answer it: what is well, what is not, what cannot be read, and in which order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra import stack_kinds
from infra.operate import status
from infra.operate.status import Seen, look, stands
from infra.provider.google import Google, Settings
from infra.stack_file import FileSpec

NOW = 1_796_040_000.0
"""2026-11-30 12:00 UTC."""
P = "projects/tw-shop-ml"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


class Cloud:
    """Answers by the end of the path: a body, a status, or something that is done."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            f"{P}/billingInfo": {"billingAccountName": "billingAccounts/0"},
            "billingAccounts/0/budgets": {
                "budgets": [
                    {
                        "displayName": "shop monthly",
                        "amount": {"specifiedAmount": {"units": "350", "nanos": 500_000_000, "currencyCode": "USD"}},
                    }
                ]
            },
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        found = next((answer for end, answer in self.answers.items() if path.endswith(end)), 404)
        if callable(found):
            found = found()
        if isinstance(found, int):
            return httpx.Response(found, json={"error": {"code": found, "message": "The caller does not have permission"}})
        if isinstance(found, str):
            return httpx.Response(403, json={"error": {"code": 403, "message": found}})
        return httpx.Response(200, json=found)


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def google(cloud: Cloud) -> Iterator[Google]:
    with httpx.Client(transport=httpx.MockTransport(cloud)) as http:
        yield Google(Settings("http://sandbox.test"), lambda seconds: False, http=http, time=lambda: NOW)


@pytest.fixture
def region(stack_file: Callable[..., Path], base: dict[str, Any], a_slice: dict[str, Any]) -> Callable[..., FileSpec]:
    """A region with what a test says besides its budget."""

    def load(**more: Any) -> FileSpec:
        return stack_kinds.load(stack_file(base | {f"accelform:{key}": value for key, value in more.items()}, "shop"))

    return load


def by_path(found: list[Seen]) -> dict[str, Seen]:
    return {one.path: one for one in found}


def test_a_machine_that_runs_is_well(cloud: Cloud, google: Google, region: Any, a_slice: dict[str, Any]) -> None:
    cloud.answers["instances/shop-tpu-eval"] = {
        "status": "RUNNING",
        "scheduling": {"provisioningModel": "SPOT"},
        "lastStartTimestamp": "2026-11-30T01:30:00.000-08:00",
        "machineType": "https://x/machineTypes/ct6e-standard-1t",
    }
    one = by_path(look(google, region(tpu_slices={"eval": a_slice}), "shop", NOW))["tpu_slices.eval"]
    assert (one.level, one.state) == ("ok", "RUNNING")
    assert one.detail == "us-east5-a, since 2026-11-30 09:30 UTC, spot, ct6e-standard-1t"
    assert one.facts == {"zone": "us-east5-a", "since": "2026-11-30T09:30:00+00:00", "spot": True, "preempted": False}


@pytest.mark.parametrize("state", ["TERMINATED", "STOPPING", "SUSPENDED"])
def test_a_spot_machine_that_does_not_run_was_taken_back(
    cloud: Cloud, google: Google, region: Any, a_slice: dict[str, Any], state: str
) -> None:
    cloud.answers["instances/shop-tpu-eval"] = {"status": state, "scheduling": {"provisioningModel": "SPOT"}}
    one = by_path(look(google, region(tpu_slices={"eval": a_slice}), "shop", NOW))["tpu_slices.eval"]
    assert (one.level, one.state, one.facts["preempted"]) == ("failed", state, True)
    assert "Google took it back" in one.detail
    assert "asked for anew" in one.fix


@pytest.mark.parametrize(
    ("body", "level", "words"),
    [
        ({"state": "READY", "health": "HEALTHY"}, "ok", "us-east5-a"),
        ({"state": "READY", "health": "TIMEOUT", "healthDescription": "no heartbeat"}, "failed", "no heartbeat"),
        ({"state": "CREATING"}, "warning", "us-east5-a"),
        ({"state": "PREEMPTED", "schedulingConfig": {"spot": True}}, "failed", "preempted"),
        ({}, "warning", ""),
    ],
)
def test_a_node_is_as_its_state_and_health(
    cloud: Cloud, google: Google, region: Any, a_slice: dict[str, Any], body: dict[str, Any], level: str, words: str
) -> None:
    cloud.answers["nodes/shop-tpu-eval"] = body
    one = by_path(look(google, region(tpu_slices={"eval": a_slice | {"way": "tpu-api"}}), "shop", NOW))["tpu_slices.eval"]
    assert one.level == level
    assert words in one.detail


def test_what_is_not_there_comes_first_and_what_cannot_be_read_spoils_no_other(
    cloud: Cloud, google: Google, region: Any, a_slice: dict[str, Any]
) -> None:
    cloud.answers["queuedResources"] = {"queuedResources": []}
    cloud.answers[f"{P}/billingInfo"] = "Cloud Billing API has not been used in project 12 before or it is disabled."
    found = look(google, region(tpu_slices={"eval": a_slice, "node": a_slice | {"way": "tpu-api"}}), "shop", NOW)
    assert [one.level for one in found] == ["failed", "failed", "unknown"]
    assert {one.path for one in found[:2]} == {"tpu_slices.eval", "tpu_slices.node"}
    assert all(one.state == "is not there" for one in found[:2])
    assert found[2].path == "budgets"
    assert "Cloud Billing API is off in project 12" in found[2].detail
    assert "gcloud services enable" in found[2].fix
    assert not stands(found)


def test_a_permission_that_is_lacking_is_named(cloud: Cloud, google: Google, region: Any, a_slice: dict[str, Any]) -> None:
    cloud.answers["instances/shop-tpu-eval"] = f"Required 'compute.instances.get' permission for '{P}/zones/us-east5-a/instances/x'"
    one = by_path(look(google, region(tpu_slices={"eval": a_slice}), "shop", NOW))["tpu_slices.eval"]
    assert (one.level, one.state) == ("unknown", "unknown")
    assert "you lack compute.instances.get" in one.detail


def test_who_does_not_answer_in_time_is_not_waited_for(cloud: Cloud, google: Google, region: Any, a_slice: dict[str, Any]) -> None:
    let = threading.Event()
    cloud.answers["instances/shop-tpu-eval"] = lambda: let.wait(20) and {}
    try:
        found = by_path(look(google, region(tpu_slices={"eval": a_slice}), "shop", NOW, seconds=0.5))
    finally:
        let.set()
    assert found["tpu_slices.eval"].detail == "did not answer within 0.5 s"


@pytest.mark.parametrize(
    "body", [{"budgets": [{"displayName": "shop monthly", "amount": {"specifiedAmount": {"nanos": "x"}}}]}, {"budgets": 7}]
)
def test_an_answer_of_another_shape_is_said_to_be_one(cloud: Cloud, google: Google, region: Any, body: Any) -> None:
    cloud.answers["billingAccounts/0/budgets"] = body
    (one,) = look(google, region(), "shop", NOW)
    assert (one.level, one.path) == ("unknown", "budgets")
    assert "was not understood" in one.detail


def test_a_budget_has_its_amount_and_what_was_spent_is_unknown(google: Google, region: Any) -> None:
    (one,) = look(google, region(), "shop", NOW)
    assert (one.path, one.level, one.state) == ("budgets.monthly", "ok", "350.5 USD")
    assert one.facts == {"amount": "350.5 USD", "spent": None}
    assert "unknown" in one.detail


def test_a_budget_that_is_not_there_and_a_project_that_nobody_pays_for(cloud: Cloud, google: Google, region: Any) -> None:
    cloud.answers["billingAccounts/0/budgets"] = {}
    assert look(google, region(), "shop", NOW)[0].level == "failed"
    cloud.answers[f"{P}/billingInfo"] = {}
    assert "nobody pays" in look(google, region(), "shop", NOW)[0].detail


def endpoint(*models: dict[str, Any], **split: int) -> dict[str, Any]:
    return {"deployedModels": list(models), "trafficSplit": split}


def deployed(id: str, available: int | None = None) -> dict[str, Any]:
    status = {} if available is None else {"availableReplicaCount": available, "message": ""}
    parts = {"id": id, "model": f"{P}/locations/us-east5/models/m{id}", "modelVersionId": id}
    return parts | {"dedicatedResources": {"minReplicaCount": 2, "maxReplicaCount": 3}, "status": status}


@pytest.mark.parametrize(
    ("body", "level", "words"),
    [
        (endpoint(deployed("1"), **{"1": 100}), "ok", "m1@1 100 %, 2 to 3 replicas"),
        (endpoint(deployed("1", 2), **{"1": 100}), "ok", "m1@1 100 %, 2 replicas"),
        (endpoint(deployed("1", 1), **{"1": 100}), "failed", "1 replicas"),
        (endpoint(deployed("1"), deployed("2"), **{"1": 100}), "warning", "m2@2 0 %"),
        (endpoint(), "ok", ""),
    ],
)
def test_an_endpoint_says_what_it_serves(cloud: Cloud, google: Google, region: Any, body: dict[str, Any], level: str, words: str) -> None:
    spec = region(endpoints={"recommend": {"callers": ["group:ml@shop.example"]}})
    (id,) = (one.id for one in status.things.of(spec, "shop") if one.kind == "endpoints")
    cloud.answers[f"endpoints/{id}"] = body
    one = by_path(look(google, spec, "shop", NOW))["endpoints.recommend"]
    assert one.level == level
    assert words in one.detail


@pytest.mark.parametrize(
    ("body", "level", "words"),
    [
        ({"status": "RUNNING"}, "ok", "2 nodes"),
        ({"status": "RUNNING", "autoscaling": {"enabled": True, "minNodeCount": 1, "maxNodeCount": 4}}, "ok", "2 nodes (scales 1 to 4)"),
        ({"status": "ERROR", "statusMessage": "GCE_STOCKOUT: out of resources in us-central1-a"}, "failed", "GCE_STOCKOUT"),
        ({"status": "PROVISIONING"}, "warning", "2 nodes"),
        ({"status": "RUNNING_WITH_ERROR", "conditions": [{"message": "x broke"}]}, "failed", "x broke"),
    ],
)
def test_a_pool_says_its_nodes_and_what_is_wrong_with_it(
    cloud: Cloud, google: Google, body: dict[str, Any], level: str, words: str
) -> None:
    spec = stack_kinds.load(EXAMPLES / "Pulumi.gke.yaml")
    pool = next(one for one in status.things.of(spec, "gke") if one.kind == "node_pools")
    url = f"https://www.googleapis.com/compute/v1/projects/{spec.project}/zones/us-central1-a/instanceGroupManagers/gke-x-grp"
    cloud.answers = {f"nodePools/{pool.id}": body | {"instanceGroupUrls": [url]}, "gke-x-grp": {"targetSize": 2}}
    one = by_path(look(google, spec, "gke", NOW))[pool.path]
    assert one.level == level
    assert words in one.detail


def test_a_foundation_says_what_became_of_its_quota_and_which_apis_are_off(cloud: Cloud, google: Google) -> None:
    spec = stack_kinds.load(EXAMPLES / "Pulumi.foundation.yaml")
    quota = next(one for one in status.things.of(spec, "foundation") if one.form == "quota")
    asked = {
        "name": quota.resource,
        "service": "compute.googleapis.com",
        "quotaId": "Q",
        "quotaConfig": {"preferredValue": "8", "grantedValue": "2"},
    }
    cloud.answers |= {
        "quotaPreferences": {"quotaPreferences": [asked]},
        f"projects/{spec.project}/services": {"services": [{"name": "projects/1/services/compute.googleapis.com"}]},
    }
    found = by_path(look(google, spec, "foundation", NOW))
    assert (found[quota.path].level, found[quota.path].state) == ("failed", "granted in part")
    assert "wanted 8, granted 2" in found[quota.path].detail
    assert found["apis"].level == "failed"
    assert found["apis"].fix.startswith("gcloud services enable ")
    assert "compute.googleapis.com" not in found["apis"].detail
    cloud.answers["quotaPreferences"] = {"quotaPreferences": [asked | {"reconciling": True}]}
    assert by_path(look(google, spec, "foundation", NOW))[quota.path].state == "pending"


def test_what_lives_in_a_cluster_is_asked_of_its_own_api(cloud: Cloud, google: Google) -> None:
    spec = stack_kinds.load(EXAMPLES / "Pulumi.gke-apps.yaml")
    services = [one for one in status.things.of(spec, "gke-apps") if one.kind == "services"]
    one, namespace = services[0], services[0].part("namespaces")
    why = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    pod = {"metadata": {"namespace": namespace, "name": "waits"}, "status": {"phase": "Pending", "conditions": [why]}}
    cloud.answers = {
        f"clusters/{one.part('clusters')}": {"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-1.gke.goog"}}},
        f"deployments/{one.id}": {"kind": "Deployment", "spec": {"replicas": 2}, "status": {"readyReplicas": 1}},
        f"namespaces/{namespace}/pods": {"items": [pod]},
    }
    found = look(google, spec, "gke-apps", NOW)
    seen = by_path(found)
    assert (seen[one.path].level, seen[one.path].state) == ("failed", "1 of 2 ready")
    assert seen["pods"].detail == f"{namespace}/waits, 0/1 nodes are available"
    cloud.answers = {}
    assert not stands(look(google, spec, "gke-apps", NOW))


def test_for_machines_every_amount_is_text(google: Google, region: Any) -> None:
    (one,) = look(google, region(), "shop", NOW)
    shown = one.shown()
    assert shown["thing"] == "budgets.monthly"
    assert isinstance(shown["amount"], str)
