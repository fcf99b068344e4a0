"""Rules of a Cloud TPU node hold for the nodes of a queued resource, too, and for those that a job's runner makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from infra.declared import Declared
from infra.planned_jobs import PATH, RUN_JOB, nodes
from infra.policy.rule import Broken
from infra.queued_nodes import QUEUED, asked

Find = Callable[[Declared, str], Iterator[Broken]]


def with_queued(find: Find) -> Find:
    """*find*, of each node where a resource asks for several; the zone is the resource's own."""

    def found(resource: Declared, region: str) -> Iterator[Broken]:
        if resource.type == RUN_JOB:
            yield from _planned(find, resource, region)
        if resource.type != QUEUED:
            yield from find(resource, region)
            return
        seen: set[str] = set()
        for one in asked(resource):
            for broken in find(one.node, region):
                path = broken.path if broken.path == "zone" else f"{one.path}.{broken.path}"
                at = replace(broken, path=path)
                if str(at) not in seen:
                    seen.add(str(at))
                    yield at

    return found


def _planned(find: Find, resource: Declared, region: str) -> Iterator[Broken]:
    for what, node in nodes(resource):
        for broken in find(node, region):
            yield replace(broken, path=PATH, message=f"a node as {what}: {broken}")
