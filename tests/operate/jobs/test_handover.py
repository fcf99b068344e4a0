"""What a run trained is registered once, judged, and served only where all is well; a bad night changes nothing that serves."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from infra.job_plan import JobPlan
from infra.operate.jobs.handover import HandOver, metrics_of
from infra.operate.journal import TakenOverError
from infra.provider.calls import CancelledError, GoogleError
from infra.provider.deployed_model import DeployedModel
from infra.provider.holds import Hold
from infra.provider.json_object import JsonObject
from infra.provider.server import ProviderError
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.shop import AT, BUCKET, ENDPOINT, GOOD, MODEL, PROJECT, SETTINGS, Shop

RUN = "20261201T180000Z"
NEXT = "20261202T180000Z"
SLOW = {"p50_ms": 60, "p95_ms": 200, "error_rate": 0.0}
CONDITION = "recall_at_20 >= 0.98 * champion and loss < 1"
WELL = {"recall_at_20": 0.21, "loss": 0.5}
ROLLOUT = {
    "name": "recommend",
    "endpoint": ENDPOINT,
    "journal": f"gs://{BUCKET}/.accelform/rollouts/shop/recommend.json",
    "alias": "champion",
    "deployed": SETTINGS | {"model": f"{MODEL}@champion", "traffic": 100},
    "deployed_name": "recommend",
    "rollout": {"traffic_percent": [10, 100], "hold_minutes": 4, "guards": {"p95_ms": 80.0, "error_rate": 0.01}},
}


class Night(Shop):
    """A shop whose runs end well: only their hand-over is left."""

    def __init__(
        self, *, bare: bool = True, accept_if: str = CONDITION, rollouts: list[dict[str, Any]] | None = None, timezone: str = ""
    ) -> None:
        super().__init__(bare=bare)
        registers = {
            "model": MODEL,
            "display_name": "shop-recommender",
            "labels": {"owner": "ml-team"},
            "container": {"imageUri": "us-central1-docker.pkg.dev/p/r/i@sha256:0", "ports": [{"containerPort": 8080}]},
            "accept_if": accept_if,
            "timezone": timezone,
            "rollouts": [ROLLOUT] if rollouts is None else rollouts,
        }
        machine = {"provisioning": "spot", "form": "instance", "template": "projects/p/regions/r/instanceTemplates/t"}
        self.job = JobPlan.model_validate(
            {
                "project": PROJECT,
                "region": "us-central1",
                "stack": "shop",
                "job": "train-recommender",
                "workload": "train_recommender",
                "accelerator_type": "v6e-1",
                "hosts": 1,
                "chips": 1,
                "zones": ["us-central1-a"],
                "machines": [machine],
                "machine_name": "shop-train-recommender",
                "max_run_minutes": 180,
                "wait_minutes": 60,
                "restarts": 2,
                "state": f"gs://{BUCKET}/.accelform/jobs/shop/train-recommender",
                "output": f"gs://{BUCKET}/jobs/train-recommender",
                "holds": f"gs://{BUCKET}/.accelform/holds/shop.json",
                "registers": registers,
            }
        )

    def report(self, content: Any, run: str = RUN) -> None:
        """What the program left: metrics, or something else as it is."""
        data = json.dumps({"metrics": content}) if isinstance(content, dict) else content
        self.put(f"jobs/train-recommender/{run}/report.json", data)

    def put(self, name: str, data: str) -> None:
        import httpx

        url = f"http://sandbox.test/storage.googleapis.com/upload/storage/v1/b/{BUCKET}/o"
        headers = {"content-type": "application/json"}
        sent = httpx.Request("POST", url, params={"uploadType": "media", "name": name}, content=data.encode(), headers=headers)
        assert self.answer(sent).is_success

    def hand_over(self, run: str = RUN, kept: dict[str, Any] | None = None) -> dict[str, Any]:
        """All of it, in one process; what is kept at its end."""
        self.kept: dict[str, Any] = kept or {}
        found = HandOver(self.google(), self.job, self, self.events.append)
        while (more := found.advance(run, self.kept)) is not None:
            self.kept = json.loads(json.dumps(more))  # as a journal keeps it
        return self.kept

    def versions(self) -> list[dict[str, Any]]:
        try:
            found = self.vertex("GET", f"{MODEL}:listVersions").get("models", [])
        except AssertionError:  # no version has been uploaded to its end
            return []
        return sorted(found, key=lambda one: int(one["versionId"]))

    def named(self, version: str) -> DeployedModel:
        return self.model(version)

    def serves(self) -> tuple[dict[str, int], set[str], str]:
        """Split, what is deployed, and the champion."""
        has = [one["versionId"] for one in self.versions() if "champion" in one.get("versionAliases", [])]
        return self.split, self.deployed, "".join(has)


@pytest.fixture
def night() -> Night:
    """Nothing was registered yet, and nothing serves."""
    return Night()


def second(**more: Any) -> Night:
    """The first night went well: its version serves. The second's report is there."""
    found = Night(**more)
    found.report(WELL)
    assert found.hand_over()["outcome"] == "promoted"
    found.report({"recall_at_20": 0.22, "loss": 0.4}, NEXT)
    found.callers(10.0)
    return found


def test_the_first_night_deploys_the_first_version(night: Night) -> None:
    """There is nobody to compare with: the version is registered, deployed as a program would, gets all traffic, and then the alias."""
    night.report(WELL)
    seen: list[tuple[dict[str, int], str]] = []
    night.watch = lambda: seen.append((night.split, night.serves()[2]))
    kept = night.hand_over()

    assert kept["outcome"] == "promoted"
    assert night.serves() == ({night.named("1").id: 100}, {night.named("1").id}, "1")
    assert all(split for split, champion in seen if champion), "the alias moved before the version served"
    (version,) = night.versions()
    assert version["labels"] == {
        "owner": "ml-team",
        "accelform-job": "train-recommender",
        "accelform-run": RUN.lower(),
        "accelform-verdict": "accepted",
    }
    assert version["artifactUri"] == f"gs://{BUCKET}/jobs/train-recommender/{RUN}/model"
    assert version["containerSpec"] == night.job.registers.container  # type: ignore[union-attr]
    assert sorted(version["versionAliases"]) == ["candidate", "champion", "default"]
    assert version["versionDescription"].splitlines() == [
        f"run {RUN} of job train-recommender",
        "accepted: recall_at_20 is 0.21, and there is no champion yet to compare with; loss is 0.5, < 1",
        'metrics: {"loss": 0.5, "recall_at_20": 0.21}',
    ]
    assert night.holds().every() == []


def test_a_better_version_is_rolled_out_under_guards() -> None:
    night = second()
    kept = night.hand_over(NEXT)
    assert kept["outcome"] == "promoted"
    assert night.serves() == ({night.named("2").id: 100}, {night.named("2").id}, "2")
    assert night.holds().every() == []
    assert [one["labels"]["accelform-verdict"] for one in night.versions()] == ["accepted", "accepted"]
    assert [share.get(night.named("2").id) for share in [night.split]] == [100]


def at_nine(**more: Any) -> Night:
    """The second night, whose rollout begins at nine in Taipei; it is 16:00 there."""
    night = second(rollouts=[ROLLOUT | {"rollout": ROLLOUT["rollout"] | {"begin": "09:00"}}], timezone="Asia/Taipei", **more)
    night.cloud.clock.advance(dt.datetime(2027, 1, 16, 8, tzinfo=dt.UTC).timestamp() - night.now())
    return night


def test_a_rollout_begins_at_its_time_of_day() -> None:
    """The first night deployed at once; of the second nothing is moved until nine. Who goes on later waits for the same moment."""
    night = at_nine()
    nine = dt.datetime(2027, 1, 17, 1, tzinfo=dt.UTC).timestamp()
    moved: list[float] = []
    night.watch = lambda: moved.append(night.now()) if night.split.get(night.named("2").id) else None
    assert night.hand_over(NEXT)["outcome"] == "promoted"
    assert nine <= moved[0] <= nine + 600
    assert "version 2 waits until 2027-01-17 09:00 Asia/Taipei: a rollout on recommend begins then" in [one.text for one in night.events]

    late = at_nine()
    found = HandOver(late.google(), late.job, late, late.events.append)
    kept: dict[str, Any] = {}
    while "begins" not in kept:
        kept = found.advance(NEXT, kept) or {}
    late.cloud.clock.advance(nine + 7200 - late.now())
    moved = []
    late.watch = lambda: moved.append(late.now()) if late.split.get(late.named("2").id) else None
    assert late.hand_over(NEXT, kept)["outcome"] == "promoted"
    assert nine + 7200 <= moved[0] <= nine + 7800, "a runner that comes late begins at once, and not the next day"


def test_a_hold_that_somebody_took_while_nine_was_waited_for_counts() -> None:
    night = at_nine()
    before = night.serves()
    found = HandOver(night.google(), night.job, night, night.events.append)
    kept: dict[str, Any] = {}
    while "begins" not in kept:
        kept = found.advance(NEXT, kept) or {}
    night.holds().put(Hold(ENDPOINT, ("traffic",), "incident", "by hand", night.now() + 999_999), night.now())
    assert "held by incident" in night.hand_over(NEXT, kept)["why"]
    assert night.serves() == before


def test_an_end_that_is_asked_for_returns_the_rollout() -> None:
    """In the midst of a step: traffic, alias and holds are as before. A second call, and one before anything began, do nothing."""
    night = second()
    before = night.serves()
    found = HandOver(night.google(), night.job, night, night.events.append)
    assert found.withdraw(NEXT, {}) == ""

    def dies() -> None:
        if night.split.get(night.named("2").id) == 10:
            raise KilledError

    night.watch = dies
    with pytest.raises(KilledError):
        night.hand_over(NEXT)
    night.watch = None
    assert night.kept["phase"] == "rolling"
    assert found.withdraw(NEXT, night.kept) == "recommend: returned: asked for"
    assert night.serves() == before
    assert night.holds().every() == []
    assert found.withdraw(NEXT, night.kept) == ""


def test_when_all_is_said_nothing_is_asked(night: Night) -> None:
    night.report(WELL)
    kept = night.hand_over()
    sent = night.sent
    assert HandOver(night.google(), night.job, night, night.events.append).advance(RUN, kept) is None
    assert night.sent == sent


# A bad night


def reports(content: Any) -> Callable[[Night, str], None]:
    return lambda night, run: night.report(content, run)


def fails(path: str, do: str = "error") -> Callable[..., None]:
    """Calls of that path are refused; or with `fail` the next operation on it ends so."""
    fault = Fault(do=do, path=path, code=400, message="No such thing.", times=1 if do == "fail" else None)
    return lambda night, _="": night.cloud.faults.add(fault)


OBJECTS = f"storage.googleapis.com/storage/v1/b/{BUCKET}/o"
BAD: dict[str, tuple[Callable[..., Any], str, str]] = {
    "no report": (
        lambda night, run: night.ask("DELETE", f"{OBJECTS}/jobs%2Ftrain-recommender%2F{run}%2Freport.json"),
        "failed",
        "there is no report",
    ),
    "no JSON": (reports("{"), "failed", "is no report"),
    "no metrics": (reports('{"loss": 1}'), "failed", "is no report"),
    "a list": (reports("[1]"), "failed", "is no report"),
    "too long": (reports('{"metrics": {}}' + " " * 1_000_000), "failed", "has 1000015 bytes, and is no report"),
    "a text": (reports({"recall_at_20": "0.3", "loss": 0.1}), "failed", "no number, or no name of a metric: 'recall_at_20'"),
    "a yes": (reports({"recall_at_20": True, "loss": 0.1}), "failed", "no number"),
    "a name of two lines": (reports({"a\nmetrics: {}": 1}), "failed", "no name of a metric"),
    "too many": (reports({f"m{number}": 1 for number in range(51)}), "failed", "51 metrics"),
    "a metric is missing": (reports({"loss": 0.1}), "refused", "recall_at_20 of the new version is not known: it has loss"),
    "a metric could not be measured": (
        reports({"recall_at_20": None, "loss": 0.1}),
        "refused",
        "recall_at_20 of the new version is not known: it has loss",
    ),
    "NaN": (reports('{"metrics": {"recall_at_20": NaN, "loss": 0.1}}'), "refused", "is nan, which is no finite number"),
    "infinite": (reports('{"metrics": {"recall_at_20": 1e999, "loss": 0.1}}'), "refused", "is inf, which is no finite number"),
    "worse than 0.98 of the champion": (
        reports({"recall_at_20": 0.2057, "loss": 0.1}),
        "refused",
        "not >= 0.98 * champion, where champion is 0.21",
    ),
    "upload fails": (fails("models:upload"), "failed", "could not be registered"),
    "upload ends badly": (fails("models/recommender", "fail"), "failed", "could not be registered"),
    "deploy ends badly": (fails("endpoints/123", "fail"), "returned", "could not be deployed"),
    "deploy is refused": (fails(":deployModel"), "returned", "could not be deployed"),
    "a guard breaks": (lambda night, run: night.callers(10.0, v1=GOOD, default=SLOW), "returned", "does not hold: p95_ms is"),
    "no traffic proves it": (lambda night, run: night.callers(0.0001), "returned", "nothing is proven"),
}


def test_a_bad_night_changes_nothing_that_serves() -> None:
    """One after the other, each in its own night: split, what is deployed, the champion and the holds are as before."""
    night = second()
    before = night.serves()
    for number, (what, (spoil, outcome, said)) in enumerate(BAD.items()):
        run = f"202612{number + 10}T180000Z"
        night.report({"recall_at_20": 0.22, "loss": 0.4}, run)
        night.callers(10.0)
        count = len(night.versions())
        spoil(night, run)
        kept = night.hand_over(run)
        night.cloud.faults.clear()
        assert (kept["outcome"], said in kept["why"]) == (outcome, True), (what, kept)
        assert night.serves() == before, what
        assert night.holds().every() == [], what
        made = night.versions()[count:]
        assert len(made) == (outcome != "failed"), what
        for one in made:
            assert one["versionAliases"] == ["candidate"], what
            assert one["labels"]["accelform-verdict"] == ("refused" if outcome == "refused" else "accepted"), what


@pytest.mark.parametrize("do", ["error", "fail"])
def test_a_first_deploy_that_fails_leaves_nothing(night: Night, do: str) -> None:
    """The version stays a candidate; the next night's has nobody to compare with, either."""
    night.report(WELL)
    fails({"error": ":deployModel", "fail": "endpoints/123"}[do], do)(night)
    kept = night.hand_over()
    assert kept["outcome"] == "accepted"
    assert "recommend: version 1 could not be deployed" in kept["why"]
    night.cloud.faults.clear()
    assert night.serves() == ({}, set(), "")
    night.report(WELL, NEXT)
    assert night.hand_over(NEXT)["outcome"] == "promoted"
    assert night.serves() == ({night.named("2").id: 100}, {night.named("2").id}, "2")


# Ends of the process


def test_a_process_that_dies_at_any_call_is_gone_on_from() -> None:
    """Each call is done and its process dies before it keeps anything: one version, one deploy, the same end as without the death."""
    at, night = 0, Night()
    while True:
        at, night = at + 1, Night()
        night.report(WELL)
        night.kill_at, night.kill_after = at, True
        try:
            night.hand_over()
            break
        except KilledError:
            night.kill_at = None
        night.hand_over(RUN, night.kept)
        assert night.kept["outcome"] == "promoted", at
        assert night.serves() == ({night.named("1").id: 100}, {night.named("1").id}, "1"), at
        assert len(night.versions()) == 1, at
    assert at > 15


@pytest.mark.parametrize("calls", [14, 30, 60])
def test_a_process_that_dies_beside_a_champion_is_gone_on_from(calls: int) -> None:
    """In the registry and in the rollout, whose own journal is gone on with."""
    night = second()
    night.kill_at, night.kill_after = night.sent + calls, True
    with pytest.raises(KilledError):
        night.hand_over(NEXT)
    night.kill_at = None
    assert night.hand_over(NEXT, night.kept)["outcome"] == "promoted"
    assert night.serves() == ({night.named("2").id: 100}, {night.named("2").id}, "2")
    assert len(night.versions()) == 2
    assert night.holds().every() == []


def test_a_lost_answer_to_the_upload_is_no_second_version(night: Night) -> None:
    night.report(WELL)
    night.cloud.faults.add(Fault(do="lost", method="POST", path="models:upload", times=1))
    assert night.hand_over()["outcome"] == "promoted"
    assert [one["versionId"] for one in night.versions()] == ["1"]


def test_a_run_that_is_over_is_not_rolled_out_again() -> None:
    """A guard broke, and the process died before that was kept: the journal of the rollout says it."""
    night = second()
    night.callers(10.0, v2=SLOW)
    kept = night.hand_over(NEXT)
    before = {key: value for key, value in kept.items() if key not in ("outcome", "why")} | {"phase": "rolling"}
    night.callers(10.0, v2=GOOD)
    assert night.hand_over(NEXT, before)["outcome"] == "returned"
    assert night.serves()[2] == "1"


# Others


def test_another_controllers_hold_keeps_what_serves() -> None:
    night = second()
    before = night.serves()
    night.holds().put(Hold(ENDPOINT, ("traffic",), "incident", "by hand", night.now() + 86400), night.now())
    kept = night.hand_over(NEXT)
    assert kept["outcome"] == "accepted"
    assert "accepted, not rolled out: recommend: traffic of endpoints/123456789 held by incident" in kept["why"]
    assert night.serves() == before
    assert [hold.who for hold in night.holds().every()] == ["incident"]


def test_an_unfinished_rollout_of_another_version_is_left_alone() -> None:
    night = second()
    night.upload("tried")
    night.kill_at = night.sent + 30
    with pytest.raises(KilledError):
        night.rollout().start(night.plan(to="tried"))
    night.kill_at = None
    journal, before = night.journal(), night.serves()
    kept = night.hand_over(NEXT)
    assert kept["outcome"] == "accepted"
    assert f"a rollout of version 2 is unfinished there ({journal['phase']})" in kept["why"]
    assert (night.journal(), night.serves()) == (journal, before)


def test_a_split_by_hand_is_left_as_it_is() -> None:
    night = second()
    other = night.upload("tried")
    new = night.model("2")
    night.vertex("POST", f"{ENDPOINT}:deployModel", {"deployedModel": new.body()})
    night.vertex("PATCH", ENDPOINT, {"trafficSplit": {night.named("1").id: 60, new.id: 40}}, updateMask="trafficSplit")
    before = night.serves()
    kept = night.hand_over(NEXT)
    assert (other, kept["outcome"]) == (None, "accepted")
    assert "the traffic is split already" in kept["why"]
    assert night.serves() == before


def test_a_champion_that_somebody_else_chose_meanwhile_stays() -> None:
    night = second(rollouts=[])
    kept = dict(night.hand_over(NEXT, None))
    assert kept["outcome"] == "promoted"
    night.vertex("POST", f"{MODEL}@1:mergeVersionAliases", {"versionAliases": ["champion"]})
    night.report(WELL, "20261203T180000Z")
    found = HandOver(night.google(), night.job, night, night.events.append)
    done: dict[str, Any] = {}
    while done.get("phase") != "promoting":
        done = found.advance("20261203T180000Z", done) or {}
    night.vertex("POST", f"{MODEL}@2:mergeVersionAliases", {"versionAliases": ["champion"]})
    last = found.advance("20261203T180000Z", done)
    assert last is not None
    assert last["why"] == "accepted, not promoted: champion is version 2 now, which somebody else chose"
    assert night.serves()[2] == "2"


def test_an_endpoint_that_is_not_there_is_said() -> None:
    night = second()
    gone = ROLLOUT | {"endpoint": f"{AT}/endpoints/5", "name": "other", "journal": f"gs://{BUCKET}/other.json"}
    night.job = night.job.model_copy(update={"registers": Night(rollouts=[gone]).job.registers})
    kept = night.hand_over(NEXT)
    assert kept["why"] == f"accepted, not rolled out: other: there is no endpoint {AT}/endpoints/5"


def test_without_a_rollout_the_alias_says_it_to_the_next_update() -> None:
    """And without an endpoint, too."""
    for rollouts in ([ROLLOUT | {"rollout": None}], []):
        night = second(rollouts=rollouts)
        before = night.serves()
        assert night.hand_over(NEXT)["outcome"] == "promoted"
        assert night.serves() == (before[0], before[1], "2")


def test_two_runs_at_once_end_in_one_rollout() -> None:
    """Whoever is not the last to write the rollout's journal stops, and changes nothing more."""
    night = second()
    other = HandOver(night._quiet(), night.job, night, lambda event: None)
    done: dict[str, Any] = {}
    first_of = HandOver(night.google(), night.job, night, night.events.append)
    while done.get("phase") != "rolling":
        done = first_of.advance(NEXT, done) or {}

    def watch() -> None:
        if night.split.get(night.named("2").id) == 10:
            night.watch = None
            assert other.advance(NEXT, done)["phase"] == "promoting"  # type: ignore[index]

    night.watch = watch
    with pytest.raises(TakenOverError):
        first_of.advance(NEXT, done)
    assert night.hand_over(NEXT, done)["outcome"] == "promoted"


def test_a_refusal_to_read_the_report_is_no_bad_night(night: Night) -> None:
    """Whoever may not read asks again later: nothing is decided."""
    night.cloud.faults.add(Fault(do="error", method="GET", path="report.json", code=403))
    with pytest.raises(GoogleError):
        night.hand_over()
    night.cloud.faults.clear()
    night.report(WELL)
    assert night.hand_over(RUN, night.kept)["outcome"] == "promoted"


def test_passing_trouble_ends_nothing(night: Night) -> None:
    """503 at each upload: the call is made again later."""
    night.report(WELL)
    night.cloud.faults.add(Fault(do="error", method="POST", path="models:upload"))
    with pytest.raises(ProviderError):
        night.hand_over()
    assert night.kept["phase"] == "registering"
    night.cloud.faults.clear()
    assert night.hand_over(RUN, night.kept)["outcome"] == "promoted"


# Old versions


def test_old_versions_that_nobody_uses_go() -> None:
    """The champion, the candidate and Google's default stay, however old; a version that cannot be deleted stays for another night."""
    night = second(rollouts=[])
    night.job = night.job.model_copy(update={"registers": night.job.registers.model_copy(update={"keep_versions": 2})})  # type: ignore[union-attr]
    for day in range(2, 7):
        night.report({"recall_at_20": 0.1, "loss": 0.4}, f"2026120{day}T180000Z")
        night.cloud.faults.add(Fault(do="error", path=":deleteVersion", code=403, times=1))
        assert night.hand_over(f"2026120{day}T180000Z")["outcome"] == "refused"
    night.cloud.faults.clear()
    night.report({"recall_at_20": 0.3, "loss": 0.4}, "20261207T180000Z")
    assert night.hand_over("20261207T180000Z")["outcome"] == "promoted"
    assert [one["versionId"] for one in night.versions()] == ["1", "6", "7"]


# Without a condition, and odd champions


def test_without_a_condition_every_version_is_accepted() -> None:
    night = second(accept_if="")
    night.report({}, NEXT)
    assert night.hand_over(NEXT)["reason"] == "no condition is set"


def test_a_champion_without_metrics_refuses_what_compares_with_it() -> None:
    """Somebody uploaded it by hand: nobody knows how good it is."""
    night = Night(bare=False)
    night.report(WELL)
    kept = night.hand_over()
    assert (kept["outcome"], kept["why"]) == ("refused", "recall_at_20 of champion is not known: it has no metrics")


@pytest.mark.parametrize(
    ("description", "metrics"),
    [
        ("", {}),
        ("a champion of old", {}),
        ("metrics: ", {}),
        ("metrics: [1]", {}),
        ('metrics: {"a": "b"}', {}),
        ('first\nmetrics: {"a": 1, "b": 0.5}\nlast', {"a": 1, "b": 0.5}),
    ],
)
def test_a_description_says_metrics_or_none(description: str, metrics: dict[str, float]) -> None:
    assert metrics_of({"versionDescription": description}) == metrics


def test_a_rollout_of_an_earlier_model_of_that_name_is_not_this_ones() -> None:
    """The stack was taken down and brought up again: versions count from 1 anew, and the rollout's journal is still there."""
    night = Night()
    night.report(WELL)
    night.hand_over()
    earlier = {"version": 1, "phase": "returned", "why": "long ago", "model": MODEL, "to": {"version": "2"}, "began": 1_700_000_000.0}
    JsonObject(night.google(), ROLLOUT["journal"]).write(earlier, 0)
    night.report(WELL, NEXT)
    kept = night.hand_over(NEXT)
    assert (kept["outcome"], "long ago" in kept["why"]) == ("returned", False)
    assert "nothing is proven" in kept["why"]


class Leased:
    """A runner's time: a call of `wait` keeps the lease, and finds out that it is lost."""

    def __init__(self, night: Night) -> None:
        self.now = night.now
        self.kept = 0
        self.lost = False

    def wait(self, seconds: float) -> None:
        self.kept += 1
        if self.lost:
            raise TakenOverError("another run works on this job now")


@pytest.mark.parametrize("lost", [False, True], ids=["it is kept", "another runner has it"])
def test_the_lease_is_kept_while_an_operation_is_waited_for(lost: bool) -> None:
    """An upload or a deployment may take an hour. Who loses the lease meanwhile leaves all as it is, and calls nothing a failure."""
    night = Night()
    night.report(WELL)
    night.cloud.faults.add(Fault(do="slow", factor=5.0))
    leased = Leased(night)
    found = HandOver(night.google(), night.job, leased, night.events.append)
    kept: dict[str, Any] = {}
    with pytest.raises(CancelledError) if lost else nullcontext():
        while kept.get("phase") != "pruning":
            leased.lost = lost and kept.get("phase") == "rolling"
            kept = found.advance(RUN, kept) or {}
    assert leased.kept > 1
    assert kept["phase"] == ("rolling" if lost else "pruning")
    if lost:
        assert night.hand_over(RUN, kept)["outcome"] == "promoted"
    assert len(night.deployed) == 1
