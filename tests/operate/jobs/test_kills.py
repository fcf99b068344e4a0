"""Whatever dies when, and whatever the cloud does meanwhile: never two machines, none left, and a record that tells the truth."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from infra.operate.jobs.lease import Owner
from infra.provider.server import ProviderError
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.jobs.night import Night, settled

RESULTS = {"succeeded", "failed", "no capacity", "timed out"}


def small(form: str = "instance") -> Night:
    """A run that is over soon: one zone, two minutes of work."""
    night = Night(form=form, **({} if form == "custom-job" else {"zones": ["us-east5-a"]}))
    night.work_minutes = 2
    return night


def killed_at(call: int, form: str, *, after: bool) -> None:
    """
    Killed there, the next attempt of the execution ends the run. Whether a custom job was asked for nobody can tell who finds none: then it is
    another try's.
    """
    night = small(form)
    night.kill_at, night.kill_after = call, after
    with pytest.raises(KilledError):
        night.run(Owner("nightly-abc", 0, "nightly-abc"))
    night.kill_at = None
    assert night.run(Owner("nightly-abc", 1, "nightly-abc")).result == "succeeded"
    settled(night)
    *before, last = [row["result"] for row in night.record()["tries"]]
    assert (last, before) in (("succeeded", []), *([("succeeded", ["trouble"])] if form == "custom-job" else []))


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_killed_at_each_tenth_call_the_next_one_comes_to_an_end(after: bool) -> None:
    """The journal and the record tell of one try that went well."""
    whole = small()
    whole.run(Owner("nightly-abc", 0, "nightly-abc"))
    for call in range(1 + 5 * after, whole.sent + 1, 10):
        killed_at(call, "instance", after=after)


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_killed_as_it_asks_for_a_custom_job_there_are_never_two(after: bool) -> None:
    """Vertex AI numbers them: what was asked for and not heard of is found by its labels, or was never made."""
    whole = small("custom-job")
    before = len(whole.cloud.calls)
    whole.run(Owner("nightly-abc", 0, "nightly-abc"))
    (post,) = [number for number, call in enumerate(whole.cloud.calls) if (call["method"], call["path"][-11:]) == ("POST", "/customJobs")]
    killed_at(post - before + 1, "custom-job", after=after)


@pytest.mark.soak
@pytest.mark.parametrize("form", ["instance", "node", "custom-job"])
def test_killed_at_each_call_the_next_one_comes_to_an_end(form: str) -> None:
    """The same at each call, before and after it."""
    whole = small(form)
    whole.run(Owner("nightly-abc", 0, "nightly-abc"))
    for call in range(1, whole.sent + 1):
        for after in (False, True):
            killed_at(call, form, after=after)


STRUCK = st.lists(
    st.one_of(
        st.builds(
            lambda zone, times: Fault(do="stockout", zone=zone, times=times),
            st.sampled_from(["us-east5-a", "us-east5-b", ""]),
            st.integers(1, 4),
        ),
        st.builds(lambda times: Fault(do="quota", times=times), st.integers(1, 2)),
        st.builds(lambda at: Fault(do="preempt", path="", at=at, times=1), st.integers(1, 60)),
        st.builds(lambda method, at: Fault(do="lost", method=method, at=at), st.sampled_from(["POST", "DELETE"]), st.integers(1, 30)),
        st.builds(
            lambda method, at: Fault(do="drop", method=method, at=at), st.sampled_from(["GET", "POST", "DELETE"]), st.integers(1, 60)
        ),
        st.builds(lambda at: Fault(do="error", code=503, at=at), st.integers(1, 80)),
        st.builds(lambda: Fault(do="slow", factor=2.0)),
    ),
    max_size=4,
)
KILLS = st.lists(st.tuples(st.integers(1, 120), st.booleans()), max_size=3)
EXITS = st.lists(st.sampled_from([0, 0, 143, 1, None]), min_size=1, max_size=3)


def lived_through(form: str, faults: list[Fault], kills: list[tuple[int, bool]], exits: list[int | None]) -> None:
    """Runners begin until one comes to the end; in between the lease runs out."""
    night = Night("spot", "on-demand", form=form, wait_minutes=5, max_run_minutes=40)
    night.work_minutes = 4
    night.exits = lambda number: exits[(number - 1) % len(exits)]
    for fault in faults:
        night.cloud.faults.add(fault)
    unseen = 0.0
    for after in range(len(kills) + 4):
        night.kill_at, night.kill_after = (night.sent + kills[after][0], kills[after][1]) if after < len(kills) else (None, False)
        try:
            runner = night.runner()
            if night.journal.get("phase", "") == "ended":
                break
            runner.run()
        except (KilledError, ProviderError):
            night.wait(601)
            unseen += 601
    assert night.journal["result"] in RESULTS
    settled(night, unseen)


@given(form=st.sampled_from(["instance", "node", "custom-job"]), faults=STRUCK, kills=KILLS, exits=EXITS)
@settings(max_examples=6, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_what_happens_by_chance_leaves_nothing(
    form: str, faults: list[Fault], kills: list[tuple[int, bool]], exits: list[int | None]
) -> None:
    """Some of it, each time."""
    lived_through(form, faults, kills, exits)


@pytest.mark.soak
@given(form=st.sampled_from(["instance", "node", "custom-job"]), faults=STRUCK, kills=KILLS, exits=EXITS)
@settings(max_examples=300, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_what_happens_by_chance_leaves_nothing_for_long(
    form: str, faults: list[Fault], kills: list[tuple[int, bool]], exits: list[int | None]
) -> None:
    """Much of it."""
    lived_through(form, faults, kills, exits)
