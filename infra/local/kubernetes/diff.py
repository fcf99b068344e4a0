"""
Diff: what a manifest says otherwise than the object was seen last.

Of the live object only what the program wrote counts; the cluster fills in the rest. So drift shows once a refresh has seen it, though the
program has not changed. Something empty is as good as nothing: the cluster keeps neither.

Source: pulumi-kubernetes at 2026-07 (`Diff`, `convertPatchToDiff`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pulumi.runtime.proto import provider_pb2

from infra.local.kubernetes import replaces
from infra.local.kubernetes.config import DEFAULT, Config
from infra.local.kubernetes.kinds import of_manifest
from infra.local.kubernetes.manifest import INPUTS, Data, live_of, name_of, namespace_of, normal, pruned
from infra.local.kubernetes.paths import parsed, within
from infra.provider.values import Path, Unknown, written

PropertyDiff = provider_pb2.PropertyDiff
ABSENT = object()


class Change(NamedTuple):
    """One change in one place."""

    path: Path
    kind: str
    """ADD, DELETE or UPDATE."""
    replaces: bool = False

    @property
    def diff(self) -> Any:
        kind = PropertyDiff.Kind.Value(f"{self.kind}_REPLACE" if self.replaces else self.kind)
        return PropertyDiff(kind=kind, inputDiff=self.kind == "DELETE")


class Found(NamedTuple):
    """What changed, and whether the old object has to go before the new one can be."""

    changes: list[Change]
    same_name: bool


def of_object(state: Data, new: Data, config: Config, *, namespaced: bool, ignored: Iterable[str] = ()) -> Found:
    """
    Every change of an object.

    Args:
        state: As the engine keeps it.
        new: The inputs of this run.
        namespaced: Whether the kind is in namespaces: one that is not written is the default one.
        ignored: Property paths whose changes do not count.
    """
    live = live_of(state)
    old = pruned(live, normal(state.get(INPUTS) or {}))
    old = _placed(old | {key: live[key] for key in ("apiVersion", "kind") if key in live}, namespaced)
    new = _placed(normal(new), namespaced)
    if name_of(new):
        old["metadata"]["name"] = name_of(live)
    kind = of_manifest(new.get("apiVersion"), new.get("kind"))
    fixed = replaces.of(kind, new, config)
    if (of_manifest(live.get("apiVersion"), live.get("kind")))[0::2] != kind[0::2]:
        fixed = (*fixed, ("apiVersion",), ("kind",))  # a thing of another group or kind: what the official provider would fail to find
    unseen = [parsed(path) for path in ignored]
    found = [
        Change(path, how, replaces.hit(fixed, path, value))
        for path, how, value in _maps(old, new, ())
        if not any(within(path, hidden) for hidden in unseen) and not (how == "ADD" and value in ({}, []))
    ]
    same = name_of(new) == name_of(live) and namespace_of(new) == namespace_of(_placed(live, namespaced))
    return Found(found, same)


def answer(found: Found) -> Any:
    """What the engine is told."""
    changes = found.changes
    anew = [change for change in changes if change.replaces]
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if changes else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=sorted({str(change.path[0]) for change in changes}),
        replaces=sorted({written(change.path) for change in anew}),
        detailedDiff={written(change.path): change.diff for change in changes},
        hasDetailedDiff=True,
        deleteBeforeReplace=bool(anew) and found.same_name,
    )


def _placed(manifest: Data, namespaced: bool) -> Data:
    """A copy with its namespace as it counts: the default one where none is written; none where the kind is in none."""
    metadata = manifest.get("metadata") or {}
    if isinstance(metadata, Unknown):
        return manifest
    placed = {key: value for key, value in metadata.items() if key != "namespace"}
    if namespaced:
        placed["namespace"] = metadata.get("namespace") or DEFAULT
    return manifest | {"metadata": placed}


def _maps(old: Data, new: Data, path: Path) -> Iterator[tuple[Path, str, Any]]:
    for key in sorted({*old, *new}):
        yield from differing(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))


def differing(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
    """Every change between two values, each of which may be `ABSENT`: its path, how, and what there is now."""
    if new is ABSENT:
        yield path, "DELETE", None
    elif old is ABSENT:
        yield path, "ADD", new
    elif isinstance(new, Unknown):
        yield path, "UPDATE", new
    elif isinstance(old, dict) and isinstance(new, dict):
        yield from _maps(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before, after = (one[index] if index < len(one) else ABSENT for one in (old, new))
            yield from differing(before, after, (*path, index))
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield path, "UPDATE", new
