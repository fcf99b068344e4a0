"""Rows of the billing export, as `query.sql` answers them, beside the estimates of a project's stacks."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self

from infra.cost.estimate import Estimate
from infra.cost.line import ZERO, Triple
from infra.cost.report import title, triple
from infra.cost.usage import HOURS
from infra.errors import Problem, SpecError

FOLDER = Path(__file__).parent
TABLE = re.compile(
    r"(?:[a-z0-9.-]{1,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]\.[A-Za-z0-9_]{1,1024}\.gcp_billing_export_resource_v1(?:_[0-9A-F]{6}){3}"
)
"""A detailed usage cost export: its name ends with the billing account's id, with _ for -.
Source: https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables, read 2026-11."""
TABLE_EXAMPLE = "shop-billing.billing.gcp_billing_export_resource_v1_01ABCD_23EF45_67890A"
PACIFIC = dt.timezone(dt.timedelta(hours=-8))
"""Invoices are cut by Pacific time. In summer the day turns an hour earlier, which moves no default."""

Verdict = Literal["below the low figure", "within the estimate", "above the high figure", "above what is known", "unknown"]


def check_table(table: str) -> str:
    """
    The table, where it is one that the query fits.

    Raises:
        SpecError: It is not named like a detailed export: nothing else is put into a query.
    """
    if TABLE.fullmatch(table):
        return table
    fix = "look it up: bq ls DATASET"
    if ".gcp_billing_export_v1_" in table:
        fix = "that is the standard export: the query is for the detailed one, which is turned on beside it"
    elif TABLE.fullmatch(underscored := ".".join([*table.split(".")[:-1], table.split(".")[-1].replace("-", "_")])):
        fix = f"BigQuery writes it with _: {underscored}"
    raise SpecError(
        "--billing-table",
        [Problem(repr(table[:120]), "is not the name of a detailed usage cost export", f"for example {TABLE_EXAMPLE}", fix)],
    )


@dataclass(frozen=True, slots=True)
class Period:
    """What is asked for: an invoice, or days of usage."""

    invoice_month: str
    """YYYYMM; empty for days of usage."""
    first: dt.date
    last: dt.date
    """Included."""

    @classmethod
    def parse(cls, text: str | None, today: dt.date | None = None) -> Self:
        """
        A month such as `2026-11`, days such as `2026-12-01..2026-12-15`; the last full month where there is no text.

        Raises:
            SpecError: It is neither, runs backwards, or lies in the future.
        """
        today = today or dt.datetime.now(PACIFIC).date()
        if text is None:
            end = today.replace(day=1) - dt.timedelta(days=1)
            return cls(f"{end:%Y%m}", end.replace(day=1), end)
        days = _days(text)
        if days is None or days[1] < days[0]:
            raise _no_period(text, "is neither a month nor days from the first to the last", "")
        first, last = days
        if first > today:
            raise _no_period(text, f"lies in the future: today is {today} by Pacific time", "ask for what was billed")
        return cls("" if ".." in text else f"{first:%Y%m}", first, last)

    def __str__(self) -> str:
        return f"invoice of {self.first:%Y-%m}" if self.invoice_month else f"usage of {self.first} to {self.last}"

    @property
    def hours(self) -> Decimal:
        """Hours of the estimate that it is held against: a whole month of it for an invoice, else those of its days."""
        return HOURS if self.invoice_month else Decimal(((self.last - self.first).days + 1) * 24)

    def is_over(self, today: dt.date | None = None) -> bool:
        return self.last < (today or dt.datetime.now(PACIFIC).date())


def _days(text: str) -> tuple[dt.date, dt.date] | None:
    """First and last day; None where the text is no period."""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}", text):
            first = dt.date.fromisoformat(f"{text}-01")
            return first, (first + dt.timedelta(days=31)).replace(day=1) - dt.timedelta(days=1)
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.\.[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            first, last = map(dt.date.fromisoformat, text.split(".."))
            return first, last
    except (ValueError, OverflowError):
        pass
    return None


def _no_period(text: str, message: str, fix: str) -> SpecError:
    return SpecError("--month", [Problem(repr(text[:60]), message, "a month such as 2026-11, or days such as 2026-12-01..2026-12-15", fix)])


def query(table: str) -> str:
    """The shipped query over one table, whose name `check_table` has seen: BigQuery takes no parameter in its place."""
    return (FOLDER / "query.sql").read_text(encoding="utf-8").replace("BILLING_TABLE", check_table(table))


def parameters(project: str, period: Period) -> dict[str, tuple[str, str]]:
    """Names of the query's parameters to their BigQuery types and values."""
    return {
        "project": ("STRING", project),
        "invoice_month": ("STRING", period.invoice_month),
        "first_day": ("DATE", period.first.isoformat()),
        "last_day": ("DATE", period.last.isoformat()),
    }


@dataclass(frozen=True, slots=True)
class Billed:
    """One row of the answer: amounts in its currency, exact."""

    stack: str | None
    """Value of the label accelform-stack; None where there is none."""
    service: str
    sku_id: str
    sku: str
    cluster: str | None
    namespace: str | None
    cost_type: str
    currency: str
    cost: Decimal
    """Before credits; below 0 for a refund."""
    credits: Decimal
    """What is taken off: below 0, or 0."""
    usd: Decimal | None
    """`cost` in USD, by the rate that Google made it with; None where a row has no rate."""
    earlier: Decimal
    """Part of `cost` whose usage began before the period."""
    late: Decimal
    """Part of `cost` that was exported after the period."""
    last_export: str

    @classmethod
    def read(cls, row: Mapping[str, str | None]) -> Self:
        """
        A row by column name, every value as text or None.

        Raises:
            KeyError, TypeError, ValueError, ArithmeticError: It is in another shape.
        """
        return cls(
            stack=row["stack"],
            service=row["service"] or "",
            sku_id=row["sku_id"] or "",
            sku=row["sku"] or "",
            cluster=row["cluster"],
            namespace=row["namespace"],
            cost_type=row["cost_type"] or "",
            currency=row["currency"] or "",
            cost=_amount(row["cost"]),
            credits=_amount(row["credits"]),
            usd=None if int(row["without_rate"] or "0") else _amount(row["usd"]),
            earlier=_amount(row["earlier"]),
            late=_amount(row["late"]),
            last_export=row["last_export"] or "",
        )


def _amount(text: str | None) -> Decimal:
    amount = Decimal(text or "")
    if not amount.is_finite():
        raise ValueError(f"{text} is no amount")
    return amount


@dataclass(frozen=True, slots=True)
class Sum:
    """Rows of one currency, added."""

    currency: str
    cost: Decimal
    credits: Decimal
    usd: Decimal | None
    """`cost` in USD; None where a row has no rate."""
    earlier: Decimal
    late: Decimal


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a project's bill: a stack, what carries another label, or what carries none."""

    name: str
    """The label's value; empty for what carries none."""
    estimate: Triple | None
    """USD of the period; None for what no stack file here estimates."""
    unknown: Sequence[str]
    """Lines of the estimate without a price."""
    sums: Sequence[Sum]
    """By currency, never added across; none where nothing was billed."""
    seen: bool = True
    """Whether the export has a row of the project and the period: only then is no row of this part nothing billed."""

    @property
    def usd(self) -> Decimal | None:
        """Before credits; None where Google gave no rate, or the export has no row at all."""
        known = [one.usd for one in self.sums if one.usd is not None]
        return sum(known, ZERO) if self.seen and len(known) == len(self.sums) else None

    @property
    def verdict(self) -> Verdict:
        return _verdict(self.estimate, bool(self.unknown), self.usd)

    @property
    def explained(self) -> Decimal:
        """What of it the estimate says: as far as its high figure."""
        if self.estimate is None or self.usd is None:
            return ZERO
        return max(ZERO, min(self.usd, self.estimate[2]))


def _verdict(estimate: Triple | None, unknown: bool, usd: Decimal | None) -> Verdict:
    if estimate is None or usd is None:
        return "unknown"
    low, _, high = estimate
    if usd > high:
        return "above what is known" if unknown else "above the high figure"
    return "below the low figure" if usd < low else "within the estimate"


@dataclass(frozen=True, slots=True)
class Actual:
    """A project's bill beside the estimates of its stacks."""

    project: str
    period: Period
    rows: Sequence[Billed]
    """All that the export says, tax included."""
    stacks: Sequence[Part]
    others: Sequence[Part]
    """What carries the label of a stack that is not among them, by name; then what carries none, where something was billed."""
    tax: Sequence[Sum]

    @property
    def complete(self) -> bool:
        """Whether something was billed, all of it has an amount in USD, and every line of the estimates has a price."""
        return bool(self.rows) and self.usd is not None and not any(part.unknown for part in self.stacks)

    @property
    def usd(self) -> Decimal | None:
        """All but tax, before credits."""
        parts = [part.usd for part in (*self.stacks, *self.others)]
        known = [usd for usd in parts if usd is not None]
        return sum(known, ZERO) if len(known) == len(parts) else None

    @property
    def estimate(self) -> Triple:
        triples = [part.estimate for part in self.stacks if part.estimate]
        low, expected, high = (sum((one[column] for one in triples), ZERO) for column in range(3))
        return low, expected, high

    @property
    def verdict(self) -> Verdict:
        """
        Of the whole project: what carries no label is in it, as NAT and network traffic are in the estimates. Unknown where other
        stacks are in it too: these estimates are not theirs.
        """
        if any(part.name for part in self.others):
            return "unknown"
        return _verdict(self.estimate, any(part.unknown for part in self.stacks), self.usd)

    @property
    def explained(self) -> Decimal | None:
        """Part of the bill that the estimates say, 1 for all of it; None where nothing was billed, or not in USD."""
        if not self.usd or self.usd < 0:
            return None
        return min(Decimal(1), sum((part.explained for part in self.stacks), ZERO) / self.usd)

    @property
    def unexplained(self) -> list[tuple[str, Decimal]]:
        """What the estimates do not say of the bill, in USD: a part's name and amount, empty for what carries no label."""
        left = [(part.name, part.usd - part.explained) for part in (*self.stacks, *self.others) if part.usd is not None]
        return [(name, amount) for name, amount in left if amount > 0]

    @property
    def last_export(self) -> str:
        return max((row.last_export for row in self.rows), default="")


def compare(project: str, period: Period, rows: Sequence[Billed], estimates: Mapping[str, Estimate]) -> Actual:
    """Every row in one part: its stack's, another label's, none's, or tax. Estimates are cut to the period's hours of a month."""
    taxes = [row for row in rows if row.cost_type == "tax"]
    charged = [row for row in rows if row.cost_type != "tax"]

    def sums(name: str) -> list[Sum]:
        return _sums(row for row in charged if (row.stack or "") == name)

    stacks = [
        Part(name, _cut(one.total, period.hours), [title(line) for line in one.unknown], sums(name), seen=bool(rows))
        for name, one in estimates.items()
    ]
    labels = sorted({row.stack for row in charged if row.stack and row.stack not in estimates})
    others = [Part(name, None, (), sums(name)) for name in (*labels, "") if sums(name)]
    return Actual(project, period, rows, stacks, others, _sums(taxes))


def _cut(month: Triple, hours: Decimal) -> Triple:
    low, expected, high = (amount * hours / HOURS for amount in month)
    return low, expected, high


def _sums(rows: Iterable[Billed]) -> list[Sum]:
    by_currency: dict[str, list[Billed]] = {}
    for row in rows:
        by_currency.setdefault(row.currency, []).append(row)
    return [_added(currency, some) for currency, some in sorted(by_currency.items())]


def _added(currency: str, rows: Sequence[Billed]) -> Sum:
    usd = [row.usd for row in rows if row.usd is not None]
    return Sum(
        currency=currency,
        cost=sum((row.cost for row in rows), ZERO),
        credits=sum((row.credits for row in rows), ZERO),
        usd=sum(usd, ZERO) if len(usd) == len(rows) else None,
        earlier=sum((row.earlier for row in rows), ZERO),
        late=sum((row.late for row in rows), ZERO),
    )


def as_json(actual: Actual) -> dict[str, Any]:
    """Amounts as text, exact."""
    return {
        "project": actual.project,
        "period": {
            "invoice_month": actual.period.invoice_month or None,
            "first_day": actual.period.first.isoformat(),
            "last_day": actual.period.last.isoformat(),
        },
        "complete": actual.complete,
        "estimated_usd": triple(actual.estimate),
        "billed_usd": _text(actual.usd),
        "verdict": actual.verdict,
        "explained_share": None if actual.explained is None else f"{actual.explained:.4f}",
        "unexplained_usd": [{"stack": name or None, "usd": _text(usd)} for name, usd in actual.unexplained],
        "last_export": actual.last_export or None,
        "parts": [
            {
                "stack": part.name or None,
                "estimated_usd": triple(part.estimate),
                "unknown_lines": list(part.unknown),
                "billed_usd": _text(part.usd),
                "verdict": part.verdict,
                "billed": [_sum(one) for one in part.sums],
            }
            for part in (*actual.stacks, *actual.others)
        ],
        "tax": [_sum(one) for one in actual.tax],
        "rows": [
            {
                "stack": row.stack,
                "service": row.service,
                "sku_id": row.sku_id,
                "sku": row.sku,
                "cluster": row.cluster,
                "namespace": row.namespace,
                "cost_type": row.cost_type,
                "currency": row.currency,
                "cost": _text(row.cost),
                "credits": _text(row.credits),
                "usd": _text(row.usd),
                "earlier": _text(row.earlier),
                "late": _text(row.late),
            }
            for row in actual.rows
        ],
    }


def _sum(one: Sum) -> dict[str, str | None]:
    return {
        "currency": one.currency,
        "cost": _text(one.cost),
        "credits": _text(one.credits),
        "usd": _text(one.usd),
        "earlier": _text(one.earlier),
        "late": _text(one.late),
    }


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"
