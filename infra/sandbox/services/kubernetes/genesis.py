"""
What a cluster of GKE has before anybody wrote anything.

Sources: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/gce-pd-csi-driver (storage classes),
https://docs.cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed (gmp-*), .../kubernetes-engine/docs/concepts/sandbox-pods
(gvisor), .../docs/how-to/deploying-gateways (gateway classes), kubernetes.io's pages on namespaces, priorities and RBAC; all read 2026-11.
"""

from __future__ import annotations

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import defaults, kinds
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import NAMESPACE, STORED, Cluster

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
PROMETHEUS = ("gmp-public", "gmp-system")
AUTOPILOT_PROMETHEUS = ("gke-gmp-system", "gmp-public")
"""Source: GoogleCloudPlatform/ai-on-gke pull request 689."""
DISK = "pd.csi.storage.gke.io"
CLASSES: tuple[tuple[str, str, str, str], ...] = (
    ("standard", "kubernetes.io/gce-pd", "pd-standard", "Immediate"),
    ("standard-rwo", DISK, "pd-balanced", "WaitForFirstConsumer"),
    ("premium-rwo", DISK, "pd-ssd", "WaitForFirstConsumer"),
)
USUAL = "standard-rwo"
GATEWAYS = (
    "gke-l7-global-external-managed",
    "gke-l7-regional-external-managed",
    "gke-l7-gxlb",
    "gke-l7-rilb",
)
ROLES = ("cluster-admin", "admin", "edit", "view")
CONTROLLER = "networking.gke.io/gateway"


def ensure(cluster: Cluster) -> None:
    """Makes it where this cluster has it not yet, and what a field of the cluster has brought since."""
    made = cluster.cloud.store.fact(f"{STORED}/made/{cluster.name}") or {}
    body = cluster.body
    if made.get("id") != body.get("id"):
        cluster.cloud.store.delete(STORED, cluster.name)
        made = {"id": body.get("id"), "with": []}
        _first(cluster)
    has = sorted(cluster.brought())
    if made["with"] != has:
        _brought(cluster, set(has))
        cluster.cloud.store.set_fact(f"{STORED}/made/{cluster.name}", {"id": body.get("id"), "with": has})
        known = cluster.cloud.store.fact(f"{STORED}/clusters") or []
        cluster.cloud.store.set_fact(f"{STORED}/clusters", sorted({*known, cluster.name}))


def is_own(name: str, body: Body) -> bool:
    """
    Whether an object comes with its cluster or with its namespace, or belongs to another one: it goes with that.

    Args:
        name: As the store has it.
    """
    group, plural, _, last = name.rsplit("/", 4)[-4:]
    if body["metadata"].get("ownerReferences") or (body["metadata"].get("labels") or {}).get(MARK) == "true":
        return True
    if (group, plural) in (
        ("core", "events"),
        ("core", "endpoints"),
        ("discovery.k8s.io", "endpointslices"),
        ("core", "persistentvolumes"),
    ):
        return True
    return (plural, last) in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt"))


MARK = "components.gke.io/sandbox-default"
"""Label of what is made here, so that it is told from what users made."""


def put(cluster: Cluster, kind: Kind, body: Body) -> None:
    """Keeps an object that nobody asked for, where there is none of its name."""
    meta = body["metadata"]
    if cluster.get(kind, meta.get("namespace", ""), meta["name"]) is not None:
        return
    given = {"uid": cluster.new_id(), "creationTimestamp": cluster.now} | ({"generation": 1} if kinds.counts(kind) else {})
    made: Body = {"kind": kind.name, "apiVersion": kind.api_version} | body | {"metadata": meta | given}
    defaults.fill(kind, made)
    cluster.keep(kind, made)


def _own(name: str, namespace: str = "") -> Body:
    return {"name": name, "labels": {MARK: "true"}} | ({"namespace": namespace} if namespace else {})


def namespace(cluster: Cluster, name: str) -> None:
    """What each namespace has: an account, and the authority's certificate. Source: kubernetes.io, "Configure service accounts"."""
    put(cluster, kinds.named("", "ServiceAccount"), {"metadata": {"name": "default", "namespace": name}})
    data = {"ca.crt": "sandbox"}
    put(cluster, kinds.named("", "ConfigMap"), {"metadata": {"name": "kube-root-ca.crt", "namespace": name}, "data": data})


def _first(cluster: Cluster) -> None:
    for name in NAMESPACES:
        put(cluster, NAMESPACE, {"metadata": _own(name)})
        namespace(cluster, name)
    block = str(cluster.body.get("servicesIpv4Cidr", "34.118.224.0/20")).partition("/")[0]
    address = f"{block.rpartition('.')[0]}.{int(block.rpartition('.')[2]) + 1}"
    spec = {"clusterIP": address, "clusterIPs": [address], "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 443}]}
    labels = {MARK: "true", "component": "apiserver", "provider": "kubernetes"}
    put(cluster, kinds.named("", "Service"), {"metadata": {"name": "kubernetes", "namespace": "default", "labels": labels}, "spec": spec})
    for name, provisioner, disk, mode in CLASSES:
        usual = {"storageclass.kubernetes.io/is-default-class": "true"} if name == USUAL else {}
        put(
            cluster,
            kinds.named("storage.k8s.io", "StorageClass"),
            {
                "metadata": _own(name) | ({"annotations": usual} if usual else {}),
                "provisioner": provisioner,
                "parameters": {"type": disk},
                "allowVolumeExpansion": True,
                "volumeBindingMode": mode,
            },
        )
    put(
        cluster,
        kinds.named("storage.k8s.io", "CSIDriver"),
        {"metadata": _own(DISK), "spec": {"attachRequired": True, "podInfoOnMount": False}},
    )
    if cluster.body.get("addonsConfig", {}).get("gcsFuseCsiDriverConfig", {}).get("enabled"):
        spec_fuse = {"attachRequired": False, "podInfoOnMount": True}
        put(cluster, kinds.named("storage.k8s.io", "CSIDriver"), {"metadata": _own("gcsfuse.csi.storage.gke.io"), "spec": spec_fuse})
    for name, value in (("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)):
        put(cluster, kinds.named("scheduling.k8s.io", "PriorityClass"), {"metadata": _own(name), "value": value})
    put(cluster, kinds.named("node.k8s.io", "RuntimeClass"), {"metadata": _own("gvisor"), "handler": "gvisor"})
    for name in ROLES:
        rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}] if name == "cluster-admin" else []
        put(cluster, kinds.named("rbac.authorization.k8s.io", "ClusterRole"), {"metadata": _own(name), "rules": rules})


def _brought(cluster: Cluster, has: set[str]) -> None:
    if kinds.PROMETHEUS in has:
        autopilot = cluster.body.get("autopilot", {}).get("enabled")
        for name in AUTOPILOT_PROMETHEUS if autopilot else PROMETHEUS:
            put(cluster, NAMESPACE, {"metadata": _own(name)})
            namespace(cluster, name)
    if kinds.GATEWAY in has:
        for name in GATEWAYS:
            kind = kinds.named("gateway.networking.k8s.io", "GatewayClass")
            put(cluster, kind, {"metadata": _own(name), "spec": {"controllerName": CONTROLLER}})
