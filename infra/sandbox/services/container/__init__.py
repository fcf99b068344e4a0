"""
Google Kubernetes Engine: clusters and node pools.

Nodes are machines of Compute Engine, in groups with managers. At the DNS name of a cluster's control plane its Kubernetes API answers
(`services/kubernetes`); nothing does at its addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.sandbox import lists
from infra.sandbox.service import Call, Service
from infra.sandbox.services.container import autoscaler, changes, clusters, operations, pools, versions
from infra.sandbox.services.container.parts import CLUSTERS, HOST, POOLS, check_location, no_cluster

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

OLD = ".zones."
"""In the ids of methods whose paths have `zones/Z` for a location: each has a younger one, but for a few verbs."""


def _prepare(call: Call) -> None:
    """Reads old paths as the younger ones, and takes a new thing out of the message around it."""
    if OLD in call.method.id:
        younger = call.method.document.method(call.method.id.replace(OLD, ".locations."))
        if younger is not None:
            call.method = younger
            call.owner = call.owner.replace("/zones/", "/locations/", 1)
    if call.method.id.endswith(f"{CLUSTERS}.create"):
        clusters.unwrap(call)
    elif call.method.id.endswith(f"{POOLS}.create"):
        pools.unwrap(call)


def server_config(call: Call) -> Any:
    check_location(call.word("locations"))
    return versions.server_config()


def _settle(cloud: Cloud) -> None:
    pools.settle(cloud)
    autoscaler.settle(cloud)


SERVICE = Service(
    host=HOST,
    apis=("container.v1beta1", "container.v1"),
    operations=operations.ContainerOperations(),
    errors="both",
    keeps_empty=True,
    kinds=(clusters.CLUSTER, pools.POOL),
    handlers={
        **clusters.HANDLERS,
        **changes.HANDLERS,
        **pools.HANDLERS,
        f"{CLUSTERS}.list": lists.everywhere,
        "projects.locations.getServerConfig": server_config,
    },
    prepare=_prepare,
    settle=_settle,
    wakes=autoscaler.wakes,
    not_found=lambda call: no_cluster(call.target),
)
