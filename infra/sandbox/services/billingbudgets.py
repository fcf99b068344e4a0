"""Budgets of a billing account. v1 takes the budget itself, v1beta1 one that is wrapped and calls its notifications `allUpdatesRule`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.sandbox import etags, verbs
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid, no_entity
from infra.sandbox.schema import camel
from infra.sandbox.service import Body, Call, Kind, Service
from infra.sandbox.services.cloudbilling import account

INVALID = "Request contains an invalid argument."
"""All that Google says of any budget that it does not take; what is wrong with it is in the details here."""
CAP_THRESHOLDS = [0.5, 0.8, 1.0]
CAP_WITHOUT = frozenset({"creditTypes", "customPeriod", "labels", "resourceAncestors", "subaccounts"})
EARLIEST = 2017


def create(call: Call) -> Any:
    account(call, call.owner)
    call.body = _v1(call.body.get("budget", {})) if call.version == "v1beta1" else call.body
    return verbs.create(call)


def patch(call: Call) -> Any:
    """PATCH: a spend cap's mask names the cap; an enforced cap changes in nothing but its state."""
    call.target = call.owner
    before = verbs.stored(call)
    sent, mask = unwrap(call)
    etags.check(call.cloud, sent.get("etag", ""), before["etag"])
    cap = before.get("spendCap")
    fields = mask.split(",") if mask else []
    if cap and fields and not any(field in ("spendCap", "spendCap.inputState") for field in fields):
        raise _wrong("update_mask", "of a spend cap must have spend_cap or spend_cap.input_state")
    if cap and cap["outputState"] == "ENFORCED" and fields != ["spendCap.inputState"]:
        said = "Only spend_cap.input_state can be modified while the spend cap is enforced."
        raise Refused(400, said, status="FAILED_PRECONDITION")
    return verbs.patch(call)


def unwrap(call: Call) -> tuple[Body, str]:
    """Budget and mask of an update, in v1's words and in camel case."""
    beta = call.version == "v1beta1"
    body = _v1(call.body.get("budget", {})) if beta else call.body
    mask = str(call.body.get("updateMask", "") if beta else call.query.get("updateMask", ""))
    fields = [camel(field.strip()) for field in mask.split(",") if field.strip()]
    return body, ",".join(field.replace("allUpdatesRule", "notificationsRule") for field in fields)


def _v1(body: Body) -> Body:
    return {"notificationsRule" if key == "allUpdatesRule" else key: value for key, value in body.items()}


def shown(call: Call, body: Body) -> Body:
    if call.version != "v1beta1":
        return body
    return {"allUpdatesRule" if key == "notificationsRule" else key: value for key, value in body.items()}


def _fill(call: Call, body: Body) -> None:
    body["name"] = call.target


def _complete(call: Call, body: Body) -> None:
    """Defaults. Source: recorded v1beta1, 2026-08; the currency: description of `specifiedAmount`."""
    filters = body.setdefault("budgetFilter", {})
    if "customPeriod" not in filters:
        filters.setdefault("calendarPeriod", "MONTH")
    filters.setdefault("creditTypesTreatment", "INCLUDE_ALL_CREDITS")
    if "projects" in filters:
        filters["projects"] = [_numbered(call, project) for project in filters["projects"]]
    for rule in body.get("thresholdRules", []):
        rule.setdefault("spendBasis", "CURRENT_SPEND")
    if "specifiedAmount" in body.get("amount", {}):
        body["amount"]["specifiedAmount"].setdefault("currencyCode", call.cloud.projects.currency)
    body["etag"] = etags.new(call.cloud)


def _numbered(call: Call, name: str) -> str:
    """A project as Google answers it: by its number."""
    project = name.removeprefix("projects/")
    return f"projects/{call.cloud.projects.number(project)}" if call.cloud.projects.get(project) else name


def _check(call: Call, body: Body, before: Body | None) -> None:
    """Rules of the discovery document's descriptions, and for currencies what Google answers."""
    _complete(call, body)
    problem = next(_problems(body, call.cloud.projects.currency), None) or next(_cap_problems(body, before), None)
    if problem:
        raise _wrong(*problem)
    if cap := body.get("spendCap"):
        enforced = before is not None and before.get("spendCap", {}).get("outputState") == "ENFORCED"
        cap["outputState"] = "ENFORCED" if enforced and cap["inputState"] == "CONFIGURED" else cap["inputState"]


def _problems(body: Body, currency: str) -> Iterator[tuple[str, str]]:
    amount, filters = body.get("amount", {}), body.get("budgetFilter", {})
    rule = body.get("notificationsRule", {})
    if not set(amount) & {"specifiedAmount", "lastPeriodAmount"}:
        yield "amount", "is required"
    if len(body.get("displayName", "")) > 60:
        yield "display_name", "must be at most 60 characters"
    if amount.get("specifiedAmount", {}).get("currencyCode", currency) != currency:
        yield "amount.specified_amount.currency_code", f"must be the billing account's currency, {currency}"
    if "lastPeriodAmount" in amount and "customPeriod" in filters:
        yield "amount.last_period_amount", "cannot be set with a custom period"
    if "customPeriod" in filters:
        start = filters["customPeriod"].get("startDate", {})
        if (start.get("year", 0), start.get("month", 0), start.get("day", 0)) <= (EARLIEST, 1, 1):
            yield "budget_filter.custom_period.start_date", f"must be after January 1, {EARLIEST}"
    labels = filters.get("labels", {})
    if len(labels) > 1 or any(len(values) != 1 for values in labels.values()):
        yield "budget_filter.labels", "must be a single label with a single value"
    if filters.get("creditTypes") and filters["creditTypesTreatment"] != "INCLUDE_SPECIFIED_CREDITS":
        yield "budget_filter.credit_types", "must be empty unless the treatment is INCLUDE_SPECIFIED_CREDITS"
    if any(item.get("thresholdPercent", 0) < 0 for item in body.get("thresholdRules", [])):
        yield "threshold_rules.threshold_percent", "must not be negative"
    if rule.get("pubsubTopic") and rule.get("schemaVersion") != "1.0":
        yield "notifications_rule.schema_version", 'must be "1.0" where a topic is set'
    if len(rule.get("monitoringNotificationChannels", [])) > 5:
        yield "notifications_rule.monitoring_notification_channels", "must be at most 5"


def _cap_problems(body: Body, before: Body | None) -> Iterator[tuple[str, str]]:
    """What a spend cap restricts."""
    cap = body.get("spendCap")
    if cap is None:
        return
    filters, rule, rules = body.get("budgetFilter", {}), body.get("notificationsRule", {}), body.get("thresholdRules", [])
    state, old = cap.get("inputState"), (before or {}).get("spendCap", {}).get("outputState")
    if state != "CONFIGURED" and (state, old) != ("AWAITING_NEXT_PERIOD", "ENFORCED"):
        yield "spend_cap.input_state", f"cannot become {state} from {old or 'nothing'}"
    if "specifiedAmount" not in body.get("amount", {}) or int(body["amount"]["specifiedAmount"].get("units", 0)) < 0:
        yield "amount.specified_amount", "must be set, and not negative"
    for field in CAP_WITHOUT & set(filters):
        yield f"budget_filter.{field}", "must be empty"
    for field in ("projects", "services"):
        if len(filters.get(field, [])) != 1:
            yield f"budget_filter.{field}", "must be exactly one"
    if filters.get("calendarPeriod") != "MONTH":
        yield "budget_filter.calendar_period", "must be MONTH"
    if filters.get("creditTypesTreatment") != "EXCLUDE_ALL_CREDITS":
        yield "budget_filter.credit_types_treatment", "must be EXCLUDE_ALL_CREDITS"
    if [item.get("thresholdPercent") for item in rules] != CAP_THRESHOLDS or any(item["spendBasis"] != "CURRENT_SPEND" for item in rules):
        yield "threshold_rules", "must be 0.5, 0.8 and 1.0 of CURRENT_SPEND"
    if not rule.get("enableProjectLevelRecipients") or rule.get("disableDefaultIamRecipients"):
        yield "notifications_rule", "must enable project level recipients, and not disable default ones"
    if rule.get("pubsubTopic") or rule.get("monitoringNotificationChannels"):
        yield "notifications_rule", "must have no topic and no channels"
    if body.get("ownershipScope", "ALL_USERS") not in ("OWNERSHIP_SCOPE_UNSPECIFIED", "ALL_USERS"):
        yield "ownership_scope", "must be ALL_USERS"


def _wrong(field: str, what: str) -> Refused:
    return invalid(INVALID, f"budget.{field}", f"budget.{field} {what}")


BUDGET = Kind(
    "billingAccounts.budgets",
    id_from="server:uuid",
    fill=_fill,
    check=_check,
    show=shown,
    not_found=no_entity,
)

SERVICE = Service(
    host="billingbudgets.googleapis.com",
    apis=("billingbudgets.v1", "billingbudgets.v1beta1"),
    operations=LongRunning(),
    kinds=(BUDGET,),
    handlers={"billingAccounts.budgets.create": create, "billingAccounts.budgets.patch": patch},
    unwrap=unwrap,
)
