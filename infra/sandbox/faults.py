"""What goes wrong on request: so that programs and people can see what happens then, before it happens in the cloud."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from infra.sandbox.refused import CODE, STATUS, Refused, rpc_error

if TYPE_CHECKING:
    from infra.sandbox.service import Body, Call


DO = ("error", "drop", "lost", "kill", "kill-after", "fail", "slow", "preempt", "stockout", "quota")
OF_CALLS = ("error", "drop", "lost", "kill", "kill-after")
"""Those that strike a call, whatever it is."""
WAYS = ("", "on-demand", "spot", "flex-start", "reservation")
KINDS = {"str": str, "int": int, "int | None": int | None, "float": int | float}
"""How the fields of a fault are annotated -> what may stand there."""


class LostError(Exception):
    """The connection is cut without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. `POST /sandbox/faults` sets it; it counts calls from then on."""

    do: str
    """`error`: answers *code*. `drop`: cuts the connection before the call counts. `lost`: does the call, then cuts. `kill`, `kill-after`:
    ends process *pid* with signal 9 before, or after, the call is done. `fail`: the operation that is started fails with *code*.
    `slow`: operations take *factor* times as long. `preempt`: takes a Spot node of the Cloud TPU API, a Spot machine of Compute Engine, or
    that of a custom job, away, by its path. `stockout`, `quota`: *zone*, or the region of a custom job, has no capacity, or the project no
    quota there, for new machines, nodes and custom jobs that are bought by *provisioning*."""
    at: int | None = None
    """The how-manieth matching call, from 1. (default: every one)"""
    times: int | None = None
    """How often. (default: once with `at`, else without end)"""
    method: str = ""
    """HTTP method. (default: any)"""
    path: str = ""
    """Regular expression searched in `HOST/PATH`. (default: any)"""
    code: int = 503
    status: str = ""
    message: str = "The service is currently unavailable."
    pid: int | None = None
    factor: float = 1.0
    zone: str = ""
    """Zone without capacity or quota; of a custom job the region. (default: every one)"""
    provisioning: str = ""
    """Way of buying that it holds for: `spot` and so on. (default: every one)"""

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: It is no fault that there can be.
        """
        for field in fields(self):
            value, kinds = getattr(self, field.name), KINDS[str(field.type)]
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ValueError(f"{field.name}: {value!r} is no {field.type}")
        for name, allowed in (("do", DO), ("code", STATUS), ("status", ("", *CODE)), ("provisioning", WAYS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: {getattr(self, name)!r} is not one of {', '.join(map(str, allowed))}")
        try:
            re.compile(self.path)
        except re.error as error:
            raise ValueError(f"path: {self.path!r} is no regular expression: {error}") from None

    @classmethod
    def read(cls, sent: Any) -> Fault:
        """
        A fault as it comes over HTTP.

        Raises:
            ValueError: It is none.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(sent) - set(known)) if isinstance(sent, dict) else [str(sent)]
        if unknown or "do" not in sent:
            raise ValueError(f"a fault has `do`, and may have {', '.join(known[1:])}; not {', '.join(unknown) or 'nothing'}")
        return cls(**sent)

    def shown(self) -> dict[str, Any]:
        """What of it is not as it is by itself."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}


@dataclass(slots=True)
class _Set:
    fault: Fault
    seen: int = 0
    done: int = 0

    def strikes(self, method: str, path: str) -> bool:
        if (self.fault.method and self.fault.method != method) or not re.search(self.fault.path, path):
            return False
        self.seen += 1
        last = self.fault.times or (1 if self.fault.at else None)
        if (self.fault.at and self.seen < self.fault.at) or (last is not None and self.done >= last):
            return False
        self.done += 1
        return True


class Faults:
    """The faults that are set, in memory: a new server starts without."""

    def __init__(self) -> None:
        self._set: list[_Set] = []
        self._lost = False
        self._kill_after: int | None = None

    def add(self, fault: Fault) -> None:
        self._set.append(_Set(fault))

    def clear(self) -> None:
        self._set.clear()

    @property
    def slowness(self) -> float:
        return max([item.fault.factor for item in self._set if item.fault.do == "slow"], default=1.0)

    def before(self, method: str, path: str) -> None:
        """Strikes before a call.

        Raises:
            Refused: As the fault says.
            LostError: The connection is to be cut.
        """
        self._lost, self._kill_after = False, None
        for item in self._set:
            if item.fault.do not in OF_CALLS or not item.strikes(method, path):
                continue
            if item.fault.do == "error":
                raise Refused(item.fault.code, item.fault.message, status=item.fault.status)
            if item.fault.do == "drop":
                raise LostError
            if item.fault.do == "lost":
                self._lost = True
            elif item.fault.pid is not None:
                if item.fault.do == "kill":
                    _kill(item.fault.pid)
                    raise LostError
                self._kill_after = item.fault.pid

    def after(self) -> None:
        """Strikes after a call was done.

        Raises:
            LostError: The connection is to be cut.
        """
        if self._kill_after is not None:
            _kill(self._kill_after)
            raise LostError
        if self._lost:
            raise LostError

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A call within another one: what strikes after it does not strike after the other."""
        kept = self._lost, self._kill_after
        try:
            yield
        finally:
            self._lost, self._kill_after = kept

    def operation(self, call: Call, verb: str) -> Body | None:
        """Error that the operation which *call* starts ends with."""
        for item in self._set:
            if item.fault.do == "fail" and item.strikes(_METHODS.get(verb, verb), f"{call.service.host}/{call.target}"):
                return rpc_error(item.fault.status or "RESOURCE_EXHAUSTED", item.fault.message)
        return None

    def preempts(self, path: str) -> bool:
        """Whether a node or machine that stands is taken away now."""
        return any(item.fault.do == "preempt" and item.strikes("", path) for item in self._set)

    def lacks(self, path: str, zone: str, provisioning: str) -> str:
        """What there is too little of for something new at `HOST/PATH`: `stockout` or `quota`; empty where there is enough."""
        for item in self._set:
            fault = item.fault
            if fault.do not in ("stockout", "quota") or fault.zone not in ("", zone) or fault.provisioning not in ("", provisioning):
                continue
            if item.strikes("POST", path):
                return fault.do
        return ""

    def shown(self) -> list[dict[str, Any]]:
        return [item.fault.shown() | {"seen": item.seen, "done": item.done} for item in self._set]


_METHODS = {"create": "POST", "delete": "DELETE", "patch": "PATCH", "update": "PUT"}


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
