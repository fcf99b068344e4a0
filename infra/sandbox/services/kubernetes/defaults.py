"""
What the API server fills into an object, and a client reads back.

Sources: `pkg/apis/*/v1/defaults.go` and the admission plugins of k8s.io/kubernetes, release 1.35; for custom resources the defaults in
their definitions and webhooks: JobSet 0.10 and LeaderWorkerSet 0.7, Gateway API 1.2. What is not here is not filled in.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import at

CLASS = "cloud.google.com/compute-class"
"""Pods that select a compute class tolerate the taint of its nodes.
Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes, read 2026-11."""
MODE = 420
"""0644, of files that a volume makes."""
MOST = 2**31 - 1


def fill(kind: Kind, body: Body) -> None:
    """Fills in *body*."""
    if filler := FILLERS.get((kind.group, kind.name)):
        filler(body)


def _set(body: Body, **values: Any) -> None:
    """Of what the body does not say."""
    for key, value in values.items():
        if body.get(key) is None:
            body[key] = value


def _maps(value: Any) -> Iterable[Body]:
    """The objects in a list, of whatever somebody sent."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _map(body: Body, key: str) -> Body:
    """The object at a key, made where it is missing."""
    if not isinstance(body.get(key), dict):
        body[key] = {}
    found: Body = body[key]
    return found


def pod_spec(spec: Body) -> None:
    """Of a pod, or of a template."""
    _set(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        securityContext={},
        schedulerName="default-scheduler",
    )
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    for volume in _maps(spec.get("volumes")):
        for source in ("secret", "configMap", "downwardAPI", "projected"):
            if isinstance(volume.get(source), dict):
                _set(volume[source], defaultMode=MODE)
        if isinstance(volume.get("hostPath"), dict):
            _set(volume["hostPath"], type="")
    for container in [*_maps(spec.get("initContainers")), *_maps(spec.get("containers"))]:
        _container(container)


def _container(container: Body) -> None:
    image = str(container.get("image", "")).rpartition("/")[2]
    latest = "@" not in image and image.partition(":")[2] in ("", "latest")
    _set(
        container,
        imagePullPolicy="Always" if latest else "IfNotPresent",
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    for port in _maps(container.get("ports")):
        _set(port, protocol="TCP")
    for one in _maps(container.get("env")):
        if isinstance(reference := at(one, "valueFrom", "fieldRef"), dict):
            _set(reference, apiVersion="v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(probe := container.get(name), dict):
            _set(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
            if isinstance(probe.get("httpGet"), dict):
                _set(probe["httpGet"], path="/", scheme="HTTP")


def _pod(body: Body) -> None:
    """Of the pod's admission: its account, and how long it stays on a node that is lost."""
    spec = _map(body, "spec")
    pod_spec(spec)
    _set(spec, enableServiceLinks=True, serviceAccountName="default", preemptionPolicy="PreemptLowerPriority", priority=0)
    spec["serviceAccount"] = spec["serviceAccountName"]
    tolerations = spec.setdefault("tolerations", [])
    extended: set[str] = set()
    for container in [*_maps(spec.get("initContainers")), *_maps(spec.get("containers"))]:
        limits, requests = at(container, "resources", "limits"), at(container, "resources", "requests")
        if isinstance(limits, dict) and limits:
            container["resources"]["requests"] = limits | (requests or {})
        extended |= {name for name in at(container, "resources", "requests") or {} if "/" in name and not name.startswith("kubernetes.io/")}
    if not isinstance(tolerations, list):
        return
    selector = spec.get("nodeSelector")
    chosen = selector.get(CLASS) if isinstance(selector, dict) else None
    if chosen and not _tolerates(tolerations, CLASS, "NoSchedule"):
        tolerations.append({"key": CLASS, "operator": "Equal", "value": chosen, "effect": "NoSchedule"})
    # ExtendedResourceToleration: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus, read 2026-11.
    tolerations += [{"key": name, "operator": "Exists"} for name in sorted(extended) if not _tolerates(tolerations, name, "")]
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not _tolerates(tolerations, key, "NoExecute"):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def _tolerates(tolerations: list[Any], key: str, effect: str) -> bool:
    return any(one.get("key", key) == key and one.get("effect", effect) in ("", effect) for one in _maps(tolerations))


def _template(body: Body) -> None:
    pod_spec(_map(_map(_map(body, "spec"), "template"), "spec"))


def _deployment(body: Body) -> None:
    spec = _map(body, "spec")
    _template(body)
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = _map(spec, "strategy")
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(_map(strategy, "rollingUpdate"), maxSurge="25%", maxUnavailable="25%")


def _replica_set(body: Body) -> None:
    _template(body)
    _set(body["spec"], replicas=1)


def _stateful_set(body: Body) -> None:
    spec = _map(body, "spec")
    _template(body)
    _set(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    _set(_map(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    strategy = _map(spec, "updateStrategy")
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(_map(strategy, "rollingUpdate"), partition=0)
    for claim in _maps(spec.get("volumeClaimTemplates")):
        _set(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        _set(_map(claim, "spec"), volumeMode="Filesystem")
        _set(_map(claim, "status"), phase="Pending")


def _daemon_set(body: Body) -> None:
    spec = _map(body, "spec")
    _template(body)
    _set(spec, revisionHistoryLimit=10)
    strategy = _map(spec, "updateStrategy")
    _set(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _set(_map(strategy, "rollingUpdate"), maxSurge=0, maxUnavailable=1)


def job_spec(spec: Body) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _set(spec, parallelism=1, completionMode="NonIndexed", suspend=False, manualSelector=False)
    _set(spec, backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else MOST)
    _set(spec, podReplacementPolicy="Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")


def _job(body: Body) -> None:
    """Pods of a job are found by its uid: the selector is the server's. Source: `pkg/registry/batch/job/strategy.go`."""
    _template(body)
    job_spec(body["spec"])
    uid = body["metadata"].get("uid")
    if uid and not body["spec"]["manualSelector"]:
        _set(body["spec"], selector={"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
        labels = _map(_map(body["spec"]["template"], "metadata"), "labels")
        name = body["metadata"]["name"]
        _set(labels, **{"controller-uid": uid, "job-name": name})
        _set(labels, **{"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name})


def _cron_job(body: Body) -> None:
    spec = _map(body, "spec")
    _set(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    _template(_map(spec, "jobTemplate"))


def _service(body: Body) -> None:
    spec = _map(body, "spec")
    _set(spec, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        _set(spec, internalTrafficPolicy="Cluster", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        _set(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        _set(spec, allocateLoadBalancerNodePorts=True)
    for port in _maps(spec.get("ports")):
        _set(port, protocol="TCP", targetPort=port.get("port"))


def _claim(body: Body) -> None:
    _set(_map(body, "spec"), volumeMode="Filesystem")
    _set(_map(body, "status"), phase="Pending")


def _secret(body: Body) -> None:
    """Plain text is encoded, and written nowhere else."""
    _set(body, type="Opaque")
    plain = body.pop("stringData", None)
    if isinstance(plain, dict):
        data = _map(body, "data")
        data |= {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}


def _namespace(body: Body) -> None:
    _set(_map(body, "spec"), finalizers=["kubernetes"])
    _set(_map(body, "status"), phase="Active")
    _map(body["metadata"], "labels")["kubernetes.io/metadata.name"] = body["metadata"].get("name", "")


def _autoscaler(body: Body) -> None:
    usual = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
    _set(_map(body, "spec"), minReplicas=1, metrics=[usual])


def _network_policy(body: Body) -> None:
    spec = _map(body, "spec")
    _set(spec, policyTypes=["Ingress", *(["Egress"] if spec.get("egress") else [])])
    for rule in [*_maps(spec.get("ingress")), *_maps(spec.get("egress"))]:
        for port in _maps(rule.get("ports")):
            _set(port, protocol="TCP")


def _binding(body: Body) -> None:
    if isinstance(body.get("roleRef"), dict):
        _set(body["roleRef"], apiGroup="rbac.authorization.k8s.io")
    for subject in _maps(body.get("subjects")):
        if subject.get("kind") in ("User", "Group"):
            _set(subject, apiGroup="rbac.authorization.k8s.io")


def _job_set(body: Body) -> None:
    spec = _map(body, "spec")
    _set(_map(spec, "network"), enableDNSHostnames=True, publishNotReadyAddresses=True)
    _set(_map(spec, "successPolicy"), operator="All")
    _set(_map(spec, "startupPolicy"), startupPolicyOrder="AnyOrder")
    for one in _maps(spec.get("replicatedJobs")):
        _set(one, replicas=1, groupName="default")
        job = _map(_map(one, "template"), "spec")
        _set(job, completionMode="Indexed")
        _set(_map(_map(job, "template"), "spec"), restartPolicy="OnFailure")


def _leader_worker_set(body: Body) -> None:
    spec = _map(body, "spec")
    _set(spec, replicas=1, startupPolicy="LeaderCreated")
    _set(_map(spec, "leaderWorkerTemplate"), size=1, restartPolicy="RecreateGroupOnPodRestart")
    rollout = _map(spec, "rolloutStrategy")
    _set(rollout, type="RollingUpdate")
    _set(_map(rollout, "rollingUpdateConfiguration"), maxUnavailable=1, maxSurge=0, partition=0)
    _set(_map(spec, "networkConfig"), subdomainPolicy="Shared")


def _gateway(body: Body) -> None:
    for listener in _maps(_map(body, "spec").get("listeners")):
        _set(_map(_map(listener, "allowedRoutes"), "namespaces"), **{"from": "Same"})


def _route(body: Body) -> None:
    spec = _map(body, "spec")
    for parent in _maps(spec.get("parentRefs")):
        _set(parent, group="gateway.networking.k8s.io", kind="Gateway")
    for rule in _maps(spec.get("rules")):
        _set(rule, matches=[{}])
        for match in _maps(rule["matches"]):
            if set(match) <= {"path"}:
                _set(_map(match, "path"), type="PathPrefix", value="/")
        for backend in _maps(rule.get("backendRefs")):
            _set(backend, group="", kind="Service", weight=1)


BATCH, RBAC, GATEWAY = "batch", "rbac.authorization.k8s.io", "gateway.networking.k8s.io"
FILLERS: dict[tuple[str, str], Callable[[Body], None]] = {
    ("", "Namespace"): _namespace,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    (BATCH, "CronJob"): _cron_job,
    (BATCH, "Job"): _job,
    (GATEWAY, "Gateway"): _gateway,
    (GATEWAY, "HTTPRoute"): _route,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("kueue.x-k8s.io", "ClusterQueue"): lambda body: _set(_map(body, "spec"), queueingStrategy="BestEffortFIFO", stopPolicy="None"),
    ("kueue.x-k8s.io", "LocalQueue"): lambda body: _set(_map(body, "spec"), stopPolicy="None"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    (RBAC, "ClusterRoleBinding"): _binding,
    (RBAC, "RoleBinding"): _binding,
    ("scheduling.k8s.io", "PriorityClass"): lambda body: _set(body, preemptionPolicy="PreemptLowerPriority"),
    ("storage.k8s.io", "StorageClass"): lambda body: _set(body, reclaimPolicy="Delete", volumeBindingMode="Immediate"),
}
