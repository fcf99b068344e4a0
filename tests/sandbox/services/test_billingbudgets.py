"""Budgets of the sandbox: what Google fills in, what it refuses, and spend caps."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from infra.sandbox.cloud import Cloud
from infra.sandbox.projects import ACCOUNT

HOST = "billingbudgets.googleapis.com"
BUDGETS = f"v1/{ACCOUNT}/budgets"
BUDGET: dict[str, Any] = {
    "displayName": "monthly",
    "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "270"}},
    "thresholdRules": [{"thresholdPercent": 0.5}, {"thresholdPercent": 1, "spendBasis": "FORECASTED_SPEND"}],
}
CAP: dict[str, Any] = {
    "amount": {"specifiedAmount": {"units": "300"}},
    "budgetFilter": {"projects": ["projects/shop-prod"], "services": ["services/1"], "creditTypesTreatment": "EXCLUDE_ALL_CREDITS"},
    "thresholdRules": [{"thresholdPercent": share} for share in (0.5, 0.8, 1.0)],
    "notificationsRule": {"enableProjectLevelRecipients": True},
    "spendCap": {"inputState": "CONFIGURED"},
}


def test_budget_has_an_id_of_the_server_and_googles_defaults(ask: Any) -> None:
    made = ask("POST", HOST, BUDGETS, BUDGET | {"name": f"{ACCOUNT}/budgets/mine"}).body

    assert made["name"].startswith(f"{ACCOUNT}/budgets/")
    assert not made["name"].endswith("/mine")
    assert made["budgetFilter"] == {"calendarPeriod": "MONTH", "creditTypesTreatment": "INCLUDE_ALL_CREDITS"}
    assert [rule["spendBasis"] for rule in made["thresholdRules"]] == ["CURRENT_SPEND", "FORECASTED_SPEND"]
    assert ask("GET", HOST, f"v1/{made['name']}").body == made
    assert ask("GET", HOST, BUDGETS).body == {"budgets": [made]}
    assert ask("DELETE", HOST, f"v1/{made['name']}").body == {}
    assert ask("GET", HOST, BUDGETS).body == {}
    assert ask("GET", HOST, f"v1/{made['name']}").status == 404


def test_v1beta1_wraps_the_budget_and_has_another_word_for_its_notifications(ask: Any) -> None:
    body = {"budget": BUDGET | {"allUpdatesRule": {"disableDefaultIamRecipients": False}}}

    made = ask("POST", HOST, f"v1beta1/{ACCOUNT}/budgets", body).body

    assert made["allUpdatesRule"] == {}
    assert ask("GET", HOST, f"v1/{made['name']}").body["notificationsRule"] == {}
    change = {"budget": {"allUpdatesRule": {"disableDefaultIamRecipients": True}}, "updateMask": "all_updates_rule"}
    changed = ask("PATCH", HOST, f"v1beta1/{made['name']}", change).body
    assert changed["allUpdatesRule"] == {"disableDefaultIamRecipients": True}
    assert changed["displayName"] == "monthly"


def test_projects_are_answered_by_number(ask: Any, cloud: Cloud) -> None:
    made = ask("POST", HOST, BUDGETS, BUDGET | {"budgetFilter": {"projects": ["projects/shop-prod", "projects/elsewhere"]}}).body

    assert made["budgetFilter"]["projects"] == [f"projects/{cloud.projects.number('shop-prod')}", "projects/elsewhere"]


def test_currency_is_the_accounts(ask: Any, cloud: Cloud) -> None:
    cloud.projects.set_currency("TWD")

    refused = ask("POST", HOST, BUDGETS, BUDGET)
    filled = ask("POST", HOST, BUDGETS, BUDGET | {"amount": {"specifiedAmount": {"units": "9000"}}})

    assert (refused.status, refused.body["error"]["message"]) == (400, "Request contains an invalid argument.")
    assert filled.body["amount"] == {"specifiedAmount": {"units": "9000", "currencyCode": "TWD"}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": {}}, "amount"),
        ({"displayName": "x" * 61}, "display_name"),
        (
            {"amount": {"lastPeriodAmount": {}}, "budgetFilter": {"customPeriod": {"startDate": {"year": 2026, "month": 1, "day": 1}}}},
            "amount",
        ),
        ({"budgetFilter": {"customPeriod": {"startDate": {"year": 2016, "month": 1, "day": 1}}}}, "budget_filter.custom_period"),
        ({"budgetFilter": {"labels": {"a": ["1"], "b": ["2"]}}}, "budget_filter.labels"),
        ({"budgetFilter": {"creditTypes": ["DISCOUNT"]}}, "budget_filter.credit_types"),
        ({"thresholdRules": [{"thresholdPercent": -0.1}]}, "threshold_rules"),
        ({"notificationsRule": {"pubsubTopic": "projects/shop-prod/topics/budget"}}, "notifications_rule.schema_version"),
        ({"notificationsRule": {"monitoringNotificationChannels": [f"projects/p/notificationChannels/{n}" for n in range(6)]}}, "notif"),
    ],
)
def test_what_a_budget_may_not_be(ask: Any, change: dict[str, Any], field: str) -> None:
    error = ask("POST", HOST, BUDGETS, BUDGET | change).body["error"]

    assert (error["code"], error["message"]) == (400, "Request contains an invalid argument.")
    assert error["details"][0]["fieldViolations"][0]["field"].startswith(f"budget.{field}")


def test_account_of_another_form_has_no_budgets(ask: Any) -> None:
    assert ask("POST", HOST, "v1/billingAccounts/mine/budgets", BUDGET).status == 403


def test_update_changes_what_its_mask_names(ask: Any) -> None:
    made = ask("POST", HOST, BUDGETS, BUDGET).body
    change = {"amount": {"specifiedAmount": {"currencyCode": "USD", "units": "300"}}, "displayName": "no"}

    mask = "amount.specifiedAmount.currencyCode,amount.specifiedAmount.units,amount.specifiedAmount.nanos"
    after = ask("PATCH", HOST, f"v1/{made['name']}", change, updateMask=mask).body

    assert after["amount"]["specifiedAmount"]["units"] == "300"
    assert {key for key in made if after[key] != made[key]} == {"amount", "etag"}


def test_update_is_of_whoever_read_it_last(ask: Any) -> None:
    made = ask("POST", HOST, BUDGETS, BUDGET).body
    path = f"v1/{made['name']}"

    assert ask("PATCH", HOST, path, {"displayName": "two", "etag": made["etag"]}).body["displayName"] == "two"
    assert ask("PATCH", HOST, path, {"displayName": "three", "etag": made["etag"]}).body["error"]["status"] == "ABORTED"


def test_spend_cap(ask: Any) -> None:
    made = ask("POST", HOST, BUDGETS, CAP).body

    assert made["spendCap"] == {"inputState": "CONFIGURED", "outputState": "CONFIGURED"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spendCap.inputState", "AWAITING_NEXT_PERIOD"),
        ("amount.specifiedAmount.units", "-1"),
        ("budgetFilter.projects", []),
        ("budgetFilter.services", []),
        ("budgetFilter.calendarPeriod", "YEAR"),
        ("budgetFilter.creditTypesTreatment", "INCLUDE_ALL_CREDITS"),
        ("budgetFilter.labels", {"a": ["b"]}),
        ("thresholdRules", [{"thresholdPercent": 1.0}]),
        ("notificationsRule.enableProjectLevelRecipients", False),
        ("notificationsRule.disableDefaultIamRecipients", True),
        ("ownershipScope", "BILLING_ACCOUNT"),
    ],
)
def test_what_a_spend_cap_may_not_be(ask: Any, path: str, value: object) -> None:
    body = copy.deepcopy(CAP)
    node = body
    *first, last = path.split(".")
    for word in first:
        node = node[word]
    node[last] = value

    assert ask("POST", HOST, BUDGETS, body).status == 400


def _enforced(ask: Any, cloud: Cloud) -> str:
    name: str = ask("POST", HOST, BUDGETS, CAP).body["name"]
    kept = cloud.store.get(HOST, name)
    assert kept is not None
    kept["spendCap"]["outputState"] = "ENFORCED"
    cloud.store.put(HOST, name, kept)
    return f"v1/{name}"


def test_enforced_spend_cap_is_only_lifted(ask: Any, cloud: Cloud) -> None:
    path = _enforced(ask, cloud)

    other = ask("PATCH", HOST, path, {"displayName": "x", "spendCap": {"inputState": "CONFIGURED"}}, updateMask="displayName,spendCap")
    lifted = ask("PATCH", HOST, path, {"spendCap": {"inputState": "AWAITING_NEXT_PERIOD"}}, updateMask="spendCap.inputState")

    assert other.body["error"]["status"] == "FAILED_PRECONDITION"
    assert lifted.body["spendCap"] == {"inputState": "AWAITING_NEXT_PERIOD", "outputState": "AWAITING_NEXT_PERIOD"}


def test_mask_of_a_spend_cap_names_it(ask: Any) -> None:
    path = f"v1/{ask('POST', HOST, BUDGETS, CAP).body['name']}"

    assert ask("PATCH", HOST, path, {"displayName": "x"}, updateMask="displayName").status == 400
    plain = ask("PATCH", HOST, path, {}, updateMask="spendCap").body
    assert "spendCap" not in plain
