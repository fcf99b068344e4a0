"""What can be done to a machine: start and stop, tags and metadata, disks and addresses, and what Google does to it."""

from __future__ import annotations

from typing import Any

from infra.catalog.places import region_of
from infra.sandbox import operations, verbs
from infra.sandbox.clock import pacific
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import capacity, fingerprints, instances, links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.fingerprints import renewed
from infra.sandbox.services.compute.resources import missing, wrong
from infra.sandbox.verbs import opened


def insert(call: Call) -> Any:
    """
    A new machine, also from a template: `sourceInstanceTemplate`, with what the body says instead.

    Source: https://docs.cloud.google.com/compute/docs/instances/create-vm-from-instance-template: overrides are a JSON merge patch
    (RFC 7396): labels are merged by their keys, and a list, such as disks or the items of the metadata, takes the place of the template's.
    """
    if wanted := call.query.get("sourceInstanceTemplate"):
        call.body = verbs.merge_patch(_properties(call, wanted), call.raw, call.body)
    return verbs.create(call)


def _properties(call: Call, wanted: str) -> Body:
    """
    What a template says of its machines.

    Raises:
        Refused: There is none, or it is of another region: the words of that are ours.
    """
    link = links.place(call, "global/instanceTemplates", wanted)
    template = links.stored(call, link)
    if template is None:
        raise missing(links.name_of(link) or wanted)
    if "region" in template and links.last(template["region"]) != region_of(call.word("zones")):
        raise wrong("sourceInstanceTemplate", link, f"A template of {links.last(template['region'])} makes no instance in another region.")
    made = links.normalise(template["properties"], call.project)
    return {key: value for key, value in made.items() if key != "resourceManagerTags"}  # a field of templates alone


def delete(call: Call) -> Any:
    """The machine stops; disks that are its own go with it."""
    body = opened(call)
    instances.check_deletable(call, body)
    instances.remove_disks(call.cloud, body)
    call.cloud.store.put(links.HOST, call.target, {**body, "disks": [], "status": "STOPPING"})
    return operations.start(call, "delete", None, instances.CREATE_SECONDS, empty=True)


def start(call: Call) -> Any:
    """A machine that was stopped needs capacity anew: without it, it stays as it is."""
    body = opened(call)
    if lacking := capacity.lacking(call, call.word("zones"), body):
        return operations.start(call, call.method.verb, body, instances.CREATE_SECONDS, error=lacking, back={})
    instances.begin(call, body)
    return act(call, body, seconds=instances.CREATE_SECONDS, during={"status": "STAGING"}, sets={"status": "RUNNING"})


def stop(call: Call) -> Any:
    body = opened(call)
    body["resourceStatus"] = {}
    body["lastStopTimestamp"] = pacific(call.now)
    return act(call, body, seconds=30, during={"status": "STOPPING"}, sets={"status": instances.STOPPED})


def suspend(call: Call) -> Any:
    return act(call, opened(call), seconds=30, during={"status": "SUSPENDING"}, sets={"status": "SUSPENDED"})


def reset(call: Call) -> Any:
    return act(call, opened(call))


def set_metadata(call: Call) -> Any:
    body = opened(call)
    fingerprints.check(
        call,
        call.body.get("fingerprint", ""),
        body["metadata"]["fingerprint"],
        "Supplied fingerprint does not match current metadata fingerprint.",
    )
    return act(call, renewed({**body, "metadata": instances.metadata_of(call.body)}))


def set_tags(call: Call) -> Any:
    body = opened(call)
    fingerprints.check(
        call, call.body.get("fingerprint", ""), body["tags"]["fingerprint"], "Supplied fingerprint does not match current tags fingerprint."
    )
    return act(call, renewed({**body, "tags": instances.tags_of(call.body)}))


def set_scheduling(call: Call) -> Any:
    body = opened(call)
    body["scheduling"] = dict(call.body)
    instances.scheduling(body)
    return act(call, renewed(body))


def set_machine_type(call: Call) -> Any:
    """Only of a machine that is stopped."""
    body = opened(call)
    link = links.place(call, f"zones/{call.word('zones')}/machineTypes", call.body.get("machineType", ""))
    instances.check_machine(call.word("zones"), link)
    _check_stopped(body, "machine type")
    return act(call, renewed({**body, "machineType": link}))


def set_service_account(call: Call) -> Any:
    """Only of a machine that is stopped."""
    body = opened(call)
    _check_stopped(body, "service account")
    body["serviceAccounts"] = [dict(call.body)] if call.body.get("email") else []
    instances.check_accounts(call, body)
    return act(call, renewed(body))


def _check_stopped(body: Body, what: str) -> None:
    if body.get("status") != instances.STOPPED:
        raise Refused(400, f"The {what} of '{body['name']}' can only be changed when the instance is stopped.", reason="resourceNotReady")


def set_deletion_protection(call: Call) -> Any:
    body = opened(call)
    return act(call, {**body, "deletionProtection": call.query.get("deletionProtection", "true") == "true"})


def attach_disk(call: Call) -> Any:
    body = opened(call)
    disk = dict(call.body)
    disks = body.setdefault("disks", [])
    instances.attach(call, body, disk, len(disks))
    disks.append(disk)
    return act(call, renewed(body))


def detach_disk(call: Call) -> Any:
    body = opened(call)
    name = call.query.get("deviceName", "")
    left = [disk for disk in body.get("disks", []) if disk.get("deviceName") != name]
    if len(left) == len(body.get("disks", [])):
        raise Refused(
            400, f"Invalid value for field 'deviceName': '{name}'. No attached disk found with device name '{name}'", reason="invalid"
        )
    return act(call, renewed({**body, "disks": left}))


def set_auto_delete(call: Call) -> Any:
    body = opened(call)
    for disk in body.get("disks", []):
        if disk.get("deviceName") == call.query.get("deviceName"):
            disk["autoDelete"] = call.query.get("autoDelete") == "true"
    return act(call, body, verb="setDiskAutoDelete")


def add_access(call: Call) -> Any:
    body = opened(call)
    access = dict(call.body)
    instances.external(call, access)
    _card(body, call.query.get("networkInterface", "nic0")).setdefault("accessConfigs", []).append(access)
    return act(call, renewed(body))


def delete_access(call: Call) -> Any:
    body = opened(call)
    card = _card(body, call.query.get("networkInterface", "nic0"))
    card["accessConfigs"] = [item for item in card.get("accessConfigs", []) if item["name"] != call.query.get("accessConfig")]
    return act(call, renewed(body))


def _card(body: Body, name: str) -> Body:
    found = next((card for card in body["networkInterfaces"] if card["name"] == name), None)
    if found is None:
        raise Refused(400, f"Invalid value for field 'networkInterface': '{name}'. The network interface does not exist.", reason="invalid")
    return found  # type: ignore[no-any-return]


def update_shield(call: Call) -> Any:
    body = opened(call)
    return act(call, renewed({**body, "shieldedInstanceConfig": body["shieldedInstanceConfig"] | call.body}))


def update(call: Call) -> Any:
    """A running machine goes on running, a stopped one stays stopped."""
    return act(call, renewed({**opened(call), **call.body}))


def simulate_maintenance(call: Call) -> Any:
    """
    On a Spot machine it is a preemption.

    Source: https://docs.cloud.google.com/compute/docs/instances/simulating-host-maintenance.
    """
    body = opened(call)
    operation = act(call, body)
    if body["scheduling"].get("provisioningModel") == "SPOT":
        verbs.quiet(call)
        instances.preempt(call.cloud, call.target, body)
    return operation


def serial_port(call: Call) -> Any:
    """No machine of the sandbox runs anything, so none prints."""
    call.target = call.owner
    if call.cloud.store.get(links.HOST, call.owner) is None:
        raise missing(call.owner)
    return {
        "kind": "compute#serialPortOutput",
        "contents": "",
        "start": "0",
        "next": "0",
        "selfLink": f"{links.LINK}{call.owner}/serialPort",
    }


HANDLERS = {
    f"instances.{verb}": handler
    for verb, handler in {
        "insert": insert,
        "delete": delete,
        "update": update,
        "start": start,
        "stop": stop,
        "suspend": suspend,
        "resume": start,
        "reset": reset,
        "setMetadata": set_metadata,
        "setTags": set_tags,
        "setScheduling": set_scheduling,
        "setMachineType": set_machine_type,
        "setServiceAccount": set_service_account,
        "setDeletionProtection": set_deletion_protection,
        "attachDisk": attach_disk,
        "detachDisk": detach_disk,
        "setDiskAutoDelete": set_auto_delete,
        "addAccessConfig": add_access,
        "deleteAccessConfig": delete_access,
        "updateShieldedInstanceConfig": update_shield,
        "simulateMaintenanceEvent": simulate_maintenance,
        "getSerialPortOutput": serial_port,
    }.items()
}
