"""Managers that keep a group of machines at its size, and requests to resize one."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import re
from typing import TYPE_CHECKING, Any

from infra.catalog.places import region_of
from infra.sandbox import operations, verbs
from infra.sandbox.clock import pacific
from infra.sandbox.discovery import document
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import capacity, fingerprints, instances, links, zones
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.groups import keep_members, members
from infra.sandbox.services.compute.resources import kind, missing, unused, wrong
from infra.sandbox.verbs import opened

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

ACTIONS = (
    "abandoning", "creating", "creatingWithoutRetries", "deleting", "none", "recreating", "refreshing",
    "restarting", "resuming", "starting", "stopping", "suspending", "verifying",
)  # fmt: skip
"""Counters of a manager. Source: recorded traffic of Google."""
MOST = 2000
"""Machines of a manager. Source: https://docs.cloud.google.com/compute/docs/instance-groups, limits of managed instance groups."""
TPU_MACHINE = re.compile(r"(?:ct\d|tpu)")
GRANTED_AFTER = 60
"""Virtual seconds until a resize request gets its machines."""


def _manager_fill(call: Call, body: Body) -> None:
    """A manager has a group of its own name, and makes its machines."""
    if "instanceTemplate" not in body and body.get("versions"):
        body["instanceTemplate"] = body["versions"][0].get("instanceTemplate", "")
    if not body.get("instanceTemplate"):
        raise wrong("instanceTemplate", "", "An instance template must be specified.")
    body["instanceTemplate"] = links.place(call, "global/instanceTemplates", body["instanceTemplate"])
    if links.stored(call, body["instanceTemplate"]) is None:
        raise missing(links.name_of(body["instanceTemplate"]))
    if "targetSize" not in body:
        raise wrong("targetSize", "", "The target size must be specified.")
    _check_bulk(call, body)
    body.setdefault("versions", [{"instanceTemplate": body["instanceTemplate"], "targetSize": {"calculated": body["targetSize"]}}])
    body.setdefault("baseInstanceName", body["name"])
    where = call.target.replace("/instanceGroupManagers/", "/instanceGroups/")
    body["instanceGroup"] = links.LINK + where
    group = {
        "kind": "compute#instanceGroup",
        "id": operations.number(f"{where}{body['id']}"),
        "creationTimestamp": pacific(call.now),
        "name": body["name"],
        "description": "This instance group is controlled by Instance Group Manager '" + body["name"] + "'.",
        "selfLink": links.LINK + where,
        "fingerprint": fingerprints.of([]),
        "namedPorts": body.get("namedPorts", []),
        "size": 0,
    } | {place: body[place] for place in ("zone", "region") if place in body}
    call.cloud.store.put(links.HOST, where, group)
    reach(call, body, body["targetSize"])


def _is_bulk(body: Body) -> bool:
    return bool(body.get("targetSizePolicy", {}).get("mode") == "BULK")


def _check_bulk(call: Call, body: Body) -> None:
    """
    A TPU topology wants all machines at once, and flex-start machines made at once are not repaired.

    Sources: the first refusal as a user met it in July 2026 (public file 69680341417); the second rule, in words of ours, is that of
    https://docs.cloud.google.com/compute/docs/instance-groups/about-bulk-mode, read 2026-11.
    """
    policy = links.stored(call, links.full(body.get("resourcePolicies", {}).get("workloadPolicy", ""), call.project)) or {}
    if policy.get("workloadPolicy", {}).get("acceleratorTopology") and _is_tpu(call, body) and not _is_bulk(body):
        raise Refused(400, "MIGs with TPU accelerator topology require BULK mode in target size policy.")
    properties = (links.stored(call, body["instanceTemplate"]) or {}).get("properties", {})
    flex_start = properties.get("scheduling", {}).get("provisioningModel") == "FLEX_START"
    action = body.get("instanceLifecyclePolicy", {}).get("defaultActionOnFailure", "REPAIR")
    if _is_bulk(body) and flex_start and action != "DO_NOTHING":
        raise wrong("instanceLifecyclePolicy.defaultActionOnFailure", action, "Flex-start instances in BULK mode take DO_NOTHING.")


def _is_tpu(call: Call, body: Body) -> bool:
    properties = (links.stored(call, body["instanceTemplate"]) or {}).get("properties", {})
    return bool(TPU_MACHINE.match(links.last(properties.get("machineType", ""))))


def _check_resize(body: Body, before: int, size: int) -> None:
    """
    Machines that are made all at once are added to none only.

    Source: https://docs.cloud.google.com/compute/docs/instance-groups/about-bulk-mode, read 2026-11; the words are ours.
    """
    if _is_bulk(body) and 0 < before < size:
        raise wrong("targetSize", size, "In BULK mode instances can be added only to a group without instances.")


def _manager_defaults(call: Call, body: Body) -> None:
    body.setdefault("listManagedInstancesResults", "PAGELESS")  # the default: the document's description
    body.setdefault("standbyPolicy", {}).setdefault("mode", "MANUAL")
    body.setdefault("updatePolicy", {}).setdefault("type", "OPPORTUNISTIC")
    body["updatePolicy"].setdefault("minimalAction", "REPLACE")


def _show_manager(call: Call, body: Body) -> Body:
    """Its counters and whether it is stable, as its machines are now."""
    if "instanceGroup" not in body or "currentActions" in body:
        return body
    states = []
    for member in members(call, links.name_of(body["instanceGroup"])):
        machine = links.stored(call, member["instance"])
        states.append(machine["status"] if machine else "")
    running = states.count("RUNNING")
    wanted = body.get("targetSize", 0) if call.cloud.store.fact(f"lacking/{links.name_of(body['selfLink'])}") else len(states)
    actions = dict.fromkeys(ACTIONS, 0) | {"none": running, "creating": wanted - running}
    stable = running == body.get("targetSize", 0)
    status = {
        "isStable": stable,
        "versionTarget": {"isReached": stable},
        "stateful": {"hasStatefulConfig": False, "isStateful": False, "perInstanceConfigs": {"allEffective": True}},
        "allInstancesConfig": {"effective": True},
    }
    return {**body, "currentActions": actions, "status": status}


def reach(call: Call, body: Body, size: int) -> None:
    """
    Makes or deletes machines until there are *size*, as far as the zone has capacity: in BULK mode for all of them or for none.

    What could not be made is tried again and again. Source: InstanceGroupManagerTargetSizePolicy.mode in the discovery document.
    """
    if not 0 <= size <= MOST:
        raise wrong("targetSize", size, f"Must be between 0 and {MOST}.")
    group = links.name_of(body["instanceGroup"])
    items = members(call, group)
    while len(items) > size:
        _delete_member(call, items.pop())
    lacking = None
    for index in range(size - len(items)):
        if (index == 0 or not _is_bulk(body)) and (lacking := _lacks(call, body)):
            break
        items.append({"instance": links.LINK + _new_member(call, body)})
    keep_members(call, group, items)
    looks = {"next": call.now + operations.LOOKS_SECONDS, "at": pacific(call.now), "error": lacking} if lacking else None
    if looks or call.cloud.store.fact(f"lacking/{call.target}"):
        call.cloud.store.set_fact(f"lacking/{call.target}", looks)


def _lacks(call: Call, body: Body) -> Body | None:
    """A zone of a regional group is not known before its machine is: such a group lacks what a fault without a zone says."""
    words = call.target.split("/")
    zone = words[3] if words[2] == "zones" else ""
    return capacity.lacking(call, zone, (links.stored(call, body["instanceTemplate"]) or {}).get("properties", {}))


def settle(cloud: Cloud) -> None:
    """Looks again for capacity, forgets machines that Google took away, and puts others in their place where the group is repaired."""
    for name, body in cloud.store.of_kind(links.HOST, "instanceGroupManagers"):
        if "instanceGroup" not in body:
            continue
        call = cloud.inside(cloud.services[links.HOST], "compute.instanceGroupManagers.insert", name, "v1")
        while (looks := cloud.store.fact(f"lacking/{name}")) and looks["next"] <= cloud.moment:
            with cloud.at(looks["next"]):
                reach(call, body, body["targetSize"])
        _replace_lost(call, body)


def _replace_lost(call: Call, body: Body) -> None:
    """
    Machines that were preempted. A group in BULK mode gets no other ones: instances are added to an empty group only.

    Source: https://docs.cloud.google.com/compute/docs/instance-groups/about-bulk-mode, read 2026-11.
    """
    group = links.name_of(body["instanceGroup"])
    items = members(call, group)
    left = [item for item in items if links.stored(call, item["instance"]) is not None]
    if len(left) == len(items):
        return
    keep_members(call, group, left)
    if not _is_bulk(body) and body.get("instanceLifecyclePolicy", {}).get("defaultActionOnFailure", "REPAIR") == "REPAIR":
        reach(call, body, body["targetSize"])


def _new_member(call: Call, body: Body) -> str:
    template = links.stored(call, body["instanceTemplate"]) or {}
    words = call.target.split("/")
    count = call.cloud.store.next("members")
    region = words[2] == "regions"
    zone = _zones_of(words[3])[count % len(_zones_of(words[3]))] if region else words[3]
    tail = hashlib.sha256(f"{call.target}{count}".encode()).hexdigest()[:4]
    name = f"projects/{call.project}/zones/{zone}/instances/{body['baseInstanceName']}-{tail}"
    machine = copy.deepcopy(template.get("properties", {})) | {"name": links.last(name)}
    for field in ("fingerprint", "kind"):
        machine.get("metadata", {}).pop(field, None)
    _patch(machine, body.get("allInstancesConfig", {}).get("properties", {}))
    insert = document("compute.v1").method("compute.instances.insert")
    assert insert is not None
    inside = dataclasses.replace(
        call, method=insert, owner=f"projects/{call.project}/zones/{zone}", collection="instances", body=machine, query={}, target=name
    )
    inside.kind.fill(inside, machine)
    call.cloud.store.put(links.HOST, name, {**machine, "status": "PROVISIONING"})
    operations.start(inside, "create", machine, instances.CREATE_SECONDS)
    return name


def _patch(machine: Body, config: Body) -> None:
    """Labels and metadata of the group, over those of the template by their keys: InstancePropertiesPatch in the discovery document."""
    if labels := config.get("labels"):
        machine["labels"] = machine.get("labels", {}) | labels
    if metadata := config.get("metadata"):
        kept = [item for item in machine.get("metadata", {}).get("items", []) if item["key"] not in metadata]
        machine["metadata"] = {"items": [*kept, *({"key": key, "value": value} for key, value in metadata.items())]}


def _zones_of(region: str) -> list[str]:
    return [zone for zone in zones.names() if region_of(zone) == region]


def _delete_member(call: Call, member: Body) -> None:
    name = links.name_of(member["instance"])
    body = call.cloud.store.get(links.HOST, name)
    if body is not None:
        instances.end(call.cloud, name, {**body, "scheduling": {"instanceTerminationAction": "DELETE"}})


def resize(call: Call) -> Any:
    body = opened(call)
    size = int(call.query.get("size", "0"))
    _check_resize(body, body.get("targetSize", 0), size)
    reach(call, body, size)
    return act(call, {**body, "targetSize": size})


def _manager_changed(call: Call, body: Body, before: Body) -> None:
    if body.get("versions") and body["versions"] != before.get("versions"):
        body["instanceTemplate"] = body["versions"][0].get("instanceTemplate", body["instanceTemplate"])
    if body.get("targetSizePolicy") != before.get("targetSizePolicy"):
        raise wrong("targetSizePolicy", body.get("targetSizePolicy"), "The target size policy mode cannot be changed.")
    if body.get("targetSize") != before.get("targetSize"):
        _check_resize(body, before.get("targetSize", 0), body["targetSize"])
        reach(call, body, body["targetSize"])


def delete_manager(call: Call) -> Any:
    """The machines and the group go with their manager."""
    body = opened(call)
    unused("instance_group_manager")(call, body)
    if "instanceGroup" in body:
        reach(call, body, 0)
        call.cloud.remove(links.HOST, links.name_of(body["instanceGroup"]))
    return operations.start(call, "delete", None, 30, empty=True)


def list_managed(call: Call) -> Any:
    call.target = call.owner
    body = verbs.stored(call)
    items = []
    for member in members(call, links.name_of(body["instanceGroup"])):
        machine = links.stored(call, member["instance"])
        if machine is None:
            continue
        running = machine["status"] == "RUNNING"
        items.append(
            {
                "instance": member["instance"],
                "id": machine["id"],
                "name": machine["name"],
                "instanceStatus": machine["status"],
                "currentAction": "NONE" if running else "CREATING",
                "version": {"instanceTemplate": body["instanceTemplate"]},
            }
        )
    return {"managedInstances": items} if items else {}


def list_errors(call: Call) -> Any:
    """Why machines are not made yet. Source: InstanceManagedByIgmError in the discovery document."""
    call.target = call.owner
    body = verbs.stored(call)
    looks = call.cloud.store.fact(f"lacking/{call.target}")
    if not looks:
        return {}
    error = {"code": looks["error"]["compute_code"], "message": looks["error"]["message"]}
    action = {"action": "CREATING", "version": {"instanceTemplate": body["instanceTemplate"]}}
    return {"items": [{"error": error, "instanceActionDetails": action, "timestamp": looks["at"]}]}


def delete_instances(call: Call) -> Any:
    """Deletes members, and makes the group that much smaller."""
    body = opened(call)
    _, left = _without_named(call, body)
    return act(call, {**body, "targetSize": left})


def recreate_instances(call: Call) -> Any:
    body = opened(call)
    before, _ = _without_named(call, body)
    reach(call, body, before)
    return act(call, body)


def _without_named(call: Call, body: Body) -> tuple[int, int]:
    """Deletes the members that the call names: how many there were, and how many are left."""
    group = links.name_of(body["instanceGroup"])
    gone = {links.full(link, call.project) for link in call.body.get("instances", [])}
    items = members(call, group)
    for member in items:
        if member["instance"] in gone:
            _delete_member(call, member)
    left = [item for item in items if item["instance"] not in gone]
    keep_members(call, group, left)
    return len(items), len(left)


def _request_fill(call: Call, body: Body) -> None:
    if not body.get("resizeBy") and not body.get("instances"):
        raise wrong("resizeBy", body.get("resizeBy", 0), "Must be at least 1.")
    owner = call.cloud.store.get(links.HOST, call.owner)
    if owner is None:
        raise missing(call.owner)
    if _is_tpu(call, owner):  # source: the refusal as a user met it in July 2026 (public file 69680341417)
        raise Refused(400, "Creating resize requests for managed instance group with TPU is not allowed.")
    body["state"] = "ACCEPTED"
    body["madeAt"] = call.now


def _show_request(call: Call, body: Body) -> Body:
    return {key: value for key, value in body.items() if key != "madeAt"}


def grant_requests(call: Call) -> None:
    """Gives resize requests their machines when their time has come."""
    for _, name, body in call.cloud.store.every(links.HOST, f"projects/{call.project}/zones/"):
        if "/resizeRequests/" not in name or body.get("state") != "ACCEPTED" or call.now < body["madeAt"] + GRANTED_AFTER:
            continue
        manager = name.rpartition("/resizeRequests/")[0]
        owner = call.cloud.store.get(links.HOST, manager)
        if owner is None:
            continue
        size = owner.get("targetSize", 0) + body.get("resizeBy", 0)
        reach(dataclasses.replace(call, target=manager), owner, size)
        call.cloud.store.put(links.HOST, manager, {**owner, "targetSize": size})
        call.cloud.store.put(links.HOST, name, {**body, "state": "SUCCEEDED"})


def cancel_request(call: Call) -> Any:
    """One that has its machines stays as it is."""
    body = opened(call)
    state = "CANCELLED" if body.get("state") == "ACCEPTED" else body.get("state", "")
    return act(call, {**body, "state": state})


KINDS = (
    *(
        kind(resource, defaults=_manager_defaults, fill=_manager_fill, changed=_manager_changed, show=_show_manager, seconds={"create": 30})
        for resource in ("instanceGroupManagers", "regionInstanceGroupManagers")
    ),
    kind("instanceGroupManagerResizeRequests", fill=_request_fill, show=_show_request),
)
HANDLERS = {
    "instanceGroupManagerResizeRequests.cancel": cancel_request,
    **{
        f"{resource}.{verb}": handler
        for resource in ("instanceGroupManagers", "regionInstanceGroupManagers")
        for verb, handler in {
            "delete": delete_manager,
            "resize": resize,
            "listManagedInstances": list_managed,
            "listErrors": list_errors,
            "deleteInstances": delete_instances,
            "recreateInstances": recreate_instances,
        }.items()
    },
}
