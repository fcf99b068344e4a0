"""
What lives in a region's cluster, by its stack file: `accelform:kind: apps` -> `AppsSpec`.

It is a stack of its own, so that it can be taken away when the cluster is sick. What the cluster has is read from the region's file,
which stands beside it: so a pod that no pool can hold is refused before anything is asked of a cloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, PrivateAttr, StringConstraints, ValidationInfo, model_validator

from infra import answering, names
from infra.answering import Answering
from infra.catalog import confirmed as by_name
from infra.catalog.nodes import Node
from infra.catalog.pods import PodNeed, judge
from infra.components import pool_shape
from infra.components.cluster import ClusterSpec
from infra.components.images import Image
from infra.components.node_pool import NodePoolSpec
from infra.confirmed import ConfirmedSpec
from infra.errors import Problem, ProblemsError, SpecError, nearest
from infra.in_cluster import (
    cluster_job,
    compute_class,
    controllers,
    job_objects,
    metrics_adapter,
    queue,
    ray_cluster,
    route,
    secret,
    service_checks,
    volume,
)
from infra.in_cluster.cluster_job import ClusterJobSpec
from infra.in_cluster.compute_class import ComputeClassSpec
from infra.in_cluster.controllers import Controller
from infra.in_cluster.job_objects import Where
from infra.in_cluster.mounts import Mountable
from infra.in_cluster.namespace import NamespaceSpec
from infra.in_cluster.priority import PrioritySpec, class_name
from infra.in_cluster.queue import Place, QueueSpec, Room
from infra.in_cluster.ray_cluster import Made, RayClusterSpec
from infra.in_cluster.route import RouteSpec
from infra.in_cluster.seat import POOL_LABEL, seat
from infra.in_cluster.secret import SecretSpec
from infra.in_cluster.service import ServiceSpec
from infra.in_cluster.service_checks import Around
from infra.in_cluster.service_objects import LEADERS
from infra.in_cluster.volume import VolumeSpec
from infra.spec import Name, YesNo, distinct
from infra.stack import StackSpec
from infra.stack_file import FileSpec, check_beside, read_beside
from infra.yaml_file import YamlFile

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has."""
SEATS = frozenset({POOL_LABEL, compute_class.CLASS})
"""Labels by which a pod names its nodes."""
TAKEN_NAMESPACES = (metrics_adapter.NAMESPACE, *(chart.namespace for chart in controllers.CHARTS.values()))
"""Namespaces that come with what is installed. One with walls would keep the cluster's API from the webhooks in it."""


def _region_stack(value: str, info: ValidationInfo) -> str:
    return check_beside(value, (info.context or {}).get("region_stack"))


class AppsSpec(FileSpec):
    """What lives in a cluster: one stack file."""

    kind: Literal["apps"] = "apps"
    """What kind of stack it is: `foundation` holds what a project has once; `region` holds everything in one region; `apps` holds what
    lives in a cluster of a region."""
    region_stack: Annotated[str, StringConstraints(strict=True), AfterValidator(_region_stack)]
    """Stack that the cluster is of. Its file stands beside this one."""
    cluster: Name | None = None
    """Key of the region's `clusters`. (default: its only one)"""
    namespaces: dict[Name, NamespaceSpec] = {}
    """Namespaces, by name."""
    images: dict[Name, Image] = {}
    """Images of containers, by name: those of the region's file, and these. Each by its digest."""
    services: dict[Name, ServiceSpec] = {}
    """Models that answer requests, by name."""
    may_be_down: Annotated[list[Name], AfterValidator(distinct)] = []
    """Services that may be down in prod: with no copy that always stands, or all on Spot. Elsewhere any may."""
    routes: dict[Name, RouteSpec] = {}
    """Ways in, by name: load balancers of the region that send requests to services."""
    metrics_adapter: YesNo | None = None
    """Whether this file brings what lets the cluster scale on metrics of its pods; one cluster takes one. (default: where a service here
    scales on one; say false where the cluster has it already)"""
    compute_classes: dict[Annotated[Name, AfterValidator(compute_class.class_name)], ComputeClassSpec] = {}
    """Ladders of capacity, by name: GKE makes nodes for the pods that name one."""
    volumes: dict[Name, VolumeSpec] = {}
    """Disks and shared folders that outlive the pods that mount them, by name."""
    secrets: dict[Name, SecretSpec] = {}
    """Secrets of Secret Manager that pods see as files, by name."""
    confirmed: list[ConfirmedSpec] = []
    """What a place has although no good source says so, each with the reason."""
    existing_controllers: Annotated[list[Controller], AfterValidator(distinct)] = []
    """Controllers that the cluster has by somebody else, such as `kuberay-operator` by Google's add-on: none of that name is installed."""
    priorities: dict[Annotated[Name, AfterValidator(class_name)], PrioritySpec] = {}
    """How much pods weigh against others, by name."""
    queues: dict[Name, QueueSpec] = {}
    """Queues of jobs, by name."""
    jobs: dict[Name, ClusterJobSpec] = {}
    """Jobs that run in the cluster, by name."""
    ray_clusters: dict[Name, RayClusterSpec] = {}
    """Ray clusters, by name."""
    _region: StackSpec = PrivateAttr()

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Self:
        region = region_of(info)
        if region is None:
            return self  # its own file is wrong, which is told with its name
        if problems := [*self._of(region), *self._names()]:
            raise ProblemsError(problems)
        self._region = region
        served = [*service_checks.problems(self.services, self.around), *self._routed()]
        served += answering.problems(self.environment, self._answering(), self.may_be_down)
        if problems := [*self._classes(), *self._mounted(), *served, *self._trains()] or list(self._held()):
            raise ProblemsError(problems)
        return self

    def _of(self, region: StackSpec) -> Iterator[Problem]:
        """What must be as the region's file has it."""
        for key in ("project", "region"):
            here, there = getattr(self, key), getattr(region, key)
            if here != there:
                yield Problem(key, f"{here} is not that of stack {self.region_stack}, which the cluster is of", there)
        if self.cluster is None and len(region.clusters) != 1:
            words = "is missing" if region.clusters else f"stack {self.region_stack} has no cluster"
            yield Problem("cluster", words, ", ".join(region.clusters), "" if region.clusters else "write one under its `clusters`")
        elif self.cluster is not None and self.cluster not in region.clusters:
            allowed = ", ".join(nearest(self.cluster, region.clusters) or region.clusters)
            yield Problem("cluster", f"{self.cluster} is no key of the clusters of stack {self.region_stack}", allowed)
        else:
            said = region.clusters[self.cluster or next(iter(region.clusters))].existing or ""
            if said and (owner := said.split("/")[1]) != self.project:
                words = f"is one of project {owner}: its pods are accounts of that project's, which nothing here grants anything"
                yield Problem("cluster", words, f"a cluster of {self.project}")

    def _names(self) -> Iterator[Problem]:
        for name in self.namespaces:
            if name in (*SYSTEM_NAMESPACES, *TAKEN_NAMESPACES) or name.startswith(("kube-", "gke-", "gmp-")):
                yield Problem(f"namespaces.{name}", "is a namespace of the cluster's own", "another name", "rename it")

    def _classes(self) -> Iterator[Problem]:
        for name, spec in self.compute_classes.items():
            for one in compute_class.against_pools(name, spec, self.node_pools, self.cluster_spec):
                yield replace(one, path=f"compute_classes.{name}.{one.path}")
        verdicts = [one for spec in self.compute_classes.values() for one in spec.verdicts(self.region)]
        for number, entry in enumerate(self.confirmed):
            if not any(by_name.covers([entry.confirmation], verdict) for verdict in verdicts):
                message = f"is used by nothing: no class of this file needs {entry.what} confirmed there"
                yield Problem(f"confirmed.{number}", message, fix="remove it")

    def _answering(self) -> Iterator[Answering]:
        for name, one in self.services.items():
            ways: set[str] = set()
            if (pool := self.node_pools.get(one.node_pool or "")) is not None:
                ways = {pool.provisioning}
            elif (ladder := self.compute_classes.get(one.compute_class or "")) is not None:
                ways = {*ladder.provisioning, *(self.node_pools[key].provisioning for key in ladder.node_pools if key in self.node_pools)}
            goes = bool(ways) and ways <= answering.GOES
            key = "node_pool" if one.node_pool else "compute_class"
            yield Answering(name, f"services.{name}", one.min_replicas, "min_replicas", goes, key)

    def _mounted(self) -> Iterator[Problem]:
        """What volumes and secrets need of the cluster, and where they are."""
        cluster, network = self.cluster_spec, self.of_region.network
        for name, one in self.volumes.items():
            yield from (replace(found, path=f"volumes.{name}.{found.path}") for found in volume.against_cluster(one, cluster, network))
        for name in self.secrets:
            yield from (replace(found, path=f"secrets.{name}") for found in secret.against_cluster(cluster))
        for key, several in (("volumes", self.volumes), ("secrets", self.secrets)):
            for name, has in several.items():
                if has.namespace not in self.namespaces:
                    allowed = ", ".join(nearest(has.namespace, self.namespaces) or self.namespaces)
                    yield Problem(f"{key}.{name}.namespace", f"{has.namespace} is no key of namespaces", allowed)

    def mounting(self, secret: str) -> list[str]:
        """Services and jobs whose pods see a secret."""
        served = [name for name, one in self.services.items() if secret in one.secrets]
        return [*served, *(name for name, one in self.jobs.items() if secret in one.secrets)]

    @property
    def mountable(self) -> Mountable:
        """What pods of the stack may mount."""
        return Mountable(self.volumes, self.secrets)

    def _trains(self) -> Iterator[Problem]:
        """What queues, jobs and Ray clusters may not be here."""
        rooms = self.rooms
        for name, spec in self.queues.items():
            if spec.namespace not in self.namespaces:
                allowed = ", ".join(nearest(spec.namespace, self.namespaces) or self.namespaces) or "there is none"
                words = f"{spec.namespace} is no key of namespaces"
                yield Problem(f"queues.{name}.namespace", words, allowed, "write it under `namespaces`")
        yield from queue.against(self.queues, rooms)
        yield from cluster_job.against(
            self.jobs,
            rooms=rooms,
            queues=self.queues,
            priorities=self.priorities,
            namespaces=self.namespaces,
            images=self.all_images,
            mountable=self.mountable,
        )
        of_google = controllers.RAY in self.existing_controllers
        yield from ray_cluster.against(self.ray_clusters, rooms=rooms, namespaces=self.namespaces, of_google=of_google)
        for name, service in self.services.items():
            if service.priority and service.priority not in self.priorities:
                allowed = ", ".join(nearest(service.priority, self.priorities) or self.priorities) or "there is none"
                yield Problem(f"services.{name}.priority", f"{service.priority} is no key of priorities", allowed)
        taken: dict[tuple[str, str], str] = {}
        for key, several in (("services", self.services), ("jobs", self.jobs), ("ray_clusters", self.ray_clusters)):
            for name, one in several.items():
                first = taken.setdefault((one.namespace, name), key)
                if first != key:  # its account, and more, would have the same name
                    yield Problem(f"{key}.{name}", f"is a key of {first} in {one.namespace} too", "another name", "rename one")
                led = self.services.get(name.removesuffix(LEADERS)) if name.endswith(LEADERS) else None
                if led and led.namespace == one.namespace:  # also what a JobSet makes by itself is called like this
                    words = f"is what the leaders of services.{name.removesuffix(LEADERS)} are found by"
                    yield Problem(f"{key}.{name}", words, "another name", "rename one")

    def pods(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Every pod that the file asks for, as its manifest has it, with the key that it is of."""
        yield from service_checks.pods(self.services, self.around)
        if self.needs_adapter:
            yield "metrics_adapter", metrics_adapter.pod(self.around.images[metrics_adapter.KEY])
        for name, job in self.jobs.items():
            for pod in job_objects.pods(name, job, self.where("", {}, job)):
                yield f"jobs.{name}", pod
        for name, ray in self.ray_clusters.items():
            for key, pod in ray_cluster.pods(name, ray, self.made({}, ray)):
                yield f"ray_clusters.{name}.{key}", pod

    @property
    def rooms(self) -> dict[Place, Room]:
        """What has accelerators in the cluster: the nodes of each pool, and of each class."""
        pools, found = self.node_pools, dict[Place, Room]()
        for name, pool in pools.items():
            found[name, ""] = Room(
                seat(name, pool, self.region_stack),
                pool.bounds()[1],
                pool.provisioning == "queued-provisioning",
                pool.max_run_minutes,
                pool.host,
                tuple(pool.zones_in(self.region)),
            )
        for name, ladder in self.compute_classes.items():
            there = tuple(ladder.zones or ())
            found["", name] = Room(
                compute_class.seat(name, ladder, pools), ladder.max_nodes, False, ladder.max_run_minutes, ladder.host, there
            )
        return found

    @property
    def all_images(self) -> dict[str, str]:
        """Images by name: those of the region's file, and this one's."""
        return {**self.of_region.images, **self.images}

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """What must be installed for what the file says."""
        needed: dict[Controller, bool] = {
            controllers.QUEUES: bool(self.queues),
            controllers.JOB_SETS: any(not job.schedule for job in self.jobs.values()),
            controllers.GROUPS: bool(service_checks.groups(self.services, self.around)),
            controllers.RAY: bool(self.ray_clusters),
        }
        return tuple(one for one, is_needed in needed.items() if is_needed and one not in self.existing_controllers)

    def where(self, stack: str, labels: Mapping[str, str], job: ClusterJobSpec) -> Where:
        """Where a job runs, and what it is made of there."""
        found = cluster_job.rooms_of(job, self.queues, self.rooms)
        image = job.image or self.all_images[job.program.image if job.program else ""]
        seats = tuple(room.seat for room in found)
        return Where(stack, labels, image, self.buckets, seats, self._restricted(job.namespace), self.mountable)

    def made(self, labels: Mapping[str, str], ray: RayClusterSpec) -> Made:
        """What a Ray cluster is made of."""
        return Made(labels, self.rooms, self._restricted(ray.namespace))

    def _restricted(self, namespace: str) -> bool:
        return self.namespaces[namespace].pod_security == "restricted"

    def _routed(self) -> Iterator[Problem]:
        proxies = self.of_region.network.proxy_cidr
        yield from route.problems(self.routes, self.services, self.namespaces, proxies=proxies, region_stack=self.region_stack)
        if self.needs_adapter and metrics_adapter.KEY not in self.around.images:
            yield metrics_adapter.missing(self.region)

    @property
    def needs_adapter(self) -> bool:
        """Whether this file brings what lets the cluster scale on metrics of its pods."""
        scales = any(one.scale_on and one.scale_on.metric for one in self.services.values())
        return scales if self.metrics_adapter is None else self.metrics_adapter

    @property
    def around(self) -> Around:
        """What services are held against."""
        return Around(
            self.region,
            self.region_stack,
            self.cluster_spec,
            self.node_pools,
            self.compute_classes,
            self.nodes,
            self.namespaces,
            self.all_images,
            self.buckets["models"],
            self.mountable,
        )

    def _held(self) -> Iterator[Problem]:
        """Pods that no node of the cluster can hold, whatever else is on it; on Autopilot nodes come as pods ask."""
        if not self.cluster_spec.own_nodes:
            return
        nodes = self.nodes
        for path, pod in self.pods():
            if self.cluster_spec.existing and not SEATS & pod.get("nodeSelector", {}).keys():
                continue  # nodes that others made may hold it: nobody here knows them
            fit = judge(PodNeed.of(pod), nodes)
            if not fit.holds and nodes:
                near = list(dict.fromkeys(f"{node.name}: {'; '.join(why)}" for node, why in fit.near))
                yield Problem(path, "is a pod that no node of the cluster can hold", f"nearest: {' | '.join(near[:3])}")

    @property
    def nodes(self) -> tuple[Node, ...]:
        """One node of every pool and class of the cluster, in each of its zones."""
        spec, region = self.cluster_spec, self.of_region
        made = [self.system_nodes[:1]]
        for name, pool in self.node_pools.items():
            streams = spec.image_streaming
            made.append(pool_shape.pool(name, pool, stack=self.region_stack, region=region.region, image_streaming=streams))
        for name, ladder in self.compute_classes.items():
            made.append(compute_class.nodes(name, ladder, self.region, self.confirmations, image_streaming=spec.image_streaming))
        return tuple(node for nodes in made for node in nodes)

    @property
    def system_nodes(self) -> tuple[Node, ...]:
        """Nodes without accelerators, as many as there may be; none where the cluster makes its nodes itself, or is of others."""
        spec = self.cluster_spec
        return pool_shape.system(self.cluster_key, spec, stack=self.region_stack, region=self.region) * spec.system_pool.max_nodes

    @property
    def refers_to(self) -> tuple[str, ...]:
        return (self.region_stack,)

    @property
    def of_region(self) -> StackSpec:
        """The region's file."""
        return self._region

    @property
    def confirmations(self) -> tuple[by_name.Confirmation, ...]:
        """What the file confirms by name."""
        return tuple(entry.confirmation for entry in self.confirmed)

    @property
    def cluster_key(self) -> str:
        """Key of the cluster in the region's file."""
        return self.cluster or next(iter(self.of_region.clusters))

    @property
    def cluster_spec(self) -> ClusterSpec:
        return self.of_region.clusters[self.cluster_key]

    @property
    def node_pools(self) -> dict[str, NodePoolSpec]:
        """Node pools of the cluster, by name."""
        return {name: pool for name, pool in self.of_region.node_pools.items() if pool.cluster == self.cluster_key}

    @property
    def buckets(self) -> dict[str, str]:
        """Names of the region's buckets: `data`, `models`."""
        said = {"data": self.of_region.storage.data, "models": self.of_region.storage.models}
        return {key: one.existing or names.bucket(self.project, self.region_stack, key) for key, one in said.items()}

    @classmethod
    def context(cls, fields: Mapping[str, Any], file: YamlFile, folder: Path | None) -> dict[str, Any]:
        said = {
            "region_stack": read_beside(StackSpec, fields.get("region_stack"), folder),
            "confirmed": by_name.read(fields.get("confirmed")),
        }
        return super().context(fields, file, folder) | said


def region_of(info: ValidationInfo) -> StackSpec | None:
    """The region's file, for validators of what lives in its cluster; None where a spec is checked alone, or that file is wrong."""
    found: StackSpec | SpecError | None = (info.context or {}).get("region_stack")
    return found if isinstance(found, StackSpec) else None
