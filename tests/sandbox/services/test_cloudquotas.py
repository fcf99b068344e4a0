"""Cloud Quotas of the sandbox: a request is looked at for a day, and granted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "cloudquotas.googleapis.com"
ALL = "v1/projects/{project}/locations/global/quotaPreferences"
WISH = {
    "service": "compute.googleapis.com",
    "quotaId": "GPUS-PER-GPU-FAMILY-per-project-region",
    "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
    "quotaConfig": {"preferredValue": "8"},
    "contactEmail": "ml@shop.example",
    "justification": "One machine",
}
DAY = 86400

Ask = Callable[..., Answer]


@pytest.fixture
def made(ask: Ask) -> Any:
    """A request."""
    return ask("POST", HOST, ALL, WISH, quotaPreferenceId="h100", ignoreSafetyChecks="QUOTA_SAFETY_CHECK_UNSPECIFIED").body


def test_a_request_is_pending_and_then_granted(ask: Ask, cloud: Cloud, made: Any) -> None:
    """Whom Google writes to is only taken in."""
    assert made["name"] == "projects/shop-prod/locations/global/quotaPreferences/h100"
    assert (made["reconciling"], "grantedValue" in made["quotaConfig"], "contactEmail" in made) == (True, False, False)
    cloud.clock.advance(DAY + 1)
    after = ask("GET", HOST, f"{ALL}/h100").body
    assert (after.get("reconciling"), after["quotaConfig"]["grantedValue"]) == (None, "8")
    assert ask("GET", HOST, ALL).body == {"quotaPreferences": [after]}


def test_a_changed_request_keeps_what_was_granted(ask: Ask, cloud: Cloud, made: Any) -> None:
    """And what only Google says cannot be written."""
    cloud.clock.advance(DAY + 1)
    wish = {"quotaConfig": {"preferredValue": "16", "grantedValue": "99"}}
    changed = ask("PATCH", HOST, f"{ALL}/h100", wish, updateMask="quotaConfig").body
    assert (changed["reconciling"], changed["quotaConfig"]["grantedValue"], changed["quotaConfig"]["preferredValue"]) == (True, "8", "16")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"quotaId": ""}, 400),
        ({"quotaConfig": {}}, 400),
        ({"quotaConfig": {"preferredValue": "-2"}}, 400),
        ({"dimensions": {"user": "me"}}, 400),
        ({"quotaConfig": {"preferredValue": "many"}}, 400),
        ({}, 200),
    ],
    ids=str,
)
def test_fails_on_what_cannot_be_asked_for(ask: Ask, change: dict[str, Any], status: int) -> None:
    assert ask("POST", HOST, ALL, WISH | change, quotaPreferenceId="h100").status == status


def test_one_request_for_one_quota(ask: Ask, made: Any) -> None:
    """Of the same dimensions; what it is for cannot be changed, and a project has no other location."""
    assert ask("POST", HOST, ALL, WISH, quotaPreferenceId="other").status == 409
    assert ask("POST", HOST, ALL, WISH | {"dimensions": {"region": "us-east1"}}, quotaPreferenceId="other").status == 200
    assert ask("PATCH", HOST, f"{ALL}/h100", {"quotaId": "CPUS"}, updateMask="quotaId").status == 400
    elsewhere = ALL.replace("global", "us-central1")
    assert ask("POST", HOST, elsewhere, WISH | {"dimensions": {}}, quotaPreferenceId="x").status == 400
    assert ask("GET", HOST, f"{ALL}/none").status == 404


def test_an_old_etag_is_refused(ask: Ask, made: Any) -> None:
    assert ask("PATCH", HOST, f"{ALL}/h100", {"justification": "two", "etag": made["etag"]}, updateMask="justification").status == 200
    assert ask("PATCH", HOST, f"{ALL}/h100", {"justification": "three", "etag": made["etag"]}, updateMask="justification").status == 409
