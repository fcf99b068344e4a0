"""What an API server says of itself: its version, its groups, and what is in them."""

from __future__ import annotations

from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import statuses
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import Cluster

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update"]
"""Without `watch`, which is not here: clients that read this do not ask for it."""
HEALTH = ("healthz", "livez", "readyz")


def answer(cluster: Cluster, path: str) -> Any:
    """What is answered at a path that is about the server itself; None at any other one."""
    words = path.split("/")
    if path == "version":
        return _version(cluster)
    if path in HEALTH:
        return b"ok"
    if path == "api":
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": cluster.body.get("endpoint", "")}]
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
    if path == "api/v1":
        return _resources(cluster, "", "v1")
    if path == "apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(cluster, name) for name in _groups(cluster)]}
    if words[0] == "apis" and len(words) == 2:
        if words[1] not in _groups(cluster):
            raise statuses.no_page()
        return {"kind": "APIGroup", "apiVersion": "v1"} | _group(cluster, words[1])
    if words[0] == "apis" and len(words) == 3:
        return _resources(cluster, words[1], words[2])
    return None


def _version(cluster: Cluster) -> Body:
    version = cluster.body["currentMasterVersion"]
    major, minor = version.split(".")[:2]
    return {"major": major, "minor": minor, "gitVersion": f"v{version}", "platform": "linux/amd64"}


def _groups(cluster: Cluster) -> list[str]:
    return list(dict.fromkeys(kind.group for kind in cluster.kinds() if kind.group))


def _group(cluster: Cluster, name: str) -> Body:
    versions = dict.fromkeys(version for kind in cluster.kinds() if kind.group == name for version in kind.versions)
    shown = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": shown, "preferredVersion": shown[0]}


def _resources(cluster: Cluster, group: str, version: str) -> Body:
    found = [kind for kind in cluster.kinds() if kind.group == group and version in kind.versions]
    if not found:
        raise statuses.no_page()
    resources = [one for kind in found for one in _of(kind)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}".lstrip("/"), "resources": resources}


def _of(kind: Kind) -> list[Body]:
    """A kind, and what is written at addresses of its own."""
    verbs = ["get", "list"] if kind.name == "Node" else VERBS
    own: Body = {"name": kind.plural, "singularName": kind.name.lower(), "namespaced": kind.namespaced, "kind": kind.name, "verbs": verbs}
    found = [own | ({"shortNames": list(kind.short)} if kind.short else {})]
    rest = {"singularName": "", "namespaced": kind.namespaced, "verbs": ["get", "patch", "update"]}
    if kind.status and kind.name != "Node":
        found.append(rest | {"name": f"{kind.plural}/status", "kind": kind.name})
    if kind.scale:
        found.append(rest | {"name": f"{kind.plural}/scale", "kind": "Scale", "group": "autoscaling", "version": "v1"})
    return found
