"""A stack's page: what is on it, and what never is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from plotly.offline import get_plotlyjs

from infra.check import Checked
from infra.declared import Declared
from infra.report.page import page
from tests.report.conftest import HOSTILE

Stack = Callable[..., Checked]
STRAY = Declared(
    "gcp:storage/bucket:Bucket",
    "astray",
    {
        "location": "US",
        "uniformBucketLevelAccess": True,
        "publicAccessPrevention": "enforced",
        "labels": {"managed-by": "accelform", "accelform-stack": "try", "environment": "dev", "owner": "ml-team"},
    },
    urn="urn:pulumi:try::accelform::gcp:storage/bucket:Bucket::astray",
)
"""Breaks one rule, and no other."""


class Seen(HTMLParser):
    """The page as a browser reads it: elements, visible text, and each script's own text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._in = ""
        self.feed(text.replace(get_plotlyjs(), ""))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] += data
        elif self._in != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def figures(self) -> dict[str, Any]:
        found = [attributes for tag, attributes in self.elements if tag == "script"]
        return {str(one["data-plot"]): json.loads(text) for one, text in zip(found, self.scripts, strict=True) if "data-plot" in one}


@pytest.fixture
def with_slice(a_slice: dict[str, Any]) -> dict[str, Any]:
    return {"accelform:tpu_slices": {"eval": a_slice}}


def test_says_what_stands_where_at_what_cost_and_which_rules_hold(checked: Stack, with_slice: dict[str, Any]) -> None:
    """Title, findings, resources by component, costs and accelerator prices, with the age of the prices."""
    seen = Seen(page(checked(with_slice | {"accelform:budgets": {"monthly": {"amount": "350 USD"}}})))
    for expected in (
        "project tw-shop-ml region us-east5 environment dev",
        "prices of 2026-07 to 2026-11",
        "rules 1 broken",
        "USD are expected a month, which is 270 % of 350 USD",
        "None: every line has a price.",
        "budget monthly: 350 USD a month: 270 % expected, 573 % at most: OVER",
        "TPU slice eval try-tpu-eval Instance us-east5-a",
        "v6e-1 Used by eval in us-east5.",
        "us-east5, this stack 2.7000 1.2758",
        "usage.data_gib 1 10 100 default of a small shop, no fact",
        "730 chip-hour x 1.27575, from 1.27575 to 2.7",
    ):
        assert expected in seen.text


def test_its_amounts_are_those_of_the_estimate(checked: Stack, with_slice: dict[str, Any]) -> None:
    """Components add up to the total, and the plot draws them."""
    one = checked(with_slice)
    (month,) = [figure for name, figure in Seen(page(one)).figures.items() if name == "plot-month"]
    assert [trace["name"] for trace in month["data"]] == ["low", "expected", "high"]
    for column, trace in enumerate(month["data"]):
        assert trace["y"] == ["network", "storage", "TPU slice eval", "whole stack"]
        assert sum(trace["x"]) == pytest.approx(float(one.estimate.total[column]))
    assert "v6e-1 spot: 931.30" in month["data"][1]["hovertext"][2]


def test_protected_and_existing_resources_are_marked(checked: Stack) -> None:
    """What a destroy leaves, and what others own."""
    others = Declared("gcp:compute/subnetwork:Subnetwork", "shared", {"region": "us-east5"}, existing=True)
    seen = Seen(page(checked({"accelform:environment": "prod"}, others)))
    assert "tw-shop-ml-try-data Bucket us-east5 protected" in seen.text
    assert "shared Subnetwork us-east5 others own it" in seen.text


def test_a_broken_rule_comes_first_with_its_path_and_what_to_do(checked: Stack) -> None:
    """Before any figure."""
    text = Seen(page(checked({}, STRAY))).text
    finding = "same-region : astray: location : US is not us-east5 or a zone of it fix: name a place in the stack's region"
    assert text.index("1 broken 1 finding") < text.index(finding) < text.index("Cost a month Expected")


def test_an_incomplete_total_is_a_lower_bound_that_names_what_is_missing(checked: Stack) -> None:
    """Never a total as if all were known, and never a 0 for what is not."""
    seen = Seen(page(checked({}, STRAY)))
    assert "unknown prices 1 the total is a lower bound" in seen.text
    assert "astray: Bucket : no price of location US" in seen.text
    assert "Expected: at least 1." in seen.text
    assert "Not in it, since no price is known: astray: Bucket." in seen.text
    assert re.search(r"total at least [\d.]+ at least [\d.]+ at least [\d.]+", seen.text)


def test_a_component_of_unknown_cost_is_not_drawn_as_nothing(checked: Stack) -> None:
    """No bar, and the word instead of one."""
    group = Declared("accelform:endpoint:Endpoint", "odd", {}, urn="urn:of:group")
    figure = Seen(page(checked({}, group, replace(STRAY, parent="urn:of:group")))).figures["plot-month"]
    assert figure["data"][0]["y"] == ["storage", "endpoint odd", "whole stack"]
    assert [trace["x"][1] for trace in figure["data"]] == [None] * 3
    assert [(note["y"], note["text"]) for note in figure["layout"]["annotations"]] == [("endpoint odd", "unknown")]


def test_unknown_prices_of_an_accelerator_are_listed_and_not_drawn(checked: Stack, a_slice: dict[str, Any]) -> None:
    """v6e has no public price in Taiwan."""
    a_slice |= {"zone": "asia-east1-c"}
    seen = Seen(page(checked({"accelform:region": "asia-east1", "accelform:tpu_slices": {"eval": a_slice}})))
    assert "No price is known in asia-east1, where this stack stands." in seen.text
    assert "on-demand: unknown in asia-east1" in seen.text
    assert "calendar: unknown in every region where it may be sold so" in seen.text
    figure = seen.figures["plot-hours-1"]
    assert "asia-east1" not in " ".join(figure["layout"]["yaxis"]["ticktext"])
    assert all(usd > 0 for trace in figure["data"] for usd in trace["x"])


def test_a_stack_without_accelerators_says_so(checked: Stack) -> None:
    """And draws no plot of them."""
    seen = Seen(page(checked()))
    assert "This stack has no accelerator: neither a TPU nor a machine with a GPU." in seen.text
    assert list(seen.figures) == ["plot-month"]


def test_a_hostile_name_stays_a_name(checked: Stack, with_slice: dict[str, Any]) -> None:
    """In the text, in attributes, in the plots' data and in what plotly reads as markup."""
    bucket = Declared("gcp:storage/bucket:Bucket", HOSTILE, {"location": HOSTILE, "name": HOSTILE})
    group = Declared("accelform:tpu_slice:TpuSlice", HOSTILE, {}, urn="urn:of:group")
    node = Declared(
        "gcp:compute/instance:Instance", HOSTILE, {"machineType": "ct6e-standard-1t", "zone": "us-east5-a"}, "urn:of:node", "urn:of:group"
    )
    plain, hostile = Seen(page(checked(with_slice))), Seen(page(checked(with_slice, bucket, group, node)))
    kinds = [{tag for tag, _ in seen.elements} for seen in (plain, hostile)]
    assert kinds[0] >= kinds[1] - {"strong"}
    assert not [key for _, attributes in hostile.elements for key in attributes if key.startswith("on")]
    assert "\\u202e" in hostile.text
    assert "\u202e" not in hostile.text
    assert '<script>document.title = "taken"</script>' in hostile.text
    told = json.dumps(hostile.figures)
    assert "&lt;/script&gt;" in told
    assert "<script" not in told
    assert "<img" not in told
    assert len(hostile.scripts) == len(plain.scripts)


def test_asks_nobody_for_anything(checked: Stack, with_slice: dict[str, Any]) -> None:
    """No element loads from elsewhere; addresses are links that people may follow; the policy lets only the page's own scripts run."""
    seen = Seen(page(checked(with_slice)))
    for tag, attributes in seen.elements:
        loads = [attributes[key] for key in ("src", "srcset", "data", "action", "href") if key in attributes]
        assert tag == "a" or all(str(one).startswith("data:") for one in loads), (tag, attributes)
    style = (Path(__file__).parents[2] / "infra" / "report" / "page.css").read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|@font-face", style)
    (policy,) = [str(one["content"]) for _, one in seen.elements if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    assert "unsafe-eval" not in policy


def test_reads_aloud_and_without_scripts(checked: Stack, with_slice: dict[str, Any]) -> None:
    """A language, headings in order, captions, scopes, plots in words, and a note where scripts are off."""
    seen = Seen(page(checked(with_slice)))
    assert ("html", {"lang": "en"}) in seen.elements
    levels = [int(tag[1]) for tag, _ in seen.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    tags = [tag for tag, _ in seen.elements]
    assert tags.count("table") == tags.count("caption") > 4
    assert all("scope" in attributes for tag, attributes in seen.elements if tag == "th")
    assert all(attributes["aria-label"] for _, attributes in seen.elements if attributes.get("class") == "plot")
    assert "Plots need JavaScript" in seen.text


def test_two_runs_are_equal_byte_by_byte(checked: Stack, with_slice: dict[str, Any]) -> None:
    """In another process with another seed of hashes, too."""
    one = checked(with_slice)
    program = (
        "import sys, pathlib\nfrom infra.check import StackFile, check\nfrom infra.report.page import page\n"
        f"sys.stdout.buffer.write(page(check(StackFile('try', pathlib.Path({str(one.file.path)!r})))).encode())"
    )
    again = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert again.stdout.decode() == page(one)


def test_the_script_of_plotly_stands_in_it_once(checked: Stack, with_slice: dict[str, Any]) -> None:
    """However many plots, one copy of 5 MB."""
    text = page(checked(with_slice))
    assert text.count(get_plotlyjs()) == 1
    assert len(text) < len(get_plotlyjs()) + 200_000
