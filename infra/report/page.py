"""
A stack's page: what is wrong first, then what is made, what it costs, and what its accelerators cost elsewhere.

Without scripts it lacks the plots, and every figure stands in a table.
"""

from __future__ import annotations

from infra.check import Checked, place, shown_name
from infra.report import plots
from infra.report.bill import PLOT, bill
from infra.report.document import document
from infra.report.elsewhere import elsewhere
from infra.report.findings import dates, findings
from infra.report.groups import by_component, lines_by_component
from infra.report.markup import Html, cell, data, h, joined, row, table
from infra.report.rates import rates


def page(checked: Checked) -> str:
    """The whole page of one stack."""
    groups = lines_by_component(checked.estimate.lines, checked.resources)
    found = rates(checked.resources, checked.spec.region)
    figures = {PLOT: plots.month(groups)} | {f"plot-hours-{number}": plots.hours(one) for number, one in enumerate(found, 1)}
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    body = joined(
        [
            _header(checked),
            h(
                "main",
                findings(checked),
                _resources(checked),
                bill(checked.estimate, groups, drawn),
                elsewhere(found, checked.spec.region, drawn),
            ),
            h(
                "footer",
                h("p", "List prices without tax, commitments or negotiated discounts, in USD. Amounts are rounded to the cent, halves up."),
            ),
            *(data(figure, data_plot=name) for name, figure in drawn.items()),
        ]
    )
    return document(checked.file.stack, body, with_plots=bool(drawn))


def _header(checked: Checked) -> Html:
    spec = checked.spec
    facts = {
        "project": spec.project,
        "region": spec.region,
        "environment": spec.environment,
        "owner": spec.owner,
        "stack file": checked.file.path.name,
        "prices of": dates(checked.estimate),
    }
    links = [("#findings", "Findings"), ("#resources", "Resources"), ("#cost", "Cost"), ("#accelerators", "Accelerators")]
    return h(
        "header",
        h("p", "Accelform report", class_="kicker"),
        h("h1", checked.file.stack),
        h("dl", *(h("div", h("dt", name), h("dd", value)) for name, value in facts.items()), class_="facts"),
        h("nav", *(h("a", title, href=target) for target, title in links), aria_label="Sections"),
        h("noscript", h("p", "Plots need JavaScript, which is off here. Every figure stands in a table as well.", class_="note")),
    )


def _resources(checked: Checked) -> Html:
    groups = by_component(checked.resources)
    count = sum(map(len, groups.values()))
    bodies = []
    for title, resources in groups.items():
        rows = [h("tr", h("th", title, scope="rowgroup", colspan="4"), class_="group")]
        for one in resources:
            mark = "others own it" if one.existing else "protected" if one.protect else ""
            rows.append(
                row(
                    shown_name(one),
                    cell(one.type.rpartition(":")[2]),
                    cell(place(one)),
                    cell(h("span", mark, class_="mark") if mark else ""),
                )
            )
        bodies.append(h("tbody", *rows))
    made = table(f"{count} resources, by component", ("name", "type", "stands in", "kept"), bodies) if count else h("p", "Nothing is made.")
    return h("section", h("h2", "Resources", id="resources"), made)
