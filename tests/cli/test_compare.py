"""`accelform compare`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

Accelform = Callable[..., Any]

ARTICLE = ("compare", "v4-8", "--hours-a-day", "2", "--credit", "300 USD", "--from", "2026-12-01")
"""A v4-8, not "8 chips of v4"; 2 hours a day; the credit of the free trial."""


def lines(out: str, *begins: str) -> list[list[str]]:
    """Cells of the lines that begin so."""
    return [re.split(r"\s{2,}", line) for line in out.splitlines() if line.startswith(begins)]


def test_the_articles_case_comes_out_right(accelform: Accelform) -> None:
    """4 chips and 8 cores at 12.88 USD an hour on demand and 71.4 % less as spot; 300 USD are gone on 12 December and on 10 January."""
    ran = accelform(*ARTICLE)
    assert ran.code == 0
    assert ran.out.startswith("v4-8 (4 chips, 8 cores): 2 hours a day, 60.83 a month, ")
    spot, on_demand = lines(ran.out, "v4-8 (asked)")
    assert on_demand[1:6] == ["4 x v4", "on-demand", "us-central2", "12.8800", "783.53"]
    assert spot[1:7] == ["4 x v4", "spot", "us-central2", "3.6860", "224.23", "71.4 %"]
    assert lines(ran.out, "v4-8  ") == [
        ["v4-8", "on-demand", "us-central2", "12.8800", "23.29", "11", "2026-12-12", "2026-12-12"],
        ["v4-8", "spot", "us-central2", "3.6860", "81.39", "40", "2027-01-10", "2026-12-12"],
    ]
    assert "until 2027-02-28: 90 days" in ran.out
    assert "80.0 %" not in ran.out


def test_the_table_says_that_peaks_are_no_speed(accelform: Accelform) -> None:
    """And that spot prices change, whose energy it is, and what an own server lacks."""
    out = accelform("compare", "v6e-1").out
    for said in (
        "How fast a model runs must be measured",
        "Spot prices change monthly",
        "accelerators alone",
        "its price is unknown (--usd-kwh)",
    ):
        assert said in out


def test_machines_get_text_and_null(accelform: Accelform) -> None:
    """Amounts as text, exact where the tables have them; what is unknown is null, never 0; every row has a date and a source."""
    data = accelform(*ARTICLE, "--json").data
    assert (data["name"], data["hours_a_day"], data["month_hours"]) == ("v4-8", "2", "60.833333")
    rows = {(one["name"], one["way"]): one for one in data["alternatives"]}
    asked = rows["v4-8", "on-demand"]
    assert (asked["asked"], asked["usd_hour"], asked["trust"]) == (True, {"low": "12.88", "high": "12.88"}, "high")
    assert asked["usd_month"]["low"] == "783.533333"
    assert rows["v4-8", "spot"]["percent_below_on_demand"] == "71.381988"
    assert rows["p4d.24xlarge", "on-demand"]["usd_hour"]["low"] == "21.957642"
    unknown = rows["v2-8", "on-demand"]
    assert [unknown[key] for key in ("usd_pflop_hour", "usd_tb_s_hour", "kwh_month")] == [None] * 3
    assert unknown["peak"]["bf16_tflops"] is None
    for one in data["alternatives"]:
        assert one["as_of"]
        assert one["source"]
        assert one["peak"]["source"]
        assert all(Decimal(amount) > 0 for amount in one["usd_hour"].values())
    assert {"name": "v4-8", "way": "flex-start", "why": "not sold so", "asked": True} in data["missing"]


def test_machines_get_the_credit_by_three_prices(accelform: Accelform) -> None:
    """Low, expected and high, with what lapses."""
    credit = accelform(*ARTICLE, "--json").data["credit"]
    assert (credit["amount"], credit["usd"], credit["from"], credit["days"]) == ("300 USD", "300", "2026-12-01", 90)
    on_demand, spot = credit["lasts"]
    assert [spot[price]["gone"] for price in ("low", "expected", "high")] == ["2027-01-10", "2027-01-10", "2026-12-12"]
    assert on_demand["expected"] == {
        "usd_hour": "12.88",
        "hours": "23.291925",
        "full_days": 11,
        "last_day_hours": "1.291925",
        "gone": "2026-12-12",
        "until": "2027-02-28",
        "lapses_usd": "0",
    }
    assert accelform("compare", "v4-8", "--json").data["credit"] is None


def test_what_outlives_its_days_lapses(accelform: Accelform) -> None:
    """An L4 for 2 hours a day spends less than 300 USD in 90 days; a longer credit is said with --credit-days."""
    arguments = ("compare", "g2-standard-4", "--hours-a-day", "2", "--credit", "300 USD", "--from", "2027-12-15")
    first = lines(accelform(*arguments).out, "g2-standard-4  on-demand")[-1]
    assert first[5:7] == ["90", "lapses 2028-03-13: 173.19 USD"]
    longer = lines(accelform(*arguments, "--credit-days", "365").out, "g2-standard-4  on-demand")[-1]
    assert longer[5:7] == ["212", "2028-07-14"]


def test_a_credit_in_another_currency_is_made_usd_by_a_dated_rate(accelform: Accelform) -> None:
    """9,600 TWD at 0.03133919 are 300.86 USD on 1 October 2026: as 300 USD, to the day."""
    arguments = ("compare", "v4-8", "--hours-a-day", "2", "--credit", "9600 TWD", "--from", "2026-12-01")
    assert "9600 TWD are 300.86 USD by 0.03133919 USD for 1 TWD, low, 2026-10-01" in accelform(*arguments).out
    credit = accelform(*arguments, "--json").data["credit"]
    assert (credit["amount"], credit["usd"], credit["rate"]["as_of"]) == ("9600 TWD", "300.856224", "2026-10-01")
    assert credit["lasts"][0]["expected"]["gone"] == "2026-12-12"


def test_a_credit_without_a_price_is_incomplete(accelform: Accelform) -> None:
    """In asia-east1 no price of v6e is known: nobody can tell, which has an exit code of its own."""
    ran = accelform("compare", "v6e-8", "--region", "asia-east1", "--credit", "300 USD", "--from", "2026-12-01")
    assert ran.code == 4
    assert "v6e-8 has no known price here" in ran.out
    assert "on-demand, spot, flex-start: no price is known: v6e-8 (asked)" in ran.out


def test_a_wrong_name_is_answered_with_the_right_one(accelform: Accelform) -> None:
    """What is compared is said."""
    assert accelform("compare", "v5e-4").out.startswith("v5e-4 is v5litepod-4 (4 chips, 4 cores): 24 hours a day, 730.00 a month, ")
    assert accelform("compare", " V4-8 ").out.startswith("V4-8 is v4-8 (4 chips, 8 cores): ")


def test_an_own_server_is_bounded(accelform: Accelform) -> None:
    """Three sources disagree: from 5,000 to 9,722 USD a month; 408.80 to 744.60 more at 0.10 USD a kWh."""
    plain = lines(accelform("compare", "v4-8").out, "server with 8 x H100")[0]
    assert plain[4:6] == ["6.85 to 13.3", "5000 to 9722"]
    paid = lines(accelform("compare", "v4-8", "--usd-kwh", "0.1").out, "server with 8 x H100")[0]
    assert paid[5] == "5409 to 10467"


@pytest.mark.parametrize(
    ("arguments", "where", "allowed"),
    [
        (("v4",), "NAME: 'v4' is a TPU without a size", "v4-8"),
        (("h100",), "NAME: 'h100' may be any of several GPUs", "nvidia-h100-80gb"),
        (("",), "NAME: '' is no accelerator", "a TPU slice such as"),
        (("鲸鱼",), "NAME: '鲸鱼' is no accelerator", "a TPU slice such as"),
        (("v4-8", "--region", "us-central2-b"), "--region: 'us-central2-b' is not", "us-central2"),
        (("v4-8", "--region", ""), "--region: '' is not", "a region such as"),
        (("v4-8", "--hours-a-day", "0"), "--hours-a-day: '0' is not", "at most 24"),
        (("v4-8", "--hours-a-day", "24.1"), "--hours-a-day: '24.1' is not", "at most 24"),
        (("v4-8", "--hours-a-day", "-2"), "--hours-a-day: '-2' is not", "above 0"),
        (("v4-8", "--hours-a-day", "NaN"), "--hours-a-day: 'NaN' is not", "above 0"),
        (("v4-8", "--hours-a-day", "1e-999999999"), "--hours-a-day: '1e-999999999' is not", "above 0"),
        (("v4-8", "--hours-a-day", "٢"), "--hours-a-day: '٢' is not", "above 0"),
        (("v4-8", "--hours-a-day", " 2"), "--hours-a-day: ' 2' is not", "above 0"),
        (("v4-8", "--years", "0"), "--years: '0' is not", "at most 20"),
        (("v4-8", "--usd-kwh", "free"), "--usd-kwh: 'free' is not", "above 0"),
        (("v4-8", "--credit", "300", "--from", "2026-12-01"), "--credit: '300' is not an amount of money", "350 USD"),
        (("v4-8", "--credit", "-1 USD", "--from", "2026-12-01"), "--credit: '-1 USD' is not an amount of money", "350 USD"),
        (("v4-8", "--credit", "300 usd", "--from", "2026-12-01"), "--credit: '300 usd' is not an amount of money", "350 USD"),
        (("v4-8", "--credit", "300 ISK", "--from", "2026-12-01"), "--credit: '300 ISK' is not in USD, as prices are, and no dated", "TWD"),
        (("v4-8", "--credit", "300 XXX", "--from", "2026-12-01"), "--credit: '300 XXX' ", ""),
        (("v4-8", "--credit", "300 USD"), "--from: is missing", "YYYY-MM-DD"),
        (("v4-8", "--from", "2026-12-01"), "--credit: is missing", "an amount of money"),
        (("v4-8", "--credit", "300 USD", "--from", "2026-02-29"), "--from: '2026-02-29' is not", "YYYY-MM-DD"),
        (("v4-8", "--credit", "300 USD", "--from", "20261201"), "--from: '20261201' is not", "YYYY-MM-DD"),
        (("v4-8", "--credit", "300 USD", "--from", "9999-12-31"), "--from: '9999-12-31' is not", "2000 to 2100"),
        (("v4-8", "--credit", "300 USD", "--from", "2026-12-01", "--credit-days", "0"), "--credit-days: '0' is not", "1 to 3650"),
        (("v4-8", "--credit", "9 USD", "--from", "2026-12-01", "--credit-days", "1.5"), "--credit-days: '1.5' is not", "1 to 3650"),
        (("v4-8", "--credit-days", "30"), "--credit: is missing: --credit-days says how long it lasts", "an amount of money"),
    ],
)
def test_fails_on_what_cannot_be_compared(arguments: tuple[str, ...], where: str, allowed: str, accelform: Accelform) -> None:
    """Where, what, got, allowed and fix; with --json the same for machines."""
    ran = accelform("compare", *arguments)
    assert (ran.code, ran.out) == (2, "")
    first, may, fix = ran.err.splitlines()
    assert first.startswith(f"accelform compare: {where}")
    assert may.startswith("  allowed: ")
    assert allowed in may
    assert fix.startswith("  fix: ")
    assert accelform("compare", *arguments, "--json").data["exit_code"] == 2


def test_fails_with_everything_that_is_wrong_at_once(accelform: Accelform) -> None:
    """Nobody mends one option to be told of the next."""
    arguments = ("v4", "--region", "moon", "--hours-a-day", "25", "--years", "x", "--usd-kwh", "0", "--credit", "much", "--from", "today")
    problems = accelform("compare", *arguments, "--credit-days", "-1", "--json").data["problems"]
    options = ["NAME", "--region", "--hours-a-day", "--years", "--usd-kwh", "--credit-days", "--credit", "--from"]
    assert [one["path"] for one in problems] == options


def test_every_fix_of_an_option_is_accepted(accelform: Accelform) -> None:
    """What is suggested passes."""
    wrong = ("v4", "--region", "", "--hours-a-day", "25", "--years", "x", "--usd-kwh", "0", "--credit", "much", "--from", "today")
    problems = accelform("compare", *wrong, "--credit-days", "-1", "--json").data["problems"]
    fixes = [word for one in problems[1:] for word in re.findall(r'"([^"]+)"|(\S+)', one["fix"])]
    assert accelform("compare", "v6e-8", *(quoted or plain for quoted, plain in fixes)).code == 0


def test_an_answer_takes_less_than_a_second() -> None:
    """As a whole process: goal 0.5 s of CPU, with room for a busy machine."""
    command = [sys.executable, "-c", "from infra.cli.app import main; main()", *ARTICLE]

    def taken() -> float:
        before = os.times()
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert any(taken() < 1.0 for _ in range(5))
