"""`accelform catalog`: zones, zone, region, show, search and ages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

Accelform = Callable[..., Any]


def test_zones_say_way_price_trust_and_age(accelform: Accelform) -> None:
    """v6e-8 in asia-northeast1-b: 8 chips at 3.24, 1.457074 and 1.35 USD an hour."""
    ran = accelform("catalog", "zones", "v6e-8")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("asia-northeast1-b"))
    assert line.split()[:6] == ["asia-northeast1-b", "25.9200", "11.6566", "10.8000", "high", "2026-07"]
    assert "9 that only a weak source has" in ran.out
    assert "us-east4-a" not in ran.out


def test_weak_zones_are_marked(accelform: Accelform) -> None:
    """Shown on request, they say that they are unconfirmed."""
    out = accelform("catalog", "zones", "v6e-8", "--unconfirmed").out
    (line,) = (line for line in out.splitlines() if line.startswith("us-east4-a"))
    assert "low: unconfirmed" in line


def test_what_no_firm_source_has_anywhere_is_said_so(accelform: Accelform) -> None:
    """GB300 is in one weak row only."""
    out = accelform("catalog", "zones", "gb300").out
    assert "no zone is known to have it" in out
    assert "1 that only a weak source has" in out
    assert "\nus-central1-b " in accelform("catalog", "zones", "gb300", "--unconfirmed").out


def test_an_unknown_price_is_called_unknown(accelform: Accelform) -> None:
    """In asia-east1 no price of v6e is known: the word in text, null for machines."""
    out = accelform("catalog", "zones", "v6e-8", "--near", "asia-east1").out
    (line,) = (line for line in out.splitlines() if line.startswith("asia-east1-c"))
    assert line.split()[1:4] == ["unknown"] * 3
    (offer,) = (one for one in accelform("catalog", "zones", "v6e-8", "--json").data["zones"] if one["zone"] == "asia-east1-c")
    assert {way["hour"] for way in offer["ways"].values()} == {None}


def test_machines_get_exact_prices_with_source_and_date(accelform: Accelform) -> None:
    """Every digit of the table, as text."""
    data = accelform("catalog", "zones", "g2-standard-4", "--json").data
    (offer,) = (one for one in data["zones"] if one["zone"] == "asia-east1-a")
    hour = offer["ways"]["on-demand"]["hour"]
    assert (hour["usd"], hour["as_of"], hour["trust"]) == ("0.8184411", "2026-07-30", "high")
    assert "pricing.yml" in hour["source"]


def test_a_wrong_name_is_answered_with_the_right_one(accelform: Accelform) -> None:
    """The answer says what was meant."""
    assert accelform("catalog", "show", "v5e-16").out.startswith("v5e-16 is v5litepod-16: TPU slice\n")
    assert accelform("catalog", "zones", "l4").out.startswith("l4 is nvidia-l4: USD an hour of g2-standard-4")


def test_a_zone_lists_tpus_and_gpus(accelform: Accelform) -> None:
    """asia-east1-c has both."""
    ran = accelform("catalog", "zone", "asia-east1-c")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines() if line.startswith(("nvidia-l4", "tpu-"))] == [
        "nvidia-l4",
        "tpu-v2-8",
        "tpu-v5e",
        "tpu-v6e",
    ]
    data = accelform("catalog", "zone", "asia-east1-c", "--json").data
    assert (data["known"], len(data["offers"])) == (True, 9)


def test_a_region_says_in_words_that_vertex_ai_has_no_tpu_there(accelform: Accelform) -> None:
    """asia-east1: zones with the same words in one line, and what Vertex AI lacks as a sentence."""
    ran = accelform("catalog", "region", "asia-east1")
    assert ran.code == 0
    (line,) = (line for line in ran.out.splitlines() if line.startswith("tpu-v5e"))
    assert line.split()[1:6] == ["v5litepod-1", "-a,", "-b,", "-c", "1.3895"]
    assert "no TPU for prediction in asia-east1; regions that have one, nearest first: asia-northeast1, " in ran.out
    data = accelform("catalog", "region", "asia-east1", "--json").data
    assert (data["region"], {one["region"] for one in data["offers"]}) == ("asia-east1", {"asia-east1"})
    assert (data["on_vertex_ai"]["training"]["tpu_elsewhere"], len(data["on_vertex_ai"]["prediction"]["accelerators"])) == ([], 4)


def test_a_region_without_accelerators_is_said_to_be_unknown(accelform: Accelform) -> None:
    """No empty table."""
    assert "nothing is known of europe-southwest1" in accelform("catalog", "region", "europe-southwest1").out


def test_the_order_of_zones_is_told(accelform: Accelform) -> None:
    """Near means a region, then its continent: no distance is known."""
    assert "nearest first: asia-east1, then its continent" in accelform("catalog", "zones", "v6e-8", "--near", "asia-east1").out
    assert "nearest first" not in accelform("catalog", "zones", "v6e-8").out


def test_a_zone_without_rows_is_said_to_be_unknown(accelform: Accelform) -> None:
    """Nothing known is neither an error nor an empty table."""
    ran = accelform("catalog", "zone", "asia-east1-d")
    assert ran.code == 0
    assert "nothing is known of asia-east1-d" in ran.out
    assert accelform("catalog", "zone", "asia-east1-d", "--json").data["known"] is False


def test_show_names_sources_and_dates(accelform: Accelform) -> None:
    """A card ends with who says so."""
    out = accelform("catalog", "show", "v5p-8").out
    assert "ct5p-hightpu-4t" in out
    assert "system_characteristics.py" in out
    card = accelform("catalog", "show", "v2-8", "--json").data
    assert (card["facts"]["topology"], card["facts"]["memory_gib"]) == (None, 64)
    assert {origin["of"] for origin in card["origins"]} == {"shape", "chip", "names", "Vertex AI regions"}


def test_show_tells_the_peaks_of_a_chip(accelform: Accelform) -> None:
    """v6e as Google prints it; what no source tells is called so, and null for machines."""
    facts = accelform("catalog", "show", "v6e-8", "--json").data["facts"]
    names = ("chip_bf16_tflops", "chip_int8_tops", "chip_memory_gb_s", "chip_power_watts")
    assert [facts[name] for name in names] == ["918", "1836", 1638, None]
    out = accelform("catalog", "show", "v2-8").out
    assert [line.split()[-2:] for line in out.splitlines() if line.startswith("chip bf16")] == [["none", "known"]]


def test_show_says_where_vertex_ai_has_it(accelform: Accelform) -> None:
    """v5e predicts in four regions and trains in others; v6e predicts in us-east1 for those only that Google let in."""
    card = accelform("catalog", "show", "v5litepod-4", "--json").data
    assert card["on_vertex_ai"] == {
        "accelerator": "tpu-v5e",
        "prediction": ["europe-west4", "us-south1", "us-west1", "us-west4"],
        "by_allowlist": [],
        "training": ["us-central1", "us-east1", "us-west1", "us-west4"],
    }
    assert {origin["trust"] for origin in card["origins"] if origin["of"] == "Vertex AI regions"} == {"high", "medium"}
    lines = accelform("catalog", "show", "v6e-8").out.splitlines()
    (line,) = (line for line in lines if line.startswith("Vertex AI prediction"))
    assert line.split("  ")[-1] == "asia-northeast1, europe-west4, us-central1, us-east5, us-east1 (by allowlist)"


def test_show_says_where_vertex_ai_lacks_it(accelform: Accelform) -> None:
    """No TPU predicts in asia-east1, and v2 alone trains there; v4 is nowhere on Vertex AI; a GPU and its machine say the same."""
    tpus = ("v2-8", "v3-8", "v5litepod-8", "v6e-8", "tpu7x-8")
    cards = {name: accelform("catalog", "show", name, "--json").data["on_vertex_ai"] for name in tpus}
    assert [name for name, card in cards.items() if "asia-east1" in card["prediction"] + card["by_allowlist"]] == []
    assert [name for name, card in cards.items() if "asia-east1" in card["training"]] == ["v2-8"]
    assert accelform("catalog", "show", "v4-8", "--json").data["on_vertex_ai"] is None
    assert "Vertex AI regions     none known\n" in accelform("catalog", "show", "v4-8").out
    gpu, machine = (accelform("catalog", "show", name, "--json").data["on_vertex_ai"] for name in ("l4", "g2-standard-4"))
    assert gpu == machine
    assert "asia-east1" in gpu["prediction"]
    assert "asia-east1" not in gpu["training"]


def test_search_takes_flex_start(accelform: Accelform) -> None:
    """One chip of v6e costs 1.35 USD an hour so; it does not go with --spot."""
    found = accelform("catalog", "search", "--flex-start", "--region", "asia-northeast1", "--json").data
    assert found["way"] == "flex-start"
    assert (found["found"][0]["name"], found["found"][0]["hour"]["usd"]) == ("v6e-1", "1.35")
    assert "sold as flex-start" in accelform("catalog", "search", "--flex-start").out


def test_ages_of_every_table(accelform: Accelform) -> None:
    """Rows, dates and trust, hand-counted for the zones of TPUs; undated rows are counted apart."""
    found = {one["table"]: one for one in accelform("catalog", "ages", "--json").data["tables"]}
    trust = {"high": 22, "medium": 29, "low": 26}
    assert found["zones"] == {"table": "zones", "rows": 77, "oldest": "2026", "newest": "2026-07", "undated": 0, "by_trust": trust}
    assert found["gpu_zones"]["undated"] == 82
    assert [sum(one["by_trust"].values()) for one in found.values()] == [one["rows"] for one in found.values()]
    (line,) = (line for line in accelform("catalog", "ages").out.splitlines() if line.startswith("zones"))
    assert line.split() == ["zones", "77", "2026", "2026-07", "0", "22", "29", "26"]


def test_search_lists_the_unknown_apart(accelform: Accelform) -> None:
    """80 GiB as spot for 4 USD: v6e-4 leads; tpu7x has no spot price and is under the unknown."""
    arguments = ("catalog", "search", "--memory-gib", "80", "--max-usd-hour", "4", "--spot")
    fits, _, unknown = accelform(*arguments).out.partition("the price is unknown")
    assert [line.split()[:3] for line in fits.splitlines()][3] == ["v6e-4", "128", "1.0692"]
    assert "tpu7x" in unknown
    assert "tpu7x" not in fits
    data = accelform(*arguments, "--json").data
    assert (data["way"], data["found"][0]["hour"]["usd"]) == ("spot", "1.0692")
    assert "0" not in {one["hour"]["usd"] for one in data["found"]}


def test_search_finds_nothing_in_a_sentence(accelform: Accelform) -> None:
    """No table without rows."""
    ran = accelform("catalog", "search", "--memory-gib", "80", "--max-usd-hour", "0.01")
    assert ran.code == 0
    assert "nothing with a known price fits" in ran.out


@pytest.mark.parametrize(
    ("arguments", "first", "allowed"),
    [
        (("zones", "v6e"), "accelform catalog zones: NAME: 'v6e' is a TPU without a size", "v6e-1, v6e-4, v6e-8"),
        (("zones", "v6e-8", "--near", "us-east55"), "accelform catalog zones: --near: 'us-east55' is not", "us-east5"),
        (("zones", "v6e-8", "--near", ""), "accelform catalog zones: --near: '' is not", "a region such as"),
        (("zone", ""), "accelform catalog zone: ZONE: '' is not a zone", "a zone such as"),
        (("search", "--region", ""), "accelform catalog search: --region: '' is not", "a region such as"),
        (("show", "h100"), "accelform catalog show: NAME: 'h100' may be any of several", "nvidia-h100-80gb, nvidia-h100-mega-80gb"),
        (("show", "\x1b[31m"), "accelform catalog show: NAME: '\\x1b[31m' is no accelerator", "v6e-8"),
        (("zone", "asia-east1"), "accelform catalog zone: ZONE: 'asia-east1' is a region, not a zone", "asia-east1-a, asia-east1-b"),
        (("region", "asia-east1-c"), "accelform catalog region: REGION: 'asia-east1-c' is not", "asia-east1"),
        (("search", "--memory-gib", "nan"), "accelform catalog search: --memory-gib: 'nan' is not a number", "above 0"),
        (("search", "--max-usd-hour", "0"), "accelform catalog search: --max-usd-hour: '0' is not a number", "above 0"),
        (("search", "--spot", "--flex-start"), "accelform catalog search: --spot: does not go with --flex-start", "or neither"),
        (("search", "--region", "asia-east1-c"), "accelform catalog search: --region: 'asia-east1-c' is not", "asia-east1"),
    ],
)
def test_fails_on_what_the_catalogue_does_not_know(arguments: tuple[str, ...], first: str, allowed: str, accelform: Accelform) -> None:
    """Where, what, got, allowed and fix; with --json the same for machines."""
    ran = accelform("catalog", *arguments)
    assert (ran.code, ran.out) == (2, "")
    where, may, fix = ran.err.splitlines()
    assert where.startswith(first)
    assert may.startswith("  allowed: ")
    assert allowed in may
    assert fix.startswith("  fix: ")
    assert accelform("catalog", *arguments, "--json").data["exit_code"] == 2


def test_fails_on_a_region_as_zone_with_the_command_for_regions(accelform: Accelform) -> None:
    """Who asks a zone's command for a region is told the right one."""
    assert "fix: accelform catalog region asia-east1\n" in accelform("catalog", "zone", "asia-east1").err
    assert "fix: accelform catalog region asia-east1\n" in accelform("catalog", "region", "asia-east1-c").err


@pytest.mark.parametrize(
    "arguments",
    [
        ("zones", "l4"),
        ("zone", "asia-east1-c"),
        ("region", "asia-east1"),
        ("show", "v6e-8"),
        ("search", "--memory-gib", "80", "--max-usd-hour", "4", "--spot"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_answer_takes_less_than_a_second(arguments: tuple[str, ...]) -> None:
    """Each command as a whole process: goal 0.5 s of CPU, with room for a busy machine."""
    command = [sys.executable, "-c", "from infra.cli.app import main; main()", "catalog", *arguments]

    def taken() -> float:
        before = os.times()
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert any(taken() < 1.0 for _ in range(5))
