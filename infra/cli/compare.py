"""`accelform compare`: what the same hours of work cost elsewhere, and how long a credit lasts."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from infra.catalog.named import UnknownName
from infra.catalog.places import UnknownPlace, check_region
from infra.cli.output import aligned, print_json
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.catalog.fx import Rate
    from infra.cost.alternatives import Alternative, Bounds, Comparison
    from infra.cost.credit import Lasts, Runway

COMMAND = "accelform compare"
NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,4})?")
"""Nothing that rounds to another number, and no exponent: what is typed is what is meant."""
YEARS = range(2000, 2101)
"""Years in which a credit may start."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line, as text."""

    name: str
    hours_a_day: str
    region: str | None
    years: str
    usd_kwh: str | None
    credit: str | None
    start: str | None
    credit_days: str | None


@dataclass(frozen=True, slots=True)
class Credit:
    """A credit."""

    said: str
    usd: Decimal
    rate: Rate
    """By which it was made USD."""
    start: date
    days: int


def run(asked: Asked, *, as_json: bool) -> int:
    from infra.catalog.named import resolve
    from infra.cost.alternatives import compare

    problems: list[Problem] = []
    try:
        resolve(asked.name)
    except UnknownName as error:
        allowed = ", ".join(error.nearest) or "a TPU slice such as v6e-8, a GPU such as nvidia-l4, a machine type such as g2-standard-4"
        fix = f"{COMMAND} {error.nearest[0]}" if error.nearest else f"{COMMAND} v6e-8"
        problems.append(Problem("NAME", f"{asked.name!r} {error.message}", allowed, fix))
    if asked.region is not None:
        try:
            check_region(asked.region)
        except UnknownPlace as error:
            nearest = error.nearest or ("us-central1",)
            allowed = ", ".join(error.nearest) or "a region such as us-central1"
            problems.append(Problem("--region", f"{asked.region!r} is not a Google Cloud region", allowed, f"--region {nearest[0]}"))
    hours_a_day = _number(problems, "--hours-a-day", asked.hours_a_day, "2", Decimal(24))
    years = _number(problems, "--years", asked.years, "3", Decimal(20))
    usd_kwh = None if asked.usd_kwh is None else _number(problems, "--usd-kwh", asked.usd_kwh, "0.12", Decimal(100))
    credit = _credit(problems, asked)
    if problems:
        raise SpecError(COMMAND, problems)
    found = compare(asked.name, hours_a_day=hours_a_day, region=asked.region, years=years, usd_kwh=usd_kwh)
    lasting = _lasting(found, credit, hours_a_day) if credit else []
    if as_json:
        print_json(_json(found, asked, hours_a_day, credit, lasting))
    else:
        _print(found, asked, hours_a_day, credit, lasting)
    return ExitCode.INCOMPLETE if credit and not lasting else ExitCode.OK


def _number(problems: list[Problem], option: str, text: str, example: str, most: Decimal) -> Decimal:
    if NUMBER.fullmatch(text) and 0 < (number := Decimal(text)) <= most:
        return number
    may = f"a number above 0, at most {most}, with at most 4 decimals"
    problems.append(Problem(option, f"{text!r} is not {may}", may, f"{option} {example}"))
    return Decimal(1)


def _credit(problems: list[Problem], asked: Asked) -> Credit | None:
    from infra.cost.credit import FREE_TRIAL_DAYS

    days = FREE_TRIAL_DAYS if asked.credit_days is None else _days(problems, asked.credit_days)
    if asked.credit is None:
        said = "--from says when it starts" if asked.start is not None else "--credit-days says how long it lasts"
        if asked.start is not None or asked.credit_days is not None:
            problems.append(Problem("--credit", f"is missing: {said}", "an amount of money", '--credit "300 USD"'))
        if asked.start is not None:
            _day(problems, asked.start)
        return None
    usd = _usd(problems, asked.credit)
    start = _day(problems, asked.start)
    return Credit(asked.credit, *usd, start, days) if usd and start and days else None


def _usd(problems: list[Problem], text: str) -> tuple[Decimal, Rate] | None:
    """The amount of a credit in USD, by a dated rate."""
    from pydantic_core import PydanticCustomError

    from infra.catalog.fx import UnknownRate, rate, to_usd
    from infra.spec import Money

    fix = '--credit "300 USD"'
    try:
        money = Money.parse(text)
        return to_usd(money.amount, money.currency), rate(money.currency)
    except PydanticCustomError as error:
        problems.append(Problem("--credit", f"{text!r} {error.message()}", (error.context or {}).get("allowed", ""), fix))
    except UnknownRate as error:
        message = f"{text!r} is not in USD, as prices are, and no dated rate of {error.currency} is known"
        problems.append(Problem("--credit", message, f"an amount in {', '.join(error.known)}", fix))
    return None


def _day(problems: list[Problem], text: str | None) -> date | None:
    allowed = f"a day as YYYY-MM-DD, {YEARS[0]} to {YEARS[-1]}"
    fix = "--from 2026-12-01"
    if text is None:
        problems.append(Problem("--from", "is missing: the day on which the credit starts", allowed, fix))
        return None
    try:
        day = date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        day = None
    if day is None or day.year not in YEARS:
        problems.append(Problem("--from", f"{text!r} is not {allowed}", allowed, fix))
        return None
    return day


def _days(problems: list[Problem], text: str) -> int:
    if re.fullmatch(r"[0-9]{1,4}", text) and 0 < int(text) <= 3650:
        return int(text)
    may = "a whole number of days, 1 to 3650"
    problems.append(Problem("--credit-days", f"{text!r} is not {may}", may, "--credit-days 90"))
    return 0


def _lasting(found: Comparison, credit: Credit, hours_a_day: Decimal) -> list[Lasts]:
    from infra.cost.alternatives import WAYS
    from infra.cost.credit import lasts

    ways = sorted((one for one in found.alternatives if one.asked), key=lambda one: WAYS.index(one.way))
    return [lasts(one, credit.usd, credit.start, hours_a_day=hours_a_day, days=credit.days) for one in ways]


COLUMNS = ("what", "with", "bought", "where", "USD/h", "USD/month", "less", "USD/PFLOP-h", "USD/TB/s-h", "kWh/month", "price", "peak")
RIGHT = ("USD/h", "USD/month", "less", "USD/PFLOP-h", "USD/TB/s-h", "kWh/month")


def _print(found: Comparison, asked: Asked, hours_a_day: Decimal, credit: Credit | None, lasting: Sequence[Lasts]) -> None:
    from infra.cost.alternatives import month_hours

    meant = found.name if asked.name == found.name else f"{asked.name.strip()} is {found.name}"
    where = f"{asked.region}, and what is elsewhere" if asked.region else "each where it costs least"
    hours = f"{hours_a_day} hours a day, {_round(month_hours(hours_a_day), 2)} a month"
    _say(f"{meant}{_made_of(found)}: {hours}, {where}; list prices without tax")
    _say("", aligned(COLUMNS, map(_row, found.alternatives), right=RIGHT, fold=23), "")
    for (ways, why), names in _missing(found).items():
        _say(f"{ways}: {why}: {', '.join(names)}")
    energy = (
        f"electricity at {asked.usd_kwh} USD a kWh included"
        if asked.usd_kwh
        else "electricity not included: its price is unknown (--usd-kwh)"
    )
    _say(
        "PFLOP-h, TB/s-h: an hour of peak dense bf16 and of memory bandwidth, as makers print them. How fast a model runs must be measured",
        "less: than on demand in the same region, by the prices of these dates. Spot prices change monthly, and spot can be taken away",
        "kWh: of the accelerators alone at their highest power; of an own server up to that of the whole. Unknown is said so, never 0",
        "capacity-block: of AWS, a whole block of 24 hours for each day, however few of them are used",
        f"own: its price over {asked.years} years (--years), {energy}; no place, cooling, network, repair and people",
        "price, peak: trust and date of either; sources and notes: --json",
    )
    if credit:
        _print_credit(found, hours_a_day, credit, lasting)


def _print_credit(found: Comparison, hours_a_day: Decimal, credit: Credit, lasting: Sequence[Lasts]) -> None:
    from infra.cost.credit import FREE_TRIAL_DAYS

    if not lasting:
        _say("", f"credit of {credit.said}: {found.name} has no known price here, so nobody can tell how long it lasts")
        return
    until, rate = lasting[0].expected.until, credit.rate
    if rate.currency != "USD":
        made = f"{rate.usd_per_unit:f} USD for 1 {rate.currency}, {rate.trust}, {rate.as_of}; Google has rates of its own"
        _say("", f"{credit.said} are {_round(credit.usd, 2)} USD by {made}")
    _say(
        "",
        f"credit of {credit.said} from {credit.start}, {hours_a_day} hours a day of {found.name} alone, until {until}: {credit.days} days",
    )
    columns = ("what", "bought", "where", "USD/h", "hours paid", "full days", "gone on", "at the earliest")
    rows = [
        (
            one.name,
            one.way,
            one.region,
            _round(one.expected.usd_hour, 4),
            _round(one.expected.hours, 2),
            str(one.expected.full_days),
            _gone(one.expected),
            "unknown" if one.high is None else _gone(one.high),
        )
        for one in lasting
    ]
    _say("", aligned(columns, rows, right=("USD/h", "hours paid", "full days"), fold=40), "")
    _say(
        "gone on: the day on which the last of it is spent, or what is left when its period ends",
        "at the earliest: spot at the price on demand, which bounds it",
        f"days: of Google's free trial {FREE_TRIAL_DAYS}, of others: --credit-days. During that trial no GPU can be added to a machine",
        "and no quota be raised; an upgrade to a paid account comes first, and keeps the credit for the days that are left",
        "(https://cloud.google.com/free/docs/free-cloud-features, read 2026-11)",
    )


def _made_of(found: Comparison) -> str:
    from infra.catalog.tpu import shapes

    shape = shapes().get(found.name)
    return f" ({shape.chips} chip{'s' * (shape.chips != 1)}, {shape.cores} core{'s' * (shape.cores != 1)})" if shape else ""


def _row(one: Alternative) -> tuple[str, ...]:
    where = {"AWS": f"AWS {one.region}", "own": "own"}.get(one.provider, one.region)
    return (
        f"{one.name} (asked)" if one.asked else one.name,
        f"{one.accelerators:f} x {one.peak.name.removeprefix('nvidia-').removeprefix('tesla-')}",
        one.way,
        where,
        _cell(one.usd_hour, 4),
        _cell(one.usd_month, 2),
        "" if one.below_on_demand is None else f"{_round(one.below_on_demand, 1)} %",
        _cell(one.usd_pflop_hour, 2),
        _cell(one.usd_tb_s_hour, 2),
        _cell(one.kwh_month, 1),
        f"{one.trust}, {one.as_of}",
        f"{one.peak.trust}, {one.peak.as_of}",
    )


def _missing(found: Comparison) -> dict[tuple[str, str], list[str]]:
    """Names by the ways in which they cannot be compared, and why."""
    ways: dict[tuple[str, str], list[str]] = {}
    for one in found.missing:
        ways.setdefault((f"{one.name} (asked)" if one.asked else one.name, one.why), []).append(one.way)
    groups: dict[tuple[str, str], list[str]] = {}
    for (name, why), found_ways in ways.items():
        groups.setdefault((", ".join(found_ways), why), []).append(name)
    return groups


def _cell(bounds: Bounds | None, places: int) -> str:
    """Bounds that differ are no more exact than three digits."""
    if bounds is None:
        return "unknown"
    low, high = bounds
    return _round(low, places) if low == high else f"{_rough(low)} to {_rough(high)}"


def _rough(number: Decimal) -> str:
    return _round(number, 2 if number < 10 else 1 if number < 100 else 0)


def _round(number: Decimal, places: int) -> str:
    return f"{number:.{places}f}"


def _gone(one: Runway) -> str:
    if one.gone is None:
        return f"lapses {one.until}: {_round(one.lapses_usd, 2)} USD"
    return f"{one.gone}"


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _json(found: Comparison, asked: Asked, hours_a_day: Decimal, credit: Credit | None, lasting: Sequence[Lasts]) -> dict[str, Any]:
    """Amounts are text: those of the tables exact, those computed from them to six decimals."""
    from infra.cost.alternatives import month_hours

    return {
        "asked": found.asked,
        "name": found.name,
        "hours_a_day": str(hours_a_day),
        "month_hours": _exact(month_hours(hours_a_day)),
        "region": asked.region,
        "years": asked.years,
        "usd_kwh": asked.usd_kwh,
        "alternatives": [_alternative(one) for one in found.alternatives],
        "missing": [{"name": one.name, "way": one.way, "why": one.why, "asked": one.asked} for one in found.missing],
        "credit": None if credit is None else _credit_json(credit, lasting),
    }


def _alternative(one: Alternative) -> dict[str, Any]:
    peak = one.peak
    return {
        "name": one.name,
        "asked": one.asked,
        "provider": one.provider,
        "way": one.way,
        "region": one.region or None,
        "sold": one.sold,
        "accelerator": peak.name,
        "accelerators": f"{one.accelerators:f}",
        "usd_hour": _bounds(one.usd_hour),
        "usd_month": _bounds(one.usd_month),
        "percent_below_on_demand": None if one.below_on_demand is None else _exact(one.below_on_demand),
        "usd_pflop_hour": _bounds(one.usd_pflop_hour),
        "usd_tb_s_hour": _bounds(one.usd_tb_s_hour),
        "kwh_month": _bounds(one.kwh_month),
        "trust": one.trust,
        "as_of": one.as_of,
        "source": one.source,
        "notes": one.notes,
        "peak": {
            "bf16_tflops": None if peak.bf16_tflops is None else f"{peak.bf16_tflops:f}",
            "memory_gb_s": peak.memory_gb_s,
            "power_watts": peak.power_watts,
            "trust": peak.trust,
            "as_of": peak.as_of,
            "source": peak.source,
            "notes": peak.notes,
        },
    }


def _credit_json(credit: Credit, lasting: Iterable[Lasts]) -> dict[str, Any]:
    rate = credit.rate
    return {
        "amount": credit.said,
        "usd": _exact(credit.usd),
        "rate": {"usd_per_unit": f"{rate.usd_per_unit:f}", "trust": rate.trust, "as_of": rate.as_of, "source": rate.source},
        "from": str(credit.start),
        "days": credit.days,
        "lasts": [
            {
                "name": one.name,
                "way": one.way,
                "region": one.region,
                "trust": one.trust,
                "as_of": one.as_of,
                "low": _runway(one.low),
                "expected": _runway(one.expected),
                "high": None if one.high is None else _runway(one.high),
            }
            for one in lasting
        ],
    }


def _runway(one: Runway) -> dict[str, Any]:
    return {
        "usd_hour": _exact(one.usd_hour),
        "hours": _exact(one.hours),
        "full_days": one.full_days,
        "last_day_hours": _exact(one.last_day_hours),
        "gone": None if one.gone is None else str(one.gone),
        "until": str(one.until),
        "lapses_usd": _exact(one.lapses_usd),
    }


def _bounds(bounds: Bounds | None) -> dict[str, str] | None:
    return None if bounds is None else {"low": _exact(bounds[0]), "high": _exact(bounds[1])}


SIX_DECIMALS = Decimal("0.000001")


def _exact(number: Decimal) -> str:
    """Every digit where there are few, without zeros at the end; what a division made, to six decimals."""
    exponent = number.as_tuple().exponent
    few = isinstance(exponent, int) and exponent >= -12
    return f"{(number if few else number.quantize(SIX_DECIMALS)).normalize():f}"
