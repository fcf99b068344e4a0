"""
A Ray cluster: a head, which takes work, and workers that come when work waits and go when it is done.

KubeRay's operator makes it. Ray asks its callers for a token, which the operator keeps as a secret named after the cluster.
Sources: ray-operator/apis/ray/v1 and controllers/ray/utils/validation.go of ray-project/kuberay v1.7.0, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import pulumi
from pydantic import Field, StringConstraints, field_validator, model_validator

from infra.components.images import Image
from infra.components.placement import Placement
from infra.errors import Problem, ProblemsError, nearest
from infra.in_cluster.account import TRAINS, Account
from infra.in_cluster.amounts import amount
from infra.in_cluster.job_objects import NAME, TPU
from infra.in_cluster.queue import Place, Room, Rooms
from infra.in_cluster.seat import NOWHERE, Seat
from infra.kubernetes import Object
from infra.spec import Because, Name, Number, Spec, WholeNumber, pattern, problem

OLDEST = (2, 52)
"""The first Ray that asks for a token. Source: controllers/ray/utils/validation.go of ray-project/kuberay v1.7.0."""
AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}
"""What scales the workers, beside the head. Source: config/samples/ray-cluster.autoscaler.yaml of the same."""
FORCED = {"pulumi.com/patchForce": "true"}
"""Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/, read 2026-11."""
PORTS = {"gcs": 6379, "dashboard": 8265, "client": 10001}


class RayWorkersSpec(Spec):
    """One group of workers, all alike."""

    node_pool: Name | None = None
    """Key of the region's `node_pools` whose nodes they stand on. (default: nodes without accelerators)"""
    compute_class: Name | None = None
    """Key of `compute_classes`, instead of a pool."""
    accelerators: Annotated[WholeNumber, Field(ge=1, le=64)] | None = None
    """GPUs of each worker. (default: all of a node; 1 where a GPU is shared or cut into parts; of a TPU always all)"""
    cpu: Annotated[Number, Field(ge=0.01, le=1024)]
    """CPUs of each worker: as many tasks of one CPU it takes."""
    memory_gib: Annotated[Number, Field(ge=0.01, le=65536)]
    """Memory of each worker: it gets no more."""
    min_replicas: Annotated[WholeNumber, Field(ge=0, le=1000)] = 0
    """Workers that stay when there is no work; of a TPU slice of several hosts, slices."""
    max_replicas: Annotated[WholeNumber, Field(ge=1, le=1000)]
    """Workers at most; of a TPU slice of several hosts, slices."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        found = []
        if self.node_pool and self.compute_class:
            found.append(Problem("compute_class", "is said besides node_pool", "one of the two", "remove one"))
        if self.accelerators and self.place is None:
            words = "stand on no node: nodes without any are taken"
            found.append(Problem("accelerators", words, fix="say which `node_pool`, or remove it"))
        if self.max_replicas < self.min_replicas:
            found.append(Problem("max_replicas", f"{self.max_replicas} is below min_replicas", f"{self.min_replicas} or more"))
        if found:
            raise ProblemsError(found)
        return self

    @property
    def place(self) -> Place | None:
        return (self.node_pool or "", self.compute_class or "") if self.node_pool or self.compute_class else None


class RayHeadSpec(Spec):
    """What takes work and hands it out. It stands on nodes without accelerators, and does no work itself."""

    cpu: Annotated[Number, Field(ge=0.01, le=1024)] = 1
    """CPUs, beside half of one for what scales the workers."""
    memory_gib: Annotated[Number, Field(ge=1, le=65536)] = 4
    """Memory: it gets no more, beside 512 MiB for what scales the workers."""


class RayClusterSpec(Spec):
    """What one Ray cluster is. Checked before anything is declared."""

    never: ClassVar[dict[str, str]] = {
        "existing": "what others run beside it need not be named: nothing of this file refers to a Ray cluster",
        "queue": "a Ray cluster grows and shrinks by itself: it holds no place in a queue",
    }

    namespace: Name
    """Where it is: a key of `namespaces:`."""
    image: Image
    """Image of all its containers, such as a copy of `rayproject/ray`, by its digest, in a repository of the region."""
    ray_version: Annotated[
        str, StringConstraints(strict=True), pattern(r"[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}", "is no version of Ray", '"2.52.0"')
    ]
    """Version of Ray in the image."""
    head: RayHeadSpec = RayHeadSpec()
    workers: Annotated[dict[Name, RayWorkersSpec], Field(min_length=1)]
    """Groups of workers, by name."""
    because: Because | None = None
    """Why workers on accelerators stay when there is no work: a sentence, which such a cluster must have. (default: none)"""
    idle_seconds: Annotated[WholeNumber, Field(ge=10, le=86400)] = 60
    """After how long without work a worker goes."""

    @field_validator("ray_version")
    @classmethod
    def _has_tokens(cls, value: str) -> str:
        first, second = re.findall("[0-9]+", value)[:2]
        if (int(first), int(second)) < OLDEST:
            raise problem("answers whoever asks, without a token", allowed="2.52.0 or newer")
        return value


@dataclass(frozen=True, slots=True)
class Made:
    """What a Ray cluster is made of in its place."""

    labels: Mapping[str, str]
    rooms: Rooms
    restricted: bool = False
    """Whether its namespace forbids root."""

    def seat(self, workers: RayWorkersSpec) -> Seat:
        return self.rooms[workers.place].seat if workers.place else NOWHERE


def against(
    clusters: Mapping[str, RayClusterSpec], *, rooms: Rooms, namespaces: Mapping[str, object], of_google: bool
) -> Iterator[Problem]:
    """
    What speaks against Ray clusters in this cluster.

    Args:
        of_google: Whether the operator is that of the cluster's add-on, which tells the hosts of a TPU slice of each other.
    """
    for name, spec in clusters.items():
        path = f"ray_clusters.{name}"
        if spec.namespace not in namespaces:
            allowed = ", ".join(nearest(spec.namespace, namespaces) or namespaces) or "there is none"
            yield Problem(f"{path}.namespace", f"{spec.namespace} is no key of namespaces", allowed, "write it under `namespaces`")
        for group, workers in spec.workers.items():
            if workers.place and workers.place not in rooms:
                key = "node_pool" if workers.node_pool else "compute_class"
                known = sorted({place[0 if workers.node_pool else 1] for place in rooms} - {""})
                what = "pool of the cluster" if workers.node_pool else "class of this file"
                words = f"{workers.node_pool or workers.compute_class} is no {what}"
                yield Problem(f"{path}.workers.{group}.{key}", words, ", ".join(known) or "there is none")
            elif workers.place:
                yield from _in_room(f"{path}.workers.{group}", workers, rooms[workers.place], of_google)


def _in_room(path: str, workers: RayWorkersSpec, room: Room, of_google: bool) -> Iterator[Problem]:
    seat = room.seat
    if seat.resource == TPU and not of_google:
        words = f"{seat.name} is of TPUs, whose workers must be told where they are: the operator's own chart does not"
        fix = "enable the add-on ray-operator of the cluster, and say `existing_controllers: [kuberay-operator]`"
        yield Problem(f"{path}.node_pool" if workers.node_pool else f"{path}.compute_class", words, "a pool of GPUs", fix)
    if seat.resource == TPU and workers.accelerators and workers.accelerators != seat.accelerators:
        words = f"{workers.accelerators}: a worker has all {seat.accelerators} chips of its host"
        yield Problem(f"{path}.accelerators", words, f"{seat.accelerators}", "remove it")
    if room.asks:
        words = f"nodes of {seat.name} come by a request for all of them, which Ray does not make"
        yield Problem(f"{path}.node_pool", words, "a pool of another way", "name another pool")
    per_node = max(1, seat.accelerators // accelerators(workers, seat))
    most = None if room.nodes is None else room.nodes * per_node // seat.hosts
    if most is not None and workers.max_replicas > most:
        words = f"{workers.max_replicas} are more than {seat.name} holds ({room.nodes} nodes)"
        yield Problem(f"{path}.max_replicas", words, f"{most} at most", "or let the pool have more nodes")


def accelerators(workers: RayWorkersSpec, seat: Seat) -> int:
    """Accelerators of one worker."""
    return workers.accelerators or (1 if seat.divided else seat.accelerators)


class RayCluster(pulumi.ComponentResource):
    """A Ray cluster, and who its pods are."""

    def __init__(
        self,
        name: str,
        spec: RayClusterSpec,
        *,
        made: Made,
        placement: Placement,
        buckets: Mapping[str, str],
        project_number: pulumi.Input[str],
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            after: What must stand before it is made: its namespace, and the operator.
        """
        super().__init__("accelform:ray_cluster:RayCluster", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=after)
        account = Account(
            name,
            namespace=spec.namespace,
            roles=TRAINS,
            placement=placement,
            buckets=buckets,
            project_number=project_number,
            opts=child,
        )
        Object(manifest(name, spec, made), pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[account])))
        self.register_outputs({})


def pods(name: str, spec: RayClusterSpec, made: Made) -> Iterator[tuple[str, dict[str, Any]]]:
    """Pods of the head and of each group, with the key that each is of."""
    head = _head(name, spec, made)
    head["containers"] = [*head["containers"], {"name": "autoscaler", "resources": {"requests": AUTOSCALER, "limits": AUTOSCALER}}]
    yield "head", head
    for group, workers in spec.workers.items():
        yield f"workers.{group}", _worker(name, spec, workers, made)


def manifest(name: str, spec: RayClusterSpec, made: Made) -> dict[str, Any]:
    """
    A change of its pods makes them all anew: the operator would leave old ones as they are. How many workers there are is Ray's to say,
    which writes it into the same list: so an update takes the list back by force.
    """
    labels = {**made.labels, NAME: name}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": labels, "annotations": dict(FORCED)},
        "spec": {
            "rayVersion": spec.ray_version,
            "authOptions": {"mode": "token"},
            "upgradeStrategy": {"type": "Recreate"},
            "enableInTreeAutoscaling": True,
            "autoscalerOptions": {
                "idleTimeoutSeconds": spec.idle_seconds,
                "resources": {"requests": dict(AUTOSCALER), "limits": dict(AUTOSCALER)},
                "securityContext": _contained(made.restricted),
            },
            "headGroupSpec": {
                "rayStartParams": {"num-cpus": "0"},
                "template": {"metadata": {"labels": labels}, "spec": _head(name, spec, made)},
            },
            "workerGroupSpecs": [
                {
                    "groupName": group,
                    "minReplicas": workers.min_replicas,
                    "maxReplicas": workers.max_replicas,
                    "numOfHosts": made.seat(workers).hosts,
                    "rayStartParams": {},
                    "template": {"metadata": {"labels": labels}, "spec": _worker(name, spec, workers, made)},
                }
                for group, workers in spec.workers.items()
            ],
        },
    }


def _head(name: str, spec: RayClusterSpec, made: Made) -> dict[str, Any]:
    """It asks the cluster's API for workers, so it has a token of it."""
    bounded = {"cpu": amount(spec.head.cpu), "memory": amount(spec.head.memory_gib, "Gi")}
    ports = [{"name": key, "containerPort": port} for key, port in PORTS.items()]
    return _pod(
        name, made, {"name": "ray-head", "image": spec.image, "ports": ports, "resources": {"requests": bounded, "limits": bounded}}
    )


def _worker(name: str, spec: RayClusterSpec, workers: RayWorkersSpec, made: Made) -> dict[str, Any]:
    seat = made.seat(workers)
    bounded = {"memory": amount(workers.memory_gib, "Gi"), **seat.amounts(accelerators(workers, seat))}
    resources = {"requests": {"cpu": amount(workers.cpu), **bounded}, "limits": bounded}
    pod = _pod(name, made, {"name": "ray-worker", "image": spec.image, "resources": resources})
    return seat.pod({**pod, "automountServiceAccountToken": False})


def _pod(name: str, made: Made, container: dict[str, Any]) -> dict[str, Any]:
    return {
        "serviceAccountName": name,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{**container, "securityContext": _contained(made.restricted)}],
    }


def _contained(restricted: bool) -> dict[str, Any]:
    """
    How far a container may go. Images of Ray name their user, and Kubernetes only believes a number.

    Source: docker/base-deps/Dockerfile of ray-project/ray, whose user `ray` is 1000, read 2026-11.
    """
    found: dict[str, Any] = {"allowPrivilegeEscalation": False}
    return found | ({"runAsNonRoot": True, "runAsUser": 1000, "capabilities": {"drop": ["ALL"]}} if restricted else {})
