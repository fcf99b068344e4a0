"""A week of nights by the sandbox's clock: whatever goes wrong, no machine is left, what serves is good, and each record tells the truth."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from inline_snapshot import snapshot

from infra.sandbox.faults import Fault
from infra.sandbox.store import Store
from tests.operate.jobs.week import SLOW, Kill, Row, Trouble, Week, copy, settled, stands

WEEK = (
    Trouble(),
    Trouble("one zone is full, and the version is slow", (Fault(do="stockout", zone="asia-east1-c"),), recall=0.31, load=SLOW),
    Trouble("all zones are full", (Fault(do="stockout"),)),
    Trouble("taken away, and the runner is killed", preempts=(10,), kills=(Kill(60),), recall=0.32),
    Trouble("it does not come, then a bad model", (Fault(do="slow", factor=500),), faults_minutes=20, exits=(143, 0), recall=0.2),
    Trouble("killed for good, and the training fails", exits=(1,), kills=(Kill(50, again=False),)),
    Trouble(
        "no quota for spot, and answers are lost",
        (Fault(do="quota", provisioning="spot"), *(Fault(do="lost", method=method, at=at) for method in ("POST", "DELETE") for at in (2, 5, 9))),
        recall=0.33,
    ),
)


@pytest.fixture(scope="module")
def declarations() -> Iterator[Store]:
    """The shop's program, in a sandbox."""
    store = stands()
    yield store
    store.close()


def test_a_week(declarations: Store) -> None:
    """Each night has its trouble, and each comes to an end that is on record."""
    with Week(copy(declarations)).alive() as week:
        for trouble in WEEK:
            settled(week, week.night(trouble))
    assert table(week.nights) == snapshot()


def table(nights: list[Row]) -> str:
    """A line a night, and one for each way in which it was tried."""
    lines = []
    for number, row in enumerate(nights, 1):
        run = row.run
        usd = Decimal(run["usd"]).quantize(Decimal("0.01"))
        lines.append(f"{number}. {row.trouble.name}: {run['result']}, {run['outcome'] or 'no version'}, {usd} USD, champion {row.champion}")
        lines += [f"   {text}" for text in dict.fromkeys(f"{one['provisioning']} in {one['zone']}: {one['result']}" for one in run["tries"])]
        lines.append(f"   {run['why'] or run['reason']}")
    return "\n".join(lines)
