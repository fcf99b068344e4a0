"""
A shop for a week: its program's declarations stand in a sandbox in this process, whose clock starts everything that is done.

Cloud Scheduler starts Cloud Run, whose attempts are run here as the attached process runs them; machines have a host each that says how
its container ended, if its machine lives so long. Whatever may go wrong is said of each night. After every call it is looked whether what
must always be so is so.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import json
import math
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, unquote

import httpx
from ruamel.yaml import YAML

from infra.job_plan import VARIABLE, JobPlan
from infra.operate.jobs import __main__ as main
from infra.operate.jobs.tries import Try
from infra.operate.rollout import Event
from infra.provider.google import Google, Settings
from infra.sandbox import executions
from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.faults import Fault
from infra.sandbox.machines import KEPT, key_of
from infra.sandbox.store import Store
from infra.stack import StackSpec
from tests.in_process import KilledError, answered
from tests.operate.jobs import declared
from tests.operate.jobs.actors import Actor

PROJECT, REGION, STACK = "tw-shop-ml", "asia-east1", "shop"
SWEEP = f"cloudscheduler.googleapis.com/v1/projects/{PROJECT}/locations/{REGION}/jobs/{STACK}-sweep"
ZONES = ("asia-east1-c", "asia-east1-b")
AT = f"projects/{PROJECT}/locations/{REGION}"
RUN, VERTEX, COMPUTE = "run.googleapis.com", "aiplatform.googleapis.com", "compute.googleapis.com"
STORAGE = "storage.googleapis.com"
BASE = "http://sandbox.test"
TAIPEI = dt.timezone(dt.timedelta(hours=8))
BEGAN = dt.datetime(2026, 12, 1, 1, 0, tzinfo=TAIPEI).timestamp()
HOUR = 3600.0
"""From `BEGAN` to the first start, at 02:00."""
DAY = 24 * HOUR
MORNING = 7 * HOUR
"""From `BEGAN` to the hour after which the sweep rests until the evening, where nothing is left to do: it would find nothing, in real time."""
POLLS = 6
"""So much more patient than the provider an operation is waited for here, for the same reason."""
SEEN_SECONDS = 90
"""Within so long a machine is seen to run, and to be gone, where somebody works on its run: so much more than it was billed it may be said
to have stood."""
RESULTS = ("succeeded", "failed", "no capacity", "timed out")
GOOD, SLOW = {"p50_ms": 20, "p95_ms": 50, "error_rate": 0.0}, {"p50_ms": 60, "p95_ms": 200, "error_rate": 0.0}
CONFIG: dict[str, Any] = {
    "gcp:project": PROJECT,
    "accelform:schema": 1,
    "accelform:region": REGION,
    "accelform:environment": "dev",
    "accelform:owner": "ml-team",
    "accelform:budgets": {"monthly": {"amount": "350 USD"}},
    "accelform:images": {
        name: f"{REGION}-docker.pkg.dev/{PROJECT}/{STACK}-images/{name}@sha256:{64 * str(digit)}"
        for digit, name in enumerate(("runner", "train", "serve"))
    },
    "accelform:jobs": {
        "train-recommender": {
            "workload": "train_recommender",
            "accelerator_type": "v5litepod-4",
            "zones": list(ZONES),
            "provisioning": ["spot", "on-demand"],
            "schedule": "0 2 * * *",
            "timezone": "Asia/Taipei",
            "max_run_minutes": 90,
            "wait_minutes": 30,
            "restarts": 2,
            "data": {"clicks": "clicks/", "pictures": "pictures/"},
            "registers": "recommender",
        }
    },
    "accelform:models": {"recommender": {"workload": "serve_recommender", "accept_if": "recall_at_50 >= 0.98 * champion"}},
    "accelform:endpoints": {
        "recommend": {
            "callers": [],
            "model": "recommender",
            "machine_type": "n1-standard-2",
            "rollout": {"traffic_percent": [10, 100], "hold_minutes": 5, "guards": {"p95_ms": 80, "error_rate": 0.01}},
        }
    },
}
"""The shop of stacks/Pulumi.asia-east1.yaml, with a model that its job registers and an endpoint that serves it."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A runner's end at one of its calls."""

    call: int
    after: bool = False
    """Whether the call is done."""
    again: bool = True
    """Whether Cloud Run begins it again; else its execution is over, and the sweep goes on with the run."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What one night is like."""

    name: str = "all is well"
    faults: tuple[Fault, ...] = ()
    """Set at the beginning."""
    faults_minutes: float = 240
    """After so long they are over."""
    exits: tuple[int | None, ...] = (0,)
    """Exit code by the machine that came, and of the last one for all after it; None: its host says nothing."""
    work_minutes: float = 10
    preempts: tuple[float, ...] = ()
    """By the machine that came: minutes after which a Spot machine is taken away."""
    kills: tuple[Kill, ...] = ()
    """By attempt: of the runner, and of the sweep where it goes on."""
    recall: float | None = 0.3
    """Metric of what is trained; None: there is no report."""
    load: dict[str, Any] = field(default_factory=lambda: GOOD)
    """How the new version serves."""


@dataclass(slots=True)
class Host:
    """The host of one time that a machine ran."""

    key: str
    items: dict[str, str]
    """The machine's metadata."""
    due: float
    """When its container ends."""
    code: int | None
    taken: float
    """When the machine is taken away."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a night came to."""

    trouble: Trouble
    run: dict[str, Any]
    before: str
    """The champion before it."""
    champion: str
    serves: dict[str, int]
    """Percent of the traffic by version."""
    machines: list[dict[str, Any]]
    """As the ledger has those of the run."""
    unseen: float
    """Seconds for which nobody worked on the run."""
    taken: int
    """How often another process went on with it."""
    words: dict[str, int]
    """Exit code by number of the try, of those whose host said one."""
    limit: float
    """Seconds of machine that it may use."""
    others: list[dict[str, Any]]
    """Other records of that night: starts that were skipped."""


class Week:
    """
    The shop, and the nights that it has seen.

    Args:
        store: Where the declarations stand. It is used up.
    """

    def __init__(self, store: Store) -> None:
        self.cloud = Cloud(store, Clock(manual=True, start=BEGAN))
        self.events: list[Event] = []
        self.trouble = Trouble()
        self.nights: list[Row] = []
        self.kills: list[Kill] = []
        self._actors: dict[Actor, Caller] = {}
        self._runs: Actor | None = None
        self._hosts: dict[str, Host] = {}
        self._words: dict[str, int] = {}
        self._champion = ""
        self._dead = 0.0
        """Since when nobody works on the open run; 0 where somebody does."""
        self._unseen = 0.0
        self._taken = 0
        self._changed: set[str] = set()
        """Services in which something changed since the last look."""
        self.cloud.store.saw = self._saw
        self.plan = self._plan()
        registers = self.plan.registers
        assert registers is not None
        self.registers, (self.place,) = registers, registers.rollouts

    def _saw(self, service: str, name: str, body: dict[str, Any] | None) -> None:
        self._changed.add(service)
        self.cloud.machines.saw(service, name, body)

    def _plan(self) -> JobPlan:
        job = self.cloud.store.get(RUN, f"{AT}/jobs/{STACK}-job-train-recommender")
        assert job is not None
        env = job["template"]["template"]["containers"][0]["env"]
        return JobPlan.model_validate_json(next(one["value"] for one in env if one["name"] == VARIABLE))

    @contextmanager
    def alive(self) -> Iterator[Week]:
        """Processes that run here reach this cloud, and no other; all of them end with it."""
        no_signals = SimpleNamespace(SIGTERM=signal.SIGTERM, signal=lambda number, handler: None)  # a thread has none
        with patch.multiple(main, _reach=lambda plan: (self._caller.google(), self), say=self._heard, signal=no_signals):
            try:
                yield self
            finally:
                for actor in self._actors:
                    actor.drop()
                self.cloud.store.close()

    @property
    def _caller(self) -> Caller:
        assert self._runs is not None
        return self._actors[self._runs]

    # The clock

    def now(self) -> float:
        return self.cloud.clock.now()

    def wait(self, seconds: float) -> None:
        """Of the process that has its turn."""
        assert self._runs is not None
        self._runs.wait(self.now() + max(0.0, seconds))

    def pass_until(self, moment: float, at: Mapping[float, Callable[[], None]]) -> None:
        """All that happens until then; and what is to be done at some moments."""
        todo = sorted(at.items())
        while True:
            self._begin_attempts()
            first = min(self._actors, key=lambda one: one.wakes, default=None)
            dues = [moment, *(one for one, _ in todo), *(first.wakes for _ in [1] if first)]
            dues += [one for host in self._hosts.values() for one in (host.due, host.taken)]
            self._to(min(dues))
            while todo and todo[0][0] <= self.now():
                todo.pop(0)[1]()
            if first and first.wakes <= self.now():
                self._turn(first)
            elif self.now() >= moment and RUN not in self._changed:
                return

    def _to(self, moment: float) -> None:
        """Moves the clock there, or to what the cloud does by itself before."""
        timer = self.cloud.store.timer(moment)
        self.cloud.clock.advance((timer["at"] if timer else moment) - self.now())
        self.cloud.catch_up()
        self._live()
        self.look()

    def _turn(self, actor: Actor) -> None:
        self._runs = actor
        try:
            actor.step()
        finally:
            self._runs = None
            if actor.ended:
                del self._actors[actor]

    # Cloud Run

    def _pending(self) -> list[dict[str, Any]]:
        return [one for one in executions.waiting(self.cloud) if one["state"] == "pending"]

    def _begin_attempts(self) -> None:
        if RUN not in self._changed:
            return
        self._changed.discard(RUN)
        for said in self._pending():
            self._moved(said, "running")
            caller = Caller(self)
            self._actors[Actor(functools.partial(self._attempt, said, caller), self.now())] = caller

    def _moved(self, said: dict[str, Any], state: str, **more: Any) -> None:
        with self.cloud.store.transaction():
            executions.moved(self.cloud, {**{key: said[key] for key in ("name", "task", "attempt")}, "state": state, **more})

    def _attempt(self, said: dict[str, Any], caller: Caller) -> None:
        """One attempt of an execution, as the process that is attached to a sandbox has it run."""
        assert said["command"] == ["python", "-m", "infra.operate.jobs"]
        name = said["name"].rpartition("/")[2]
        kill = None
        try:
            code = main.main(said["args"], said["env"])
        except KilledError:
            code, kill = 137, self.kills.pop(0)
            self.events.append(Event("killed", self.now(), f"{name} at call {caller.sent}"))
        journal = self.read(f"{self.plan.state}/job.json")
        if journal.get("phase") != "ended" and journal.get("lease", {}).get("owner") == name:
            self._dead = self.now()
        if kill is None or kill.again:
            self._moved(said, "failed" if code else "succeeded", exit_code=code)
        else:
            self.ask("POST", f"{RUN}/v2/{said['name']}:cancel", {})

    def _heard(self, event: Event) -> None:
        self.events.append(event)
        if " goes on where " in event.text:
            assert self._dead, event
            self._unseen += self.now() - self._dead
            self._dead = 0.0
            self._taken += 1

    # The wire

    def handle(self, request: httpx.Request) -> httpx.Response:
        return answered(self.cloud, request)

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> dict[str, Any]:
        """Of the rest of the world, which asks again until it is answered."""
        for _ in range(60):
            try:
                answer = self.handle(httpx.Request(method, f"{BASE}/{path}", json=body, params=query))
            except httpx.ReadError:
                continue
            if answer.is_success:
                return dict(answer.json()) if answer.content else {}
            if answer.status_code == 404:
                return {}
        raise AssertionError(answer.text)

    def read(self, address: str) -> dict[str, Any]:
        """An object; nothing where there is none."""
        bucket, _, name = address.removeprefix("gs://").partition("/")
        return self.ask("GET", f"{STORAGE}/storage/v1/b/{bucket}/o/{quote(name, safe='')}", alt="media")

    def write(self, address: str, body: Any) -> None:
        bucket, _, name = address.removeprefix("gs://").partition("/")
        self.ask("POST", f"{STORAGE}/upload/storage/v1/b/{bucket}/o", body, uploadType="media", name=name)

    # Machines and their hosts

    def _live(self) -> None:
        """Machines that have come get a host; those whose time has come say how they ended, or are taken away."""
        for name, body in self.cloud.store.of_kind(COMPUTE, "instances"):
            entry = self.cloud.store.get(KEPT, f"{COMPUTE}/{name}")
            if body["status"] == "RUNNING" and entry and key_of(entry) not in self._hosts:
                self._hosts[key_of(entry)] = self._host(entry, body, len(self._hosts))
        for host in self._hosts.values():
            if host.taken <= self.now():
                host.taken = math.inf
                if self._entry(host.key)["ended"] is None:
                    self.cloud.faults.add(Fault(do="preempt", times=1))
                    self.cloud.catch_up()
            if host.due <= self.now():
                due, host.due = host.due, math.inf
                ended = self._entry(host.key)["ended"]
                if host.code is not None and (ended is None or ended >= due):
                    self._say(host, host.code)

    def _host(self, entry: dict[str, Any], body: dict[str, Any], number: int) -> Host:
        night, began = self.trouble, entry["began"]
        code = night.exits[min(number, len(night.exits) - 1)]
        taken = night.preempts[number] if number < len(night.preempts) else math.inf
        items = {item["key"]: item["value"] for item in body["metadata"]["items"]}
        assert {"startup-script", "accelform-container", "accelform-run"} <= items.keys()
        is_spot = entry["provisioning"] == "spot"
        return Host(key_of(entry), items, began + night.work_minutes * 60, code, began + taken * 60 if is_spot else math.inf)

    def _entry(self, key: str) -> dict[str, Any]:
        return next(one for _, one in self.cloud.store.items(KEPT, KEPT) if key_of(one) == key)

    def _say(self, host: Host, code: int) -> None:
        """What a program leaves, and what the start script says of it."""
        told = json.loads(host.items["accelform-run"])
        output = told["env"]["WL_OUTPUT"]
        if code == 0 and self.trouble.recall is not None:
            self.write(f"{output}/model/weights", {"of": told["env"]["WL_RUN_ID"]})
            self.write(f"{output}/report.json", {"metrics": {"recall_at_50": self.trouble.recall}})
        self.write(f"{told['state']}/host-0.json", {"host": 0, "exit_code": code})
        self._words[told["env"]["WL_ATTEMPT"]] = code

    # Nights

    def night(self, trouble: Trouble) -> Row:
        """From one hour before the start until the next day's."""
        before, began, known = self.champion, self.now(), set(self.runs())
        self.trouble, self.kills = trouble, list(trouble.kills)
        self._hosts, self._words, self._unseen, self._taken = {}, {}, 0.0, 0
        version = (self.cloud.store.get(VERTEX, self.registers.model) or {"next": 1})["next"]
        models = {"default": GOOD, str(version): trouble.load}
        self.cloud.loads.declare({"endpoint": self.place.endpoint, "requests_per_second": 5.0, "models": models})
        for fault in trouble.faults:
            self.cloud.faults.add(fault)
        self.pass_until(began + MORNING, {began + HOUR + trouble.faults_minutes * 60: self.cloud.faults.clear})
        if not self._actors and self.read(f"{self.plan.state}/job.json")["phase"] == "ended":
            self.ask("POST", f"{SWEEP}:pause", {})
        self.pass_until(began + DAY, {})
        self.ask("POST", f"{SWEEP}:resume", {})
        self.kills = []
        assert not self._actors, "a process works on, a day later"
        new = [self.read(f"{self.plan.state}/runs/{run}.json") for run in self.runs() if run not in known]
        (run,) = (one for one in new if one["result"] != "skipped")
        mine = [one for one in self.cloud.machines.shown() if one["labels"].get("accelform-run") == run["run"].lower()]
        others = [one for one in new if one is not run]
        limit = self.plan.max_run_minutes * 60.0
        row = Row(trouble, run, before, self.champion, self.serves, mine, self._unseen, self._taken, dict(self._words), limit, others)
        self.nights.append(row)
        return self.nights[-1]

    def runs(self) -> list[str]:
        bucket, _, folder = self.plan.state.removeprefix("gs://").partition("/")
        found = self.cloud.store.items(STORAGE, f"b/{bucket}/o")
        names = {unquote(name.partition("/o/")[2]).partition("#")[0] for name, _ in found}
        ours = (name.removeprefix(f"{folder}/runs/") for name in names if name.startswith(f"{folder}/runs/"))
        return sorted(name.removesuffix(".json") for name in ours if "/" not in name)

    @property
    def versions(self) -> dict[str, dict[str, Any]]:
        return {one["versionId"]: one for _, one in self.cloud.store.items(VERTEX, f"{self.registers.model}/versions")}

    @property
    def champion(self) -> str:
        alias = self.registers.accepted_alias
        return next((id for id, one in self.versions.items() if alias in one.get("versionAliases", [])), "")

    @property
    def serves(self) -> dict[str, int]:
        body = self.cloud.store.get(VERTEX, self.place.endpoint) or {}
        versions = {one["id"]: one["modelVersionId"] for one in body.get("deployedModels", [])}
        return {versions[id]: share for id, share in sorted(body.get("trafficSplit", {}).items())}

    @property
    def held(self) -> list[Any]:
        return list(self.read(self.plan.holds).get("holds", []))

    # What is always so

    def look(self) -> None:
        """After every call, and whenever the clock was moved."""
        changed, self._changed = self._changed, self._changed & {RUN}
        if COMPUTE in changed:
            stand = [name for name, _ in self.cloud.store.of_kind(COMPUTE, "instances")]
            assert len(stand) <= 1, stand
        if VERTEX not in changed:
            return
        has = self.champion
        if has != self._champion:
            assert self.versions[has]["labels"]["accelform-verdict"] == "accepted", (has, self._champion)
            self._champion = has
        shares = sum(self.serves.values())
        assert shares == 100 or (shares == 0 and not has), self.serves


class Caller:
    """How one process reaches the cloud: its calls are counted, and one may be its last."""

    def __init__(self, week: Week) -> None:
        self._week = week
        self.sent = 0

    def google(self) -> Google:
        def pause(seconds: float) -> bool:
            if seconds:
                self._week.wait(POLLS * seconds)
            return False

        http = httpx.Client(transport=httpx.MockTransport(self))
        return Google(Settings(BASE), pause, self._week.now, http, self._week.now)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        kill = next((one for one in self._week.kills[:1] if one.call <= self.sent), None)
        if kill and not kill.after:
            raise KilledError
        try:
            return self._week.handle(request)
        finally:
            self._week.look()
            if kill:
                raise KilledError


def stands() -> Store:
    """The program's declarations, made."""
    cloud = Cloud(clock=Clock(start=BEGAN - 40 * 60, real=lambda: 0.0))
    cloud.projects.make(PROJECT)

    def send(request: httpx.Request) -> httpx.Response:
        host, _, rest = request.url.raw_path.decode().partition("?")[0].lstrip("/").partition("/")
        answer = cloud.handle(Request(request.method, host, f"/{rest}", dict(request.url.params), request.content))
        return httpx.Response(answer.status, json=answer.body)

    with TemporaryDirectory() as folder:
        path = Path(folder) / f"Pulumi.{STACK}.yaml"
        with path.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump({"config": CONFIG}, file)
        declared.make(StackSpec.load(path), STACK, send)
    return cloud.store


def copy(store: Store) -> Store:
    """Another one, in which the same stands."""
    found = Store()
    store._db.backup(found._db)
    return found


def settled(week: Week, row: Row) -> None:
    """What must be so in the morning, whatever the night was like."""
    run, tries = row.run, [Try.read(one) for one in row.run["tries"]]
    journal = week.read(f"{week.plan.state}/job.json")
    assert (journal["phase"], journal["id"], journal["result"]) == ("ended", run["run"], run["result"])
    for kind in ("instances", "disks"):
        assert not week.cloud.store.of_kind(COMPUTE, kind)
    assert week.held == []
    assert all(one["result"] == "skipped" and not one["tries"] for one in row.others)
    every = week.cloud.machines.shown()
    assert all(one["ended"] and one["ended"] <= later["began"] for one, later in itertools.pairwise([*every, {"began": "9"}])), every

    assert row.serves == ({row.champion: 100} if row.champion else {})
    promoted = run["outcome"] == "promoted"
    assert row.champion == (run["model_version"] if promoted else row.before)
    assert run["outcome"] in ("", "promoted", "refused", "returned", "failed"), run["why"]
    mine = [one for one in week.versions.values() if one["labels"]["accelform-run"] == run["run"].lower()]
    assert [one["versionId"] for one in mine] == ([run["model_version"]] if run["model_version"] else [])
    if run["gate"]:
        assert mine[0]["labels"]["accelform-verdict"] == ("accepted" if run["gate"]["accepted"] else "refused")
        assert run["gate"]["accepted"] == (run["outcome"] in ("promoted", "returned"))

    _truly(row, run, tries)
    _costs(row, run, tries)


def _truly(row: Row, run: dict[str, Any], tries: list[Try]) -> None:
    """The record tells of what the hosts said and of the machines that there were."""
    last = {one.number: row.words.get(str(one.number)) for one in tries}
    for one in tries:
        assert one.ended
        if one.result in ("succeeded", "failed") and "host 0" in one.reason:
            assert f"host 0 ended with {last[one.number]};" in f"{one.reason};"
        if one.result == "restarted":
            assert last[one.number] == 143 or "taken away" in one.reason, (one, last)
        came = any(machine["labels"]["accelform-try"] == str(one.number) for machine in row.machines)
        assert came == bool(one.began) or row.unseen, one
    assert run["restarts"] == sum(one.result == "restarted" for one in tries)
    if run["result"] == "succeeded":
        assert last[tries[-1].number] == 0
        assert (run["outcome"] == "failed") is False
    if run["result"] == "no capacity":
        assert not tries[-1].began or "taken away" in tries[-1].reason
    assert run["ended"]
    assert run["result"] in RESULTS


def _costs(row: Row, run: dict[str, Any], tries: list[Try]) -> None:
    """
    What the run says of its cost is what the ledger says, and at most what it takes to see a machine come and go more. What came or went
    while nobody worked on the run is known to within those seconds; and who went on with a run whose machine was coming does not know how
    long it was: it counts from when it was asked for.
    """
    billed = sum((Decimal(one["usd"]) for one in row.machines), Decimal(0))
    rates = [Decimal(one["usd_hour"]) for one in row.machines] or [Decimal(0)]
    unknown = unseen = max(rates) * Decimal(row.unseen) / 3600
    seen = sum(rates, Decimal(0)) * SEEN_SECONDS / 3600
    asked = {str(one.number): _moment(one.asked) for one in tries}
    coming = sum(_moment(one["began"]) - asked[one["labels"]["accelform-try"]] for one in row.machines) if row.taken else 0.0
    unseen += max(rates) * Decimal(coming) / 3600
    cents = Decimal("0.0001") * (len(tries) + 1)
    assert billed - unknown - cents <= Decimal(run["usd"]) <= billed + unseen + seen + cents, (billed, run["usd"], unseen, seen)
    assert Decimal(run["usd"]) == sum(Decimal(one.usd) for one in tries)
    spent = sum(_moment(one["ended"]) - _moment(one["began"]) for one in row.machines)
    assert spent <= row.limit + row.unseen + SEEN_SECONDS, (spent, row.unseen)


def _moment(text: str) -> float:
    return dt.datetime.fromisoformat(text).timestamp()
