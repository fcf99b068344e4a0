"""What a machine is made of, when there is none, and what takes it away."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.faults import Fault
from tests.sandbox.services.compute.conftest import machine

ZONE = "zones/us-east5-a"
VM = f"{ZONE}/instances/vm"
MANAGERS = f"{ZONE}/instanceGroupManagers"
SPOT = {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
FLEX = {"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": "600"}, "instanceTerminationAction": "DELETE"}


@pytest.fixture
def template(network: Any) -> Any:
    """With a template in the region, and one for the whole project."""
    properties = machine() | {
        "machineType": "ct6e-standard-4t",
        "labels": {"job": "nightly", "owner": "ml-team"},
        "metadata": {"items": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]},
        "scheduling": SPOT | {"maxRunDuration": {"seconds": "3600"}},
    }
    del properties["name"]
    for place in ("regions/us-east5", "global"):
        network.make(f"{place}/instanceTemplates", {"name": "tpl", "properties": properties})
    return network


def insert(compute: Any, body: dict[str, Any], place: str = "regions/us-east5") -> dict[str, Any]:
    operation: dict[str, Any] = compute.do(
        "POST", f"{ZONE}/instances", body, sourceInstanceTemplate=f"projects/shop-prod/{place}/instanceTemplates/tpl"
    )
    return operation


@pytest.mark.parametrize("place", ["regions/us-east5", "global"])
def test_machine_is_as_its_template_says(template: Any, place: str) -> None:
    operation = insert(template, {"name": "vm"}, place)

    found = template.get(VM)
    assert "error" not in operation
    assert found["machineType"].endswith("/us-east5-a/machineTypes/ct6e-standard-4t")
    assert (found["status"], found["labels"], found["scheduling"]["provisioningModel"]) == (
        "RUNNING",
        {"job": "nightly", "owner": "ml-team"},
        "SPOT",
    )
    assert [item["value"] for item in found["metadata"]["items"]] == ["1", "2"]
    assert template.get(f"{ZONE}/disks/vm")["sizeGb"] == "100"


def test_body_overrides_its_template_as_a_merge_patch(template: Any) -> None:
    """Labels are merged by key, null takes one away; a list is replaced whole."""
    body = {
        "name": "vm",
        "labels": {"run": "r1", "owner": None},
        "metadata": {"items": [{"key": "c", "value": "3"}]},
        "scheduling": {"maxRunDuration": {"seconds": "60"}},
    }
    insert(template, body)

    found = template.get(VM)
    assert found["labels"] == {"job": "nightly", "run": "r1"}
    assert found["metadata"]["items"] == [{"key": "c", "value": "3"}]
    assert (found["scheduling"]["maxRunDuration"], found["scheduling"]["provisioningModel"]) == ({"seconds": "60"}, "SPOT")


def test_template_that_is_not_there_or_of_another_region_is_refused(template: Any) -> None:
    template.make("regions/us-east1/instanceTemplates", {"name": "far", "properties": {"machineType": "e2-small"}})
    where = "projects/shop-prod/regions"

    gone = template.refused("POST", f"{ZONE}/instances", {"name": "vm"}, sourceInstanceTemplate=f"{where}/us-east5/instanceTemplates/gone")
    far = template.refused("POST", f"{ZONE}/instances", {"name": "vm"}, sourceInstanceTemplate=f"{where}/us-east1/instanceTemplates/far")

    assert gone == (404, f"The resource '{where}/us-east5/instanceTemplates/gone' was not found", "notFound")
    assert (far[0], far[2]) == (400, "invalid")


@pytest.mark.parametrize(
    ("scheduling", "code", "said"),
    [
        (SPOT, "ZONE_RESOURCE_POOL_EXHAUSTED", "Try a different zone, or try again later."),
        ({}, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "'(resource type:compute)'."),
    ],
)
def test_stockout_is_an_error_of_the_operation(network: Any, scheduling: dict[str, Any], code: str, said: str) -> None:
    network.cloud.faults.add(Fault(do="stockout", zone="us-east5-a", times=1))

    operation = network.do("POST", f"{ZONE}/instances", machine(scheduling=scheduling))

    (error,) = operation["error"]["errors"]
    assert (operation["httpErrorStatusCode"], operation["httpErrorMessage"], error["code"]) == (503, "SERVICE UNAVAILABLE", code)
    where = "The zone 'projects/shop-prod/zones/us-east5-a' does not have enough resources available to fulfill the request.  "
    assert error["message"] == where + said
    assert error["errorDetails"][2]["errorInfo"]["metadatas"]["vmType"] == "ct6e-standard-4t"
    assert [network.ask("GET", f"{ZONE}/{kind}/vm").status for kind in ("instances", "disks")] == [404, 404]
    assert network.make(f"{ZONE}/instances", machine())["status"] == "RUNNING"


def test_stockout_is_of_a_zone_and_of_a_way_to_buy(network: Any) -> None:
    network.cloud.faults.add(Fault(do="stockout", zone="us-east5-b"))
    network.cloud.faults.add(Fault(do="stockout", provisioning="spot"))

    network.make(f"{ZONE}/instances", machine())
    operation = network.do("POST", f"{ZONE}/instances", machine(name="cheap", scheduling=SPOT))

    assert operation["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"


def test_quota_is_an_error_of_the_operation_too(network: Any) -> None:
    network.cloud.faults.add(Fault(do="quota"))

    operation = network.do("POST", f"{ZONE}/instances", machine(scheduling=SPOT))

    assert (operation["httpErrorStatusCode"], operation["error"]["errors"][0]["code"]) == (403, "QUOTA_EXCEEDED")
    assert operation["error"]["errors"][0]["message"] == "Quota 'PREEMPTIBLE_TPU_V6E' exceeded.  Limit: 0.0 in region us-east5."


def waiting(seconds: int, **more: Any) -> dict[str, Any]:
    return machine(scheduling=FLEX, params={"requestValidForDuration": {"seconds": str(seconds)}}, **more)


def test_flex_start_machine_waits_for_capacity(network: Any) -> None:
    """PENDING, then as any other; its run begins when it runs."""
    network.cloud.faults.add(Fault(do="stockout", times=3))
    network.ask("POST", f"{ZONE}/instances", waiting(3600))

    states = []
    for seconds in (60, 60, 60, 20, 599):
        states.append(network.get(VM)["status"])
        network.cloud.clock.advance(seconds)

    assert states == ["PENDING", "PENDING", "PENDING", "PROVISIONING", "RUNNING"]
    assert network.get(VM)["status"] == "RUNNING"
    network.cloud.clock.advance(1)
    assert network.ask("GET", VM).status == 404


def test_flex_start_machine_that_waits_in_vain_is_an_error(network: Any) -> None:
    """It does not wait longer than it said, and leaves nothing."""
    network.cloud.faults.add(Fault(do="stockout"))
    begun = network.cloud.clock.now()

    operation = network.do("POST", f"{ZONE}/instances", waiting(150))

    assert network.cloud.clock.now() - begun == pytest.approx(150)
    assert operation["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
    assert [network.ask("GET", f"{ZONE}/{kind}/vm").status for kind in ("instances", "disks")] == [404, 404]


@pytest.mark.parametrize(
    ("body", "said"), [(waiting(30), "90"), (waiting(7201), "7200"), (waiting(600) | {"scheduling": {}}, "FLEX_START")]
)
def test_wait_that_no_machine_may_wait_is_refused(network: Any, body: dict[str, Any], said: str) -> None:
    status, message, _ = network.refused("POST", f"{ZONE}/instances", body)

    assert status == 400
    assert message.startswith("Invalid value for field 'resource.params.requestValidForDuration'")
    assert said in message


def test_run_limit_ends_a_machine_whatever_is_asked(network: Any, ask: Any) -> None:
    """Also when nobody asks Compute Engine."""
    limit = {"maxRunDuration": {"seconds": "600"}, "instanceTerminationAction": "DELETE"}
    network.make(f"{ZONE}/instances", machine(scheduling=limit))
    network.cloud.clock.advance(601)

    ask("GET", "storage.googleapis.com", "storage/v1/b", project="shop-prod")

    assert network.cloud.store.get("compute.googleapis.com", f"projects/shop-prod/{VM}") is None


@pytest.mark.parametrize(("action", "after"), [("DELETE", 404), ("STOP", "TERMINATED")])
def test_preempted_machine_stops_and_is_gone(network: Any, action: str, after: Any) -> None:
    """STOPPING for the time of the notice; the zone's operations tell what happened."""
    network.make(f"{ZONE}/instances", machine(scheduling=SPOT | {"instanceTerminationAction": action}))
    network.make(f"{ZONE}/instances", machine(name="other"))
    network.cloud.faults.add(Fault(do="preempt", path="instances/"))

    stopping = network.get(VM)["status"]
    network.cloud.clock.advance(30)

    answer = network.ask("GET", VM)
    assert (stopping, answer.body["status"] if answer.status == 200 else answer.status) == ("STOPPING", after)
    assert network.get(f"{ZONE}/instances/other")["status"] == "RUNNING"
    assert network.ask("GET", f"{ZONE}/disks/vm").status == (404 if action == "DELETE" else 200)
    (event,) = network.get(f"{ZONE}/operations", filter='operationType="compute.instances.preempted"')["items"]
    assert event["name"].startswith("systemevent-")
    assert (event["status"], event["user"], event["statusMessage"]) == ("DONE", "system@google.com", "Instance was preempted.")
    assert event["targetLink"].endswith("/instances/vm")


def test_stopped_machine_needs_capacity_to_start(network: Any) -> None:
    network.make(f"{ZONE}/instances", machine())
    network.do("POST", f"{VM}/stop")
    network.cloud.faults.add(Fault(do="stockout", times=1))

    operation = network.do("POST", f"{VM}/start")

    assert operation["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
    assert network.get(VM)["status"] == "TERMINATED"
    network.do("POST", f"{VM}/start")
    assert network.get(VM)["status"] == "RUNNING"


@pytest.fixture
def group(template: Any) -> Any:
    policy = {"name": "wp", "workloadPolicy": {"acceleratorTopology": "4x4", "type": "HIGH_THROUGHPUT"}}
    template.make("regions/us-east5/resourcePolicies", policy)
    return template


def manager(**more: Any) -> dict[str, Any]:
    body = {"name": "mig", "targetSize": 4, "versions": [{"instanceTemplate": "projects/shop-prod/regions/us-east5/instanceTemplates/tpl"}]}
    bulk = {"targetSizePolicy": {"mode": "BULK"}, "resourcePolicies": {"workloadPolicy": "regions/us-east5/resourcePolicies/wp"}}
    return body | {"baseInstanceName": "tpu"} | bulk | more


def test_bulk_group_has_all_its_machines_or_none(group: Any) -> None:
    """It waits until all can be made at once, and says why."""
    group.cloud.faults.add(Fault(do="stockout", zone="us-east5-a", times=2))
    found = group.make(MANAGERS, manager())

    assert (found["currentActions"]["creating"], found["status"]["isStable"]) == (4, False)
    assert "items" not in group.get(f"{ZONE}/instances")
    (error,) = group.get(f"{MANAGERS}/mig/listErrors")["items"]
    assert (error["error"]["code"], error["instanceActionDetails"]["action"]) == ("ZONE_RESOURCE_POOL_EXHAUSTED", "CREATING")
    group.cloud.clock.advance(120)
    group.get(f"{MANAGERS}/mig")
    group.cloud.clock.advance(20)
    assert group.get(f"{MANAGERS}/mig")["status"]["isStable"]
    assert len(group.get(f"{ZONE}/instances")["items"]) == 4
    assert group.get(f"{MANAGERS}/mig/listErrors") == {}


@pytest.mark.parametrize(("mode", "left"), [("BULK", 3), ("INDIVIDUAL", 4)])
def test_lost_machine_of_a_group_is_replaced_one_by_one_only(group: Any, mode: str, left: int) -> None:
    """A group in BULK mode adds machines to none only."""
    more = {} if mode == "BULK" else {"resourcePolicies": {}}
    group.make(MANAGERS, manager(targetSizePolicy={"mode": mode}, **more))
    names = [item["name"] for item in group.get(f"{ZONE}/instances")["items"]]
    group.cloud.faults.add(Fault(do="preempt", path=f"instances/{names[1]}", times=1))

    states = [item["status"] for item in group.get(f"{ZONE}/instances")["items"]]
    group.cloud.clock.advance(31)
    group.get(f"{MANAGERS}/mig")
    group.cloud.clock.advance(20)

    found = group.get(f"{ZONE}/instances")["items"]
    assert sorted(states) == ["RUNNING"] * 3 + ["STOPPING"]
    assert (len(found), names[1] in [item["name"] for item in found]) == (left, False)
    assert group.get(f"{MANAGERS}/mig")["status"]["isStable"] is (mode == "INDIVIDUAL")


def test_group_of_machines_one_by_one_has_those_that_there_is_capacity_for(group: Any) -> None:
    group.cloud.faults.add(Fault(do="stockout", at=3))

    group.make(MANAGERS, manager(targetSizePolicy={"mode": "INDIVIDUAL"}, resourcePolicies={}))

    assert len(group.get(f"{ZONE}/instances")["items"]) == 2
    group.cloud.clock.advance(60)
    assert len(group.get(f"{ZONE}/instances")["items"]) == 4
