"""`same-region`: everything stands in the stack's region. Decided on inputs, at preview; what cannot be decided is a finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret
from infra.policy.locations import (
    FREE_KEYS,
    GLOBAL_TYPES,
    OWN_PLACE,
    SAID_DEEPER,
    WISHES,
    WORDS_OF_PEOPLE,
    Kind,
    is_zone,
    kind_of,
    referred,
    within,
)
from infra.policy.rule import Broken, Rule

GLOBAL = "global"
NOWHERE = ("pulumi:", "kubernetes:")
"""Types whose resources need not name a place: the engine's own (a provider may name a default one), and what is in a cluster, which stands
where the cluster does."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Places that are elsewhere, that are not known, or that are not said."""
    if resource.is_component:
        return
    has_place = not resource.type.startswith(NOWHERE)
    if resource.type in SAID_DEEPER:
        yield from _deeper(SAID_DEEPER[resource.type], resource.get(SAID_DEEPER[resource.type]))
    elif has_place and resource.type not in GLOBAL_TYPES and all(resource.inputs.get(key) is None for key in OWN_PLACE):
        yield Broken(_own_key(resource), "is not stated: the provider's default would decide, or the type has no known place")
    for key, value in resource.inputs.items():
        if key not in WORDS_OF_PEOPLE and key != WISHES.get(resource.type):
            yield from _walk(key, value, region, kind_of(key), places=key not in FREE_KEYS)


def _deeper(path: str, places: Any) -> Iterator[Broken]:
    """Places that are said in a list. What is in it is looked at with all other inputs, and so is an unknown one that promises places."""
    promises = kind_of(path.rpartition(".")[2])
    if places is None or places == [] or (places is UNKNOWN and not promises):
        yield Broken(path, "must be stated, and known at preview: else Google keeps it wherever it likes")


def _own_key(resource: Declared) -> str:
    return next((key for key in OWN_PLACE if key in resource.inputs), "location")


def _walk(path: str, value: Any, region: str, kind: Kind | None, *, places: bool, secret: bool = False) -> Iterator[Broken]:
    if isinstance(value, Secret):
        if kind and places:
            yield from _place(path, value, region, kind)
        else:
            yield from _walk(path, value.value, region, kind, places=places, secret=True)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in WORDS_OF_PEOPLE:
                here = places and name not in FREE_KEYS
                yield from _walk(f"{path}.{name}", inner, region, kind_of(str(name)), places=here, secret=secret)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            if inner is None and kind and places:  # alone it is an input left out; in a list it is a place not said
                yield from _place(f"{path}[{index}]", inner, region, kind)
            yield from _walk(f"{path}[{index}]", inner, region, kind, places=places, secret=secret)
    elif kind and places:
        if value is not None:
            yield from _place(path, Secret(value) if secret else value, region, kind)
    elif isinstance(value, str):
        for what, place in referred(value):
            if place.lower() != GLOBAL and not within(place, region):
                yield Broken(path, f"refers to {'another ' + what if secret else f'{what} {place}'}, not to {region}")


def _place(path: str, value: Any, region: str, kind: Kind | None) -> Iterator[Broken]:
    if value is UNKNOWN or isinstance(value, Secret):
        yield Broken(path, "must be known at preview, and no secret: a place that is decided later cannot be checked")
        return
    if not isinstance(value, str) or not value:
        yield Broken(path, f"{value!r} is no place: the provider's default would decide")
        return
    place = value.rpartition("/")[2]
    right = {"region": place.lower() == region, "zone": is_zone(place, region)}.get(str(kind), within(place, region))
    if not right:
        what = f"a zone of {region}" if kind == "zone" else f"{region} or a zone of it" if kind == "location" else region
        yield Broken(path, f"{value} is not {what}")


RULE = Rule(
    name="same-region",
    description="Everything that a stack declares, and what it refers to, stands in the stack's region.",
    remediation="name a place in the stack's region, or move the thing to the stack file of its own region",
    severity="high",
    find=find,
    of_others=True,
)
