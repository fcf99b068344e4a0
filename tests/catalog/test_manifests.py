"""Manifests: one good object of each kind, and everything that a cluster would refuse of it, all at once and in words."""

from __future__ import annotations

import copy
import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.catalog.manifest_schemas import UnknownVersion, custom_kinds, schemas
from infra.catalog.manifests import VERSION, ManifestFault, faults, namespaced, pods_in

GOOD = {f"{one['kind']}": one for one in yaml.safe_load_all((Path(__file__).parent / "good_manifests.yaml").read_text(encoding="utf-8"))}
POD = "spec.template.spec"
BOX = f"{POD}.containers.0"
DROP = object()
"""What is taken away."""


def changed(kind: str, **values: Any) -> dict[str, Any]:
    """A good object with other values at these paths, `__` for what is no identifier in them."""
    made = copy.deepcopy(GOOD[kind])
    for path, value in values.items():
        *way, last = path.split(".")
        at: Any = made
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        key = int(last) if isinstance(at, list) else last
        if value is DROP:
            del at[key]
        elif isinstance(at, list) and key == len(at):
            at.append(value)
        else:
            at[key] = value
    return made


def said(manifest: Any) -> dict[str, str]:
    return {one.path: f"{one.message} | {one.allowed}" for one in faults(manifest)}


def test_good_objects_have_no_fault() -> None:
    """Of Kubernetes' own kinds and of custom ones."""
    assert {kind: faults(one) for kind, one in GOOD.items() if faults(one)} == {}


def test_every_custom_kind_is_tried() -> None:
    """Each schema of ours has an object here, says where it is from, and is in a group that it does not share with another version."""
    kinds = custom_kinds()

    assert {one.kind for one in kinds.values()} <= set(GOOD)
    assert all(one.source and one.as_of and one.plural and one.brought_by for one in kinds.values())
    assert len({(one.group, one.kind) for one in kinds.values()}) == len(kinds)
    assert [namespaced(GOOD[kind]["apiVersion"], kind) for kind in ("Namespace", "Deployment", "ClusterQueue", "LocalQueue")] == [
        False,
        True,
        False,
        True,
    ]


WRONG: list[tuple[str, str, Any, str, str]] = [
    # What the schemas refuse: kind, path, value, path of the fault if another, words.
    ("Deployment", f"{BOX}.imag", "x", "spec.template.spec.containers[0].imag", "is no field here | image"),
    ("Deployment", f"{BOX}.image_pull_policy", "Always", "spec.template.spec.containers[0].image_pull_policy", "imagePullPolicy"),
    ("Deployment", "spec.replicas", "3", "", 'the text "3", not a whole number | 3, without quotes'),
    ("Deployment", "spec.replicas", 2.0, "", "the number 2.0, not a whole number | 2"),
    ("Deployment", "spec.replicas", 1 << 31, "", "too large | at most 2147483647"),
    ("Deployment", "spec.replicas", True, "", "true, true or false, not a whole number"),
    ("Deployment", "spec.paused", "yes", "", "true, without quotes"),
    ("Deployment", f"{BOX}.env.0.value", 1, "spec.template.spec.containers[0].env[0].value", '"1", in quotes'),
    ("Deployment", f"{BOX}.ports", {}, "spec.template.spec.containers[0].ports", "is a map, not a list"),
    ("Deployment", f"{BOX}.resources.limits.memory", [1], "spec.template.spec.containers[0].resources.limits.memory", "is a list, not a quantity"),
    ("Deployment", f"{BOX}.resources.limits.memory", "4GB", "spec.template.spec.containers[0].resources.limits.memory", "4G or 4Gi"),
    ("Deployment", f"{BOX}.readinessProbe.httpGet.port", {}, "spec.template.spec.containers[0].readinessProbe.httpGet.port", "a whole number or a text"),
    ("Deployment", "spec.template", DROP, "", "is missing"),
    ("Deployment", f"{POD}.volumes.1.emptyDir.sizeLimit", "5gi", "spec.template.spec.volumes[1].emptyDir.sizeLimit", "5Gi"),
    ("Secret", "data.token", "not base64!", "", "is not base64 | the value in base64"),
    # Names and labels.
    ("Namespace", "metadata.name", "a.b", "", 'is "a.b", which is no name'),
    ("Namespace", "metadata.name", DROP, "", "is missing"),
    ("Service", "metadata.name", "1st", "", "a letter first"),
    ("Deployment", "metadata.name", "Gemma_1", "", "which is no name"),
    ("Deployment", "metadata.name", "", "", "is empty"),
    ("Deployment", "metadata.namespace", "A", "", "which is no name"),
    ("Deployment", "metadata.labels", {"a b": "x"}, "metadata.labels[a b]", "is no key of a label"),
    ("Deployment", "metadata.labels", {"a": "x" * 64}, "metadata.labels.a", "which is no value of a label"),
    ("Deployment", "metadata.annotations", {"a": "x" * (257 << 10)}, "", "256 KiB"),
    ("CronJob", "metadata.name", "n" * 53, "", "at most 52"),
    ("ClusterRole", "metadata.name", "a/b", "", "which is no name"),
    ("ConfigMap", "data", {"a/b": "x"}, "data[a/b]", "is no key of a ConfigMap"),
    ("ConfigMap", "data", {"a": "x" * (1 << 21)}, "", "1 MiB"),
    # Workloads.
    ("Deployment", "spec.selector.matchLabels.app", "other", "", 'and the template has "gemma"'),
    ("Deployment", "spec.selector.matchLabels", {"no": "label"}, "spec.selector.matchLabels.no", "has no such label"),
    ("Deployment", "spec.selector", {}, "", "selects nothing"),
    ("Deployment", "spec.selector.matchExpressions.0.operator", "NotIn", "spec.selector.matchExpressions[0]", "does not hold"),
    ("Deployment", "spec.selector.matchExpressions.0.operator", "in", "spec.selector.matchExpressions[0].operator", "In, NotIn, Exists"),
    ("Deployment", "spec.selector.matchExpressions.0.values", [], "spec.selector.matchExpressions[0].values", "is missing beside In"),
    ("Deployment", "spec.strategy.type", "Recreate", "spec.strategy.rollingUpdate", "does not go with Recreate"),
    ("Deployment", "spec.strategy.rollingUpdate.maxUnavailable", 0, "", "is 0, and so is maxSurge"),
    ("Deployment", "spec.strategy.rollingUpdate.maxSurge", "one", "", "a percentage such as 25%"),
    ("Deployment", "spec.replicas", -1, "", "0 or more"),
    ("Deployment", f"{POD}.restartPolicy", "Never", "", "these pods never end"),
    ("Job", f"{POD}.restartPolicy", DROP, "", "is missing: the pods of a job end"),
    ("Job", f"{POD}.restartPolicy", "Always", "", "Never, OnFailure"),
    ("Job", "spec.completions", DROP, "", "is missing beside completionMode: Indexed"),
    ("Job", "spec.backoffLimitPerIndex", 1, "", ""),
    ("Job", "spec.selector", {"matchLabels": {"a": "b"}}, "", "is made by the server"),
    ("CronJob", "spec.schedule", "every day", "", "five fields"),
    ("CronJob", "spec.schedule", "TZ=UTC 0 3 * * *", "", ""),
    ("CronJob", "spec.concurrencyPolicy", "forbid", "", "Allow, Forbid, Replace"),
    ("HorizontalPodAutoscaler", "spec.minReplicas", 5, "spec.maxReplicas", "below minReplicas 5"),
    ("HorizontalPodAutoscaler", "spec.metrics.0.type", "Pods", "spec.metrics[0].pods", "is missing beside type: Pods"),
    ("PodDisruptionBudget", "spec.minAvailable", 1, "spec.maxUnavailable", "does not go with minAvailable"),
    # Pods.
    ("Deployment", f"{POD}.containers", [], "", "has no entry"),
    ("Deployment", f"{BOX}.image", DROP, "spec.template.spec.containers[0].image", "is missing"),
    ("Deployment", f"{BOX}.image", " a:1", "spec.template.spec.containers[0].image", "with a space in it | a:1"),
    ("Deployment", f"{BOX}.name", "Server", "spec.template.spec.containers[0].name", "which is no name"),
    ("Deployment", f"{BOX}.name", "cache", "spec.template.spec.initContainers[0].name", "a name of its own"),
    ("Deployment", f"{POD}.containers.1", {"name": "server", "image": "a"}, "spec.template.spec.containers[1]", "has the name server of entry 0 too"),
    ("Deployment", f"{BOX}.env.1", {"name": "MODEL"}, "spec.template.spec.containers[0].env[1]", "has the name MODEL of entry 0 too"),
    ("Deployment", f"{BOX}.env.0.name", "A=B", "spec.template.spec.containers[0].env[0].name", "no name of a variable"),
    ("Deployment", f"{BOX}.env.1.value", "x", "spec.template.spec.containers[0].env[1].valueFrom", "does not go with value"),
    ("Deployment", f"{BOX}.env.1.valueFrom", {}, "spec.template.spec.containers[0].env[1].valueFrom", "says nothing to do"),
    ("Deployment", f"{BOX}.ports.0.containerPort", 70000, "spec.template.spec.containers[0].ports[0].containerPort", "1 to 65535"),
    ("Deployment", f"{BOX}.ports.0.name", "web_http", "spec.template.spec.containers[0].ports[0].name", "up to 15"),
    ("Deployment", f"{BOX}.ports.0.name", "8080", "spec.template.spec.containers[0].ports[0].name", "with a letter in it"),
    ("Deployment", f"{BOX}.ports.0.protocol", "tcp", "spec.template.spec.containers[0].ports[0].protocol", "TCP, UDP, SCTP"),
    ("Deployment", f"{BOX}.ports.1", {"containerPort": 8080}, "spec.template.spec.containers[0].ports[1]", "containerPort 8080, protocol TCP of entry 0"),
    ("Deployment", f"{BOX}.ports.1", {"containerPort": 1, "name": "http"}, "spec.template.spec.containers[0].ports[1].name", "a name of its own"),
    ("Deployment", f"{BOX}.readinessProbe", {}, "spec.template.spec.containers[0].readinessProbe", "one of exec, httpGet, tcpSocket, grpc"),
    ("Deployment", f"{BOX}.readinessProbe.exec", {"command": ["a"]}, "spec.template.spec.containers[0].readinessProbe", "says exec and httpGet"),
    ("Deployment", f"{BOX}.readinessProbe.periodSeconds", -1, "spec.template.spec.containers[0].readinessProbe.periodSeconds", "1 or more"),
    ("Deployment", f"{BOX}.readinessProbe.httpGet.port", "web_ui", "spec.template.spec.containers[0].readinessProbe.httpGet.port", "no port"),
    ("Deployment", f"{POD}.initContainers.0.restartPolicy", DROP, "spec.template.spec.initContainers[0].startupProbe", "for containers that stay"),
    ("Deployment", f"{BOX}.restartPolicy", "always", "spec.template.spec.containers[0].restartPolicy", "Always, OnFailure, Never"),
    ("Deployment", f"{BOX}.volumeMounts.0.name", "model", "spec.template.spec.containers[0].volumeMounts[0].name", "models, scratch"),
    ("Deployment", f"{BOX}.volumeMounts.1.mountPath", "", "spec.template.spec.containers[0].volumeMounts[1].mountPath", "is empty"),
    ("Deployment", f"{BOX}.volumeMounts.1.mountPath", "/models", "spec.template.spec.containers[0].volumeMounts[1]", "mountPath /models of entry 0"),
    ("Deployment", f"{POD}.volumes.1.configMap", {"name": "a"}, "spec.template.spec.volumes[1]", "several sources: configMap, emptyDir"),
    ("Deployment", f"{POD}.volumes.1.emptyDir", DROP, "spec.template.spec.volumes[1]", "says no source"),
    ("Deployment", f"{POD}.tolerations.0.value", "x", "spec.template.spec.tolerations[0].value", "does nothing beside Exists"),
    ("Deployment", f"{POD}.tolerations.0.key", "", "", ""),
    ("Deployment", f"{POD}.tolerations.0.operator", "exists", "spec.template.spec.tolerations[0].operator", "Exists, Equal"),
    ("Deployment", f"{POD}.tolerations.0.tolerationSeconds", 5, "spec.template.spec.tolerations[0].effect", "NoExecute"),
    ("Deployment", f"{POD}.nodeSelector", {"a b": "c"}, "spec.template.spec.nodeSelector[a b]", "is no key of a label"),
    ("Deployment", f"{POD}.serviceAccountName", "A", "", "which is no name"),
    # Resources.
    ("Deployment", f"{BOX}.resources.limits.memory", "8Gi", "spec.template.spec.containers[0].resources.requests.memory", "is 16Gi, above its limit 8Gi"),
    ("Deployment", f"{BOX}.resources.limits", {"gpu": 1}, "spec.template.spec.containers[0].resources.limits.gpu", "nvidia.com/gpu"),
    ("Deployment", f"{BOX}.resources.requests.cpu", "-1", "spec.template.spec.containers[0].resources.requests.cpu", "less than nothing"),
    ("Deployment", f"{BOX}.resources.limits", {"nvidia.com/gpu": 2}, "spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]", "is 1, and its limit 2"),
    ("Deployment", f"{BOX}.resources.limits", {}, "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]", "is limited to what is requested | 1"),
    ("Job", f"{BOX}.resources.limits", {"google.com/tpu": "1.5"}, "spec.template.spec.containers[0].resources.limits[google.com/tpu]", "is had whole"),
    # What pods are reached by, and keep their data in.
    ("Service", "spec.ports", [], "", "is missing | a port"),
    ("Service", "spec.ports.0.name", DROP, "spec.ports[0].name", "several ports names them"),
    ("Service", "spec.ports.1.name", "http", "spec.ports[1].name", "a name of its own"),
    ("Service", "spec.ports.1.port", 80, "spec.ports[1]", "port 80, protocol TCP of entry 0"),
    ("Service", "spec.ports.0.targetPort", "a_b", "spec.ports[0].targetPort", "no port"),
    ("Service", "spec.ports.0.port", 0, "spec.ports[0].port", "1 to 65535"),
    ("Service", "spec.type", "ExternalName", "spec.externalName", "is missing"),
    ("Service", "spec.type", "loadbalancer", "", "LoadBalancer"),
    ("PersistentVolumeClaim", "spec.accessModes", ["RWX"], "spec.accessModes[0]", "ReadWriteMany"),
    ("PersistentVolumeClaim", "spec.accessModes", [], "", "is missing"),
    ("PersistentVolumeClaim", "spec.resources", {}, "spec.resources.requests.storage", "is missing"),
    ("PersistentVolumeClaim", "spec.resources.requests.storage", "0", "", "above 0"),
    ("StatefulSet", "spec.volumeClaimTemplates.0.metadata.name", "other", "spec.template.spec.containers[0].volumeMounts[0].name", "no volume of the pod"),
    # Custom kinds: schemas.
    ("ClusterQueue", "spec.cohort", "all", "", "is no field here | cohortName"),
    ("ClusterQueue", "spec.stopPolicy", "hold", "", "None, Hold, HoldAndDrain"),
    ("ClusterQueue", "spec.resourceGroups.0.flavors", [], "spec.resourceGroups[0].flavors", "has no entry | 1 or more"),
    ("ClusterQueue", "spec.resourceGroups.0.flavors.0.name", "V5E", "spec.resourceGroups[0].flavors[0].name", "has not the right form | a-z"),
    ("WorkloadPriorityClass", "value", DROP, "", "is missing"),
    ("JobSet", "spec.replicatedJobs.0.template.spec.template.spec.containers.0.imag", "x", "spec.replicatedJobs[0].template.spec.template.spec.containers[0].imag", "image"),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.size", 0, "", "too small | 1 or more"),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.workerTemplate", DROP, "", "is missing"),
    ("RayCluster", "spec.workerGroupSpecs.0.groupname", "x", "spec.workerGroupSpecs[0].groupname", "groupName"),
    ("RayCluster", "spec.headGroupSpec.rayStartParams", {"num-cpus": 0}, "spec.headGroupSpec.rayStartParams.num-cpus", '"0", in quotes'),
    ("ComputeClass", "spec.priorities.1.gpu.driverVersion", "none", "spec.priorities[1].gpu.driverVersion", "default, latest"),
    ("ComputeClass", "spec.priorities.0", {}, "spec.priorities[0]", "has no entry"),
    ("HTTPRoute", "spec.rules.0.timeouts.request", "10 minutes", "spec.rules[0].timeouts.request", "30s or 1m30s"),
    ("HTTPRoute", "spec.rules.0.backendRefs.0.weight", -1, "spec.rules[0].backendRefs[0].weight", "0 or more"),
    ("GCPBackendPolicy", "spec.default.timeout", 5, "", "timeoutSec"),
    ("GCPBackendPolicy", "spec.targetRef.name", "", "", "is empty | 1 character or more"),
    ("HealthCheckPolicy", "spec.default.config.httpHealthCheck.requestPath", "healthz", "", "has not the right form"),
    # Custom kinds: what their controllers refuse.
    ("ResourceFlavor", "spec", {"topologyName": "gke"}, "spec.nodeLabels", "is missing beside topologyName"),
    ("ResourceFlavor", "spec.nodeTaints.0.effect", "NoRun", "spec.nodeTaints[0].effect", "NoSchedule"),
    ("ClusterQueue", "spec.cohortName", DROP, "spec.resourceGroups[0].flavors[0].resources[1].borrowingLimit", "without cohortName"),
    ("ClusterQueue", "spec.resourceGroups.0.coveredResources", ["google.com/tpu", "cpu"], "spec.resourceGroups[0].flavors[0].resources", "in the same order"),
    ("ClusterQueue", "spec.resourceGroups.1", GOOD["ClusterQueue"]["spec"]["resourceGroups"][0], "spec.resourceGroups[1].flavors[0].name", "each flavor once"),
    ("ClusterQueue", "spec.preemption.borrowWithinCohort", {"policy": "LowerPriority"}, "spec.preemption.reclaimWithinCohort", "is Never"),
    ("ClusterQueue", "spec.flavorFungibility", {"preference": "BorrowingOverPreemption"}, "spec.flavorFungibility.preference", "TryNextFlavor in both"),
    ("ClusterQueue", "spec.resourceGroups.0.flavors.0.resources.1.lendingLimit", 17, "spec.resourceGroups[0].flavors[0].resources[1].lendingLimit", "above nominalQuota 16"),
    ("LocalQueue", "spec", {}, "spec.clusterQueue", "leads nowhere"),
    ("Topology", "spec.levels.0.nodeLabel", "kubernetes.io/hostname", "spec.levels", "that one last"),
    ("JobSet", "spec.replicatedJobs.0.name", "Workers", "spec.replicatedJobs[0].name", "which is no name"),
    ("JobSet", "metadata.name", "s" * 50, "spec.replicatedJobs[0].name", "63 together"),
    ("JobSet", "spec.replicatedJobs.0.dependsOn", [{"name": "x", "status": "Ready"}], "spec.replicatedJobs[0].dependsOn", "of the first job"),
    ("JobSet", "spec.failurePolicy.rules.0.targetReplicatedJobs", ["w"], "spec.failurePolicy.rules[0].targetReplicatedJobs[0]", "no job of this set | workers"),
    ("JobSet", "spec.successPolicy", {"operator": "All", "targetReplicatedJobs": ["w"]}, "spec.successPolicy.targetReplicatedJobs[0]", "workers"),
    ("JobSet", "spec.coordinator", {"replicatedJob": "w"}, "spec.coordinator.replicatedJob", "workers"),
    ("JobSet", "spec.network", {"subdomain": "A"}, "spec.network.subdomain", "which is no name"),
    ("LeaderWorkerSet", "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize", 3, "", ""),
    ("LeaderWorkerSet", "spec.rolloutStrategy", {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 0}}, "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable", "so is maxSurge"),
    ("RayCluster", "spec.workerGroupSpecs.0.minReplicas", 5, "spec.workerGroupSpecs[0].minReplicas", "above maxReplicas 4"),
    ("RayCluster", "spec.workerGroupSpecs.1", GOOD["RayCluster"]["spec"]["workerGroupSpecs"][0], "spec.workerGroupSpecs[1].groupName", "a name of its own"),
    ("RayCluster", "metadata.name", "t" * 54, "", "up to 53"),
    ("RayJob", "spec.shutdownAfterJobFinishes", False, "", "its cluster would stay"),
    ("Stack", "metadata.name", "x" * 43, "", "has 43 letters"),
    ("Stack", "spec.branch", DROP, "", "one of both"),
    ("Stack", "spec.commit", "a" * 40, "spec.branch", "one of both"),
    ("Stack", "spec.projectRepo", DROP, "", "one of both"),
    ("Stack", "spec.envRefs.TOKEN.type", "secret", "", "Secret"),
    ("Stack", "spec.workspaceTemplate.spec.imag", "x", "", "is no field here | image"),
    ("RayJob", "spec.rayClusterSpec", DROP, "", "is missing"),
    ("RayJob", "spec.clusterSelector", {"ray.io/cluster": "a"}, "spec.suspend", "does not go with clusterSelector"),
    ("RayService", "metadata.name", "t" * 48, "", "up to 47"),
    ("ComputeClass", "metadata.name", "gke-l4", "", "GKE's own"),
    ("ComputeClass", "spec.priorities.3.spot", True, "spec.priorities[3].nodepools", "does not go with spot"),
    ("ComputeClass", "spec.priorities.1.machineFamily", "g2", "spec.priorities[1].machineFamily", "does not go with machineType"),
    ("ComputeClass", "spec.priorities.2.spot", True, "spec.priorities[2].spot", "does not go with flexStart"),
    ("ComputeClass", "spec.priorities.1.capacityCheckWaitTimeSeconds", 60, "spec.priorities[1].capacityCheckWaitTimeSeconds", "for flexStart"),
    ("ComputeClass", "spec.priorities.0.reservations.affinity", "AnyBestEffort", "spec.priorities[0].reservations.affinity", "Specific"),
    ("ComputeClass", "spec.priorities.0.reservations.specific", [], "spec.priorities[0].reservations.specific", "is missing beside affinity"),
    ("ComputeClass", "spec.priorities.1.podFamily", "general-purpose", "spec.priorities[1].podFamily", "is for autopilot"),
    ("ComputeClass", "spec.autopilot", {"enabled": True}, "spec.priorities[3].nodepools", "does not go with autopilot"),
    ("Gateway", "spec.listeners.1.tls", DROP, "spec.listeners[1].tls.certificateRefs", "is missing"),
    ("Gateway", "spec.listeners.0.tls", {"mode": "Terminate"}, "spec.listeners[0].tls", "does not go with HTTP"),
    ("Gateway", "spec.listeners.1.port", 80, "", ""),
    ("Gateway", "spec.listeners.2", {"name": "more", "protocol": "HTTP", "port": 80}, "spec.listeners[2]", "of entry 0"),
    ("HTTPRoute", "spec.rules.0.backendRefs.0.port", DROP, "spec.rules[0].backendRefs[0].port", "is missing"),
    ("HTTPRoute", "spec.rules.0.filters.0.type", "URLRewrite", "spec.rules[0].filters[0].urlRewrite", "is missing beside type"),
    ("HTTPRoute", "spec.rules.0.matches.0.path.value", "v1", "spec.rules[0].matches[0].path.value", "no path"),
    ("HealthCheckPolicy", "spec.default.timeoutSec", 20, "", "above checkIntervalSec 15"),
    ("HealthCheckPolicy", "spec.default.config.type", "TCP", "spec.default.config.tcpHealthCheck", "is missing beside type: TCP"),
    ("HealthCheckPolicy", "spec.default.config.httpHealthCheck.port", DROP, "", "USE_FIXED_PORT"),
    ("PodMonitoring", "spec.endpoints.0.timeout", "1m", "spec.endpoints[0].timeout", "above interval 30s"),
    ("PodMonitoring", "spec.endpoints.0.interval", DROP, "spec.endpoints[0].interval", "is missing"),
    ("SecretProviderClass", "spec.parameters", {}, "spec.parameters.secrets", "is missing"),
    ("SecretProviderClass", "spec.provider", DROP, "", "is missing | gke"),
]  # fmt: skip
TAKEN = [one for one in WRONG if not one[4]]
"""What looks wrong and is not: another port, a group that divides what is left of it, an empty key that tolerates all."""


@pytest.mark.parametrize("kind", dict.fromkeys(one[0] for one in WRONG))
def test_fails_where_a_cluster_refuses(kind: str) -> None:
    """Each wrong thing is found at its place, with what would do, and little beside."""
    for _, path, value, at, words in (one for one in WRONG if one[0] == kind and one[4]):
        found = said(changed(kind, **{path: value}))
        assert words in found.get(at or path, ""), (path, value, found)
        assert len(found) <= 3, (path, value, found)


def test_what_looks_wrong_may_be_right() -> None:
    """No more is refused than a cluster refuses."""
    assert {(kind, path): said(changed(kind, **{path: value})) for kind, path, value, _, _ in TAKEN if kind not in ("Job", "CronJob")} == {
        ("Deployment", "spec.template.spec.tolerations.0.key"): {},
        ("LeaderWorkerSet", "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"): {},
        ("Gateway", "spec.listeners.1.port"): {},
    }
    assert said(changed("Job", **{"spec.backoffLimitPerIndex": 1})) == {}
    assert said(changed("CronJob", **{"spec.schedule": "@daily"})) == {}
    assert said(changed("JobSet", status={"restarts": 1}, **{"metadata.managedFields": [{"manager": "jobset"}]})) == {}
    assert said(changed("Deployment", **{"metadata.creationTimestamp": None, "spec.paused": None})) == {}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"}}
    assert said(role | {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "User", "name": "a"}]}) == {}
    assert said(changed("Service", **{"spec.clusterIP": "None", "spec.ports": []})) == {}


def test_everything_is_said_at_once() -> None:
    """In the order of the paths, from schema and rules alike."""
    wrong = changed(
        "Deployment", **{"metadata.name": "A", "spec.replicas": "3", f"{BOX}.imag": "x", f"{BOX}.image": DROP, f"{POD}.volumes": []}
    )
    found = faults(wrong)

    assert [one.path for one in found] == sorted(one.path for one in found)
    assert [one.path for one in found] == [
        "metadata.name",
        "spec.replicas",
        "spec.template.spec.containers[0].imag",
        "spec.template.spec.containers[0].image",
        "spec.template.spec.containers[0].volumeMounts[0].name",
        "spec.template.spec.containers[0].volumeMounts[1].name",
    ]
    assert str(found[1]) == 'spec.replicas is the text "3", not a whole number; allowed: 3, without quotes'


@pytest.mark.parametrize(
    ("manifest", "path", "words"),
    [
        (None, "", "is empty, not a map"),
        ([], "", "is a list, not a map"),
        ("x", "", 'is the text "x", not a map'),
        ({}, "apiVersion", "is missing | such as apps/v1"),
        ({"apiVersion": 1, "kind": ["x"]}, "kind", "is a list, not a text"),
        ({"apiVersion": "apps/v1", "kind": "deployment"}, "kind", "apps/v1 has not | Deployment"),
        ({"apiVersion": "apps/v1beta1", "kind": "Deployment"}, "apiVersion", "apps/v1"),
        ({"apiVersion": "extensions/v1beta1", "kind": "Ingress"}, "apiVersion", "networking.k8s.io/v1"),
        ({"apiVersion": "networking.gke.io/v1", "kind": "Ingress"}, "apiVersion", "networking.k8s.io/v1"),
        ({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue"}, "apiVersion", "Kueue serves it no more, from 0.20 on | kueue.x-k8s.io/v1beta2"),
        ({"apiVersion": "example.com/v1", "kind": "Shop"}, "kind", "a kind that is not known here"),
        ({"apiVersion": "ray.io/v2", "kind": "RayClusters"}, "kind", "RayCluster of ray.io/v1"),
        ({"apiVersion": "v1", "kind": "DeleteOptions"}, "kind", "v1 has not"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, 1: 2}, "[1]", '"1", in quotes'),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"from": datetime.date(2026, 1, 1)}}}, "metadata.labels.from", '"2026-01-01", in quotes'),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"x": float("nan")}}, "spec.x", "is nan, not a number"),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"x": {1, 2}}}, "spec.x", "is a set"),
        ({"apiVersion": "v1", "kind": "Pod"}, "metadata.name", "is missing"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": [], "spec": 7}, "spec", "is the number 7, not a map"),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"priority": 10**5000}}, "spec.priority", "very many digits"),
    ],
    ids=range(20),
)  # fmt: skip
def test_fails_with_odd_input(manifest: Any, path: str, words: str) -> None:
    """Whatever a file may hold is said in words."""
    assert words in said(manifest).get(path, ""), said(manifest)


def test_a_file_that_holds_itself_ends() -> None:
    """Anchors of YAML can be without end."""
    endless: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    endless["spec"] = endless

    assert "is nested more than 100 deep" in str(faults(endless)[0])


def test_no_value_breaks_a_rule() -> None:
    """Wherever something else stands than should, it is refused or taken; nothing raises."""
    for kind, manifest in GOOD.items():
        for key, inner in manifest.get("spec", {}).items():
            places = [f"spec.{key}", *(f"spec.{key}.{deep}" for deep in (inner if isinstance(inner, dict) else ()))]
            for path in places:
                junk: Any = [{"name": []}, [1]] if len(path) % 2 else "x"
                assert all(isinstance(one, ManifestFault) for one in faults(changed(kind, **{path: junk})))


def test_pods_of_every_kind_are_found() -> None:
    """Wherever a kind has its pods, of a cluster of Ray several; of what is no kind, none."""
    found = {kind: [path for path, _ in pods_in(one)] for kind, one in GOOD.items()}

    assert {kind: paths for kind, paths in found.items() if paths} == {
        "Deployment": ["spec.template.spec"],
        "StatefulSet": ["spec.template.spec"],
        "Job": ["spec.template.spec"],
        "CronJob": ["spec.jobTemplate.spec.template.spec"],
        "JobSet": ["spec.replicatedJobs[0].template.spec.template.spec"],
        "LeaderWorkerSet": ["spec.leaderWorkerTemplate.workerTemplate.spec"],
        "RayCluster": ["spec.headGroupSpec.template.spec", "spec.workerGroupSpecs[0].template.spec"],
        "RayJob": ["spec.rayClusterSpec.headGroupSpec.template.spec"],
        "RayService": ["spec.rayClusterConfig.headGroupSpec.template.spec"],
    }
    assert pods_in({"apiVersion": "example.com/v1", "kind": "Shop", "spec": {"containers": []}}) == []
    assert pods_in({"apiVersion": "v1", "kind": "Pod", "spec": 7}) == []


def test_versions() -> None:
    """A cluster's own version is known by its first two numbers; a newer one than the library has is held against the newest."""
    assert schemas("1.35.6-gke.1250000").version == VERSION == "1.35"
    assert schemas("v1.34").version == "1.34"
    assert schemas("1.99").version == schemas("1.98").version
    with pytest.raises(UnknownVersion, match="oldest"):
        schemas("1.2")
    with pytest.raises(UnknownVersion, match="is not a version"):
        schemas("latest")
