"""`no-external-address`: machines are reached through IAP, and reach out through NAT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.declared import UNKNOWN, Declared
from infra.policy.queued import with_queued
from infra.policy.rule import Broken, Rule

INSTANCE_TYPES = (
    "gcp:compute/instance:Instance",
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
)
NODE = "gcp:tpu/v2Vm:V2Vm"
PRIVATE = {
    "gcp:container/cluster:Cluster": "privateClusterConfig.enablePrivateNodes",
    "gcp:container/nodePool:NodePool": "networkConfig.enablePrivateNodes",
}
"""Where GKE is told that nodes have no external address: a pool's own word counts for its nodes, whatever the cluster says."""
SERVICE = "kubernetes:core/v1:Service"
ANNOTATION = ("networking.gke.io/load-balancer-type", "Internal")
CLASS = "networking.gke.io/l4-regional-internal"
"""How a service of Kubernetes says that its load balancer is inside.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/internal-load-balancing, read 2026-11."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    External addresses, and what cannot be shown to be none. That of a gateway is no machine's, and is meant: callers come in there, by HTTP
    alone, and a stack file has to say `exposure: external` for it.
    """
    if resource.type in INSTANCE_TYPES:
        interfaces = resource.get("networkInterfaces")
        if not isinstance(interfaces, list):
            yield Broken("networkInterfaces", "must be stated and known at preview")
            return
        for index, interface in enumerate(interfaces):
            if not isinstance(interface, dict):
                yield Broken(f"networkInterfaces[{index}]", "must be known at preview")
                continue
            for key in ("accessConfigs", "ipv6AccessConfigs"):
                if interface.get(key) not in (None, []):  # an unknown one is not known to be none
                    yield Broken(f"networkInterfaces[{index}].{key}", "gives the machine an external address")
    elif resource.type == NODE:
        yield from _node(resource)
    elif resource.type == SERVICE:
        yield from _service(resource)
    elif resource.type in PRIVATE and not resource.existing and resource.get(PRIVATE[resource.type]) is not True:
        yield Broken(PRIVATE[resource.type], "must be stated as true, and known at preview")


def _node(resource: Declared) -> Iterator[Broken]:
    one, several = resource.get("networkConfig"), resource.get("networkConfigs")
    configs: list[tuple[str, Any]] = []
    if isinstance(several, list):
        configs = [(f"networkConfigs[{index}]", config) for index, config in enumerate(several)]
    elif several is not None:
        configs = [("networkConfigs", several)]
    if one is not None or not configs:
        configs.append(("networkConfig", one))
    for path, config in configs:
        # The API's reference names no default: what is not said is not known to be none.
        if not isinstance(config, dict) or config.get("enableExternalIps") is not False:
            yield Broken(f"{path}.enableExternalIps", "must be stated as false, and known at preview")


def _service(resource: Declared) -> Iterator[Broken]:
    if resource.get("spec.externalIPs") not in (None, []):
        yield Broken("spec.externalIPs", "gives pods an external address")
    kind, annotations = resource.get("spec.type"), resource.get("metadata.annotations")
    if kind is UNKNOWN:
        yield Broken("spec.type", "must be known at preview")
    said = annotations.get(ANNOTATION[0]) if isinstance(annotations, dict) else None
    if kind == "LoadBalancer" and said != ANNOTATION[1] and resource.get("spec.loadBalancerClass") != CLASS:
        yield Broken("spec.type", "LoadBalancer gives pods an external address, around every gateway")


RULE = Rule(
    name="no-external-address",
    description="No machine and no pod has an external address.",
    remediation="leave out `accessConfigs`, or set `enableExternalIps: false`, of GKE `enablePrivateNodes: true`; ssh goes through IAP, "
    "callers of pods through a route",
    severity="high",
    find=with_queued(find),
)
