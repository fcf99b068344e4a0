"""
The nodes of a cluster: the machines of its node pools, as objects that nobody writes.

What a node offers is the catalogue's (`infra.catalog.nodes`), by which `check` decides too whether a pod fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from infra.catalog import nodes as catalog
from infra.catalog.machine_size import UnknownSize
from infra.catalog.nodes import BadPool, Node
from infra.sandbox.service import Body
from infra.sandbox.services.compute import links
from infra.sandbox.services.container import groups, parts, ways
from infra.sandbox.services.kubernetes.objects import Cluster, seconds, stamp

BOOT_SECONDS = 60.0
"""Virtual seconds from a machine's begin until its node is there and ready. Ours: Google's pages name none."""
OWN = "kubernetes.io/hostname"
ALIVE = ("PROVISIONING", "STAGING", "RUNNING")
"""States of a machine that is a node, or will be one."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine of a pool, and the node that it is."""

    name: str
    pool: str
    """Full name of the pool."""
    zone: str
    node: Node
    born: float
    body: Body
    """The machine of Compute Engine."""

    @property
    def ready(self) -> float:
        """When it is a node that takes pods."""
        return self.born + BOOT_SECONDS

    @property
    def down(self) -> bool:
        """Whether its machine does not run yet."""
        return self.body.get("status") != "RUNNING"


def template(pool: Body, zone: str) -> Node | None:
    """What a node of a pool offers in a zone; None where no table tells how large its machine is."""
    shape = ways.slice_of(pool)
    try:
        return catalog.of_api(pool, zone, topology=shape.topology if shape else "")
    except (UnknownSize, BadPool):
        return None


def machines(cluster: Cluster) -> list[Machine]:
    """Those that run or begin, in the order of pools, zones and age."""
    found = []
    cloud = cluster.cloud
    for name, pool in cloud.store.items(parts.HOST, f"{cluster.name}/nodePools"):
        for manager in groups.managers_of(pool):
            zone = manager.split("/")[3]
            offered = template(pool, zone)
            group = manager.replace("/instanceGroupManagers/", "/instanceGroups/")
            for item in (cloud.store.get(links.HOST, f"{group}/members/all") or {}).get("items", []):
                machine = cloud.store.get(links.HOST, links.name_of(item["instance"]))
                if offered is None or machine is None or machine.get("status") not in ALIVE:
                    continue
                labels = MappingProxyType({**offered.labels, OWN: machine["name"]})
                node = replace(offered, name=machine["name"], labels=labels, undecided=frozenset())
                found.append(Machine(machine["name"], name, zone, node, seconds(machine["creationTimestamp"]), machine))
    return found


def all(cluster: Cluster) -> list[Body]:
    """The nodes that are there."""
    now = cluster.cloud.moment
    return sorted((_body(cluster, one) for one in machines(cluster) if one.ready <= now), key=lambda body: str(body["metadata"]["name"]))


def get(cluster: Cluster, name: str) -> Body | None:
    return next((body for body in all(cluster) if body["metadata"]["name"] == name), None)


def _body(cluster: Cluster, machine: Machine) -> Body:
    node, words = machine.node, cluster.name.split("/")
    amounts = {
        "cpu": f"{int(node.cpu * 1000)}m",
        "ephemeral-storage": str(node.ephemeral_storage),
        "memory": f"{node.memory // 1024}Ki",
        "pods": str(node.pods),
    } | {name: str(count) for name, count in node.extended.items()}
    inside = (machine.body.get("networkInterfaces") or [{}])[0].get("networkIP", "")
    taints = [{"key": one.key, "effect": one.effect} | ({"value": one.value} if one.value else {}) for one in node.taints]
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastTransitionTime": stamp(machine.ready),
        "lastHeartbeatTime": cluster.now,
    }
    version = f"v{cluster.body['currentMasterVersion']}"
    addresses = [{"type": "InternalIP", "address": inside}] if inside else []
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": machine.name,
            "uid": str(machine.body.get("id", "")),
            "resourceVersion": cluster.version(),
            "creationTimestamp": stamp(machine.ready),
            "labels": dict(node.labels),
        },
        "spec": {"providerID": f"gce://{words[1]}/{machine.zone}/{machine.name}"} | ({"taints": taints} if taints else {}),
        "status": {
            "allocatable": amounts,
            "conditions": [condition],
            "addresses": [*addresses, {"type": "Hostname", "address": machine.name}],
            "nodeInfo": {
                "kubeletVersion": version,
                "operatingSystem": "linux",
                "architecture": node.labels.get("kubernetes.io/arch", "amd64"),
            },
        },
    }
