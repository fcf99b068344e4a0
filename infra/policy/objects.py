"""Objects of Kubernetes as rules see them: their manifest, and the pods in it, however deep a kind has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.declared import Declared, Secret

OBJECT = re.compile(r"kubernetes:(?!helm\.sh/|yaml/|kustomize/)[^:]+/v[0-9][a-z0-9]*:(?!\w+(?:Patch|List)$)\w+")
"""Types of one object each. Charts are none: what is in them nobody sees before they are rendered; patches are a part of one."""


_last: tuple[Declared, tuple[tuple[str, Mapping[str, Any]], ...]] | None = None


def is_object(resource: Declared) -> bool:
    """Whether it is one object, which its inputs are the manifest of."""
    return not resource.existing and OBJECT.fullmatch(resource.type) is not None


def pods(resource: Declared) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every pod spec in an object, with its path: whatever holds a list of containers is one, in kinds of any controller."""
    global _last
    last = _last
    if last is None or last[0] is not resource:
        found = tuple(_pods("", resource.inputs)) if is_object(resource) else ()
        _last = last = (resource, found)
    yield from last[1]


def containers(path: str, pod: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All containers of a pod, those that start first and those of a debugger too."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        several = pod.get(key)
        for index, one in enumerate(several if isinstance(several, list) else []):
            if isinstance(one, Mapping):
                yield f"{path}.{key}[{index}]" if path else f"{key}[{index}]", one


def _pods(path: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, Secret):
        value = value.value
    if type(value) is str:
        return
    if type(value) is dict or isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            yield path, value
            return
        for key, inner in value.items():
            yield from _pods(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _pods(f"{path}[{index}]", inner)
