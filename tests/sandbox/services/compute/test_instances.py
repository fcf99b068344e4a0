"""Machines and their disks."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.faults import Fault
from tests.sandbox.services.compute.conftest import machine

ZONE = "zones/us-east5-a"
LINK = "https://www.googleapis.com/compute/v1/projects/shop-prod/"


def test_machine_goes_through_its_states(network: Any) -> None:
    """PROVISIONING, STAGING, RUNNING, by time alone."""
    operation = network.ask("POST", f"{ZONE}/instances", machine()).body
    states = []
    for _ in range(3):
        states.append(network.get(f"{ZONE}/instances/vm")["status"])
        network.cloud.clock.advance(10)

    assert (operation["status"], operation["operationType"]) == ("RUNNING", "insert")
    assert states == ["PROVISIONING", "STAGING", "RUNNING"]


def test_machine_is_filled_in(network: Any) -> None:
    """Links are full, the card has its address, the disk is a resource of its own."""
    found = network.make(f"{ZONE}/instances", machine(labels={"owner": "ml-team"}, metadata={"items": [{"key": "a", "value": "b"}]}))

    card, disk = found["networkInterfaces"][0], found["disks"][0]
    assert found["machineType"] == LINK + f"{ZONE}/machineTypes/ct6e-standard-4t"
    assert (found["kind"], found["zone"], found["labels"]) == ("compute#instance", LINK + ZONE, {"owner": "ml-team"})
    assert (card["name"], card["networkIP"], card["network"]) == ("nic0", "10.0.0.2", LINK + "global/networks/net")
    assert "accessConfigs" not in card
    assert found["metadata"]["items"] == [{"key": "a", "value": "b"}]
    assert all(found[key]["fingerprint"] for key in ("metadata", "tags"))
    assert (disk["source"], disk["diskSizeGb"], disk["boot"], disk["index"]) == (LINK + f"{ZONE}/disks/vm", "100", True, 0)
    assert "initializeParams" not in disk
    behind = network.get(f"{ZONE}/disks/vm")
    assert (behind["sizeGb"], behind["status"], behind["users"]) == ("100", "READY", [found["selfLink"]])
    assert "ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e" in behind["sourceImage"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}, ("TERMINATE", False, True, "SPOT")),
        ({"preemptible": True}, ("TERMINATE", False, True, "SPOT")),
        ({"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": "600"}}, ("TERMINATE", False, False, "FLEX_START")),
        ({}, ("TERMINATE", True, False, "STANDARD")),
    ],
)
def test_scheduling_follows_how_it_is_sold(network: Any, sent: dict[str, Any], expected: tuple[Any, ...]) -> None:
    found = network.make(f"{ZONE}/instances", machine(scheduling=sent))["scheduling"]

    assert expected == (found["onHostMaintenance"], found["automaticRestart"], found["preemptible"], found["provisioningModel"])
    assert sent.items() <= found.items()


def test_spot_machine_does_not_restart_by_itself(network: Any) -> None:
    body = machine(scheduling={"provisioningModel": "SPOT", "automaticRestart": True})
    said = "Invalid value for field 'resource.scheduling': ''. Scheduling must have preemptible be false when AutomaticRestart is true."

    assert network.refused("POST", f"{ZONE}/instances", body) == (400, said, "invalid")


def test_machine_type_that_the_zone_does_not_have_is_refused(network: Any) -> None:
    """The catalogue knows that there is no v6e in us-west2-a, while in Europe nobody knows; of other machines it knows nothing."""
    zone = "zones/us-west2-a"
    link = LINK + f"{zone}/machineTypes/ct6e-standard-1t"
    body = machine(machineType=link, networkInterfaces=[{"network": "global/networks/default"}])

    said = f"Invalid value for field 'resource.machineType': '{link}'. Machine type with name 'ct6e-standard-1t' does not exist in zone"
    assert network.refused("POST", f"{zone}/instances", body) == (400, f"{said} 'us-west2-a'.", "invalid")
    made = network.make(f"{zone}/instances", body | {"machineType": f"{zone}/machineTypes/n1-standard-8"})
    assert made["networkInterfaces"][0]["networkIP"].startswith("10.168.")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"networkInterfaces": [{"network": "global/networks/net"}]}, "Subnetwork should be specified for custom subnetmode network"),
        ({"networkInterfaces": [{"network": "gone"}]}, "The referenced network resource cannot be found."),
        ({"networkInterfaces": [{"subnetwork": "gone"}]}, "The referenced subnetwork resource cannot be found."),
        ({"disks": [{"boot": True, "source": "zones/us-east5-a/disks/gone"}]}, "The referenced disk resource cannot be found."),
        ({"disks": []}, "A boot disk must be specified."),
    ],
)
def test_what_a_machine_refers_to_must_be_there(network: Any, more: dict[str, Any], said: str) -> None:
    status, message, reason = network.refused("POST", f"{ZONE}/instances", machine(**more))

    assert (status, reason) == (400, "invalid")
    assert message.endswith(said)
    assert network.ask("GET", f"{ZONE}/disks/vm").status == 404


def test_machine_goes_with_its_own_disks_only(network: Any) -> None:
    """`autoDelete` says which."""
    network.make(f"{ZONE}/disks", {"name": "data", "sizeGb": "10"})
    body = machine()
    body["disks"].append({"source": f"{ZONE}/disks/data"})
    network.make(f"{ZONE}/instances", body)

    status, said, reason = network.refused("DELETE", f"{ZONE}/disks/data")
    assert (status, reason) == (400, "resourceInUseByAnotherResource")
    assert said == (
        "The disk resource 'projects/shop-prod/zones/us-east5-a/disks/data' is already being used by "
        "'projects/shop-prod/zones/us-east5-a/instances/vm'"
    )
    network.do("DELETE", f"{ZONE}/instances/vm")
    assert [network.ask("GET", f"{ZONE}/disks/{name}").status for name in ("vm", "data")] == [404, 200]
    assert "users" not in network.get(f"{ZONE}/disks/data")


def test_failed_create_leaves_nothing(network: Any) -> None:
    """After a stock-out the same request is taken again."""
    network.cloud.faults.add(Fault(do="fail", path="instances", code=429, times=1, message="no capacity"))

    failed = network.do("POST", f"{ZONE}/instances", machine())

    assert failed["error"]["errors"][0]["message"] == "no capacity"
    assert [network.ask("GET", f"{ZONE}/{kind}/vm").status for kind in ("instances", "disks")] == [404, 404]
    assert network.make(f"{ZONE}/instances", machine())["status"] == "RUNNING"


def test_stop_and_start(network: Any) -> None:
    network.make(f"{ZONE}/instances", machine())

    stopping = network.ask("POST", f"{ZONE}/instances/vm/stop").body
    assert stopping["operationType"] == "stop"
    assert network.get(f"{ZONE}/instances/vm")["status"] == "STOPPING"
    network.cloud.clock.advance(60)
    assert network.get(f"{ZONE}/instances/vm")["status"] == "TERMINATED"
    network.do("POST", f"{ZONE}/instances/vm/start")
    assert network.get(f"{ZONE}/instances/vm")["status"] == "RUNNING"


def test_labels_of_a_stopped_machine_do_not_start_it(network: Any) -> None:
    made = network.make(f"{ZONE}/instances", machine())
    network.do("POST", f"{ZONE}/instances/vm/stop")

    network.do("POST", f"{ZONE}/instances/vm/setLabels", {"labels": {"a": "b"}, "labelFingerprint": made["labelFingerprint"]})

    found = network.get(f"{ZONE}/instances/vm")
    assert (found["status"], found["labels"]) == ("TERMINATED", {"a": "b"})


def test_machine_type_changes_only_of_a_stopped_machine(network: Any) -> None:
    network.make(f"{ZONE}/instances", machine())
    body = {"machineType": f"{ZONE}/machineTypes/ct6e-standard-8t"}

    assert network.refused("POST", f"{ZONE}/instances/vm/setMachineType", body)[0] == 400
    network.do("POST", f"{ZONE}/instances/vm/stop")
    network.do("POST", f"{ZONE}/instances/vm/setMachineType", body)
    assert network.get(f"{ZONE}/instances/vm")["machineType"].endswith("/ct6e-standard-8t")


@pytest.mark.parametrize(
    ("verb", "field", "items"), [("setMetadata", "metadata", [{"key": "a", "value": "b"}]), ("setTags", "tags", ["tpu"])]
)
def test_metadata_and_tags_need_their_fingerprint(network: Any, verb: str, field: str, items: list[Any]) -> None:
    made = network.make(f"{ZONE}/instances", machine())
    where = f"{ZONE}/instances/vm/{verb}"

    assert network.refused("POST", where, {"items": items, "fingerprint": "AAAAAAAAAAA="})[::2] == (412, "conditionNotMet")
    network.do("POST", where, {"items": items, "fingerprint": made[field]["fingerprint"]})
    after = network.get(f"{ZONE}/instances/vm")[field]
    assert after["items"] == items
    assert after["fingerprint"] != made[field]["fingerprint"]


def test_protected_machine_is_not_deleted(network: Any) -> None:
    network.make(f"{ZONE}/instances", machine(deletionProtection=True))

    assert network.refused("DELETE", f"{ZONE}/instances/vm")[0] == 400
    network.do("POST", f"{ZONE}/instances/vm/setDeletionProtection", deletionProtection="false")
    network.do("DELETE", f"{ZONE}/instances/vm")
    assert network.ask("GET", f"{ZONE}/instances/vm").status == 404


@pytest.mark.parametrize(("action", "expected"), [("DELETE", 404), ("STOP", 200)])
def test_run_limit_ends_a_machine(network: Any, action: str, expected: int) -> None:
    """Flex-start and others: after `maxRunDuration` the machine is deleted or stopped."""
    limit = {"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": "600"}, "instanceTerminationAction": action}
    network.make(f"{ZONE}/instances", machine(scheduling=limit))

    network.cloud.clock.advance(599)
    assert network.get(f"{ZONE}/instances/vm")["status"] == "RUNNING"
    network.cloud.clock.advance(60)

    answer = network.ask("GET", f"{ZONE}/instances/vm")
    assert answer.status == expected
    assert answer.body.get("status", "TERMINATED") == "TERMINATED"


def test_spot_machine_is_preempted_by_a_maintenance_event(network: Any) -> None:
    """Source: Google's page on simulating host maintenance."""
    spot = {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
    network.make(f"{ZONE}/instances", machine(scheduling=spot))

    network.do("POST", f"{ZONE}/instances/vm/simulateMaintenanceEvent")
    network.cloud.clock.advance(30)

    assert network.ask("GET", f"{ZONE}/instances/vm").status == 404


def test_external_address_only_where_it_is_asked_for(network: Any) -> None:
    card = {"subnetwork": "regions/us-east5/subnetworks/sub", "accessConfigs": [{}]}

    access = network.make(f"{ZONE}/instances", machine(networkInterfaces=[card]))["networkInterfaces"][0]["accessConfigs"][0]

    assert (access["type"], access["networkTier"]) == ("ONE_TO_ONE_NAT", "PREMIUM")
    assert access["natIP"]


def test_disk_is_attached_and_detached(network: Any) -> None:
    network.make(f"{ZONE}/instances", machine())
    network.make(f"{ZONE}/disks", {"name": "data", "sizeGb": "10"})

    network.do("POST", f"{ZONE}/instances/vm/attachDisk", {"source": f"{ZONE}/disks/data", "deviceName": "data"})
    assert network.get(f"{ZONE}/disks/data")["users"] == [LINK + f"{ZONE}/instances/vm"]
    network.do("POST", f"{ZONE}/instances/vm/detachDisk", deviceName="data")
    assert "users" not in network.get(f"{ZONE}/disks/data")
    assert network.refused("POST", f"{ZONE}/instances/vm/detachDisk", deviceName="data")[0] == 400


def test_image_is_found_by_family(compute: Any, ask: Any) -> None:
    """A family's name is no image's; families of TPU images are those of the catalogue."""
    images = "compute/v1/projects/ubuntu-os-accelerator-images/global/images"
    host = "compute.googleapis.com"
    family = "ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e"

    found = ask("GET", host, f"{images}/family/{family}").body

    assert (found["family"], found["status"]) == (family, "READY")
    assert ask("GET", host, f"{images}/{found['name']}").body == found
    assert [ask("GET", host, f"{images}/{path}").status for path in (family, "family/none")] == [404, 404]


def test_disk_grows_only(network: Any) -> None:
    found = network.make(f"{ZONE}/disks", {"name": "data", "sizeGb": 10, "type": f"{ZONE}/diskTypes/hyperdisk-ml"})

    assert (found["sizeGb"], found["type"]) == ("10", LINK + f"{ZONE}/diskTypes/hyperdisk-ml")
    network.do("POST", f"{ZONE}/disks/data/resize", {"sizeGb": "20"})
    assert network.get(f"{ZONE}/disks/data")["sizeGb"] == "20"
    assert network.refused("POST", f"{ZONE}/disks/data/resize", {"sizeGb": "15"})[0] == 400


def test_snapshot_of_a_disk(network: Any) -> None:
    network.make(f"{ZONE}/disks", {"name": "data", "sizeGb": "10"})

    operation = network.do("POST", f"{ZONE}/disks/data/createSnapshot", {"name": "snap"})

    assert operation["operationType"] == "createSnapshot"
    assert network.get("global/snapshots/snap")["sourceDisk"] == LINK + f"{ZONE}/disks/data"


def test_service_account_of_the_sandbox_must_be_there(network: Any) -> None:
    """One of a project that the sandbox does not have is believed."""
    accounts = [{"email": "gone@shop-prod.iam.gserviceaccount.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}]

    status, said, _ = network.refused("POST", f"{ZONE}/instances", machine(serviceAccounts=accounts))

    assert (status, said) == (
        404,
        "The resource 'projects/shop-prod/serviceAccounts/gone@shop-prod.iam.gserviceaccount.com' of type 'serviceAccount' was not found.",
    )
    accounts[0]["email"] = "anybody@elsewhere.iam.gserviceaccount.com"
    assert network.make(f"{ZONE}/instances", machine(serviceAccounts=accounts))["serviceAccounts"] == accounts
