"""The billing account of the sandbox, and who pays for a project."""

from __future__ import annotations

from typing import Any

from infra.sandbox.cloud import Cloud
from infra.sandbox.projects import ACCOUNT

HOST = "cloudbilling.googleapis.com"


def test_account_is_open_in_usd_until_it_is_said_otherwise(ask: Any, cloud: Cloud) -> None:
    account = ask("GET", HOST, f"v1/{ACCOUNT}").body

    assert (account["name"], account["open"], account["currencyCode"]) == (ACCOUNT, True, "USD")
    assert ask("GET", HOST, "v1/billingAccounts").body == {"billingAccounts": [account], "nextPageToken": ""}
    cloud.projects.set_currency("TWD")
    assert ask("GET", HOST, f"v1/{ACCOUNT}").body["currencyCode"] == "TWD"


def test_account_of_another_form_is_refused(ask: Any) -> None:
    assert ask("GET", HOST, "v1/billingAccounts/mine").status == 403
    assert ask("GET", HOST, "v1/billingAccounts/mine:getIamPolicy").status == 403


def test_project_is_paid_for_by_the_account_that_it_is_given(ask: Any) -> None:
    before = ask("GET", HOST, "v1/projects/{project}/billingInfo").body
    none = ask("PUT", HOST, "v1/projects/{project}/billingInfo", {"billingAccountName": ""}).body
    after = ask("PUT", HOST, "v1/projects/{project}/billingInfo", {"billingAccountName": "billingAccounts/0ABCDE-012345-ABCDEF"}).body

    assert (before["billingAccountName"], before["billingEnabled"]) == (ACCOUNT, True)
    assert (none["billingAccountName"], none["billingEnabled"]) == ("", False)
    assert (after["billingAccountName"], after["billingEnabled"]) == ("billingAccounts/0ABCDE-012345-ABCDEF", True)
    assert ask("GET", HOST, "v1/projects/{project}/billingInfo").body == after
    assert ask("GET", HOST, f"v1/{ACCOUNT}/projects").body["projectBillingInfo"] == []


def test_billing_goes_to_accounts_only_and_of_projects_that_are_there(ask: Any) -> None:
    assert ask("PUT", HOST, "v1/projects/{project}/billingInfo", {"billingAccountName": "mine"}).status == 400
    assert ask("GET", HOST, "v1/projects/none-such/billingInfo").status == 403


def test_who_may_do_what_on_an_account(ask: Any) -> None:
    binding = {"role": "roles/billing.viewer", "members": ["user:one@shop.example"]}

    ask("POST", HOST, f"v1/{ACCOUNT}:setIamPolicy", {"policy": {"bindings": [binding]}})

    assert ask("GET", HOST, f"v1/{ACCOUNT}:getIamPolicy").body["bindings"] == [binding]
    permissions = {"permissions": ["billing.budgets.create"]}
    assert ask("POST", HOST, f"v1/{ACCOUNT}:testIamPermissions", permissions).body == permissions
