"""
What an API server does with an object between reading it and keeping it: it holds it against its schema, and draws addresses, ports and
names of volumes.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, statuses
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import Cluster, at
from infra.sandbox.services.kubernetes.rules import bytes_of

SERVICE, STORAGE_CLASS = kinds.named("", "Service"), kinds.named("storage.k8s.io", "StorageClass")
PRIORITY = kinds.named("scheduling.k8s.io", "PriorityClass")
PROTECTED = "kubernetes.io/pvc-protection"
FIRST_PORT = 30000
"""Of nodes, for services. Source: the default of kube-apiserver's `--service-node-port-range`."""
USUAL_CLASS = "storageclass.kubernetes.io/is-default-class"


def schema(kind: Kind, body: Body, *, strict: bool, partial: bool = False) -> None:
    """
    Holds an object against the schema of its kind.

    Args:
        strict: Whether fields that there are not are refused. They are dropped otherwise.
        partial: Whether required fields may be missing: of what is applied to something that stands.

    Raises:
        Failure: It does not hold.
    """


def admit(cluster: Cluster, kind: Kind, body: Body, before: Body | None) -> None:
    """
    Fills in what only the cluster knows.

    Raises:
        Failure: The cluster has not what the object names.
    """
    if kind.name == "Service" and not kind.group:
        _service(cluster, body, before)
    elif kind.name == "PersistentVolumeClaim":
        _claim(cluster, body, before)
    elif kind.name == "Pod" and before is None:
        _priority(cluster, kind, body)


def _service(cluster: Cluster, body: Body, before: Body | None) -> None:
    """Addresses and ports, which stay."""
    spec = body["spec"]
    old: Body = before["spec"] if before else {}
    if spec.get("type") == "ExternalName":
        return
    if old.get("clusterIP") and not spec.get("clusterIP"):
        spec["clusterIP"] = old["clusterIP"]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = _address(cluster)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    if spec["clusterIPs"] != [spec["clusterIP"]]:
        spec["clusterIPs"] = [spec["clusterIP"]]
    ports = [port for port in spec.get("ports") or [] if isinstance(port, dict)]
    if spec.get("type") in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts") is not False:
        known = {(port.get("port"), port.get("protocol")): port["nodePort"] for port in old.get("ports") or [] if "nodePort" in port}
        for port in ports:
            if not port.get("nodePort"):
                drawn = known.get((port.get("port"), port.get("protocol")))
                port["nodePort"] = drawn or FIRST_PORT + cluster.cloud.store.next(f"kubernetes/ports/{cluster.name}") % 2768


def _address(cluster: Cluster) -> str:
    """An address of services that nobody has."""
    block = ipaddress.ip_network(cluster.body.get("servicesIpv4Cidr", "34.118.224.0/20"))
    taken = {at(one, "spec", "clusterIP") for one in cluster.all(SERVICE)}
    while True:
        count = cluster.cloud.store.next(f"kubernetes/addresses/{cluster.name}")
        address = str(block[10 + count % (block.num_addresses - 12)])
        if address not in taken:
            return address


def _claim(cluster: Cluster, body: Body, before: Body | None) -> None:
    """A claim without a class gets the usual one; it grows only where its class lets it."""
    spec = body["spec"]
    if before is None:
        body["metadata"]["finalizers"] = sorted({*(body["metadata"].get("finalizers") or []), PROTECTED})
        if spec.get("storageClassName") is None and not spec.get("volumeName"):
            usual = [one for one in cluster.all(STORAGE_CLASS) if at(one, "metadata", "annotations", USUAL_CLASS) == "true"]
            if usual:
                spec["storageClassName"] = usual[0]["metadata"]["name"]
        return
    spec.setdefault("storageClassName", before["spec"].get("storageClassName"))
    if "volumeName" in before["spec"]:
        spec.setdefault("volumeName", before["spec"]["volumeName"])
    was, wanted = (bytes_of(at(one, "spec", "resources", "requests", "storage")) for one in (before, body))
    if was is not None and wanted is not None and wanted > was:
        found = cluster.get(STORAGE_CLASS, "", str(spec.get("storageClassName") or ""))
        if found is None or not found.get("allowVolumeExpansion"):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
            raise statuses.forbidden(kinds.named("", "PersistentVolumeClaim"), body["metadata"]["name"], why)


def _priority(cluster: Cluster, kind: Kind, body: Body) -> None:
    """The value of a pod's class. Source: the admission plugin Priority."""
    spec: Any = body["spec"]
    name = spec.get("priorityClassName")
    if not name:
        usual = next((one for one in cluster.all(PRIORITY) if one.get("globalDefault")), None)
        if usual is None:
            return
        name = spec["priorityClassName"] = usual["metadata"]["name"]
    found = cluster.get(PRIORITY, "", str(name))
    if found is None:
        raise statuses.forbidden(kind, body["metadata"]["name"], f"no PriorityClass with name {name} was found")
    spec["priority"] = found.get("value", 0)
    spec["preemptionPolicy"] = found.get("preemptionPolicy", "PreemptLowerPriority")
