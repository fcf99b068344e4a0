"""Compute Engine: machines, disks, networks and load balancing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.sandbox.refused import Refused
from infra.sandbox.service import Call, Service
from infra.sandbox.services.compute import (
    actions,
    automatic,
    certificates,
    disks,
    endpoint_groups,
    groups,
    instances,
    links,
    load_balancing,
    machine_verbs,
    managers,
    networks,
    policies,
    reservations,
    shared_vpc,
    zones,
)
from infra.sandbox.services.compute.resources import check_name, kind, missing

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

OF_A_PLACE = frozenset({"zones", "regions"})
PLACES = OF_A_PLACE | {"global", "aggregated"}
OF_MACHINES = frozenset({"instances", "disks", "instanceGroups", "instanceGroupManagers", "instanceGroupManagerResizeRequests"})
"""Resources that time changes by itself."""
GROUPS = (networks, disks, groups, managers, load_balancing, endpoint_groups, policies, reservations)


def _prepare(call: Call) -> None:
    """A place must be there before anything is in it; a project's first call finds its `default` network; references become addresses."""
    if call.project in disks.PUBLIC and call.method.http != "GET":
        raise Refused(403, f"Required permission is missing for 'projects/{call.project}'")
    automatic.default_network(call)
    call.body = links.normalise(call.body, call.project)
    if call.project:
        check_name(call)
    if call.project and call.method.resource in OF_MACHINES:
        managers.grant_requests(call)
    _global(call)
    words = [*call.owner.split("/"), *call.collection.split("/")]
    if len(words) < 4 or words[2] not in OF_A_PLACE or call.method.resource in OF_A_PLACE:
        return
    if words[2] == "zones":
        zones.check_zone(call, words[3])
    else:
        zones.check_region(call, words[3])
        automatic.subnetworks(call, "/".join(words))


def _settle(cloud: Cloud) -> None:
    instances.settle(cloud)
    managers.settle(cloud)


def _global(call: Call) -> None:
    """Some old verbs leave `global` out of their path: `projects/P/targetHttpProxies/T/setUrlMap`."""
    words = call.owner.split("/")
    if words[0] == "projects" and len(words) == 4 and words[2] not in PLACES:
        call.owner = "/".join([*words[:2], "global", *words[2:]])


SERVICE = Service(
    host=links.HOST,
    apis=("compute.v1", "compute.beta"),
    widened_by={"compute.v1": "compute.beta"},
    operations=actions.Operations(actions.operation_type),
    errors="errors",
    keeps_empty=True,
    listed=actions.listed,
    finds_parts=True,
    kinds=(*instances.KINDS, *(item for group in (*GROUPS, certificates) for item in group.KINDS)),
    usual=kind(""),
    prepare=_prepare,
    settle=_settle,
    handlers={
        "projects.get": zones.project,
        "zones.get": zones.get_zone,
        "zones.list": zones.list_zones,
        "regions.get": zones.get_region,
        "regions.list": zones.list_regions,
        "machineTypes.get": zones.get_machine_type,
        "machineTypes.list": zones.list_machine_types,
        "acceleratorTypes.get": zones.get_accelerator_type,
        "acceleratorTypes.list": zones.list_accelerator_types,
        "diskTypes.get": zones.get_disk_type,
        "diskTypes.list": zones.list_disk_types,
        "regionDiskTypes.get": zones.get_disk_type,
        "regionDiskTypes.list": zones.list_disk_types,
        "networks.delete": actions.delete_network,
        **machine_verbs.HANDLERS,
        **shared_vpc.HANDLERS,
        **{verb: handler for group in GROUPS for verb, handler in group.HANDLERS.items()},
    },
    verbs={
        "list": actions.list_,
        "aggregatedList": actions.aggregated_list,
        "setLabels": actions.set_labels,
    },
    public_projects=disks.PUBLIC,
    not_found=lambda call: missing(call.target),
)
