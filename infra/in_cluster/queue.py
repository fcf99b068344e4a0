"""
A queue of jobs: how many accelerators of which pools its jobs may hold at once. Those that find no room wait, and need no node meanwhile.

Kueue keeps it. A job is admitted whole, or not at all: so its pods never hold a part of what they need.
Sources: apis/kueue/v1beta2 of kubernetes-sigs/kueue v0.19.2, and its page "ClusterQueue", read 2026-11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import Field, model_validator

from infra.components.placement import Placement
from infra.components.pool_nodes import Host
from infra.errors import Problem, ProblemsError, nearest
from infra.in_cluster.amounts import amount
from infra.in_cluster.namespace import NAMED
from infra.in_cluster.seat import Seat
from infra.kubernetes import Object
from infra.spec import Name, Spec, WholeNumber

API = "kueue.x-k8s.io/v1beta2"
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
"""Labels of what waits."""
STOPS = {"none": "None", "hold": "Hold", "hold-and-drain": "HoldAndDrain"}
PREEMPTION = {"never": "Never", "lower-priority": "LowerPriority", "lower-or-newer-equal-priority": "LowerOrNewerEqualPriority"}
STRATEGIES = {"best-effort-fifo": "BestEffortFIFO", "strict-fifo": "StrictFIFO"}
PLENTY = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi"}
"""More than any pool has."""
PROVISIONING = "queued-provisioning"
"""Name of what asks GKE for all nodes of a job at once, where a pool is `queued-provisioning`."""


class QuotaSpec(Spec):
    """How many accelerators of one pool, or of one compute class."""

    node_pool: Name | None = None
    """Key of the region's `node_pools`."""
    compute_class: Name | None = None
    """Key of `compute_classes`, instead of a pool."""
    accelerators: Annotated[WholeNumber, Field(ge=1, le=1_000_000)]
    """Chips, GPUs or parts of them that jobs may hold at once; of a slice of several hosts a multiple of all its chips."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.node_pool) == bool(self.compute_class):
            words = "is said besides node_pool" if self.node_pool else "says no pool, and no class"
            raise ProblemsError([Problem("compute_class" if self.node_pool else "", words, "one of node_pool and compute_class")])
        return self

    @property
    def place(self) -> Place:
        return (self.node_pool, "") if self.node_pool else ("", self.compute_class or "")


Place = tuple[str, str]
"""A pool, or else a compute class."""


class QueueSpec(Spec):
    """How much of which pools the jobs of one queue may hold at once."""

    never: ClassVar[dict[str, str]] = {
        "existing": "a queue's quota is held against the nodes of this file: two owners of one quota would both be wrong",
        "cohort": "queues lend each other nothing: give the one more, and the other less",
        "paused": "say `stop: hold`",
    }

    namespace: Name
    """Whose jobs may wait in it: a key of `namespaces:`."""
    quotas: Annotated[list[QuotaSpec], Field(min_length=1)]
    """What its jobs may hold, in the order in which it is tried for a job that names no pool."""
    stop: Literal["none", "hold", "hold-and-drain"] = "none"
    """`hold` admits nothing for now, and leaves what runs; `hold-and-drain` ends that too, and it waits again."""
    preemption: Literal["never", "lower-priority", "lower-or-newer-equal-priority"] = "never"
    """Whom a job that waits may end to get its place. What is ended saves its work, and waits again."""
    queueing: Literal["best-effort-fifo", "strict-fifo"] = "best-effort-fifo"
    """Whether a job may pass an older one of its priority that does not fit; `strict-fifo` keeps a large one from waiting for ever."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        count = Counter(one.place for one in self.quotas)
        twice = [Problem(f"quotas.{at}", "is of what is said above") for at, one in enumerate(self.quotas) if count[one.place] > 1]
        if twice:
            raise ProblemsError(twice[1:])
        return self


@dataclass(frozen=True, slots=True)
class Room:
    """What a queue may give: the nodes of a pool, or of a class."""

    seat: Seat
    nodes: int | None
    """Nodes at most; None where no limit is known."""
    asks: bool = False
    """Whether its nodes come by a request for all of them at once."""
    minutes: int | None = None
    """Minutes after which its nodes end by themselves; None where they do not."""
    host: Host | None = None
    """Machine of its nodes."""
    zones: tuple[str, ...] = ()
    """Where they stand; none where it is not known."""

    @property
    def slice(self) -> int:
        """Accelerators that are only together of use."""
        return self.seat.accelerators * self.seat.hosts if self.seat.hosts > 1 else 1

    @property
    def most(self) -> int | None:
        return None if self.nodes is None else self.nodes * self.seat.accelerators


Rooms = Mapping[Place, Room]


def against(queues: Mapping[str, QueueSpec], rooms: Rooms) -> Iterator[Problem]:
    """What no queue may say of these pools and classes, and what all of them together may not."""
    total: Counter[Place] = Counter()
    for name, spec in queues.items():
        for at, quota in enumerate(spec.quotas):
            path = f"queues.{name}.quotas.{at}"
            room = rooms.get(quota.place)
            if room is None:
                yield _unknown(path, quota, rooms)
                continue
            most, whole = room.most, room.slice
            total[quota.place] += quota.accelerators
            if most is not None and total[quota.place] > most:
                others = "" if total[quota.place] == quota.accelerators else " with the queues above"
                holds = f"{room.seat.name} holds ({room.nodes} nodes of {room.seat.accelerators})"
                words = f"{total[quota.place]}{others} are more than {holds}"
                yield Problem(f"{path}.accelerators", words, f"{most} at most", "or let the pool have more nodes")
            elif quota.accelerators % whole:
                slice_of = f"{room.seat.name} is a slice of {room.seat.hosts} hosts with {room.seat.accelerators} chips each"
                words = f"{quota.accelerators} is no whole slice: {slice_of}"
                yield Problem(f"{path}.accelerators", words, f"a multiple of {whole}")


def _unknown(path: str, quota: QuotaSpec, rooms: Rooms) -> Problem:
    pool, other = quota.place
    known = sorted({place[0 if pool else 1] for place in rooms} - {""})
    key = "node_pool" if pool else "compute_class"
    what = "pool with accelerators in this cluster" if pool else "compute class of this file"
    allowed = ", ".join(nearest(pool or other, known) or known) or "there is none"
    return Problem(f"{path}.{key}", f"{pool or other} is no {what}", allowed)


class Queues(pulumi.ComponentResource):
    """The queues of a file, and the flavours of accelerators that they give."""

    queues: dict[str, Object]
    """The part of each queue that is in its namespace: what a job names."""

    def __init__(
        self,
        name: str,
        queues: Mapping[str, QueueSpec],
        *,
        rooms: Rooms,
        placement: Placement,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            after: What must stand before something of Kueue is made, and the namespaces.
        """
        super().__init__("accelform:queue:Queues", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=after)
        used = dict.fromkeys(quota.place for spec in queues.values() for quota in spec.quotas)
        flavors: list[pulumi.Resource] = [Object(flavor(place, rooms[place], placement), child) for place in used]
        if any(rooms[place].asks for place in used):
            flavors += [Object(one, child) for one in asking(placement)]
        inside = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=flavors))
        self.queues = {}
        for key, spec in queues.items():
            made = Object(cluster_queue(key, spec, rooms, placement), inside)
            there = pulumi.ResourceOptions(parent=self, depends_on=[made], delete_before_replace=True)
            self.queues[key] = Object(local_queue(key, spec, placement), there)
        self.register_outputs({})


def flavor_name(place: Place) -> str:
    """With a dot, which no key has: a pool may be called as a class is."""
    pool, other = place
    return pool or f"class.{other}"


def flavor(place: Place, room: Room, placement: Placement) -> dict[str, Any]:
    """What Kueue writes into the pods of a job that it admits here."""
    return {
        "apiVersion": API,
        "kind": "ResourceFlavor",
        "metadata": {"name": flavor_name(place), "labels": placement.labels},
        "spec": {"nodeLabels": dict(room.seat.selector), "tolerations": [dict(one) for one in room.seat.tolerations]},
    }


def cluster_queue(name: str, spec: QueueSpec, rooms: Rooms, placement: Placement) -> dict[str, Any]:
    """
    Its quotas, in one group: each flavour says how much it has of all that any of them has. Cpu, memory and disk hold no job back.
    A job that asks for what no quota names would wait for ever.
    """
    kinds = list(dict.fromkeys(rooms[quota.place].seat.resource for quota in spec.quotas))
    flavors = []
    for quota in spec.quotas:
        own = {kind: amount(quota.accelerators) if kind == rooms[quota.place].seat.resource else "0" for kind in kinds}
        amounts = [{"name": resource, "nominalQuota": most} for resource, most in {**own, **PLENTY}.items()]
        flavors.append({"name": flavor_name(quota.place), "resources": amounts})
    made: dict[str, Any] = {
        "namespaceSelector": {"matchLabels": {NAMED: spec.namespace}},
        "queueingStrategy": STRATEGIES[spec.queueing],
        "resourceGroups": [{"coveredResources": [*kinds, *PLENTY], "flavors": flavors}],
        "preemption": {"withinClusterQueue": PREEMPTION[spec.preemption]},
        "stopPolicy": STOPS[spec.stop],
    }
    if asked := [flavor_name(quota.place) for quota in spec.quotas if rooms[quota.place].asks]:
        made["admissionChecksStrategy"] = {"admissionChecks": [{"name": PROVISIONING, "onFlavors": asked}]}
    return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name, "labels": placement.labels}, "spec": made}


def local_queue(name: str, spec: QueueSpec, placement: Placement) -> dict[str, Any]:
    metadata = {"name": name, "namespace": spec.namespace, "labels": placement.labels}
    return {"apiVersion": API, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def asking(placement: Placement) -> Iterator[dict[str, Any]]:
    """
    A request for all nodes of a job at once, before it is admitted; its pods then go to these nodes.

    Sources: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest; the label of the nodes: AI-Hypercomputer/xpk
    pull request 680. Read 2026-11.
    """
    metadata = {"name": PROVISIONING, "labels": placement.labels}
    yield {
        "apiVersion": API,
        "kind": "ProvisioningRequestConfig",
        "metadata": metadata,
        "spec": {
            "provisioningClassName": "queued-provisioning.gke.io",
            "managedResources": ["nvidia.com/gpu"],
            "podSetUpdates": {
                "nodeSelector": [
                    {"key": "autoscaling.gke.io/provisioning-request", "valueFromProvisioningClassDetail": "ResizeRequestName"}
                ]
            },
        },
    }
    yield {
        "apiVersion": API,
        "kind": "AdmissionCheck",
        "metadata": metadata,
        "spec": {
            "controllerName": "kueue.x-k8s.io/provisioning-request",
            "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": PROVISIONING},
        },
    }
