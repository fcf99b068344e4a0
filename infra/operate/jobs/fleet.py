"""All that may stand under a job's name, in every zone and form: looked at, and taken away until it is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from infra.job_plan import JobPlan
from infra.operate.jobs.custom_job import CustomJob
from infra.operate.jobs.group import Group
from infra.operate.jobs.instance import Instance
from infra.operate.jobs.machine import Form, Machine
from infra.operate.jobs.node import Node
from infra.provider.calls import TRANSIENT, GoogleError, UnclearError
from infra.provider.google import NOT_THERE, Google
from infra.provider.server import ProviderError

POLL_SECONDS = (5.0, 60.0)
"""Between two looks at what goes: at first, and at most."""
GONE_SECONDS = 1800.0
"""How long a machine may take to go."""
AGAIN_SECONDS = 300.0
"""After this a machine that is still there is told to go once more."""
REFUSED_IN_STATE = (400, 409, 412)
"""A service that says these to a delete has the machine in a state in which it cannot go."""
NOT_USED = (400, 403, 404, 501)
"""What a form that neither the plan nor the open run has may be answered with: its API is not on, or is not in that zone."""


class StaysError(ProviderError):
    """A machine does not go."""


class Fleet:
    """
    Machines of one job.

    Args:
        google: Google's APIs.
        plan: The job.
        zones: Where they may stand; the region among them where custom jobs may.
        now: Seconds since 1970.
        wait: Waits for seconds.
        say: Is told what is done.
        may: Is asked before a machine is told to go, and raises where that is somebody else's to say by now.
        made: Forms of what the run that is open has asked for: the plan may be another by now. That those cannot be looked at does not mean
            that nothing is there.
    """

    def __init__(
        self,
        google: Google,
        plan: JobPlan,
        zones: Iterable[str],
        now: Callable[[], float],
        wait: Callable[[float], None],
        say: Callable[[str], None],
        may: Callable[[], None] = lambda: None,
        made: Iterable[str] = (),
    ) -> None:
        self._used = {*(way.form for way in plan.machines), *made}
        self._zones = tuple(dict.fromkeys(zones))
        self._now = now
        self._wait = wait
        self._say = say
        self._may = may
        every = (Instance(google, plan), Group(google, plan), Node(google, plan), CustomJob(google, plan))
        self.forms: dict[str, Form] = {form.form: form for form in every}

    def found(self) -> list[Machine]:
        """
        What stands anywhere.

        Raises:
            ProviderError: That cannot be told.
        """
        places = {form: form.at(self._zones) for form in self.forms.values()}
        return [one for zone in self._zones for form, own in places.items() if zone in own for one in self._every(form, zone)]

    def clear(self, keep: Callable[[Machine], bool] = lambda machine: False) -> None:
        """
        Takes all away but what is to be kept, and comes back when it is gone.

        Raises:
            StaysError: Something does not go.
            ProviderError: The cloud refused, or did not answer.
        """
        until = self._now() + GONE_SECONDS
        told: dict[tuple[str, ...], float] = {}
        refused: dict[tuple[str, ...], str] = {}
        waited: list[Machine] = []
        pause = POLL_SECONDS[0]
        while machines := [machine for machine in self._again(waited) or self.found() if not keep(machine)]:
            if self._now() >= until:
                raise StaysError("\n".join(self._stays(machine, refused) for machine in machines))
            for machine in machines:
                key = _key(machine)
                if self._now() >= told.get(key, 0.0) + AGAIN_SECONDS and not (machine.phase == "leaving" and key in told):
                    said = self._remove(machine)
                    if said:
                        if said != refused.get(key):
                            self._say(f"{machine.about}: cannot go yet, and is waited for: {said}")
                        refused[key] = said
                    else:
                        told[key] = self._now()
            waited = machines
            self._wait(pause)
            pause = min(pause * 1.5, POLL_SECONDS[1])

    def _again(self, machines: Iterable[Machine]) -> list[Machine]:
        """Those that are still there: only when none is, all places are looked at once more."""
        names: dict[tuple[str, str], set[str]] = {}
        for one in machines:
            names.setdefault((one.form, one.zone), set()).add(one.name)
        return [there for (form, zone), own in names.items() for there in self._every(self.forms[form], zone) if there.name in own]

    def _remove(self, machine: Machine) -> str:
        """Tells one to go; empty, or why it cannot in its state."""
        self._may()
        try:
            self.forms[machine.form].remove(machine)
        except UnclearError:
            return ""  # whether it goes is seen
        except GoogleError as error:
            if error.code == NOT_THERE:
                self._say(f"{machine.about}: was gone already")
                return ""
            if error.code not in REFUSED_IN_STATE:
                self._say(f"{machine.about}: stays, and costs money: {error}")
                raise
            return str(error)
        self._say(f"{machine.about}: is {'cancelled' if machine.name and machine.phase != 'ended' else 'deleted'}")
        return ""

    def dismiss(self, machine: Machine) -> None:
        """Tells one to go that nobody waits for; the next look finds it if it cannot yet."""
        if machine.phase != "leaving":
            self._remove(machine)

    def _stays(self, machine: Machine, refused: dict[tuple[str, ...], str]) -> str:
        said = refused.get(_key(machine), "")
        why = f": {said}" if said else ""
        return (
            f"the {machine.about}, is there {GONE_SECONDS / 60:.0f} min after it was told to go{why}\n"
            f"  fix: it can go once it has left the state {machine.state}; the sweep tries again every hour"
        )

    def _every(self, form: Form, zone: str) -> list[Machine]:
        try:
            return form.every(zone)
        except GoogleError as error:
            if form.form not in self._used and error.code in NOT_USED and error.code not in TRANSIENT:
                return []
            raise


def _key(machine: Machine) -> tuple[str, ...]:
    """What is told once: a custom job is cancelled, and what is over of it is deleted."""
    return (machine.form, machine.zone, machine.name, "over" if machine.name and machine.phase == "ended" else "")
