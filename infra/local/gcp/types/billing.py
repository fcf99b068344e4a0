"""Cloud Billing budgets."""

from __future__ import annotations

from infra.local.gcp.resource_type import LAST, Codec, Field, ResourceType, Update

LABELS = Codec(
    lambda labels, _: {key: [value] for key, value in labels.items()},
    lambda labels: {key: values[0] for key, values in labels.items() if values},
)
"""Google has a list of values for each label, of which one is allowed."""

PERIOD = Codec(lambda period, _: None if period == "MONTH" else period)
"""A month is Google's default: the official provider does not send it."""

BUDGET = ResourceType(
    "gcp:billing/budget:Budget",
    "billing",
    "billingAccounts/{billingAccount}/budgets/{name}",
    named_by_google=True,
    url_only=("billingAccount",),
    defaults={"allUpdatesRule.schemaVersion": "1.0", "thresholdRules.spendBasis": "CURRENT_SPEND"},
    fields=(
        Field("name", codec=LAST),
        Field("allUpdatesRule", "notificationsRule"),
        Field("amount.lastPeriodAmount", codec=Codec(lambda *_: {}, lambda value: value is not None)),
        Field("budgetFilter.labels", codec=LABELS),
        Field("budgetFilter.calendarPeriod", codec=PERIOD, unread=True),
        Field("budgetFilter.creditTypes", absent=None),
        Field("budgetFilter.resourceAncestors", absent=None),
        Field("budgetFilter.subaccounts", absent=None),
        Field("allUpdatesRule.schemaVersion", unread=True),
    ),
    computed=("budgetFilter", "budgetFilter.calendarPeriod", "budgetFilter.creditTypesTreatment", "budgetFilter.services"),
    sets=("budgetFilter.projects", "budgetFilter.services", "budgetFilter.subaccounts", "budgetFilter.creditTypes"),
    mask_names={
        "allUpdatesRule": "notificationsRule",
        "amount": "amount.specifiedAmount.currencyCode,amount.specifiedAmount.units,amount.specifiedAmount.nanos",
    },
    updates=(Update(mask=True),),
)

ROWS = (BUDGET,)
