"""
The objects of one service, as manifests: what its pods are, who makes them, and what is made around them. Pure functions of the spec, so
that what is checked is what is declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infra.in_cluster import mounts
from infra.in_cluster.amounts import amount
from infra.in_cluster.mounts import Mountable
from infra.in_cluster.seat import Seat
from infra.in_cluster.service_parts import LIVE_ROUTE, METRICS_ROUTE
from workloads.contract import ServeSettings

if TYPE_CHECKING:
    from infra.in_cluster.service import ServiceSpec

Manifest = dict[str, Any]

NAME = "app.kubernetes.io/name"
"""Label of pods: the key of the service. Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/, read
2026-11."""
GROUP, INDEX = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/worker-index"
"""Labels of the pods of a LeaderWorkerSet; the leader's index is 0.
Source: kubernetes-sigs/lws, api/leaderworkerset/v1, `SetNameLabelKey` and `WorkerIndexLabelKey`, read 2026-11."""
PORT = "http"
"""Name of the container's port."""
FUSE = "gcsfuse.csi.storage.gke.io"
FUSE_WANTED = {"gke-gcsfuse/volumes": "true"}
"""Who mounts buckets, and what lets GKE put its sidecar beside the container.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-ephemeral, read 2026-11."""
PROMETHEUS = "prometheus.googleapis.com|{}|gauge"
"""How the adapter calls a gauge that managed collection brought to Cloud Monitoring.
Source: https://cloud.google.com/stackdriver/docs/managed-prometheus/hpa, read 2026-11."""
SCRAPE_SECONDS = 15
CHECK_SECONDS, FAILED_CHECKS = 3, 2
"""Between two checks of the load balancer, and how many must fail until a copy gets no new requests: within 10 s of an order to end."""
DRAINING_SECONDS = 15
"""How long the load balancer leaves requests to a copy that is gone from its list: as long as Spot leaves them."""
LOG_SAMPLE = 100_000
"""Of a million requests, how many the load balancer logs. Source: `GCPBackendPolicy` in Google's reference of its Gateway API."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service stands, and what it is made of there."""

    image: str
    models_bucket: str
    seat: Seat
    zones: int = 1
    """Zones that its nodes may stand in."""
    restricted: bool = False
    """Whether its namespace forbids root."""
    spare: bool = False
    """Whether its nodes hold one copy more than there are at most: an update then needs no copy less."""
    mountable: Mountable = field(default_factory=Mountable)
    labels: Mapping[str, str] = field(default_factory=dict)


def hosts(spec: ServiceSpec, seat: Seat) -> int:
    """Nodes that are one copy."""
    return seat.hosts if seat.hosts > 1 else spec.hosts or 1


def several(spec: ServiceSpec, seat: Seat) -> bool:
    """Whether one copy is several pods."""
    return hosts(spec, seat) > 1


def accelerators(spec: ServiceSpec, seat: Seat) -> int:
    """Accelerators of one container."""
    return spec.accelerators or (1 if seat.divided else seat.accelerators)


def selector(name: str, group: bool) -> dict[str, str]:
    """Labels of the pods that get requests: of a group its leader."""
    return {GROUP: name, INDEX: "0"} if group else {NAME: name}


LEADERS = "-leaders"


def service_name(name: str, group: bool) -> str:
    """Name of the service of Kubernetes. A LeaderWorkerSet makes one of its own name, by which its pods find each other."""
    return f"{name}{LEADERS}" if group else name


# Pods.


def pod(name: str, spec: ServiceSpec, place: Place, *, answers: bool = True) -> Manifest:
    """
    The spec of a pod.

    Args:
        answers: Whether it gets requests: of a group only the leader does.
    """
    own = spec.workload is not None
    contained = own or place.restricted
    volumes = [_volume(index, folder, place.models_bucket) for index, folder in enumerate(spec.folders.values())]
    made: Manifest = {
        "serviceAccountName": name,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": spec.grace_seconds(place.seat.spot),
        "securityContext": {**({"runAsNonRoot": True} if contained else {}), "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(spec, place, name, answers=answers, contained=contained)],
    }
    if spec.priority:
        made["priorityClassName"] = spec.priority
    if volumes:
        made["volumes"] = volumes
    if place.zones > 1 and spec.most > 1 and not several(spec, place.seat):
        made["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {NAME: name}},
                "matchLabelKeys": ["pod-template-hash"],
            }
        ]
    return place.seat.pod(mounts.add(made, spec.volumes, spec.secrets, place.mountable))


def _container(spec: ServiceSpec, place: Place, name: str, *, answers: bool, contained: bool) -> Manifest:
    lameduck, drain = spec.leave(place.seat.spot)
    settings = ServeSettings(f"gs://{place.models_bucket}/{spec.model}", variant=name, lameduck_seconds=lameduck, drain_seconds=drain)
    environment = {**settings.environment(), **spec.env} if spec.workload else spec.env
    port = spec.port or settings.port
    chips = place.seat.amounts(accelerators(spec, place.seat))
    memory = amount(spec.memory_gib, "Gi")
    made: Manifest = {
        "name": "server",
        "image": place.image,
        "command": list(spec.program.command) if spec.program else spec.command,
        "args": spec.args,
        "env": [{"name": variable, "value": value} for variable, value in environment.items()],
        "resources": {"requests": {"cpu": amount(spec.cpu), "memory": memory, **chips}, "limits": {"memory": memory, **chips}},
        "securityContext": {"allowPrivilegeEscalation": False, **({"capabilities": {"drop": ["ALL"]}} if contained else {})},
        "volumeMounts": [{"name": f"models-{index}", "mountPath": path, "readOnly": True} for index, path in enumerate(spec.folders)],
    }
    if answers:
        made["ports"] = [{"name": PORT, "containerPort": port}]
        made |= _probes(spec, spec.health_route or settings.health_route)
    if not spec.workload and lameduck >= 1:
        # Our own servers do this themselves: others end at once, while requests still come.
        made["lifecycle"] = {"preStop": {"sleep": {"seconds": int(lameduck)}}}
    return {key: value for key, value in made.items() if value not in ([], {})}


def _probes(spec: ServiceSpec, health: str) -> Manifest:
    """While it starts, a copy may say no for as long as `startup_seconds`; afterwards only who is not alive is begun again."""
    live = spec.live_route or (LIVE_ROUTE if spec.workload else health)

    def asked(path: str, seconds: int, failures: int) -> Manifest:
        return {"httpGet": {"path": path, "port": PORT}, "periodSeconds": seconds, "timeoutSeconds": 2, "failureThreshold": failures}

    return {
        "startupProbe": asked(health, 5, -(-spec.startup_seconds // 5)),
        "readinessProbe": asked(health, 3, 2),
        "livenessProbe": asked(live, 10, 3),
    }


def _volume(index: int, folder: str, bucket: str) -> Manifest:
    options = f"implicit-dirs,only-dir={folder.rstrip('/')}"
    attributes = {"bucketName": bucket, "mountOptions": options}
    return {"name": f"models-{index}", "csi": {"driver": FUSE, "readOnly": True, "volumeAttributes": attributes}}


def _template(name: str, spec: ServiceSpec, place: Place, *, answers: bool = True) -> Manifest:
    metadata: Manifest = {"labels": {**place.labels, NAME: name}}
    if spec.folders:
        metadata["annotations"] = dict(FUSE_WANTED)
    return {"metadata": metadata, "spec": pod(name, spec, place, answers=answers)}


# Who makes them.


def controller(name: str, spec: ServiceSpec, place: Place) -> Manifest:
    """
    What makes the pods. An update takes no accelerator beside those that there are: one copy goes before the next comes, but where the
    nodes hold one more.
    """
    surge, away = (1, 0) if place.spare else (0, 1)
    steps = {"maxSurge": surge, "maxUnavailable": away}
    # Where it scales, how many there are is the autoscaler's: a number here would take them back at each update.
    count = {} if spec.most > spec.min_replicas else {"replicas": spec.min_replicas}
    if several(spec, place.seat):
        return {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": _metadata(name, spec, place),
            "spec": {
                **count,
                "leaderWorkerTemplate": {
                    "size": hosts(spec, place.seat),
                    "restartPolicy": "RecreateGroupOnPodRestart",
                    "leaderTemplate": _template(name, spec, place),
                    "workerTemplate": _template(name, spec, place, answers=False),
                },
                "networkConfig": {"subdomainPolicy": "Shared"},
                "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": steps},
            },
        }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(name, spec, place),
        "spec": {
            **count,
            "selector": {"matchLabels": {NAME: name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": steps},
            # How long until an update counts as failed: its nodes come first, and then the model.
            "progressDeadlineSeconds": spec.startup_seconds + NODES_SECONDS,
            "template": _template(name, spec, place),
        },
    }


NODES_SECONDS = 1800
"""How long nodes with accelerators may take to come. Source: GoogleCloudPlatform/cluster-toolkit pull request 6278, read 2026-11 (GKE tells
after 35 minutes at the latest that a zone has no capacity)."""


# What is around them.


def around(name: str, spec: ServiceSpec, place: Place, *, routed: bool) -> Iterator[Manifest]:
    """
    Everything else of a service.

    Args:
        routed: Whether a load balancer brings it requests.
    """
    group = several(spec, place.seat)
    chosen = selector(name, group)
    metadata = _metadata(name, spec, place)
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "name": service_name(name, group)},
        "spec": {"type": "ClusterIP", "selector": chosen, "ports": [{"name": PORT, "port": SERVICE_PORT, "targetPort": PORT}]},
    }
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": chosen}},
    }
    if spec.scale_on:
        yield autoscaler(name, spec, place)
    if metrics := spec.metrics_route or (METRICS_ROUTE if spec.workload else ""):
        yield {
            "apiVersion": "monitoring.googleapis.com/v1",
            "kind": "PodMonitoring",
            "metadata": metadata,
            "spec": {
                "selector": {"matchLabels": chosen},
                "endpoints": [{"port": PORT, "path": metrics, "interval": f"{SCRAPE_SECONDS}s"}],
            },
        }
    if routed:
        yield from _policies(name, spec, place)


SERVICE_PORT = 80


def autoscaler(name: str, spec: ServiceSpec, place: Place) -> Manifest:
    """More copies as they are needed."""
    assert spec.scale_on, "only where there may be more"
    scale = spec.scale_on
    signal: Manifest
    if scale.metric is None:
        target = {"type": "Utilization", "averageUtilization": scale.cpu_percent}
        signal = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    else:
        assert scale.average is not None, "it was checked"
        target = {"type": "AverageValue", "averageValue": amount(scale.average)}
        signal = {"type": "Pods", "pods": {"metric": {"name": PROMETHEUS.format(scale.metric)}, "target": target}}
    made = controller(name, spec, place)
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(name, spec, place),
        "spec": {
            "scaleTargetRef": {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": name},
            "minReplicas": spec.min_replicas,
            "maxReplicas": spec.most,
            "metrics": [signal],
        },
    }


def _policies(name: str, spec: ServiceSpec, place: Place) -> Iterator[Manifest]:
    """What Google's load balancer asks the copies, and how it treats them."""
    of = {"group": "", "kind": "Service", "name": service_name(name, several(spec, place.seat))}
    metadata = _metadata(name, spec, place)
    asked = {"portSpecification": "USE_SERVING_PORT", "requestPath": spec.health_route or ServeSettings("").health_route}
    yield {
        "apiVersion": "networking.gke.io/v1",
        "kind": "HealthCheckPolicy",
        "metadata": metadata,
        "spec": {
            "targetRef": of,
            "default": {
                "checkIntervalSec": CHECK_SECONDS,
                "timeoutSec": CHECK_SECONDS,
                "healthyThreshold": 1,
                "unhealthyThreshold": FAILED_CHECKS,
                "config": {"type": "HTTP", "httpHealthCheck": asked},
            },
        },
    }
    yield {
        "apiVersion": "networking.gke.io/v1",
        "kind": "GCPBackendPolicy",
        "metadata": metadata,
        "spec": {
            "targetRef": of,
            "default": {
                "timeoutSec": spec.timeout_seconds,
                "connectionDraining": {"drainingTimeoutSec": DRAINING_SECONDS},
                "logging": {"enabled": True, "sampleRate": LOG_SAMPLE},
                **({"securityPolicy": spec.security_policy} if spec.security_policy else {}),
            },
        },
    }


def _metadata(name: str, spec: ServiceSpec, place: Place) -> Manifest:
    return {"name": name, "namespace": spec.namespace, "labels": {**place.labels, NAME: name}}
