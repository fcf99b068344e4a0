"""
Several stacks in one cluster: what is the whole cluster's, or a namespace, only one of them may hold.

Each would believe that it is its own, change it back and forth, and take it away from the other when it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from infra.apps import AppsSpec
from infra.errors import Problem

SHARED = ("namespaces", "priorities", "compute_classes", "queues")
"""Keys whose names are names in the whole cluster."""


def problems(stack: str, spec: AppsSpec, others: Mapping[str, AppsSpec]) -> Iterator[Problem]:
    """
    What another stack in the same cluster holds already.

    Args:
        others: Stacks by name, of any cluster, and this one too.
    """
    for name, other in others.items():
        if name == stack or (other.region_stack, other.cluster_key) != (spec.region_stack, spec.cluster_key):
            continue
        for key in SHARED:
            for one in sorted(getattr(spec, key).keys() & getattr(other, key).keys()):
                yield Problem(
                    f"{key}.{one}", f"is in stack {name} too, in the same cluster", "another name", "rename one, or keep it in one"
                )
        for one in sorted({*spec.controllers} & {*other.controllers}):
            fix = f"say `existing_controllers: [{one}]` in one of the two"
            yield Problem("existing_controllers", f"{one} is installed by stack {name} too, in the same cluster", fix=fix)
        if spec.needs_adapter and other.needs_adapter:
            words = f"is brought by stack {name} too, and a cluster takes one"
            yield Problem("metrics_adapter", words, "false in one of the two", "write `accelform:metrics_adapter: false`")
        pools = {quota.place for queue in spec.queues.values() for quota in queue.quotas}
        for place in sorted(pools & {quota.place for queue in other.queues.values() for quota in queue.quotas}):
            words = f"{''.join(place)} has a quota in stack {name} too: neither knows how much the other gives"
            yield Problem("queues", words, "all quotas of a pool in one stack")
