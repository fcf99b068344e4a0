"""Estimates as people and machines read them."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from infra.cost import report
from infra.cost.estimate import estimate
from infra.cost.usage import QUANTITY_MAX, Usage
from infra.declared import Declared

BUCKET = Declared("gcp:storage/bucket:Bucket", "data", {"location": "us-east5"})
NETWORK = Declared("gcp:compute/network:Network", "network", {"name": "net"})
STRANGE = Declared("gcp:novel/thing:Thing", "odd", {})


def text(renderable: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=110, color_system=None).print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_the_table_is_this() -> None:
    """Lines, what is free in one line, and a total with the age of its prices."""
    assert text(report.table(estimate([BUCKET, NETWORK], Usage(), region="us-east5"))) == snapshot("""\
costs, USD a month    low  expected  high
data bucket          0.02      0.20  2.00  10 gib-month x 0.02
bucket writes        0.01      0.05  0.50  10 thousand-operations x 0.005
bucket reads        <0.01      0.04  0.40  100 thousand-operations x 0.0004
internet egress      0.00      0.12  2.40  1 gib x 0.12
logs                 0.00      0.00  0.00  0 gib x 0.5; first 50 a month free
free                 0.00      0.00  0.00  Network
total                0.03      0.41  5.30  list prices of 2026-07-30 to 2026-09-20, without tax\
""")


def test_what_is_in_a_cluster_is_counted_and_not_listed() -> None:
    """Kinds by the dozen would hide the lines that cost something."""
    made = [Declared(f"kubernetes:core/v1:{kind}", kind.lower(), {"metadata": {"name": "a"}}) for kind in ("ConfigMap", "ServiceAccount")]
    grant = Declared("gcp:storage/bucketIAMMember:BucketIAMMember", "reads", {})
    free = {many: text(report.table(estimate([grant, *made[:many]], Usage(), region="us-east5"))) for many in (1, 2)}
    assert "BucketIAMMember, 1 object in the cluster, whose" in free[1]
    assert "BucketIAMMember, 2 objects in the cluster, whose" in free[2]
    assert "ConfigMap" not in free[2]


def test_an_unknown_line_makes_the_total_a_lower_bound() -> None:
    """An incomplete total says `at least` and how many lines are unknown."""
    shown = text(report.table(estimate([BUCKET, STRANGE], Usage(), region="us-east5")))
    assert "total, at least" in shown
    assert "incomplete: 1 line unknown" in shown
    assert "unknown   unknown  unknown" in shown


def test_the_sources_name_every_price_and_assumption() -> None:
    """Each price stands with its date, trust and source; each assumption with whose it is."""
    shown = text(report.sources(estimate([BUCKET], Usage.model_validate({"data_gib": 3}), region="us-east5")))
    assert "storage-standard  0.02" in shown.replace("storage-standard    ", "storage-standard  ")
    assert "2026-07-30" in shown
    assert "usage.data_gib" in shown
    assert "yours" in shown


@pytest.mark.parametrize(
    ("amount", "shown"), [("0", "0.00"), ("0.004", "<0.01"), ("0.005", "0.01"), ("1234.565", "1,234.57"), ("2.344", "2.34")]
)
def test_cents_are_rounded_halves_up_and_something_is_never_nothing(amount: str, shown: str) -> None:
    """Rounding happens only when an amount is shown."""
    assert report.cents(Decimal(amount)) == shown


def test_a_quantity_without_end_is_cut_where_it_is_shown() -> None:
    """100 minutes of one chip are 1.6667 hours in the table."""
    inputs = {
        "zone": "us-east5-a",
        "machineType": "ct6e-standard-1t",
        "scheduling": {"provisioningModel": "SPOT", "maxRunDuration": {"seconds": 6000}},
    }
    result = estimate([Declared("gcp:compute/instance:Instance", "eval", inputs)], Usage(), region="us-east5")
    assert "1.6667 chip-hour x 1.27575" in text(report.table(result))


def test_the_largest_quantity_can_be_shown() -> None:
    """A quantity that the stack file admits is never too large for the table."""
    result = estimate([BUCKET], Usage.model_validate({"data_gib": QUANTITY_MAX}), region="us-east5")
    assert "20,000,000,000.00" in text(report.table(result))


def test_json_is_exact_and_can_be_written() -> None:
    """Machines get amounts as text, with dates and sources."""
    data = report.as_json(estimate([BUCKET, STRANGE], Usage(), region="us-east5"))
    assert json.loads(json.dumps(data)) == data
    assert data["complete"] is False
    line = next(one for one in data["lines"] if one["what"] == "data bucket")
    assert line["usd_month"] == {"low": "0.02", "expected": "0.20", "high": "2.00"}
    assert line["as_of"] == "2026-07-30"
    assert line["ceiling"] is None
    assert data["unknown_lines"] == 1
    assert data["prices_as_of"] == {"oldest": "2026-07-30", "newest": "2026-09-20"}


def test_json_of_nothing_names_no_date() -> None:
    """No price, no date."""
    assert report.as_json(estimate([], Usage(), region="us-east5"))["prices_as_of"] is None


def test_the_sources_name_the_price_that_bounds_spot() -> None:
    """Both prices of a Spot line stand among the sources, for people and for machines."""
    inputs = {"zone": "us-east5-a", "machineType": "ct6e-standard-1t", "scheduling": {"provisioningModel": "SPOT"}}
    result = estimate([Declared("gcp:compute/instance:Instance", "eval", inputs)], Usage(), region="us-east5")
    shown = text(report.sources(result))
    assert "1.27575" in shown
    assert "2.7" in shown
    line = next(one for one in report.as_json(result)["lines"] if one["what"] == "v6e-1 spot")
    assert {"as_of", "trust", "source"} == set(line["ceiling"])
