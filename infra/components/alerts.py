"""
What is watched of a stack: each alert with its metric, its limit, and what to do when it goes off.

Every metric is in one of Google's own lists, as generated on 2026-04-10 (read 2026-11):
`compute.googleapis.com` in https://docs.cloud.google.com/monitoring/api/metrics_gcp_c, `tpu.googleapis.com` in metrics_gcp_p_z,
`aiplatform.googleapis.com` in metrics_gcp_a_b, `kubernetes.io` in metrics_kubernetes.

What has no metric there is not watched: what a budget has spent (budgets mail for themselves), how long a queued resource or a flex-start
machine waits (`accelform queue` says it), a job on Vertex AI, and GPUs of machines before A3 or on Spot, which only an agent could read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from infra.labels import STACK_LABEL

if TYPE_CHECKING:
    from infra.components.monitoring import MonitoringSpec

AlertName = Literal[
    "tpu-duty-cycle",
    "tpu-tensorcore",
    "tpu-memory",
    "gpu-duty-cycle",
    "gpu-memory",
    "idle-accelerators",
    "preemptions",
    "queue-wait",
    "endpoint-p95",
    "endpoint-errors",
    "replicas-at-maximum",
]
IDLE_PERCENT = 1.0
"""A duty cycle below it is no work."""
PERIOD_SECONDS = 300
"""Points are put together over five minutes: metrics are sampled each minute and late by up to nine."""
REPORTED = ("a3-", "a4")
"""Machine types whose GPUs' use Compute Engine tells without an agent, not on Spot: A3 and newer.
Source: metrics_gcp_c, `instance/gpu/sm_utilization`."""
PREDICTION = "aiplatform.googleapis.com/prediction/online"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What of an endpoint its alerts need."""

    id: str
    p95_ms: float | None
    """Limit of its rollout's guards."""
    error_rate: float | None
    """Limit of its rollout's guards."""
    most_replicas: int | None
    """Replicas of all its models at most; none where their number is fixed."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a stack holds that can be watched."""

    stack: str
    region: str
    tpu_machines: bool = False
    """TPUs on Compute Engine, those of jobs included."""
    tpu_nodes: bool = False
    """TPUs of the Cloud TPU API."""
    gpu_machines: bool = False
    """Machines with GPUs."""
    gpus_reported: bool = False
    """Whether one of them tells its GPUs' use without an agent."""
    tpu_clusters: tuple[str, ...] = ()
    """Names of clusters with pools of TPUs."""
    gpu_clusters: tuple[str, ...] = ()
    """Names of clusters with pools of GPUs."""
    shared_clusters: tuple[str, ...] = ()
    """Those of them with pools whose GPUs several containers share."""
    slice_pools: tuple[str, ...] = ()
    """Names of node pools that are one slice of several hosts each, always there."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)

    @property
    def is_something(self) -> bool:
        """Whether there is anything to watch."""
        return bool(self.tpu_machines or self.tpu_nodes or self.gpu_machines or self.tpu_clusters or self.gpu_clusters or self.endpoints)


@dataclass(frozen=True, slots=True)
class Signal:
    """One metric of some resources, put together."""

    title: str
    metric: str
    resource: str
    where: str
    """The rest of the filter."""
    by: str
    """What has a value of its own, as `group_by` has it."""
    aligner: str = "ALIGN_MEAN"
    reducer: str = "REDUCE_MEAN"
    part: str = ""
    """Filter of the part of it that is counted, where the value is that part of the whole."""
    whole: str = ""
    """The metric that it is a part of, if it is a part of another."""

    @property
    def aggregation(self) -> dict[str, Any]:
        return {
            "alignmentPeriod": f"{PERIOD_SECONDS}s",
            "perSeriesAligner": self.aligner,
            "crossSeriesReducer": self.reducer,
            "groupByFields": [self.by],
        }

    @property
    def filter(self) -> str:
        return self._filter(self.metric, self.part)

    @property
    def denominator(self) -> str:
        """Filter of the whole; empty where the value is no part."""
        return self._filter(self.whole or self.metric, "") if self.part or self.whole else ""

    def _filter(self, metric: str, more: str) -> str:
        terms = (f'metric.type="{metric}"', f'resource.type="{self.resource}"', self.where, more)
        return " AND ".join(term for term in terms if term)


@dataclass(frozen=True, slots=True)
class Condition:
    """When a signal is an alarm: all the time below or above a limit."""

    signal: Signal
    limit: float
    minutes: int
    below: bool = False


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert policy."""

    name: AlertName
    of: str
    """The endpoint that it is of; empty where it is of all."""
    conditions: tuple[Condition, ...]
    means: str
    do: str

    @property
    def key(self) -> str:
        return f"{self.name}-{self.of}" if self.of else self.name

    @property
    def runbook(self) -> str:
        """What its mail says, as Markdown."""
        metrics = sorted({one.signal.metric for one in self.conditions})
        said = ", ".join(f"`{metric}`" for metric in metrics)
        return f"{self.means}\n\n**What to do:** {self.do}\n\n**Metric:** {said}"


def alerts(watched: Watched, spec: MonitoringSpec) -> list[Alert]:
    """Every alert of which the stack has something, those that are off too."""
    return [one for one in (*_accelerators(watched, spec), *_endpoints(watched, spec)) if one.conditions]


def _accelerators(watched: Watched, spec: MonitoringSpec) -> Iterator[Alert]:
    tpu, gpu = list(_of_tpus(watched, "duty_cycle")), list(_duty_of_gpus(watched))
    low = spec.low_minutes
    yield Alert(
        "tpu-duty-cycle",
        "",
        tuple(Condition(one, spec.tpu_duty_cycle_percent, low, below=True) for one in tpu),
        f"TPUs worked less than {spec.tpu_duty_cycle_percent:g} % of {low} minutes: part of what they cost is waited away.",
        "raise the batch or take a smaller slice. If the step waits for data, give the input more workers or a bucket in the region.",
    )
    yield Alert(
        "tpu-tensorcore",
        "",
        tuple(Condition(one, spec.tensorcore_percent, low, below=True) for one in _of_tpus(watched, "tensorcore_utilization")),
        f"TPUs did less than {spec.tensorcore_percent:g} % of the arithmetic that they can for {low} minutes.",
        "compute in bfloat16, raise the batch, and fill dimensions up to multiples of 128. A model that mostly looks embeddings up stays "
        "low: switch this alert off for it.",
    )
    yield Alert(
        "tpu-memory",
        "",
        tuple(Condition(one, spec.memory_percent / 100, low) for one in _of_tpus(watched, "memory_used", "memory_total")),
        f"More than {spec.memory_percent:g} % of a TPU's memory is used: the next larger batch or sequence fails.",
        "lower the batch, rematerialize activations, or take a slice with more chips.",
    )
    yield Alert(
        "gpu-duty-cycle",
        "",
        tuple(Condition(one, spec.gpu_duty_cycle_percent, low, below=True) for one in gpu),
        f"GPUs worked less than {spec.gpu_duty_cycle_percent:g} % of {low} minutes: part of what they cost is waited away.",
        "raise the batch, give the input more workers, or take a smaller GPU or a part of one.",
    )
    yield Alert(
        "gpu-memory",
        "",
        tuple(Condition(one, spec.memory_percent / 100, low) for one in _of_containers(watched, "memory_used", "memory_total")),
        f"More than {spec.memory_percent:g} % of a GPU's memory is used: the next larger batch or sequence fails.",
        "lower the batch, or take a GPU with more memory. A server that takes all memory when it starts stays high: switch this alert off.",
    )
    yield Alert(
        "idle-accelerators",
        "",
        tuple(Condition(one, IDLE_PERCENT, spec.idle_minutes, below=True) for one in (*tpu, *gpu)),
        f"Accelerators did nothing for {spec.idle_minutes} minutes, and cost as if they worked.",
        "remove the machine from the stack file, or make its work a job, whose machine is deleted after the run. A pool whose pods are "
        "gone shrinks by itself with `autoscale`.",
    )
    yield Alert(
        "preemptions",
        "",
        tuple(Condition(one, 0, 0) for one in _interruptions(watched)),
        "Google took a machine away: preemption, host error or maintenance, as the labels interruption_type and interruption_reason say.",
        "a job goes on by itself from its last checkpoint. If it happens often, try another zone, or `flex-start` or `on-demand` before "
        "`spot` in `provisioning`. A standing machine comes back with the next update.",
    )
    yield Alert(
        "queue-wait",
        "",
        tuple(Condition(one, 0.5, spec.queue_wait_minutes, below=True) for one in _slices_of_pools(watched)),
        f"A node pool that is a TPU slice of several hosts was not whole for {spec.queue_wait_minutes} minutes: it waits for capacity, or "
        "for a repair. The label unavailability_reason says which.",
        "look at the pool's events; at a stockout try another zone, or a reservation or `flex-start` in `provisioning`.",
    )


def _endpoints(watched: Watched, spec: MonitoringSpec) -> Iterator[Alert]:
    for name, one in watched.endpoints.items():
        where = f'resource.labels.endpoint_id="{one.id}"'

        def signal(title: str, metric: str, aligner: str, reducer: str, more: str = "", part: str = "", where: str = where) -> Signal:
            said = f"{where} AND {more}" if more else where
            resource = "aiplatform.googleapis.com/Endpoint"
            return Signal(title, f"{PREDICTION}/{metric}", resource, said, "resource.label.endpoint_id", aligner, reducer, part)

        p95 = spec.endpoint_p95_ms or one.p95_ms or 1000.0
        errors = spec.endpoint_error_percent or (one.error_rate or 0.01) * 100
        total = 'metric.labels.latency_type="total"'
        failed = 'metric.labels.response_code=monitoring.regex.full_match("[45].*")'
        slow = signal(f"{name}: p95, ms", "prediction_latencies", "ALIGN_PERCENTILE_95", "REDUCE_MAX", total)
        wrong = signal(f"{name}: part of answers that are errors", "response_count", "ALIGN_RATE", "REDUCE_SUM", part=failed)
        yield Alert(
            "endpoint-p95",
            name,
            (Condition(slow, p95, spec.endpoint_minutes),),
            f"Of the requests to {name}, 5 in 100 took longer than {p95:g} ms.",
            "raise `max_replicas` if all of them run; after a rollout, `accelform rollback` goes back to the version before.",
        )
        yield Alert(
            "endpoint-errors",
            name,
            (Condition(wrong, errors / 100, spec.endpoint_minutes),),
            f"More than {errors:g} % of the answers of {name} were errors (4xx and 5xx).",
            "read the container's log; after a rollout, `accelform rollback` goes back to the version before.",
        )
        if one.most_replicas is None:
            continue
        full = signal(f"{name}: replicas", "replicas", "ALIGN_MIN", "REDUCE_SUM")
        yield Alert(
            "replicas-at-maximum",
            name,
            (Condition(full, one.most_replicas - 1, spec.at_maximum_minutes),),
            f"All {one.most_replicas} replicas of {name} ran for {spec.at_maximum_minutes} minutes: with more traffic it gets slow.",
            "raise `max_replicas`, which raises what it may cost, or take a larger machine.",
        )


def _own(watched: Watched) -> str:
    """Filter of a stack's machines on Compute Engine: their labels are metadata of the monitored resource."""
    return f'metadata.user_labels."{STACK_LABEL}"="{watched.stack}"'


def _there(watched: Watched) -> str:
    """Filter of what carries no label: all of the project in the stack's region."""
    return f'resource.labels.location=starts_with("{watched.region}-")'


def _in(label: str, names: tuple[str, ...]) -> str:
    """
    Filter of names, which have nothing that an expression reads otherwise.

    Source of this and of the other operators: https://docs.cloud.google.com/monitoring/api/v3/filters, read 2026-11.
    """
    said = "|".join(names)
    return f'resource.labels.{label}=monitoring.regex.full_match("{said}")'


def _of_tpus(watched: Watched, measure: str, whole: str = "") -> Iterator[Signal]:
    title = f"TPU {measure.replace('_', ' ')}"
    machines, nodes, pools = (
        "compute.googleapis.com/instance/tpu/accelerator",
        "tpu.googleapis.com/accelerator",
        "kubernetes.io/node/accelerator",
    )
    for has, label, prefix, resource, where, by in (
        (watched.tpu_machines, "machines", machines, "gce_instance", _own(watched), "instance_id"),
        (watched.tpu_nodes, "nodes", nodes, "tpu.googleapis.com/GceTpuWorker", _there(watched), "worker_id"),
        (
            bool(watched.tpu_clusters),
            "node pools",
            pools,
            "k8s_node",
            f'{_in("cluster_name", watched.tpu_clusters)} AND metric.labels.make!="nvidia"',
            "node_name",
        ),
    ):
        if has:
            said = f"{prefix}/{whole}" if whole else ""
            yield Signal(f"{title}, {label}", f"{prefix}/{measure}", resource, where, f"resource.label.{by}", whole=said)


def _duty_of_gpus(watched: Watched) -> Iterator[Signal]:
    if watched.gpus_reported:
        metric = "compute.googleapis.com/instance/gpu/sm_utilization"
        yield Signal("GPU use, machines", metric, "gce_instance", _own(watched), "resource.label.instance_id")
    yield from _of_containers(watched, "duty_cycle")


def _of_containers(watched: Watched, measure: str, whole: str = "") -> Iterator[Signal]:
    """
    GPUs of a cluster, by the containers that have them; those that are shared, by time or by MPS, by their nodes. Of a GPU without a
    container, and of parts of one, there is nothing.

    Sources: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus, and docs/concepts/timesharing-gpus there, read 2026-11.
    """
    for names, of, by, title in (
        (watched.gpu_clusters, "container", "pod_name", "containers"),
        (watched.shared_clusters, "node", "node_name", "nodes that share them"),
    ):
        if names:
            prefix = f"kubernetes.io/{of}/accelerator"
            where = f'{_in("cluster_name", names)} AND metric.labels.make="nvidia"'
            said = f"{prefix}/{whole}" if whole else ""
            title = f"GPU {measure.replace('_', ' ')}, {title}"
            yield Signal(title, f"{prefix}/{measure}", f"k8s_{of}", where, f"resource.label.{by}", whole=said)


def _interruptions(watched: Watched) -> Iterator[Signal]:
    clusters = tuple(sorted({*watched.tpu_clusters, *watched.gpu_clusters}))
    for has, label, metric, resource, where, by in (
        (
            watched.tpu_machines or watched.gpu_machines,
            "machines",
            "compute.googleapis.com/instance/interruption_count",
            "gce_instance",
            _own(watched),
            "metric.label.instance_name",
        ),
        (
            watched.tpu_nodes,
            "nodes",
            "tpu.googleapis.com/instance/interruption_count",
            "tpu.googleapis.com/GceTpuWorker",
            _there(watched),
            "metric.label.instance_name",
        ),
        (
            bool(clusters),
            "node pools",
            "kubernetes.io/node/interruption_count",
            "k8s_node",
            _in("cluster_name", clusters),
            "resource.label.node_name",
        ),
    ):
        if has:
            yield Signal(f"Taken away, {label}", metric, resource, where, by, "ALIGN_MAX", "REDUCE_MAX")


def _slices_of_pools(watched: Watched) -> Iterator[Signal]:
    if watched.slice_pools:
        metric = "kubernetes.io/node_pool/multi_host/available"
        where = f"{_in('cluster_name', watched.tpu_clusters)} AND {_in('node_pool_name', watched.slice_pools)}"
        by = "resource.label.node_pool_name"
        yield Signal("Slices of node pools that are whole", metric, "k8s_node_pool", where, by, "ALIGN_FRACTION_TRUE", "REDUCE_MIN")
