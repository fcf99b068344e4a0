"""`manifest-valid`: an object of Kubernetes is what its schema says, before any cluster is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret
from infra.policy.objects import is_object
from infra.policy.rule import Broken, Rule

STANDS_FOR = "unknown"
"""What stands where a value is not known yet, so that the rest can be looked at."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """What a cluster would refuse of an object. What is not known yet, and what is secret, is believed."""
    if not is_object(resource):
        return
    from infra.catalog.manifests import faults

    hidden: list[str] = []
    manifest: Any = dict(resource.inputs)
    if _hides(manifest):
        manifest = _plain(manifest, "", hidden)
    for fault in faults(manifest):
        if not any(fault.path == path or fault.path.startswith((f"{path}.", f"{path}[")) for path in hidden):
            words = f"{fault.message}; allowed: {fault.allowed}" if fault.allowed else fault.message
            yield Broken(fault.path or "kind", words)


def _hides(value: Any) -> bool:
    """Whether anything in it is not known or not shown: of most objects nothing is."""
    kind = type(value)
    if kind is str:
        return False
    if kind is dict:
        return any(map(_hides, value.values()))
    return any(map(_hides, value)) if kind is list else kind not in (bool, int, float, type(None))


def _plain(value: Any, path: str, hidden: list[str]) -> Any:
    """The manifest without what is not known or not shown, whose paths are put to *hidden*."""
    from infra.catalog.manifest_words import place

    if value is UNKNOWN or isinstance(value, Secret):
        hidden.append(path)
        return STANDS_FOR
    if isinstance(value, dict):
        return {
            key: _plain(inner, path + (f".{key}" if path else key) if _is_word(key) else path + place((key,)), hidden)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{path}[{index}]", hidden) for index, inner in enumerate(value)]
    return value


def _is_word(key: object) -> bool:
    return isinstance(key, str) and key.replace("$", "_").replace("-", "_").isidentifier()


RULE = Rule(
    name="manifest-valid",
    description="Every object of Kubernetes is what its schema says.",
    remediation="correct the manifest; `kubectl explain` says what a field may be",
    severity="medium",
    find=find,
)
