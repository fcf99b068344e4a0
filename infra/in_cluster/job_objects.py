"""
The objects of one job in a cluster, as manifests. Pure functions of the spec, so that what is checked is what is declared.

Sources: https://kubernetes.io/docs/concepts/workloads/controllers/job/ (indexed jobs, `podFailurePolicy`, `activeDeadlineSeconds`, which
counts anew when a job that was suspended is begun) and .../cron-jobs/; api/jobset/v1alpha2 of kubernetes-sigs/jobset v0.12.0. Read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infra import names
from infra.in_cluster import mounts
from infra.in_cluster.amounts import amount
from infra.in_cluster.mounts import Mountable
from infra.in_cluster.queue import PRIORITY, QUEUE
from infra.in_cluster.seat import RESOURCES, SPOT_SECONDS, Seat
from workloads.contract import ABORTED_EXIT, ARTEFACT_EXIT, CONTRACT_EXIT, DEVICES_EXIT, RESTART_EXIT, TrainSettings

if TYPE_CHECKING:
    from infra.in_cluster.cluster_job import ClusterJobSpec

Manifest = dict[str, Any]

GPU, TPU = RESOURCES["gpu"], RESOURCES["tpu"]
NAME = "app.kubernetes.io/name"
CONTAINER = "main"
REPLICATED = "run"
"""Name of the one kind of Job of a JobSet; its Job is NAME-run-0."""
JOB_NAME = "metadata.labels['batch.kubernetes.io/job-name']"
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
"""What a pod of a Job knows of itself: another Job for each night, the same for all tries of one.
Source: https://kubernetes.io/docs/reference/labels-annotations-taints/, read 2026-11."""
COORDINATOR_PORT = 8476
"""Port at which processes meet that no TPU connects. Source: jax, `ClusterEnv`, whose default it is for TPUs; read 2026-11."""
LEAVE_SECONDS = 120
"""How long a pod may take to save its work where no machine is about to be taken away."""
LATE_SECONDS = 3600
"""How late a run may begin, such as after an upgrade of the control plane."""
KEPT = 3
"""Runs that are kept, of those that ended well and of those that did not: what their pods logged stays in Cloud Logging anyway."""
STAYS = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
"""A node that seems idle is not taken away under a run.
Source: https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler ("Pod scheduling and disruption"), read 2026-11."""
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
"""The provider waits for pods behind a name, and here there are none until a run begins."""
GPU_LIBRARIES = {"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"}
"""Where GKE puts the driver's files, which an image without CUDA's own base does not look for. An image of somebody's command says what it
needs by itself. Source: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus ("About the CUDA libraries"), read 2026-11."""
FINAL = (CONTRACT_EXIT, ARTEFACT_EXIT, DEVICES_EXIT)


@dataclass(frozen=True, slots=True)
class Where:
    """Where a job runs, and what it is made of there."""

    stack: str
    labels: Mapping[str, str]
    image: str
    buckets: Mapping[str, str]
    """Names of the region's buckets: `data`, `models`."""
    seats: tuple[Seat, ...]
    """Those that it may get: one where it names one, and several, all alike, where its queue chooses."""
    restricted: bool = False
    """Whether its namespace forbids root."""
    mountable: Mountable = field(default_factory=Mountable)

    @property
    def seat(self) -> Seat:
        return self.seats[0]


def hosts(spec: ClusterJobSpec, seat: Seat) -> int:
    """Pods that run together."""
    return seat.hosts if seat.hosts > 1 else spec.hosts or 1


def accelerators(spec: ClusterJobSpec, seat: Seat) -> int:
    """Accelerators of one pod."""
    return spec.accelerators or (1 if seat.divided else seat.accelerators)


def literal(text: str) -> str:
    """
    Text of a user, in which Kubernetes would put variables in the place of `$(NAME)`: a `$` is written twice.

    Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ (`args`, `env`), read 2026-11.
    """
    return text.replace("$", "$$")


# Pods.


def environment(name: str, spec: ClusterJobSpec, where: Where) -> list[Manifest]:
    """
    What a run is told, by the contract of the workloads. Its id comes first, since others are made of it: of a schedule it is the name of
    its Job, and otherwise that of the run.

    Which try it is, no pod can be told. Where chips are connected by a TPU slice, GKE tells each pod its place in it.
    Source: https://cloud.google.com/kubernetes-engine/docs/how-to/tpus (`TPU_WORKER_ID`, `TPU_WORKER_HOSTNAMES`), read 2026-11.
    """
    seat, count = where.seat, hosts(spec, where.seat)
    output = f"{names.job_output(where.buckets['models'], f'{where.stack}/{name}')}/$(WL_RUN_ID)"
    met = count > 1 and seat.resource != TPU
    settings = TrainSettings(
        run_id=f"{name}-{spec.run}",
        output=output,
        checkpoints=f"{output}/checkpoints",
        accelerator_type=seat.accelerator_type or "cpu",
        chips=count * (accelerators(spec, seat) if seat.resource else 1),
        hosts=count,
        save_every_steps=spec.save_every_steps,
        coordinator=f"{first_host(name, spec)}:{COORDINATOR_PORT}" if met else "",
        data={key: f"gs://{where.buckets['data']}/{folder.rstrip('/')}" for key, folder in spec.data.items()},
    )
    not_said = {"WL_ATTEMPT", "WL_PROCESS_ID", *([] if met else ["WL_COORDINATOR"])}
    told: list[Manifest] = [{"name": key, "value": value} for key, value in settings.environment().items() if key not in not_said]
    told.sort(key=lambda one: one["name"] != "WL_RUN_ID")
    if spec.schedule:
        told[0] = {"name": "WL_RUN_ID", "valueFrom": {"fieldRef": {"fieldPath": JOB_NAME}}}
    if met:
        told.append({"name": "WL_PROCESS_ID", "valueFrom": {"fieldRef": {"fieldPath": INDEX}}})
    libraries = GPU_LIBRARIES if spec.workload and seat.resource == GPU else {}
    return [*told, *({"name": key, "value": literal(value)} for key, value in {**libraries, **spec.env}.items())]


def first_host(name: str, spec: ClusterJobSpec) -> str:
    """Name of the first pod, by which the others find it."""
    return f"$(WL_RUN_ID)-0.{name}" if spec.schedule else f"{name}-{REPLICATED}-0-0.{name}"


def pods(name: str, spec: ClusterJobSpec, where: Where) -> Iterator[Manifest]:
    """The pod of a job, wherever it may come to sit: as Kueue would make it, where the queue chooses."""
    for seat in where.seats:
        yield seat.pod(_pod(name, spec, where))


def template(name: str, spec: ClusterJobSpec, where: Where) -> Manifest:
    """
    What the pods of a run are made by. In a queue Kueue puts in where they go; only which pool is meant must be said, where one is named.
    What they put up with is a list, which Kueue makes longer: written here too, a refresh would show a change, and the run begin anew.
    """
    pod = _pod(name, spec, where)
    if not spec.queue:
        pod = where.seat.pod(pod)
    elif spec.place:
        pod = {**pod, "nodeSelector": dict(where.seat.selector)}
    return {"metadata": {"labels": {**where.labels, NAME: name}, "annotations": dict(STAYS)}, "spec": pod}


def _pod(name: str, spec: ClusterJobSpec, where: Where) -> Manifest:
    contained = spec.workload is not None or where.restricted
    spot = any(seat.spot for seat in where.seats)
    made: Manifest = {
        "restartPolicy": "Never",
        "serviceAccountName": name,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": SPOT_SECONDS if spot else LEAVE_SECONDS,
        "securityContext": {**({"runAsNonRoot": True} if contained else {}), "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(name, spec, where, contained)],
    }
    if spec.priority:
        made["priorityClassName"] = spec.priority
    if spec.schedule and hosts(spec, where.seat) > 1:
        made["subdomain"] = name
    return mounts.add(made, spec.volumes, spec.secrets, where.mountable)


def _container(name: str, spec: ClusterJobSpec, where: Where, contained: bool) -> Manifest:
    command = list(spec.program.command) if spec.program else [literal(word) for word in spec.command]
    bounded = where.seat.amounts(accelerators(spec, where.seat))
    if spec.memory_gib is not None:
        bounded["memory"] = amount(spec.memory_gib, "Gi")
    if spec.scratch_gib is not None:
        bounded["ephemeral-storage"] = amount(spec.scratch_gib, "Gi")
    cpu = {"cpu": amount(spec.cpu)} if spec.cpu is not None else {}
    made: Manifest = {
        "name": CONTAINER,
        "image": where.image,
        "command": command,
        "args": [literal(word) for word in spec.args],
        "env": environment(name, spec, where),
        "resources": {key: value for key, value in {"requests": {**cpu, **bounded}, "limits": bounded}.items() if value},
        "securityContext": {"allowPrivilegeEscalation": False, **({"capabilities": {"drop": ["ALL"]}} if contained else {})},
    }
    return {key: value for key, value in made.items() if value != []}


# Who makes them.


def job(name: str, spec: ClusterJobSpec, where: Where) -> Manifest:
    """
    One run. Each of its hosts may fail as often as the run may: they do so together, and each counts.

    JAX gives 134 to a program beside other hosts when one of them is gone; alone it is a failure like others.
    """
    count = hosts(spec, where.seat)
    again = sorted({RESTART_EXIT, *([ABORTED_EXIT] if count > 1 else [])})

    def on_exit(action: str, codes: list[int]) -> Manifest:
        return {"action": action, "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": codes}}

    return {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "backoffLimit": spec.retries * count,
        "activeDeadlineSeconds": spec.max_run_minutes * 60,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {
            "rules": [
                on_exit("FailJob", sorted(FINAL)),
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                on_exit("Ignore", again),
            ]
        },
        "template": template(name, spec, where),
    }


def job_set(name: str, spec: ClusterJobSpec, where: Where) -> Manifest:
    """
    A run that is made once. It stays when it has ended: what vanished would be made again by the next update.

    Whether it is suspended is not said: Kueue does that when it is made, and takes it back when its turn comes; what was said here would
    stop it again at an update.
    """
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": {**_labels(name, where), **waits(spec)}},
        "spec": {
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "replicatedJobs": [{"name": REPLICATED, "replicas": 1, "template": {"spec": job(name, spec, where)}}],
        },
    }


def cron_job(name: str, spec: ClusterJobSpec, where: Where) -> Manifest:
    """A run each time that the schedule falls due, but while the last one still runs or waits."""
    inner = job(name, spec, where)
    if spec.queue:
        inner = {"suspend": True, **inner}
    labels = _labels(name, where)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": labels},
        "spec": {
            "schedule": spec.schedule,
            "timeZone": spec.timezone,
            "suspend": spec.paused,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": LATE_SECONDS,
            "successfulJobsHistoryLimit": KEPT,
            "failedJobsHistoryLimit": KEPT,
            "jobTemplate": {"metadata": {"labels": {**labels, **waits(spec)}}, "spec": inner},
        },
    }


def service(name: str, spec: ClusterJobSpec, where: Where) -> Manifest:
    """What gives the pods of a run names, by which they find each other. A JobSet makes its own."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": spec.namespace, "labels": _labels(name, where), "annotations": dict(NOT_AWAITED)},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {NAME: name}},
    }


def waits(spec: ClusterJobSpec) -> dict[str, str]:
    """Labels by which Kueue takes it in."""
    if not spec.queue:
        return {}
    return {QUEUE: spec.queue, **({PRIORITY: spec.priority} if spec.priority else {})}


def _labels(name: str, where: Where) -> dict[str, str]:
    return {**where.labels, NAME: name}
