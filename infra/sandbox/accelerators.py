"""
Series of accelerators, as Cloud Monitoring has them: which metric tells of a machine's accelerators, on which monitored resource.

Names, kinds, types, units and labels are those of Google's lists: `kubernetes.io` in metrics_kubernetes (read 2026-11),
`tpu.googleapis.com` in metrics_gcp_p_z, `compute.googleapis.com` in metrics_gcp_c. What no source shows and is made up here: what stands in
the labels `accelerator_id` (but for nodes of GKE with TPUs), `model`, `worker_id`, and in `make` of a TPU; and that one container of each
node of GKE has its GPUs, since there are no pods.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.catalog import tpu
from infra.catalog.gpu import gpu
from infra.sandbox.gauge import MINUTE, Gauge
from infra.sandbox.operations import number
from infra.sandbox.service import Body
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.zones import tpu_host

REPORTED = ("a3-", "a4")
"""Machine types whose GPUs tell of themselves without an agent, not on Spot. Source: metrics_gcp_c, `instance/gpu/sm_utilization`."""
GIB = 1024**3
CLUSTER, POOL, PLACE = "goog-k8s-cluster-name", "goog-k8s-node-pool-name", "goog-k8s-cluster-location"
"""Labels of the machines of a node pool."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of an accelerator, and which part of a load it is."""

    name: str
    value_type: str
    unit: str
    percent: str
    """Of the load; empty: all of the memory."""


OF_TPUS = (
    Measure("duty_cycle", "DOUBLE", "%", "duty_cycle_percent"),
    Measure("tensorcore_utilization", "DOUBLE", "%", "tensorcore_percent"),
    Measure("memory_bandwidth_utilization", "DOUBLE", "%", "memory_bandwidth_percent"),
    Measure("memory_used", "INT64", "By", "memory_percent"),
    Measure("memory_total", "INT64", "By", ""),
)
OF_NODES = (
    Measure("duty_cycle", "DOUBLE", "percent", "duty_cycle_percent"),
    Measure("tensorcore_utilization", "DOUBLE", "percent", "tensorcore_percent"),
    Measure("memory_bandwidth_utilization", "DOUBLE", "percent", "memory_bandwidth_percent"),
    Measure("memory_used", "INT64", "bytes", "memory_percent"),
    Measure("memory_total", "INT64", "bytes", ""),
)
OF_CONTAINERS = (
    Measure("duty_cycle", "INT64", "%", "duty_cycle_percent"),
    Measure("memory_used", "INT64", "By", "memory_percent"),
    Measure("memory_total", "INT64", "By", ""),
)
OF_GPU_MACHINES = (Measure("sm_utilization", "DOUBLE", "%", "duty_cycle_percent"),)
"""Type and unit: as the limits of alerts have them; the list that names it was not read again."""
OF_TOPOLOGY = ("tensorcore_utilization", "memory_bandwidth_utilization")
"""Of a node's metrics those with the label `tpu_topology`."""


@dataclass(frozen=True, slots=True)
class Where:
    """How the accelerators of one machine tell of themselves."""

    prefix: str
    resource: dict[str, Any]
    measures: tuple[Measure, ...]
    ids: tuple[str, ...]
    """`accelerator_id` of each accelerator."""
    memory_gib: int
    labels: dict[str, str]
    """Of the metric, besides."""
    topology: str = ""
    user_labels: dict[str, str] | None = None


def used(entry: Body, changes: list[Body], pool: Body | None) -> Iterator[Gauge]:
    """
    The series of one machine.

    Args:
        entry: Of the ledger of machines.
        changes: Percents that were declared of it, each with the time from which it counts.
        pool: Of a node of GKE: the topology of its slice, and whether its GPUs are shared.
    """
    workers = [_on_node(entry, pool)] if pool is not None else _of_workers(entry) if entry["kind"] == "node" else [_on_machine(entry)]

    def said(moment: float, percent: str) -> float | None:
        index = bisect_right(changes, moment, key=lambda change: change["at"])
        load = changes[index - 1] if index else {}
        return (100.0 if load else None) if not percent else load.get(percent)

    until = math.inf if entry["ended"] is None else entry["ended"]
    for worker in [one for one in workers if one is not None]:
        for measure in worker.measures:
            whole = worker.memory_gib * GIB / 100 if measure.name.startswith("memory_") and measure.value_type == "INT64" else 1.0

            def at(moment: float, percent: str = measure.percent, whole: float = whole) -> float | None:
                part = said(moment, percent)
                return None if part is None else part * whole

            topology = {"tpu_topology": worker.topology} if worker.topology and measure.name in OF_TOPOLOGY else {}
            for id in worker.ids:
                metric = {"type": f"{worker.prefix}/{measure.name}", "labels": {"accelerator_id": id} | worker.labels | topology}
                metadata = {"metadata": {"userLabels": worker.user_labels}} if worker.user_labels else {}
                identity = {"metric": metric, "resource": worker.resource} | metadata
                yield Gauge(identity, measure.value_type, measure.unit, entry["began"], until, at)


def _on_machine(entry: Body) -> Where | None:
    """A machine of Compute Engine, not of GKE."""
    resource = {
        "type": "gce_instance",
        "labels": {"project_id": entry["project"], "zone": entry["zone"], "instance_id": entry.get("id", "")},
    }
    host = tpu_host(entry["machine_type"])
    if host is not None:
        ids = tuple(map(str, range(host.chips)))
        memory = tpu.chips()[host.generation].memory_gib
        return Where("compute.googleapis.com/instance/tpu/accelerator", resource, OF_TPUS, ids, memory, {}, user_labels=entry["labels"])
    if not entry["machine_type"].startswith(REPORTED) or entry["provisioning"] == "spot":
        return None
    kind, count = _gpus(entry)
    ids = tuple(map(str, range(count)))
    return Where(
        "compute.googleapis.com/instance/gpu", resource, OF_GPU_MACHINES, ids, gpu(kind).memory_gib, {}, user_labels=entry["labels"]
    )


def _of_workers(entry: Body) -> list[Where | None]:
    """A node of the Cloud TPU API: each of its hosts is a worker."""
    shape = tpu.shape(entry["accelerator_type"])
    if shape is None:
        return []
    found: list[Where | None] = []
    for index in range(shape.hosts):
        labels = {"resource_container": entry["project"], "location": entry["zone"], "worker_id": number(f"{entry['name']}/{index}")}
        resource = {"type": "tpu.googleapis.com/GceTpuWorker", "labels": labels}
        ids = tuple(map(str, range(shape.chips // shape.hosts)))
        found.append(Where("tpu.googleapis.com/accelerator", resource, OF_TPUS, ids, tpu.chips()[shape.generation].memory_gib, {}))
    return found


def _on_node(entry: Body, pool: Body) -> Where:
    """
    A node of GKE. GPUs that are shared tell of themselves by the node, others by the containers that have them.

    Source: Google's pages "About GPU time-sharing" and "Run GPUs in GKE Standard node pools", read 2026-11. The form of a TPU's id: as
    public programs read it, 2026.
    """
    node = {
        "project_id": entry["project"],
        "location": entry["labels"][PLACE],
        "cluster_name": entry["labels"][CLUSTER],
    }
    name = links.last(entry["name"])
    host = tpu_host(entry["machine_type"])
    count = host.chips if host is not None else _gpus(entry)[1]
    ids = tuple(f"{entry.get('id', '')}-{index}" for index in range(count))
    on_node = {"type": "k8s_node", "labels": node | {"node_name": name}}
    if host is not None:
        labels = {"make": "cloud-tpu", "model": host.machine_type}
        memory = tpu.chips()[host.generation].memory_gib
        return Where("kubernetes.io/node/accelerator", on_node, OF_NODES, ids, memory, labels, pool["topology"])
    kind = _gpus(entry)[0]
    labels, memory = {"make": "nvidia", "model": kind}, gpu(kind).memory_gib
    if pool["shared"]:
        return Where(
            "kubernetes.io/node/accelerator", on_node, tuple(m for m in OF_NODES if m.name not in OF_TOPOLOGY), ids, memory, labels
        )
    container = {"namespace_name": "default", "pod_name": f"load-on-{name}", "container_name": "load"}
    resource = {"type": "k8s_container", "labels": node | container}
    return Where("kubernetes.io/container/accelerator", resource, OF_CONTAINERS, ids, memory, labels)


def _gpus(entry: Body) -> tuple[str, int]:
    """Kind and number of a machine's GPUs, those that are built in too: it has one kind."""
    ((kind, count),) = entry["gpus"].items()
    return str(kind), int(count)


def interrupted(entry: Body, moment: float) -> Gauge:
    """
    That Google took a machine away: 1 in the minute in which it did. Where nothing is taken away there is often no series.

    Source: metrics_kubernetes, `node/interruption_count`; the words of type and reason: google/skills and
    GoogleCloudPlatform/ml-auto-solutions, read 2026-11. Of the other two metrics kind and type are taken to be those of GKE's.
    """
    why = {"interruption_type": "PreemptionEvent", "interruption_reason": "Eviction"}
    name, metadata = links.last(entry["name"]), {}
    if POOL in entry["labels"]:
        metric = {"type": "kubernetes.io/node/interruption_count", "labels": why}
        where = {"project_id": entry["project"], "location": entry["labels"][PLACE], "cluster_name": entry["labels"][CLUSTER]}
        resource: Body = {"type": "k8s_node", "labels": where | {"node_name": name}}
    elif entry["kind"] == "node":
        metric = {"type": "tpu.googleapis.com/instance/interruption_count", "labels": why | {"instance_name": name}}
        where = {"resource_container": entry["project"], "location": entry["zone"], "worker_id": number(f"{entry['name']}/0")}
        resource = {"type": "tpu.googleapis.com/GceTpuWorker", "labels": where}
    else:
        metric = {"type": "compute.googleapis.com/instance/interruption_count", "labels": why | {"instance_name": name}}
        where = {"project_id": entry["project"], "zone": entry["zone"], "instance_id": entry.get("id", "")}
        resource, metadata = {"type": "gce_instance", "labels": where}, {"metadata": {"userLabels": entry["labels"]}}
    ends = math.ceil(moment / MINUTE) * MINUTE
    return Gauge(
        {"metric": metric, "resource": resource} | metadata, "INT64", "1", moment - MINUTE, ends + 1, lambda at: 1 if at == ends else None
    )
