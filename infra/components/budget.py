"""Budgets: what the bill may be, and who hears of it. Google's budgets mail, up to a day late; they stop nothing."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from infra import gcp
from infra.components.existing import FullName, MayExist
from infra.components.placement import Placement
from infra.declared import NOT_ASKED
from infra.errors import Problem, ProblemsError
from infra.labels import STACK_LABEL
from infra.spec import Money, Number, Spec, YesNo, pattern, problem

EMAILS_MAX = 5
"""A budget takes five e-mail channels. Source: discovery document billingbudgets v1, `monitoringNotificationChannels`, read 2026-11."""

NOT_IN_A_LABEL_BUDGET = (
    "what carries no label: NAT and network traffic, IAM, API calls, log and metric volume, Vertex AI jobs started by hand, "
    "and whatever this stack did not make"
)
"""What `scope: stack` cannot see. It counts resources that carry the label `accelform-stack`."""

Email = Annotated[
    str,
    pattern(
        r"email:(?=.{3,254}$)[a-z0-9._%+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}",
        "is not an e-mail channel, in small letters",
        "email:ml@shop.example",
    ),
]


CHANNEL = "existing:"
Notified = Annotated[
    str,
    pattern(
        r"email:(?=.{3,254}$)[a-z0-9._%+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}"
        r"|existing:projects/[a-z][a-z0-9-]{2,28}[a-z0-9]/notificationChannels/[0-9]{1,20}",
        "is neither an e-mail channel, in small letters, nor the full name of an existing one",
        "email:ml@shop.example, or existing:projects/tw-shop-ml/notificationChannels/1234",
    ),
]
"""Who gets the mail: an address, whose channel is made, or a channel that others own."""
BUDGET = FullName(
    "a budget",
    ("billingAccounts/{account}/budgets/{name}",),
    "billingAccounts/0A1B2C-3D4E5F-6A7B8C/budgets/5f1c7a52-8a4e-4d6b-9b1e-0c3f2d7a9e10",
    name=r"[A-Za-z0-9-]{1,64}",
)


def _day(value: object) -> object:
    """The engine reads a bare YAML date as a moment, and hands it on as `2026-12-01 00:00:00 +0000 UTC`."""
    text = value.removesuffix(" 00:00:00 +0000 UTC") if isinstance(value, str) else value
    if isinstance(text, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return text
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    raise problem("is not a date", allowed="year-month-day, such as 2026-12-01")


Day = Annotated[dt.date, BeforeValidator(_day)]


def _rising(value: list[float]) -> list[float]:
    if value != sorted(set(value)):
        raise problem("must rise, each once", allowed="fractions of the amount, for example [0.5, 0.9, 1.0]")
    return value


Thresholds = Annotated[list[Annotated[Number, Field(gt=0, le=10)]], Field(max_length=10), AfterValidator(_rising)]


class PeriodSpec(Spec):
    """Days that a budget counts, both included, by Pacific time as Google bills."""

    start: Annotated[Day, Field(alias="from")]
    """First day."""
    end: Annotated[Day, Field(alias="until")]
    """Last day."""

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.end < self.start:
            raise ProblemsError([Problem("until", f"is before `from` ({self.start})", fix="set a later day")])
        return self


class BudgetSpec(MayExist):
    """One budget: an amount, what counts, and at which shares of it mail is sent; or the name of one that others own, and its amount."""

    beside: ClassVar[tuple[str, ...]] = ("amount", "scope")

    later: ClassVar[dict[str, str]] = {"actions": "pausing and stopping at a share of the amount"}

    amount: Money
    """Amount in the billing account's currency, such as `350 USD`. Another currency is refused at preview, never converted."""
    scope: Literal["project", "stack"] = "project"
    """`project`: all that the project costs. `stack`: resources with this stack's label, which misses what carries none."""
    period: PeriodSpec | None = None
    """Days it counts, once. Without it: every calendar month."""
    spend: Literal["after-credits", "before-credits"] | None = None
    """Whether credits are taken off first. Must be stated with `period`: after credits, a free credit's budget reads 0 until it is gone.
    (default: after-credits)"""
    thresholds: Annotated[Thresholds, Field(min_length=1)] = [0.5, 0.9, 1.0]
    """Shares of the amount that mail is sent at, by what was spent."""
    forecast_thresholds: Thresholds | None = None
    """Shares of the amount that mail is sent at, by what Google expects of the month.
    (default: [1.0] for a month, none for a period: Google forecasts months only)"""
    mail_billing_admins: YesNo = True
    """Whether the billing account's administrators and users get the mail."""
    existing: Annotated[str, BUDGET.validator] | None = None
    """A budget that others own, by its full name: it is read, and its amount held against what this file says."""

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        problems = []
        if self.period and self.spend is None:
            problems.append(Problem("spend", "is missing: with a period it must be stated", allowed="after-credits, before-credits"))
        if self.thresholds and self.thresholds[0] > 1:
            problems.append(Problem("thresholds", "the first mail would come after the amount is spent", "a first share of at most 1.0"))
        if self.period and self.forecast_thresholds:
            problems.append(Problem("forecast_thresholds", "Google forecasts months only", fix="remove it"))
        if not self.mail_billing_admins and not (info.context or {}).get("notify", True):
            problems.append(
                Problem(
                    "mail_billing_admins",
                    "nobody would get the mail",
                    fix="set it to true, or name somebody in `notify`",
                )
            )
        if problems:
            raise ProblemsError(problems)
        return self

    @property
    def forecasts(self) -> list[float]:
        if self.forecast_thresholds is not None:
            return self.forecast_thresholds
        return [] if self.period else [1.0]


class Budgets(pulumi.ComponentResource):
    """The stack's budgets, and an e-mail channel for each of *notify*."""

    project_number: pulumi.Output[str]
    billing_account: pulumi.Output[str]
    currency_code: pulumi.Output[str]
    channels: dict[str, pulumi.Input[str]]
    """Who gets the mail, of alerts too: the channel of each address."""

    def __init__(
        self,
        name: str,
        specs: Mapping[str, BudgetSpec],
        *,
        notify: list[str],
        placement: Placement,
        channels: Mapping[str, pulumi.Input[str]] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            channels: Those that another stack has, by address: they get the mail besides. (default: none)
        """
        super().__init__("accelform:budget:Budgets", name, None, opts)
        # The budgets API refuses a person's own login unless a project is charged with the quota.
        provider = gcp.Provider(
            f"{name}-billing",
            project=placement.project,
            billing_project=placement.project,
            user_project_override=True,
            **placement.provider,
            opts=pulumi.ResourceOptions(parent=self),
        )
        billing = pulumi.InvokeOptions(parent=self, provider=provider)
        project = gcp.organizations.get_project_output(project_id=placement.project, opts=billing)
        account = gcp.organizations.get_billing_account_output(billing_account=project.billing_account, lookup_projects=False, opts=billing)
        self.project_number = project.number
        self.billing_account = project.billing_account
        self.currency_code = account.currency_code
        own = {
            address: gcp.monitoring.NotificationChannel(
                f"{name}-{address}",
                project=placement.project,
                type="email",
                display_name=f"{placement.stack} {address}",
                labels={"email_address": address},
                user_labels=placement.labels,
                opts=pulumi.ResourceOptions(parent=self),
            ).id
            for address in (entry.removeprefix("email:") for entry in notify if not entry.startswith(CHANNEL))
        }
        for channel in (entry.removeprefix(CHANNEL) for entry in notify if entry.startswith(CHANNEL)):
            read = pulumi.ResourceOptions(parent=self)
            short = f"{name}-{channel.rpartition('/')[2]}"
            own[channel] = gcp.monitoring.NotificationChannel.get(short, channel, opts=read, project=channel.split("/")[1]).id
        self.channels = {**(channels or {}), **own}
        for key, spec in specs.items():
            self._budget(key, spec, placement, project, account, list(self.channels.values()), provider)
        self.register_outputs({"channels": list(self.channels.values())})

    def _budget(
        self,
        key: str,
        spec: BudgetSpec,
        placement: Placement,
        project: pulumi.Output[gcp.organizations.GetProjectResult],
        account: pulumi.Output[gcp.organizations.GetBillingAccountResult],
        channels: list[pulumi.Input[str]],
        provider: gcp.Provider,
    ) -> None:
        if spec.existing:
            read = pulumi.ResourceOptions(parent=self, provider=provider)
            budget = gcp.billing.Budget.get(key, spec.existing, opts=read, billing_account=BUDGET.parts(spec.existing)["account"])
            budget.amount.apply(lambda found: check_amount(f"budgets.{key}", spec.amount, found))
            return
        amount = account.currency_code.apply(lambda actual: amount_of(f"budgets.{key}", spec.amount, actual))
        filters: dict[str, object] = {
            "projects": [project.number.apply(lambda number: f"projects/{number}")],
            "credit_types_treatment": ("EXCLUDE_ALL_CREDITS" if spec.spend == "before-credits" else "INCLUDE_ALL_CREDITS"),
        }
        if spec.scope == "stack":
            filters["labels"] = {STACK_LABEL: placement.stack}
        if spec.period:
            filters["custom_period"] = {"start_date": _date(spec.period.start), "end_date": _date(spec.period.end)}
        else:
            filters["calendar_period"] = "MONTH"
        gcp.billing.Budget(
            key,
            billing_account=project.billing_account,
            display_name=f"{placement.stack} {key}",
            amount={"specified_amount": amount},
            budget_filter=filters,
            threshold_rules=[
                *({"threshold_percent": share, "spend_basis": "CURRENT_SPEND"} for share in spec.thresholds),
                *({"threshold_percent": share, "spend_basis": "FORECASTED_SPEND"} for share in spec.forecasts),
            ],
            all_updates_rule=_mail(spec, channels),
            opts=pulumi.ResourceOptions(parent=self, provider=provider),
        )


def amount_of(path: str, money: Money, actual: str) -> dict[str, object]:
    """
    An amount as Google writes it.

    Raises:
        RunError: It is not in the billing account's currency.
    """
    if actual not in (money.currency, NOT_ASKED):
        raise pulumi.RunError(
            f"{path}.amount: {money} is not in the billing account's currency, {actual}\n"
            f"  fix: write the amount in {actual}; it is never converted or reinterpreted"
        )
    units, _, fraction = str(money.amount).partition(".")
    return {"currencyCode": actual, "units": units} | ({"nanos": int(fraction.ljust(9, "0"))} if fraction else {})


def check_amount(path: str, money: Money, found: Any) -> None:
    """
    Holds what the file says against a budget of others; one without an amount of its own, such as last month's, cannot be held.

    Raises:
        RunError: It is another amount.
    """
    there = getattr(found, "specified_amount", None)
    if there is None or there.units is None:
        return
    amount = (Decimal(there.units) + Decimal(there.nanos or 0).scaleb(-9)).normalize()
    if (amount, there.currency_code) != (money.amount, money.currency):
        raise pulumi.RunError(f"{path}.amount: {money} is not what the budget says: {amount:f} {there.currency_code}\n  fix: write that")


def _mail(spec: BudgetSpec, channels: list[pulumi.Input[str]]) -> dict[str, object] | None:
    """Who gets the mail besides the defaults. A rule that says nothing comes back as none, and would be a diff for ever."""
    if not channels:
        return None
    return {
        "monitoring_notification_channels": channels,
        "disable_default_iam_recipients": not spec.mail_billing_admins,
    }


def _date(day: dt.date) -> dict[str, int]:
    return {"year": day.year, "month": day.month, "day": day.day}
