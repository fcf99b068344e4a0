"""
Clusters: PROVISIONING, then RUNNING, or ERROR where the first nodes are lacking; RECONCILING while they change; STOPPING.

Source: `Cluster.status` in the discovery document.
"""

from __future__ import annotations

import base64
import copy
import ipaddress
from typing import Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import rpc_error
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.compute import automatic, fingerprints, links, zones
from infra.sandbox.services.container import defaults, groups, pools, versions, ways
from infra.sandbox.services.container.parts import (
    CLUSTERS,
    HOST,
    check_location,
    check_name,
    check_zones,
    digest,
    exists,
    is_zone,
    link,
    no_cluster,
    pools_of,
    quiet,
    region,
    trimmed,
    wrong,
)

CREATE_SECONDS, CHANGE_SECONDS, DELETE_SECONDS = 300.0, 60.0, 240.0
"""Virtual, and ours. Real clusters took 9 minutes (tranquilitybase-io/tb-gcp issue 589) and 26 (NVIDIA/aicr issue 2764)."""
ADDRESSES = ipaddress.IPv4Address("34.80.0.2")
POD_PREFIX = 14
"""Of the range for pods that nobody chose: recorded as `10.112.0.0/14`."""
NO_NODES = "Cluster.initial_node_count must be greater than zero."
"""Source: Google's answers in public issue threads."""


def unwrap(call: Call) -> None:
    """A create's body is within `cluster`."""
    call.body = call.body.get("cluster", {})


def fill(call: Call, body: Body) -> None:
    """A new cluster, in full, with its first pools."""
    location, name = call.word("locations"), links.last(call.target)
    check_location(location)
    check_name(name, "cluster")
    autopilot = bool(body.get("autopilot", {}).get("enabled"))
    if autopilot and is_zone(location):
        raise wrong("Autopilot clusters must be regional clusters.")  # source: Google's answers in public issue threads
    wanted = _first_pools(body, autopilot=autopilot)
    _versions(body)
    chosen = defaults.AUTOPILOT if autopilot else {}
    both = defaults.merged(defaults.CLUSTER, defaults.merged(chosen, body))
    versioned = defaults.FROM_1_35 if versions.minor(both["currentMasterVersion"]) >= (1, 35) else defaults.BEFORE_1_35
    body |= copy.deepcopy(defaults.merged(versioned, both))
    id = digest(f"{call.target}{call.now}{call.cloud.store.next('ids')}", 64)
    body |= {
        "id": id,
        "createTime": rfc3339(call.now),
        "location": location,
        "zone": location,
        "locations": list(body.get("locations") or ([location] if is_zone(location) else zones.usual(location)[:3])),
        "labelFingerprint": fingerprints.of(body.get("resourceLabels", {}))[:8],
    }
    check_zones(location, body["locations"])
    _network(call, body, id)
    _endpoints(call, body, id)
    body["maintenancePolicy"] = maintenance(body.get("maintenancePolicy", {}), f"maintenance{id}")
    body["masterAuth"] = {"clientCertificateConfig": {}, "clusterCaCertificate": _certificate(id)} | body.get("masterAuth", {})
    if autopilot:
        body.setdefault("workloadIdentityConfig", {"workloadPool": f"{call.project}.svc.id.goog"})
    body["etag"] = etags.new(call.cloud)
    for pool in wanted:
        _first_pool(call, body, pool)


def _first_pools(body: Body, *, autopilot: bool) -> list[Body]:
    """
    The pools that a create asks for, in either way. Those of Autopilot are Google's own.

    Raises:
        Refused: It asks for none, or in both ways (words ours; the rule: `Cluster.nodePools` in the discovery document).
    """
    wanted, config = body.pop("nodePools", []), body.pop("nodeConfig", None)
    if autopilot:
        if wanted:
            raise wrong(pools.AUTOPILOT)
        return []
    count = body.get("initialNodeCount", 0)
    if wanted:
        if count or config:
            raise wrong("Cluster.node_pools cannot be used with Cluster.initial_node_count or Cluster.node_config.")
        return list(wanted)
    if count < 1:
        raise wrong(NO_NODES)
    return [{"name": defaults.DEFAULT_POOL, "initialNodeCount": count} | ({"config": config} if config else {})]


def _first_pool(call: Call, cluster: Body, pool: Body) -> None:
    name = f"{call.target}/nodePools/{pool.get('name', '')}"
    check_name(links.last(name), "node pool")
    if call.cloud.store.get(HOST, name) is not None:
        raise exists(name)
    pools.make(call, name, cluster, pool)
    call.cloud.store.put(HOST, name, {**pool, "status": "RUNNING"})


def _versions(body: Body) -> None:
    """The channel follows from the version where none is said; an empty one is none. Source: recorded traffic."""
    asked = body.get("initialClusterVersion", "")
    said = body.get("releaseChannel", {}).get("channel", "")
    version = versions.resolved(asked, said or versions.DEFAULT_CHANNEL)
    body |= {"initialClusterVersion": version, "currentMasterVersion": version}
    channel = said or versions.channel_of(version)
    body["releaseChannel"] = {} if channel == "UNSPECIFIED" else {"channel": channel}


def _network(call: Call, body: Body, id: str) -> None:
    """
    Network, subnetwork and the ranges of pods and services.

    Sources of the words: googlecloudrobotics/core issue 339 (no network), gcp-gke-clusters-ingress issue 2 (no range); the others are ours.
    """
    automatic.default_network(call)
    asked = body.get("network") or "default"
    network = links.name_of(links.place(call, "global/networks", asked))
    found = call.cloud.store.get(links.HOST, network)
    ours = call.cloud.projects.get(network.split("/")[1]) is not None if network else True
    if ours and found is None:
        raise wrong(f'Project "{call.project}" has no network named "{links.last(asked)}".')
    where = region(body["location"])
    subnet_asked = body.get("subnetwork") or (links.last(network) if found is None or found.get("autoCreateSubnetworks") else "")
    if not subnet_asked:
        raise wrong(f'Network "{links.last(network)}" is of custom subnet mode: a subnetwork must be specified.')
    subnet = links.name_of(links.place(call, f"regions/{where}/subnetworks", subnet_asked))
    automatic.subnetworks(call, subnet)
    behind = call.cloud.store.get(links.HOST, subnet)
    if ours and (behind is None or subnet.split("/")[3] != where):
        raise wrong(f'Subnetwork "{links.last(subnet_asked)}" was not found in region "{where}".')
    body["network"], body["subnetwork"] = links.last(network), links.last(subnet)
    body["networkConfig"] |= {"network": network, "subnetwork": subnet}
    policy = body.get("ipAllocationPolicy", {})
    policy.pop("createSubnetwork", None)
    pods = _range(policy, "cluster", behind, body) or _drawn(call, policy.get("clusterIpv4CidrBlock", ""), POD_PREFIX)
    services = _range(policy, "services", behind, body) or _drawn(call, policy.get("servicesIpv4CidrBlock", ""), 20, defaults.SERVICES)
    body["ipAllocationPolicy"] = {
        "stackType": "IPV4",
        "clusterSecondaryRangeName": f"gke-{body['name']}-pods-{id[:8]}",
        "networkTierConfig": {"networkTier": "NETWORK_TIER_DEFAULT"},
        "podCidrOverprovisionConfig": {},
    } | policy
    body["ipAllocationPolicy"] |= {
        "useIpAliases": True,
        "clusterIpv4Cidr": pods,
        "clusterIpv4CidrBlock": pods,
        "servicesIpv4Cidr": services,
        "servicesIpv4CidrBlock": services,
    }
    body |= {"clusterIpv4Cidr": pods, "servicesIpv4Cidr": services}


def _range(policy: Body, word: str, subnet: Body | None, body: Body) -> str:
    """Addresses of a secondary range that is named; empty where none is."""
    name = policy.get(f"{word}SecondaryRangeName", "")
    if not name or subnet is None:
        return ""
    for one in subnet.get("secondaryIpRanges", []):
        if one.get("rangeName") == name:
            return str(one["ipCidrRange"])
    kind = {"cluster": "Pod", "services": "Services"}[word]
    said = f'{kind} secondary range "{name}" not found in network "{links.LINK}{body["networkConfig"]["network"]}"'
    raise wrong(f'{said}, subnetwork "{body["subnetwork"]}".')


def _drawn(call: Call, asked: str, prefix: int, usual: str = "") -> str:
    """A range that the server chooses: of the size that is asked for, `/20`, or the one that is asked for."""
    size = asked.partition("/")[2] or str(prefix)
    if asked.partition("/")[0]:
        try:
            return str(ipaddress.ip_network(asked))
        except ValueError:
            raise wrong(f'Invalid CIDR block "{asked}".') from None
    if not asked and usual:
        return usual
    if not size.isdecimal() or not 8 <= int(size) <= 29:
        raise wrong(f'Invalid CIDR block "{asked}".')
    count = call.cloud.store.next("pod-ranges")
    inside = list_of(ipaddress.ip_network("10.0.0.0/8"), int(size), count)
    return str(inside)


def list_of(whole: ipaddress.IPv4Network | ipaddress.IPv6Network, prefix: int, count: int) -> ipaddress.IPv4Network:
    """The *count*-th of the parts of a range, beginning again after the last; the first half of it is for machines."""
    parts = 2 ** max(0, prefix - whole.prefixlen)
    step = 2 ** (32 - prefix)
    index = (parts // 4 + count) % parts
    return ipaddress.IPv4Network((int(whole.network_address) + index * step, prefix))


def _endpoints(call: Call, body: Body, id: str) -> None:
    """Where the control plane answers: by addresses, and by a name. Source: recorded traffic."""
    count = call.cloud.store.next("addresses")
    private = body.get("privateClusterConfig", {})
    block = private.get("masterIpv4CidrBlock", "")
    inside = str(_host(block, 2)) if block else str(_host(_subnet_range(call, body), -2 - count))
    config = body.setdefault("controlPlaneEndpointsConfig", {})
    dns = {"allowExternalTraffic": False, "enableK8sCertsViaDns": False, "enableK8sTokensViaDns": False} | config.get(
        "dnsEndpointConfig", {}
    )
    config["dnsEndpointConfig"] = dns | {"endpoint": f"gke-{id[:36]}-{call.number}.{body['location']}.gke.goog"}
    by_address = config.setdefault("ipEndpointsConfig", {})
    by_address.setdefault("enabled", True)
    by_address.setdefault("enablePublicEndpoint", not private.get("enablePrivateEndpoint", False))
    if body["networkConfig"].get("defaultEnablePrivateNodes") or private.get("enablePrivateNodes"):
        body["networkConfig"]["defaultEnablePrivateNodes"] = private["enablePrivateNodes"] = True  # the one took the other's place
    body["privateClusterConfig"] = private
    if by_address["enabled"]:
        public = {"publicEndpoint": str(ADDRESSES + count * 64)} if by_address["enablePublicEndpoint"] else {}
        for one in (by_address, private):
            one |= {"privateEndpoint": inside} | public
        body["endpoint"] = public.get("publicEndpoint", inside)
    mirror(body, "masterAuthorizedNetworksConfig" if body.get("masterAuthorizedNetworksConfig") else "controlPlaneEndpointsConfig")


def mirror(body: Body, from_: str) -> None:
    """Keeps what two fields both say: who may reach the control plane. *from_* is the one that was written."""
    by_address = body["controlPlaneEndpointsConfig"]["ipEndpointsConfig"]
    old = from_ == "masterAuthorizedNetworksConfig"
    allowed = body.get("masterAuthorizedNetworksConfig", {}) if old else by_address.get("authorizedNetworksConfig", {})
    if not allowed.get("enabled"):
        allowed = {"gcpPublicCidrsAccessEnabled": True} | allowed
    by_address["authorizedNetworksConfig"] = body["masterAuthorizedNetworksConfig"] = allowed


def maintenance(policy: Body, seed: str) -> Body:
    """A policy with its version; Google chooses how long a daily window is: recorded, from a mock, as four hours."""
    policy = copy.deepcopy(policy)
    if daily := policy.get("window", {}).get("dailyMaintenanceWindow"):
        daily["duration"] = "PT4H0M0S"
    return policy | {"resourceVersion": digest(seed, 8)}


def _host(block: str, number: int) -> ipaddress.IPv4Address:
    """An address in a block, from its begin or its end."""
    try:
        whole = ipaddress.IPv4Network(block)
    except ValueError:
        raise wrong(f'Invalid CIDR block "{block}".') from None
    return whole[number % whole.num_addresses]


def _subnet_range(call: Call, body: Body) -> str:
    behind = call.cloud.store.get(links.HOST, body["networkConfig"]["subnetwork"]) or {}
    return str(behind.get("ipCidrRange", "10.128.0.0/20"))


def _certificate(id: str) -> str:
    """Of the control plane's authority, in base64 as Google answers it. Nobody could check it: nothing answers at the endpoint."""
    inner = base64.b64encode(bytes.fromhex(digest(f"certificate{id}", 64)) * 8).decode()
    lines = "\n".join(inner[at : at + 64] for at in range(0, len(inner), 64))
    return base64.b64encode(f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n".encode()).decode()


def show(call: Call, body: Body) -> Body:
    """With its pools, and how many nodes they have."""
    answer = copy.deepcopy(body)
    found = pools_of(call, call.target)
    answer["nodePools"] = [pools.shown(call, name, pool, body) for name, pool in found]
    count = sum(groups.nodes_of(call.cloud, pool) for _, pool in found)
    answer |= {
        "selfLink": link(call.version, call.target),
        "instanceGroupUrls": [url for _, pool in found for url in pool.get("instanceGroupUrls", [])],
        "currentNodeCount": count,
        "currentNodeVersion": found[0][1]["version"] if found else body["currentMasterVersion"],
    }
    if found:
        answer["nodeConfig"] = answer["nodePools"][0]["config"]
    if used := pools.utilization(count, body):
        answer["ipAllocationPolicy"]["defaultPodIpv4RangeUtilization"] = used
    return trimmed(answer)


def lacks(call: Call, body: Body) -> Body | None:
    """What a create ends with where the first nodes are lacking."""
    said = "; ".join(filter(None, (groups.lacking(call.cloud, pool) for _, pool in pools_of(call, call.target))))
    return rpc_error("RESOURCE_EXHAUSTED", said) if said else None


def failed(call: Call, body: Body, error: Body) -> Body:
    """It stays, in ERROR. Google deletes it after a time that no source says: here its owner does."""
    return {**body, "status": "ERROR", **pools.told(error)}


def removed(call: Call, body: Body) -> None:
    """The nodes go with their cluster."""
    for _, pool in pools_of(call, call.target):
        groups.remove(call.cloud, pool)


def delete(call: Call) -> Any:
    call.target = call.owner
    body = verbs.stored(call)
    quiet(call, call.target)
    call.cloud.store.put(HOST, call.target, {**body, "status": "STOPPING"})
    return operations.start(call, "delete", None, DELETE_SECONDS, empty=True, back={"status": body["status"]})


def get(call: Call) -> Any:
    """A location that there is not has no clusters; of one that there is, a zone or a region that is not the cluster's has none either."""
    check_location(call.word("locations"))
    return verbs.get(call)


CLUSTER = Kind(
    CLUSTERS,
    id_from="body:name",
    seconds={"create": CREATE_SECONDS, "delete": DELETE_SECONDS},
    during={"create": {"status": "PROVISIONING"}, "wait": {"status": "PROVISIONING"}},
    ready={"status": "RUNNING"},
    fill=fill,
    lacks=lacks,
    waits=lambda call, body: ways.GIVES_UP_SECONDS,
    failed=failed,
    removed=removed,
    show=show,
    not_found=lambda call: no_cluster(call.target),
    exists=lambda call: exists(call.target),
)
HANDLERS = {f"{CLUSTERS}.delete": delete, f"{CLUSTERS}.get": get}
