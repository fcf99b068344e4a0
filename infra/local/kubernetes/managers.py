"""
Who manages an object's fields: what was made by a plain create is taken over before it is applied, so that an apply is no conflict.

Source: pulumi-kubernetes at 2026-07 (`fixCSAFieldManagers`, `patchForce`, `handleSSAIgnoreFields`).
"""

from __future__ import annotations

import secrets
from typing import Any

from infra.local.kubernetes.manifest import Data, says_true
from infra.provider.values import Path

CREATOR = "pulumi-kubernetes"
"""Manager of what a create wrote."""
APPLY, UPDATE = "Apply", "Update"
OF_PROVIDER = {(CREATOR, UPDATE), ("pulumi-kubernetes.exe", UPDATE), ("pulumi-resource-kubernetes", UPDATE)}
TAKEN_OVER = OF_PROVIDER | {("kubectl", APPLY), ("kubectl", UPDATE), ("before-first-apply", UPDATE)}


def new_name() -> str:
    """A manager's name for one resource: the state keeps it."""
    return f"{CREATOR}-{secrets.token_hex(4)}"


def entries(live: Data) -> list[Data]:
    found = (live.get("metadata") or {}).get("managedFields")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def takeover(live: Data, manager: str) -> list[Data]:
    """The JSON patch by which *manager* gets what a create, or kubectl, wrote; nothing where there is none of that."""
    every = entries(live)
    theirs = [one for one in every if (one.get("manager"), one.get("operation")) in TAKEN_OVER and not one.get("subresource")]
    if not theirs:
        return []
    mine = next((one for one in every if (one.get("manager"), one.get("operation")) == (manager, APPLY)), None)
    fields: Data = {}
    for one in [*theirs, *([mine] if mine else [])]:
        _merge(fields, one.get("fieldsV1") or {})
    taken = (mine or theirs[0]) | {"manager": manager, "operation": APPLY, "fieldsV1": fields}
    left = [one for one in every if one is not mine and all(one is not other for other in theirs)]
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": [*left, taken]},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"].get("resourceVersion", "")},
    ]


def forced(inputs: Data, live: Data | None, *, always: bool, preview: bool) -> bool:
    """Whether fields that others manage are taken from them."""
    if always or says_true(inputs, "patchForce"):
        return True
    if live is None:
        return preview
    every = entries(live)
    return not every or (preview and any((one.get("manager"), one.get("operation")) in OF_PROVIDER for one in every))


def owned(live: Data, manager: str, path: Path) -> tuple[bool, bool]:
    """Whether *manager* manages what is at a path of keys, and whether others do."""
    mine = theirs = False
    for one in entries(live):
        has = _has(one.get("fieldsV1") or {}, path)
        mine = mine or (has and one.get("manager") == manager)
        theirs = theirs or (has and one.get("manager") != manager)
    return mine, theirs


def _has(fields: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(fields, dict) or f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
    return True


def _merge(into: Data, other: Data) -> None:
    for key, value in other.items():
        into.setdefault(key, {})
        if isinstance(value, dict):
            _merge(into[key], value)
