"""What the exit codes of a run's hosts come to."""

from __future__ import annotations

import pytest

from infra.operate.jobs.words import UNREADABLE, Said, Verdict


@pytest.mark.parametrize(
    ("codes", "hosts", "verdict"),
    [
        ({}, 1, "unheard"),
        ({0: 0}, 1, "succeeded"),
        ({0: 0}, 2, "unheard"),
        ({0: 143}, 1, "restart"),
        ({0: 1, 1: 143}, 2, "restart"),
        ({1: 134}, 2, "restart"),
        ({1: 134, 2: 134, 3: 0}, 4, "restart"),
        ({0: 134}, 1, "failed"),
        ({0: 78, 1: 134}, 2, "failed"),
        ({0: 1, 1: 134}, 2, "failed"),
        ({0: 137, 1: 134}, 2, "failed"),
        ({0: UNREADABLE, 1: 134}, 2, "failed"),
    ],
)
def test_codes_come_to_a_verdict(codes: dict[int, int], hosts: int, verdict: Verdict) -> None:
    """A host that JAX aborts has lost another one, and wants to be begun again; where another one says why it ended, that counts."""
    assert Said(codes).verdict(hosts) == verdict


def test_an_abort_is_told_in_words() -> None:
    assert Said({0: 0, 1: 134}).words() == "host 1 ended with 134; 134 means that it was aborted, as JAX does when another host is gone"
