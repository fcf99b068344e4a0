"""
How much pods weigh against others: who is placed first where there is no room for all, and who must go.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pulumi
from pydantic import Field

from infra.components.placement import Placement
from infra.kubernetes import Object
from infra.spec import Sentence, Spec, WholeNumber, problem

LEAST, MOST = -2_147_483_648, 1_000_000_000
"""What may be said; above are the cluster's own.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/, read 2026-11."""
PREEMPTS = {"lower": "PreemptLowerPriority", "never": "Never"}


def class_name(value: str) -> str:
    """Refuses names that are the cluster's own."""
    if value.startswith("system-"):
        raise problem("is a name of the cluster's own", allowed="names that do not begin with system-", fix="rename it")
    return value


class PrioritySpec(Spec):
    """How much pods weigh against others."""

    value: Annotated[WholeNumber, Field(ge=LEAST, le=MOST)]
    """More comes first. Pods without a priority have 0. A change makes the class anew, and holds for new pods only."""
    preemption: Literal["lower", "never"] = "lower"
    """Whether a pod that finds no room ends pods of `lower` priority, or waits like others (`never`), only before them."""
    description: Sentence = ""
    """What it is for."""


class Priority(pulumi.ComponentResource):
    """A class of pods by their weight, and the same for what waits in a queue."""

    def __init__(
        self,
        name: str,
        spec: PrioritySpec,
        *,
        placement: Placement,
        queued: bool,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            queued: Whether there are queues: who is admitted first is then said by the same name.
            after: What must stand before something of Kueue is made.
        """
        super().__init__("accelform:priority:Priority", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        # The provider does not know that these cannot be changed.
        fixed = pulumi.ResourceOptions(replace_on_changes=["value", "preemptionPolicy"])
        Object(manifest(name, spec, placement), pulumi.ResourceOptions.merge(child, fixed))
        if queued:
            Object(waiting(name, spec, placement), pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=after)))
        self.register_outputs({})


def manifest(name: str, spec: PrioritySpec, placement: Placement) -> dict[str, Any]:
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "labels": placement.labels},
        "value": spec.value,
        "preemptionPolicy": PREEMPTS[spec.preemption],
        "globalDefault": False,
    }
    return made | ({"description": spec.description} if spec.description else {})


def waiting(name: str, spec: PrioritySpec, placement: Placement) -> dict[str, Any]:
    """Who is admitted first. Source: apis/kueue/v1beta2/workloadpriorityclass_types.go of kubernetes-sigs/kueue v0.19.2."""
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name, "labels": placement.labels},
        "value": spec.value,
    }
    return made | ({"description": spec.description} if spec.description else {})
