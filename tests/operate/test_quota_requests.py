"""What became of quota requests, as `doctor --cloud` tells it of a foundation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds

Look = Callable[..., dict[str, Found]]
CHECK = "quota requests, h100"


@pytest.fixture
def foundation(needs: CloudNeeds) -> CloudNeeds:
    """A foundation that asks for GPUs."""
    return replace(needs, tpus=(), is_foundation=True, quota_requests={"h100": "once-h100"})


def preference(project: str, **config: str) -> dict[str, Any]:
    """A quota preference as Google answers it."""
    return {
        "name": f"projects/{project}/locations/global/quotaPreferences/once-h100",
        "service": "compute.googleapis.com",
        "quotaId": "GPUS-PER-GPU-FAMILY-per-project-region",
        "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
        "quotaConfig": config,
    }


WHAT = "compute.googleapis.com GPUS-PER-GPU-FAMILY-per-project-region (gpu_family=NVIDIA_H100, region=us-central1): wanted 8"


@pytest.mark.parametrize(
    ("config", "pending", "level", "message"),
    [
        ({"preferredValue": "8"}, True, "warning", f"{WHAT}, granted nothing yet; not decided yet"),
        ({"preferredValue": "8", "grantedValue": "8"}, False, "ok", f"{WHAT}, granted 8"),
        ({"preferredValue": "8", "grantedValue": "16"}, False, "ok", f"{WHAT}, granted 16"),
        ({"preferredValue": "8", "grantedValue": "4"}, False, "failed", f"{WHAT}, granted 4"),
        ({"preferredValue": "8", "grantedValue": "0"}, True, "warning", f"{WHAT}, granted 0; not decided yet"),
        ({"preferredValue": "8", "stateDetail": "no"}, False, "failed", f"{WHAT}, granted nothing yet; Google says: no"),
        ({}, False, "failed", f"{WHAT.replace('wanted 8', 'wanted 0')}, granted nothing yet"),
    ],
    ids=str,
)
def test_each_request_is_told(
    config: dict[str, str],
    pending: bool,
    level: str,
    message: str,
    answers: dict[str, Any],
    foundation: CloudNeeds,
    look: Look,
    cloud: SimpleNamespace,
) -> None:
    """Pending is no failure; less than was asked for is one. A zero that JSON leaves out is none that is written."""
    body = preference(cloud.project, **config) | ({"reconciling": True} if pending else {})
    answers[f"cloudquotas/v1/projects/{cloud.project}/locations/global/quotaPreferences"] = {"quotaPreferences": [body]}
    found = look(answers, foundation)[CHECK]
    assert (found.level, found.message) == (level, message)


def test_a_request_that_was_not_sent_yet_is_told(
    answers: dict[str, Any], foundation: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    answers[f"cloudquotas/v1/projects/{cloud.project}/locations/global/quotaPreferences"] = {}
    assert look(answers, foundation)[CHECK].level == "warning"


def test_who_may_not_look_is_told_the_role(answers: dict[str, Any], foundation: CloudNeeds, look: Look, cloud: SimpleNamespace) -> None:
    """And a project whose API is off, the command."""
    path = f"cloudquotas/v1/projects/{cloud.project}/locations/global/quotaPreferences"
    answers[path] = cloud.error(403, "PERMISSION_DENIED", "no")
    assert "roles/cloudquotas.viewer" in look(answers, foundation)["quota requests"].fix
    answers[path] = cloud.error(403, "PERMISSION_DENIED", "off", "SERVICE_DISABLED", service="cloudquotas.googleapis.com")
    assert "gcloud services enable cloudquotas.googleapis.com" in look(answers, foundation)["quota requests"].fix


def test_a_region_asks_for_nothing(answers: dict[str, Any], look: Look) -> None:
    assert not [name for name in look(answers) if name.startswith("quota requests")]


def test_a_foundation_takes_other_rights_than_a_region(
    answers: dict[str, Any], foundation: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """Keys, and who comes from elsewhere; no machines."""
    asked: list[str] = []

    def none(body: Any) -> dict[str, Any]:
        asked.extend(body["permissions"])
        return {}

    answers[f"cloudresourcemanager/v3/projects/{cloud.project}:testIamPermissions"] = none
    look(answers, foundation)
    assert {"cloudkms.keyRings.create", "iam.workloadIdentityPools.create", "serviceusage.services.enable"} <= set(asked)
    assert not [one for one in asked if one.startswith(("compute.", "tpu."))]


def test_more_apis_than_one_call_asks_for_are_asked_for_in_parts(
    answers: dict[str, Any], foundation: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    many = replace(foundation, services=tuple(f"api{number}.googleapis.com" for number in range(61)), quota_requests={})
    answers[f"serviceusage/v1/projects/{cloud.project}/services:batchGet"] = {
        "services": [{"name": f"projects/1/services/api{number}.googleapis.com", "state": "ENABLED"} for number in range(60)]
    }
    assert look(answers, many)["APIs"].message == "off: api60.googleapis.com"
