"""A run gets a machine, works, and leaves nothing behind, whatever happens to it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.operate.jobs.lease import Owner
from tests.operate.jobs.night import KilledError, Night


@pytest.fixture
def night() -> Night:
    """A job with one host, on spot, in two zones."""
    return Night()


def settled(night: Night) -> None:
    """Nothing stands, there was one machine at most, and the journal has come to its end."""
    assert night.machines == {}
    assert night.most <= 1
    assert night.journal["phase"] == "ended"


def test_a_run_that_goes_well_leaves_no_machine_and_a_record(night: Night) -> None:
    """One try in the first zone, its machine is gone, and what it cost is as long as it stood."""
    ended = night.run()
    assert (ended.result, ended.reason) == ("succeeded", "it ended well")
    settled(night)
    record = night.record()
    (row,) = record["tries"]
    assert (row["zone"], row["provisioning"], row["result"]) == ("us-east5-a", "spot", "succeeded")
    assert record["usd"] == row["usd"]
    assert Decimal(record["usd_at_most"]) > Decimal(record["usd"]) > 0


def small() -> Night:
    """A run that is over soon: one zone, two minutes of work."""
    night = Night(zones=["us-east5-a"])
    night.work_minutes = 2
    return night


def finished(night: Night) -> None:
    """Whatever was cut off, the next runners come to the end: at once where it was the same execution, else once the lease is over."""
    night.kill_at = None
    ended = night.run(Owner("nightly-abc", 1, "nightly-abc"))
    assert ended.result == "succeeded"


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_killed_at_any_call_the_next_one_comes_to_an_end(after: bool) -> None:
    """Killed at each n-th call: never two machines, none at the end, and the journal and the record tell of one try that went well."""
    whole = small()
    whole.run(Owner("nightly-abc", 0, "nightly-abc"))
    for call in range(1 + after, whole.sent + 1, 6):
        night = small()
        night.kill_at, night.kill_after = call, after
        with pytest.raises(KilledError):
            night.run(Owner("nightly-abc", 0, "nightly-abc"))
        finished(night)
        settled(night)
        rows = night.record()["tries"]
        assert [row["result"] for row in rows] == ["succeeded"]
