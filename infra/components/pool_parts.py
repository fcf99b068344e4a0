"""What a node pool is told in parts: how it scales, how its GPUs are shared, what keeps pods away, how it is upgraded."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from infra.components import pool_nodes
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, pattern

NODES_MAX = 1000
"""Nodes of one pool in one zone. Source: https://cloud.google.com/kubernetes-engine/quotas, read 2026-11."""
DNS_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
LABEL_KEY = rf"(?:(?=[^/]{{1,253}}/){DNS_LABEL}(?:\.{DNS_LABEL})*/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?"
LABEL_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
"""Source: Kubernetes, pkg/util/validation (IsQualifiedName, IsValidLabelValue), in public copies, read 2026-11."""
Key = Annotated[str, pattern(LABEL_KEY, "is not the key of a label of Kubernetes", "example.com/pool")]
Value = Annotated[str, pattern(LABEL_VALUE, "is not the value of a label of Kubernetes", "serve")]


class AutoscaleSpec(Spec):
    """How many nodes stand, as pods ask for them: all zones together."""

    never: ClassVar[dict[str, str]] = {
        "total_max": "`max` counts all zones together; of a slice of several hosts it is its hosts",
        "total_min": "`min` counts all zones together",
    }

    min: Annotated[WholeNumber, Field(ge=0, le=NODES_MAX)] = 0
    """Nodes that stay when no pod needs them. Raising it adds none: they come with pods that need them. A new pool begins with as many in
    each zone, so that it has them all, and the autoscaler takes away what is more."""
    max: Annotated[WholeNumber, Field(ge=1, le=NODES_MAX)] | None = None
    """Nodes at most. Required, but for a slice of several hosts: it has all of its nodes, or none."""
    location_policy: Literal["any", "balanced"] = "any"
    """Where nodes come: in whatever zone has capacity, or in all alike."""


class SharingSpec(Spec):
    """Several containers on one GPU."""

    # Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus (last updated 2026-03-16).

    strategy: pool_nodes.Strategy
    """In turn (`time-sharing`), or beside each other (`mps`, which divides its memory); either within each part of a `partition` too."""
    clients: Annotated[WholeNumber, Field(ge=2, le=1000)]
    """Containers at most on one GPU."""


class TaintSpec(Spec):
    """What keeps pods away that do not tolerate it."""

    key: Key
    """What it is about."""
    value: Value = ""
    """What a pod must tolerate of it."""
    effect: pool_nodes.Effect = "no-schedule"
    """Whether other pods never come, come where nowhere else is room, or go if they are there."""


class UpgradeSpec(Spec):
    """How many nodes are upgraded at once. (default: one at a time, in place: no spare accelerator is needed)"""

    max_surge: Annotated[WholeNumber, Field(ge=0, le=20)] = 0
    """Nodes that are made beside the old ones: their accelerators must be there, and in the quota."""
    max_unavailable: Annotated[WholeNumber, Field(ge=0, le=20)] = 1
    """Nodes that may be away meanwhile."""

    @model_validator(mode="after")
    def _moves(self) -> Self:
        total = self.max_surge + self.max_unavailable
        if total == 0:
            raise ProblemsError([Problem("max_unavailable", "is 0, and so is max_surge: no node could ever be upgraded", "one above 0")])
        if total > 20:
            raise ProblemsError([Problem("max_unavailable", f"makes {total} at once with max_surge", "20 together")])
        return self
