"""
What lets a cluster scale on metrics of its pods: Google's adapter, which asks Cloud Monitoring and answers Kubernetes' autoscaler.

There is one for a cluster, and only where something scales on such a metric. GKE has one built in (`AutoscalingMetric`) from 1.37 on, and
in 1.36 as a preview: the regular channel is older. Its image is a copy in the stack's region, by its digest, as every image is.
Sources: https://cloud.google.com/stackdriver/docs/managed-prometheus/hpa and
https://docs.cloud.google.com/kubernetes-engine/docs/how-to/autoscale-using-metrics ("1.37.0-gke.3100000"), read 2026-11. The objects:
GoogleCloudPlatform/k8s-stackdriver, custom-metrics-stackdriver-adapter/deploy/production/adapter_new_resource_model.yaml, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from infra import gcp
from infra.components.placement import Placement
from infra.errors import Problem
from infra.kubernetes import Object

NAMESPACE = "custom-metrics"
NAME = "custom-metrics-stackdriver-adapter"
KEY = "metrics-adapter"
"""Key of its image under `images:`."""
PUBLISHED = f"gcr.io/gke-release/{NAME}:v0.16.11-gke.0"
"""The newest image that Google publishes, by the objects' own file as it was on 2026-09-26; of its digest no source tells."""
ROLE = "roles/monitoring.viewer"
METRICS = {"v1beta1": 100, "v1beta2": 200}
"""Versions of the API of metrics that it answers, and which of them comes first."""
RBAC = "rbac.authorization.k8s.io"


class MetricsAdapter(pulumi.ComponentResource):
    """The adapter, and its grant."""

    objects: list[pulumi.Resource]

    def __init__(
        self, image: str, *, placement: Placement, project_number: pulumi.Input[str], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("accelform:metrics_adapter:MetricsAdapter", NAME, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        pool = f"locations/global/workloadIdentityPools/{placement.project}.svc.id.goog/subject/ns/{NAMESPACE}/sa/{NAME}"
        grant = gcp.projects.IAMMember(
            NAME,
            project=placement.project,
            role=ROLE,
            member=pulumi.Output.concat("principal://iam.googleapis.com/projects/", project_number, "/", pool),
            opts=child,
        )
        self.objects = [grant]
        for manifest in manifests(image, placement.labels):
            self.objects.append(Object(manifest, pulumi.ResourceOptions(parent=self, depends_on=list(self.objects[:2]))))
        self.register_outputs({})


def missing(region: str) -> Problem:
    """What is said where its image is not."""
    fix = f"copy it: gcrane cp {PUBLISHED} {region}-docker.pkg.dev/PROJECT/REPOSITORY/{KEY}, and write its digest"
    return Problem(f"images.{KEY}", "is missing: by it the cluster scales on metrics of its pods", "", fix)


def pod(image: str) -> dict[str, Any]:
    """Its pod. It stands on nodes without accelerators."""
    amounts = {"cpu": "250m", "memory": "400Mi"}
    return {
        "serviceAccountName": NAME,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "adapter",
                "image": image,
                "command": ["/adapter", "--use-new-resource-model=true", "--fallback-for-container-metrics=true"],
                "resources": {"requests": amounts, "limits": amounts},
                "securityContext": {"allowPrivilegeEscalation": False},
            }
        ],
    }


def manifests(image: str, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """All of its objects, the namespace first."""
    own = {"app.kubernetes.io/name": NAME}

    def metadata(name: str, namespace: str = "") -> dict[str, Any]:
        return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": {**labels, **own}}

    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(NAMESPACE)}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(NAME, NAMESPACE)}
    adapter = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    resources = ["pods", "nodes", "nodes/stats"]
    reads = {"apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"]}
    yield {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata("custom-metrics-resource-reader"), "rules": [reads]}
    for name, role in (("custom-metrics:system:auth-delegator", "system:auth-delegator"), *[("custom-metrics-resource-reader",) * 2]):
        yield {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata(name),
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [adapter],
        }
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata("custom-metrics-auth-reader", "kube-system"),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "extension-apiserver-authentication-reader"},
        "subjects": [adapter],
    }
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME, NAMESPACE),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": {**labels, **own}}, "spec": pod(image)},
        },
    }
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(NAME, NAMESPACE),
        "spec": {"type": "ClusterIP", "selector": own, "ports": [{"port": 443, "protocol": "TCP", "targetPort": 443}]},
    }
    for version, priority in METRICS.items():
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": metadata(f"{version}.custom.metrics.k8s.io"),
            "spec": {
                "group": "custom.metrics.k8s.io",
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": priority,
                "insecureSkipTLSVerify": True,
                "service": {"name": NAME, "namespace": NAMESPACE},
            },
        }
