"""Who may work on a run."""

from __future__ import annotations

import pytest

from infra.operate.jobs.lease import Owner

NOW = 1_800_000_000.0


def test_a_cloud_run_execution_is_one_owner_with_attempts() -> None:
    """Its environment says which; elsewhere each process is its own."""
    found = Owner.here({"CLOUD_RUN_EXECUTION": "nightly-x7k", "CLOUD_RUN_TASK_ATTEMPT": "2"})
    assert found == Owner("nightly-x7k", 2, "nightly-x7k")
    assert Owner.here({}).execution == ""
    assert Owner.here({}) != Owner.here({})
    assert Owner.here({"CLOUD_RUN_EXECUTION": "n", "CLOUD_RUN_TASK_ATTEMPT": "²"}).attempt == 0


@pytest.mark.parametrize(
    ("owner", "later", "may"),
    [
        (Owner("a", 1), 0, True),
        (Owner("a", 0), 0, False),
        (Owner("b", 5), 0, False),
        (Owner("b", 0), 599, False),
        (Owner("b", 0), 600, True),
    ],
    ids=["next-attempt", "same-attempt", "another", "just-before", "over"],
)
def test_a_lease_is_taken_by_the_next_attempt_or_when_it_is_over(owner: Owner, later: float, may: bool) -> None:
    """Not by the same attempt again: two processes of one name would both work."""
    lease = Owner("a", 0).lease(NOW)
    assert owner.may_take(lease, NOW + later) is may


def test_no_lease_is_nobodys() -> None:
    """A journal whose lease somebody took out by hand can be gone on with."""
    assert Owner("b").may_take({}, NOW)
