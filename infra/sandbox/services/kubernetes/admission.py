"""
What an API server does with an object between reading it and keeping it: it holds it against its schema, and draws addresses, ports and
names of volumes.
"""

from __future__ import annotations

import copy
import ipaddress
import re
from typing import TYPE_CHECKING, Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import defaults, kinds, statuses
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import NAMESPACE, Cluster, at, label
from infra.sandbox.services.kubernetes.rules import bytes_of

if TYPE_CHECKING:
    from infra.catalog.manifests import ManifestFault

SERVICE, STORAGE_CLASS = kinds.named("", "Service"), kinds.named("storage.k8s.io", "StorageClass")
PRIORITY = kinds.named("scheduling.k8s.io", "PriorityClass")
PROTECTED = "kubernetes.io/pvc-protection"
FIRST_PORT = 30000
"""Of nodes, for services. Source: the default of kube-apiserver's `--service-node-port-range`."""
QUEUED, QUEUE = ("Job", "JobSet"), "kueue.x-k8s.io/queue-name"
"""Kinds that Kueue suspends as they come, where they name a queue. Source: Kueue's webhooks."""
UNKNOWN = "is no field here"
"""What the catalogue says of a field that there is not."""
MISSING = "is missing"
STEP = re.compile(r"\.?[A-Za-z_$][\w$-]*|\[(\d+)\]|\[([^\]]*)\]")
USUAL_CLASS = "storageclass.kubernetes.io/is-default-class"


def schema(cluster: Cluster, kind: Kind, body: Body, before: Body | None, *, strict: bool) -> None:
    """
    Holds an object against the schema of its kind, by the catalogue's judge. A kind of which it has none is held against nothing.

    Args:
        before: What it was; None of a new one.
        strict: Whether fields that there are not are refused. They are dropped otherwise.

    Raises:
        Failure: It does not hold. Where Kubernetes says more than that a value is missing, the words are the catalogue's.
    """
    from infra.catalog.manifest_schemas import UnknownVersion, schemas  # loads all schemas
    from infra.catalog.manifests import faults

    version = str(cluster.body.get("currentMasterVersion", ""))
    try:
        known = schemas(version)
    except UnknownVersion:
        return
    definition = known.kinds.get((body["apiVersion"], kind.name))
    if definition is None:
        return
    if "spec" in known.definition(definition).get("properties", {}):
        body.setdefault("spec", {})  # the schema lets it be left out, and what must be in it is looked at nevertheless
    found = faults(_sent(kind, body, before), version)
    unknown = [one.path for one in found if one.message == UNKNOWN]
    if unknown and strict:
        said = ", ".join(f'unknown field "{path}"' for path in unknown)
        title = f'{kind.name} in version "{body["apiVersion"].rpartition("/")[2]}" cannot be handled as a {kind.name}'
        raise statuses.bad_request(f"{title}: strict decoding error: {said}")
    for path in unknown:
        _drop(body, path)
    if not (found := [one for one in found if one.message != UNKNOWN]):
        return
    filled = copy.deepcopy(body)
    defaults.fill(kind, filled)
    left = [one for one in found if not (one.message.startswith(MISSING) and isinstance(_held(filled, one.path), str | int))]
    causes = [_cause(body, one) for one in left]
    if causes:
        raise statuses.invalid(kind, body["metadata"]["name"], causes)


def _sent(kind: Kind, body: Body, before: Body | None) -> Body:
    """What a client says of it: without the selector of a job, which is the server's."""
    if kind.name != "Job" or before is None or not isinstance(body.get("spec"), dict) or at(body, "spec", "manualSelector"):
        return body
    if at(body, "spec", "selector") != at(before, "spec", "selector"):
        return body
    return {**body, "spec": {key: value for key, value in body["spec"].items() if key != "selector"}}


def _cause(body: Body, fault: ManifestFault) -> statuses.Cause:
    if fault.message == MISSING:
        return statuses.required(fault.path)
    said = f"{fault.message}; allowed: {fault.allowed}" if fault.allowed else fault.message
    return statuses.value(fault.path, _held(body, fault.path), said)


def _held(body: Any, path: str) -> Any:
    """What a body has at a path; None where it has nothing."""
    for step in _steps(path):
        there = body[step : step + 1] if isinstance(body, list) and isinstance(step, int) else [at(body, str(step))]
        body = there[0] if there else None
    return body


def _steps(path: str) -> list[str | int]:
    """`spec.containers[0].image` in its steps."""
    return [int(one[1]) if one[1] else one[2] or one[0].lstrip(".") for one in STEP.finditer(path)]


def _drop(body: Body, path: str) -> None:
    *way, last = _steps(path)
    held: Any = body
    for step in way:
        held = held[step] if isinstance(held, list) and isinstance(step, int) else at(held, str(step))
    if isinstance(held, dict):
        held.pop(last, None)


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
        _class(cluster, body)
    elif kind.name in QUEUED and before is None and label(body, QUEUE) and kinds.KUEUE in cluster.brought():
        body["spec"]["suspend"] = True


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


def _class(cluster: Cluster, body: Body) -> None:
    """
    The compute class of the namespace, of a pod that selects none.

    Source: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/compute-class-default, read 2026-11.
    """
    space = cluster.get(NAMESPACE, "", body["metadata"]["namespace"])
    usual = label(space, f"{defaults.CLASS.rpartition('/')[0]}/default-compute-class") if space else ""
    selector = body["spec"].get("nodeSelector") or {}
    if usual and defaults.CLASS not in selector:
        body["spec"]["nodeSelector"] = {**selector, defaults.CLASS: usual}
        body["spec"]["tolerations"].append({"key": defaults.CLASS, "operator": "Equal", "value": usual, "effect": "NoSchedule"})


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
