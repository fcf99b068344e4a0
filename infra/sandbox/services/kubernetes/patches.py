"""
The patches of a Kubernetes API server, but for server-side apply: merge patch, strategic merge patch, JSON patch.

Sources: RFC 7396, RFC 6902, and `strategicpatch` of k8s.io/apimachinery: of its directives those that clients of today send.
"""

from __future__ import annotations

import copy
from typing import Any

from infra.sandbox.services.kubernetes import shapes
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.statuses import Failure, bad_request, invalid

MERGE, STRATEGIC, JSON, APPLY = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)


def merge(into: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    found = dict(into) if isinstance(into, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merge(found.get(key), value)
    return found


def strategic(into: Any, patch: Any, field: str = "") -> Any:
    """A merge patch whose lists of things with keys are merged by them."""
    if isinstance(patch, dict):
        return _strategic_map(into if isinstance(into, dict) else {}, patch)
    if isinstance(patch, list) and isinstance(into, list):
        if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
            return [copy.deepcopy(item) for item in patch if not (isinstance(item, dict) and "$patch" in item)]
        names = shapes.keys(field, [item for item in patch if isinstance(item, dict)])
        if names and field in shapes.KEYS | {"ports": ()}:
            return _strategic_list(into, patch, names[:1])
        if field in shapes.SETS:
            return into + [item for item in patch if item not in into]
    return _plain(patch)


def _strategic_map(into: dict[str, Any], patch: dict[str, Any]) -> Any:
    if patch.get("$patch") == "replace":
        return _plain({key: value for key, value in patch.items() if key != "$patch"})
    if patch.get("$patch") == "delete":
        return {}
    found = dict(into)
    if isinstance(retained := patch.get("$retainKeys"), list):
        found = {key: value for key, value in found.items() if key in retained}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            found[name] = [item for item in found.get(name) or [] if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            found.pop(key, None)
        elif key in found:
            found[key] = strategic(found[key], value, key)
        else:
            found[key] = _plain(value)
    return found


def _strategic_list(into: list[Any], patch: list[Any], names: tuple[str, ...]) -> list[Any]:
    """The merge key of a list is the first of its keys: `containerPort`, `port`, `topologyKey`."""
    found = list(into)
    for item in patch:
        key = shapes.key_of(item, names)
        index = next((at for at, one in enumerate(found) if isinstance(one, dict) and shapes.key_of(one, names) == key), None)
        if item.get("$patch") == "delete":
            if index is not None:
                del found[index]
        elif index is None:
            found.append(_plain(item))
        else:
            found[index] = strategic(found[index], item)
    return found


def _plain(value: Any) -> Any:
    """A value that meets nothing: without nulls and directives."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None and not key.startswith("$")}
    if isinstance(value, list):
        return [_plain(item) for item in value if not (isinstance(item, dict) and item.get("$patch") == "delete")]
    return value


def operations(kind: Kind, name: str, into: Any, patch: Any) -> Any:
    """
    RFC 6902.

    Raises:
        Failure: It is no such patch, or it does not fit.
    """
    if not isinstance(patch, list) or not all(isinstance(one, dict) for one in patch):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    root = {"": copy.deepcopy(into)}
    for one in patch:
        what, path = one.get("op"), one.get("path")
        if what not in ("add", "remove", "replace", "move", "copy", "test") or not isinstance(path, str) or path[:1] not in ("", "/"):
            raise bad_request(f"Unexpected kind: {what}")
        try:
            value = _taken(root, str(one["from"]), gone=what == "move") if what in ("move", "copy") else one.get("value")
            _done(root, what, path, copy.deepcopy(value))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise _does_not_fit(kind, name, what, path) from None
    return root.get("")


def _does_not_fit(kind: Kind, name: str, what: str, path: str) -> Failure:
    """Source of the words: `patch.go` of k8s.io/apiserver over evanphx/json-patch."""
    if what == "test":
        return invalid(kind, name, [("FieldValueInvalid", f"Invalid value: testing value {path} failed: test failed", "patch")])
    return Failure(422, "Invalid", "the server rejected our request due to an error in our request", {})


def _done(root: Any, what: str, path: str, value: Any) -> None:
    holder, last = _place(root, path)
    if what == "test":
        if _get(holder, last) != value:
            raise ValueError(path)
    elif what == "remove":
        del holder[_index(holder, last) if isinstance(holder, list) else last]
    elif what == "replace" or (isinstance(holder, dict) and what != "replace"):
        if what == "replace":
            _get(holder, last)
        holder[_index(holder, last) if isinstance(holder, list) else last] = value
    else:
        at = len(holder) if last == "-" else int(last)
        if not 0 <= at <= len(holder):
            raise IndexError(path)
        holder.insert(at, value)


def _taken(root: Any, path: str, *, gone: bool) -> Any:
    holder, last = _place(root, path)
    value = _get(holder, last)
    if gone:
        del holder[_index(holder, last) if isinstance(holder, list) else last]
    return value


def _place(root: Any, path: str) -> tuple[Any, str]:
    """What holds the last step of a pointer, and that step."""
    holder, words = root, [word.replace("~1", "/").replace("~0", "~") for word in path.split("/")]
    for word in words[:-1]:
        holder = _get(holder, word)
    if not isinstance(holder, dict | list):
        raise TypeError(path)
    return holder, words[-1]


def _get(holder: Any, word: str) -> Any:
    return holder[_index(holder, word)] if isinstance(holder, list) else holder[word]


def _index(holder: list[Any], word: str) -> int:
    at = int(word)
    if not 0 <= at < len(holder):
        raise IndexError(word)
    return at
