"""The page that lists several stacks, with their totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from infra.check import Checked
from infra.cost.report import COLUMNS, cents
from infra.report.document import document
from infra.report.findings import broken_rules, dates, total
from infra.report.markup import cell, h, joined, row, table


def index(stacks: Sequence[Checked], files: Mapping[str, str]) -> str:
    """
    The whole page.

    Args:
        files: Name of each stack's page, in the folder of this one.
    """
    rows = [
        row(
            h("a", one.file.stack, href=f"./{files[one.file.stack]}"),
            *(cell(total(one.estimate, column), number=True) for column in range(3)),
            cell(f"{broken} broken" if (broken := broken_rules(one)) else "all hold", class_="short"),
            cell(str(len(one.estimate.unknown)), number=True),
            cell(one.spec.region, class_="short"),
            cell(one.spec.environment),
            cell(one.spec.project, class_="short"),
            cell(dates(one.estimate)),
            class_="place",
        )
        for one in stacks
    ]
    least = "" if all(one.estimate.complete for one in stacks) else "at least "
    sums = [sum((one.estimate.total[column] for one in stacks), Decimal(0)) for column in range(3)]
    foot = row("all together", *(cell(least + cents(usd), number=True) for usd in sums), *[cell("")] * 6)
    columns = ("stack", *COLUMNS, "rules", "unknown", "region", "environment", "project", "prices of")
    numbers = (*COLUMNS, "unknown")
    body = [
        h("header", h("p", "Accelform report", class_="kicker"), h("h1", f"{len(stacks)} stacks")),
        h(
            "main",
            h(
                "section",
                h("h2", "Stacks and what they cost"),
                table("USD a month of 730 hours, without tax", columns, [h("tbody", *rows)], numbers=numbers, foot=foot),
                h(
                    "p",
                    "What is free once an account or project is taken off in each stack: together they may cost a little more.",
                ),
            ),
        ),
    ]
    return document(f"{len(stacks)} stacks", joined(body), with_plots=False)
