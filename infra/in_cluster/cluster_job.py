"""
A job in a cluster: a program that trains or works through files in pods, on nodes that come for it.

Without a schedule it is a JobSet: declared is run once. With one it is a CronJob, each of whose Jobs is a run of its own. Either makes one
Job, whose pods all its tries are: so one limit of time holds for the whole run, and all tries share its folder of checkpoints.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Self

import pulumi
from pydantic import Field, StringConstraints, model_validator

from infra.components.job import RUN_MINUTES_MAX
from infra.components.placement import Placement
from infra.components.program import ProgramSpec
from infra.errors import Problem, ProblemsError, nearest
from infra.findings import Found
from infra.in_cluster import job_objects, mounts
from infra.in_cluster.account import TRAINS, Account
from infra.in_cluster.job_objects import Where
from infra.in_cluster.mounts import Folders, Mountable
from infra.in_cluster.queue import QUEUE, Place, QueueSpec, Room, Rooms
from infra.in_cluster.seat import NOWHERE
from infra.kubernetes import Object
from infra.spec import Name, Number, WholeNumber, pattern
from workloads.contract import DEVICES_EXIT


class ClusterJobSpec(ProgramSpec):
    """What one job in a cluster is. Checked before anything is declared."""

    never: ClassVar[dict[str, str]] = {
        "existing": "a job is made for its runs by this file, and stands nowhere between them",
        "provisioning": "how its nodes are got is the pool's: say `node_pool`",
        "zones": "where its nodes stand is the pool's: say `node_pool`",
        "boot_disk_gib": "it is the pool's `disk_gib`",
        "restarts": "say `retries`",
        "wait_minutes": "pods wait for nodes until `max_run_minutes` are over; in a queue, for as long as it takes",
        "registers": "a job of the region's file registers what it trained",
        "slices": "a job is one slice: of several, its programs know nothing",
    }

    namespace: Name
    """Where it runs: a key of `namespaces:`."""
    schedule: Annotated[str, StringConstraints(strict=True, min_length=1)] | None = None
    """When it runs, as minute, hour, day of the month, month and day of the week: `0 2 * * *`. (default: once, when it is declared)"""
    node_pool: Name | None = None
    """Key of the region's `node_pools` whose nodes it runs on. (default: what its queue gives; without one, nodes without accelerators)"""
    compute_class: Name | None = None
    """Key of `compute_classes` whose nodes it runs on, instead of a pool's."""
    accelerators: Annotated[WholeNumber, Field(ge=1, le=64)] | None = None
    """GPUs of each of its pods. (default: all of a node; 1 where a GPU is shared or cut into parts; of a TPU always all)"""
    hosts: Annotated[WholeNumber, Field(ge=1, le=1000)] | None = None
    """Pods that run together, such as one on each of several nodes with GPUs. (default: 1; of a TPU slice its hosts)"""
    queue: Name | None = None
    """Key of `queues:`, in which it waits for its turn. (default: none; it begins at once, and its pods wait for nodes)"""
    priority: Name | None = None
    """Key of `priorities:`. (default: 0)"""
    cpu: Annotated[Number, Field(ge=0.01, le=1024)] | None = None
    """CPUs of each pod, which are its own; it may take more where there are. Needed without accelerators. (default: what is there)"""
    memory_gib: Annotated[Number, Field(ge=0.01, le=65536)] | None = None
    """Memory of each pod: it gets no more. Needed without accelerators. (default: what is there)"""
    scratch_gib: Annotated[WholeNumber, Field(ge=1, le=65536)] | None = None
    """Disk of each pod for files that end with it. (default: what is there)"""
    volumes: Folders = {}
    """Keys of `volumes:` that each pod mounts, and where it sees them."""
    secrets: Folders = {}
    """Keys of `secrets:` that each pod sees as files, and where."""
    max_run_minutes: Annotated[WholeNumber, Field(ge=1, le=RUN_MINUTES_MAX)]
    """Minutes that one run may take, all its tries together, and the wait for nodes too; not the wait in a queue."""
    retries: Annotated[WholeNumber, Field(ge=0, le=100)] = 3
    """How often a run begins again after a failure. A pod that was taken away, or asks to be begun again (exit code 143), does not count;
    what would fail again (2, 65, 78) is not tried again."""
    run: Annotated[str, pattern(r"[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?", "is not the name of a run (1 to 20 of a-z, 0-9 and -)", "2")] = "1"
    """Name of the run of a job without schedule, which is a part of its folder. The same name goes on from its checkpoints, whatever else
    is changed; another one begins anew."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if found := [*self._runs(), *self._clock(), *self._reads(), *self._sits(), *self._once()]:
            raise ProblemsError(found)
        return self

    def _clock(self) -> Iterator[Problem]:
        yield from super()._clock()
        if self.schedule and "7" in self.schedule.split(" ")[-1]:
            yield Problem("schedule", f"{self.schedule} has day 7 of the week, which a CronJob does not know", "0 or SUN for Sunday")

    def _sits(self) -> Iterator[Problem]:
        if self.node_pool and self.compute_class:
            yield Problem("compute_class", "is said besides node_pool", "one of the two", "remove one")
        if not (self.node_pool or self.compute_class or self.queue):
            if self.accelerators:
                yield Problem("accelerators", "stand on no node: nodes without any are taken", fix="say which `node_pool`, or remove it")
            for key in ("cpu", "memory_gib"):
                if getattr(self, key) is None:
                    yield Problem(key, "is missing: without accelerators nothing else tells what a node must have", "such as 2")

    def _once(self) -> Iterator[Problem]:
        if self.schedule and "run" in self.model_fields_set:
            yield Problem("run", "does nothing: each run of a schedule has a name of its own", fix="remove it")

    @property
    def place(self) -> Place | None:
        """The pool or class that it names."""
        return (self.node_pool or "", self.compute_class or "") if self.node_pool or self.compute_class else None


def rooms_of(spec: ClusterJobSpec, queues: Mapping[str, QueueSpec], rooms: Rooms) -> tuple[Room, ...]:
    """Where it may run: what it names, else what its queue gives, in that order; nodes without accelerators where it says neither."""
    if spec.place:
        return (rooms[spec.place],) if spec.place in rooms else ()
    if spec.queue:
        quotas = queues[spec.queue].quotas if spec.queue in queues else ()
        return tuple(rooms[one.place] for one in quotas if one.place in rooms)
    return (Room(NOWHERE, None),)


def against(
    jobs: Mapping[str, ClusterJobSpec],
    *,
    rooms: Rooms,
    queues: Mapping[str, QueueSpec],
    priorities: Mapping[str, object],
    namespaces: Mapping[str, object],
    images: Mapping[str, str],
    mountable: Mountable,
) -> Iterator[Problem]:
    """What speaks against jobs in this cluster."""
    for name, spec in jobs.items():
        path = f"jobs.{name}"
        for key, known in (("namespace", namespaces), ("queue", queues), ("priority", priorities)):
            said = getattr(spec, key)
            if said and said not in known:
                plural = "priorities" if key == "priority" else f"{key}s"
                allowed = ", ".join(nearest(said, known) or known) or "there is none"
                yield Problem(f"{path}.{key}", f"{said} is no key of {plural}", allowed, f"write it under `{plural}`")
        if spec.program and not spec.image and spec.program.image not in images:
            words = f"is missing: {spec.workload} runs in the image {spec.program.image}, and `images` has none of that name"
            yield Problem(f"{path}.image", words, fix=f"write images.{spec.program.image}, here or in the region's file")
        queue = queues.get(spec.queue) if spec.queue else None
        if spec.queue and queue and queue.namespace != spec.namespace:
            yield Problem(f"{path}.queue", f"{spec.queue} is for jobs in {queue.namespace}, and this one is in {spec.namespace}")
        if spec.place and spec.place not in rooms:
            key = "node_pool" if spec.node_pool else "compute_class"
            known_places = sorted({place[0 if spec.node_pool else 1] for place in rooms} - {""})
            words = f"{spec.node_pool or spec.compute_class} is no {'pool of the cluster' if spec.node_pool else 'class of this file'}"
            yield Problem(f"{path}.{key}", words, ", ".join(known_places) or "there is none")
        elif found := rooms_of(spec, queues, rooms):
            yield from _in_rooms(path, spec, found)
            yield from (replace(one, path=f"{path}.{one.path}") for one in _mounted(spec, found[0], mountable))
            if queue and queue.namespace == spec.namespace:
                yield from _in_queue(path, spec, queue, rooms)


def _in_rooms(path: str, spec: ClusterJobSpec, rooms: tuple[Room, ...]) -> Iterator[Problem]:
    """What its nodes do not allow."""
    first = rooms[0].seat
    for room in rooms[1:]:
        if alike(room) != alike(rooms[0]):
            words = f"its queue gives {first.name} and {room.seat.name}, which are not alike: nobody knows what its pods are to ask for"
            yield Problem(f"{path}.node_pool", words, ", ".join(one.seat.name for one in rooms), "name one")
            return
    if first.resource == job_objects.TPU:
        whole = f"{first.name} is a slice of {first.hosts} hosts" if first.hosts > 1 else f"{first.name} has slices of one host"
        if spec.hosts and spec.hosts != first.hosts:
            yield Problem(f"{path}.hosts", f"{spec.hosts}: {whole}, and a job is one slice", f"{first.hosts}", "remove it")
        if spec.accelerators and spec.accelerators != first.accelerators:
            words = f"{spec.accelerators}: a pod has all {first.accelerators} chips of its host"
            yield Problem(f"{path}.accelerators", words, f"{first.accelerators}", "remove it")
    hosts = spec.hosts or first.hosts
    for room in rooms:
        per_node = max(1, room.seat.accelerators // job_objects.accelerators(spec, room.seat)) if room.seat.resource else hosts
        if room.nodes is not None and hosts > room.nodes * per_node:
            words = f"{hosts} pods at once are more than {room.seat.name} holds ({room.nodes} nodes)"
            yield Problem(f"{path}.hosts", words, f"{room.nodes * per_node} at most", "or let the pool have more nodes")
        if room.asks and not spec.queue:
            words = f"is missing: nodes of {room.seat.name} come by a request for all of them, which a queue makes"
            yield Problem(f"{path}.queue", words, fix=f"write a queue with a quota of {room.seat.name}, and name it")


def _mounted(spec: ClusterJobSpec, room: Room, of: Mountable) -> Iterator[Problem]:
    """What its pods cannot mount."""
    copies = job_objects.hosts(spec, room.seat)
    yield from mounts.problems(spec.volumes, spec.secrets, of, namespace=spec.namespace, copies=copies, host=room.host, zones=room.zones)


def _in_queue(path: str, spec: ClusterJobSpec, queue: QueueSpec, rooms: Rooms) -> Iterator[Problem]:
    """What would wait for ever."""
    mine = [one for one in queue.quotas if one.place in rooms and spec.place in (None, one.place)]
    if not mine:
        words = f"{spec.queue} has no quota of {spec.node_pool or spec.compute_class}"
        yield Problem(f"{path}.queue", words, ", ".join(rooms[one.place].seat.name for one in queue.quotas if one.place in rooms))
        return
    needs = [job_objects.hosts(spec, rooms[one.place].seat) * job_objects.accelerators(spec, rooms[one.place].seat) for one in mine]
    if all(need > one.accelerators for need, one in zip(needs, mine, strict=True)):
        words = f"{spec.queue} gives {max(one.accelerators for one in mine)} accelerators at most, and the job needs {min(needs)} at once"
        yield Problem(f"{path}.queue", words, fix="raise its quota, or it waits for ever")


def alike(room: Room) -> tuple[str, int, int, str]:
    """What pods must know of where they run before it is known."""
    return room.seat.resource, room.seat.accelerators, room.seat.hosts, room.seat.accelerator_type


def warnings(jobs: Mapping[str, ClusterJobSpec], queues: Mapping[str, QueueSpec], rooms: Rooms, day: dt.date) -> Iterator[Found]:
    """
    What is allowed, and would end in vain.

    Args:
        day: This one.
    """
    for name, spec in jobs.items():
        found = rooms_of(spec, queues, rooms)
        yield from _unsure(name, spec, day)
        if spec.workload and spec.image is None and any(room.seat.resource == job_objects.GPU for room in found):
            words = f"no image of this project has JAX for CUDA: a run of {name} would see no GPU, and end with {DEVICES_EXIT}"
            yield Found(f"jobs.{name}.image", "warning", words, "write the image of one that has, by its digest, such as jax[cuda12]")
        for room in found:
            if room.minutes and room.minutes < spec.max_run_minutes:
                words = f"nodes of {room.seat.name} end after {room.minutes} minutes: a run that takes longer begins again"
                yield Found(f"jobs.{name}.max_run_minutes", "warning", words, f"{room.minutes} or less is sure to do")


def _unsure(name: str, spec: ClusterJobSpec, day: dt.date) -> Iterator[Found]:
    """
    Nights of the next year at which Kubernetes begins no run, or two, since the clock is changed.

    Sources: kubernetes/kubernetes issue 121594 (a time that comes twice is due twice); argoproj/argo-workflows issue 8137 (one that never
    comes is not due, by the same library). Read 2026-11.
    """
    if spec.clock:
        a = dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()
        for time, leapt in spec.clock.unsure(a, a + 366 * 86_400):
            words = f"{time:%Y-%m-%d %H:%M} {'never comes, and so does no run' if leapt else 'comes twice, and so may the run'}"
            yield Found(f"jobs.{name}.schedule", "warning", f"{words}: the clock of {spec.timezone} is changed", "choose another hour")


class ClusterJob(pulumi.ComponentResource):
    """What makes the pods of a job, who they are, and how they find each other."""

    def __init__(
        self,
        name: str,
        spec: ClusterJobSpec,
        *,
        where: Where,
        placement: Placement,
        project_number: pulumi.Input[str],
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            after: What must stand before it is made: its namespace, its queue, its priority, the controller of its kind.
        """
        super().__init__("accelform:cluster_job:ClusterJob", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=after)
        account = Account(
            name,
            namespace=spec.namespace,
            roles=TRAINS,
            placement=placement,
            buckets=where.buckets,
            project_number=project_number,
            opts=child,
        )
        ready = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[account]))
        if spec.schedule:
            if job_objects.hosts(spec, where.seat) > 1:
                Object(job_objects.service(name, spec, where), ready)
            Object(job_objects.cron_job(name, spec, where), ready)
        else:
            # What it is made of cannot be changed, and its name is fixed: a change makes it anew, and so does another queue.
            anew = pulumi.ResourceOptions(delete_before_replace=True, replace_on_changes=["spec", f'metadata.labels["{QUEUE}"]'])
            Object(job_objects.job_set(name, spec, where), pulumi.ResourceOptions.merge(ready, anew))
        self.register_outputs({})
