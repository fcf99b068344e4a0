"""
What becomes of what a run trained: a version in the registry, a verdict, and for an accepted one the traffic.

    (nothing yet) -> registering -> judging -> telling -> rolling (each endpoint) -> promoting -> pruning -> ended

- The machine is gone by then. The runner keeps what `advance` answers before it asks again, so each phase is written before it is done;
  each can be done twice, and is done once.
- What serves changes in `rolling` alone, by a guarded rollout, or by the first deploy where nothing serves yet; the alias moves last.
- A version keeps its metrics in its description: the next night compares with them. Source: `Model.versionDescription` in the discovery
  document aiplatform v1, revision 20261106. Not as a ModelEvaluation: Google holds those against its own schemas, which know no metric
  of a recommender, and answers 400 to others (https://github.com/googleapis/python-aiplatform/issues/5570, read 2026-11). Not in
  `Model.metadata`, whose schema Google says for its own kinds of models.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from infra.accept_if import METRIC, Verdict, judge, parse
from infra.components.rollout import RolloutSpec
from infra.errors import SpecError
from infra.job_plan import JobPlan, RegisterPlan, RolloutPlan
from infra.labels import JOB_LABEL, RUN_LABEL, VERDICT_LABEL
from infra.operate import guards
from infra.operate.journal import Journal
from infra.operate.readings import Source
from infra.operate.rollout import FIELDS, WHO, Event, Outcome, Place, Plan, Rollout
from infra.operate.times import Time
from infra.provider import deployed_set
from infra.provider.calls import FIRST_BACKOFF_SECONDS, TRANSIENT, CancelledError, GoogleError, UnclearError, UnfinishedError
from infra.provider.deployed_model import DeployedModel
from infra.provider.google import NOT_THERE, Google
from infra.provider.holds import Holds, seconds
from infra.provider.registry import Registry, Version, aliases_of
from infra.provider.server import ProviderError
from infra.provider.serving import Look, Serving
from infra.schedule import Schedule
from workloads.contract import ARTEFACT, REPORT

METRICS = "metrics: "
"""What the line of a version's description begins with that has its metrics as JSON."""
REPORT_BYTES = 1_000_000
METRICS_MOST = 50
"""More are no report: they would not fit in a description, whose longest length no source says."""
TRIES = 4

Kept = dict[str, Any]


class HandOver:
    """
    The hand-over of one job's runs.

    Args:
        google: Google's APIs.
        plan: The job; it registers a model.
        time: Waits while a rollout holds. Its `wait` is where a runner keeps its lease: it is called at each wait for an operation too, as
            a deployment may take longer than a lease lasts.
        say: Is told what happens.
        source: Where readings of an endpoint come from. (default: Cloud Monitoring)
    """

    def __init__(
        self, google: Google, plan: JobPlan, time: Time, say: Callable[[Event], None], source: Callable[[str], Source] | None = None
    ) -> None:
        if plan.registers is None:
            raise ValueError(f"job {plan.job} registers nothing")
        self._google = google = google.waiting(self._is_anothers)
        self._job = plan
        self._plan: RegisterPlan = plan.registers
        self._time = time
        self._tell = say
        self._source = source
        _, project, _, location, _, id = self._plan.model.split("/")
        self._registry = Registry(google, project, location, id)

    def advance(self, run: str, kept: Mapping[str, Any]) -> Kept | None:
        """
        Does the next thing of a run that ended well.

        Args:
            run: Its id.
            kept: What the call before answered, as it was kept; nothing at first.

        Returns:
            What is to be kept before the next call; None where nothing is left to do. At the end it has `outcome` (`failed`: nothing was
            registered; `refused`; `accepted`: and not rolled out; `returned`: a guard of its rollout broke; `promoted`) and `why`.

        Raises:
            ProviderError: The cloud did not answer, or another run works on the rollout: the same call goes on later.
        """
        phases: dict[str, Callable[[str, Kept], Kept]] = {
            "": self._reading,
            "registering": self._registering,
            "judging": self._judging,
            "telling": self._telling,
            "rolling": self._rolling,
            "promoting": self._promoting,
            "pruning": self._pruning,
        }
        phase = str(kept.get("phase", ""))
        return None if phase == "ended" else phases[phase](run, dict(kept))

    def withdraw(self, run: str, kept: Mapping[str, Any]) -> str:
        """
        Returns what a run's open rollout has moved, since the run is to end.

        Returns:
            What was done, in words; empty where nothing was open.

        Raises:
            ProviderError: The cloud refused, or did not answer.
        """
        if kept.get("phase") != "rolling":
            return ""
        place = self._plan.rollouts[int(kept["rollout"])]
        journal = Journal(self._google, place.journal)
        if not journal.is_open or not self._is_ours(journal.data, str(kept["version"]), run):
            return ""
        outcome = self._rollout(place).back()
        return f"{place.name}: {outcome.phase}: {outcome.why}"

    # Phases

    def _reading(self, run: str, kept: Kept) -> Kept:
        try:
            metrics = self._metrics(f"{self._job.output}/{run}/{REPORT}")
        except ReportError as error:
            return self._ended(kept, "failed", str(error))
        return self._to(kept, "registering", f"run {run} ended well: its model is registered", metrics=metrics)

    def _registering(self, run: str, kept: Kept) -> Kept:
        try:
            version = self._registered(run, kept["metrics"])
        except (UnfinishedError, CancelledError, UnclearError):
            raise
        except ProviderError as error:
            if isinstance(error, GoogleError) and error.code in TRANSIENT:
                raise
            return self._ended(kept, "failed", f"could not be registered: {error}")
        id = str(version["versionId"])
        return self._to(kept, "judging", f"registered as version {id} of {self._registry.model_id}", version=id)

    def _judging(self, run: str, kept: Kept) -> Kept:
        versions = self._registry.versions()
        champion = aliases_of(versions).get(self._plan.accepted_alias, "")
        has = next((metrics_of(one) for one in versions if one["versionId"] == champion), None)
        if not self._plan.accept_if:
            verdict = Verdict(True, "no condition is set")
        else:
            verdict = judge(parse(self._plan.accept_if), _numbers(kept["metrics"]), has)
        word = "accepted" if verdict.accepted else "refused"
        than = f"{self._plan.accepted_alias} is version {champion}" if champion else f"there is no {self._plan.accepted_alias} yet"
        text = f"version {kept['version']} is {word}: {verdict.reason}; {than}"
        return self._to(kept, "telling", text, accepted=verdict.accepted, reason=verdict.reason, champion=champion)

    def _telling(self, run: str, kept: Kept) -> Kept:
        word = "accepted" if kept["accepted"] else "refused"
        description = self._described(run, f"{word}: {kept['reason']}", kept["metrics"])
        if not self._told(kept["version"], word, description):
            return self._ended(kept, "failed", f"version {kept['version']} is gone: somebody deleted it")
        if not kept["accepted"]:
            return self._ended(kept, "refused", kept["reason"])
        return self._rolled(kept, -1)

    def _rolling(self, run: str, kept: Kept) -> Kept:
        number = int(kept["rollout"])
        place = self._plan.rollouts[number]
        try:
            outcome = self._brought(place, kept["version"], run, float(kept.get("begins", 0.0)))
        except EarlyError as early:
            return self._waited(kept, place.name, early.until)
        except NotBroughtError as error:
            return self._ended(kept, "accepted", f"accepted, not rolled out: {place.name}: {error}")
        if outcome is None or outcome.phase == "done":
            return self._rolled(kept, number)
        said = {"returned": "returned", "stopped": "accepted"}[outcome.phase]
        return self._ended(kept, said, f"{place.name}: {outcome.phase}: {outcome.why}")

    def _waited(self, kept: Kept, name: str, until: float) -> Kept:
        """The moment is kept before it is waited for: who goes on later waits for the same one."""
        if kept.get("begins") != until:
            zone = ZoneInfo(self._plan.timezone)
            said = f"{dt.datetime.fromtimestamp(until, zone):%Y-%m-%d %H:%M} {zone.key}"
            return self._to(kept, "rolling", f"version {kept['version']} waits until {said}: a rollout on {name} begins then", begins=until)
        if (left := until - self._time.now()) > 0:
            self._time.wait(left)
        return kept

    def _promoting(self, run: str, kept: Kept) -> Kept:
        alias, version = self._plan.accepted_alias, kept["version"]
        has = aliases_of(self._registry.versions())
        now = has.get(alias, "")
        if now not in (kept["champion"], version):
            return self._ended(kept, "accepted", f"accepted, not promoted: {alias} is version {now} now, which somebody else chose")
        if now != version:
            self._registry.merge(version, [alias])
        return self._ended(kept, "promoted", f"version {version} is {alias}: {kept['reason']}")

    def _pruning(self, run: str, kept: Kept) -> Kept:
        """Old versions that nobody uses go: each night makes another."""
        keep = self._plan.keep_versions
        old = self._registry.versions()[:-keep] if keep else []
        for one in old:
            if one["versionId"] != kept.get("version") and not one.get("versionAliases") and not one.get("deployedModels"):
                try:
                    self._registry.delete_version(one["versionId"])
                except ProviderError as error:  # it stays until the next night
                    self._say("pruning", f"version {one['versionId']} is not deleted: {error}")
        return {**kept, "phase": "ended"}

    # What these share

    def _metrics(self, address: str) -> Kept:
        """
        Metrics by name, as they are kept: what is no finite number as text. One that is null could not be measured, and is left out.

        Raises:
            ReportError: There is no report, it is none, or it is too long to be one.
        """
        parts = urlsplit(address)
        bucket, name = parts.netloc, parts.path.lstrip("/")
        try:
            size = int(self._google.call("storage.v1", "objects.get", bucket=bucket, object=name, fields="size")["size"])
            if size > REPORT_BYTES:  # read, it would end the runner, and each one after it: memory is small there
                raise ReportError(f"{address}: has {size} bytes, and is no report\n  allowed: {REPORT_BYTES} bytes")
            content = self._google.content("storage.v1", "objects.get_media", bucket=bucket, object=name)
        except GoogleError as error:
            if error.code != NOT_THERE:
                raise
            raise ReportError(f"{address}: there is no report: a program leaves one when it ends well") from None
        try:
            said = json.loads(content)["metrics"]
            metrics = {name: value for name, value in said.items() if value is not None}
            wrong = [name for name, value in metrics.items() if not METRIC.fullmatch(name) or not _is_number(value)]
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
            raise ReportError(f'{address}: is no report\n  allowed: {{"metrics": {{"recall_at_20": 0.21}}}}') from None
        if wrong or len(metrics) > METRICS_MOST:
            what = f"no number, or no name of a metric: {', '.join(map(repr, sorted(wrong)))}" if wrong else f"{len(metrics)} metrics"
            raise ReportError(f"{address}: {what}\n  allowed: at most {METRICS_MOST} numbers by name")
        return {name: value if isinstance(value, int) or math.isfinite(value) else str(value) for name, value in metrics.items()}

    def _registered(self, run: str, metrics: Mapping[str, Any]) -> Version:
        """The run's version: found, or uploaded. Whether an upload began is looked up before it is begun again."""
        registry = self._registry
        last: ProviderError = UnclearError(f"{registry.name}: no upload was begun")
        for attempt in range(TRIES):
            if attempt:
                self._google.wait(FIRST_BACKOFF_SECONDS * 2**attempt)
            found = self._of_run(run)
            if found is None and registry.await_uploads():
                if registry.uploads():
                    raise UnfinishedError(f"{registry.name}: an upload has not ended yet")
                found = self._of_run(run)
            if found is not None:
                return found
            registry.pending = False
            try:
                id = registry.upload(self._body(run, metrics))
                return registry.version(id)
            except UnclearError as error:
                last = error
            except GoogleError as error:
                if error.code != 409:  # somebody uploads the first version of this model right now
                    raise
                last = error
        raise last

    def _of_run(self, run: str) -> Version | None:
        every = self._registry.versions()
        label = run.lower()
        mine = (one for one in every if one.get("labels", {}).get(RUN_LABEL) == label and one["labels"].get(JOB_LABEL) == self._job.job)
        return next(mine, None)

    def _body(self, run: str, metrics: Mapping[str, Any]) -> Version:
        plan = self._plan
        return {
            "displayName": plan.display_name,
            **({"description": plan.description} if plan.description else {}),
            "labels": {**plan.labels, JOB_LABEL: self._job.job, RUN_LABEL: run.lower()},
            "versionAliases": [plan.alias],
            "versionDescription": self._described(run, "not judged yet", metrics),
            "artifactUri": f"{self._job.output}/{run}/{ARTEFACT}",
            "containerSpec": plan.container,
        }

    def _described(self, run: str, verdict: str, metrics: Mapping[str, Any]) -> str:
        return f"run {run} of job {self._job.job}\n{verdict}\n{METRICS}{json.dumps(metrics, sort_keys=True)}"

    def _told(self, id: str, word: str, description: str) -> bool:
        """Writes the verdict to the version; whether there is one."""
        for attempt in range(TRIES):
            version = next((one for one in self._registry.versions() if one["versionId"] == id), None)
            if version is None:
                return False
            labels = version.get("labels", {}) | {VERDICT_LABEL: word}
            if labels == version.get("labels") and version.get("versionDescription") == description:
                return True
            try:
                self._registry.patch(version, {"labels": labels, "versionDescription": description})
                return True
            except GoogleError as error:
                if error.code not in (409, 412) or attempt == TRIES - 1:
                    raise
        raise AssertionError("the last try returns or raises")

    def _rolled(self, kept: Kept, done: int) -> Kept:
        """The next endpoint, or the end."""
        number = done + 1
        if number < len(self._plan.rollouts):
            name = self._plan.rollouts[number].name
            return self._to(kept, "rolling", f"version {kept['version']} goes to endpoint {name}", rollout=number)
        return self._to(kept, "promoting", f"{self._plan.accepted_alias} goes to version {kept['version']}")

    def _is_ours(self, journal: Mapping[str, Any], version: str, run: str) -> bool:
        """Whether a rollout's journal tells of this run's version."""
        ours = journal.get("to", {}).get("version") == version and journal.get("model") == self._plan.model
        # A model that was deleted counts its versions from 1 again: another one of that number may have been here.
        return ours and float(journal["began"]) >= seconds(run)

    def _brought(self, plan: RolloutPlan, version: str, run: str, begins: float) -> Outcome | None:
        """
        Brings a version to an endpoint; None where no rollout had to.

        Args:
            begins: When a rollout may begin, once that is known; else 0.

        Raises:
            EarlyError: It is not the time of day yet.
            NotBroughtError: It cannot be now; what serves is as it was.
        """
        journal = Journal(self._google, plan.journal).data
        ours = self._is_ours(journal, version, run)
        if journal and Journal(self._google, plan.journal).is_open:
            if not ours:
                raise NotBroughtError(f"a rollout of version {journal['to']['version']} is unfinished there ({journal['phase']})")
            return self._rollout(plan).resume()
        if ours:
            return Outcome(str(journal["phase"]), str(journal.get("why", "")))
        self._check_holds(plan)
        serving = Serving(self._google, plan.endpoint)
        look = self._look(serving, plan)
        ids = deployed_set.named(look, plan.deployed_name)
        live = look.deployed[ids[0]] if ids else {}
        if not look.deployed or (not look.split and live.get("modelVersionId") == version):
            self._first(serving, plan, version)
            return None
        if not ids or plan.rollout is None or (live["modelVersionId"] == version and look.split.get(ids[0]) == 100):
            return None  # the alias says it to the next update
        until = begins or self._begins(plan)
        if self._time.now() < until:
            raise EarlyError(until)
        try:
            return self._rollout(plan).start(_plan(plan, version))
        except SpecError as error:
            raise NotBroughtError("; ".join(problem.message for problem in error.problems)) from None

    def _begins(self, plan: RolloutPlan) -> float:
        """When the rollout of now may begin, in seconds since 1970."""
        now = self._time.now()
        if not (begin := (plan.rollout or {}).get("begin")):
            return now
        hour, minute = begin.split(":")
        return Schedule(f"{int(minute)} {int(hour)} * * *", self._plan.timezone).next(now - 1)

    def _check_holds(self, plan: RolloutPlan) -> None:
        """
        Raises:
            NotBroughtError: Another controller decides there for now.
        """
        for hold in Holds(self._google, self._job.holds).on(plan.endpoint, self._time.now()):
            if hold.who != WHO and set(hold.fields) & set(FIELDS):
                raise NotBroughtError(hold.line())

    def _look(self, serving: Serving, plan: RolloutPlan) -> Look:
        try:
            serving.settle()
            return serving.look()
        except GoogleError as error:
            if error.code != NOT_THERE:
                raise
            raise NotBroughtError(f"there is no endpoint {plan.endpoint}") from None

    def _first(self, serving: Serving, plan: RolloutPlan, version: str) -> None:
        """
        Deploys the first version of all, as a program would: the next update finds it by its id.

        Raises:
            NotBroughtError: It failed, and is gone again.
        """
        settings = {key: value for key, value in plan.deployed.items() if key not in ("model", "traffic")}
        new = DeployedModel(plan.deployed_name, plan.endpoint, self._plan.model, version, settings)
        self._say("deploy", f"nothing serves on {plan.name} yet: version {version} is deployed there")
        try:
            serving.deploy(new)
            serving.split({new.id: 100})
        except (UnfinishedError, CancelledError, UnclearError):
            raise
        except ProviderError as error:
            if isinstance(error, GoogleError) and error.code in TRANSIENT:
                raise
            serving.undeploy(new.id)
            raise NotBroughtError(f"version {version} could not be deployed: {error}") from None

    def _rollout(self, plan: RolloutPlan) -> Rollout:
        place = Place(plan.name, plan.endpoint, self._job.holds, plan.journal)
        source = self._source(plan.endpoint) if self._source else None
        return Rollout(self._google, place, self._time, self._tell, source)

    def _is_anothers(self) -> bool:
        """
        Keeps the lease; whether it is lost. Not raised: who waits for an operation would take it for the operation's own failure, and
        undo what another runner works on.
        """
        try:
            self._time.wait(0)
        except ProviderError as error:
            self._say("trouble", f"no lease: {error}")
            return True
        return False

    def _to(self, kept: Kept, phase: str, text: str, **more: Any) -> Kept:
        self._say(phase, text, **more)
        return {**kept, **more, "phase": phase}

    def _ended(self, kept: Kept, outcome: str, why: str) -> Kept:
        self._say("ended", f"{outcome}: {why}", outcome=outcome, why=why)
        return {**kept, "outcome": outcome, "why": why, "phase": "pruning"}

    def _say(self, kind: str, text: str, **data: Any) -> None:
        self._tell(Event(kind, self._time.now(), text, data))


class ReportError(Exception):
    """A run's report is missing, or is none."""


class EarlyError(Exception):
    """
    It is not the time of day yet at which a rollout begins.

    Args:
        until: When it is, in seconds since 1970.
    """

    def __init__(self, until: float) -> None:
        self.until = until
        super().__init__(until)


class NotBroughtError(Exception):
    """An accepted version cannot be brought to an endpoint now."""


def metrics_of(version: Version) -> dict[str, float]:
    """Metrics that a version's description has; none where no job registered it, or somebody wrote it anew."""
    for line in str(version.get("versionDescription", "")).splitlines():
        if line.startswith(METRICS):
            try:
                return _numbers(json.loads(line.removeprefix(METRICS)))
            except (ValueError, RecursionError, AttributeError):
                return {}
    return {}


def _numbers(kept: Mapping[str, Any]) -> dict[str, float]:
    """Metrics as they are judged: `nan` and `inf` are kept as text."""
    return {name: float(value) if isinstance(value, str) else value for name, value in kept.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plan(plan: RolloutPlan, version: str) -> Plan:
    spec = RolloutSpec.model_validate(plan.rollout)
    texts = guards.texts(spec.guards.limits() | {"requests": spec.guards.requests})
    return Plan(
        version, tuple(spec.traffic_percent), spec.hold_minutes * 60.0, guards.parse(texts), spec.keep_warm_minutes * 60.0, plan.alias
    )
