"""
Node pools: PROVISIONING, then RUNNING; RUNNING_WITH_ERROR or ERROR where machines are lacking; RECONCILING while they change; STOPPING.

Source: `NodePool.status` in the discovery document.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from infra.sandbox import etags, lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, rpc_error
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.disks import NODE_IMAGES
from infra.sandbox.services.container import checks, defaults, groups, versions, ways
from infra.sandbox.services.container.parts import (
    HOST,
    POOLS,
    check_name,
    check_zones,
    cluster_of,
    exists,
    link,
    no_pool,
    quiet,
    stored,
    trimmed,
    wrong,
)

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

CREATE_SECONDS, CHANGE_SECONDS, DELETE_SECONDS = 90.0, 60.0, 120.0
"""Virtual, and ours."""
CERTIFICATE_SECONDS = 5 * 365.25 * 86400
"""Life of a node's first certificate. Source: recorded traffic."""
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
"""What GKE adds where another pool takes what needs no GPU. Source: terraform-google-kubernetes-engine issue 703."""
NODE_ADDRESSES = 256
"""Addresses of pods that a node takes of the cluster's range: a /24, recorded for 110 pods."""
WRAPPED = {"labels": "labels", "tags": "tags", "taints": "taints", "resourceLabels": "labels", "resourceManagerTags": "tags"}
"""Fields of an update that hold what they set in a message of their own -> its field there."""
OF_POOL = {
    "locations": "locations",
    "upgradeSettings": "upgradeSettings",
    "queuedProvisioning": "queuedProvisioning",
    "nodeDrainConfig": "nodeDrainConfig",
    "nodeNetworkConfig": "networkConfig",
    "maintenancePolicy": "maintenancePolicy",
}
"""Fields of an update that are the pool's own -> its fields; the others are its machines'."""
NOT_FIELDS = {
    "name",
    "nodePoolId",
    "clusterId",
    "projectId",
    "zone",
    "etag",
    "nodeVersion",
    "image",
    "imageProject",
    "nodeConfigUpdateMode",
}
IN_PLACE = {"labels", "taints", "tags", "resourceLabels"} | OF_POOL.keys()
"""Fields that nodes take over as they run. Source: Google's page on node pool updates; all others make them anew."""
AUTOPILOT = "Autopilot node pools cannot be accessed or modified."
"""Source: Google's answer in steampipe-plugin-gcp pull request 591."""


def unwrap(call: Call) -> None:
    """A create's body is within `nodePool`."""
    call.body = call.body.get("nodePool", {})


def fill(call: Call, body: Body) -> None:
    """A new pool, in full; its machines begin."""
    cluster = open_cluster(call, cluster_of(call.target))
    check_name(links.last(call.target), "node pool")
    quiet(call, call.target)
    make(call, call.target, cluster, body)


def make(call: Call, name: str, cluster: Body, body: Body) -> None:
    """Fills in a pool of *cluster*, holds it against what there can be, and makes its machines."""
    complete(call, name, cluster, body)
    checks.pool(call, cluster, body)
    size = body.get("initialNodeCount", 0)
    doomed = checks.doom(body, size)
    network = {field: links.full(cluster["networkConfig"][field], call.project) for field in ("network", "subnetwork")}
    groups.make(call, name, body, network, dict.fromkeys(body["locations"], 0 if doomed else size))
    _check_quota(call, body, size)


def complete(call: Call, name: str, cluster: Body, body: Body) -> None:
    """What Google fills in. Source: recorded traffic."""
    sent = body.get("config", {})
    body["locations"] = list(body.get("locations") or cluster["locations"])
    check_zones(cluster["location"], body["locations"])
    checks.policy(call, cluster_of(name), body)
    config = body["config"] = defaults.node_config(sent, ways.provisioning(sent))
    _check_account(call, config["serviceAccount"])
    for one in config.get("accelerators", []):
        one.setdefault("gpuDriverInstallationConfig", {}).setdefault("gpuDriverVersion", "DEFAULT")
        # source: magic-modules pull request 11152
    if config.get("accelerators") and _others_without(call, name):
        taints = config.setdefault("taints", [])
        if all(one.get("key") != GPU_TAINT["key"] for one in taints):
            taints.append(GPU_TAINT)
    body["version"] = versions.resolved(body.get("version") or cluster["currentMasterVersion"], "")
    config["nodeImageConfig"] = {"image": versions.image(body["version"]), "imageProject": NODE_IMAGES}
    policy = cluster["ipAllocationPolicy"]
    network: Body = {
        "networkTierConfig": {"networkTier": "NETWORK_TIER_DEFAULT"},
        "podIpv4CidrBlock": policy["clusterIpv4CidrBlock"],
        "podRange": policy["clusterSecondaryRangeName"],
        "subnetwork": cluster["networkConfig"]["subnetwork"],
    } | ({"enablePrivateNodes": True} if cluster["networkConfig"].get("defaultEnablePrivateNodes") else {})
    body["networkConfig"] = network | body.get("networkConfig", {})
    body.setdefault("management", dict(defaults.BOTH))
    body.setdefault("upgradeSettings", dict(defaults.UPGRADES)).setdefault("strategy", "SURGE")
    body.setdefault("maxPodsConstraint", cluster["defaultMaxPodsConstraint"])
    body |= {
        "name": links.last(name),
        "etag": etags.new(call.cloud),
        "kubeletCertInfo": {"tpmBootstrapCertExpireTime": rfc3339(call.now + CERTIFICATE_SECONDS)},
    }
    if body["maxPodsConstraint"].get("maxPodsPerNode") == defaults.POOL_PODS:
        body["podIpv4CidrSize"] = 24
    if body.get("autoscaling") and not body["autoscaling"].get("enabled"):
        del body["autoscaling"]


def _others_without(call: Call, name: str) -> bool:
    """Whether the cluster has a pool without GPUs."""
    others = call.cloud.store.items(HOST, f"{cluster_of(name)}/nodePools")
    return any(other != name and not body["config"].get("accelerators") for other, body in others)


def _check_account(call: Call, email: str) -> None:
    """Source of the words: Google's answers in public issue threads."""
    if email == "default":
        return
    try:
        call.cloud.check_member(f"serviceAccount:{email}")
    except Refused:
        raise wrong(f'Service account "{email}" does not exist.') from None


def _check_quota(call: Call, body: Body, size: int) -> None:
    """
    Too little quota is told at once. Source of the words: vanvalenlab/kiosk-console issue 367; the names of the quotas are made of the
    accelerators' like those there.

    Raises:
        Refused: A fault says that the project has none.
    """
    for name in groups.managers_of(body):
        looks = call.cloud.store.fact(f"lacking/{name}")
        if not looks or looks["error"].get("compute_code") != "QUOTA_EXCEEDED":
            continue
        gpus = body["config"].get("accelerators", [])
        each = int(gpus[0].get("acceleratorCount", "1") or 1) if gpus else 1
        found = f"{gpus[0]['acceleratorType'].upper().replace('-', '_')}_GPUS" if gpus else looks["error"]["message"].split("'")[1]
        spot = ways.provisioning(body["config"]) == "spot" and not found.startswith("PREEMPTIBLE_")
        needs = f"{each * size * len(body['locations'])}.0"
        raise Refused(
            403,
            f'Insufficient regional quota to satisfy request: resource "{"PREEMPTIBLE_" if spot else ""}{found}": request requires '
            f"'{needs}' and is short '{needs}'. project has a quota of '0.0' with '0.0' available. View and manage quotas at "
            f"https://console.cloud.google.com/iam-admin/quotas?usage=USED&project={call.project}.",
        )


def lacks(call: Call, body: Body) -> Body | None:
    """What the operation of a create ends with, where there are too few machines or never can be any."""
    if doomed := checks.doom(body, body.get("initialNodeCount", 0)):
        return doomed
    said = groups.lacking(call.cloud, body)
    return rpc_error("RESOURCE_EXHAUSTED", said) if said else None


def waits(call: Call, body: Body) -> float:
    return 0.0 if checks.doom(body, body.get("initialNodeCount", 0)) else ways.GIVES_UP_SECONDS


def failed(call: Call, body: Body, error: Body) -> Body:
    """A pool whose create failed stays: partially made, says the discovery document of CREATE_NODE_POOL."""
    status = "RUNNING_WITH_ERROR" if groups.nodes_of(call.cloud, body) else "ERROR"
    return {**body, "status": status, **told(error)}


def told(error: Body) -> Body:
    """An error as a cluster or a pool tells of it."""
    code = {"code": "GCE_STOCKOUT"} if error["status"] == "RESOURCE_EXHAUSTED" else {}
    condition = {"canonicalCode": error["status"], "message": error["message"]}
    return {"statusMessage": error["message"], "conditions": [code | condition]}


def shown(call: Call, name: str, body: Body, cluster: Body) -> Body:
    """A pool as it is answered."""
    answer = copy.deepcopy(body) | {"selfLink": link(call.version, name)}
    if cluster.get("status") == "PROVISIONING":
        answer["status"] = "PROVISIONING"
    if used := utilization(groups.nodes_of(call.cloud, body), cluster):
        answer["networkConfig"]["podIpv4RangeUtilization"] = used
    return trimmed(answer)


def utilization(nodes: int, cluster: Body) -> float:
    """Part of the addresses for pods that nodes take. The recorded figures have three digits."""
    size = int(cluster["ipAllocationPolicy"]["clusterIpv4CidrBlock"].partition("/")[2])
    return round(min(1.0, nodes * NODE_ADDRESSES * 2.0 ** (size - 32)), 3)


def show(call: Call, body: Body) -> Body:
    return shown(call, call.target, body, stored(call, cluster_of(call.target)))


def open_cluster(call: Call, name: str) -> Body:
    """
    The cluster whose pools are asked for or changed.

    Raises:
        Refused: There is none, or its pools are Google's own.
    """
    cluster = stored(call, name)
    if cluster.get("autopilot", {}).get("enabled"):
        raise wrong(AUTOPILOT)
    return cluster


def get(call: Call) -> Any:
    call.target = call.owner
    open_cluster(call, cluster_of(call.target))
    return verbs.get(call)


def list_(call: Call) -> Any:
    open_cluster(call, call.owner)
    return lists.list_(call)


def _opened(call: Call) -> tuple[Body, Body]:
    """The pool that a call changes, and its cluster."""
    call.target = call.owner
    cluster = open_cluster(call, cluster_of(call.target))
    body = verbs.stored(call)
    quiet(call, call.target)
    return body, cluster


def release(call: Call, body: Body) -> None:
    open_cluster(call, cluster_of(call.target))


def delete(call: Call) -> Any:
    body, _ = _opened(call)
    call.cloud.store.put(HOST, call.target, {**body, "status": "STOPPING"})
    back = {"status": body["status"]}
    return operations.start(call, "delete", None, DELETE_SECONDS, empty=True, back=back)


def removed(call: Call, body: Body) -> None:
    groups.remove(call.cloud, body)


def changed(call: Call, verb: str, body: Body, seconds: float = CHANGE_SECONDS, error: Body | None = None) -> Any:
    """Keeps a changed pool, which reconciles until the operation's end."""
    body = {key: value for key, value in body.items() if key not in ("statusMessage", "conditions")} | {"etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, call.target, {**body, "status": "RECONCILING"})
    back: Body = {"status": "RUNNING_WITH_ERROR" if groups.nodes_of(call.cloud, body) else "ERROR", **told(error)} if error else {}
    return operations.start(
        call, verb, body, seconds, sets={"status": "RUNNING"}, error=error, back=back or {"status": "RUNNING"}, nodes=_nodes(call, body)
    )


def _nodes(call: Call, body: Body) -> int:
    return groups.nodes_of(call.cloud, body)


def update(call: Call) -> Any:
    """`PUT`: the fields that are sent, each as a whole."""
    body, cluster = _opened(call)
    etags.check(call.cloud, call.body.get("etag", ""), body["etag"])
    sent = {key: value for key, value in call.body.items() if key not in NOT_FIELDS}
    after = copy.deepcopy(body)
    for field, value in sent.items():
        if field in OF_POOL:
            after[OF_POOL[field]] = after.get(OF_POOL[field], {}) | value if field == "nodeNetworkConfig" else value
        else:
            after["config"][field] = value.get(WRAPPED[field], {}) if field in WRAPPED else value
    _consistent(after["config"], sent)
    if wanted := call.body.get("nodeVersion"):
        _upgrade(after, cluster, wanted)
    check_zones(cluster["location"], after["locations"])
    checks.pool(call, cluster, after)
    rebuild = bool(call.body.get("nodeVersion") and after["version"] != body["version"]) or bool(sent.keys() - IN_PLACE)
    _move(call, body, after, cluster, rebuild=rebuild)
    return changed(call, "update", after, CHANGE_SECONDS * (1 + _nodes(call, after) * rebuild))


def _consistent(config: Body, sent: Body) -> None:
    """Fields that say one thing twice; and labels that GKE keeps on machines."""
    if "bootDisk" in sent:
        config["diskType"] = sent["bootDisk"].get("diskType", config["diskType"])
        config["diskSizeGb"] = int(sent["bootDisk"].get("sizeGb", config["diskSizeGb"]))
    config["bootDisk"] = config.get("bootDisk", {}) | {"diskType": config["diskType"], "sizeGb": str(config["diskSizeGb"])}
    config["resourceLabels"] = config.get("resourceLabels", {}) | {defaults.MODEL: ways.provisioning(config)}


def _upgrade(after: Body, cluster: Body, wanted: str) -> None:
    """
    Raises:
        Refused: Nodes would be newer than the control plane. Source of the rule: Google's page on version skew; the words are ours.
    """
    version = cluster["currentMasterVersion"] if wanted in versions.NAMES else versions.resolved(wanted, "")
    if versions.minor(version) > versions.minor(cluster["currentMasterVersion"]):
        raise wrong(f"Node version {version} must not be newer than the control plane's, {cluster['currentMasterVersion']}.")
    after["version"] = version
    after["config"]["nodeImageConfig"] = {"image": versions.image(version), "imageProject": NODE_IMAGES}


def upgraded(call: Call, name: str, cluster: Body, body: Body, wanted: str) -> Body:
    """A pool whose machines are made anew, of another version."""
    after = copy.deepcopy(body)
    _upgrade(after, cluster, wanted)
    _move(dataclasses.replace(call, target=name), body, after, cluster, rebuild=after["version"] != body["version"])
    return after


def rebuilt(call: Call, name: str, cluster: Body, body: Body, config: Body) -> Body:
    """A pool whose machines are made anew, with other settings."""
    after = copy.deepcopy(body)
    after["config"] |= config
    _move(dataclasses.replace(call, target=name), body, after, cluster, rebuild=after["config"] != body["config"])
    return after


def _move(call: Call, before: Body, after: Body, cluster: Body, *, rebuild: bool) -> None:
    """Machines of zones that are no longer the pool's go, those of new zones come, and all are made anew where that is needed."""
    network = {field: links.full(cluster["networkConfig"][field], call.project) for field in ("network", "subnetwork")}
    sizes = groups.sizes_of(call.cloud, before)
    groups.remove(call.cloud, after, [zone for zone in sizes if zone not in after["locations"]])
    if rebuild:
        groups.renew(call, call.target, after, network)
    if new := {zone: max(sizes.values(), default=0) for zone in after["locations"] if zone not in sizes}:
        groups.make(call, call.target, after, network, new)


def set_size(call: Call) -> Any:
    """`:setSize`: nodes in each zone."""
    body, _ = _opened(call)
    size = int(call.body.get("nodeCount", 0))
    if not 0 <= size <= checks.MOST_NODES:
        raise wrong(f"Node count must be between 0 and {checks.MOST_NODES}; got {size}.")
    checks.check_size(body, ways.slice_of(body), size)
    error = checks.doom(body, size)
    if not error:
        groups.resize(call.cloud, body, dict.fromkeys(body["locations"], size))
        _check_quota(call, body, size)
        said = groups.lacking(call.cloud, body)
        error = rpc_error("RESOURCE_EXHAUSTED", said) if said else None
    return changed(call, "setSize", body, error=error)


def set_autoscaling(call: Call) -> Any:
    body, cluster = _opened(call)
    return changed(call, "setAutoscaling", scaled(call, cluster, body, call.body.get("autoscaling", {})), CHANGE_SECONDS / 2)


def scaled(call: Call, cluster: Body, body: Body, autoscaling: Body) -> Body:
    """
    A pool with other limits.

    Raises:
        Refused: They cannot be.
    """
    after = {key: value for key, value in body.items() if key != "autoscaling"}
    if autoscaling.get("enabled"):
        after["autoscaling"] = autoscaling
    checks.pool(call, cluster, after)
    return after


def set_management(call: Call) -> Any:
    body, cluster = _opened(call)
    after = body | {"management": call.body.get("management", {})}
    checks.pool(call, cluster, after)
    return changed(call, "setManagement", after, CHANGE_SECONDS / 2)


def settle(cloud: Cloud) -> None:
    """Slices that lost a machine are made anew."""
    for _, body in cloud.store.of_kind(HOST, "nodePools"):
        if ways.slice_of(body) and body.get("status") not in ("STOPPING", "ERROR"):
            groups.regang(cloud, body)


POOL = Kind(
    POOLS,
    id_from="body:name",
    seconds={"create": CREATE_SECONDS, "delete": DELETE_SECONDS},
    during={"create": {"status": "PROVISIONING"}, "wait": {"status": "PROVISIONING"}},
    ready={"status": "RUNNING"},
    fill=fill,
    lacks=lacks,
    waits=waits,
    failed=failed,
    removed=removed,
    show=show,
    not_found=lambda call: no_pool(call.target),
    exists=lambda call: exists(call.target),
)
HANDLERS = {
    f"{POOLS}.get": get,
    f"{POOLS}.list": list_,
    f"{POOLS}.update": update,
    f"{POOLS}.delete": delete,
    f"{POOLS}.setSize": set_size,
    f"{POOLS}.setAutoscaling": set_autoscaling,
    f"{POOLS}.setManagement": set_management,
}
