"""A rollout goes by steps while its guards hold, returns when one breaks, and comes to one of these ends whatever happens to it."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SpecError
from infra.operate.journal import TakenOverError
from infra.operate.latencies import Distribution
from infra.operate.readings import Moment, Monitoring
from infra.operate.rollout import split
from infra.provider.calls import GoogleError
from infra.provider.holds import Hold
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.shop import BEGAN, BUCKET, ENDPOINT, GOOD, MODEL, Shop

SLOW = {"p50_ms": 60, "p95_ms": 200, "error_rate": 0.0}
FAILING = {"p50_ms": 20, "p95_ms": 50, "error_rate": 0.2}
HOUR = 3600


@pytest.fixture
def shop() -> Shop:
    """Version 1 serves, version 2 is the candidate."""
    return Shop()


def settled(shop: Shop) -> None:
    """The endpoint, the alias and the holds are as a program would have them: one version serves, and is the champion; nothing is held."""
    serves = {"1": shop.old.id, "2": shop.new.id}[shop.meant()]
    assert shop.split == {serves: 100}
    assert shop.deployed == {serves}
    assert shop.holds().every() == []


def test_goes_by_steps_and_ends_where_a_program_would_be(shop: Shop) -> None:
    """Each step is held and read; at the end the alias has moved, the old version is gone, and so is the hold."""
    shop.callers(v2=GOOD)
    splits: list[dict[str, int]] = []

    def watch() -> None:
        if not splits or splits[-1] != shop.split:
            splits.append(shop.split)

    shop.watch = watch
    ended = shop.rollout().start(shop.plan())

    assert ended.phase == "done"
    assert [share.get(shop.new.id, 0) for share in splits] == [0, 10, 50, 100]
    assert next(event.at - BEGAN for event in shop.events if event.kind == "promoting") >= 3 * 30 * 60
    settled(shop)
    assert shop.meant() == "2"
    assert len(shop.said("compare")) == 2


def test_the_candidate_is_what_a_program_would_deploy(shop: Shop) -> None:
    """Its id is that of the same name and settings with the new version: the program finds it, and deploys nothing."""
    shop.callers()
    shop.rollout().start(shop.plan())
    assert shop.deployed == {shop.model("2").id}


def test_the_first_breach_returns_everything(shop: Shop) -> None:
    """Too slow at 10 %: the guard, the value and the window are said, the candidate goes, and the alias has never moved."""
    shop.callers(v2=SLOW)
    ended = shop.rollout().start(shop.plan())

    assert ended.phase == "returned"
    said = re.fullmatch(
        r"p95_ms<80 does not hold: p95_ms is ([0-9.]+) ms.*, of ([0-9]+) requests in the ([0-9]+) min of this step", ended.why
    )
    assert said
    assert 150 < float(said[1]) < 250
    assert 10 * int(said[3]) >= int(said[2]) > 5  # 12 a minute go to it
    assert shop.meant() == "1"
    settled(shop)


def test_errors_are_found_before_there_is_traffic_enough(shop: Shop) -> None:
    """One in five fails: the limit of one in a hundred of a thousand is passed by the 10th error, long before the thousand are there."""
    shop.callers(v2=FAILING)
    ended = shop.rollout().start(shop.plan(guards=["error_rate<0.01", "requests>=1000"], minutes=120))
    assert ended.phase == "returned"
    held = [event for event in shop.events if event.kind == "reading"]
    assert 45 <= held[-1].data["requests"] < 70
    settled(shop)


def test_few_requests_are_enough_where_that_is_said(shop: Shop) -> None:
    """A shop with three callers a minute says how many prove something to it."""
    shop.callers(0.05)
    ended = shop.rollout().start(shop.plan(minutes=10, guards=["p95_ms<80", "requests>=5"], steps=(50, 100)))
    assert ended.phase == "done"


def test_without_traffic_it_holds_on_and_then_goes_back(shop: Shop) -> None:
    """No request is neither well nor bad: the step is held twice as long, then all goes back, and it is said why."""
    ended = shop.rollout().start(shop.plan())

    assert ended.phase == "returned"
    assert ended.why == "nothing is proven in 60 min: 0 of 100 requests"
    assert shop.said("unproven")[0].startswith("0 of 100 requests: held on until ")
    settled(shop)


def test_late_traffic_is_enough(shop: Shop) -> None:
    """What was unproven at the step's end is proven when the requests have come."""
    shop.callers(0.5)
    ended = shop.rollout().start(shop.plan(guards=["p95_ms<80", "requests>=130"]))
    assert ended.phase == "done"
    assert shop.said("unproven")


def test_the_last_minutes_are_judged_by_themselves(shop: Shop) -> None:
    """An hour that went well does not hide that it is slow now."""
    shop.callers(5.0)
    turned = False

    def watch() -> None:
        nonlocal turned
        data = shop.events[-1] if shop.events else None
        if not turned and data and data.kind == "reading" and shop.split.get(shop.new.id) == 50 and data.data["requests"] > 7000:
            turned = True
            shop.callers(5.0, v2={"p50_ms": 90, "p95_ms": 100, "error_rate": 0})

    shop.watch = watch
    ended = shop.rollout().start(shop.plan(minutes=60, guards=["p50_ms<40"]))
    assert turned
    assert ended.phase == "returned"
    assert "in the last 10 min" in ended.why
    settled(shop)


def test_monitoring_that_does_not_answer_proves_nothing(shop: Shop) -> None:
    """Nobody watches: it goes back by itself."""
    shop.callers()
    shop.cloud.faults.add(Fault(do="error", path="timeSeries", code=403, message="no"))
    ended = shop.rollout().start(shop.plan())
    assert ended.phase == "returned"
    assert "no" in shop.said("unread")[0]
    settled(shop)


def test_requests_without_latencies_prove_nothing_of_latencies(shop: Shop) -> None:
    """Answers are counted, and their latencies never come: a guard of latencies does not hold by that."""
    shop.callers()
    source = Monitoring(shop.google(), ENDPOINT)

    class Untimed:
        def moments(self, start: float, end: float) -> list[Moment]:
            return [replace(one, reading=replace(one.reading, latencies=Distribution())) for one in source.moments(start, end)]

    ended = shop.rollout(Untimed()).start(shop.plan())
    assert ended.phase == "returned"
    assert "p95_ms of 0 of 100 requests" in ended.why
    settled(shop)


def test_what_fell_silent_is_not_proven(shop: Shop) -> None:
    """A hundred good answers at first, then none is told of: the step does not pass by the old ones."""
    shop.callers()
    source = Monitoring(shop.google(), ENDPOINT)

    class Silent:
        def moments(self, start: float, end: float) -> list[Moment]:
            return source.moments(start, min(end, start + 15 * 60))

    ended = shop.rollout(Silent()).start(shop.plan(minutes=30))
    assert ended.phase == "returned"
    assert ended.why == "nothing is proven in 60 min: no request in the last 10 min"
    settled(shop)


def test_a_return_waits_for_the_deploy_that_was_cut_off(shop: Shop) -> None:
    """Killed while the new version comes up, then rolled back: it is not left there when it has come."""
    kill = len(shop.cloud.calls)

    def watch() -> None:
        if shop.cloud.calls[-1]["path"].endswith(":deployModel") and len(shop.cloud.calls) > kill:
            raise KilledError

    shop.watch = watch
    with pytest.raises(KilledError):
        shop.rollout().start(shop.plan())
    shop.watch = None
    assert shop.deployed == {shop.old.id}
    assert shop.rollout().back().phase == "returned"
    shop.wait(HOUR)
    settled(shop)


def test_a_run_that_was_overtaken_leaves_the_hold_of_the_other(shop: Shop) -> None:
    """The other has set the next step's split: that is nobody else's, and what is held stays so."""
    shop.callers()
    taken = False

    def watch() -> None:
        nonlocal taken
        if not taken and len(shop.said("reading")) == 3:
            taken = True
            second = shop.rollout()
            second.journal.to("moving", shop.now(), "taken over", step=1)
            second._moving()

    shop.watch = watch
    with pytest.raises(TakenOverError):
        shop.rollout().start(shop.plan())
    assert len(shop.holds().every()) == 1
    assert shop.rollout().resume().phase == "done"
    settled(shop)


def test_what_cannot_be_deployed_changes_nothing(shop: Shop) -> None:
    """No machine is to be had: the split has not moved, and nothing is held."""
    shop.cloud.faults.add(Fault(do="fail", path="endpoints/123456789", message="out of machines"))
    ended = shop.rollout().start(shop.plan())
    assert ended.phase == "returned"
    assert "out of machines" in ended.why
    settled(shop)


def test_it_is_held_from_before_the_first_change_until_the_end(shop: Shop) -> None:
    """Whenever a second version is deployed, or the alias and the split do not agree, traffic and model are held."""
    shop.callers()
    held = 0

    def watch() -> None:
        nonlocal held
        if len(shop.deployed) == 2:
            (hold,) = shop.held()
            assert dt.datetime.fromisoformat(hold["until"]).timestamp() > shop.now()
            assert hold["fields"] == ["model", "traffic"]
            held += 1

    shop.watch = watch
    assert shop.rollout().start(shop.plan(steps=(50, 100), minutes=5)).phase == "done"
    assert held > 10


@pytest.mark.parametrize(
    ("version", "then", "after", "every"),
    [(GOOD, "resume", True, 1), (GOOD, "resume", False, 3), (SLOW, "resume", True, 2), (GOOD, "back", True, 2)],
    ids=["after", "before", "slow", "rollback"],
)
def test_killed_at_any_call_the_next_one_comes_to_an_end(version: dict[str, Any], then: str, after: bool, every: int) -> None:
    """Traffic makes 100 of what is deployed at every call; the alias is one version's; a second run ends it; a hold ends by itself."""

    def made() -> Shop:
        shop = Shop()
        shop.callers(v2=version)
        shop.sent = 0
        shop.watch = lambda: live(shop)
        return shop

    def live(shop: Shop) -> None:
        assert sum(shop.split.values()) == 100
        assert set(shop.split) <= shop.deployed
        for hold in shop.held():
            assert dt.datetime.fromisoformat(hold["until"]).timestamp() < shop.now() + 3 * HOUR

    whole = made()
    plan = {"steps": (50, 100), "minutes": 2.0, "keep": 1.0, "guards": ["p95_ms<80", "requests>=60"]}
    whole.rollout().start(whole.plan(**plan))
    ends = set()
    for call in range(1, whole.sent + 1, every):
        shop = made()
        shop.kill_at, shop.kill_after = call, after
        with pytest.raises(KilledError):
            shop.rollout().start(shop.plan(**plan))
        live(shop)
        again = shop.rollout()
        if again.journal.is_open:
            ended = (again.resume() if then == "resume" else again.back()).phase
            assert ended != "stopped" or shop.old.id not in shop.deployed  # a rollback too late: the old version was gone
            ends.add(ended)
        elif shop.journal().get("phase") not in ("done", "returned"):
            assert shop.split == {shop.old.id: 100}  # it had not begun: at most a hold is there, which ends
            shop.holds().release(ENDPOINT)
        settled(shop)
    assert ends == ({"done"} if version is GOOD and then == "resume" else {"returned", "stopped"} if then == "back" else {"returned"})


def test_lost_answers_do_no_harm() -> None:
    """Every answer that changes something is lost once: each is looked for, and nothing is done twice."""
    shop = Shop()
    shop.callers()
    for method in ("POST", "PATCH"):
        for at in range(1, 30, 2):
            shop.cloud.faults.add(Fault(do="lost", method=method, at=at))
    assert shop.rollout().start(shop.plan(steps=(50, 100), minutes=2)).phase == "done"
    settled(shop)


def test_the_next_call_goes_on(shop: Shop) -> None:
    """The same command again is a resumption; of another version it is refused."""
    shop.callers()
    shop.kill_at, shop.kill_after = shop.sent + 40, True
    with pytest.raises(KilledError):
        shop.rollout().start(shop.plan())
    shop.upload("better")
    with pytest.raises(SpecError, match="a rollout of version 2 is unfinished"):
        shop.rollout().start(shop.plan(to="better"))
    assert shop.rollout().start(shop.plan()).phase == "done"
    settled(shop)


def test_two_runs_do_not_work_on_one_rollout(shop: Shop) -> None:
    """The second one takes it over, and the first does nothing more."""
    shop.callers()
    second = None

    def watch() -> None:
        nonlocal second
        if second is None and len(shop.said("reading")) == 3:
            shop.watch = None
            second = shop.rollout()
            second.journal.to("holding", shop.now(), "taken over")

    shop.watch = watch
    with pytest.raises(TakenOverError, match="another run works on this rollout now"):
        shop.rollout().start(shop.plan())
    assert second is not None
    assert second.resume().phase == "done"
    settled(shop)


def test_rollback_while_warm_is_one_call(shop: Shop) -> None:
    """After the last step the old version still stands: traffic and alias come back to it, and the new one goes."""
    shop.callers()

    def watch() -> None:
        if shop.said("waiting"):
            raise KilledError

    shop.watch = watch
    with pytest.raises(KilledError):
        shop.rollout().start(shop.plan(keep=60))
    shop.watch = None
    assert shop.meant() == "2"
    assert shop.deployed == {shop.old.id, shop.new.id}
    assert shop.rollout().back().phase == "returned"
    assert shop.meant() == "1"
    settled(shop)
    with pytest.raises(SpecError, match="has returned already"):
        shop.rollout().back()


def test_rollback_after_the_end_says_what_to_do(shop: Shop) -> None:
    """The old version is not there any more: it has to be rolled out."""
    with pytest.raises(SpecError, match="there was no rollout here"):
        shop.rollout().back()
    shop.callers()
    shop.rollout().start(shop.plan())
    with pytest.raises(SpecError, match="is undeployed"):
        shop.rollout().back()
    assert shop.rollout().start(shop.plan(to="1")).phase == "done"
    assert shop.meant() == "1"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("split", "which somebody else set"),
        ("undeploy-new", "version 2 is not deployed any more"),
        ("undeploy-old", "version 1 is not deployed any more"),
    ],
)
def test_what_somebody_else_changes_counts(shop: Shop, change: str, why: str) -> None:
    """It stops, leaves the endpoint as that somebody made it, holds nothing, and says so."""
    shop.callers()
    new, old = shop.new.id, shop.old.id
    left: dict[str, int] = {}

    def watch() -> None:
        if left or len(shop.said("reading")) < 3:
            return
        left.update({"split": {old: 75, new: 25}, "undeploy-new": {old: 100}, "undeploy-old": {new: 100}}[change])
        if change == "split":
            shop.vertex("PATCH", ENDPOINT, {"trafficSplit": left}, updateMask="trafficSplit")
        else:
            gone = new if change == "undeploy-new" else old
            shop.vertex("POST", f"{ENDPOINT}:undeployModel", {"deployedModelId": gone, "trafficSplit": left})

    shop.watch = watch
    ended = shop.rollout().start(shop.plan())
    assert ended.phase == "stopped"
    assert why in ended.why
    assert shop.split == left
    assert shop.holds().every() == []
    assert shop.meant() == "1"


def test_another_champion_counts(shop: Shop) -> None:
    """Somebody gave the alias to a third version meanwhile: it is not taken away again."""
    shop.callers()

    def watch() -> None:
        if shop.said("reading") and shop.meant() == "1":
            shop.upload("champion")

    shop.watch = watch
    ended = shop.rollout().start(shop.plan(steps=(100,), minutes=2))
    assert ended.phase == "stopped"
    assert "champion is version 3 now" in ended.why
    assert shop.meant() == "3"


def test_a_split_that_somebody_changes_at_the_same_moment_is_not_overwritten(shop: Shop) -> None:
    """Between look and patch the etag changes: the split is looked at again, and left."""
    shop.callers()
    done = False

    def watch() -> None:
        nonlocal done
        if not done and shop.said("moving") and not shop.said("holding") and shop.cloud.calls[-1]["path"].endswith("endpoints/123456789"):
            done = True
            shop.vertex("PATCH", ENDPOINT, {"trafficSplit": {shop.old.id: 70, shop.new.id: 30}}, updateMask="trafficSplit")

    shop.watch = watch
    ended = shop.rollout().start(shop.plan())
    assert done
    assert ended.phase == "stopped"
    assert shop.split == {shop.old.id: 70, shop.new.id: 30}


def test_another_controller_holds_the_traffic(shop: Shop) -> None:
    """Nothing is begun."""
    shop.holds().put(Hold(ENDPOINT, ("traffic",), "guard", "the budget is spent", shop.now() + HOUR), shop.now())
    with pytest.raises(Exception, match="held by guard"):
        shop.rollout().start(shop.plan())
    assert shop.journal() == {}
    assert shop.deployed == {shop.old.id}


def test_is_refused_where_it_cannot_begin(shop: Shop) -> None:
    """What serves already, what is not there, a split that somebody made: in words, and nothing is done."""
    with pytest.raises(SpecError, match=r"version 1 \(champion\) serves already"):
        shop.rollout().start(shop.plan(to="champion"))
    with pytest.raises(Exception, match="no version of that alias"):
        shop.rollout().start(shop.plan(to="nobody"))
    shop.vertex("POST", f"{ENDPOINT}:deployModel", {"deployedModel": shop.new.body()})
    shop.vertex("PATCH", ENDPOINT, {"trafficSplit": {shop.old.id: 60, shop.new.id: 40}}, updateMask="trafficSplit")
    with pytest.raises(SpecError, match="the traffic is split already"):
        shop.rollout().start(shop.plan())
    with pytest.raises(SpecError, match="no rollout is unfinished"):
        shop.rollout().resume()
    assert shop.holds().every() == []
    assert shop.journal() == {}


def test_a_cloud_that_refuses_leaves_it_to_the_next_call(shop: Shop) -> None:
    """The error comes to the user; the rollout is open, and goes on."""
    shop.callers()
    shop.cloud.faults.add(Fault(do="error", method="PATCH", code=503))
    with pytest.raises(GoogleError, match="503"):
        shop.rollout().start(shop.plan())
    shop.cloud.faults.clear()
    assert shop.rollout().start(shop.plan()).phase == "done"
    settled(shop)


def test_a_stack_without_its_bucket_is_told(shop: Shop) -> None:
    """Holds and journal need it: nothing is begun without."""
    shop.ask("DELETE", f"storage.googleapis.com/storage/v1/b/{BUCKET}")
    with pytest.raises(GoogleError, match="404"):
        shop.rollout().start(shop.plan())
    assert shop.deployed == {shop.old.id}


@given(st.integers(0, 100))
def test_a_split_is_whole(share: int) -> None:
    """It makes 100, names nobody with nothing, and gives the new one its share."""
    found = split("1", "2", share)
    assert sum(found.values()) == 100
    assert all(part > 0 for part in found.values())
    assert found.get("2", 0) == share


def test_the_model_is_named_by_the_project_of_the_endpoint(shop: Shop) -> None:
    """Google answers numbers for project ids; the alias is moved on the same model."""
    shop.callers()
    shop.rollout().start(shop.plan(steps=(100,), minutes=2))
    assert shop.journal()["model"] == MODEL
