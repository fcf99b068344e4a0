"""What a runner asks of a machine, whatever it is made by. Each form is a file: an instance, a group of them, a node, a custom job."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from infra.job_plan import MachinePlan
from infra.labels import RUN_LABEL, TRY_LABEL

ZONE = re.compile(r".+-.+-.+")
Phase = Literal["coming", "running", "leaving", "ended"]
"""`leaving`: is going, by itself or since it was told to. `ended`: stands there and works no more."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What stands under the job's name in one place."""

    form: str
    zone: str
    """Of a custom job the region."""
    state: str
    """In the service's word."""
    phase: Phase
    run: str
    """Label of the run it was made for, in small letters; empty where it has none."""
    number: str
    """Label of the try."""
    since: str
    """Since when the service says that it is there; empty where it never was."""
    name: str = ""
    """What the service calls it, where that is not the job's name."""
    code: int | None = None
    """Exit code of its container, where the service tells it: nothing else does then."""
    why: str = ""
    """What the service says of its end."""
    cancelled: bool = False
    """Whether somebody ended it: it did not end by itself, and was not taken away."""

    @classmethod
    def seen(cls, form: str, zone: str, state: str, phase: Phase, labels: Mapping[str, str], since: str) -> Machine:
        """As its service answers it: its labels say whose it is."""
        return cls(form, zone, state, phase, labels.get(RUN_LABEL, ""), labels.get(TRY_LABEL, ""), since)

    @property
    def about(self) -> str:
        return f"{self.form} in {self.zone}, {self.state}"

    @property
    def came(self) -> bool:
        """Whether it is there, or was: the service that ends it by itself may have done so before anybody looked."""
        was = bool(self.name) and (bool(self.since) or self.code is not None)
        return self.phase == "running" or (self.phase == "ended" and was)

    def is_of(self, run: str, number: int) -> bool:
        return (self.run, self.number) == (run.lower(), str(number))


@dataclass(frozen=True, slots=True)
class Order:
    """One machine that is asked for."""

    way: MachinePlan
    run: str
    number: int
    env: Mapping[str, str]
    """Environment of its container that is of this try."""
    output: str
    """Folder of what the run makes."""
    state: str
    """Folder for what its hosts say."""
    run_seconds: int
    """After this it ends by itself."""
    wait_seconds: int
    """How long a flex-start machine may be waited for."""

    @property
    def labels(self) -> dict[str, str]:
        """A label's value has small letters only."""
        return {RUN_LABEL: self.run.lower(), TRY_LABEL: str(self.number)}

    @property
    def metadata(self) -> str:
        return json.dumps({"env": dict(self.env), "state": self.state}, sort_keys=True)

    def request_id(self, zone: str) -> str:
        """The same for the same: so that the service knows a call that is sent again."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"accelform/{self.run}/{self.number}/{zone}"))


def in_zones(places: Sequence[str]) -> tuple[str, ...]:
    """Those that are zones, such as us-east5-a: a region is no place for a machine that somebody makes."""
    return tuple(one for one in dict.fromkeys(places) if ZONE.fullmatch(one))


class Form(Protocol):
    """How machines of one form are asked for, made and taken away."""

    form: str
    named: bool
    """Whether all go by the one name of the job, so that what is asked for twice is there once."""

    def at(self, places: Sequence[str]) -> tuple[str, ...]:
        """Those of some zones and regions that may have such."""

    def look(self, zone: str) -> Machine | None:
        """What stands in a place; of several the one of the last run's last try."""

    def every(self, zone: str) -> list[Machine]:
        """All that stands there."""

    def make(self, zone: str, order: Order) -> dict[str, Any]:
        """
        Begins to make one, and says the operation.

        Raises:
            GoogleError: Google refused; 409 where one of that name is there.
            UnclearError: Whether it was begun is not known.
        """

    def failure(self, zone: str, operation: Mapping[str, Any]) -> tuple[int | str, str] | None:
        """Code and words, where what was begun has failed."""

    def remove(self, machine: Machine) -> None:
        """
        Begins to take one away.

        Raises:
            GoogleError: Google refused; 404 where none is there.
        """
