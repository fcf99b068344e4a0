"""What is wrong with a stack, first of all: rules, unknown prices, budgets."""

from __future__ import annotations

from collections.abc import Iterator

from infra.check import Checked
from infra.cost.estimate import Estimate
from infra.cost.report import cents, title
from infra.report.markup import Html, cell, h, row, table


def findings(checked: Checked) -> Html:
    """The section."""
    estimate = checked.estimate
    broken, unknown = broken_rules(checked), len(estimate.unknown)
    return h(
        "section",
        h("h2", "Findings", id="findings"),
        h(
            "div",
            _tile("rules", f"{broken} broken" if broken else "all hold", _count(len(checked.findings)) if broken else "", bad=broken > 0),
            _tile("USD a month, expected", total(estimate, 1), f"{total(estimate, 0)} to {total(estimate, 2)}", bad=False),
            _tile("unknown prices", str(unknown), "the total is a lower bound" if unknown else "", bad=unknown > 0),
            class_="tiles",
        ),
        *_rules(checked),
        *_unknown(estimate),
        *_budgets(checked),
    )


def broken_rules(checked: Checked) -> int:
    """How many rules do not hold."""
    return len({finding.rule for finding in checked.findings})


def _count(findings: int) -> str:
    return f"{findings} finding{'s' * (findings != 1)}"


def _tile(name: str, value: str, note: str, *, bad: bool) -> Html:
    inside = [h("p", name, class_="name"), h("p", value, class_="value"), *([h("p", note, class_="small")] if note else [])]
    return h("div", *inside, class_="tile bad" if bad else "tile")


def _rules(checked: Checked) -> Iterator[Html]:
    from infra.policy.stack_rules import every

    yield h("h3", "Rules")
    rows = []
    for rule in every():
        count = sum(finding.rule == rule.name for finding in checked.findings)
        said = _count(count) if count else "holds"
        rows.append(row(rule.name, cell(h("span", said, class_="mark no" if count else "mark yes")), cell(rule.description)))
    for finding in checked.findings:
        yield h(
            "div",
            h("p", h("strong", finding.rule), f": {finding.resource}: ", h("code", finding.path), f": {finding.message}"),
            h("p", f"fix: {finding.fix}"),
            class_="finding",
        )
    yield table("The rules that every stack keeps", ("rule", "state", "holds when"), [h("tbody", *rows)])


def _unknown(estimate: Estimate) -> Iterator[Html]:
    yield h("h3", "Unknown prices")
    if estimate.complete:
        yield h("p", "None: every line has a price.")
        return
    yield h("p", "Nothing is guessed: these lines are missing from every total, which is a lower bound.")
    yield h("ul", *(h("li", h("strong", title(line)), f": {line.note}") for line in estimate.unknown))


def _budgets(checked: Checked) -> Iterator[Html]:
    from infra.cost.headroom import lines

    yield h("h3", "Budgets")
    for one in checked.headroom:
        over = "over" if one.over in ("yes", "may be") else None
        yield h("ul", *(h("li", line.strip(), class_=over) for line in lines([one])))


def dates(estimate: Estimate) -> str:
    """Dates of the oldest and the newest price used."""
    if estimate.price_dates is None:
        return "no price used"
    oldest, newest = estimate.price_dates
    return oldest if oldest == newest else f"{oldest} to {newest}"


def total(estimate: Estimate, column: int) -> str:
    """The month's total; with what is unknown, a lower bound that says so."""
    return f"{'' if estimate.complete else 'at least '}{cents(estimate.total[column])}"
