"""
The machines of a node pool: one template, and in each zone a group of Compute Engine with its manager.

They are what Compute Engine has, so that whoever reads it, or what its machines cost, finds the nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.catalog.places import region_of
from infra.sandbox.clock import pacific
from infra.sandbox.operations import number
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import groups, instances, links, managers
from infra.sandbox.services.compute.disks import NODE_IMAGES
from infra.sandbox.services.container import ways
from infra.sandbox.services.container.parts import cluster_of, digest

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

SHARED = 32
"""Characters that the names of the cluster and the pool have together in the name of a group. Source: the recorded names:
`gke-cluster-sample-raid4-default-pool-59e58d61-grp`, and one of 16 characters of each."""
INSERT = "compute.instanceGroupManagers.insert"


def base_name(pool: str, made: str, zone: str) -> str:
    """
    What the machines of a pool in a zone are called, before their own four characters.

    Args:
        pool: Its full name.
        made: What tells it from an earlier one of its name.
        zone: Of the group.
    """
    cluster, name = links.last(cluster_of(pool)), links.last(pool)
    half = SHARED // 2
    first = cluster[: max(half, SHARED - len(name))]
    second = name[: SHARED - len(first)]
    return f"gke-{first}-{second}-{digest(f'{pool}{made}{zone}', 8)}"


def managers_of(body: Body) -> list[str]:
    """Names of the managers of a pool."""
    return [links.name_of(link) for link in body.get("instanceGroupUrls", [])]


def make(call: Call, pool: str, body: Body, network: Body, sizes: dict[str, int]) -> None:
    """
    Makes a pool's template and groups, and the machines in them, as far as there is capacity.

    Args:
        call: The call that makes the pool.
        pool: Its full name.
        body: The pool; it gets the addresses of its groups.
        network: Full addresses: `network`, `subnetwork`.
        sizes: Zone -> nodes.
    """
    urls = []
    for zone, size in sizes.items():
        base = base_name(pool, body["kubeletCertInfo"]["tpmBootstrapCertExpireTime"], zone)
        name = f"projects/{call.project}/zones/{zone}/instanceGroupManagers/{base}-grp"
        inside = _inside(call.cloud, name)
        template = f"projects/{call.project}/regions/{region_of(zone)}/instanceTemplates/{base}"
        call.cloud.store.put(links.HOST, template, _template(call, template, pool, body, network, zone))
        manager: Body = {
            "name": f"{base}-grp",
            "baseInstanceName": base,
            "instanceTemplate": links.LINK + template,
            "targetSize": size,
            "instanceLifecyclePolicy": {
                "defaultActionOnFailure": "REPAIR",
                "forceUpdateOnRepair": "YES",
                "onFailedHealthCheck": "DEFAULT_ACTION",
            },
            "listManagedInstancesResults": "PAGINATED",
            "satisfiesPzs": True,
            "serviceAccount": f"service-{call.number}@container-engine-robot.iam.gserviceaccount.com",
            "standbyPolicy": {"mode": "MANUAL"},
            "targetSizePolicy": {"mode": "BULK" if ways.slice_of(body) else "INDIVIDUAL"},
            "targetStoppedSize": 0,
            "targetSuspendedSize": 0,
            "updatePolicy": {
                "maxSurge": {"calculated": 1, "fixed": 1},
                "maxUnavailable": {"calculated": 1, "fixed": 1},
                "minReadySec": 0,
                "minimalAction": "REPLACE",
                "replacementMethod": "SUBSTITUTE",
                "type": "OPPORTUNISTIC",
            },
        }
        inside.kind.fill(inside, manager)
        call.cloud.store.put(links.HOST, name, manager)
        urls.append(links.LINK + name)
    body["instanceGroupUrls"] = [*body.get("instanceGroupUrls", []), *urls]


def renew(call: Call, pool: str, body: Body, network: Body) -> None:
    """Makes all machines of a pool anew, from a template of another name; the groups stay. Source: recorded traffic of an upgrade."""
    for name in managers_of(body):
        manager = call.cloud.store.get(links.HOST, name)
        if manager is None:
            continue
        inside, zone = _inside(call.cloud, name), name.split("/")[3]
        count = call.cloud.store.next("templates")
        base = f"{manager['baseInstanceName'][:-8]}{digest(f'{name}{count}', 8)}"
        template = f"projects/{call.project}/regions/{region_of(zone)}/instanceTemplates/{base}"
        call.cloud.store.put(links.HOST, template, _template(call, template, pool, body, network, zone))
        before, manager["instanceTemplate"] = links.name_of(manager["instanceTemplate"]), links.LINK + template
        manager["versions"] = [{**manager["versions"][0], "instanceTemplate": links.LINK + template}]
        call.cloud.store.put(links.HOST, name, manager)
        managers.reach(inside, manager, 0)
        managers.reach(inside, manager, manager["targetSize"])
        call.cloud.remove(links.HOST, before)


def size_of(cloud: Cloud, manager: str) -> int:
    """Nodes that a group is to have."""
    return int((cloud.store.get(links.HOST, manager) or {}).get("targetSize", 0))


def have(cloud: Cloud, manager: str) -> int:
    """Nodes that a group has."""
    return len(groups.members(_inside(cloud, manager), _group(manager)))


def nodes_of(cloud: Cloud, body: Body) -> int:
    """Nodes that a pool has."""
    return sum(have(cloud, name) for name in managers_of(body))


def sizes_of(cloud: Cloud, body: Body) -> dict[str, int]:
    """Zone -> nodes that a pool is to have there."""
    return {name.split("/")[3]: size_of(cloud, name) for name in managers_of(body)}


def resize(cloud: Cloud, body: Body, sizes: dict[str, int]) -> None:
    """Gives the groups of a pool other sizes, by their zones."""
    for name in managers_of(body):
        zone = name.split("/")[3]
        manager = cloud.store.get(links.HOST, name)
        if manager is None or zone not in sizes or manager["targetSize"] == sizes[zone]:
            continue
        inside = _inside(cloud, name)
        manager = manager | {"targetSize": sizes[zone]}
        cloud.store.put(links.HOST, name, manager)
        managers.reach(inside, manager, sizes[zone])


def take(cloud: Cloud, body: Body, machines: set[str]) -> None:
    """Takes machines of a pool away, by their names, and makes its groups smaller by them."""
    for name in managers_of(body):
        manager = cloud.store.get(links.HOST, name)
        if manager is None:
            continue
        inside = _inside(cloud, name)
        items = groups.members(inside, _group(name))
        gone = [item for item in items if links.last(item["instance"]) in machines]
        if not gone:
            continue
        groups.keep_members(inside, _group(name), [item for item in items if item not in gone] + gone)
        manager = manager | {"targetSize": manager["targetSize"] - len(gone)}
        cloud.store.put(links.HOST, name, manager)
        managers.reach(inside, manager, manager["targetSize"])


def remove(cloud: Cloud, body: Body, zones: list[str] | None = None) -> None:
    """Takes a pool's machines, groups and templates away. *zones*: of those only."""
    gone = [name for name in managers_of(body) if zones is None or name.split("/")[3] in zones]
    for name in gone:
        manager = cloud.store.get(links.HOST, name)
        if manager is None:
            continue
        managers.reach(_inside(cloud, name), manager, 0)
        for one in (name, _group(name), links.name_of(manager["instanceTemplate"])):
            cloud.remove(links.HOST, one)
    body["instanceGroupUrls"] = [link for link in body.get("instanceGroupUrls", []) if links.name_of(link) not in gone]


def lacking(cloud: Cloud, body: Body) -> str:
    """
    Why a pool has not all of its machines yet, in the words of Google; empty where it has.

    Source: the errors of operations in public issue threads (tranquilitybase-io/tb-gcp issue 589), but for the seconds: they are those
    that an operation waits here.
    """
    said = []
    for name in managers_of(body):
        looks = cloud.store.fact(f"lacking/{name}")
        if not looks:
            continue
        manager = cloud.store.get(links.HOST, name) or {}
        running, expected = have(cloud, name), manager.get("targetSize", 0)
        error = looks["error"]
        code = "GCE_QUOTA_EXCEEDED" if error["compute_code"] == "QUOTA_EXCEEDED" else "GCE_STOCKOUT"
        machine = f"{manager.get('baseInstanceName', '')}-{digest(name, 4)}"
        since = f"Not all instances running in IGM after {ways.GIVES_UP_SECONDS // 60:g}m{ways.GIVES_UP_SECONDS % 60:g}s."
        count = f"Expected {expected}, running {running}, transitioning {expected - running}."
        why = f"Current errors: [{code}]: Instance '{machine}' creation failed: {error['message']}"
        said.append(f"Google Compute Engine: {since} {count} {why}")
    return "; ".join(said)


def regang(cloud: Cloud, body: Body) -> None:
    """
    A slice of several machines that lost one is made anew as a whole.

    Source: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/tpus, read 2026-11: the nodes of a multi-host slice are one unit.
    """
    for name in managers_of(body):
        manager = cloud.store.get(links.HOST, name)
        if manager is None or cloud.store.fact(f"lacking/{name}"):
            continue
        inside = _inside(cloud, name)
        if have(cloud, name) < manager["targetSize"]:
            managers.reach(inside, manager, 0)
            managers.reach(inside, manager, manager["targetSize"])


def _group(manager: str) -> str:
    return manager.replace("/instanceGroupManagers/", "/instanceGroups/")


def _inside(cloud: Cloud, name: str) -> Call:
    return cloud.inside(cloud.services[links.HOST], INSERT, name, "v1")


def _template(call: Call, name: str, pool: str, body: Body, network: Body, zone: str) -> Body:
    """What each machine of a pool is made from."""
    config = body["config"]
    cluster = cluster_of(pool)
    labels = {
        instances.NODE: "",
        "goog-k8s-cluster-name": links.last(cluster),
        "goog-k8s-cluster-location": cluster.split("/")[3],
        "goog-k8s-node-pool-name": links.last(pool),
    } | config.get("resourceLabels", {})
    disk = {"diskType": config["diskType"], "diskSizeGb": str(config["diskSizeGb"])}
    image = f"projects/{NODE_IMAGES}/global/images/{config['nodeImageConfig']['image']}"
    properties: Body = {
        "machineType": config["machineType"],
        "labels": labels,
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": disk | {"sourceImage": image}}],
        "networkInterfaces": [network],
        "serviceAccounts": [{"email": config["serviceAccount"], "scopes": config["oauthScopes"]}],
        "scheduling": ways.scheduling(config),
        "metadata": {"items": [{"key": key, "value": value} for key, value in config["metadata"].items()]},
        "tags": {"items": config.get("tags", [])},
    }
    if attached := ways.attached(config):
        properties["guestAccelerators"] = attached
    if affinity := config.get("reservationAffinity"):
        properties["reservationAffinity"] = affinity
    return {
        "kind": "compute#instanceTemplate",
        "id": number(f"{name}{call.cloud.store.next('ids')}"),
        "creationTimestamp": pacific(call.now),
        "name": links.last(name),
        "region": links.LINK + "/".join(name.split("/")[:4]),
        "selfLink": links.LINK + name,
        "properties": properties,
    }
