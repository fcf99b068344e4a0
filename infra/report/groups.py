"""Which component a resource is a part of, and which one a line of the estimate is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infra.cost.context import short
from infra.cost.line import LineItem
from infra.declared import Declared

WHOLE = "whole stack"
"""What no component has: traffic, logs, requests."""


def managed(resources: Iterable[Declared]) -> list[Declared]:
    """Resources that Google Cloud has: neither groups nor providers."""
    return [one for one in resources if not one.is_component and not one.type.startswith("pulumi:")]


def by_component(resources: Sequence[Declared]) -> dict[str, list[Declared]]:
    """Every managed resource under the title of its component, in the order of their declaration."""
    known = {one.urn: one for one in resources if one.urn}
    groups: dict[str, list[Declared]] = {}
    for one in managed(resources):
        groups.setdefault(_title(one, known), []).append(one)
    return groups


def _title(resource: Declared, known: dict[str, Declared]) -> str:
    above: Declared | None = resource
    while above is not None and not above.is_component:
        above = known.get(above.parent)
    if above is None:
        return WHOLE
    _, kind, noun = above.type.split(":")
    return above.name if above.name.lower() == noun.lower() else f"{kind.replace('_', ' ').replace('tpu', 'TPU')} {above.name}"


def lines_by_component(lines: Iterable[LineItem], resources: Sequence[Declared]) -> dict[str, list[LineItem]]:
    """
    Every line of an estimate under the title of its component.

    A line names its resource, and several resources may have one name. Lines come in the order of the resources, so that the walk
    goes along both.
    """
    titles = {id(one): title for title, group in by_component(resources).items() for one in group}
    every = managed(resources)
    here = 0
    groups: dict[str, list[LineItem]] = {}
    for line in lines:
        found = next((index for index in range(here, len(every)) if _is_of(line, every, index)), None)
        if found is not None:
            here = found + _alone(line, every[found])
        groups.setdefault(WHOLE if found is None else titles[id(every[found])], []).append(line)
    return groups


def _is_of(line: LineItem, every: Sequence[Declared], index: int) -> bool:
    """Whether a line is of this resource, and not of a later one of the same name, whose type the line says."""
    if line.resource != every[index].name:
        return False
    later = every[index + 1 :]
    return short(every[index]) == line.what or not any(one.name == line.resource and short(one) == line.what for one in later)


def _alone(line: LineItem, resource: Declared) -> bool:
    """Whether it is the only line of its resource. Machines and NAT have several."""
    return line.what == short(resource) or short(resource) in ("Bucket", "Repository")
