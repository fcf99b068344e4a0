"""Spend caps over the sandbox: made once, changed as Google allows it, lifted, imported, gone."""

from __future__ import annotations

from typing import Any

import pytest
from driver import AbortedError, Driver, Sandbox

from infra.provider.values import UNKNOWN
from infra.sandbox.faults import Fault

TOKEN = "accelform:billing:SpendCap"
ACCOUNT = "0A5A4D-B0C5E0-5A4DB0"


@pytest.fixture
def inputs(sandbox: Sandbox, provider: Driver) -> dict[str, Any]:
    """A cap of 300 USD a month, as Check leaves it."""
    return provider.checked(
        TOKEN,
        {
            "billingAccount": ACCOUNT,
            "project": f"projects/{sandbox.number}",
            "service": "services/ABCD-1234-EF56",
            "displayName": "gemini",
            "amount": {"currencyCode": "USD", "units": "300"},
        },
    )


def caps(sandbox: Sandbox) -> list[dict[str, Any]]:
    return [body for _, _, body in sandbox.cloud.store.every("billingbudgets.googleapis.com", "billingAccounts/") if "spendCap" in body]


def enforce(sandbox: Sandbox, name: str) -> None:
    """What Google does when the month reaches the amount."""
    found = sandbox.cloud.store.get("billingbudgets.googleapis.com", name)
    assert found is not None
    sandbox.cloud.store.put("billingbudgets.googleapis.com", name, found | {"spendCap": found["spendCap"] | {"outputState": "ENFORCED"}})


def test_it_comes_stays_and_goes(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """What is read is what was written, and an import finds it."""
    id, state = provider.create(TOKEN, inputs)
    assert state == inputs | {"name": id, "state": "CONFIGURED"}
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    assert provider.read(TOKEN, id) == (id, state, inputs)
    (cap,) = caps(sandbox)
    assert cap["budgetFilter"] == {
        "projects": [f"projects/{sandbox.number}"],
        "services": ["services/ABCD-1234-EF56"],
        "calendarPeriod": "MONTH",
        "creditTypesTreatment": "EXCLUDE_ALL_CREDITS",
    }
    provider.delete(TOKEN, id, state)
    provider.delete(TOKEN, id, state)
    assert provider.read(TOKEN, id, state, inputs)[0] == ""


def test_the_amount_changes_in_place(provider: Driver, inputs: dict[str, Any]) -> None:
    id, state = provider.create(TOKEN, inputs)
    more = inputs | {"amount": {"currencyCode": "USD", "units": "400", "nanos": 500000000}}
    found = provider.diff(TOKEN, inputs, more, state)
    assert (sorted(found.detailedDiff), list(found.replaces)) == (["amount.nanos", "amount.units"], [])
    assert provider.update(TOKEN, id, state, inputs, more) == state | {"amount": more["amount"]}


def test_another_service_is_another_cap(provider: Driver, inputs: dict[str, Any]) -> None:
    found = provider.diff(TOKEN, inputs, inputs | {"service": "services/0000-0000-0000"})
    assert (list(found.replaces), found.deleteBeforeReplace) == (["service"], True)


def test_an_enforced_cap_is_lifted_and_nothing_else(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Its amount cannot be changed while it holds: the state keeps what is so."""
    id, state = provider.create(TOKEN, inputs)
    enforce(sandbox, id)
    more = inputs | {"amount": {"currencyCode": "USD", "units": "400"}}
    with pytest.raises(AbortedError, match="amount: cannot be changed while it is enforced") as error:
        provider.update(TOKEN, id, state, inputs, more)
    assert error.value.detail.id == id
    lifted = inputs | {"lifted": True}
    state = provider.update(TOKEN, id, state, inputs, lifted)
    assert (state["state"], state["lifted"]) == ("AWAITING_NEXT_PERIOD", True)
    with pytest.raises(AbortedError, match="amount: cannot be changed while it is lifted"):
        provider.update(TOKEN, id, state, lifted, more | {"lifted": True})
    state = provider.update(TOKEN, id, state, lifted, more)
    assert (state["state"], state["amount"]) == ("CONFIGURED", more["amount"])


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
def test_a_lost_answer_makes_no_second_cap(do: str, sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    sandbox.cloud.faults.add(Fault(do=do, at=1, method="POST"))
    try:
        id, state = provider.create(TOKEN, inputs)
    except AbortedError:
        id, state = provider.create(TOKEN, inputs)  # the next run
    assert len(caps(sandbox)) == 1
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)


def test_a_create_that_was_cut_off_is_adopted(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Google names budgets: what a killed run made is known by its name, project and service."""
    first, _ = provider.create(TOKEN, inputs)
    again, state = provider.create(TOKEN, inputs | {"amount": {"currencyCode": "USD", "units": "10"}})
    assert (again, state["amount"]["units"], len(caps(sandbox))) == (first, "10", 1)


def test_two_of_a_name_are_not_guessed_between(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    id, _ = provider.create(TOKEN, inputs | {"displayName": "other"})
    provider.create(TOKEN, inputs)
    found = sandbox.cloud.store.get("billingbudgets.googleapis.com", id)
    assert found is not None
    sandbox.cloud.store.put("billingbudgets.googleapis.com", id, found | {"displayName": "gemini"})
    with pytest.raises(AbortedError, match="several spend caps are called gemini"):
        provider.create(TOKEN, inputs)


@pytest.mark.parametrize(
    "written",
    [{"currencyCode": "USD", "units": "0300"}, {"currencyCode": "USD", "units": "300", "nanos": 0}],
    ids=["zeros", "no-billionths"],
)
def test_an_amount_may_be_written_otherwise(provider: Driver, inputs: dict[str, Any], written: dict[str, Any]) -> None:
    """A refresh leaves it as the program has it; another amount is seen."""
    odd = provider.checked(TOKEN, inputs | {"amount": written})
    id, state = provider.create(TOKEN, odd)
    assert provider.read(TOKEN, id, state, odd)[2] == odd
    less = inputs | {"amount": {"currencyCode": "USD", "units": "30"}}
    assert provider.read(TOKEN, id, state, less)[2] == inputs


def test_a_lift_is_asked_for_once(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """What is not enforced cannot be lifted: that is no difference for ever. Enforced in the next month, it is not lifted by an old file."""
    lifted = inputs | {"lifted": True}
    id, state = provider.create(TOKEN, lifted)
    _, state, found = provider.read(TOKEN, id, state, lifted)
    assert provider.diff(TOKEN, found, lifted, state).detailedDiff == {}
    enforce(sandbox, id)
    _, state, found = provider.read(TOKEN, id, state, lifted)
    assert provider.diff(TOKEN, found, lifted, state).detailedDiff == {}
    assert state["state"] == "ENFORCED"
    state = provider.update(TOKEN, id, state, inputs, lifted)
    assert provider.read(TOKEN, id, state, inputs)[2]["lifted"] is True


def test_a_preview_calls_nobody(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    _, state = provider.create(TOKEN, inputs | {"project": UNKNOWN}, preview=True)
    assert (state["state"], state["project"], state["displayName"]) == (UNKNOWN, UNKNOWN, "gemini")
    assert caps(sandbox) == []


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"project": "shop-prod"}, "project", "the number, not the id"),
        ({"service": "gemini"}, "service", "services/ABCD-1234-EF56"),
        ({"billingAccount": "billingAccounts/x"}, "billingAccount", "01ABCD-23EFGH-45IJKL"),
        ({"displayName": "x" * 61}, "displayName", "has 61 characters"),
        ({"amount": {"currencyCode": "USD", "units": "-3"}}, "amount.units", "no whole number"),
        ({"amount": {"units": "3"}}, "amount.currencyCode", "is missing"),
        ({"amount": {"currencyCode": "USD", "units": "3", "nanos": -1}}, "amount.nanos", "no number of billionths"),
        ({"amount": {"currencyCode": "USD", "units": "3", "nanos": 10**9}}, "amount.nanos", "0 to 999999999"),
        ({"amount": 300}, "amount", "is not an object; got 300"),
        ({"lifted": "yes"}, "lifted", "is not true or false"),
        ({"ammount": 3}, "ammount", "allowed: amount"),
    ],
)
def test_what_is_refused(provider: Driver, inputs: dict[str, Any], change: dict[str, Any], path: str, reason: str) -> None:
    """Before any call, in one place each."""
    _, failures = provider.check(TOKEN, inputs | change)
    assert list(failures) == [path]
    assert failures[path].startswith(f"{path}: ")
    assert reason in failures[path]


def test_a_plain_budget_is_not_imported_as_a_cap(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    id, _ = provider.create(TOKEN, inputs)
    found = sandbox.cloud.store.get("billingbudgets.googleapis.com", id)
    assert found is not None
    sandbox.cloud.store.put("billingbudgets.googleapis.com", id, {key: value for key, value in found.items() if key != "spendCap"})
    with pytest.raises(AbortedError, match="is a budget without a spend cap"):
        provider.read(TOKEN, id)
