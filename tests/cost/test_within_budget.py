"""What of a month beside its budgets is a finding, what is a warning, and what nobody knows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from infra.components.budget import BudgetSpec
from infra.cost import headroom
from infra.cost.estimate import Estimate
from infra.cost.line import LineItem
from infra.cost.within_budget import Pool, findings, undecided, warnings

CREDIT = {"period": {"from": "2026-12-01", "until": "2027-02-28"}, "spend": "before-credits"}
QUARTER = CREDIT | {"spend": "after-credits"}


def month(*lines: tuple[str, str, str], complete: bool = True) -> Estimate:
    """Lines of a resource: expected, and at most."""
    found = [
        LineItem(name, "machine", "priced", (Decimal(0), Decimal(expected), Decimal(high)), "month", (Decimal(1),) * 3)
        for name, expected, high in lines
    ]
    return Estimate(found + [LineItem("odd", "Thing", "unknown")] * (not complete), [])


def beside(estimate: Estimate, **budget: Any) -> list[headroom.Headroom]:
    return headroom.headroom(estimate, {"limit": BudgetSpec.model_validate(budget)})


@pytest.mark.parametrize(
    ("budget", "complete", "message"),
    [
        ({"amount": "100 USD"}, True, ""),
        ({"amount": "99.99 USD"}, True, "100.00 USD are expected a month, which is 100 % of 99.99 USD"),
        ({"amount": "40 USD"}, True, "100.00 USD are expected a month, which is 250 % of 40 USD"),
        ({"amount": "40 USD"}, False, "at least 100.00 USD are expected a month, which is 250 % of 40 USD"),
        ({"amount": "150 USD"}, True, ""),
        ({"amount": "150 USD"}, False, ""),
        ({"amount": "150 USD"} | QUARTER, True, "150 USD are gone on 2027-01-15 at what is expected, before the period ends"),
        ({"amount": "150 USD"} | CREDIT, True, ""),
        ({"amount": "150 USD"} | QUARTER, False, ""),
    ],
)
def test_what_is_expected_decides(budget: dict[str, Any], complete: bool, message: str) -> None:
    """100 USD are expected, 200 at most: that at most is over fails nothing, and neither does a credit that is used up."""
    found = list(findings(beside(month(("try", "100", "200"), complete=complete), **budget)))
    assert [(one.rule, one.resource, one.path, one.message) for one in found] == (
        [("within-budget", "limit", "budgets.limit.amount", message)] if message else []
    )


def test_what_has_no_price_is_not_decided() -> None:
    """Unless what has one is too much already."""
    estimate = month(("try", "100", "200"), complete=False)
    assert undecided(beside(estimate, amount="500 USD")) == ["limit"]
    assert undecided(beside(estimate, amount="150 USD")) == ["limit"]
    assert undecided(beside(estimate, amount="50 USD")) == []
    assert undecided(beside(month(("try", "100", "200")), amount="150 USD")) == []


def test_a_pool_that_alone_is_more_than_a_budget_is_named_with_what_fits() -> None:
    """
    8 nodes at most are 5,065.17 USD: 8 x 730 x 0.8536243, and 80 for their disks; 3 are 1,899.44 and 4 are 2,532.58. A slice has all of
    its nodes or none, and a budget of a period is of no month.
    """
    estimate = month(("l4", "0", "4985.165912"), ("l4", "0", "80"), ("slice", "0", "9000"), ("small", "0", "1999"))
    pools = {"l4": Pool(8, 1), "slice": Pool(4, 4), "small": Pool(1, 1), "gone": Pool(3, 1)}
    found = warnings(beside(estimate, amount="2000 USD") + beside(estimate, amount="1 USD", **QUARTER), estimate, pools)
    assert [(one.check, one.fix) for one in found] == [
        ("node_pools.l4", "at most 3 fit"),
        ("node_pools.slice", "its 4 nodes come together: a smaller slice, or a larger budget"),
    ]
    assert found[0].message == "8 nodes all month are 5065.17 USD at most, more than all of budget limit (2000 USD)"
    (one,) = warnings(beside(estimate, amount="600 USD"), estimate, {"l4": Pool(8, 1)})
    assert one.fix == "not one fits: a smaller machine, or a larger budget"
