"""Manifests as the engine keeps them: which part of a live object the program wrote, and what of it is secret."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from infra.provider.values import Path, Unknown, has_unknown

Data = dict[str, Any]

SECRET = "Secret"  # noqa: S105 - a kind of object
INPUTS = "__inputs"
API_VERSION = "__initialApiVersion"
MANAGER = "__fieldManager"
KEPT = (INPUTS, API_VERSION, MANAGER)
"""What a state has besides the live object, as the official provider keeps it: it can take over a state of ours."""
OF_SERVER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
"""Metadata that only the server says."""
PREFIX = "pulumi.com/"


def without_nulls(value: Any) -> Any:
    """*value* without keys that hold null: to write none is not to write."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


def normal(inputs: Data) -> Data:
    """Inputs without what only the server says, and a Secret's texts where the server puts them: what means the same looks the same."""
    metadata = inputs.get("metadata")
    if isinstance(metadata, dict):
        inputs = inputs | {"metadata": {key: value for key, value in metadata.items() if key not in OF_SERVER}}
    texts, data = inputs.get("stringData"), inputs.get("data") or {}
    if inputs.get("kind") != SECRET or not isinstance(texts, dict) or not isinstance(data, dict) or has_unknown(inputs):
        return inputs
    encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
    kept = {key: value for key, value in inputs.items() if key != "stringData"}
    return kept | ({"data": data | encoded} if data or encoded else {})


def pruned(live: Any, written: Any) -> Any:
    """The part of *live* that *written* has, too: the rest is the cluster's own."""
    if isinstance(live, dict) and isinstance(written, dict):
        return {key: pruned(value, written[key]) for key, value in live.items() if key in written}
    if isinstance(live, list) and isinstance(written, list):
        if not live or not written:
            return []
        if type(live[0]) is not type(written[0]):
            return live
        return [pruned(part, other) for part, other in zip(live, written, strict=False)]
    return live


def live_of(state: Mapping[str, Any]) -> Data:
    """The object of a state, as it was seen last."""
    return {key: value for key, value in state.items() if key not in KEPT}


def noted(manifest: Mapping[str, Any]) -> Data:
    metadata = manifest.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def annotation(manifest: Mapping[str, Any], name: str) -> str:
    """What the program says to the provider by `pulumi.com/NAME`; empty where it says nothing."""
    found = noted(manifest).get(f"{PREFIX}{name}")
    return "" if found is None or isinstance(found, Unknown) else str(found)


def says_true(manifest: Mapping[str, Any], name: str) -> bool:
    return annotation(manifest, name) == "true"


def name_of(manifest: Mapping[str, Any]) -> str:
    """Empty where there is none, or it is not known yet."""
    return _metadata(manifest, "name")


def namespace_of(manifest: Mapping[str, Any]) -> str:
    return _metadata(manifest, "namespace")


def _metadata(manifest: Mapping[str, Any], key: str) -> str:
    found = dig(manifest.get("metadata"), key)
    return found if isinstance(found, str) else ""


def dig(value: Any, *steps: str) -> Any:
    """What is below a path of keys; None where there is nothing."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def secrets(values: Mapping[str, Any], given: Iterable[Path]) -> set[Path]:
    """
    Paths in *values* that are secret, by those that were in what was given: a list is so as a whole, since its order may change. What a
    Secret holds is always.
    """
    found = set()
    for path in given:
        marked: Path = ()
        part: Any = values
        for step in path:
            if isinstance(step, int) or not isinstance(part, dict) or step not in part:
                break
            marked, part = (*marked, step), part[step]
        else:
            step = ""
        if marked and (len(marked) == len(path) or isinstance(step, int) or not isinstance(part, dict)):
            found.add(marked)
    if values.get("kind") == SECRET:
        found |= {(key,) for key in ("data", "stringData") if key in values}
    return {path for path in found if not any(path[:size] in found for size in range(1, len(path)))}
