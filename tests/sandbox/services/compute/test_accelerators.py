"""Machines with GPUs: what comes with them, what Google refuses, and what becomes of one that Spot takes away."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from infra.sandbox.faults import Fault
from tests.sandbox.services.compute.conftest import machine

ZONE = "zones/asia-east1-a"
LINK = f"https://www.googleapis.com/compute/v1/projects/shop-prod/{ZONE}/acceleratorTypes/"
STAYS = {"onHostMaintenance": "TERMINATE"}
SPOT = STAYS | {"provisioningModel": "SPOT", "preemptible": True, "automaticRestart": False, "instanceTerminationAction": "STOP"}
NOT_TOGETHER = "features are not compatible for creating instance."


def gpus(machine_type: str, *attached: tuple[str, int], disk: str = "pd-balanced", scheduling: dict[str, Any] = STAYS) -> dict[str, Any]:
    """A machine in asia-east1-a: a body that is taken where its GPUs go with it."""
    params = {
        "sourceImage": "projects/cos-cloud/global/images/family/cos-129-lts",
        "diskSizeGb": "100",
        "diskType": f"{ZONE}/diskTypes/{disk}",
    }
    body = machine(
        machineType=f"{ZONE}/machineTypes/{machine_type}",
        networkInterfaces=[{"network": "global/networks/default"}],
        disks=[{"boot": True, "autoDelete": True, "initializeParams": params}],
        scheduling=dict(scheduling),
    )
    found = [{"acceleratorType": f"{ZONE}/acceleratorTypes/{kind}", "acceleratorCount": count} for kind, count in attached]
    return body | ({"guestAccelerators": found} if found else {})


@pytest.mark.parametrize(
    ("body", "kind", "count"),
    [(gpus("n1-standard-8", ("nvidia-tesla-t4", 2)), "nvidia-tesla-t4", 2), (gpus("g2-standard-24"), "nvidia-l4", 2)],
    ids=["attached", "built in"],
)
def test_a_machine_tells_its_gpus(compute: Any, body: dict[str, Any], kind: str, count: int) -> None:
    """Those that are attached, and those that come with the machine though nobody said them."""
    found = compute.make(f"{ZONE}/instances", body)
    assert found["guestAccelerators"] == [{"acceleratorType": LINK + kind, "acceleratorCount": count}]
    assert found["scheduling"]["onHostMaintenance"] == "TERMINATE"


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (gpus("n1-standard-8", ("nvidia-l4", 1)), 400, f"[nvidia-l4, n1-standard-8] {NOT_TOGETHER}"),
        (gpus("e2-standard-8", ("nvidia-tesla-t4", 1)), 400, f"[nvidia-tesla-t4, e2-standard-8] {NOT_TOGETHER}"),
        (gpus("g2-standard-8", ("nvidia-tesla-t4", 1)), 400, f"[nvidia-tesla-t4, g2-standard-8] {NOT_TOGETHER}"),
        (gpus("n1-standard-64", ("nvidia-tesla-t4", 1)), 400, f"[nvidia-tesla-t4, n1-standard-64] {NOT_TOGETHER}"),
        (
            gpus("n1-standard-8", ("nvidia-tesla-t4", 1), disk="hyperdisk-balanced"),
            400,
            f"[hyperdisk-balanced, n1-standard-8] {NOT_TOGETHER}",
        ),
        (gpus("g2-standard-8", disk="hyperdisk-balanced"), 400, f"[hyperdisk-balanced, g2-standard-8] {NOT_TOGETHER}"),
        (
            gpus("n1-standard-8", ("nvidia-t5", 1)),
            404,
            f"The resource 'projects/shop-prod/{ZONE}/acceleratorTypes/nvidia-t5' was not found",
        ),
        (gpus("g2-standard-8", scheduling={}), 400, "Instances with guest accelerators do not support live migration."),
        (
            gpus("n1-standard-8", ("nvidia-tesla-t4", 1), scheduling={"onHostMaintenance": "MIGRATE"}),
            400,
            "Instances with guest accelerators do not support live migration.",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(compute: Any, body: dict[str, Any], code: int, said: str) -> None:
    """In Google's words, where they are known; and nothing stays of it."""
    status, message, reason = compute.refused("POST", f"{ZONE}/instances", body)
    assert (status, message) == (code, said)
    assert reason == ("notFound" if code == 404 else "badRequest")
    assert compute.get(f"{ZONE}/disks").get("items", []) == []


def test_a_number_that_no_machine_takes_is_refused(compute: Any) -> None:
    said = "Invalid value for field 'resource.guestAccelerators[0].acceleratorCount': '3'. "
    body = gpus("n1-standard-8", ("nvidia-tesla-t4", 3))
    assert compute.refused("POST", f"{ZONE}/instances", body)[1].startswith(said)


@pytest.mark.parametrize(
    ("body", "way"),
    [
        (gpus("n1-standard-8", ("nvidia-tesla-t4", 1), scheduling=STAYS | {"provisioningModel": "FLEX_START"}), "flex-start"),
        (gpus("a3-ultragpu-8g", disk="hyperdisk-balanced"), "on-demand"),
    ],
)
def test_a_way_that_it_is_never_sold_is_refused(compute: Any, body: dict[str, Any], way: str) -> None:
    """Flex-start is for GPUs that are built in, and A3 Ultra is not for whoever comes."""
    said = f"Invalid value for field 'resource.scheduling.provisioningModel': '{way}'. "
    assert compute.refused("POST", f"{ZONE}/instances", body)[1].startswith(said)


def test_what_no_source_knows_is_believed(compute: Any) -> None:
    """No list of GPU zones is complete: a zone without a row may have it."""
    body = gpus("n1-standard-8", ("nvidia-tesla-t4", 1)) | {"machineType": "zones/us-east5-a/machineTypes/n1-standard-8"}
    params = body["disks"][0]["initializeParams"] | {"diskType": "zones/us-east5-a/diskTypes/pd-balanced"}
    body |= {"disks": [{"boot": True, "initializeParams": params}]}
    body["guestAccelerators"][0]["acceleratorType"] = "zones/us-east5-a/acceleratorTypes/nvidia-tesla-t4"
    assert compute.make("zones/us-east5-a/instances", body)["status"] == "RUNNING"


def test_a_spot_machine_that_stops_can_be_started_again(compute: Any) -> None:
    """Its disk stays with what is on it; stopped, it costs nothing but the disk, and a second time it runs, it is billed anew."""
    vm = f"{ZONE}/instances/vm"
    compute.make(f"{ZONE}/instances", gpus("n1-standard-8", ("nvidia-tesla-t4", 1), scheduling=SPOT))
    compute.cloud.clock.advance(3600)
    compute.cloud.faults.add(Fault(do="preempt", path="instances/vm", times=1))
    compute.get(vm)
    compute.cloud.clock.advance(60)
    assert compute.get(vm)["status"] == "TERMINATED"
    disk = compute.get(f"{ZONE}/disks/vm")

    compute.cloud.clock.advance(3600)
    assert "error" not in compute.do("POST", f"{vm}/start")
    found = compute.get(vm)
    assert (found["status"], found["guestAccelerators"][0]["acceleratorCount"]) == ("RUNNING", 1)
    assert compute.get(f"{ZONE}/disks/vm")["id"] == disk["id"]
    first, second = compute.cloud.machines.shown()
    assert (first["state"], second["state"]) == ("TERMINATED", "RUNNING")
    assert 3600 <= first["billed_seconds"] < 3800
    assert Decimal(first["usd_hour"]) == Decimal("0.08608") + Decimal("0.1664")


def test_a_machine_with_built_in_gpus_costs_its_price_once(compute: Any) -> None:
    """The GPUs that it tells are in it."""
    compute.make(f"{ZONE}/instances", gpus("g2-standard-8", scheduling=SPOT))
    (row,) = compute.cloud.machines.shown()
    assert (row["gpus"], row["usd_hour"]) == ({"nvidia-l4": 1}, "0.467204")


def test_the_quota_that_is_used_up_is_that_of_the_gpu(compute: Any) -> None:
    compute.cloud.faults.add(Fault(do="quota", path="instances/vm"))
    operation = compute.do("POST", f"{ZONE}/instances", gpus("n1-standard-8", ("nvidia-tesla-t4", 1), scheduling=SPOT))
    (error,) = operation["error"]["errors"]
    assert error["message"].startswith("Quota 'PREEMPTIBLE_NVIDIA_T4_GPUS' exceeded.")
