"""
`accelform:billing:SpendCap`: a budget with Google's spend cap.

Its restrictions are those of the descriptions in the discovery document billingbudgets v1, revision 20261011.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.provider.calls import FIRST_BACKOFF_SECONDS, GoogleError, UnclearError
from infra.provider.resource import FailedAfterMadeError, Failure, Made, Resource
from infra.provider.server import ProviderError
from infra.provider.values import Unknown

API = "billingbudgets.v1"
THRESHOLDS = (0.5, 0.8, 1.0)
CONFIGURED, ENFORCED, LIFTED = "CONFIGURED", "ENFORCED", "AWAITING_NEXT_PERIOD"
NAME_LETTERS = 60
BILLION = 10**9
FORMS = {
    "billingAccount": (r"[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}", "01ABCD-23EFGH-45IJKL"),
    "project": (r"projects/[0-9]+", "projects/123456789012: the number, not the id"),
    "service": (r"services/[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}", "services/ABCD-1234-EF56, as the Cloud Billing Catalog lists it"),
}


class SpendCap(Resource):
    """A spend cap."""

    token = "accelform:billing:SpendCap"  # noqa: S105 - a type's name

    @classmethod
    def check(cls, inputs: Mapping[str, Any]) -> Iterator[Failure]:
        for name, (form, such_as) in FORMS.items():
            value = inputs.get(name)
            if isinstance(value, str) and not re.fullmatch(form, value):
                yield Failure((name,), f"{value!r} is not of its form\n  allowed: {such_as}")
        shown = inputs.get("displayName")
        if isinstance(shown, str) and not 0 < len(shown) <= NAME_LETTERS:
            yield Failure(("displayName",), f"has {len(shown)} characters\n  allowed: 1 to {NAME_LETTERS}")
        amount = inputs.get("amount")
        units = amount.get("units") if isinstance(amount, dict) else None
        if isinstance(units, str) and not re.fullmatch(r"[0-9]{1,15}", units):
            yield Failure(("amount", "units"), f"{units!r} is no whole number of units\n  allowed: 0 to 999999999999999")
        nanos = amount.get("nanos") if isinstance(amount, dict) else None
        if isinstance(nanos, int) and not 0 <= nanos < BILLION:
            yield Failure(("amount", "nanos"), f"{nanos} is no number of billionths\n  allowed: 0 to {BILLION - 1}")

    def create(self, inputs: dict[str, Any]) -> Made:
        if there := self._alike(inputs):
            return self._changed(there, inputs)
        parent = f"billingAccounts/{inputs['billingAccount']}"
        try:
            return _made(self.google.call(API, "billingAccounts.budgets.create", parent=parent, body=_body(inputs, CONFIGURED)))
        except UnclearError as error:
            self.google.wait(FIRST_BACKOFF_SECONDS)
            if there := self._alike(inputs):
                return _made(there)
            raise error from None

    def there(self, inputs: dict[str, Any]) -> str:
        return str((self._alike(inputs) or {}).get("name", ""))

    def read(self, id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        found = self._get(id)
        if found is not None and "spendCap" not in found:
            raise ProviderError(f"{id} is a budget without a spend cap\n  fix: import it as a budget of the gcp provider")
        if found is None:
            return None
        made = _made(found)
        return Made(made.id, made.outputs, _worded(inputs, made.inputs))

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        there = self._get(id)
        if there is None:
            raise ProviderError(f"{id} is gone: `pulumi refresh` takes note of it")
        return self._changed(there, new)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        try:
            self.google.call(API, "billingAccounts.budgets.delete", name=id)
        except GoogleError as error:
            if error.code != 404:
                raise

    def _get(self, id: str) -> dict[str, Any] | None:
        return self.google.found(API, "billingAccounts.budgets.get", name=id)

    def _alike(self, inputs: dict[str, Any]) -> dict[str, Any] | None:
        """The cap that an earlier run made: Google names budgets, so it is known by what it says."""
        parent = f"billingAccounts/{inputs['billingAccount']}"
        every = self.google.pages(API, "billingAccounts.budgets.list", "budgets", parent=parent)
        caps = [one for one in every if "spendCap" in one and one.get("displayName") == inputs["displayName"]]
        found = [one for one in caps if _inputs(one)["project"] == inputs["project"] and _inputs(one)["service"] == inputs["service"]]
        if len(found) > 1:
            names = ", ".join(one["name"] for one in found)
            raise ProviderError(
                f"several spend caps are called {inputs['displayName']}: {names}\n  fix: import one of them, or delete all but one"
            )
        return found[0] if found else None

    def _changed(self, there: dict[str, Any], new: dict[str, Any]) -> Made:
        """
        Makes a cap as the inputs say. While it is enforced, only its state can be changed; while it is lifted, a change puts it in force.

        Raises:
            FailedAfterMadeError: It is enforced or lifted, and more would change.
        """
        etag = {"etag": there["etag"]} if "etag" in there else {}
        if there["spendCap"].get("outputState") == ENFORCED and new["lifted"]:
            there = self._patch(there["name"], {"spendCap": {"inputState": LIFTED}} | etag, "spendCap.inputState")
            etag = {"etag": there["etag"]} if "etag" in there else {}
        state, is_so = there["spendCap"].get("outputState"), _inputs(there)
        differs = sorted(name for name in ("displayName", "amount") if is_so[name] != _normal(new)[name])
        if differs and (state == ENFORCED or (state == LIFTED and new["lifted"])):
            until, fix = (
                ("it is enforced", "set lifted: true first") if state == ENFORCED else ("it is lifted", "set lifted: false with the change")
            )
            said = f"{', '.join(differs)}: cannot be changed while {until}\n  fix: {fix}, or wait for the next month"
            raise FailedAfterMadeError(said, _made(there))
        if differs or (state == LIFTED and not new["lifted"]):
            there = self._patch(there["name"], _body(new, CONFIGURED) | etag, "displayName,amount,spendCap.inputState")
        return _made(there)

    def _patch(self, name: str, body: dict[str, Any], mask: str) -> dict[str, Any]:
        return self.google.call(API, "billingAccounts.budgets.patch", name=name, updateMask=mask, body=body)


def _body(inputs: dict[str, Any], state: str) -> dict[str, Any]:
    return {
        "displayName": inputs["displayName"],
        "amount": {"specifiedAmount": inputs["amount"]},
        "budgetFilter": {
            "projects": [inputs["project"]],
            "services": [inputs["service"]],
            "calendarPeriod": "MONTH",
            "creditTypesTreatment": "EXCLUDE_ALL_CREDITS",
        },
        "thresholdRules": [{"thresholdPercent": share, "spendBasis": "CURRENT_SPEND"} for share in THRESHOLDS],
        "notificationsRule": {"enableProjectLevelRecipients": True},
        "spendCap": {"inputState": state},
    }


def _inputs(budget: dict[str, Any]) -> dict[str, Any]:
    """What would make a budget that is there."""
    filters = budget.get("budgetFilter", {})
    return _normal(
        {
            "billingAccount": budget["name"].split("/")[1],
            "project": next(iter(filters.get("projects", [])), ""),
            "service": next(iter(filters.get("services", [])), ""),
            "displayName": budget.get("displayName", ""),
            "amount": budget.get("amount", {}).get("specifiedAmount", {}),
            "lifted": budget["spendCap"].get("outputState") == LIFTED,
        }
    )


def _normal(inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs with the amount in one form: no billionths are as good as 0, and 07 units as 7."""
    amount = inputs["amount"]
    if isinstance(amount, Unknown):
        return inputs
    whole = {"currencyCode": amount.get("currencyCode", ""), "units": str(int(amount.get("units") or 0))}
    return inputs | {"amount": whole | ({"nanos": amount["nanos"]} if amount.get("nanos") else {})}


def _worded(given: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """
    What was found, as the program writes it where it means the same: 007 for 7.

    `lifted` of a cap that is not lifted, since it is not enforced, or not any more since the month has changed, is no difference: a lift
    is asked for once, and what a file has said since last month does not lift the next month's cap.
    """
    kept = found | ({"lifted": True} if given.get("lifted") is True else {})
    same = "amount" in given and _normal(given)["amount"] == found["amount"]
    return kept | ({"amount": given["amount"]} if same else {})


def _made(budget: dict[str, Any]) -> Made:
    inputs = _inputs(budget)
    outputs = inputs | {"name": budget["name"], "state": budget["spendCap"].get("outputState", "")}
    return Made(budget["name"], outputs, inputs)
