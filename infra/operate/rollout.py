"""
A guarded rollout: a new version beside the one that serves, traffic by steps, each held and read; the first guard that breaks returns all.

    begun -> moving -> holding -> (next step: moving ...) -> promoting -> warm -> done
      `---------`---------`----------------------------------------`---> returning -> returned

- The journal has the phase before anything of it is done, and each thing done twice is done once: whoever finds it open goes on from there.
- The last good split is the one before the rollout: a step of a version that has just failed is not good any more.
- What somebody else changes meanwhile counts: another split, a model that is gone, another champion. The rollout then stops, leaves
  everything as it is, lets go of its hold, and says so.
- The endpoint's traffic and model are held from before the first change until the stack file and the endpoint agree again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.errors import Problem, SpecError
from infra.operate import guards as guarding
from infra.operate import readings, versions
from infra.operate.guards import Breach, Guards
from infra.operate.hourly import usd_per_hour
from infra.operate.journal import Journal
from infra.operate.readings import Moment, Monitoring, Source
from infra.operate.times import Time
from infra.provider import deployed_set
from infra.provider.calls import TRANSIENT, CancelledError, GoogleError, UnclearError, UnfinishedError
from infra.provider.deployed_model import V1, DeployedModel, own_model, settings_of
from infra.provider.google import Google
from infra.provider.holds import Hold, Holds, moment
from infra.provider.server import ProviderError
from infra.provider.serving import Look, Serving

WHO = "rollout"
FIELDS = ("model", "traffic")
INTERVAL_SECONDS = 60.0
"""Between two readings: Vertex AI's metrics have a point a minute."""
WINDOW_SECONDS = 600.0
"""What went well for an hour does not hide the last minutes: they are judged by themselves too."""
MORE = 1.0
"""A step without traffic enough is held on for as long again, then it goes back."""
MARGIN_SECONDS = 1800.0
"""How long a hold outlives what is expected."""
DEPLOY_SECONDS = 3600.0


class ForeignError(Exception):
    """Somebody else changed what the rollout works on."""


@dataclass(frozen=True, slots=True)
class Place:
    """One endpoint of a stack, and where its holds and its journal are."""

    name: str
    """As the stack file calls it."""
    endpoint: str
    """Full name: `projects/P/locations/R/endpoints/E`."""
    holds: str
    journal: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is rolled out, and how."""

    to: str
    """Alias or version."""
    steps: tuple[int, ...]
    """Percent of the traffic, growing, up to 100."""
    hold_seconds: float
    guards: Guards
    keep_warm_seconds: float = 0.0
    alias: str = "champion"
    """The alias that names what serves."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for people and machines."""

    kind: str
    at: float
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended."""

    phase: str
    """done, returned or stopped."""
    why: str


class Rollout:
    """
    The rollouts of one endpoint.

    Args:
        google: Google's APIs.
        place: The endpoint.
        time: Waits between readings.
        say: Is told what happens.
        source: Where readings come from. (default: Cloud Monitoring)
    """

    def __init__(
        self,
        google: Google,
        place: Place,
        time: Time,
        say: Callable[[Event], None],
        source: Source | None = None,
    ) -> None:
        self._google = google
        self._place = place
        self._time = time
        self._tell = say
        self._source: Source = source or Monitoring(google, place.endpoint)
        self._serving = Serving(google, place.endpoint)
        self._holds = Holds(google, place.holds)
        self.journal = Journal(google, place.journal)

    def start(self, plan: Plan) -> Outcome:
        """
        Rolls a version out; goes on with it where an earlier run was cut off.

        Raises:
            SpecError: The endpoint is not in a state to begin from; nothing was done.
            ProviderError: The cloud refused, or did not answer: the next call goes on.
        """
        look = self._look()
        if self.journal.is_open:
            return self._again(look, plan)
        live = self._champion(look)
        model = self._model(live, look)
        version = self._serving.resolve(f"{model}@{plan.to}")
        if version == str(live["modelVersionId"]):
            raise self._refused(f"version {version} ({plan.to}) serves already", f"another version of {model.rpartition('/')[2]}")
        new = DeployedModel(str(live["displayName"]), self._place.endpoint, model, version, settings_of(live))
        if new.id == live["id"]:
            raise self._refused(f"versions {version} and {live['modelVersionId']} have the same id {new.id}, by chance", "another version")
        text = f"{model.rpartition('/')[2]}: version {live['modelVersionId']} -> {version} ({plan.to})"
        self._hold(DEPLOY_SECONDS, f"{text}, about to begin", {})
        self.journal.begin(
            {
                "phase": "begun",
                "began": self._time.now(),
                "endpoint": self._place.endpoint,
                "name": new.name,
                "model": model,
                "from": {"id": str(live["id"]), "version": str(live["modelVersionId"])},
                "to": {"id": new.id, "version": version},
                "settings": dict(new.settings),
                "alias": plan.alias,
                "alias_was": self._serving.meant(f"{model}@{plan.alias}"),
                "steps": list(plan.steps),
                "hold_seconds": plan.hold_seconds,
                "keep_warm_seconds": plan.keep_warm_seconds,
                "guards": plan.guards.texts(),
                "step": 0,
            }
        )
        shares = ", ".join(f"{share} %" for share in plan.steps)
        self._say("plan", f"{text}; {shares}, {plan.hold_seconds / 60:g} min each, while {' and '.join(plan.guards.texts())}")
        return self._run()

    def resume(self) -> Outcome:
        """
        Goes on with a rollout that was cut off.

        Raises:
            SpecError: There is none.
        """
        if not self.journal.is_open:
            raise self._refused("no rollout is unfinished here", f"the last one: {self.journal.phase or 'none'}")
        self._serving.settle()
        data = self.journal.data
        shares, held = ", ".join(f"{share} %" for share in data["steps"]), float(data["hold_seconds"]) / 60
        plan = f"{shares}, {held:g} min each, while {' and '.join(data['guards'])}"
        self._say("resume", f"goes on as it was begun: {plan}; now {self.journal.phase}, as {self.journal.address} says")
        return self._run()

    def back(self) -> Outcome:
        """
        All traffic to the version before, at once, and the alias with it: while that version is deployed.

        Raises:
            SpecError: There is nothing to return to.
        """
        if not self.journal.is_open:
            ended = {"done": "the last rollout is done, and the version before is undeployed", "": "there was no rollout here"}
            fix = "roll the version before out: accelform rollout ... --to VERSION"
            raise self._refused(ended.get(self.journal.phase, f"the last rollout has {self.journal.phase} already"), "", fix)
        self._to("returning", "return asked for", why="asked for")
        return self._run()

    # Phases

    def _run(self) -> Outcome:
        phases = {
            "begun": self._begun,
            "moving": self._moving,
            "holding": self._holding,
            "returning": self._returning,
            "promoting": self._promoting,
            "warm": self._warm,
        }
        try:
            while self.journal.is_open:
                phases[self.journal.phase]()
        except ForeignError as error:
            self.journal.look()  # it may be another run of the same rollout, whose hold this is
            self._holds.release(self._place.endpoint, WHO)
            self._to("stopped", f"stopped, and left as it is: {error}", why=str(error))
        return Outcome(self.journal.phase, str(self.journal.data.get("why", "")))

    def _begun(self) -> None:
        data = self.journal.data
        new = DeployedModel(data["name"], self._place.endpoint, data["model"], data["to"]["version"], data["settings"])
        self._hold(DEPLOY_SECONDS, self._about(), {})
        self._say("deploy", f"version {new.version} is deployed beside {data['from']['version']}, without traffic")
        try:
            self._serving.deploy(new)
        except (UnfinishedError, CancelledError, UnclearError):
            raise
        except ProviderError as error:
            if isinstance(error, GoogleError) and error.code in TRANSIENT:
                raise
            self._to("returning", f"version {new.version} could not be deployed: {error}", why=f"could not be deployed: {error}")
            return
        self._check(self._serving.look(), [self._shares(-1)])
        self._to("moving", f"version {new.version} is deployed as {new.id}", step=0)

    def _moving(self) -> None:
        step = int(self.journal.data["step"])
        self._hold(self._longest(), self._about(), {"traffic": self._shares(step)})
        self._split(self._shares(step), [self._shares(step - 1)])
        share = self._share(step)
        self._to("holding", f"{share} % of the traffic goes to version {self._version('to')}", since=self._time.now())

    def _holding(self) -> None:
        data = self.journal.data
        step, since, plan = int(data["step"]), float(data["since"]), guarding.parse(data["guards"])
        ends = since + float(data["hold_seconds"])
        limit = ends + MORE * float(data["hold_seconds"])
        told = False
        while True:
            now = self._time.now()
            self._check(self._serving.look(), [self._shares(step)])
            self.journal.look()
            moments = self._moments(since, now)
            reading = readings.total(moments, data["to"]["id"], since)
            text = guarding.shown(reading, [guard.metric for guard in plan.limits])
            self._say("reading", f"{self._share(step)} %: {text}", until=ends, requests=reading.requests, errors=reading.errors)
            if broken := self._breaches(plan, moments, since, now):
                said = "; ".join(breach.line() for breach in broken)
                self._to("returning", f"at {self._share(step)} %, {said}", why=said)
                return
            lacks = self._lacks(plan, moments, since, now)
            if now >= ends and not lacks:
                break
            if now >= limit:
                said = f"nothing is proven in {(now - since) / 60:g} min: {lacks}"
                self._to("returning", f"at {self._share(step)} %, {said}", why=said)
                return
            if now >= ends and not told:
                told = True
                self._say("unproven", f"{lacks}: held on until {moment(limit)} at most", until=limit)
                self._hold(limit - now, self._about(), {"traffic": self._shares(step)})
            self._time.wait(min(INTERVAL_SECONDS, (ends if now < ends else limit) - now))
        self._compared(moments, since, now)
        if step + 1 < len(data["steps"]):
            self._to("moving", f"{self._share(step)} % held: the guards hold", step=step + 1)
        else:
            self._to("promoting", f"{self._share(step)} % held: the guards hold")

    def _promoting(self) -> None:
        data = self.journal.data
        meant = self._serving.meant(f"{data['model']}@{data['alias']}")
        if meant not in (data["alias_was"], data["to"]["version"]):
            raise ForeignError(f"{data['alias']} is version {meant or 'none'} now, which somebody else chose")
        self.journal.look()
        self._alias("to")
        keep = float(data["keep_warm_seconds"])
        kept = f"; version {self._version('from')} stays deployed for {keep / 60:g} min" if keep else ""
        self._to("warm", f"{data['alias']} is version {self._version('to')}{kept}", until=self._time.now() + keep)

    def _warm(self) -> None:
        data = self.journal.data
        until = float(data["until"])
        if self._time.now() < until:
            self._hold(until - self._time.now(), self._about(), {"traffic": {data["to"]["id"]: 100}})
        while (now := self._time.now()) < until:
            self.journal.look()
            self._check(self._serving.look(), [{data["to"]["id"]: 100}], needs=("to",))
            self._say("waiting", f"version {self._version('from')} stays deployed until {moment(until)}", until=until)
            self._time.wait(min(INTERVAL_SECONDS, until - now))
        self._check(self._serving.look(), [{data["to"]["id"]: 100}], needs=("to",))
        self._serving.undeploy(data["from"]["id"])
        self._holds.release(self._place.endpoint, WHO)
        self._to("done", f"done: version {self._version('to')} serves alone, and the hold is ended")

    def _returning(self) -> None:
        data = self.journal.data
        steps = range(-1, len(data["steps"]))
        self._split(self._shares(-1), [self._shares(step) for step in steps], needs=("from",))
        self._say("return", f"all traffic goes to version {self._version('from')} again")
        self._serving.settle()  # the deploy of a run that was cut off may end yet, and would then stand there for nothing
        if (
            data["alias_was"] == data["from"]["version"]
            and self._serving.meant(f"{data['model']}@{data['alias']}") == data["to"]["version"]
        ):
            self._alias("from")
            self._say("alias", f"{data['alias']} is version {self._version('from')} again")
        self._serving.undeploy(data["to"]["id"])
        self._holds.release(self._place.endpoint, WHO)
        self._to("returned", f"returned to version {self._version('from')}: {data['why']}")

    # What these share

    def _look(self) -> Look:
        self._serving.settle()
        try:
            return self._serving.look(beta=True)  # flex start is told by v1beta1 only, and the new version is to have it too
        except GoogleError as error:
            if error.code == 404:
                raise self._refused("there is no such endpoint in the cloud yet", "", "accelform up, or pulumi up") from None
            raise

    def _again(self, look: Look, plan: Plan) -> Outcome:
        data = self.journal.data
        version = self._serving.resolve(f"{data['model']}@{plan.to}")
        if version != data["to"]["version"]:
            raise self._refused(
                f"a rollout of version {data['to']['version']} is unfinished ({self.journal.phase}), and {plan.to} is version {version}",
                "",
                "end it first: accelform rollout ... --resume, or accelform rollback",
            )
        return self.resume()

    def _champion(self, look: Look) -> Mapping[str, Any]:
        """What serves all of the traffic now."""
        if look.one_model:
            raise self._refused("is a private endpoint: it takes one model, and has no split", "an endpoint with a split")
        ours = deployed_set.ours(look)
        serves = [live for id, live in ours.items() if look.split.get(id) == 100]
        if not serves:
            said = ", ".join(f"{id}: {share} %" for id, share in sorted(look.split.items())) or "nothing is deployed"
            allowed = "one deployed model of this stack with all of the traffic"
            raise self._refused(f"the traffic is split already: {said}", allowed, "accelform up, which makes it so")
        return serves[0]

    def _model(self, live: Mapping[str, Any], look: Look) -> str:
        own = own_model(str(live["model"]), look.name)
        return own if own.startswith("projects/") else "/".join([*self._place.endpoint.split("/")[:2], own])

    def _alias(self, side: str) -> None:
        """Gives the alias to a version: one call takes it from the one that had it."""
        data = self.journal.data
        name, body = f"{data['model']}@{data[side]['version']}", {"versionAliases": [data["alias"]]}
        place = data["model"].split("/")[3]
        self._google.call(V1, "projects.locations.models.mergeVersionAliases", place=place, safe=True, name=name, body=body)

    def _share(self, step: int) -> int:
        return 0 if step < 0 else int(self.journal.data["steps"][step])

    def _shares(self, step: int) -> dict[str, int]:
        """The split at a step; at -1 the one before the first."""
        return split(self.journal.data["from"]["id"], self.journal.data["to"]["id"], self._share(step))

    def _version(self, side: str) -> str:
        return str(self.journal.data[side]["version"])

    def _about(self) -> str:
        data = self.journal.data
        return f"{data['model'].rpartition('/')[2]}: version {self._version('from')} -> {self._version('to')}, {self.journal.phase}"

    def _longest(self) -> float:
        return float(self.journal.data["hold_seconds"]) * (1 + MORE)

    def _hold(self, seconds: float, why: str, values: Mapping[str, Any]) -> None:
        now = self._time.now()
        self._holds.put(Hold(self._place.endpoint, FIELDS, WHO, why, now + seconds + MARGIN_SECONDS, values), now)

    def _split(self, goal: Mapping[str, int], allowed: Iterable[Mapping[str, int]], needs: tuple[str, ...] = ("from", "to")) -> None:
        def wanted(look: Look) -> Mapping[str, int]:
            self._check(look, [*allowed, goal], needs)
            return goal

        self._serving.split(wanted)

    def _check(self, look: Look, allowed: Iterable[Mapping[str, int]], needs: tuple[str, ...] = ("from", "to")) -> None:
        """
        Raises:
            ForeignError: The endpoint is not as this rollout left it.
        """
        gone = [self._version(side) for side in needs if self.journal.data[side]["id"] not in look.deployed]
        if gone:
            raise ForeignError(f"version {' and '.join(gone)} is not deployed any more")
        if dict(look.split) not in [dict(one) for one in allowed]:
            said = ", ".join(f"{id}: {share} %" for id, share in sorted(look.split.items())) or "empty"
            raise ForeignError(f"the split is {said}, which somebody else set")

    def _moments(self, since: float, now: float) -> list[Moment]:
        """What is known. A source that does not answer is one without traffic: nothing is proven by it."""
        try:
            return self._source.moments(since, now)
        except CancelledError:
            raise
        except ProviderError as error:
            self._say("unread", f"cannot be read: {error}")
            return []

    def _breaches(self, plan: Guards, moments: list[Moment], since: float, now: float) -> list[Breach]:
        """What does not hold of the whole step, or else of its last minutes, where they have traffic enough by themselves."""
        id = self.journal.data["to"]["id"]
        found = plan.breaches(readings.total(moments, id, since), f"in the {(now - since) / 60:.0f} min of this step")
        late = readings.total(moments, id, now - WINDOW_SECONDS)
        if not found and now - since > WINDOW_SECONDS and plan.proven(late):
            found = plan.breaches(late, f"in the last {WINDOW_SECONDS / 60:.0f} min")
        return found

    def _lacks(self, plan: Guards, moments: list[Moment], since: float, now: float) -> str:
        """What the step is not proven by yet; empty where it is. What fell silent was well once, and is not known to be so now."""
        id = self.journal.data["to"]["id"]
        if lacks := plan.lacks(readings.total(moments, id, since)):
            return lacks
        silent = now - since > WINDOW_SECONDS and not readings.total(moments, id, now - WINDOW_SECONDS).requests
        return f"no request in the last {WINDOW_SECONDS / 60:.0f} min" if silent else ""

    def _compared(self, moments: list[Moment], since: float, now: float) -> None:
        if self._share(int(self.journal.data["step"])) == 100:
            return  # there is nobody to compare with
        look, data = self._serving.look(), self.journal.data
        sides = [
            versions.Side(
                data[side]["version"],
                data[side]["id"],
                readings.total(moments, data[side]["id"], since),
                usd_per_hour(look.deployed[data[side]["id"]], self._place.endpoint.split("/")[3]),
                (now - since) / 3600,
            )
            for side in ("from", "to")
        ]
        found = versions.compare(*sides)
        self._say("compare", found.verdict(), **found.shown())

    def _to(self, phase: str, text: str, **more: Any) -> None:
        now = self._time.now()
        self.journal.to(phase, now, text, **more)
        self._tell(Event(phase, now, text, more))

    def _say(self, kind: str, text: str, **data: Any) -> None:
        self._tell(Event(kind, self._time.now(), text, data))

    def _refused(self, said: str, allowed: str, fix: str = "") -> SpecError:
        return SpecError("rollout", [Problem(f"endpoints.{self._place.name}", said, allowed, fix)])


def split(old: str, new: str, share: int) -> dict[str, int]:
    """Percent by id, *share* of them to the new one: only what has some."""
    return {id: part for id, part in ((old, 100 - share), (new, share)) if part}
