"""`same-region`: everything stands in the stack's region. Decided on inputs, at preview; what cannot be decided is a finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret
from infra.policy.locations import FREE_TEXT, GLOBAL_TYPES, OWN_PLACE, PLACE_KEYS, referred, within
from infra.policy.rule import Broken, Rule

GLOBAL = "global"


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Places that are elsewhere, that are not known, or that are not said."""
    if resource.is_component or resource.type.startswith("pulumi:pulumi:"):
        return
    if resource.type.startswith("pulumi:providers:"):
        yield from _walk("", {key: resource.inputs[key] for key in OWN_PLACE & resource.inputs.keys()}, region)
        return
    if resource.type not in GLOBAL_TYPES and not any(resource.inputs.get(key) is not None for key in OWN_PLACE):
        yield Broken(_own_key(resource), "is not stated: the provider's default would decide, or the type has no known place")
    yield from _walk("", resource.inputs, region)


def _own_key(resource: Declared) -> str:
    return next((key for key in ("zone", "region", "location") if key in resource.inputs), "location")


def _walk(path: str, value: Any, region: str, key: str = "") -> Iterator[Broken]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in FREE_TEXT:
                yield from _walk(f"{path}.{name}" if path else name, inner, region, name)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _walk(f"{path}[{index}]", inner, region, key)
    elif key in PLACE_KEYS:
        yield from _place(path, value, region)
    elif isinstance(value, str):
        for kind, place in referred(value):
            if place != GLOBAL and not within(place, region):
                yield Broken(path, f"refers to {kind} {place}, not to {region}")


def _place(path: str, value: Any, region: str) -> Iterator[Broken]:
    if value is UNKNOWN or isinstance(value, Secret):
        yield Broken(path, "must be known at preview: a place that is decided later cannot be checked")
    elif isinstance(value, str) and value:
        place = value.rpartition("/")[2]
        if not within(place, region):
            yield Broken(path, f"{value} is not in {region}")


RULE = Rule(
    name="same-region",
    description="Everything that a stack declares, and what it refers to, stands in the stack's region.",
    remediation="name a place in the stack's region, or move the thing to the stack file of its own region",
    severity="high",
    find=find,
)
