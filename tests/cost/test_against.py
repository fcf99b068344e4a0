"""Two estimates of one stack: which line became what, and what the whole costs more."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from infra.cost import against
from infra.cost.against import difference
from infra.cost.estimate import Estimate
from infra.cost.line import LineItem, Status


def line(resource: str, what: str, *month: str, status: Status = "priced", note: str = "") -> LineItem:
    """A line that costs so much a month: one figure, three, or none where it is unknown."""
    if not month:
        return LineItem(resource, what, status, note=note)
    low, expected, high = (Decimal(one) for one in (month if len(month) == 3 else month * 3))
    return LineItem(resource, what, status, (low, expected, high), "month", (Decimal(1),) * 3, note=note)


def estimate(*lines: LineItem) -> Estimate:
    return Estimate(lines, [])


def changes(before: Estimate | None, after: Estimate | None) -> list[tuple[str, str]]:
    return [(against.name(one), one.change) for one in difference(before, after).lines]


DISK = line("try", "boot disk", "5", "6", "7")


def test_each_line_says_what_became_of_it() -> None:
    """New, gone, dearer, cheaper and the same, in the order of what is, what is gone last."""
    before = estimate(DISK, line("", "logs", "3"), line("", "egress", "2"), line("data", "data bucket", "1"))
    after = estimate(DISK, line("", "logs", "4"), line("", "egress", "1"), line("images", "images", "9"))
    assert changes(before, after) == [
        ("try: boot disk", "same"),
        ("logs", "dearer"),
        ("egress", "cheaper"),
        ("images", "new"),
        ("data bucket", "gone"),
    ]
    assert difference(before, after).usd_month == (Decimal(8), Decimal(8), Decimal(8))


def test_the_difference_is_hand_computed_in_each_column() -> None:
    """A column may rise while another falls: expected says which it is, then high, then low."""
    one = difference(estimate(line("a", "x", "1", "5", "10")), estimate(line("a", "x", "0.5", "5", "30"))).lines[0]
    assert (one.change, one.usd_month) == ("dearer", (Decimal("-0.5"), Decimal(0), Decimal(20)))
    lower = difference(estimate(line("a", "x", "1", "5", "10")), estimate(line("a", "x", "0.5", "5", "10"))).lines[0]
    assert lower.change == "cheaper"


def test_a_machine_of_another_type_is_the_same_line_changed() -> None:
    """Where a resource has one line more and one less, they are one."""
    one = difference(estimate(DISK, line("try", "v6e-1 spot", "900")), estimate(line("try", "v6e-4 spot", "3600"), DISK))
    assert [(against.name(each), each.change) for each in one.lines] == [
        ("try: v6e-4 spot, was v6e-1 spot", "dearer"),
        ("try: boot disk", "same"),
    ]
    assert one.lines[0].usd_month == (Decimal(2700),) * 3


def test_two_lines_more_and_one_less_are_not_guessed_together() -> None:
    """Nobody can say which of two new lines the gone one became; lines of the whole stack are never paired."""
    assert changes(estimate(line("a", "x", "1")), estimate(line("a", "y", "1"), line("a", "z", "1"))) == [
        ("a: y", "new"),
        ("a: z", "new"),
        ("a: x", "gone"),
    ]
    assert changes(estimate(line("", "logs", "1")), estimate(line("", "egress", "1"))) == [("egress", "new"), ("logs", "gone")]


def test_lines_of_one_name_are_counted() -> None:
    """Two resources of different types may have one name: neither hides the other."""
    free = line("data", "Bucket", "0", status="free")
    assert changes(estimate(free), estimate(free, free)) == [("data: Bucket", "same"), ("data: Bucket", "new")]
    assert changes(estimate(free, free), estimate(free)) == [("data: Bucket", "same"), ("data: Bucket", "gone")]


@pytest.mark.parametrize(("before", "after"), [((), ("5",)), (("5",), ()), ((), ())])
def test_what_has_no_price_has_no_difference(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """An unknown side makes the difference unknown, never its whole amount; the totals say that they are incomplete."""
    sides = [estimate(DISK, line("a", "x", *month, status="priced" if month else "unknown")) for month in (before, after)]
    one = difference(*sides)
    assert (one.lines[1].change, one.lines[1].usd_month, one.complete) == ("unknown", None, False)
    shown = against.totals(one)
    assert [row[0] for row in shown] == ["before" if before else "before, at least", "after" if after else "after, at least", "difference"]
    assert shown[2][2] == "of what has a price on both sides of the change"


def test_a_stack_that_is_new_and_one_that_is_gone() -> None:
    """The side that is not there has no amounts; the difference is the whole of the other."""
    new, gone = difference(None, estimate(DISK)), difference(estimate(DISK), None)
    assert against.totals(new)[0] == ("before", ("-", "-", "-"), "no such stack")
    assert against.totals(new)[2][1] == ("+5.00", "+6.00", "+7.00")
    assert against.totals(gone)[2][1] == ("-5.00", "-6.00", "-7.00")


@pytest.mark.parametrize(
    ("amount", "shown"), [("0", "0.00"), ("0.001", "<+0.01"), ("-0.001", ">-0.01"), ("0.005", "+0.01"), ("-1234.565", "-1,234.57")]
)
def test_a_difference_always_has_its_sign(amount: str, shown: str) -> None:
    """Something is never shown as nothing."""
    assert against.signed((Decimal(amount),) * 3)[0] == shown


def test_what_others_pay_for_is_nothing_to_the_stack() -> None:
    """A resource that the stack only reads changes no total."""
    others = line("net", "Network", status="others pay")
    assert changes(estimate(others), estimate(others)) == [("net: Network", "same")]


def test_the_comment_is_short_and_always_the_same() -> None:
    """Changed lines, totals, a count of the rest; free lines in one."""
    free = line("n", "Network", "0", status="free")
    before = estimate(DISK, line("try", "v6e-1", "1"), free)
    after = estimate(DISK, line("try", "v6e-4", "4"), free, line("odd", "Thing", status="unknown", note="novel:Thing is in no price table"))
    assert against.markdown(difference(before, after)) == [
        "| USD a month | | low | expected | high | |",
        "|---|---|---:|---:|---:|---|",
        "| try: v6e-4, was v6e-1 | dearer | +3.00 | +3.00 | +3.00 |  |",
        "| odd: Thing | new | unknown | unknown | unknown | novel:Thing is in no price table |",
        "| **before** |  | 6.00 | 7.00 | 8.00 |  |",
        "| **after, at least** |  | 9.00 | 10.00 | 11.00 | incomplete: 1 line unknown |",
        "| **difference** |  | +3.00 | +3.00 | +3.00 | of what has a price on both sides of the change |",
        "",
        "2 lines the same.",
    ]


def test_text_of_a_stack_file_stays_text() -> None:
    """A name cannot end a cell, open a link or become HTML."""
    assert against.escaped("a|b <img src=x>\n[x](y) `c`") == r"a\|b &lt;img src=x&gt; \[x\](y) \`c\`"


def test_json_is_exact_and_can_be_written() -> None:
    """Amounts as text; what is unknown is null."""
    data = against.as_json(difference(estimate(line("a", "x", "0.1")), estimate(line("a", "x", "0.3"), line("b", "y", status="unknown"))))
    assert json.loads(json.dumps(data)) == data
    assert data["lines"][0]["difference_usd_month"] == {"low": "0.2", "expected": "0.2", "high": "0.2"}
    assert (data["lines"][1]["change"], data["lines"][1]["difference_usd_month"], data["complete"]) == ("new", None, False)
