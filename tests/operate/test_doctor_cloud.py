"""`doctor --cloud` against canned answers: it only reads, fails softly, and names metric, role or command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, inspect

Look = Callable[..., dict[str, Found]]


def by_name(module: str) -> Any:
    """The tests' own helpers: test folders are no packages."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location(module, Path(__file__).parent / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


cloud = by_name("conftest")
PROJECT, ACCOUNT = cloud.PROJECT, cloud.ACCOUNT


def test_a_ready_project_is_ready(answers: dict[str, Any], look: Look) -> None:
    """Nothing fails, and the only thing that is not known is said: whether it is a trial."""
    found = look(answers)
    assert {name: one.level for name, one in found.items() if one.level != "ok"} == {"free trial": "warning"}
    assert found["quota of v6e-1"].message.startswith("compute.googleapis.com/preemptible_tpu_v6e in us-east5-a: limit 8 chips")
    assert "quota is not capacity" in found["quota of v6e-1"].message
    assert found["v6e-1 in us-east5-a"].message == "ct6e-standard-1t is there now"


def test_only_reads(answers: dict[str, Any], needs: CloudNeeds) -> None:
    """Every call is a GET, but for asking what one may do."""
    transport = cloud.Cloud(answers)
    inspect(needs, connect=transport)
    assert all(method == "GET" or path.endswith(":testIamPermissions") for method, path in transport.asked)
    assert {path.split("/")[0] for _, path in transport.asked} >= {"cloudbilling", "serviceusage", "orgpolicy", ""}


def test_fails_where_an_api_is_off(answers: dict[str, Any], look: Look) -> None:
    """An API that is off is named with the command that turns it on; the other checks go on."""
    message = "Cloud Billing API has not been used in project 123456789012 before or it is disabled."
    answers[f"cloudbilling/v1/projects/{PROJECT}/billingInfo"] = cloud.error(
        403, "PERMISSION_DENIED", message, "SERVICE_DISABLED", "cloudbilling.googleapis.com"
    )
    found = look(answers)
    assert found["billing"].level == "failed"
    assert found["billing"].fix == f"gcloud services enable cloudbilling.googleapis.com --project={PROJECT}"
    assert found["project"].level == "ok"


def test_fails_where_the_stacks_apis_are_off(answers: dict[str, Any], look: Look) -> None:
    """One command enables all that are off."""
    answers[f"serviceusage/v1/projects/{PROJECT}/services:batchGet"] = {
        "services": [{"name": "projects/1/services/iam.googleapis.com", "state": "ENABLED"}]
    }
    fix = f"gcloud services enable compute.googleapis.com storage.googleapis.com serviceusage.googleapis.com --project={PROJECT}"
    assert look(answers)["APIs"].fix == fix


def test_fails_on_another_currency(answers: dict[str, Any], look: Look) -> None:
    """20 that was meant as USD never becomes 20 JPY."""
    answers[f"cloudbilling/v1/{ACCOUNT}"]["currencyCode"] = "JPY"
    found = look(answers)["currency"]
    assert (found.level, found.message) == ("failed", "the billing account is in JPY, budgets are written in USD")


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"billingEnabled": False, "billingAccountName": ""}, "no billing account is linked"),
        ({"billingEnabled": False, "billingAccountName": ACCOUNT}, "is closed or disabled"),
    ],
)
def test_fails_where_nobody_pays(info: dict[str, Any], said: str, answers: dict[str, Any], look: Look) -> None:
    """An unlinked project and a closed account are told apart."""
    answers[f"cloudbilling/v1/projects/{PROJECT}/billingInfo"] = info
    assert said in look(answers)["billing"].message


def test_fails_on_missing_permissions_with_their_role(answers: dict[str, Any], look: Look) -> None:
    """What is missing comes with the role that grants it, on the project and on the billing account."""
    answers[f"cloudresourcemanager/v3/projects/{PROJECT}:testIamPermissions"] = lambda body: {
        "permissions": [one for one in body["permissions"] if one != "iam.serviceAccounts.create"]
    }
    answers[f"cloudbilling/v1/{ACCOUNT}:testIamPermissions"] = {}
    found = look(answers)
    assert "--role=roles/iam.serviceAccountAdmin" in found["permissions"].fix
    assert "--role=roles/billing.costsManager" in found["budgets"].fix


def test_fails_on_too_little_quota_in_either_scope(answers: dict[str, Any], look: Look) -> None:
    """Regional, project-wide and TPU limits are each held against what the stack wants, by metric."""
    answers[f"/compute/v1/projects/{PROJECT}"]["quotas"][0]["limit"] = 1
    answers[f"/compute/v1/projects/{PROJECT}/regions/us-east5"]["quotas"][1]["limit"] = 150
    metrics = answers[f"serviceusage/v1beta1/projects/{PROJECT}/services/compute.googleapis.com/consumerQuotaMetrics"]["metrics"]
    metrics[1] = cloud.metric("compute.googleapis.com/preemptible_tpu_v6e", cloud.bucket(0, region="us-east5"))
    found = look(answers)
    assert found["quota, project"].message == "NETWORKS: limit 1, used 1, wanted 1"
    assert found["quota, us-east5"].message == "SSD_TOTAL_GB: limit 150, used 100, wanted 100"
    assert found["quota of v6e-1"].level == "failed"


def test_says_where_the_metric_is_not_known(answers: dict[str, Any], needs: CloudNeeds, look: Look) -> None:
    """No metric is guessed: what no source names is unknown, with the metrics that are there."""
    v5p = replace(needs.tpus[0], accelerator_type="v5p-8", generation="v5p", machine_type="ct5p-hightpu-4t")
    found = look(answers, replace(needs, tpus=(v5p,)))["quota of v5p-8"]
    assert found.level == "unknown"
    assert "tpus_per_tpu_family" in found.message


@pytest.mark.parametrize(
    ("constraint", "rules", "said"),
    [
        ("gcp.resourceLocations", [{"values": {"allowedValues": ["in:europe-locations"]}}], "only in:europe-locations are allowed"),
        ("gcp.resourceLocations", [{"values": {"deniedValues": ["us-east5"]}}], "us-east5 is denied"),
        ("gcp.restrictServiceUsage", [{"values": {"deniedValues": ["compute.googleapis.com"]}}], "compute.googleapis.com"),
        ("compute.trustedImageProjects", [{"values": {"allowedValues": ["projects/ours"]}}], "are not trusted"),
        ("iam.disableServiceAccountCreation", [{"enforce": True}], "service accounts cannot be made"),
    ],
)
def test_fails_on_a_policy_that_would_refuse(constraint: str, rules: list[Any], said: str, answers: dict[str, Any], look: Look) -> None:
    """An organisation's policy is found before it refuses."""
    answers[f"orgpolicy/v2/projects/{PROJECT}/policies/{constraint}:getEffectivePolicy"] = {"spec": {"rules": rules}}
    found = look(answers)[constraint]
    assert found.level == "failed"
    assert said in found.message


@pytest.mark.parametrize("allowed", ["us-east5", "in:us-east5-locations", "in:us-locations"])
def test_a_policy_that_allows_the_region_is_fine(allowed: str, answers: dict[str, Any], look: Look) -> None:
    """The region by name, or a group that holds it, is no finding."""
    answers[f"orgpolicy/v2/projects/{PROJECT}/policies/gcp.resourceLocations:getEffectivePolicy"] = {
        "spec": {"rules": [{"values": {"allowedValues": [allowed]}}]}
    }
    assert "gcp.resourceLocations" not in look(answers)


def test_fails_where_the_zone_has_no_such_type_now(answers: dict[str, Any], look: Look) -> None:
    """A zone without the machine type lists those that it has."""
    answers[f"/compute/v1/projects/{PROJECT}/zones/us-east5-a/machineTypes"] = {"items": [{"name": "ct5p-hightpu-4t"}]}
    assert look(answers)["v6e-1 in us-east5-a"].message == "ct6e-standard-1t is not there now; the zone has ct5p-hightpu-4t"


def test_asks_the_tpu_api_where_it_makes_the_machine(answers: dict[str, Any], needs: CloudNeeds, look: Look) -> None:
    """The Cloud TPU API's own types and runtimes count for its nodes."""
    node = replace(needs.tpus[0], way="tpu-api")
    there = f"tpu/v2/projects/{PROJECT}/locations/us-east5-a"
    answers[f"{there}/acceleratorTypes"] = {"acceleratorTypes": [{"type": "v6e-1"}]}
    answers[f"{there}/runtimeVersions"] = {"runtimeVersions": [{"version": "tpu-ubuntu2204-base"}]}
    found = look(answers, replace(needs, tpus=(node,)))
    assert found["v6e-1 in us-east5-a"].level == "ok"
    assert "is withdrawn; the zone has tpu-ubuntu2204-base" in found["runtime v2-alpha-tpuv6e in us-east5-a"].message


@pytest.mark.parametrize(
    "answer", [TimeoutError("timed out"), cloud.error(403, "PERMISSION_DENIED", "no"), cloud.error(503, "UNAVAILABLE", "busy")]
)
def test_one_api_that_does_not_answer_spoils_nothing_else(answer: Any, answers: dict[str, Any], look: Look) -> None:
    """A time-out, a refusal and an outage are findings of their own check, never a traceback."""
    answers[f"cloudresourcemanager/v3/projects/{PROJECT}"] = answer
    found = look(answers)
    assert found["project"].level == "unknown"
    assert found["billing"].level == "ok"


def test_fails_without_credentials(needs: CloudNeeds, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Without credentials nothing is called, and the command that makes them is named."""
    import google.auth

    def none(**ignored: Any) -> Any:
        raise google.auth.exceptions.DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", none)
    found = inspect(needs)
    assert (found[0].level, found[0].fix) == ("failed", "gcloud auth application-default login")
    assert all(one.level == "unknown" for one in found[1:])


def test_importing_it_loads_no_client() -> None:
    """Google's clients are loaded only when a cloud is looked at."""
    program = (
        "import sys, infra.operate.doctor_cloud; print(any(name.startswith(('googleapiclient', 'google.auth')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip() == "False"
