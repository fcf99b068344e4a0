"""One version of a stack's state as the engine keeps it in a bucket: read and judged, held against another, joined with another."""

from __future__ import annotations

import copy
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GZIP = ".gz"
OWN = "pulumi:"
"""Beginning of the types of the engine's own resources: the stack, providers, references."""


class DamagedError(Exception):
    """It is no state, or not this stack's: why."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A resource that stands in a cloud."""

    urn: str
    id: str

    @property
    def type(self) -> str:
        """Type token, such as `gcp:storage/bucket:Bucket`."""
        return self.urn.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """Name in the program."""
        return self.urn.split("::", 3)[3]


@dataclass(frozen=True, slots=True)
class Difference:
    """What of a later state an older one does not say."""

    made: tuple[Thing, ...]
    """In the later one alone: of these the older one knows nothing, and they stand."""
    gone: tuple[Thing, ...]
    """In the older one alone: a refresh takes them out."""
    changed: tuple[Thing, ...]
    """In both, and not the same: a refresh mends the older one."""

    def __bool__(self) -> bool:
        return bool(self.made or self.gone or self.changed)


class State:
    """A whole state."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    @classmethod
    def read(cls, content: bytes, stack: str, *, name: str = "") -> State:
        """
        Args:
            stack: Whose it must be, as the engine calls it: `organization/accelform/asia-east1`.
            name: Of the object: one that ends with .gz is packed.

        Raises:
            DamagedError: It is no whole state of that stack.
        """
        if name.endswith(GZIP):
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error):
                raise DamagedError("cannot be unpacked") from None
        if not content:
            raise DamagedError("is empty")
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            raise DamagedError("is no JSON") from None
        checkpoint = data.get("checkpoint") if isinstance(data, dict) else None
        if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("latest", None), dict | None):
            raise DamagedError("is JSON, and no state")
        if (whose := checkpoint.get("stack")) not in (stack, stack.rpartition("/")[2]):
            raise DamagedError(f"is the state of another stack: {whose}")
        found = cls(data)
        for problem in found._problems():
            raise DamagedError(problem)
        return found

    @property
    def resources(self) -> list[dict[str, Any]]:
        """As the engine lists them: each after what it depends on."""
        return self._latest.get("resources") or []

    @property
    def pending(self) -> list[str]:
        """URNs of what a run had begun as it was written."""
        return [str(one["resource"]["urn"]) for one in self._latest.get("pending_operations") or []]

    @property
    def secrets(self) -> Any:
        """How its secrets are encrypted."""
        return self._latest.get("secrets_providers")

    @property
    def _latest(self) -> dict[str, Any]:
        return self.data["checkpoint"].get("latest") or {}

    def _problems(self) -> Iterator[str]:
        """What the engine would refuse it for."""
        seen: set[str] = set()
        for one in self.resources if isinstance(self.resources, list) else [None]:
            if not isinstance(one, dict) or not isinstance(one.get("urn"), str) or one["urn"].count("::") < 3:
                yield "holds something that is no resource"
                return
            for other in (one.get("parent"), one.get("provider", "").rpartition("::")[0], *(one.get("dependencies") or [])):
                if other and other not in seen and not one.get("delete"):
                    yield f"names what is not in it: {other.rpartition('::')[2]}, which {one['urn'].rpartition('::')[2]} needs"
                    return
            seen.add(one["urn"])

    def things(self) -> dict[Thing, dict[str, Any]]:
        """What stands in a cloud by it: no components, and nothing of the engine's own."""
        return {
            Thing(one["urn"], str(one["id"])): one
            for one in self.resources
            if one.get("custom") and one.get("id") and not one["type"].startswith(OWN) and not one.get("external")
        }

    def against(self, later: State) -> Difference:
        """What a later state says besides."""
        mine, theirs = self.things(), later.things()
        return Difference(
            made=tuple(one for one in theirs if one not in mine),
            gone=tuple(one for one in mine if one not in theirs),
            changed=tuple(one for one in mine if one in theirs and mine[one].get("outputs") != theirs[one].get("outputs")),
        )

    def with_later(self, later: State) -> State:
        """
        This state, and what only a later one has: so nothing that was made since is forgotten. A refresh takes out what is gone again.

        A component is the engine's own, and one URN; a thing that has another id than here was replaced since, and both are kept: the older
        one as what the next update deletes.
        """
        data = copy.deepcopy(dict(self.data))
        latest = data["checkpoint"].get("latest")
        if not latest:
            return later
        by_urn = {one["urn"]: index for index, one in enumerate(latest.get("resources") or []) if not one.get("delete")}
        resources: list[dict[str, Any]] = latest.setdefault("resources", [])
        replaced: list[dict[str, Any]] = []
        for one in later.resources:
            there = by_urn.get(one["urn"])
            if there is None:
                resources.append(copy.deepcopy(one))
            elif one.get("custom") and not one["type"].startswith(OWN) and resources[there].get("id") != one.get("id"):
                replaced.append(resources[there] | {"delete": True})
                resources[there] = copy.deepcopy(one)
        providers = {one["urn"]: one["id"] for one in resources if one["type"].startswith("pulumi:providers:")}
        for one in resources:
            urn = one.get("provider", "").rpartition("::")[0]
            if urn in providers:
                one["provider"] = f"{urn}::{providers[urn]}"
        latest["resources"] = [*_in_order(resources), *replaced]
        return State(data)

    def packed(self, name: str) -> bytes:
        """As an object of that name holds it."""
        content = json.dumps(self.data, indent=4).encode()
        return gzip.compress(content, mtime=0) if name.endswith(GZIP) else content


def _in_order(resources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each after its parent, its provider and what it depends on, else as they were: the engine refuses another order."""
    by_urn = {one["urn"]: one for one in resources if not one.get("delete")}
    order: list[dict[str, Any]] = []
    done: set[str] = set()
    for first in by_urn.values():
        waiting = [first]
        open_: set[str] = set()
        while waiting:
            one = waiting[-1]
            needs = [one.get("parent") or "", one.get("provider", "").rpartition("::")[0], *(one.get("dependencies") or [])]
            missing = [by_urn[urn] for urn in needs if urn in by_urn and urn not in done and urn not in open_]
            if missing and one["urn"] not in done:
                open_.add(one["urn"])
                waiting += missing
                continue
            waiting.pop()
            if one["urn"] not in done:
                done.add(one["urn"])
                order.append(one)
    return [*order, *(one for one in resources if one.get("delete"))]
