"""
A service: a model that answers requests in a cluster, in as many copies as are asked for.

It is a Deployment, or a LeaderWorkerSet where one copy needs several nodes, and what such a thing needs around it: an account, a name
inside the cluster, more copies as they are needed, no two of them evicted at once, and metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Self

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from infra.components.images import Image
from infra.components.model import SERVERS, Route, Text, Variable
from infra.components.placement import Placement
from infra.errors import Problem, ProblemsError
from infra.in_cluster import mounts, service_objects
from infra.in_cluster.account import READS, Account
from infra.in_cluster.mounts import Folders
from infra.in_cluster.service_objects import Place
from infra.in_cluster.service_parts import Folder, ScaleSpec
from infra.kubernetes import Object
from infra.spec import Because, Name, Number, Spec, WholeNumber, pattern, problem
from workloads.contract import ServeSettings
from workloads.job import PROGRAMS, Program

GAUGES = ("wl_in_flight",)
"""Figures of our own servers that say how busy one is now."""
SAID = frozenset({"model", "port", "health_route", "predict_route", "variant", "lameduck_seconds", "drain_seconds"})
"""Settings of our own servers that follow from other keys."""
OWN_KEYS = ("command", "args", "port", "health_route", "live_route", "metrics_route")
"""Keys that an image needs, and a workload answers by itself."""
SPOT_LEAVE, LEAVE = (3.0, 8.0), (10.0, 30.0)
"""Seconds that a copy still takes requests after it was told to end, and that it then finishes them: on Spot nodes, and on others."""
LAST_SECONDS = 1
"""What a process has beside that to end."""


def _program(value: str) -> str:
    if value not in SERVERS:
        raise problem("is no workload that serves", allowed=SERVERS)
    return value


class ServiceSpec(Spec):
    """What one service is. Checked before anything is declared."""

    never: ClassVar[dict[str, str]] = {
        "existing": "name a route of others by its own file: what answers is made of the models and images of this one",
        "replicas": "say `min_replicas`, and `max_replicas` where there may be more",
        "memory": "say `memory_gib`",
    }

    namespace: Name
    """Where it is: a key of `namespaces:`."""
    workload: Annotated[str, StringConstraints(strict=True), AfterValidator(_program)] | None = None
    """Program of this project that answers, such as `serve_recommender`: its image is of `images:`. (default: none; `image` is said)"""
    model: Folder | None = None
    """Folder of the model's files in the models bucket of the region; with `workload` only, which needs it."""
    image: Image | None = None
    """Image of the container, by its digest, in a repository of the region. (default: that of `workload`)"""
    command: list[Text] = []
    """What runs instead of the image's entry point. `$(NAME)` is a variable of the container: of a group, `$(LWS_LEADER_ADDRESS)` too."""
    args: list[Text] = []
    """Its arguments, instead of the image's."""
    env: Annotated[dict[Variable, Text], Field(max_length=200)] = {}
    """Environment of the container. No secrets: whoever may read the pods reads it."""
    port: Annotated[WholeNumber, Field(ge=1, le=65535)] | None = None
    """Port that the container serves HTTP on. (default: the workload's; needed with `image`)"""
    health_route: Route | None = None
    """Path that says whether a copy should get requests. (default: the workload's; needed with `image`)"""
    live_route: Route | None = None
    """Path that says whether a copy must be restarted. (default: the workload's; of an image `health_route`)"""
    metrics_route: Route | None = None
    """Path of metrics as Prometheus reads them. (default: the workload's; of an image none, and nothing is measured)"""
    cpu: Annotated[Number, Field(ge=0.01, le=1024)]
    """CPUs of one copy, which are its own; it may take more where there are."""
    memory_gib: Annotated[Number, Field(ge=0.01, le=65536)]
    """Memory of one copy: it gets no more."""
    node_pool: Name | None = None
    """Key of the region's `node_pools` whose nodes it stands on. (default: nodes without accelerators)"""
    compute_class: Name | None = None
    """Key of `compute_classes` whose nodes it stands on, instead of a pool's."""
    accelerators: Annotated[WholeNumber, Field(ge=1, le=64)] | None = None
    """Accelerators of one copy, on each of its hosts. (default: all of a node; 1 where a GPU is shared or cut into parts)"""
    hosts: Annotated[WholeNumber, Field(ge=1, le=256)] | None = None
    """Nodes that answer together as one copy, each with its own container: the first is the leader, and gets the requests. (default: 1; of
    a TPU slice its hosts)"""
    min_replicas: Annotated[WholeNumber, Field(ge=0, le=10_000)] = 1
    """Copies at least. Where there may be more, at least 1; 0 alone is a service that waits to be wanted, and holds no node."""
    max_replicas: Annotated[WholeNumber, Field(ge=0, le=10_000)] | None = None
    """Copies at most. (default: as many as at least)"""
    because: Because | None = None
    """Why copies on accelerators always stand: a sentence, which such a service must have. (default: none)"""
    scale_on: ScaleSpec | None = None
    """What more copies come for; needed where there may be more."""
    startup_seconds: Annotated[WholeNumber, Field(ge=10, le=7200)] = 600
    """How long a copy may take until it answers, its model fetched and loaded; after that it is begun again."""
    lameduck_seconds: Annotated[Number, Field(ge=0, le=600)] | None = None
    """How long a copy still takes requests after it was told to end, so that who sends them hears of it. (default: 10; on Spot 3)"""
    drain_seconds: Annotated[Number, Field(ge=0, le=3600)] | None = None
    """After that: how long requests that were taken may last. (default: 30; on Spot 8)"""
    timeout_seconds: Annotated[WholeNumber, Field(ge=1, le=86400)] = 30
    """How long the load balancer of a route waits for an answer."""
    security_policy: (
        Annotated[
            str,
            StringConstraints(strict=True),
            pattern(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", "is not the name of a policy", "only-the-shop"),
        ]
        | None
    ) = None
    """A policy of Cloud Armor in the project and region, by its name, which says who may ask by a route. (default: whoever reaches it)"""
    priority: Name | None = None
    """Key of `priorities`: who goes where there is no room for all. (default: none, which is 0)"""
    folders: dict[mounts.Folder, Folder] = {}
    """Folders of the models bucket that the container sees as its own, read only: by the path there."""
    volumes: Folders = {}
    """Keys of `volumes`, and where the container sees each."""
    secrets: Folders = {}
    """Keys of `secrets`, and where the container sees each."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if found := [*self._of_program(), *self._of_seat(), *self._of_scale(), *self._of_folders()]:
            raise ProblemsError(found)
        return self

    def _of_program(self) -> Iterator[Problem]:
        if not self.workload and not self.image:
            yield Problem("", "says not what answers", "workload or image")
        elif not self.workload:
            for key in ("port", "health_route"):
                if getattr(self, key) is None:
                    yield Problem(key, "is missing: nobody knows it of an image", "8080" if key == "port" else "/health")
            if self.model:
                yield Problem("model", "does nothing: an image is told by its env and args", fix="say it there, or in `folders`")
        else:
            yield from self._of_workload()

    def _of_workload(self) -> Iterator[Problem]:
        for key in OWN_KEYS:
            if key in self.model_fields_set:
                yield Problem(key, f"is {self.workload}'s own to say", fix="remove it")
        if not self.model:
            yield Problem("model", f"is missing: {self.workload} answers by a model's files", "a folder of the models bucket")
        settings = {f"WL_{name.upper()}" for name in ServeSettings.__slots__ if name not in SAID}
        for variable in self.env:
            if variable.startswith(("WL_", "AIP_")) and variable not in settings:
                yield Problem(f"env.{variable}", f"is none that {self.workload} takes, or follows from a key", ", ".join(sorted(settings)))

    def _of_seat(self) -> Iterator[Problem]:
        if self.node_pool and self.compute_class:
            yield Problem("compute_class", "is said besides node_pool", "one of the two", "remove one")
        if self.accelerators and not (self.node_pool or self.compute_class):
            yield Problem("accelerators", "stand on no node: nodes without any are taken", fix="say which `node_pool`, or remove it")
        if self.hosts and self.hosts > 1 and self.workload:
            yield Problem("hosts", f"{self.workload} answers from one host", "1", "remove it")

    def _of_scale(self) -> Iterator[Problem]:
        most = self.most
        if most < self.min_replicas:
            yield Problem("max_replicas", f"{most} is below min_replicas", f"{self.min_replicas} or more")
        elif most == self.min_replicas and self.scale_on:
            yield Problem("scale_on", f"does nothing: there are always {most}", fix="say a higher max_replicas, or remove it")
        elif most > self.min_replicas == 0:
            message = "is 0, and the autoscaler keeps one: what it scales on is told by copies that are there"
            yield Problem("min_replicas", message, "1 or more", "or 0 without max_replicas")
        elif most > self.min_replicas and not self.scale_on:
            example = "{ metric: wl_in_flight, average: 8 }" if self.workload else "{ cpu_percent: 60 }"
            yield Problem("scale_on", "is missing: what more copies come for", f"for example {example}")
        metric = self.scale_on.metric if self.scale_on else None
        if metric and self.workload and metric not in GAUGES:
            yield Problem("scale_on.metric", f"{metric} is no gauge of {self.workload} that says how busy it is", ", ".join(GAUGES))
        if metric and not self.workload and not self.metrics_route:
            yield Problem("metrics_route", "is missing: scale_on reads a metric of it", "for example /metrics")

    def _of_folders(self) -> Iterator[Problem]:
        paths = [*self.folders, *self.volumes.values(), *self.secrets.values()]
        for path in self.folders:
            if paths.count(path) > 1 or any(path.startswith(f"{other}/") for other in paths):
                yield Problem(f"folders.{path}", "is mounted twice, or inside of another folder", "folders beside each other")

    @property
    def program(self) -> Program | None:
        return PROGRAMS[self.workload] if self.workload else None

    @property
    def scales(self) -> bool:
        """Whether how many copies there are is an autoscaler's to say."""
        return self.most > self.min_replicas

    @property
    def most(self) -> int:
        """Copies at most."""
        return self.min_replicas if self.max_replicas is None else self.max_replicas

    def leave(self, spot: bool) -> tuple[float, float]:
        """Seconds in which a copy still takes requests after it was told to end, and in which it then finishes them."""
        lameduck, drain = SPOT_LEAVE if spot else LEAVE
        return (
            lameduck if self.lameduck_seconds is None else self.lameduck_seconds,
            drain if self.drain_seconds is None else self.drain_seconds,
        )

    def grace_seconds(self, spot: bool) -> int:
        """Seconds from the order to end until a copy is killed; on Spot there are at most 15."""
        return math.ceil(sum(self.leave(spot))) + LAST_SECONDS


class Service(pulumi.ComponentResource):
    """Pods that answer, and what is around them."""

    def __init__(
        self,
        name: str,
        spec: ServiceSpec,
        *,
        place: Place,
        routed: bool,
        placement: Placement,
        buckets: Mapping[str, str],
        project_number: pulumi.Input[str],
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            routed: Whether a route brings it requests.
            buckets: Names of the region's buckets.
            after: What must stand before: its namespace, and what brings kinds that Kubernetes does not have.
        """
        super().__init__("accelform:service:Service", name, None, opts)
        account = Account(
            name,
            namespace=spec.namespace,
            roles=READS,
            placement=placement,
            buckets=buckets,
            project_number=project_number,
            after=after,
            opts=pulumi.ResourceOptions(parent=self),
        )
        inside = pulumi.ResourceOptions(parent=self, depends_on=[*after, account])
        # Where it scales, the number is the autoscaler's once there is one: without the field, pods would be one until it looks.
        its_own = pulumi.ResourceOptions(ignore_changes=["spec.replicas"]) if spec.scales else None
        Object(service_objects.controller(name, spec, place), pulumi.ResourceOptions.merge(inside, its_own))
        for manifest in service_objects.around(name, spec, place, routed=routed):
            Object(manifest, inside)
        self.register_outputs({})
