"""What clusters and node pools have in common: names, links, places, and how they are answered."""

from __future__ import annotations

import hashlib
import re

from infra.catalog.places import region_of, regions
from infra.sandbox.refused import Refused
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import zones

HOST = "container.googleapis.com"
CLUSTERS = "projects.locations.clusters"
POOLS = f"{CLUSTERS}.nodePools"
NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")
"""At most 40 characters. Source: `Cluster.name` in the discovery document; node pools: Google's page on creating one."""
SAID = frozenset(
    {
        "allowExternalTraffic",
        "enableK8sCertsViaDns",
        "enableK8sTokensViaDns",
        "insecureKubeletReadonlyPortEnabled",
        "ipEndpointsConfig.enabled",
        "networkConfig.disableL4LbFirewallReconciliation",
        "swapConfig.enabled",
    }
)
"""Optional booleans, which stay in answers though they are false. Source: recorded traffic, 2026-08; two of it from a mock: that of the
load balancers, and that of the endpoints."""


def wrong(message: str) -> Refused:
    """What a cluster or a pool may not be."""
    return Refused(400, message)


def unready(message: str) -> Refused:
    """What cannot be done as things stand. Source of the reason: Google's answers in public issue threads."""
    return Refused(400, message, status="FAILED_PRECONDITION", reason="failedPrecondition")


def check_name(name: str, what: str) -> None:
    """
    Raises:
        Refused: It is no name that Google takes. The words are ours.
    """
    if not NAME.fullmatch(name):
        raise wrong(f"Invalid {what} name \"{name}\": must be a match of regex '{NAME.pattern}'.")


def is_zone(location: str) -> bool:
    return location not in regions()


def region(location: str) -> str:
    """The region of a cluster's location."""
    return region_of(location) if is_zone(location) else location


def check_location(location: str) -> None:
    """
    Raises:
        Refused: It is neither a zone nor a region. The words are ours.
    """
    if location not in regions() and location not in zones.names():
        raise wrong(f'Location "{location}" does not exist.')


def check_zones(location: str, wanted: list[str]) -> None:
    """
    Raises:
        Refused: A node would be outside the cluster's region. The words are ours.
    """
    around = region(location)
    if outside := [zone for zone in wanted if zone not in zones.names() or region_of(zone) != around]:
        raise wrong(f"Node locations {', '.join(outside)} are not zones of {around}, where the cluster is.")


def placed(name: str) -> str:
    """A name as links have it: `zones/Z` for a zone, `locations/R` for a region. Source: recorded traffic."""
    words = name.split("/")
    return name.replace("/locations/", "/zones/", 1) if is_zone(words[3]) else name


def link(version: str, name: str) -> str:
    """Full address of a cluster, a pool or an operation."""
    return f"https://{HOST}/{version}/{placed(name)}"


def digest(name: str, size: int) -> str:
    """Hexadecimal digits that a server would draw: the same for one name of one making."""
    return hashlib.sha256(name.encode()).hexdigest()[:size]


def trimmed(body: Body) -> Body:
    """A body as it is answered: without what is empty, but for booleans that are said in any case."""
    return dict(without_empty(body, SAID))


def cluster_of(name: str) -> str:
    """The cluster that a pool is in."""
    return name.partition("/nodePools/")[0]


def stored(call: Call, name: str) -> Body:
    """
    A cluster.

    Raises:
        Refused: There is none.
    """
    body = call.cloud.store.get(HOST, name)
    if body is None:
        raise no_cluster(name)
    return body


def no_cluster(name: str) -> Refused:
    """Source: recorded traffic."""
    return Refused(404, f"Not found: {placed(name)}.")


def no_pool(name: str) -> Refused:
    """Source: recorded traffic."""
    return Refused(404, f'Not found: node pool "{name.rpartition("/")[2]}" not found.')


def exists(name: str) -> Refused:
    """Source: Google's answers in public issue threads."""
    return Refused(409, f"Already exists: {placed(name)}.")


def pools_of(call: Call, cluster: str) -> list[tuple[str, Body]]:
    return call.cloud.store.items(HOST, f"{cluster}/nodePools")


def quiet(call: Call, name: str) -> None:
    """
    Refuses what meets a running operation: of the cluster, or of the same pool. Pools of one cluster may change at once.

    Who is refused asks again later: unless the clock is moved by hand, that is when the operation has ended. Source of the words: Google's
    answers in public repositories, 2026.

    Raises:
        Refused: Something runs.
    """
    cluster = cluster_of(name)
    names = [cluster, name] if name != cluster else [cluster, *(pool for pool, _ in pools_of(call, cluster))]
    for one in dict.fromkeys(names):
        for operation in call.cloud.store.pending(HOST, one):
            refused = unready(f"Cluster is running incompatible operation {operation['name'].rpartition('/')[2]}.")
            refused.waits = max(0.0, operation["ends"] - call.now)
            raise refused
