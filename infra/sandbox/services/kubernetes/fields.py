"""
Who manages which field of an object: `metadata.managedFields`, kept by every write, and server-side apply, which lives by it.

Sources: https://kubernetes.io/docs/reference/using-api/server-side-apply/, read 2026-11; `sigs.k8s.io/structured-merge-diff`: which fields
an applied object owns, what conflicts, and what goes when it is applied no more.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import shapes
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.statuses import Failure

Path = tuple[str, ...]
"""Steps as `fieldsV1` writes them: `f:spec`, `k:{"name":"main"}`, `v:"a"`."""
ITEM = object()
"""The value of an item of a list with keys: that it is there."""
OURS = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        *(
            ("f:metadata", f"f:{field}")
            for field in (
                "creationTimestamp",
                "deletionGracePeriodSeconds",
                "deletionTimestamp",
                "generation",
                "managedFields",
                "name",
                "namespace",
                "resourceVersion",
                "selfLink",
                "uid",
            )
        ),
    }
)
"""Fields that nobody manages. Source: `managedfields/internal/stripmeta.go` of k8s.io/apimachinery."""


def flat(body: Any, path: Path = (), field: str = "") -> Iterator[tuple[Path, Any]]:
    """Every field that somebody can manage, with its value."""
    if isinstance(body, list):
        if (names := shapes.keys(field, body)) and field:
            for item in body:
                step = (*path, f"k:{_json(dict(zip(names, shapes.key_of(item, names), strict=True)))}")
                yield step, ITEM
                yield from _inside(item, step)
        elif field in shapes.SETS and body:
            for item in body:
                yield (*path, f"v:{_json(item)}"), item
        else:
            yield path, body
    elif shapes.is_whole(field, body):
        yield path, body
    else:
        yield from _inside(body, path)


def _inside(body: Body, path: Path) -> Iterator[tuple[Path, Any]]:
    for key, value in body.items():
        step = (*path, f"f:{key}")
        if step not in OURS:
            yield from flat(value, step, key)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def encoded(paths: set[Path]) -> Body:
    """Paths as `fieldsV1`."""
    root: Body = {}
    for path in sorted(paths):
        inside = root
        for step in path:
            inside = inside.setdefault(step, {})
        inside["."] = {}
    return {key: _bare(value) for key, value in root.items()}


def _bare(inside: Body) -> Body:
    """Without the dot where there is nothing else."""
    return {} if inside.keys() == {"."} else {key: {} if key == "." else _bare(value) for key, value in inside.items()}


def decoded(fields: Any) -> set[Path]:
    """`fieldsV1` as paths; what is no such thing is none."""
    found: set[Path] = set()

    def walk(inside: Any, path: Path) -> None:
        if not isinstance(inside, dict):
            return
        if (not inside or "." in inside) and path:
            found.add(path)
        for key, value in inside.items():
            if key != ".":
                walk(value, (*path, key))

    walk(fields, ())
    return found


def managers(body: Body) -> list[Body]:
    found = body["metadata"].get("managedFields")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def written(before: Body | None, after: Body, manager: str, version: str, now: str, subresource: str = "") -> None:
    """Notes in *after* who changed what by a create, a replace or a patch: the fields are theirs from then on."""
    old = dict(flat(before)) if before is not None else {}
    new = dict(flat(after))
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    gone = old.keys() - new.keys()
    entries, mine = [], None
    for entry in managers(before) if before is not None else []:
        owned = decoded(entry.get("fieldsV1"))
        if _is(entry, manager, "Update", version, subresource):
            mine = entry
            owned |= changed
        else:
            owned -= changed
        if owned := owned - gone:
            entries.append({**entry, "fieldsV1": encoded(owned)} | ({"time": now} if entry is mine and (changed or gone) else {}))
    if mine is None and changed:
        entries.append(_entry(manager, "Update", version, subresource, now, changed))
    after["metadata"].pop("managedFields", None)
    if entries:
        after["metadata"]["managedFields"] = entries


def _entry(manager: str, operation: str, version: str, subresource: str, now: str, paths: set[Path]) -> Body:
    entry = {"manager": manager, "operation": operation, "apiVersion": version, "time": now, "fieldsType": "FieldsV1"}
    return entry | {"fieldsV1": encoded(paths)} | ({"subresource": subresource} if subresource else {})


def _is(entry: Body, manager: str, operation: str, version: str, subresource: str) -> bool:
    said = (entry.get("manager"), entry.get("operation"), entry.get("apiVersion"), entry.get("subresource", ""))
    return said == (manager, operation, version, subresource)


def applied(
    kind: Kind, live: Body | None, wanted: Body, manager: str, version: str, *, force: bool, now: str, subresource: str = ""
) -> Body:
    """
    What server-side apply makes of *live*: what is wanted, without what this manager applied before and wants no more.

    Raises:
        Failure: Others manage a field that would change, and it is not forced.
    """
    if live is None:
        new_one = copy.deepcopy(wanted)
        new_one["metadata"]["managedFields"] = [_entry(manager, "Apply", version, subresource, now, set(dict(flat(wanted))))]
        return new_one
    entries = managers(live)
    mine = next((entry for entry in entries if (entry.get("manager"), entry.get("operation")) == (manager, "Apply")), None)
    after: Body = merged(live, wanted)
    want, old, new = dict(flat(wanted)), dict(flat(live)), dict(flat(after))
    changes = {path for path in want if path in new and (path not in old or old[path] != new[path])}
    others = [(entry, decoded(entry.get("fieldsV1"))) for entry in entries if entry is not mine]
    conflicts = [(entry, path) for entry, owned in others for path in sorted(owned & changes)]
    if conflicts and not force:
        raise _conflict(kind, wanted["metadata"]["name"], conflicts)
    dropped = (decoded(mine.get("fieldsV1")) if mine else set()) - want.keys()
    kept = {path for _, owned in others for path in owned}
    for path in sorted(dropped, key=len):
        if not any(one[: len(path)] == path for one in kept) and not _is_key(path):
            _remove(after, path)
    entry = _entry(manager, "Apply", version, subresource, now, set(want))
    if mine is not None and decoded(mine.get("fieldsV1")) == set(want):
        entry["time"] = mine.get("time", now)
    rest = [{**one, "fieldsV1": encoded(owned)} for one, both in others if (owned := both - changes)]
    after["metadata"]["managedFields"] = [entry, *rest]
    return after


def merged(live: Any, wanted: Any, field: str = "") -> Any:
    """What is wanted, in what is there."""
    if isinstance(live, dict) and isinstance(wanted, dict) and field not in shapes.WHOLE:
        found = dict(live)
        for key, value in wanted.items():
            found[key] = merged(live.get(key), value, key) if key in live else copy.deepcopy(value)
        return found
    if isinstance(live, list) and isinstance(wanted, list):
        names = shapes.keys(field, wanted or live)
        if names and names == shapes.keys(field, live):
            there = {shapes.key_of(item, names): item for item in live}
            want = {shapes.key_of(item, names): item for item in wanted}
            both = {key: merged(there[key], item) if key in there else copy.deepcopy(item) for key, item in want.items()}
            # Items that somebody else added stay, before those that are wanted where they were before them.
            return [both.pop(key) if key in both else there[key] for key in there if key in both or key not in want] + list(both.values())
        if field in shapes.SETS:
            return live + [item for item in wanted if item not in live]
    return copy.deepcopy(wanted)


def _is_key(path: Path) -> bool:
    """Whether a field tells an item of a list apart: it goes with the item only."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in json.loads(path[-2][2:])


def _remove(body: Any, path: Path) -> None:
    """Takes a field away, and what is empty then."""
    step, rest = path[0], path[1:]
    if step.startswith("f:") and isinstance(body, dict):
        key = step[2:]
        if key not in body:
            return
        if rest:
            _remove(body[key], rest)
        if not rest or body[key] in ({}, []):
            del body[key]
    elif isinstance(body, list):
        wanted = json.loads(step[2:])
        for item in list(body):
            if step.startswith("v:") and item == wanted:
                body.remove(item)
            elif step.startswith("k:") and isinstance(item, dict) and shapes.key_of(item, tuple(wanted)) == tuple(wanted.values()):
                if rest:
                    _remove(item, rest)
                else:
                    body.remove(item)


def _conflict(kind: Kind, name: str, conflicts: list[tuple[Body, Path]]) -> Failure:
    """Source of the words: `managedfields/internal/conflict.go` of k8s.io/apimachinery."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_said(entry)}", "field": shown(path)} for entry, path in conflicts
    ]
    if len(conflicts) == 1:
        words = f"Apply failed with 1 conflict: conflict with {_said(conflicts[0][0])}: {shown(conflicts[0][1])}"
    else:
        lines = []
        for who in dict.fromkeys(sorted(_said(entry) for entry, _ in conflicts)):
            lines += [f"conflicts with {who}:", *(f"- {shown(path)}" for entry, path in conflicts if _said(entry) == who)]
        words = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
    return Failure(409, "Conflict", words, {"causes": causes})


def _said(entry: Body) -> str:
    who = json.dumps(entry.get("manager", ""))
    if entry.get("subresource"):
        who += f" with subresource {json.dumps(entry['subresource'])}"
    if entry.get("operation") == "Update":
        who += f" using {entry.get('apiVersion')}" + (f" at {entry['time']}" if "time" in entry else "")
    return who


def shown(path: Path) -> str:
    """`.spec.containers[name="main"].image`."""
    words = ""
    for step in path:
        if step.startswith("f:"):
            words += f".{step[2:]}"
        elif step.startswith("k:"):
            words += "[" + ",".join(f"{key}={_json(value)}" for key, value in json.loads(step[2:]).items()) + "]"
        else:
            words += f"[={step[2:]}]"
    return words
