"""Templates, managed groups, resize requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.services.compute.conftest import machine

ZONE = "zones/us-east5-a"
LINK = "https://www.googleapis.com/compute/v1/projects/shop-prod/"
MANAGERS = f"{ZONE}/instanceGroupManagers"


@pytest.fixture
def template(network: Any) -> Any:
    """With an instance template of a TPU machine, and a workload policy."""
    properties = machine() | {"machineType": "ct6e-standard-4t"}
    del properties["name"]
    network.make("global/instanceTemplates", {"name": "tpl", "properties": properties})
    policy = {"name": "wp", "workloadPolicy": {"acceleratorTopology": "4x4", "type": "HIGH_THROUGHPUT"}}
    network.make("regions/us-east5/resourcePolicies", policy)
    return network


def manager(size: int, **more: Any) -> dict[str, Any]:
    policy = "regions/us-east5/resourcePolicies/wp"
    body = {"name": "mig", "targetSize": size, "versions": [{"instanceTemplate": "global/instanceTemplates/tpl"}]}
    bulk = {"targetSizePolicy": {"mode": "BULK"}}
    return body | {"baseInstanceName": "tpu", "resourcePolicies": {"workloadPolicy": policy}} | bulk | more


@pytest.fixture
def plain(network: Any) -> Any:
    """With a manager of no machine yet, whose machines have no TPU."""
    properties = machine() | {"machineType": "a3-highgpu-8g", "scheduling": {"onHostMaintenance": "TERMINATE"}}
    del properties["name"]
    network.make("global/instanceTemplates", {"name": "tpl", "properties": properties})
    network.make(MANAGERS, {"name": "mig", "targetSize": 0, "versions": [{"instanceTemplate": "global/instanceTemplates/tpl"}]})
    return network


def test_template_is_filled_in(template: Any) -> None:
    """Source: recorded traffic. The machine type stays as it was sent."""
    found = template.get("global/instanceTemplates/tpl")["properties"]

    assert found["machineType"] == "ct6e-standard-4t"
    assert (found["disks"][0]["deviceName"], found["disks"][0]["index"]) == ("boot", 0)
    assert found["networkInterfaces"][0]["name"] == "nic0"
    assert found["metadata"]["kind"] == "compute#metadata"
    assert template.refused("PATCH", "global/instanceTemplates/tpl", {})[0] == 404


def test_template_operations_have_long_names(template: Any) -> None:
    """Source: recorded traffic."""
    assert template.do("DELETE", "global/instanceTemplates/tpl")["operationType"] == "delete"
    properties = {"machineType": "e2-small"}
    operation = template.do("POST", "global/instanceTemplates", {"name": "tpl", "properties": properties})
    assert operation["operationType"] == "compute.instanceTemplates.insert"


def test_manager_makes_its_machines(template: Any) -> None:
    found = template.make(MANAGERS, manager(4))

    machines = template.get(f"{ZONE}/instances")["items"]
    assert [item["status"] for item in machines] == ["RUNNING"] * 4
    assert all(item["name"].startswith("tpu-") for item in machines)
    assert len({item["networkInterfaces"][0]["networkIP"] for item in machines}) == 4
    assert (found["targetSize"], found["status"]["isStable"], found["currentActions"]["none"]) == (4, True, 4)
    assert found["instanceGroup"] == LINK + f"{ZONE}/instanceGroups/mig"
    assert found["resourcePolicies"]["workloadPolicy"] == LINK + "regions/us-east5/resourcePolicies/wp"
    assert template.get(f"{ZONE}/instanceGroups/mig")["size"] == 4
    managed = template.ask("POST", f"{MANAGERS}/mig/listManagedInstances").body["managedInstances"]
    assert [item["currentAction"] for item in managed] == ["NONE"] * 4


def test_manager_is_not_stable_before_its_machines_run(template: Any) -> None:
    template.ask("POST", MANAGERS, manager(2))

    found = template.get(f"{MANAGERS}/mig")

    assert (found["status"]["isStable"], found["currentActions"]["creating"]) == (False, 2)


def test_manager_is_resized_to_nothing_and_deleted(template: Any) -> None:
    template.make(MANAGERS, manager(2))

    template.do("POST", f"{MANAGERS}/mig/resize", size="0")
    assert template.get(f"{MANAGERS}/mig")["targetSize"] == 0
    assert "items" not in template.get(f"{ZONE}/instances")
    template.do("DELETE", f"{MANAGERS}/mig")
    assert [template.ask("GET", f"{ZONE}/{path}/mig").status for path in ("instanceGroupManagers", "instanceGroups")] == [404, 404]
    assert "items" not in template.get(f"{ZONE}/disks")


def test_members_are_deleted_and_recreated(template: Any) -> None:
    template.make(MANAGERS, manager(2))
    first, second = [item["selfLink"] for item in template.get(f"{ZONE}/instances")["items"]]

    template.do("POST", f"{MANAGERS}/mig/recreateInstances", {"instances": [first]})
    links = [item["selfLink"] for item in template.get(f"{ZONE}/instances")["items"]]
    assert second in links
    assert first not in links
    template.do("POST", f"{MANAGERS}/mig/deleteInstances", {"instances": [second]})
    assert template.get(f"{MANAGERS}/mig")["targetSize"] == 1


def test_manager_of_no_template_is_refused(template: Any) -> None:
    body = manager(1, versions=[{"instanceTemplate": "global/instanceTemplates/gone"}])
    said = "The resource 'projects/shop-prod/global/instanceTemplates/gone' was not found"

    assert template.refused("POST", MANAGERS, body) == (404, said, "notFound")


def test_template_and_policy_in_use_stay(template: Any) -> None:
    template.make(MANAGERS, manager(0))

    for path in ("global/instanceTemplates/tpl", "regions/us-east5/resourcePolicies/wp"):
        assert template.refused("DELETE", path)[::2] == (400, "resourceInUseByAnotherResource")


@pytest.mark.parametrize("mode", [{}, {"targetSizePolicy": {"mode": "INDIVIDUAL"}}])
def test_a_topology_wants_all_machines_at_once(template: Any, mode: dict[str, Any]) -> None:
    """Source: the refusal as a user met it in July 2026 (public file 69680341417)."""
    body = {key: value for key, value in manager(4).items() if key != "targetSizePolicy"} | mode
    said = "MIGs with TPU accelerator topology require BULK mode in target size policy."

    assert template.refused("POST", MANAGERS, body) == (400, said, "badRequest")
    assert template.ask("GET", f"{MANAGERS}/mig").status == 404
    assert "items" not in template.get(f"{ZONE}/instances")


def test_a_slice_is_added_to_nothing_only(template: Any) -> None:
    """Source: https://docs.cloud.google.com/compute/docs/instance-groups/about-bulk-mode, read 2026-11."""
    template.make(MANAGERS, manager(2))

    assert template.refused("POST", f"{MANAGERS}/mig/resize", size="4")[0] == 400
    assert template.refused("PATCH", f"{MANAGERS}/mig", {"targetSizePolicy": {"mode": "INDIVIDUAL"}})[0] == 400
    for size in ("0", "4"):
        template.do("POST", f"{MANAGERS}/mig/resize", size=size)
    assert len(template.get(f"{ZONE}/instances")["items"]) == 4


def test_flex_start_machines_made_at_once_are_not_repaired(network: Any, template: Any) -> None:
    """Source: https://docs.cloud.google.com/compute/docs/instance-groups/about-bulk-mode, read 2026-11."""
    properties = machine() | {"machineType": "ct6e-standard-4t", "scheduling": {"provisioningModel": "FLEX_START"}}
    del properties["name"]
    network.make("global/instanceTemplates", {"name": "flex", "properties": properties})
    flex = manager(4, versions=[{"instanceTemplate": "global/instanceTemplates/flex"}])

    assert template.refused("POST", MANAGERS, flex)[0] == 400
    template.make(MANAGERS, flex | {"instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"}})


def test_a_group_of_tpus_takes_no_resize_request(template: Any) -> None:
    """Source: the refusal as a user met it in July 2026 (public file 69680341417)."""
    template.make(MANAGERS, manager(0))
    said = "Creating resize requests for managed instance group with TPU is not allowed."

    assert template.refused("POST", f"{MANAGERS}/mig/resizeRequests", {"name": "rr", "resizeBy": 4}) == (400, said, "badRequest")


def test_resize_request_gets_its_machines_later(plain: Any) -> None:
    """Flex-start: it is accepted, and after a while the group has its machines."""
    requests = f"{MANAGERS}/mig/resizeRequests"

    made = plain.make(requests, {"name": "rr", "resizeBy": 2, "requestedRunDuration": {"seconds": "10800"}})

    assert made["state"] == "ACCEPTED"
    assert plain.get(f"{MANAGERS}/mig")["targetSize"] == 0
    plain.cloud.clock.advance(100)
    assert plain.get(f"{requests}/rr")["state"] == "SUCCEEDED"
    assert plain.get(f"{MANAGERS}/mig")["targetSize"] == 2
    plain.do("DELETE", f"{requests}/rr")


def test_resize_request_is_cancelled(plain: Any) -> None:
    requests = f"{MANAGERS}/mig/resizeRequests"
    plain.make(requests, {"name": "rr", "resizeBy": 2})

    plain.do("POST", f"{requests}/rr/cancel")
    plain.cloud.clock.advance(1000)

    assert plain.get(f"{requests}/rr")["state"] == "CANCELLED"
    assert plain.get(f"{MANAGERS}/mig")["targetSize"] == 0
    assert plain.refused("POST", requests, {"name": "none"})[0] == 400


def test_group_holds_machines_that_somebody_made(network: Any) -> None:
    link = network.make(f"{ZONE}/instances", machine())["selfLink"]
    where = f"{ZONE}/instanceGroups/group"
    network.make(f"{ZONE}/instanceGroups", {"name": "group"})

    network.do("POST", f"{where}/addInstances", {"instances": [{"instance": link}]})
    network.do("POST", f"{where}/setNamedPorts", {"namedPorts": [{"name": "http", "port": 8080}]})

    listed = network.ask("POST", f"{where}/listInstances", {}).body
    assert listed["items"] == [{"instance": link, "status": "RUNNING", "namedPorts": [{"name": "http", "port": 8080}]}]
    assert network.refused("POST", f"{where}/addInstances", {"instances": [{"instance": link}]})[::2] == (400, "memberAlreadyExists")
    network.do("POST", f"{where}/removeInstances", {"instances": [{"instance": link}]})
    assert network.get(where)["size"] == 0
