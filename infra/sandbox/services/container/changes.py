"""Changes of a cluster: `desired...` fields of an update, and the verbs that each change one thing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import fingerprints
from infra.sandbox.services.container import clusters, pools, versions
from infra.sandbox.services.container.parts import CLUSTERS, HOST, check_zones, no_pool, pools_of, quiet, stored, wrong

ELSEWHERE = {
    "desiredAdditionalIpRangesConfig": "ipAllocationPolicy.additionalIpRangesConfigs",
    "desiredAutoIpamConfig": "ipAllocationPolicy.autoIpamConfig",
    "desiredClusterAutoscaling": "autoscaling",
    "desiredIntraNodeVisibilityConfig": "networkConfig.enableIntraNodeVisibility",
    "desiredL4ilbSubsettingConfig": "networkConfig.enableL4ilbSubsetting",
    "desiredNetworkTierConfig": "ipAllocationPolicy.networkTierConfig",
    "desiredNodeKubeletConfig": "nodePoolDefaults.nodeConfigDefaults.nodeKubeletConfig",
    "desiredNodePoolAutoConfigKubeletConfig": "nodePoolAutoConfig.nodeKubeletConfig",
    "desiredNodePoolAutoConfigLinuxNodeConfig": "nodePoolAutoConfig.linuxNodeConfig",
    "desiredNodePoolAutoConfigNetworkTags": "nodePoolAutoConfig.networkTags",
    "desiredNodePoolAutoConfigResourceManagerTags": "nodePoolAutoConfig.resourceManagerTags",
    "desiredNodePoolLoggingConfig": "nodePoolDefaults.nodeConfigDefaults.loggingConfig",
    "desiredStackType": "ipAllocationPolicy.stackType",
}
"""Field of an update -> what it changes, where that has another name. Source: the descriptions in the discovery document."""
INNER = {
    "desiredAdditionalIpRangesConfig": "additionalIpRangesConfigs",
    "desiredIntraNodeVisibilityConfig": "enabled",
    "desiredL4ilbSubsettingConfig": "enabled",
}
"""Those that hold what they set in a message of their own -> its field."""
MERGED = frozenset({"addonsConfig", "controlPlaneEndpointsConfig", "autoscaling", "monitoringConfig", "loggingConfig"})
"""Fields of which an update says a part: what it does not say stays."""


def _opened(call: Call) -> Body:
    call.target = call.owner
    body = stored(call, call.target)
    quiet(call, call.target)
    return body


def _changed(call: Call, body: Body, verb: str = "update", seconds: float = clusters.CHANGE_SECONDS) -> Any:
    """Keeps a changed cluster, which reconciles until the operation's end."""
    call.cloud.store.put(HOST, call.target, {**body, "etag": etags.new(call.cloud), "status": "RECONCILING"})
    return operations.start(call, verb, body, seconds, sets={"status": "RUNNING"}, back={"status": body["status"]})


def update(call: Call) -> Any:
    """
    `PUT`: what is desired.

    Raises:
        Refused: Nothing is, or something that the sandbox does not do.
    """
    body, wanted = _opened(call), dict(call.body.get("update", {}))
    etags.check(call.cloud, wanted.pop("etag", ""), body["etag"])
    if not wanted:
        raise wrong("Must specify a field to update.")
    if "desiredNodePoolAutoscaling" in wanted:
        _scale(call, body, wanted.pop("desiredNodePoolId", ""), wanted.pop("desiredNodePoolAutoscaling"))
    pool, node_version = wanted.pop("desiredNodePoolId", ""), wanted.pop("desiredNodeVersion", "")
    after, verb = copy.deepcopy(body), "update"
    if master := wanted.pop("desiredMasterVersion", ""):
        after["currentMasterVersion"], verb = _newer(body, master), "upgradeMaster"
    if node_version:
        _upgrade_pools(call, after, pool, node_version)
    if image := wanted.pop("desiredImageType", ""):
        _change_pools(call, after, pool, {"imageType": image})
    for field, value in wanted.items():
        _set(call, after, field, value)
    if "locations" in after:
        check_zones(after["location"], after["locations"])
    return _changed(call, after, verb)


def _set(call: Call, body: Body, field: str, value: Any) -> None:
    """One field of an update, in the place that has its name."""
    schemas = call.method.document.schemas
    name = field.removeprefix("desired")
    name = name[:1].lower() + name[1:]
    path = ELSEWHERE.get(field) or (name if name in schemas["Cluster"]["properties"] else "")
    if not path and name in schemas["NetworkConfig"]["properties"]:
        path = f"networkConfig.{name}"
    if not path:
        raise Refused(501, f"The sandbox does not change {field} of a cluster yet.", status="UNIMPLEMENTED")
    if field in INNER:
        value = value.get(INNER[field])
    *parents, last = path.split(".")
    inside = body
    for parent in parents:
        inside = inside.setdefault(parent, {})
    inside[last] = verbs.merged(inside.get(last, {}), value) if last in MERGED else value
    if path == "networkConfig.defaultEnablePrivateNodes":
        body["privateClusterConfig"]["enablePrivateNodes"] = value
    if path in ("controlPlaneEndpointsConfig", "masterAuthorizedNetworksConfig"):
        if path == "controlPlaneEndpointsConfig" and "authorizedNetworksConfig" in value.get("ipEndpointsConfig", {}):
            body[path]["ipEndpointsConfig"]["authorizedNetworksConfig"] = value["ipEndpointsConfig"]["authorizedNetworksConfig"]
        clusters.mirror(body, path)


def _scale(call: Call, cluster: Body, id: str, autoscaling: Body) -> None:
    """Limits of one pool, as the official provider changes them."""
    name = f"{call.target}/nodePools/{id}"
    pool = call.cloud.store.get(HOST, name)
    if pool is None:
        raise no_pool(name)
    call.cloud.store.put(HOST, name, pools.scaled(call, cluster, pool, autoscaling))


def _newer(body: Body, wanted: str) -> str:
    """
    Raises:
        Refused: The control plane would go back, or two minor versions on. Source of the rule: Google's page on upgrades; words of ours.
    """
    channel = body.get("releaseChannel", {}).get("channel", "")
    version, now = versions.resolved(wanted, channel), body["currentMasterVersion"]
    major, minor = versions.minor(now)
    if not (major, minor) <= versions.minor(version) <= (major, minor + 1):
        raise wrong(f"Master cannot be upgraded to {version}: it is {now}, and goes on by one minor version at a time.")
    return version


def _upgrade_pools(call: Call, cluster: Body, id: str, wanted: str) -> None:
    """`desiredNodeVersion`: of one pool, or of all."""
    for name, pool in pools_of(call, call.target):
        if id in ("", "-", name.rpartition("/")[2]):
            call.cloud.store.put(HOST, name, pools.upgraded(call, name, cluster, pool, wanted))


def _change_pools(call: Call, cluster: Body, id: str, config: Body) -> None:
    """Machines of one pool, or of all, of another image."""
    for name, pool in pools_of(call, call.target):
        if id in ("", "-", name.rpartition("/")[2]):
            call.cloud.store.put(HOST, name, pools.rebuilt(call, name, cluster, pool, config))


def update_master(call: Call) -> Any:
    body = _opened(call)
    version = _newer(body, call.body.get("masterVersion", ""))
    return _changed(call, {**body, "currentMasterVersion": version}, "upgradeMaster", clusters.CREATE_SECONDS)


def set_labels(call: Call) -> Any:
    """Needs the fingerprint of the labels that it replaces. Source: `SetLabelsRequest.labelFingerprint` in the discovery document."""
    body = _opened(call)
    fingerprints.check(
        call,
        call.body.get("labelFingerprint", ""),
        body["labelFingerprint"],
        "Labels fingerprint either invalid or resource labels have changed",
    )
    labels = call.body.get("resourceLabels", {})
    return _changed(call, {**body, "resourceLabels": labels, "labelFingerprint": fingerprints.of(labels)[:8]}, "setResourceLabels")


def set_maintenance(call: Call) -> Any:
    body = _opened(call)
    policy = clusters.maintenance(call.body.get("maintenancePolicy", {}), f"{call.target}{call.cloud.store.next('etags')}")
    return _changed(call, {**body, "maintenancePolicy": policy})


def _sets(field: str, sent: str) -> Callable[[Call], Any]:
    """A verb that sets one field."""

    def handler(call: Call) -> Any:
        body = _opened(call)
        value = call.body.get(sent)
        after = {**body, field: value} if value is not None else body
        check_zones(after["location"], after["locations"])
        return _changed(call, after)

    return handler


def set_legacy_abac(call: Call) -> Any:
    body = _opened(call)
    return _changed(call, {**body, "legacyAbac": {"enabled": call.body.get("enabled", False)}})


HANDLERS = {
    f"{CLUSTERS}.{verb}": handler
    for verb, handler in {
        "update": update,
        "updateMaster": update_master,
        "setResourceLabels": set_labels,
        "setMaintenancePolicy": set_maintenance,
        "setNetworkPolicy": _sets("networkPolicy", "networkPolicy"),
        "setLocations": _sets("locations", "locations"),
        "setAddons": _sets("addonsConfig", "addonsConfig"),
        "setLogging": _sets("loggingService", "loggingService"),
        "setMonitoring": _sets("monitoringService", "monitoringService"),
        "setLegacyAbac": set_legacy_abac,
    }.items()
}
