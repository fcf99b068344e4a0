"""Machines: what a new one is given, which states it goes through, and when it ends."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from infra.catalog.places import region_of
from infra.sandbox import operations
from infra.sandbox.clock import pacific
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import accelerators, automatic, capacity, fingerprints, links, zones
from infra.sandbox.services.compute.disks import DEFAULT_GIB, image_of
from infra.sandbox.services.compute.networks import EXTERNAL, free_address
from infra.sandbox.services.compute.resources import exists, kind, wrong

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

STAGING_AFTER = 5
"""Virtual seconds that a new machine is PROVISIONING before it is STAGING; at the end of its operation it is RUNNING."""
CREATE_SECONDS = 20
ACCOUNT = re.compile(r"[a-z0-9-]+@([a-z0-9-]+)\.iam\.gserviceaccount\.com")
IAM = "iam.googleapis.com"
NODE = "goog-gke-node"
"""Label of every node. Source: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels, read 2026-11."""
STOPPED = "TERMINATED"
LIVES = ("PROVISIONING", "STAGING", "RUNNING")
NOTICE_SECONDS = 30
"""Virtual seconds that a preempted machine is STOPPING. Source: https://docs.cloud.google.com/compute/docs/instances/spot: a shutdown
period of up to 30 seconds."""
LEAST_WAIT, LONGEST_WAIT = 90, 7200
"""Seconds that a flex-start machine may wait; 0: it comes at once or not at all. Source: Google's page "Create a Flex-start VM"."""
SHIELD = {"enableSecureBoot": False, "enableVtpm": True, "enableIntegrityMonitoring": True}
"""What is on by default. Source: the document's descriptions of ShieldedInstanceConfig."""


def _fill(call: Call, body: Body) -> None:
    zone = call.word("zones")
    body["machineType"] = links.place(call, f"zones/{zone}/machineTypes", body.get("machineType", ""))
    check_machine(zone, body["machineType"], node=NODE in body.get("labels", {}))
    accelerators.fill(call, body, zone)
    scheduling(body)
    _check_wait(call, body)
    check_accounts(call, body)
    for index, card in enumerate(body.setdefault("networkInterfaces", [{}])):
        _interface(call, card, index, region_of(zone))
    for index, disk in enumerate(body.get("disks", [])):
        attach(call, body, disk, index)
    if not any(disk.get("boot") for disk in body.get("disks", [])):
        raise wrong("disks", "", "A boot disk must be specified.")
    body["metadata"] = metadata_of(body.get("metadata", {}))
    body["tags"] = tags_of(body.get("tags", {}))
    body.setdefault("canIpForward", False)
    body.setdefault("deletionProtection", False)
    body.setdefault("startRestricted", False)
    body["shieldedInstanceConfig"] = SHIELD | body.get("shieldedInstanceConfig", {})
    body.setdefault("shieldedInstanceIntegrityPolicy", {"updateAutoLearnPolicy": True})
    body.pop("params", None)  # input only: the document's description
    begin(call, body)


def check_machine(zone: str, link: str, *, node: bool = False) -> None:
    """
    Args:
        node: Whether GKE makes it.

    Raises:
        Refused: The zone has no such machine type, as far as the catalogue knows.
    """
    name = links.last(link)
    if not name:
        raise wrong("machineType", link, "The machine type must be specified.")
    if not zones.check_machine_type(zone, name, node=node):
        raise wrong("machineType", link, f"Machine type with name '{name}' does not exist in zone '{zone}'.")


def scheduling(body: Body) -> None:
    """
    Spot, flex-start and standard machines differ in what may happen to them.

    Raises:
        Refused: They contradict. Source of the words: Google's answers in public issue threads.
    """
    chosen = body.setdefault("scheduling", {})
    spot = chosen.get("provisioningModel") == "SPOT" or chosen.get("preemptible", False)
    if spot and chosen.get("automaticRestart"):
        raise wrong("scheduling", "", "Scheduling must have preemptible be false when AutomaticRestart is true.")
    standard = not spot and chosen.get("provisioningModel", "STANDARD") == "STANDARD"
    moves = standard and not links.last(body.get("machineType", "")).startswith(("ct", "tpu"))
    chosen.setdefault("onHostMaintenance", "MIGRATE" if moves else "TERMINATE")
    chosen.setdefault("automaticRestart", standard)
    chosen.setdefault("preemptible", spot)
    chosen.setdefault("provisioningModel", "SPOT" if spot else "STANDARD")
    accelerators.check_stays(body)


def check_accounts(call: Call, body: Body) -> None:
    """A service account of a project of the sandbox must be there. Source of the words: public issue threads."""
    for account in body.get("serviceAccounts", []):
        email = account.get("email", "default")
        if email == "default":
            account["email"] = f"{call.number}-compute@developer.gserviceaccount.com"
        found = ACCOUNT.fullmatch(email)
        if found is None or IAM not in call.cloud.services or call.cloud.projects.get(found[1]) is None:
            continue
        name = f"projects/{found[1]}/serviceAccounts/{email}"
        if call.cloud.store.get(IAM, name) is None:
            raise Refused(404, f"The resource '{name}' of type 'serviceAccount' was not found.")


def _interface(call: Call, card: Body, index: int, region: str) -> None:
    """A network card: its subnetwork says the network, and gives the address."""
    where = f"networkInterfaces[{index}]"
    card["kind"] = "compute#networkInterface"
    card.setdefault("name", f"nic{index}")
    if card.get("subnetwork"):
        card["subnetwork"] = links.place(call, f"regions/{region}/subnetworks", card["subnetwork"])
    else:
        network = card["network"] = links.place(call, "global/networks", card.get("network") or "default")
        behind = links.stored(call, network)
        if behind is None:
            raise wrong(f"{where}.network", network, "The referenced network resource cannot be found.")
        if not behind.get("autoCreateSubnetworks"):
            raise wrong(where, "", "Subnetwork should be specified for custom subnetmode network")
        project = links.name_of(network).split("/")[1]
        card["subnetwork"] = f"{links.LINK}projects/{project}/regions/{region}/subnetworks/{links.last(network)}"
    automatic.subnetworks(call, links.name_of(card["subnetwork"]))
    inside = links.stored(call, card["subnetwork"])
    if inside is None:
        raise wrong(f"{where}.subnetwork", card["subnetwork"], "The referenced subnetwork resource cannot be found.")
    card["network"] = inside["network"]
    card.setdefault("networkIP", free_address(call, inside))
    card.setdefault("stackType", "IPV4_ONLY")
    for access in card.get("accessConfigs", []):
        external(call, access)
    card["fingerprint"] = fingerprints.of({key: value for key, value in card.items() if key != "fingerprint"})


def external(call: Call, access: Body) -> None:
    """An external address: the document's descriptions of AccessConfig have these defaults."""
    access["kind"] = "compute#accessConfig"
    access.setdefault("type", "ONE_TO_ONE_NAT")
    access.setdefault("name", "external-nat")
    access.setdefault("networkTier", "PREMIUM")
    access.setdefault("natIP", str(EXTERNAL + call.cloud.store.next("addresses")))


def attach(call: Call, body: Body, disk: Body, index: int) -> None:
    """An attached disk. One with `initializeParams` is made, as a resource of its own."""
    disk["kind"] = "compute#attachedDisk"
    disk["index"] = index
    disk.setdefault("type", "PERSISTENT")
    disk.setdefault("mode", "READ_WRITE")
    disk.setdefault("boot", False)
    disk.setdefault("autoDelete", False)
    disk.setdefault("interface", "SCSI")
    disk.setdefault("deviceName", f"persistent-disk-{index}")
    wanted = disk.pop("initializeParams", None)
    if wanted is None:
        disk["source"] = links.place(call, f"zones/{call.word('zones')}/disks", disk.get("source", ""))
        behind = links.stored(call, disk["source"])
        if behind is None and disk["type"] == "PERSISTENT":
            raise wrong(f"disks[{index}].source", disk["source"], "The referenced disk resource cannot be found.")
        disk.setdefault("diskSizeGb", (behind or {}).get("sizeGb", DEFAULT_GIB))
    elif disk["type"] == "PERSISTENT":
        made = _new_disk(call, body, wanted | ({"diskSizeGb": disk["diskSizeGb"]} if "diskSizeGb" in disk else {}), index)
        disk["source"], disk["diskSizeGb"] = made["selfLink"], made["sizeGb"]


def _new_disk(call: Call, body: Body, wanted: Body, index: int) -> Body:
    zone = call.word("zones")
    name = wanted.get("diskName") or (body["name"] if index == 0 else f"{body['name']}-{index}")
    target = f"projects/{call.project}/zones/{zone}/disks/{name}"
    if call.cloud.store.get(links.HOST, target) is not None:
        raise exists(target)
    if index == 0 and wanted.get("diskType"):
        accelerators.check_boot_disk(body, links.last(wanted["diskType"]))
    made: Body = {
        "kind": "compute#disk",
        "id": operations.number(f"{target}{call.cloud.store.next('ids')}"),
        "creationTimestamp": pacific(call.now),
        "name": name,
        "selfLink": links.LINK + target,
        "zone": f"{links.LINK}projects/{call.project}/zones/{zone}",
        "type": links.place(call, f"zones/{zone}/diskTypes", wanted.get("diskType") or "pd-standard"),
        "sizeGb": wanted.get("diskSizeGb", DEFAULT_GIB),
        "status": "READY",
        "physicalBlockSizeBytes": "4096",
        "labelFingerprint": fingerprints.of(wanted.get("labels", {})),
    }
    for field in ("labels", "description", "provisionedIops", "provisionedThroughput", "resourcePolicies"):
        if field in wanted:
            made[field] = wanted[field]
    if "sourceImage" in wanted:
        image = image_of(call, wanted["sourceImage"])
        made |= {"sourceImage": image["selfLink"], "sourceImageId": image["id"], "sizeGb": wanted.get("diskSizeGb", image["diskSizeGb"])}
    call.cloud.store.put(links.HOST, target, made)
    return made


def metadata_of(sent: Body) -> Body:
    items = sent.get("items", [])
    return {"kind": "compute#metadata", "fingerprint": fingerprints.of(items)} | ({"items": items} if items else {})


def tags_of(sent: Body) -> Body:
    items = sent.get("items", [])
    return {"fingerprint": fingerprints.of(items)} | ({"items": items} if items else {})


def begin(call: Call, body: Body) -> None:
    """When a machine with a run limit ends."""
    body["lastStartTimestamp"] = pacific(call.now)
    limit = body["scheduling"].get("maxRunDuration", {}).get("seconds")
    if limit is not None:
        body["resourceStatus"] = {"scheduling": {"terminationTimestamp": pacific(call.now + CREATE_SECONDS + int(limit))}}


def _lacks(call: Call, body: Body) -> Body | None:
    return capacity.lacking(call, call.word("zones"), body)


def _waits(call: Call, body: Body) -> float:
    """Flex-start machines wait for capacity as long as their request says: they are PENDING."""
    asked = call.body.get("params", {}).get("requestValidForDuration")
    if asked is None or capacity.provisioning(body) != "flex-start":
        return 0.0
    return float(asked.get("seconds", 0))


def _check_wait(call: Call, body: Body) -> None:
    """
    Raises:
        Refused: It says how long it waits, and no machine may wait so, or so long. The words are ours.
    """
    asked = call.body.get("params", {}).get("requestValidForDuration")
    if asked is None:
        return
    seconds = int(asked.get("seconds", 0))
    if capacity.provisioning(body) != "flex-start":
        raise wrong("params.requestValidForDuration", f"{seconds}s", "Only an instance with provisioning model FLEX_START can wait.")
    if seconds and not LEAST_WAIT <= seconds <= LONGEST_WAIT:
        said = f"Must be 0, or between {LEAST_WAIT} and {LONGEST_WAIT} seconds."
        raise wrong("params.requestValidForDuration", f"{seconds}s", said)


def settle(cloud: Cloud) -> None:
    """Ends machines whose time is up, and those that a fault takes away."""
    for name, body in cloud.store.of_kind(links.HOST, "instances"):
        ends = body.get("resourceStatus", {}).get("scheduling", {}).get("terminationTimestamp", "")
        moment = dt.datetime.fromisoformat(ends).timestamp() if ends else None
        if moment is not None and moment <= cloud.moment and body.get("status") in LIVES:
            with cloud.at(moment):
                end(cloud, name, body)
        elif body.get("status") == "RUNNING" and _is_spot(body) and cloud.faults.preempts(f"{links.HOST}/{name}"):
            preempt(cloud, name, body)


def _is_spot(body: Body) -> bool:
    return capacity.provisioning(body) == "spot"


def end(cloud: Cloud, name: str, body: Body) -> None:
    """Google takes a machine away: as its `instanceTerminationAction` says."""
    if _deletes(body):
        remove_disks(cloud, body)
        cloud.remove(links.HOST, name)
    else:
        cloud.store.put(links.HOST, name, {**body, **_stopped(cloud)})


def preempt(cloud: Cloud, name: str, body: Body) -> None:
    """
    Google needs a Spot machine's place: it is STOPPING for the time of the notice, then gone or TERMINATED as its action says.

    The zone's operations tell of it as `compute.instances.preempted`, of system@google.com.
    Sources: https://docs.cloud.google.com/compute/docs/instances/create-use-spot, "detect preemption"; a log entry quoted in the public
    repository of spot-interruption-exporter.
    """
    cloud.use.taken_away(name)
    deletes = _deletes(body)
    if deletes:
        remove_disks(cloud, body)
        body = {**body, "disks": []}
    call = cloud.inside(cloud.services[links.HOST], "compute.instances.stop", name, "v1")
    cloud.store.put(links.HOST, name, {**body, "status": "STOPPING"})
    operations.start(call, "preempted", None if deletes else body, NOTICE_SECONDS, sets=_stopped(cloud, NOTICE_SECONDS), certain=True)


def _deletes(body: Body) -> bool:
    return bool(body["scheduling"].get("instanceTerminationAction", "STOP") == "DELETE")


def _stopped(cloud: Cloud, later: float = 0.0) -> Body:
    return {"status": STOPPED, "resourceStatus": {}, "lastStopTimestamp": pacific(cloud.moment + later)}


def _show(call: Call, body: Body) -> Body:
    """A new machine's state moves on by time, until its operation's end makes it RUNNING."""
    if body.get("status") != "PROVISIONING":
        return body
    begun = dt.datetime.fromisoformat(body["lastStartTimestamp"]).timestamp()
    return {**body, "status": "STAGING"} if call.now >= begun + STAGING_AFTER else body


def check_deletable(call: Call, body: Body) -> None:
    if body.get("deletionProtection"):
        said = f"Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion: {call.target}'."
        raise Refused(400, said, reason="invalidResourceUsage")


def remove_disks(cloud: Cloud, body: Body) -> None:
    for disk in body.get("disks", []):
        if disk.get("autoDelete") and links.name_of(disk.get("source", "")):
            cloud.remove(links.HOST, links.name_of(disk["source"]))


KINDS = (
    kind(
        "instances",
        fill=_fill,
        show=_show,
        lacks=_lacks,
        waits=_waits,
        granted=begin,
        undone=lambda call, body: remove_disks(call.cloud, body),
        during={"create": {"status": "PROVISIONING"}, "wait": {"status": "PENDING"}},
        ready={"status": "RUNNING"},
        seconds={"create": CREATE_SECONDS},
    ),
)
