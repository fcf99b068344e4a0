"""Project, billing, permissions and APIs: what is wrong comes with the command that mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds

Look = Callable[..., dict[str, Found]]


def test_fails_where_the_project_is_being_deleted(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """A project that is on its way out can be brought back."""
    answers[f"cloudresourcemanager/v3/projects/{cloud.project}"]["state"] = "DELETE_REQUESTED"
    found = look(answers)["project"]
    assert (found.level, found.fix) == ("failed", f"gcloud projects undelete {cloud.project}")


def test_fails_on_another_currency(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """20 that was meant as USD never becomes 20 JPY."""
    answers[f"cloudbilling/v1/{cloud.account}"]["currencyCode"] = "JPY"
    found = look(answers)["currency"]
    assert (found.level, found.message) == ("failed", "the billing account is in JPY, budgets are written in USD")
    assert "never converted or reinterpreted" in found.fix


@pytest.mark.parametrize(
    ("name", "said"), [("", "no billing account is linked"), ("billingAccounts/01ABCD", "billingAccounts/01ABCD is closed")]
)
def test_fails_where_nobody_pays(name: str, said: str, answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """An unlinked project and a closed account are told apart."""
    answers[f"cloudbilling/v1/projects/{cloud.project}/billingInfo"] = {"billingEnabled": False, "billingAccountName": name}
    found = look(answers)["billing"]
    assert (found.level, found.message) == ("failed", said)


def test_does_not_guess_whether_it_is_a_trial(answers: dict[str, Any], look: Look) -> None:
    """No API tells: it is said to be unknown, with where a person sees it."""
    found = look(answers)["free trial"]
    assert found.message.startswith("unknown")
    assert found.fix == "look at https://console.cloud.google.com/billing/01ABCD-23EFGH-45IJKL"


def test_a_stack_without_budgets_needs_no_right_to_make_them(
    answers: dict[str, Any], needs: CloudNeeds, look: Look, cloud: SimpleNamespace
) -> None:
    """Currency and budget permissions are looked at only where there are budgets."""
    answers[f"cloudbilling/v1/{cloud.account}:testIamPermissions"] = {}
    found = look(answers, replace(needs, currencies=()))
    assert not {"budgets", "currency"} & set(found)
    assert found["billing"].level == "ok"


def test_fails_on_missing_permissions_with_their_role(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """What is missing comes with the role that grants it, on the project and on the billing account."""
    answers[f"cloudresourcemanager/v3/projects/{cloud.project}:testIamPermissions"] = lambda body: {
        "permissions": [one for one in body["permissions"] if one != "iam.serviceAccounts.create"]
    }
    answers[f"cloudbilling/v1/{cloud.account}:testIamPermissions"] = {"permissions": ["billing.budgets.get", "billing.budgets.list"]}
    found = look(answers)
    assert found["permissions"].message == "you lack iam.serviceAccounts.create"
    assert found["permissions"].fix.endswith(f"{cloud.project} --member=user:YOUR_EMAIL --role=roles/iam.serviceAccountAdmin")
    assert "billing.budgets.create, billing.budgets.delete, billing.budgets.update" in found["budgets"].message
    assert found["budgets"].fix.endswith("01ABCD-23EFGH-45IJKL --member=user:YOUR_EMAIL --role=roles/billing.costsManager")


def test_fails_where_the_stacks_apis_are_off(answers: dict[str, Any], look: Look, cloud: SimpleNamespace) -> None:
    """One command enables all that are off."""
    answers[f"serviceusage/v1/projects/{cloud.project}/services:batchGet"] = {
        "services": [
            {"name": "projects/1/services/iam.googleapis.com", "state": "ENABLED"},
            {"name": "projects/1/services/compute.googleapis.com", "state": "DISABLED"},
        ]
    }
    fix = f"gcloud services enable compute.googleapis.com storage.googleapis.com serviceusage.googleapis.com --project={cloud.project}"
    assert look(answers)["APIs"].fix == fix
