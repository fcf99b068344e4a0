"""`accelform catalog fits`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Accelform = Callable[..., Any]


def test_what_works_says_its_shape_and_price(accelform: Accelform) -> None:
    """8 chips at 1.27575 USD as spot; the exit code is that of a success."""
    ran = accelform("catalog", "fits", "v6e-8", "--zone", "us-east5-a", "--as", "spot", "--on", "gke", "--topology", "2x4")
    assert ran.code == 0
    assert ran.out.splitlines()[:3] == [
        "v6e-8 2x4 on GKE in us-east5-a as spot: works",
        "hosts: 1 of ct6e-standard-8t, topology 2x4",
        "USD an hour: 10.2060 (medium, as of 2026-07)",
    ]


def test_an_unknown_price_is_said(accelform: Accelform) -> None:
    """No price of v6e in Taiwan is known."""
    ran = accelform("catalog", "fits", "v6e-8", "--zone", "asia-east1-c", "--as", "spot", "--on", "gke")
    assert (ran.code, "USD an hour: unknown" in ran.out) == (0, True)
    assert accelform("catalog", "fits", "v6e-8", "--zone", "asia-east1-c", "--json").data["hour"] is None


def test_what_does_not_says_why_and_what_would(accelform: Accelform) -> None:
    """The exit code is that of a finding; the nearest come first, and the way out for who knows better last."""
    ran = accelform("catalog", "fits", "v6e-8", "--zone", "us-central1-a")
    assert ran.code == 3
    lines = ran.out.splitlines()
    assert lines[0] == "v6e-8 on Compute Engine in us-central1-a as on-demand: unconfirmed: a weak source alone has it"
    assert "us-central1-b" in lines[lines.index("what   on              in                    as         else  USD an hour") + 2]
    assert "accelform:confirmed" in lines[-1]
    impossible = accelform("catalog", "fits", "v6e-8", "--zone", "us-west2-a")
    assert (impossible.code, "accelform:confirmed" in impossible.out) == (3, False)


def test_weak_sources_are_shown_on_request(accelform: Accelform) -> None:
    """Marked, and never without being asked for."""
    asked = ("catalog", "fits", "g4-standard-48", "--zone", "europe-west8-c")
    assert "europe-west4-a" not in accelform(*asked).out
    (line,) = (one for one in accelform(*asked, "--unconfirmed").out.splitlines() if " europe-west4-a " in one)
    assert "unconfirmed" in line


def test_taiwan_has_no_tpu_for_prediction(accelform: Accelform) -> None:
    """In plain words."""
    ran = accelform("catalog", "fits", "ct5lp-hightpu-4t", "--on", "vertex", "--region", "asia-east1")
    assert ran.code == 3
    assert "has no TPU for prediction on Vertex AI at" in ran.out


def test_machines_get_all_of_it_as_data(accelform: Accelform) -> None:
    """Amounts are text, exact; every reason has its source."""
    data = accelform("catalog", "fits", "n1-standard-4", "--with", "t4", "--count", "3", "--zone", "asia-east1-a", "--json").data
    assert (data["kind"], data["works"]) == ("impossible", False)
    assert data["wish"]["accelerator_type"] == "nvidia-tesla-t4"
    assert [(one["part"], one["allowed"]) for one in data["reasons"]] == [("count", ["2", "4", "1"])]
    assert data["nearest"][0]["wish"]["count"] == 1
    assert data["nearest"][0]["usd_hour"] == "0.569998"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("v5e-4", ("--zone", "us-west4-a"), "v5litepod-4 on Compute Engine"),
        ("v4-8", ("--zone", "us-central2-b"), "v4-8 on the Cloud TPU API"),
        ("ct4p-hightpu-4t", ("--zone", "us-central2-b", "--on", "gke"), "ct4p-hightpu-4t on GKE"),
        ("ct5lp-hightpu-4t", ("--zone", "us-west4-a", "--on", "gke", "--topology", "4x4"), "ct5lp-hightpu-4t 4x4 on GKE"),
        ("A2-HIGHGPU-1G", ("--zone", "us-central1-a"), "a2-highgpu-1g on Compute Engine"),
        (
            "g2-standard-4",
            ("--with", "NVIDIA_L4", "--count", "1", "--on", "vertex", "--region", "asia-east1"),
            "g2-standard-4 with 1 x nvidia-l4",
        ),
    ],
)
def test_names_are_put_right(accelform: Accelform, name: str, options: tuple[str, ...], words: str) -> None:
    """And the API follows from the thing, unless it is named."""
    ran = accelform("catalog", "fits", name, *options)
    assert (ran.code, ran.out.startswith(words)) == (0, True), ran.out


def test_every_mistake_in_the_line_is_said_at_once(accelform: Accelform) -> None:
    """Five options, five problems, exit code 2."""
    ran = accelform("catalog", "fits", "warp", "--on", "gce", "--as", "cheap", "--topology", "2X4", "--with", "h1000", "--use", "fun")
    assert ran.code == 2
    for option in ("NAME", "--on", "--as", "--topology", "--with", "--use"):
        assert f"accelform catalog fits: {option}: " in ran.err
    assert "--on gke" in ran.err


@pytest.mark.parametrize("word", ["", " ", "🦖", "x" * 3000, "-1", "NaN", "v6e-8;rm"])
def test_odd_words_are_answered(accelform: Accelform, word: str) -> None:
    """In each place where a word may stand: a refusal or a finding, never a fault."""
    for arguments in (("--", word), ("v6e-8", f"--zone={word}"), ("v6e-8", f"--region={word}"), ("n1-standard-4", f"--with={word}")):
        assert accelform("catalog", "fits", *arguments).code in (2, 3)
    for option in ("topology", "as", "on", "placement", "count", "nodes"):
        assert accelform("catalog", "fits", "v6e-8", "--zone=us-east5-a", f"--{option}={word}").code in (0, 2, 3)


@pytest.mark.parametrize("number", ["-1", "0", "99999999999999999999999"])
def test_numbers_may_be_anything(accelform: Accelform, number: str) -> None:
    """GPUs and nodes of any number are judged."""
    options = ("--zone", "asia-east1-a", "--with", "nvidia-tesla-t4")
    assert accelform("catalog", "fits", "n1-standard-4", *options, "--count", number).code == 3
    assert accelform("catalog", "fits", "n1-standard-4", *options, "--count", "1", "--nodes", number).code in (0, 3)


def test_a_machine_on_vertex_ai_has_a_price_with_its_bounds(accelform: Accelform) -> None:
    """g2-standard-12 in us-east1: what Compute Engine asks, times what Vertex AI is known to add; of attached GPUs no source tells."""
    arguments = ("catalog", "fits", "g2-standard-12", "--with", "nvidia-l4", "--count", "1", "--on", "vertex", "--region", "us-east1")
    assert "USD an hour: 1.2054, 1.1505 to 1.2065 (low, " in accelform(*arguments).out
    hour = accelform(*arguments, "--json").data["hour"]
    assert (hour["usd_low"], hour["usd_high"]) == ("1.150478745", "1.2065020578")
    attached = ("catalog", "fits", "n1-standard-8", "--with", "nvidia-tesla-t4", "--count", "1", "--on", "vertex", "--region", "asia-east1")
    assert "USD an hour: unknown" in accelform(*attached).out


def test_a_name_that_is_none_is_not_called_an_accelerator(accelform: Accelform) -> None:
    """A machine that takes no GPU is said to be none with accelerators, once; an accelerator on another is said to be one."""
    problems = accelform("catalog", "fits", "e2-standard-4", "--with", "nvidia-tesla-t4", "--count", "1", "--json").data["problems"]
    assert [one["path"] for one in problems] == ["NAME"]
    problems = accelform("catalog", "fits", "v6e-8", "--with", "nvidia-tesla-t4", "--count", "1", "--json").data["problems"]
    assert [(one["path"], one["message"]) for one in problems] == [("--with", "v6e-8 is an accelerator itself")]
