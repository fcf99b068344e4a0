"""
A run of a job, from the first try to its end.

    begun -> seeking -> making -> running -> clearing -> judged -> closing -> ended
               `--<--------<---------<----------'

- The journal has the phase before anything of it is done, and each thing done twice is done once: whoever finds it open goes on from there.
- Before a machine is made anywhere, all that stands under the job's name is gone; and it is made under a lease that outlives the call.
- A machine that came is taken away again whatever became of it, and seen gone, before anything else is done.
- Stopping is asked for by an object of its own: only the runner writes the journal.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from infra.catalog import gpu_zones, tpu, zones
from infra.catalog.gpu_machines import Attached, by_machine_type
from infra.job_plan import JobPlan, MachinePlan
from infra.operate.jobs import lease, reasons, records, tries
from infra.operate.jobs.fleet import Fleet
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.machine import Machine, Order
from infra.operate.jobs.reasons import Refusal, RefusedError
from infra.operate.jobs.tries import Try
from infra.operate.jobs.words import Said, Words
from infra.operate.journal import Journal, TakenOverError
from infra.operate.rollout import Event
from infra.operate.times import Time
from infra.provider.calls import CancelledError, GoogleError, UnclearError
from infra.provider.google import Google
from infra.provider.holds import moment, seconds
from infra.provider.server import ProviderError
from workloads.contract import TrainSettings

ENDED = ("ended",)
PHASES = ("begun", "seeking", "making", "running", "clearing", "judged", "closing")
POLL_SECONDS = 30.0
BACKOFF_SECONDS = (60.0, 600.0)
"""Between two rounds over all zones: at first, and at most."""
COMING_SECONDS = 1800.0
"""How long a machine that was begun may take until it runs. One of flex-start has what is left of the wait besides."""
LOST_SECONDS = 900.0
"""A machine that ran and is in any other state for longer counts as taken away: what it is called then differs."""
GRACE_SECONDS = 120.0
"""How long the other hosts are waited for once one has ended badly: who was taken away first says so last."""
TROUBLE_SECONDS = 900.0
"""How long a machine that works, or comes, is left alone though the cloud does not answer."""
REFUSED = (400, 401, 403)
REFUSED_SECONDS = 86_400.0
"""How long somebody has to mend a permission that is missing once the machine is gone. Then the next night may train again."""
LEAST_SECONDS = 60
"""With less than this left no machine is made."""
FLEX_LEAST_SECONDS = 600
"""Least run limit of a flex-start machine.
Source: https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms, read 2026-11."""
STOPS_SECONDS = 150.0
"""Between two looks at whether somebody asked for the end, in a long wait of a hand-over: nothing is paid for by the second meanwhile."""
LOOKS = 3
"""So often one after the other a machine that comes must be seen going, or not at all, to count as one that does not come."""
SENDS = 3
"""How often one create is sent whose answer was lost."""
ALREADY = 409
UNSTOPPABLE = ("promoting", "pruning", "ended")
"""Of a hand-over: what serves is as it will be, and only words are left."""
FENCED = "fenced"
SKIPPED = "skipped"
REASON_LETTERS = 2000

T = TypeVar("T")


class Judge(Protocol):
    """What becomes of a model that a run has made."""

    def advance(self, run: str, kept: Mapping[str, Any]) -> dict[str, Any] | None:
        """
        Does the next thing, and says what is to be kept before it is asked again; None where nothing is left to do.

        Args:
            run: Its id.
            kept: What the call before answered; nothing at first.
        """

    def withdraw(self, run: str, kept: Mapping[str, Any]) -> str:
        """Takes back what is open of it, and says what, in words; empty where nothing is."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a runner ended."""

    run: str
    """Empty where it had none."""
    result: str
    """As of the run; `skipped` where another one is open, `fenced` where another runner has it now."""
    reason: str


@dataclass(frozen=True, slots=True)
class Wish:
    """What one run is to do otherwise than the plan."""

    zones: tuple[str, ...] = ()
    provisioning: tuple[str, ...] = ()

    @classmethod
    def of(cls, plan: JobPlan, zones: Sequence[str], provisioning: Sequence[str]) -> Wish:
        """
        Raises:
            ValueError: The job has no such way, or the zone is of another region.
        """
        ways = [way.provisioning for way in plan.machines]
        for way in provisioning:
            if way not in ways:
                raise ValueError(f"provisioning {way!r} is none of the job's; allowed: {', '.join(ways)}")
        if zones and all(way.form == "custom-job" for way in plan.machines):
            raise ValueError(f"zone {zones[0]!r} cannot be chosen: Vertex AI chooses one in {plan.region}; allowed: none")
        for zone in zones:
            if zone.rpartition("-")[0] != plan.region or not zone.rpartition("-")[2]:
                raise ValueError(f"zone {zone!r} is not in the job's region; allowed: zones of {plan.region}")
            # A zone that there is not is refused by every call: no machine could be looked for there, and the run would never end.
            if zone not in (there := offered(plan)):
                raise ValueError(f"zone {zone!r} has no {plan.accelerator_type}; allowed: {', '.join(there)}")
        return cls(tuple(dict.fromkeys(zones)), tuple(dict.fromkeys(provisioning)))


class Runner:
    """
    The runs of one job.

    Args:
        google: Google's APIs.
        time: Waits between looks.
        plan: The job.
        owner: Who this is.
        tell: Is told what happens.
        judge: Makes who says what becomes of a model, of a time whose waits keep the lease. (default: nobody)
        wish: What is to be otherwise.
    """

    def __init__(
        self,
        google: Google,
        time: Time,
        plan: JobPlan,
        owner: Owner,
        tell: Callable[[Event], None],
        judge: Callable[[Time], Judge] | None = None,
        wish: Wish | None = None,
    ) -> None:
        self._google = google
        self._time = time
        self._plan = plan
        self._owner = owner
        self._tell = tell
        self._judge = judge
        self._wish = wish or Wish()
        self.journal = Journal(google, records.journal(plan.state), ENDED, "job")
        self._check()

    # What may be asked of it

    def run(self) -> Ended:
        """
        Goes on with the run that is open and nobody's, else begins one.

        Raises:
            ProviderError: The cloud refused, did not answer, or somebody else works on a rollout there: the next one goes on.
        """
        data, now = self.journal.data, self._time.now()
        try:
            if self.journal.is_open:
                if not self._owner.may_take(data["lease"], now):
                    return self._skipped(now)
                if self._owner.execution not in ("", data.get("execution")):  # a night without a run of its own is on record
                    reason = f"run {data['id']} was open and nobody's, and was gone on with instead"
                    records.skipped(self._google, self._plan, run_id(now), moment(now), reason)
                return self._taken()
            if self._owner.execution and data.get("execution") == self._owner.execution:
                return Ended(data["id"], data["result"], data["reason"])  # it ended, and its process did before it could say so
            self._begin(now)
            return self._work()
        except TakenOverError as error:
            return self._fenced(error)

    @property
    def is_nobodys(self) -> bool:
        """Whether a run is open that no runner works on."""
        return self.journal.is_open and self._owner.may_take(self.journal.data["lease"], self._time.now())

    def go_on(self) -> Ended | None:
        """Takes over the run that is nobody's; None where there is none."""
        if not self.is_nobodys:
            return None
        try:
            return self._taken()
        except TakenOverError as error:
            return self._fenced(error)

    def give_up(self, why: str, result: str) -> Ended:
        """Ends the run that is nobody's: its machine is gone first."""
        try:
            if self.journal.phase == "clearing" and self.journal.data["after"] != "closing":
                self._clear_after(why, result)
            elif self.journal.phase == "judged":
                self._renew()
                self._withdraw(why, result)
            elif self.journal.phase not in ("clearing", "closing"):
                rows = self._tries()
                if rows and not rows[-1].ended:
                    self._clear_after(why, result)
                else:
                    self._fleet().clear()
                    self._close(result, why)
            return self._taken()
        except TakenOverError as error:
            return self._fenced(error)

    def release(self) -> None:
        """Lets go of the run, so that another may go on with it at once."""
        held = self.journal.data.get("lease", {})
        if self.journal.is_open and held.get("owner") == self._owner.name:
            self.journal.note(lease={**held, "until": moment(self._time.now())})

    def _check(self) -> None:
        """
        Raises:
            ProviderError: The journal is of no run: somebody wrote it by hand.
        """
        data = self.journal.data
        try:
            if self.journal.is_open:
                self._tries()
                lease.ends(data["lease"])
                known = self.journal.phase in PHASES and isinstance(data["lease"]["owner"], str)
                if not known or any(key not in data for key in ("id", "zones", "provisioning", "output", "restarts", "kept", "began")):
                    raise ValueError(self.journal.phase)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            fix = "remove the object: the sweep then takes away what machine there is"
            raise ProviderError(f"{self.journal.address}: is no journal of a run ({type(error).__name__}: {error})\n  fix: {fix}") from None

    def _begin(self, now: float) -> None:
        run = run_id(now)
        ways = [way.provisioning for way in self._ways(self._wish.provisioning)]
        self.journal.begin(
            {
                "phase": "begun",
                "id": run,
                "job": self._plan.job,
                "workload": self._plan.workload,
                "execution": self._owner.execution,
                "lease": self._owner.lease(now),
                "began": moment(now),
                "zones": list(self._wish.zones or self._plan.zones),
                "provisioning": ways,
                "output": f"{self._plan.output}/{run}",
                "tries": [],
                "restarts": 0,
                "kept": {},
                "sought_seconds": 0.0,
                "result": "",
                "reason": "",
                # Should the stack file lose the job meanwhile, the sweep knows from here what stands where.
                "plan": self._plan.model_dump(mode="json", exclude_defaults=True),
            }
        )
        places = ", ".join(self.journal.data["zones"])
        gpus = f"{self._plan.machine_type} with {self._plan.chips} x " if self._plan.machine_type else ""
        self._say("begun", f"run {run}: {self._plan.workload} on {gpus}{self._plan.accelerator_type}, {' or '.join(ways)}, in {places}")

    def _taken(self) -> Ended:
        data = self.journal.data
        before = data["lease"]["owner"]
        self._to(self.journal.phase, f"run {data['id']} goes on where {before} left it: {self.journal.phase}")
        return self._work()

    def _skipped(self, now: float) -> Ended:
        data = self.journal.data
        held = data["lease"]
        reason = f"run {data['id']} is worked on by {held['owner']}, {self.journal.phase}, until {held['until']} at least"
        records.skipped(self._google, self._plan, run_id(now), moment(now), reason)
        self._say(SKIPPED, reason)
        return Ended(data["id"], SKIPPED, reason)

    def _fenced(self, error: TakenOverError) -> Ended:
        """
        Raises:
            TakenOverError: It is a rollout that somebody else works on: the run is this one's still, and is to be gone on with.
        """
        try:
            self.journal.look()
        except TakenOverError:
            pass
        else:
            raise error
        self._say(FENCED, str(error))
        return Ended(str(self.journal.data.get("id", "")), FENCED, str(error))

    # Phases

    def _work(self) -> Ended:
        phases = {
            "begun": self._begun,
            "seeking": self._seeking,
            "making": self._making,
            "running": self._running,
            "clearing": self._clearing,
            "judged": self._judged,
            "closing": self._closing,
        }
        while self.journal.is_open:
            phase = self.journal.phase
            try:
                phases[phase]()
            except TakenOverError:
                raise
            except Exception as error:
                if phase not in ("making", "running"):
                    raise
                # A machine may be there: it goes before anybody asks why.
                self._clear_after(f"{type(error).__name__}: {error}", "failed")
        return Ended(self.journal.data["id"], self.journal.data["result"], self.journal.data["reason"])

    def _begun(self) -> None:
        self._fleet().clear()
        self._seek("nothing stands under the job's name")

    def _seeking(self) -> None:
        data, now = self.journal.data, self._time.now()
        places = self._places()
        at, sought = int(data["place"]), self._sought()
        limit = self._plan.wait_minutes * 60
        if why := self._stop():
            self._close("stopped", why)
        elif self._left(now) < LEAST_SECONDS:
            self._close("timed out", f"the {self._plan.max_run_minutes} min of machine are used up")
        elif at >= len(places):
            backoff = min(BACKOFF_SECONDS[1], BACKOFF_SECONDS[0] * 2 ** (int(data["round"]) - 1))
            if sought + backoff > limit:
                self._close("no capacity", self._why_not(sought))
                return
            self._say("waiting", f"no machine in round {data['round']}: the next one is in {backoff / 60:g} min", until=now + backoff)
            self._wait(backoff)
            self._to("seeking", f"round {data['round'] + 1}", round=int(data["round"]) + 1, place=0)
        elif at and sought > limit and int(data["round"]) > 1:
            self._close("no capacity", self._why_not(sought))
        else:
            self._try(*places[at], at, now)

    def _try(self, way: MachinePlan, zone: str, at: int, now: float) -> None:
        rows = self._tries()
        rate = tries.text(tries.usd_per_hour(self._plan, way.provisioning))
        row = Try(len(rows) + 1, zone, way.provisioning, way.form, self._plan.machine_name, moment(now), usd_per_hour=rate)
        if way.provisioning == "flex-start" and self._left(now) < FLEX_LEAST_SECONDS:
            reason = f"less than {FLEX_LEAST_SECONDS // 60} min are left, the least of a flex-start machine"
            row = replace(row, ended=moment(now), result="refused", reason=reason, usd="0")
            self._to("seeking", f"try {row.number}: {reason}", tries=_rows([*rows, row]), place=at + 1)
            return
        text = f"try {row.number}: {way.provisioning} in {zone}"
        self._to("making", text, tries=_rows([*rows, row]), place=at + 1)

    def _making(self) -> None:
        fleet, row = self._fleet(), self._tries()[-1]
        run = self.journal.data["id"]
        try:
            fleet.clear(lambda machine: machine.is_of(run, row.number) and machine.phase != "leaving")
            operation = self._ordered(fleet, row)
            machine, began = self._come(fleet, row, operation)
        except RefusedError as error:
            self._refused(replace(row, began=error.began), error.refusal)
            return
        except _StoppedError as stopped:
            self._done(row, "stopped", str(stopped))
            return
        except TakenOverError:
            raise
        except GoogleError as error:
            self._refused(row, reasons.refusal(error.code, str(error), row.provisioning))
            return
        except ProviderError as error:  # it passes: the next place is tried, and the night is not lost
            self._refused(row, Refusal("trouble", f"the cloud does not answer: {error}"))
            return
        row = replace(row, began=began, machine=machine.name or row.machine)
        self._to("running", f"the {machine.about}, is there", tries=self._with(row), sought_seconds=self._sought())

    def _ordered(self, fleet: Fleet, row: Try) -> dict[str, Any]:
        """
        Asks for the machine, if it is not there, and says the operation. What was asked for twice is there once, as far as it goes by one
        name; else it is asked for once, by whoever works on this try.

        Raises:
            RefusedError: It is not to be had.
        """
        form, run, said = fleet.forms[row.form], self.journal.data["id"], ""
        for _ in range(SENDS):
            if (there := form.look(row.zone)) and there.is_of(run, row.number):
                return {"name": there.name} if there.name else {}
            if not form.named and self.journal.data.get("sent") == row.number:
                said = said or "a runner that is gone asked for it"
                self._wait(POLL_SECONDS)
                continue
            self._renew(**({} if form.named else {"sent": row.number}))
            try:
                return form.make(row.zone, self._order(row))
            except UnclearError as error:
                said = str(error)
                self._say("unclear", f"whether the machine was begun is not known, and it is looked for: {error}")
            except GoogleError as error:
                if error.code != ALREADY:
                    raise RefusedError(reasons.refusal(error.code, str(error), row.provisioning)) from None
                if (there := form.look(row.zone)) and there.is_of(run, row.number):
                    return {}
                said = str(error)
                fleet.clear(lambda machine: machine.is_of(run, row.number))
            self._wait(POLL_SECONDS)
        calls = f"{SENDS} calls" if form.named else "the call"
        raise RefusedError(Refusal("trouble", f"no machine came of {calls}, and what may yet come is taken away: {said}"))

    def _come(self, fleet: Fleet, row: Try, operation: Mapping[str, Any]) -> tuple[Machine, str]:
        """
        Waits until the machine runs, and says since when it does: since it was last seen not to, or as the service has it.

        Raises:
            RefusedError: It does not come.
            _StoppedError: Somebody cancelled it.
        """
        form, began, told, missed = fleet.forms[row.form], self._time.now(), "", 0
        waits, before = row.provisioning == "flex-start", ""
        limit = COMING_SECONDS + (self._wait_left() if waits else 0)
        while True:
            machine = self._patiently(lambda: self._looked(fleet, row))
            if machine and machine.came:
                return machine, before or self._since(machine)
            if machine and machine.cancelled and not waits:  # one that waits may be cancelled by the service, whose wait is over
                raise _StoppedError(f"somebody cancelled it: {machine.name}")
            if failed := self._patiently(lambda: form.failure(row.zone, operation) if operation else None):
                refusal = reasons.refusal(*failed, row.provisioning)
                if not (waits and machine and refusal.kind == "no capacity"):  # a group of flex-start machines says so while it waits
                    raise RefusedError(refusal)
            before = moment(self._time.now())
            state = machine.state if machine else "not there"
            missed = 0 if machine and machine.phase == "coming" else missed + 1
            if missed >= LOOKS:
                gone = Refusal("no capacity", f"it was taken away before it was seen to run, and nobody says why: it is {state}")
                raise RefusedError(gone, moment(began))
            if self._time.now() - began >= limit:
                raise RefusedError(Refusal("no capacity", f"it did not run within {limit / 60:.0f} min: it is {state} still"))
            if self._patiently(self._stop):
                raise RefusedError(Refusal("trouble", "stopped while it came"))
            if state != told:
                self._say("coming", f"{row.form} in {row.zone}: {state or 'in no state yet'}, still waiting")
                told = state
            self._wait(POLL_SECONDS)

    def _refused(self, row: Try, refusal: Refusal) -> None:
        row = replace(row, result=refusal.kind, reason=refusal.words)
        said = f"try {row.number}, {row.provisioning} in {row.zone}: {refusal.words}"
        more: dict[str, Any] = {"after": "seeking"}
        if refusal.is_final:
            more = {"after": "closing", "result": "failed", "reason": _short(said)}
        self._to("clearing", said, tries=self._with(row), **more)

    def _running(self) -> None:
        fleet, row = self._fleet(), self._tries()[-1]
        lost = bad = 0.0
        self._say("running", f"try {row.number} works: {self._folder(row)}", since=row.began)
        while True:
            machine = self._patiently(lambda: self._looked(fleet, row))
            # After the machine: a word that was said before it went is heard.
            said, stop = self._patiently(lambda: self._words().of_try(row.number))
            if machine and machine.code is not None:
                said = Said({0: machine.code})
            now = self._time.now()
            verdict = said.verdict(self._plan.hosts)
            is_there = machine is not None and machine.phase == "running" and machine.is_of(self.journal.data["id"], row.number)
            bad = bad or (now if verdict in ("failed", "restart") else 0.0)
            lost = 0.0 if is_there else lost or now
            if verdict == "succeeded":
                self._done(row, "succeeded", f"all {self._plan.hosts} hosts ended well" if self._plan.hosts > 1 else "it ended well")
            elif bad and (said.is_whole(self._plan.hosts) or now - bad >= GRACE_SECONDS):
                if verdict == "restart":
                    self._restart(row, f"it saved its work and wants to be begun again: {said.words()}")
                else:
                    self._done(row, "failed", f"{said.words()}; {self._folder(row)}")
            elif stop:
                self._done(row, "stopped", stop)
            elif self._left(now) <= 0:
                self._done(row, "timed out", f"the {self._plan.max_run_minutes} min of machine are used up")
            elif machine and machine.cancelled:
                self._done(row, "stopped", f"somebody cancelled it: {machine.name}")
            elif machine is None or machine.phase == "ended" or now - lost >= LOST_SECONDS > 0 < lost:
                state = machine.state if machine else "gone"
                since = f" for {(now - lost) / 60:.0f} min" if machine and machine.phase != "ended" else ""
                why = f": {machine.why}" if machine and machine.why else ", without a word of its host"
                self._restart(row, f"the machine was taken away: it is {state}{since}{why}")
            else:
                if not is_there and lost == now and machine:
                    self._say("odd", f"the {machine.about}: still waiting, for {LOST_SECONDS / 60:.0f} min at most")
                self._wait(POLL_SECONDS)
                continue
            return

    def _looked(self, fleet: Fleet, row: Try) -> Machine | None:
        """
        What stands of a try. Where any number may stand, those of earlier tries go at once: a create that was given up was done late.
        """
        form, run = fleet.forms[row.form], self.journal.data["id"]
        if form.named:
            return form.look(row.zone)
        every = form.every(row.zone)
        for one in every:
            if not one.is_of(run, row.number):
                fleet.dismiss(one)
        return next((one for one in every if one.is_of(run, row.number)), None)

    def _restart(self, row: Try, reason: str) -> None:
        count = int(self.journal.data["restarts"])
        row = replace(row, result="restarted", reason=_short(reason))
        if count < self._plan.restarts:
            self._to("clearing", reason, tries=self._with(row), after="seeking", restarts=count + 1, round=1, place=0, again=True)
            return
        allowed = f"{self._plan.restarts} restart{'' if self._plan.restarts == 1 else 's'}"
        self._done(row, "failed", f"{reason}; {allowed} allowed, and {count} used")

    def _done(self, row: Try, result: str, reason: str) -> None:
        row = replace(row, result=result, reason=_short(reason))
        after = "judged" if result == "succeeded" and self._plan.registers and self._judge else "closing"
        self._to("clearing", f"{result}: {reason}", tries=self._with(row), after=after, result=result, reason=_short(reason))

    def _clear_after(self, reason: str, result: str) -> None:
        row = self._tries()[-1]
        row = replace(row, result=row.result or result, reason=row.reason or _short(reason))
        self._to("clearing", reason, tries=self._with(row), after="closing", result=result, reason=_short(reason))

    def _clearing(self) -> None:
        fleet, row, run = self._fleet(), self._tries()[-1], self.journal.data["id"]
        if not row.began:
            for machine in fleet.found():  # it may have come while nobody looked
                if machine.is_of(run, row.number) and machine.phase != "coming" and machine.since:
                    row = replace(row, began=self._since(machine))
                    self.journal.note(tries=self._with(row))
        fleet.clear()
        now = self._time.now()
        row = replace(row, ended=moment(now))
        row = replace(row, usd=tries.text(row.cost(now)))
        after = self.journal.data["after"]
        if after == "seeking" and (why := self._stop()):
            self._to("closing", "the machine is gone", tries=self._with(row), result="stopped", reason=why)
        elif after == "seeking":
            kept = {} if self.journal.data.get("again") else {"since": self.journal.data["since"]}
            self._seek("the machine is gone" if row.began else "nothing is left there", tries=self._with(row), again=False, **kept)
        else:
            self._to(after, "the machine is gone", tries=self._with(row))

    def _judged(self) -> None:
        if self._judge is None:
            self._to("closing", "nobody judges it")
            return
        judge = self._judge(_Kept(self._time.now, self._wait_or_stop))
        try:
            self._check_stop()
            while (kept := judge.advance(self.journal.data["id"], self.journal.data["kept"])) is not None:
                self.journal.note(kept=kept, lease=self._owner.lease(self._time.now(), lease.HANDED_SECONDS))
                self._check_stop()
        except _StoppedError as stopped:
            self._withdraw(str(stopped), "stopped")
            return
        except CancelledError:
            self.journal.look()  # it was ended since another runner has it
            raise
        except GoogleError as error:
            # In the midst of a rollout to leave it would be worse than to stay.
            silent = self._time.now() - seconds(self._tries()[-1].ended)
            if error.code not in REFUSED or silent < REFUSED_SECONDS or self.journal.data["kept"].get("phase") == "rolling":
                raise
            self._close("failed", f"the machine is gone for {silent / 3600:.0f} h, and what it made is still refused: {error}")
            return
        found = self.journal.data["kept"]
        failed = {"result": "failed", "reason": _short(str(found.get("why", "")))} if found.get("outcome") == "failed" else {}
        self._to("closing", f"{found.get('outcome', 'judged')}: {found.get('why', '')}", **failed)

    def _check_stop(self) -> None:
        """
        Raises:
            _StoppedError: Somebody asked for the end, and there is something left that could be left undone.
        """
        if self.journal.data["kept"].get("phase", "") not in UNSTOPPABLE and (why := self._patiently(self._stop)):
            raise _StoppedError(why)

    def _wait_or_stop(self, seconds: float) -> None:
        """A wait of no time comes from the midst of an operation, which is not left alone. In a long one it is looked again and again."""
        until = self._time.now() + seconds
        self._wait(min(seconds, STOPS_SECONDS))
        while seconds > 0:
            self._check_stop()
            if (left := until - self._time.now()) <= 0:
                return
            self._wait(min(left, STOPS_SECONDS))

    def _withdraw(self, why: str, result: str) -> None:
        """Ends a run that is handing over what it made: what its rollout has moved goes back first."""
        said = ""
        if self._judge is not None:
            try:
                said = self._judge(_Kept(self._time.now, self._wait)).withdraw(self.journal.data["id"], self.journal.data["kept"])
            except GoogleError as error:
                if error.code not in REFUSED:
                    raise
                said = f"its rollout is open still, since that was refused: {error}; accelform rollback"
        self._close(result, f"{why}; {said}" if said else why)

    def _closing(self) -> None:
        now = self._time.now()
        ended = self.journal.data.get("ended") or moment(now)
        data = self.journal.data | {"phase": "ended", "ended": ended}
        record = records.shown(self._plan, data, now)
        records.write(self._google, self._plan.state, record)
        usd = f"{record['usd']} USD" if record["usd"] != tries.UNKNOWN else "a cost that is not known: a price is missing"
        self._to("ended", f"{data['result']}: {data['reason']}; {usd}", ended=ended, usd=record["usd"])

    # What these share

    def _seek(self, text: str, **more: Any) -> None:
        now = moment(self._time.now())
        start = {"round": 1, "place": 0} if "place" not in self.journal.data else {}
        self._to("seeking", text, **{"since": now, **start, **more})

    def _close(self, result: str, reason: str) -> None:
        self._to("closing", f"{result}: {reason}", result=result, reason=_short(reason))

    def _why_not(self, sought: float) -> str:
        """What the last try in each place said."""
        last = {(row.provisioning, row.zone): row for row in self._tries() if not row.began}
        said = "; ".join(f"{way} in {zone}: {row.reason}" for (way, zone), row in last.items())
        return f"none in {sought / 60:.0f} min and {self.journal.data['round']} rounds. {said}"

    def _places(self) -> list[tuple[MachinePlan, str]]:
        """Ways and zones in the order in which they are tried: a way in all zones before the next."""
        data = self.journal.data
        return [(way, zone) for way in self._ways(data["provisioning"]) for zone in data["zones"]]

    def _ways(self, chosen: Sequence[str]) -> list[MachinePlan]:
        return [way for way in self._plan.machines if not chosen or way.provisioning in chosen]

    def _fleet(self) -> Fleet:
        rows = self._tries()
        places = [*self._plan.zones, *self.journal.data["zones"], *(row.zone for row in rows)]
        made = [row.form for row in rows]
        return Fleet(
            self._google, self._plan, places, self._time.now, self._wait, lambda text: self._say("machine", text), self._keep, made
        )

    def _tries(self) -> list[Try]:
        return [Try.read(row) for row in self.journal.data["tries"]]

    def _with(self, row: Try) -> list[dict[str, Any]]:
        """The rows with a new last one."""
        return _rows([*self._tries()[:-1], row])

    def _order(self, row: Try) -> Order:
        data, plan, now = self.journal.data, self._plan, self._time.now()
        settings = TrainSettings(
            run_id=data["id"],
            output=data["output"],
            checkpoints=f"{data['output']}/checkpoints",
            accelerator_type=plan.accelerator_type,
            chips=plan.chips,
            hosts=plan.hosts,
            attempt=row.number,
        )
        ours = ("RUN_ID", "OUTPUT", "CHECKPOINTS", "ACCELERATOR_TYPE", "CHIPS", "HOSTS", "ATTEMPT")
        env = {name: value for name, value in settings.environment().items() if name.removeprefix("WL_") in ours}
        way = next(way for way in plan.machines if way.provisioning == row.provisioning and way.form == row.form)
        folder = self._folder(row)
        return Order(way, data["id"], row.number, env, data["output"], folder, int(self._left(now)), int(self._wait_left()))

    def _folder(self, row: Try) -> str:
        return f"{records.folder(self._plan.state, self.journal.data['id'])}/try-{row.number}"

    def _left(self, now: float) -> float:
        """Seconds of machine that are left of the run's."""
        return self._plan.max_run_minutes * 60 - sum(row.machine_seconds(now) for row in self._tries())

    def _wait_left(self) -> float:
        """Seconds that are left to look for capacity."""
        return max(0.0, self._plan.wait_minutes * 60 - self._sought())

    def _sought(self) -> float:
        """Seconds for which capacity was looked for, in all searches of the run."""
        data = self.journal.data
        return float(data["sought_seconds"]) + self._time.now() - seconds(data["since"])

    def _since(self, machine: Machine) -> str:
        """Since when it is there, as the service has it: it is paid for though nobody looked."""
        now = self._time.now()
        try:
            return moment(min(now, seconds(machine.since)))
        except ValueError:
            return moment(now)

    def _words(self) -> Words:
        return Words(self._google, records.folder(self._plan.state, self.journal.data["id"]))

    def _stop(self) -> str:
        """Who asked for the end, in words; empty where nobody did."""
        return self._words().stop()

    def _patiently(self, look: Callable[[], T]) -> T:
        """
        What the cloud says. It is asked again while it does not answer: a machine is worth more than a quarter of an hour's silence.

        Raises:
            ProviderError: It went on for too long.
        """
        since = self._time.now()
        while True:
            try:
                return look()
            except TakenOverError:
                raise
            except ProviderError as error:
                if self._time.now() - since >= TROUBLE_SECONDS:
                    raise
                self._say("trouble", f"the cloud does not answer, and the machine is left alone: {error}")
            self._wait(POLL_SECONDS)

    def _wait(self, seconds: float) -> None:
        """
        Waits, and keeps the lease. A journal that cannot be written for some minutes is no reason to throw a night away: who waits does
        no harm, and what does some is done under a lease only.
        """
        until = self._time.now() + seconds
        while True:
            now = self._time.now()
            try:
                self._keep()
            except TakenOverError:
                raise
            except ProviderError as error:
                if now - lease.ends(self.journal.data["lease"]) >= lease.RENEWED_SECONDS:
                    raise
                self._say("trouble", f"the journal cannot be written, which is tried again: {error}")
            if now >= until:
                return
            self._time.wait(min(until - now, lease.RENEWED_SECONDS / 2))

    def _keep(self) -> None:
        """
        Makes the lease longer, where little of it is left: before each thing that harms whoever has it now. A runner that slept finds out.

        Raises:
            TakenOverError: Another runner has it.
        """
        if lease.ends(self.journal.data["lease"]) - self._time.now() < lease.RENEWED_SECONDS:
            self._renew()

    def _renew(self, **more: Any) -> None:
        """
        Raises:
            TakenOverError: Another runner has it.
        """
        self.journal.note(lease=self._owner.lease(self._time.now()), **more)

    def _to(self, phase: str, text: str, **more: Any) -> None:
        now = self._time.now()
        self.journal.to(phase, now, text, **{"lease": self._owner.lease(now), **more})
        self._tell(Event(phase, now, text, {"run": self.journal.data["id"]}))

    def _say(self, kind: str, text: str, **data: Any) -> None:
        self._tell(Event(kind, self._time.now(), text, {"run": self.journal.data.get("id", ""), **data}))


class _StoppedError(Exception):
    """Somebody wants the run to end: while it hands over what it made, or by cancelling its machine before that ran."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A time whose waits keep the lease."""

    now: Callable[[], float]
    wait: Callable[[float], None]


def run_id(now: float) -> str:
    """A run's id, by the moment of its beginning: `20261201T180000Z`."""
    return dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y%m%dT%H%M%SZ")


def offered(plan: JobPlan) -> list[str]:
    """Zones of the job's region that have its accelerator: its own, and those that the catalogue knows besides."""
    try:
        if plan.machine_type:
            host = by_machine_type(plan.machine_type) or Attached(plan.machine_type, plan.accelerator_type, plan.chips, "")
            every = {one.zone for one in gpu_zones.offers(host)}
        else:
            every = {one.zone for one in zones.offers(tpu.shape(plan.accelerator_type))}
    except tpu.UnknownAcceleratorType:
        every = set()
    return [*plan.zones, *sorted(zone for zone in every - set(plan.zones) if zone.rpartition("-")[0] == plan.region)]


def _rows(rows: Sequence[Try]) -> list[dict[str, Any]]:
    return [row.shown() for row in rows]


def _short(text: str) -> str:
    return text if len(text) <= REASON_LETTERS else f"{text[:REASON_LETTERS]} ..."
