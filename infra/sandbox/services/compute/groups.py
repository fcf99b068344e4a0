"""Instance templates, and groups of machines."""

from __future__ import annotations

from typing import Any

from infra.sandbox import verbs
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import fingerprints, instances, links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.resources import kind, missing, unused, wrong
from infra.sandbox.verbs import opened


def _template_fill(call: Call, body: Body) -> None:
    """Source: recorded traffic."""
    properties = body.get("properties")
    if properties is None:
        raise wrong("properties", "", "Instance properties must be specified.")
    for index, disk in enumerate(properties.get("disks", [])):
        disk["kind"] = "compute#attachedDisk"
        disk["index"] = index
        disk.setdefault("type", "PERSISTENT")
        disk.setdefault("mode", "READ_WRITE")
        disk.setdefault("deviceName", "boot" if disk.get("boot") else f"persistent-disk-{index}")
    for index, card in enumerate(properties.get("networkInterfaces", [])):
        card["kind"] = "compute#networkInterface"
        card.setdefault("name", f"nic{index}")
        if card.get("network"):
            card["network"] = links.place(call, "global/networks", card["network"])
        for access in card.get("accessConfigs", []):
            access["kind"] = "compute#accessConfig"
    items = properties.get("metadata", {}).get("items", [])
    properties["metadata"] = {**properties.get("metadata", {}), "kind": "compute#metadata", "fingerprint": fingerprints.of(items)}
    instances.scheduling(properties)
    if properties["scheduling"]["provisioningModel"] == "STANDARD":
        del properties["scheduling"]["provisioningModel"]


def _group_defaults(call: Call, body: Body) -> None:
    body.setdefault("size", 0)
    if body.get("network"):
        body["network"] = links.place(call, "global/networks", body["network"])


def members(call: Call, group: str) -> list[Body]:
    found: list[Body] = (call.cloud.store.get(links.HOST, f"{group}/members/all") or {}).get("items", [])
    return found


def keep_members(call: Call, group: str, items: list[Body]) -> None:
    call.cloud.store.put(links.HOST, f"{group}/members/all", {"items": items})
    if (body := call.cloud.store.get(links.HOST, group)) is not None:
        call.cloud.store.put(links.HOST, group, {**body, "size": len(items)})


def add_instances(call: Call) -> Any:
    body = opened(call)
    items = members(call, call.target)
    for item in call.body.get("instances", []):
        link = links.full(item.get("instance", ""), call.project)
        if links.stored(call, link) is None:
            raise missing(links.name_of(link) or link)
        if any(member["instance"] == link for member in items):
            raise Refused(400, f"The instance '{link}' is already a member of '{call.target}'.", reason="memberAlreadyExists")
        items.append({"instance": link})
    keep_members(call, call.target, items)
    return act(call, {**body, "size": len(items)})


def remove_instances(call: Call) -> Any:
    body = opened(call)
    gone = {links.full(item.get("instance", ""), call.project) for item in call.body.get("instances", [])}
    items = [item for item in members(call, call.target) if item["instance"] not in gone]
    keep_members(call, call.target, items)
    return act(call, {**body, "size": len(items)})


def list_instances(call: Call) -> Any:
    """The members with their states. Source: recorded traffic."""
    call.target = call.owner
    group = verbs.stored(call)
    items = []
    for member in members(call, call.owner):
        machine = links.stored(call, member["instance"])
        if machine is not None:
            ports = {"namedPorts": group["namedPorts"]} if group.get("namedPorts") else {}
            items.append({"instance": member["instance"], "status": machine["status"], **ports})
    where = f"{call.owner}/listInstances"
    return {"kind": "compute#instanceGroupsListInstances", "id": call.owner, "selfLink": links.LINK + where} | (
        {"items": items} if items else {}
    )


def set_named_ports(call: Call) -> Any:
    body = opened(call)
    if "fingerprint" in call.body:
        fingerprints.check(call, call.body["fingerprint"], body["fingerprint"], "Invalid fingerprint.")
    body["namedPorts"] = call.body.get("namedPorts", [])
    body["fingerprint"] = fingerprints.of(body["namedPorts"])
    return act(call, body)


KINDS = (
    kind("instanceTemplates", fill=_template_fill, release=unused("instance_template")),
    kind("regionInstanceTemplates", fill=_template_fill, release=unused("instance_template")),
    kind("instanceGroups", defaults=_group_defaults, release=unused("instance_group")),
)
HANDLERS = {
    "instanceGroups.addInstances": add_instances,
    "instanceGroups.removeInstances": remove_instances,
    "instanceGroups.listInstances": list_instances,
    "instanceGroups.setNamedPorts": set_named_ports,
}
