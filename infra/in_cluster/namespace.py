"""
A namespace of a cluster, and what holds for all pods in it: how far they may go on their node, and whom they hear.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pulumi

from infra.components.existing import MayExist
from infra.components.placement import Placement
from infra.kubernetes import Object
from infra.spec import YesNo

ENFORCED = "pod-security.kubernetes.io/enforce"
"""Label that makes the API refuse pods which go further.
Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/, read 2026-11."""
HEALTH_CHECKS = ("35.191.0.0/16", "130.211.0.0/22")
"""Where Google's load balancers and their health checks come from.
Source: https://cloud.google.com/load-balancing/docs/health-check-concepts, read 2026-11."""
METRICS = "gmp-system"
"""Namespace of what reads metrics. Source: https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed, read 2026-11."""
NAMED = "kubernetes.io/metadata.name"
"""Label that every namespace has, with its name."""


class NamespaceSpec(MayExist):
    """What holds for the pods of one namespace; or that it stands already, and what holds there."""

    beside: ClassVar[tuple[str, ...]] = ("pod_security",)

    pod_security: Literal["privileged", "baseline", "restricted"] = "baseline"
    """How far pods may go on their node: `restricted` forbids root, `baseline` what reaches the node. TPUs and GPUs need no more than
    `baseline`."""
    closed: YesNo = True
    """Whether pods hear only those of their own namespace, Google's load balancers and what reads their metrics."""
    existing: YesNo = False
    """Whether a namespace of that name stands already and others own it: it is read, and never changed or destroyed. What it lets pods do
    is theirs; say it as `pod_security`."""


class Namespace(pulumi.ComponentResource):
    """A namespace and its walls."""

    namespace: Object

    def __init__(
        self,
        name: str,
        spec: NamespaceSpec,
        *,
        placement: Placement,
        proxies: str = "",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            proxies: Range that the region's load balancers send from, where one of them leads here.
        """
        super().__init__("accelform:namespace:Namespace", name, None, opts)
        if spec.existing:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.namespace = Object(manifest, pulumi.ResourceOptions(parent=self, id=name))
            self.register_outputs({})
            return
        labels = {**placement.labels, ENFORCED: spec.pod_security}
        metadata = {"name": name, "labels": labels}
        child = pulumi.ResourceOptions(parent=self)
        self.namespace = Object({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, child)
        if spec.closed:
            inside = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[self.namespace]))
            Object(walls(name, placement.labels, proxies), inside)
        self.register_outputs({})


def walls(namespace: str, labels: Mapping[str, str], proxies: str = "") -> dict[str, Any]:
    """Whom the pods of a namespace hear."""
    heard = [
        {"podSelector": {}},
        {"namespaceSelector": {"matchLabels": {NAMED: METRICS}}},
        *({"ipBlock": {"cidr": cidr}} for cidr in (*HEALTH_CHECKS, *([proxies] if proxies else []))),
    ]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "walls", "namespace": namespace, "labels": dict(labels)},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": heard}]},
    }
