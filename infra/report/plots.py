"""The report's plots: plotly figures as plain data, the same from the same stack."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import plotly.graph_objects as go
import plotly.io

from infra.catalog.things import Hour
from infra.cost.line import LineItem
from infra.cost.report import COLUMNS, cents
from infra.report.markup import escaped
from infra.report.rates import WAYS, Rates, Region

COLOURS = ("#1b9e77", "#4a86d8", "#d97706", "#a66bc9", "#d9534f")
"""Three to one at least against white and against the dark page, so that one page serves both, and print."""
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x")
"""Who sees no colours tells ways apart by shape. A way has the same colour and shape in every plot."""
LETTER_PX, NARROWEST_PX = 8, 190
"""Of an amount; and of the bars' place, on a page of 390 px."""
TITLE_LETTERS = 16
"""In a line of a component's title."""
LINES_MAX = 12
"""Lines of a hover; what is more stands in the table."""


def month(groups: Mapping[str, Sequence[LineItem]]) -> dict[str, Any] | None:
    """Low, expected and high of each component that costs something, or of which it is unknown; None where there is none."""
    shown = {title: lines for title, lines in groups.items() if _unknown(lines) or any(any(line.usd_month or ()) for line in lines)}
    if not shown:
        return None
    titles = [text(title) for title in shown]
    figure = go.Figure(
        [
            go.Bar(
                name=name,
                orientation="h",
                y=titles,
                x=[None if (usd := _sum(lines, column)) is None else float(usd) for lines in shown.values()],
                text=[_label(lines, column) for lines in shown.values()],
                hovertext=[_hover(title, lines, column) for title, lines in shown.items()],
                hoverinfo="text",
                textposition="outside",
                cliponaxis=False,
                constraintext="none",
                marker_color=COLOURS[column],
            )
            for column, name in enumerate(COLUMNS)
        ]
    )
    for title, lines in shown.items():
        if _sum(lines, 0) is None:
            figure.add_annotation(y=text(title), x=0, text="unknown", showarrow=False, xanchor="left", xshift=4)
    figure.update_xaxes(title="USD a month", tickformat=",", range=[0, max(_end(lines) for lines in shown.values()) or 1])
    names = [_short(title) for title in shown]
    figure.update_yaxes(type="category", categoryarray=titles, autorange="reversed", tickvals=list(range(len(titles))), ticktext=names)
    figure.update_layout(barmode="group", bargap=0.3, height=130 + 72 * len(shown))
    return _plain(figure)


def _short(title: str) -> str:
    """A title beside its bars, in lines that leave them room on a phone."""
    return "<br>".join(map(text, textwrap.wrap(title, TITLE_LETTERS, max_lines=3, placeholder=" ...")))


def _sum(lines: Sequence[LineItem], column: int) -> Decimal | None:
    """What the known lines cost together; None where a line is unknown and no other costs anything."""
    months = [line.usd_month for line in lines if line.usd_month is not None]
    return sum((month[column] for month in months), Decimal(0)) if any(map(any, months)) or not _unknown(lines) else None


def _unknown(lines: Sequence[LineItem]) -> list[LineItem]:
    return [line for line in lines if line.status == "unknown"]


def _label(lines: Sequence[LineItem], column: int) -> str:
    usd = _sum(lines, column)
    return "" if usd is None else f"{'at least ' if _unknown(lines) else ''}{cents(usd)}"


def _end(lines: Sequence[LineItem]) -> float:
    """Where a component's longest bar ends on the axis, with room for its amount behind it where the plot is narrowest: on a phone."""
    usd = _sum(lines, 2)
    return 0 if usd is None else float(usd) / (1 - min(0.8, LETTER_PX * len(_label(lines, 2)) / NARROWEST_PX))


def _hover(title: str, lines: Sequence[LineItem], column: int) -> str:
    """The component's lines, dearest first; what costs nothing is left out."""
    costing = sorted(((line.usd_month[column], line.what) for line in lines if line.usd_month and line.usd_month[column]), reverse=True)
    told = [f"{text(what)}: {cents(usd)}" for usd, what in costing[:LINES_MAX]]
    more = [f"and {len(costing) - LINES_MAX} more"] if len(costing) > LINES_MAX else []
    unknown = [f"{text(line.what)}: unknown" for line in _unknown(lines)[:LINES_MAX]]
    return "<br>".join([f"<b>{text(title)}, {COLUMNS[column]}: {_label(lines, column) or 'unknown'} USD</b>", *told, *more, *unknown])


def hours(one: Rates) -> dict[str, Any] | None:
    """USD an hour by region, one colour a way of buying; None where no price is known. What is unknown is not drawn."""
    drawn = [region for region in one.regions if region.hours]
    if not drawn:
        return None
    figure = go.Figure()
    for index, way in enumerate(one.ways):
        shift = 0.56 * ((index + 0.5) / len(one.ways) - 0.5)  # beside each other: a reservation costs what on-demand costs
        points = [(place + shift, region, region.hours[way]) for place, region in enumerate(drawn) if way in region.hours]
        figure.add_scatter(
            name=way,
            mode="markers",
            x=[float(hour.usd) for _, _, hour in points],
            y=[place for place, _, _ in points],
            error_x=_bounds([hour for _, _, hour in points]),
            hovertext=[_told(region, way, hour) for _, region, hour in points],
            hoverinfo="text",
            marker={"color": COLOURS[WAYS.index(way)], "symbol": SYMBOLS[WAYS.index(way)], "size": 9},
            cliponaxis=False,
        )
    for place, region in enumerate(drawn):
        if region.own:
            figure.add_hrect(y0=place - 0.5, y1=place + 0.5, fillcolor="rgba(128,128,128,0.18)", line_width=0, layer="below")
    names = [f"<b>{text(region.name)}</b>" if region.own else text(region.name) for region in drawn]
    figure.update_xaxes(title="USD an hour", rangemode="tozero")
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(drawn))), ticktext=names, range=[len(drawn) - 0.5, -0.5], zeroline=False)
    figure.update_layout(height=130 + 34 * len(drawn), hovermode="closest")
    return _plain(figure)


def _bounds(hours: Sequence[Hour]) -> dict[str, Any] | None:
    """Bars from the low to the high bound; none where nothing is bounded."""
    if all(hour.usd_low == hour.usd_high for hour in hours):
        return None
    above = [float(hour.usd_high - hour.usd) or None for hour in hours]
    below = [float(hour.usd - hour.usd_low) or None for hour in hours]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5, "width": 4}


def _told(region: Region, way: str, hour: Hour) -> str:
    where = f"<b>{text(region.name)}{', this stack' if region.own else ''}</b>"
    bounds = f", {amount(hour.usd_low)} to {amount(hour.usd_high)}" if hour.usd_low != hour.usd_high else ""
    return f"{where}<br>{way}: {amount(hour.usd)} USD an hour{bounds}<br>of {text(hour.as_of)}, trust {hour.trust}"


def amount(usd: Decimal) -> str:
    """USD an hour, to the hundredth of a cent, halves up; what is less is said in full."""
    rounded = usd.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    return f"{rounded:,}" if rounded or not usd else f"{usd:f}"


def text(said: str) -> str:
    """Plotly reads some HTML in texts: names are escaped for it too."""
    return str(escaped(said))


def _plain(figure: go.Figure) -> dict[str, Any]:
    """As data. Fonts, grounds and lines of the page's own colour are the style sheet's business."""
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        hoverlabel={"bgcolor": "#1f2933", "bordercolor": "#8896a5", "font": {"color": "#ffffff"}, "align": "left", "namelength": -1},
        margin={"l": 8, "r": 16, "t": 8, "b": 8},
        dragmode=False,
    )
    figure.update_xaxes(showgrid=True, gridcolor="rgba(128,128,128,0.3)", zerolinecolor="rgba(128,128,128,0.6)")
    figure.update_yaxes(showgrid=False, ticklabelstandoff=6)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(automargin=True, fixedrange=True)
    plain: dict[str, Any] = json.loads(plotly.io.to_json(figure, validate=False, engine="json"))
    return plain
