"""What speaks against a stack's month beside its budgets: what fails, and what is only said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from infra.cost.estimate import Estimate
from infra.cost.headroom import Headroom, share
from infra.findings import Found
from infra.policy.rule import Finding
from infra.policy.stack_rules import WITHIN_BUDGET

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Pool:
    """How many nodes a pool may have."""

    most: int
    step: int
    """Nodes that come together: 1, or the hosts of a slice."""


def findings(every: Iterable[Headroom]) -> Iterator[Finding]:
    """
    Budgets that what is expected does not fit into. Where a part has no price, the rest may be too much already. A credit that runs out
    breaks nothing: from that day on it is money, which a budget of the month counts.
    """
    for one in every:
        if one.over == "yes" and not one.is_credit:
            yield Finding(WITHIN_BUDGET.name, one.budget, "", f"budgets.{_key(one)}.amount", _message(one), WITHIN_BUDGET.remediation)


def undecided(every: Iterable[Headroom]) -> list[str]:
    """Budgets of which nobody knows whether what is expected fits: a part of it has no price, or the currency no rate."""
    return [one.budget for one in every if one.over != "yes" and (one.not_compared or not one.complete) and not one.is_credit]


def _message(one: Headroom) -> str:
    if one.gone_expected:
        return f"{one.amount} {one.currency} are gone on {one.gone_expected.day} at what is expected, before the period ends"
    assert one.expected_share is not None, "what was not compared is not over"
    least = "" if one.complete else "at least "
    spent = (one.expected_share * one.amount).quantize(CENT)
    return f"{least}{spent:f} {one.currency} are expected a month, which is {share(one.expected_share)} of {one.amount} {one.currency}"


def _key(one: Headroom) -> str:
    """Its key in the file that has it: that of a foundation's is shown under the stack's name."""
    return one.budget.rpartition("/")[2]


def warnings(every: Iterable[Headroom], estimate: Estimate, pools: Mapping[str, Pool]) -> list[Found]:
    """Node pools whose most nodes alone take more in a month than all of a budget. Nothing fails: they come and go as pods ask."""
    monthly = [one for one in every if one.period is None and one.expected_share is not None]
    return [found for key, pool in pools.items() for found in _pool(key, pool, monthly, estimate)]


def _pool(key: str, pool: Pool, monthly: Iterable[Headroom], estimate: Estimate) -> Iterator[Found]:
    months = [line.usd_month for line in estimate.lines if line.resource == key]
    at_most = sum((month[2] for month in months if month), Decimal(0))
    if not pool.most:
        return
    for one in monthly:
        amount = one.amount * (one.rate.usd_per_unit if one.rate else 1)
        if at_most <= amount:
            continue
        fits = int((amount * pool.most / at_most / pool.step).to_integral_value(ROUND_FLOOR)) * pool.step
        least = "at least " if any(month is None for month in months) else ""
        words = f"{pool.most} nodes all month are {least}{at_most.quantize(CENT):f} USD at most, more than all of budget {one.budget} "
        words += f"({one.amount} {one.currency})"
        fix = f"at most {fits} fit{'s' * (fits == 1)}" if fits else "not one fits: a smaller machine, or a larger budget"
        if not fits and pool.step > 1:
            fix = f"its {pool.step} nodes come together: a smaller slice, or a larger budget"
        yield Found(f"node_pools.{key}", "warning", words, fix)
