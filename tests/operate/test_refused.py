"""What Google's APIs refuse with becomes what mends it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.refused import RefusedError, each, explained


def refusal(body: dict[str, Any], api: str = "cloudbilling", method: str = "projects.getBillingInfo") -> RefusedError:
    return explained(api, method, "tw-shop-ml", body["error"]["code"], "", json.dumps(body).encode())


def test_fails_where_an_api_is_off_in_the_project_that_is_charged(cloud: SimpleNamespace) -> None:
    """The project named is the one where the API must be on: the quota project, by its number."""
    told = {"service": "billingbudgets.googleapis.com", "consumer": "projects/764086051850"}
    refused = refusal(cloud.error(403, "PERMISSION_DENIED", "Cloud Billing Budget API is disabled", "SERVICE_DISABLED", **told))
    assert (refused.level, refused.message) == ("failed", "billingbudgets.googleapis.com is not enabled in 764086051850")
    assert refused.fix == "gcloud services enable billingbudgets.googleapis.com --project=764086051850"


def test_fails_where_an_api_without_details_is_off() -> None:
    """Compute Engine's body has neither status nor details: its message is read."""
    message = "Compute Engine API has not been used in project 1 before or it is disabled."
    refused = refusal({"error": {"code": 403, "message": message, "errors": [{"reason": "accessNotConfigured"}]}}, "compute", "regions.get")
    assert refused.fix == "gcloud services enable compute.googleapis.com --project=tw-shop-ml"


@pytest.mark.parametrize(
    ("api", "method", "fix"),
    [
        (
            "compute",
            "regions.get",
            "gcloud projects add-iam-policy-binding tw-shop-ml --member=user:YOUR_EMAIL --role=roles/compute.viewer",
        ),
        (
            "cloudbilling",
            "projects.getBillingInfo",
            "gcloud projects add-iam-policy-binding tw-shop-ml --member=user:YOUR_EMAIL --role=roles/browser",
        ),
        (
            "cloudbilling",
            "billingAccounts.get",
            "gcloud billing accounts add-iam-policy-binding ACCOUNT --member=user:YOUR_EMAIL --role=roles/billing.viewer",
        ),
    ],
)
def test_names_the_role_that_may_look(api: str, method: str, fix: str, cloud: SimpleNamespace) -> None:
    """A missing permission is named with the least role that has it, on the project or on the billing account."""
    body = cloud.error(403, "PERMISSION_DENIED", "denied", "IAM_PERMISSION_DENIED", permission="some.thing.get")
    refused = refusal(body, api, method)
    assert (refused.level, refused.message) == ("unknown", f"{api}.googleapis.com: you lack some.thing.get")
    assert refused.fix == fix


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("USER_PROJECT_DENIED", "--role=roles/serviceusage.serviceUsageConsumer"),
        ("BILLING_DISABLED", "gcloud billing projects link tw-shop-ml --billing-account=ACCOUNT"),
        ("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "gcloud auth application-default login"),
    ],
)
def test_fails_with_what_mends_it(reason: str, fix: str, cloud: SimpleNamespace) -> None:
    """A quota project that may not be charged, billing that is off and a login without scopes are each mended by one command."""
    refused = refusal(cloud.error(403, "PERMISSION_DENIED", "no", reason))
    assert refused.level == "failed"
    assert refused.fix.endswith(fix)


def test_fails_without_a_quota_project(cloud: SimpleNamespace) -> None:
    """What the API says of a missing quota project stays, with the command that sets one."""
    message = "The orgpolicy.googleapis.com API requires a quota project, which is not set by default."
    assert refusal(cloud.error(403, "PERMISSION_DENIED", message)).fix == "gcloud auth application-default set-quota-project tw-shop-ml"


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"error": "no"}'])
def test_a_body_of_another_shape_is_read_by_its_status(content: bytes) -> None:
    """A proxy's own refusal has no Google body; the status says what there is to say."""
    refused = explained("compute", "regions.get", "p", 502, "Bad Gateway", content)
    assert (refused.level, refused.message) == ("unknown", "compute.googleapis.com answered 502: Bad Gateway")


def test_what_was_found_before_a_refusal_stays() -> None:
    """A part that is refused ends; its earlier findings and the parts after it stay."""

    def refused() -> Any:
        yield Found("one", "ok", "found")
        raise RefusedError("unknown", "no")

    found = list(each([("first", refused()), ("second", iter([Found("two", "ok", "found")]))]))
    assert [(one.check, one.level) for one in found] == [("one", "ok"), ("first", "unknown"), ("two", "ok")]
