"""What an update would do to a stack, as a person reads it: by part of the stack file, with what is lost first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.catalog.usual_times import UsualTime, usual
from infra.check import place
from infra.clouds import resources
from infra.declared import Declared
from infra.gitops.lost import Kind, lost
from infra.gitops.plan import Change, begun, is_component
from infra.local.engine import events

ORDER = ("accelerators", "data", "access")
"""Of what is lost, the worst first."""
WORDS = {"create": "new", "update": "changed", "replace": "made anew", "delete": "deleted", "import": "taken over"}
"""Operations of the engine, as they are told."""
RANKS = ("replace", "delete", "update", "import", "create")
ENDPOINT = "gcp:vertex/aiEndpoint:AiEndpoint"


@dataclass(frozen=True, slots=True)
class Changed:
    """One resource that would change, and what a person asks about it."""

    change: Change
    urn: str
    part: str
    """What of the stack it belongs to: `Endpoint recommend`; itself, where it belongs to nothing."""
    place: str
    protected: bool

    @property
    def op(self) -> str:
        return self.change.op

    @property
    def shown(self) -> str:
        return f"{kind_of(self.change.type)} {self.change.name}"

    @property
    def lost(self) -> tuple[Kind, str] | None:
        """What goes with it, and the stack file alone does not bring back."""
        return lost(self.change.type) if self.op in ("replace", "delete") else None

    @property
    def usual(self) -> UsualTime | None:
        """What takes longest of it; None where nobody measured it."""
        ops = ("create", "delete") if self.op == "replace" else (self.op,)
        return max(filter(None, (usual(self.change.type, op) for op in ops)), key=lambda one: one.high_minutes, default=None)

    @property
    def scarce(self) -> bool:
        """Whether accelerators stand or fall with it: those wait for room, too."""
        kind = lost(self.change.type)
        return kind is not None and kind[0] == "accelerators"


def changes(steps: Iterable[events.Step], outcome: events.Outcome, after: Sequence[Declared], before: Sequence[Declared]) -> list[Changed]:
    """
    What a preview said, with what the stack declares (*after*) and what stands (*before*) tells of it; what is lost first, then by kind
    of change.
    """
    known = {one.urn: one for one in (*before, *after)}
    stood = {one.urn for one in before if one.protect}
    found = [_changed(change, urn, known, urn in stood) for urn, change in begun(steps, outcome).items()]
    return sorted(found, key=_rank)


def by_the_file(after: Sequence[Declared]) -> list[Changed]:
    """What a stack would make by its file alone: everything is new."""
    known = {one.urn: one for one in after}
    made = [one for one in after if not one.existing and not is_component(one.type)]
    return [_changed(Change("create", one.type, one.name), one.urn, known, protected=False) for one in made]


def _changed(change: Change, urn: str, known: Mapping[str, Declared], protected: bool) -> Changed:
    resource = known.get(urn)
    if resource is None:
        return Changed(change, urn, f"{kind_of(change.type)} {change.name}", "unknown", protected)
    root = resource
    while root.parent in known:
        root = known[root.parent]
    return Changed(change, urn, f"{kind_of(root.type)} {root.name}", place(resource), protected)


def _rank(one: Changed) -> tuple[int, int, str, str]:
    weight = ORDER.index(one.lost[0]) if one.lost else len(ORDER)
    return weight, RANKS.index(one.op) if one.op in RANKS else len(RANKS), one.part, one.shown


def kind_of(type_: str) -> str:
    """`gcp:container/nodePool:NodePool` -> `NodePool`."""
    return type_.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class Part:
    """Parts of one kind, and what happens in them."""

    kind: str
    names: tuple[str, ...]
    ops: Mapping[str, int]
    places: tuple[str, ...]

    @property
    def shown(self) -> str:
        """A part that is called as its kind is, such as `network`, says its kind only."""
        return self.kind if [name.lower() for name in self.names] == [self.kind.lower()] else f"{self.kind} {', '.join(self.names)}"


def parts(every: Sequence[Changed]) -> list[Part]:
    """A line for each kind of part: a hundred resources are a dozen lines."""
    kinds: dict[str, list[Changed]] = {}
    for one in every:
        kinds.setdefault(one.part.partition(" ")[0], []).append(one)
    return [
        Part(
            kind,
            tuple(dict.fromkeys(one.part.partition(" ")[2] for one in held)),
            counted(held),
            tuple(sorted({one.place for one in held})),
        )
        for kind, held in sorted(kinds.items())
    ]


def counted(every: Sequence[Changed]) -> dict[str, int]:
    """How many of each operation, the gravest first."""
    count = Counter(one.op for one in every)
    return {op: count[op] for op in sorted(count, key=lambda op: RANKS.index(op) if op in RANKS else len(RANKS))}


def in_place(every: Sequence[Changed]) -> Iterator[tuple[tuple[str, ...], list[Changed]]]:
    """What is changed in its place: all that differ in the same properties, together."""
    found: dict[tuple[str, ...], list[Changed]] = {}
    for one in every:
        if one.op == "update":
            found.setdefault(tuple(one.change.causes), []).append(one)
    yield from sorted(found.items())


def waits(every: Sequence[Changed]) -> tuple[list[Changed], list[Changed]]:
    """What takes a minute or more, the longest first; and accelerators of which nobody measured how long they take."""
    long = [one for one in every if one.usual and one.usual.long]
    unknown = [one for one in every if one.scarce and one.op in ("create", "replace") and one.usual is None]
    return sorted(long, key=lambda one: -one.usual.high_minutes if one.usual else 0), unknown


def endpoints(state: Mapping[str, Any] | None) -> dict[str, str]:
    """The number of each Vertex AI endpoint that stands: who asks one asks by it."""
    found = {
        one["urn"].rpartition("::")[2]: str(one.get("id", "")).rpartition("/")[2] for one in resources(state) if one["type"] == ENDPOINT
    }
    return dict(sorted((name, number) for name, number in found.items() if number))
