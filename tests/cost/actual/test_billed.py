"""
The shipped query on a small export of our own making, in DuckDB, against sums made by hand; and what is made of its answer.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from infra.cost.actual import billed
from infra.cost.actual.billed import Billed, Period, compare
from infra.cost.estimate import Estimate
from infra.cost.line import LineItem
from infra.errors import SpecError

TABLE = "shop-billing.billing.gcp_billing_export_resource_v1_01ABCD_23EF45_67890A"
EXPORT = Path(__file__).parents[1] / "data" / "billing_export.jsonl"
NOVEMBER = Period.parse("2026-11", dt.date(2026, 12, 10))
TYPES = {"STRING": "VARCHAR", "FLOAT": "DOUBLE", "TIMESTAMP": "TIMESTAMP"}

Key = tuple[str | None, ...]


def duck_type(field: dict[str, Any]) -> str:
    """A field of a BigQuery schema as DuckDB's type."""
    inner = ", ".join(f'"{one["name"]}" {duck_type(one)}' for one in field.get("fields", []))
    kind = f"STRUCT({inner})" if field["type"] == "RECORD" else TYPES[field["type"]]
    return f"{kind}[]" if field["mode"] == "REPEATED" else kind


def schema() -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = json.loads((billed.FOLDER / "schema.json").read_text(encoding="utf-8"))
    return fields


def parsed() -> exp.Expression:
    """The query, as BigQuery's grammar has it: whatever it does not admit is an error."""
    return sqlglot.parse_one(billed.query(TABLE), read="bigquery", error_level=sqlglot.ErrorLevel.RAISE)


def numeric(node: exp.Expression) -> exp.Expression:
    """BigQuery's NUMERIC has 38 digits, 9 of them after the point; DuckDB's DECIMAL without a word has 18 and 3."""
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.DECIMAL and not node.expressions:
        return exp.DataType.build("DECIMAL(38, 9)", dialect="duckdb")
    if isinstance(node, exp.Table) and node.name.startswith("gcp_billing_export"):
        return exp.to_table("export")
    return node


def ask(period: Period, project: str = "tw-shop-ml") -> list[Billed]:
    """What the query answers, read as the client reads it."""
    columns = {field["name"]: duck_type(field) for field in schema()}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE export AS SELECT * FROM read_json('{EXPORT}', format='newline_delimited', columns={columns})")
        values = {name: value for name, (_, value) in billed.parameters(project, period).items()}
        done = connection.execute(parsed().transform(numeric).sql("duckdb"), values)
        names = [one[0] for one in done.description or ()]
        return [
            Billed.read({name: None if value is None else str(value) for name, value in zip(names, row, strict=True)})
            for row in done.fetchall()
        ]


def amounts(rows: list[Billed]) -> dict[Key, tuple[str, str]]:
    """Cost and credits of each group, as text."""
    return {
        (row.stack, row.service, row.sku, row.cluster, row.namespace, row.cost_type, row.currency): (
            f"{row.cost.normalize():f}",
            f"{row.credits.normalize():f}",
        )
        for row in rows
    }


CE, TPU, NODE, DISK = "Compute Engine", "TPU v6e chip hour, spot", "N1 node core", "Hyperdisk balanced capacity"

BY_HAND: dict[Key, tuple[str, str]] = {
    # 6 x 30.618, 1.27575 of the last hour by Pacific time, 2.25 of October that came late, 3.75 that came in December
    ("us-east5", CE, TPU, None, None, "regular", "USD"): ("190.98375", "0"),
    ("us-east5", CE, TPU, None, None, "adjustment", "USD"): ("-10.5", "0"),
    ("us-east5", CE, DISK, None, None, "regular", "USD"): ("0.5", "0"),
    ("us-east5", CE, NODE, "shop", "batch", "regular", "USD"): ("5.02", "0"),
    ("us-east5", CE, NODE, "shop", "kube:unallocated", "regular", "USD"): ("1.03", "0"),
    ("us-east5", CE, NODE, "shop", "serving", "regular", "USD"): ("10.01", "0"),
    ("us-east5", "Kubernetes Engine", "Cluster fee", "shop", None, "regular", "USD"): ("2.4", "0"),
    ("asia-east1", "Cloud Storage", "Standard storage", None, None, "regular", "USD"): ("0.8", "0"),
    ("asia-east1", "Cloud Storage", "Standard storage", None, None, "regular", "TWD"): ("384", "-32"),
    ("asia-east1", "Artifact Registry", "Image storage", None, None, "regular", "USD"): ("1.5", "-0.45"),
    ("old-stack", CE, DISK, None, None, "regular", "USD"): ("4.4", "0"),
    (None, "Networking", "NAT gateway uptime", None, None, "regular", "USD"): ("3.024", "0"),
    (None, "Networking", "Internet egress", None, None, "regular", "USD"): ("0.12", "0"),
    (None, "Cloud Logging", "Log volume", None, None, "regular", "USD"): ("0", "0"),
    (None, "Invoice", "Tax", None, None, "tax", "USD"): ("5.55", "0"),
}


def test_the_query_is_bigquerys() -> None:
    """It parses as BigQuery without an error, is one SELECT, and takes the four parameters that the client gives."""
    tree = parsed()
    assert isinstance(tree, exp.Select)
    assert {one.name for one in tree.find_all(exp.Parameter)} == set(billed.parameters("p", NOVEMBER))
    assert "BILLING_TABLE" not in billed.query(TABLE)
    assert f"FROM `{TABLE}`" in billed.query(TABLE)


def test_every_column_that_the_query_reads_is_in_the_schema() -> None:
    """The schema says what the query needs of the export, no more and no less."""
    cte = parsed().find(exp.CTE)
    assert cte is not None
    roots = {(node.parts[0].name if len(node.parts) > 1 else node.name) for node in cte.find_all(exp.Column)}
    assert roots - {"label", "credit"} == {field["name"] for field in schema()}
    assert all(field["description"] for field in schema())


def test_an_invoice_is_what_hand_made_sums_say() -> None:
    """Every group of the invoice, exact: stacks, no label, tax, refund, two currencies, clusters and namespaces."""
    assert amounts(ask(NOVEMBER)) == BY_HAND


def test_usage_of_days_is_cut_at_midnight_by_pacific_time() -> None:
    """From 1 to 30 November: neither the half hour before it nor the one after, nor what October used and November was billed."""
    rows = amounts(ask(Period.parse("2026-11-01..2026-11-30", dt.date(2026, 12, 10))))
    assert rows[("us-east5", CE, TPU, None, None, "regular", "USD")] == ("188.73375", "0")
    last = amounts(ask(Period.parse("2026-11-30..2026-11-30", dt.date(2026, 12, 10))))
    assert last[("us-east5", CE, TPU, None, None, "regular", "USD")] == ("1.27575", "0")
    first = amounts(ask(Period.parse("2026-10-31..2026-10-31", dt.date(2026, 12, 10))))
    assert first == {("us-east5", CE, TPU, None, None, "regular", "USD"): ("1.27575", "0")}


def test_late_rows_are_told_apart() -> None:
    """2.25 was used before the invoice's month; 1.27575 and 3.75 were exported after it."""
    (row,) = [row for row in ask(NOVEMBER) if row.sku == TPU and row.cost_type == "regular"]
    assert (row.earlier, row.late, row.last_export) == (Decimal("2.25"), Decimal("5.02575"), "2026-12-05")
    (nat,) = [row for row in ask(NOVEMBER) if row.sku == "NAT gateway uptime"]
    assert (nat.late, nat.last_export) == (0, "2026-11-30")  # written on 1 December by UTC


def test_another_currency_is_in_usd_by_googles_own_rate() -> None:
    """320 and 64 TWD at 32 are 12 USD; a row without a rate has none, unless it is in USD."""
    (row,) = [row for row in ask(NOVEMBER) if row.currency == "TWD"]
    assert (row.cost, row.usd) == (Decimal(384), Decimal(12))
    without = {row.currency: row.usd for row in ask(Period.parse("2026-09", dt.date(2026, 12, 10)))}
    assert without == {"TWD": None, "USD": Decimal(3)}
    assert [row.usd for row in ask(NOVEMBER) if row.sku == "Internet egress"] == [Decimal("0.12")]


def test_a_project_without_rows_has_none() -> None:
    """No row is no row, whatever the project is called."""
    assert ask(NOVEMBER, "nobody' OR '1'='1") == []
    assert {row.cost for row in ask(NOVEMBER, "tw-shop-web")} == {Decimal(100)}


def month(low: str, expected: str, high: str, *, unknown: bool = False) -> Estimate:
    amounts = (Decimal(low), Decimal(expected), Decimal(high))
    lines = [LineItem("a", "x", "priced", amounts, "month", (Decimal(1),) * 3)]
    return Estimate(lines + [LineItem("odd", "Thing", "unknown")] * unknown, [])


ESTIMATES = {"asia-east1": month("0", "10", "20"), "us-east5": month("150", "180", "190")}


def test_the_bill_beside_the_estimates() -> None:
    """
    us-east5: 190.98375 - 10.5 + 0.5 + 16.06 + 2.4 = 199.44375, above 190. asia-east1: 0.8 + 1.5 + 12 = 14.3, within.
    With 4.4 of another label and 3.144 of none, 221.28775 in all, of which 190 + 14.3 are explained. Tax stands apart.
    """
    actual = compare("tw-shop-ml", NOVEMBER, ask(NOVEMBER), ESTIMATES)
    parts = {part.name: (part.usd, part.verdict) for part in (*actual.stacks, *actual.others)}
    assert parts == {
        "asia-east1": (Decimal("14.3"), "within the estimate"),
        "us-east5": (Decimal("199.44375"), "above the high figure"),
        "old-stack": (Decimal("4.4"), "unknown"),
        "": (Decimal("3.144"), "unknown"),
    }
    assert actual.usd == Decimal("221.28775")
    assert actual.estimate == (Decimal(150), Decimal(190), Decimal(210))
    assert (actual.verdict, actual.complete, actual.last_export) == ("unknown", True, "2026-12-05")
    assert actual.unexplained == [("us-east5", Decimal("9.44375")), ("old-stack", Decimal("4.4")), ("", Decimal("3.144"))]
    assert actual.explained == Decimal("204.3") / Decimal("221.28775")
    assert [(one.currency, one.cost, one.credits) for one in actual.stacks[0].sums] == [
        ("TWD", Decimal(384), Decimal(-32)),
        ("USD", Decimal("2.3"), Decimal("-0.45")),
    ]
    assert [(one.currency, one.cost) for one in actual.tax] == [("USD", Decimal("5.55"))]


def test_a_project_without_other_stacks_is_judged_as_a_whole() -> None:
    """What carries no label is judged with the stacks: some of what they were estimated at carries none."""
    actual = compare("tw-shop-ml", NOVEMBER, ask(NOVEMBER), ESTIMATES | {"old-stack": month("0", "3", "12")})
    assert (actual.usd, actual.estimate[2], actual.verdict) == (Decimal("221.28775"), Decimal(222), "within the estimate")


def test_nothing_is_dropped() -> None:
    """Parts and tax add up to all rows."""
    rows = ask(NOVEMBER)
    actual = compare("tw-shop-ml", NOVEMBER, rows, ESTIMATES)
    parts = [one for part in (*actual.stacks, *actual.others) for one in part.sums] + list(actual.tax)
    for currency in ("USD", "TWD"):
        assert sum(one.cost for one in parts if one.currency == currency) == sum(row.cost for row in rows if row.currency == currency)


def test_what_is_unknown_is_never_nothing() -> None:
    """Without rows, without a rate and without a price: unknown, and not complete."""
    nothing = compare("p", NOVEMBER, [], ESTIMATES)
    assert (nothing.complete, nothing.verdict, nothing.explained, nothing.stacks[0].usd) == (False, "unknown", None, None)
    september = Period.parse("2026-09", dt.date(2026, 12, 10))
    rateless = compare("tw-shop-ml", september, ask(september), ESTIMATES)
    assert (rateless.complete, rateless.usd, rateless.explained) == (False, None, None)
    assert rateless.stacks[0].usd == 0
    priceless = compare("tw-shop-ml", NOVEMBER, ask(NOVEMBER), {"us-east5": month("1", "2", "3", unknown=True)})
    assert (priceless.complete, priceless.stacks[0].verdict) == (False, "above what is known")
    assert list(priceless.stacks[0].unknown) == ["odd: Thing"]


def test_a_stack_that_was_billed_nothing_is_below() -> None:
    """Other rows show that the export works: nothing is then an amount."""
    actual = compare("tw-shop-ml", NOVEMBER, ask(NOVEMBER), {"new": month("1", "2", "3")})
    assert (actual.stacks[0].usd, actual.stacks[0].verdict) == (Decimal(0), "below the low figure")


def test_days_are_held_against_their_part_of_a_month() -> None:
    """15 days are 360 of 730 hours; an invoice is held against the whole month."""
    days = Period.parse("2026-11-01..2026-11-15", dt.date(2026, 12, 10))
    actual = compare("p", days, [], {"a": month("73", "146", "730")})
    assert actual.estimate == (Decimal(36), Decimal(72), Decimal(360))
    assert NOVEMBER.hours == 730


def test_json_is_exact_and_can_be_written() -> None:
    """Amounts as text, every row."""
    rows = ask(NOVEMBER)
    data = billed.as_json(compare("tw-shop-ml", NOVEMBER, rows, ESTIMATES))
    assert json.loads(json.dumps(data)) == data
    assert len(data["rows"]) == len(rows) == len(BY_HAND)
    assert (Decimal(data["billed_usd"]), data["explained_share"]) == (Decimal("221.28775"), "0.9232")


@pytest.mark.parametrize(
    ("text", "today", "said"),
    [
        (None, "2026-12-01", "invoice of 2026-11"),
        (None, "2026-01-31", "invoice of 2025-12"),
        ("2026-02", "2026-12-01", "invoice of 2026-02"),
        ("2026-12", "2026-12-01", "invoice of 2026-12"),
        ("2026-11-30..2026-12-02", "2026-12-01", "usage of 2026-11-30 to 2026-12-02"),
    ],
)
def test_a_period(text: str | None, today: str, said: str) -> None:
    """The last full month where none is named; a month may still run."""
    period = Period.parse(text, dt.date.fromisoformat(today))
    assert str(period) == said
    assert period.first <= period.last
    assert period.is_over(dt.date.fromisoformat(today)) == (period.last < dt.date.fromisoformat(today))


@pytest.mark.parametrize(
    "text",
    [
        "2026-13",
        "2026-1",
        "202611",
        "",
        " 2026-11",
        "\uff12026-11",
        "9999-12",
        "0000-01",
        "2026-12-02..2026-12-01",
        "2026-02-30..2026-03-01",
        "2027-01",
    ],
)
def test_fails_on_what_is_no_period(text: str) -> None:
    """Neither a month nor days, days that run backwards, and the future."""
    with pytest.raises(SpecError, match="--month"):
        Period.parse(text, dt.date(2026, 12, 1))


def test_a_table_of_a_project_with_a_domain_is_taken() -> None:
    """Old projects have their organisation's domain before their name."""
    assert billed.check_table(f"shop.example:{TABLE}") == f"shop.example:{TABLE}"


@pytest.mark.parametrize(
    ("table", "fix"),
    [
        (TABLE.replace("resource_v1_01ABCD_23EF45_67890A", "resource_v1_01ABCD-23EF45-67890A"), f"BigQuery writes it with _: {TABLE}"),
        (TABLE.replace("resource_v1", "v1"), "that is the standard export"),
        (TABLE.partition(".")[2], "look it up"),
        (f"{TABLE}` WHERE TRUE; --", "look it up"),
        (f" {TABLE}", "look it up"),
        (f"{TABLE}\n", "look it up"),
        ("", "look it up"),
        ("🦊" * 1000, "look it up"),
    ],
)
def test_fails_on_what_is_no_detailed_export(table: str, fix: str) -> None:
    """Only such a name is put into the query; the likely mistakes are mended."""
    with pytest.raises(SpecError) as refused:
        billed.query(table)
    assert fix in str(refused.value)
