"""What an update is doing now, in one line: how much is done, what runs and for how long, how long that usually takes, what is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from infra.catalog.usual_times import UNKNOWN, usual
from infra.gitops.plan import is_component

if TYPE_CHECKING:
    from infra.local.engine.events import Step

ENDS = ("create", "update", "delete", "import", "create-replacement")
"""The step of a resource after which what its preview said is done; a replaced one is deleted before, or after without waiting."""
SHOWN_SECONDS = 2.0
"""What runs for less is not worth a name."""
TAKES_LONG = (
    "gcp:container/cluster:Cluster",
    "gcp:container/nodePool:NodePool",
    "gcp:tpu/v2Vm:V2Vm",
    "gcp:compute/instance:Instance",
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/resizeRequest:ResizeRequest",
    "gcp:filestore/instance:Instance",
    "accelform:vertex:DeployedModels",
    "accelform:tpu:QueuedResource",
)
"""Types whose operations a person waits for, whether somebody measured them or not."""


class UnderWay:
    """
    One update as its events come.

    Args:
        ahead: What its preview said it would do; empty where nobody knows.
        cloud: Whether it is Google Cloud: the sandbox's clock is virtual, and usual times mean nothing to it.
        clock: Seconds.
    """

    def __init__(self, title: str, ahead: Iterable[Step], *, cloud: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._ahead = {one.urn: one for one in ahead if one.changes and not one.done and not is_component(one.type)}
        self._total = len(self._ahead)
        self._cloud = cloud
        self._clock = clock
        self._started = clock()
        self._running: dict[tuple[str, str], tuple[Step, float]] = {}
        self._done: set[str] = set()
        self._ready = False

    def take(self, one: Step) -> None:
        """Takes one event."""
        self._ready = True
        if is_component(one.type) or not one.changes:
            return
        key = (one.urn, one.op)
        if one.done:
            self._running.pop(key, None)
            if one.op in ENDS and not one.failed:
                self._done.add(one.urn)
        else:
            self._running[key] = (one, self._clock())
        self._ahead.pop(one.urn, None)

    def begins(self) -> str:
        """Said once, before anything is done; empty where nothing is known of it."""
        if not self._total:
            return ""
        longest = self._longest(self._ahead.values())
        told = f"; a person waits for {_shown(longest)}: {self._usual(longest)}" if longest else ""
        return f"{self._title}: {self._total} to do{told}"

    def line(self) -> str:
        """As it is now."""
        now = self._clock()
        if not self._ready:
            return f"{self._title}: the engine gets ready, {lasted(now - self._started)}"
        parts = [f"{self._title}: {len(self._done)}{f' of {self._total}' if self._total else ''} done, {lasted(now - self._started)}"]
        long = sorted(
            (item for item in self._running.values() if now - item[1] >= SHOWN_SECONDS or waited_for(item[0])), key=lambda item: item[1]
        )
        if long:
            first = self._longest(one for one, _ in long) or long[0][0]
            began = next(begun for one, begun in long if one is first)
            rest = len(self._running) - 1
            parts.append(f"{_shown(first)}: {lasted(now - began)}, {self._usual(first)}{f' and {rest} more run' if rest else ''}")
        elif self._running:
            parts.append(f"{len(self._running)} run")
        if self._ahead:
            ahead = self._longest(self._ahead.values()) or next(iter(self._ahead.values()))
            parts.append(f"next: {_shown(ahead)}{f' and {len(self._ahead) - 1} more' if len(self._ahead) > 1 else ''}")
        return "; ".join(parts)

    def log(self, one: Step) -> str:
        """A line for logs, of what begins and takes long, and of what is done or failed; empty for all else."""
        if one.failed:
            return f"{self._title}: failed to {one.op} {one.type} {one.name}"
        if not one.changes:
            return ""
        if one.done:
            return f"{self._title}: {one.op} {one.type} {one.name}"
        return f"{self._title}: {one.op} of {_shown(one)} begins, {self._usual(one)}" if self._cloud and waited_for(one) else ""

    def _usual(self, one: Step) -> str:
        known = usual(one.type, one.op)
        words = known.words if known else UNKNOWN
        return words if self._cloud else f"in Google Cloud {words}"

    @staticmethod
    def _longest(every: Iterable[Step]) -> Step | None:
        """What usually takes longest; else the first that a person waits for."""
        waited = [one for one in every if waited_for(one)]
        return max(waited, key=_minutes, default=None)


def waited_for(one: Step) -> bool:
    """Whether an operation may take minutes."""
    known = usual(one.type, one.op)
    return known.long if known else one.type in TAKES_LONG


def _minutes(one: Step) -> float:
    known = usual(one.type, one.op)
    return float(known.high_minutes) if known else 0.0


def _shown(one: Step) -> str:
    return f"{one.type.rpartition(':')[2]} {one.name}"


def lasted(seconds: float) -> str:
    """`4 min 10 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
