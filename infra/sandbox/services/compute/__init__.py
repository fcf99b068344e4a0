"""Compute Engine: machines, disks, networks and load balancing."""

from __future__ import annotations

from infra.sandbox.service import Call, Service
from infra.sandbox.services.compute import (
    actions,
    automatic,
    disks,
    groups,
    instances,
    links,
    load_balancing,
    machine_verbs,
    networks,
    policies,
    reservations,
    zones,
)
from infra.sandbox.services.compute.resources import check_name, kind, missing

OF_A_PLACE = frozenset({"zones", "regions"})
OF_MACHINES = frozenset({"instances", "disks", "instanceGroups", "instanceGroupManagers", "instanceGroupManagerResizeRequests"})
"""Resources that time changes by itself."""
GROUPS = (networks, disks, groups, load_balancing, policies, reservations)


def _prepare(call: Call) -> None:
    """A place must be there before anything is in it; a project's first call finds its `default` network; references become addresses."""
    automatic.default_network(call)
    call.body = links.normalise(call.body, call.project)
    if call.project:
        check_name(call)
    if call.project and call.method.resource in OF_MACHINES:
        instances.end_what_is_over(call)
        groups.grant_requests(call)
    words = [*call.owner.split("/"), *call.collection.split("/")]
    if len(words) < 4 or words[2] not in OF_A_PLACE or call.method.resource in OF_A_PLACE:
        return
    if words[2] == "zones":
        zones.check_zone(call, words[3])
    else:
        zones.check_region(call, words[3])
        automatic.subnetworks(call, "/".join(words))


SERVICE = Service(
    host=links.HOST,
    apis=("compute.v1", "compute.beta"),
    widened_by={"compute.v1": "compute.beta"},
    operations=actions.Operations(actions.operation_type),
    errors="errors",
    keeps_empty=True,
    kinds=(*instances.KINDS, *(item for group in GROUPS for item in group.KINDS)),
    usual=kind(""),
    prepare=_prepare,
    handlers={
        "projects.get": zones.project,
        "zones.get": zones.get_zone,
        "zones.list": zones.list_zones,
        "regions.get": zones.get_region,
        "regions.list": zones.list_regions,
        "machineTypes.get": zones.get_machine_type,
        "machineTypes.list": zones.list_machine_types,
        "networks.delete": actions.delete_network,
        **machine_verbs.HANDLERS,
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
