"""Cloud TPU: nodes, queued resources and their states, and what each zone has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.faults import Fault

HOST = "tpu.googleapis.com"
ZONE = "v2/projects/{project}/locations/us-east5-a"
NODES = f"{ZONE}/nodes"
NODE = {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e"}
QUEUED = f"{ZONE}/queuedResources"
PARENT = "projects/shop-prod/locations/us-east5-a"

Ask = Callable[..., Answer]
Done = Callable[[str, str, Answer], Answer]


def wish(**more: Any) -> dict[str, Any]:
    """A queued resource of one node."""
    return {"tpu": {"nodeSpec": [{"parent": PARENT, "nodeId": "n", "node": NODE}]}, **more}


@pytest.fixture
def queue(ask: Ask, done: Done) -> Callable[..., Any]:
    """Queues a wish, until it is accepted."""

    def queue(body: dict[str, Any]) -> Any:
        return done(HOST, "v2", ask("POST", HOST, QUEUED, body, queuedResourceId="q")).body

    return queue


def state(answer: Answer) -> str:
    return str(answer.body["state"]["state"])


@pytest.fixture
def node(ask: Ask, done: Done) -> Any:
    """A node that stands."""
    return done(HOST, "v2", ask("POST", HOST, NODES, NODE, nodeId="n")).body["response"]


@pytest.mark.parametrize(
    ("zone", "asked", "config"),
    [
        ("us-east5-a", {"acceleratorType": "v6e-4"}, {"type": "V6E", "topology": "2x2"}),
        ("us-central1-a", {"acceleratorType": "v5litepod-4"}, {"type": "V5LITE_POD", "topology": "2x2"}),
        ("us-central1-a", {"acceleratorConfig": {"type": "V5LITE_POD", "topology": "2x4"}}, {"type": "V5LITE_POD", "topology": "2x4"}),
    ],
)
def test_type_and_topology_follow_from_each_other(ask: Ask, done: Done, zone: str, asked: dict[str, Any], config: dict[str, str]) -> None:
    path = f"v2/projects/{{project}}/locations/{zone}/nodes"
    done(HOST, "v2", ask("POST", HOST, path, {**asked, "runtimeVersion": "x"}, nodeId="n"))
    got = ask("GET", HOST, f"{path}/n").body
    assert (got["acceleratorConfig"], got["acceleratorType"].startswith("v")) == (config, True)


@pytest.mark.parametrize("accelerator_type", ["v4-8", "v9-1"])
def test_fails_where_the_zone_has_none(ask: Ask, accelerator_type: str) -> None:
    answer = ask("POST", HOST, NODES, NODE | {"acceleratorType": accelerator_type}, nodeId="n")
    assert (answer.status, accelerator_type in answer.body["error"]["message"]) == (400, True)


def test_only_the_named_fields_of_a_node_change(ask: Ask, done: Done, node: Any) -> None:
    body = {"labels": {"a": "b"}, "description": "d"}
    done(HOST, "v2", ask("PATCH", HOST, f"{NODES}/n", body, updateMask="labels"))
    got = ask("GET", HOST, f"{NODES}/n").body
    assert (got["labels"], "description" in got) == ({"a": "b"}, False)


@pytest.mark.parametrize("mask", ["runtimeVersion", "labels,accelerator_type", ""])
def test_fails_to_change_more_of_a_node(ask: Ask, node: Any, mask: str) -> None:
    answer = ask("PATCH", HOST, f"{NODES}/n", {"runtimeVersion": "y"}, updateMask=mask)
    said = "supported fields: [description, tags, labels, metadata, network_config.enable_external_ips]"
    assert (answer.status, said in answer.body["error"]["message"]) == (400, True)


def test_a_node_stops_and_starts_and_a_change_leaves_it_stopped(ask: Ask, done: Done, node: Any) -> None:
    stopping = ask("POST", HOST, f"{NODES}/n:stop", {})
    assert ask("GET", HOST, f"{NODES}/n").body["state"] == "STOPPING"
    assert done(HOST, "v2", stopping).body["response"]["state"] == "STOPPED"
    assert done(HOST, "v2", ask("PATCH", HOST, f"{NODES}/n", {"tags": ["t"]}, updateMask="tags")).body["response"]["state"] == "STOPPED"
    again = ask("POST", HOST, f"{NODES}/n:stop", {})
    assert (again.status, again.body["error"]["status"]) == (400, "FAILED_PRECONDITION")
    assert done(HOST, "v2", ask("POST", HOST, f"{NODES}/n:start", {})).body["response"]["state"] == "READY"


def test_a_slice_of_several_machines_does_not_stop(ask: Ask, done: Done) -> None:
    done(HOST, "v2", ask("POST", HOST, NODES, NODE | {"acceleratorType": "v6e-16"}, nodeId="n"))
    assert ask("POST", HOST, f"{NODES}/n:stop", {}).status == 400


def test_a_queued_resource_makes_its_node(ask: Ask, queue: Callable[..., Any]) -> None:
    operation = queue(wish())
    assert operation["response"]["@type"] == "type.googleapis.com/google.cloud.tpu.v2.QueuedResource"
    assert operation["metadata"]["target"] == f"{PARENT}/queuedResources/q"
    assert [state(ask("GET", HOST, f"{QUEUED}/q")) for _ in range(3)] == ["ACCEPTED", "PROVISIONING", "ACTIVE"]
    made = ask("GET", HOST, f"{NODES}/n").body
    assert (made["state"], made["queuedResource"], made["acceleratorType"]) == ("READY", f"{PARENT}/queuedResources/q", "v6e-1")
    assert ask("GET", HOST, f"{QUEUED}/q").body["tpu"] == wish()["tpu"]


def test_it_is_told_among_what_stands(cloud: Cloud, queue: Callable[..., Any]) -> None:
    """Its state is a message, where that of others is a word."""
    queue(wish())
    assert f"{PARENT}/queuedResources/q" in [one["name"] for one in cloud.resources()]


def test_with_a_manual_clock_it_moves_with_time_alone() -> None:
    cloud = Cloud(clock=Clock(manual=True))
    cloud.projects.make("shop-prod")
    place = QUEUED.format(project="shop-prod")
    body = b'{"tpu": {"nodeSpec": [{"parent": "p", "nodeId": "n", "node": {"acceleratorType": "v6e-1", "runtimeVersion": "x"}}]}}'
    cloud.handle(Request("POST", HOST, place, {"queuedResourceId": "q"}, body))
    seen = []
    for seconds in (0, 59, 2, 300):
        cloud.clock.advance(seconds)
        seen.append(state(cloud.handle(Request("GET", HOST, f"{place}/q"))))
    assert seen == ["CREATING", "ACCEPTED", "PROVISIONING", "ACTIVE"]


def test_a_node_of_it_is_being_created_until_it_is_active(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    queue(wish(spot={}))
    cloud.clock.advance(60)
    made = ask("GET", HOST, f"{NODES}/n").body
    assert (made["state"], made["schedulingConfig"]) == ("CREATING", {"spot": True})
    cloud.clock.advance(300)
    assert ask("GET", HOST, f"{NODES}/n").body["state"] == "READY"


def test_it_waits_while_a_zone_is_out_of_capacity(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    queue(wish())
    cloud.faults.add(Fault(do="fail", path="nodes/n", times=2, message="no more capacity"))
    seen = [state(ask("GET", HOST, f"{QUEUED}/q")) for _ in range(5)]
    assert seen == ["ACCEPTED", "WAITING_FOR_RESOURCES", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"]


def test_it_fails_when_it_is_no_longer_valid(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    queue(wish(queueingPolicy={"validUntilDuration": "90s"}))
    cloud.faults.add(Fault(do="fail", path="nodes/n"))
    cloud.clock.advance(600)
    body = ask("GET", HOST, f"{QUEUED}/q").body
    assert (body["state"]["state"], body["state"]["failedData"]["error"]["code"]) == ("FAILED", 4)
    assert ask("GET", HOST, f"{NODES}/n").status == 404


def test_a_late_problem_fails_it(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    """Any error of its nodes but a lack of room."""
    queue(wish())
    cloud.faults.add(Fault(do="fail", path="nodes/n", status="PERMISSION_DENIED", message="no such account"))
    cloud.clock.advance(60)
    assert ask("GET", HOST, f"{QUEUED}/q").body["state"] == {
        "state": "FAILED",
        "stateInitiator": "SERVICE",
        "failedData": {"error": {"code": 7, "message": "no such account"}},
    }


def test_who_asks_finds_each_state(ask: Ask) -> None:
    """A poll moves the clock to the next state, be it the end of an operation."""
    ask("POST", HOST, QUEUED, wish(), queuedResourceId="q")
    seen = [state(ask("GET", HOST, f"{QUEUED}/q")) for _ in range(4)]
    assert seen == ["CREATING", "ACCEPTED", "PROVISIONING", "ACTIVE"]
    ask("DELETE", HOST, f"{QUEUED}/q", force="true")
    assert state(ask("GET", HOST, f"{QUEUED}/q")) == "DELETING"
    assert ask("GET", HOST, f"{QUEUED}/q").status == 404


def test_a_preempted_node_suspends_it_and_stays(cloud: Cloud, ask: Ask, done: Done, queue: Callable[..., Any]) -> None:
    """Until it is deleted, or the queued resource by force."""
    queue(wish(spot={}))
    cloud.clock.advance(600)
    ask("GET", HOST, f"{QUEUED}/q")
    cloud.faults.add(Fault(do="preempt", path="nodes/n", times=1))
    assert [ask("GET", HOST, f"{QUEUED}/q").body["state"] for _ in range(3)] == [
        {"state": "ACTIVE", "stateInitiator": "SERVICE"},
        {"state": "SUSPENDING", "stateInitiator": "SERVICE"},
        {"state": "SUSPENDED", "stateInitiator": "SERVICE"},
    ]
    assert ask("GET", HOST, f"{NODES}/n").body["state"] == "PREEMPTED"
    done(HOST, "v2", ask("DELETE", HOST, f"{QUEUED}/q"))
    assert ask("GET", HOST, f"{NODES}/n").status == 200


def test_on_demand_nodes_are_not_preempted(cloud: Cloud, ask: Ask, node: Any) -> None:
    cloud.faults.add(Fault(do="preempt", path="nodes/n"))
    assert ask("GET", HOST, f"{NODES}/n").body["state"] == "READY"


def test_a_delete_that_fails_leaves_it_as_it_was(cloud: Cloud, ask: Ask, done: Done, queue: Callable[..., Any]) -> None:
    queue(wish())
    cloud.clock.advance(600)
    cloud.faults.add(Fault(do="fail", method="DELETE", path="queuedResources/q", status="INTERNAL", times=1))
    deleting = ask("DELETE", HOST, f"{QUEUED}/q", force="true")
    assert ask("GET", HOST, f"{NODES}/n").body["state"] == "DELETING"
    assert done(HOST, "v2", deleting).body["error"]["code"] == 13
    assert (state(ask("GET", HOST, f"{QUEUED}/q")), ask("GET", HOST, f"{NODES}/n").body["state"]) == ("ACTIVE", "READY")
    done(HOST, "v2", ask("DELETE", HOST, f"{QUEUED}/q", force="true"))
    assert ask("GET", HOST, f"{NODES}/n").status == 404


def test_it_does_not_begin_before_it_is_valid(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    queue(wish(queueingPolicy={"validInterval": {"startTime": "2026-11-30T13:00:00Z", "endTime": "2026-11-30T14:00:00Z"}}))
    cloud.clock.advance(3500)
    assert state(ask("GET", HOST, f"{QUEUED}/q")) == "ACCEPTED"
    cloud.clock.advance(100)
    assert state(ask("GET", HOST, f"{QUEUED}/q")) == "PROVISIONING"


def test_without_its_node_it_is_suspended_and_waits_anew_after_a_reset(
    cloud: Cloud, ask: Ask, done: Done, queue: Callable[..., Any]
) -> None:
    queue(wish())
    cloud.clock.advance(600)
    assert ask("POST", HOST, f"{QUEUED}/q:reset", {}).body["error"]["status"] == "FAILED_PRECONDITION"
    done(HOST, "v2", ask("DELETE", HOST, f"{NODES}/n"))
    assert ask("GET", HOST, f"{QUEUED}/q").body["state"] == {"state": "SUSPENDED", "stateInitiator": "USER"}
    done(HOST, "v2", ask("POST", HOST, f"{QUEUED}/q:reset", {}))
    assert [state(ask("GET", HOST, f"{QUEUED}/q")) for _ in range(3)] == ["ACCEPTED", "PROVISIONING", "ACTIVE"]


def test_with_nodes_it_is_deleted_by_force_alone(cloud: Cloud, ask: Ask, done: Done, queue: Callable[..., Any]) -> None:
    queue(wish())
    cloud.clock.advance(600)
    refused = ask("DELETE", HOST, f"{QUEUED}/q")
    assert (refused.status, refused.body["error"]["status"]) == (400, "FAILED_PRECONDITION")
    forced = ask("DELETE", HOST, f"{QUEUED}/q", force="true")
    assert state(ask("GET", HOST, f"{QUEUED}/q")) == "DELETING"
    done(HOST, "v2", forced)
    assert (ask("GET", HOST, QUEUED).body, ask("GET", HOST, NODES).body) == ({}, {})


def test_accepted_it_is_deleted_without_force(ask: Ask, done: Done, queue: Callable[..., Any]) -> None:
    queue(wish())
    done(HOST, "v2", ask("DELETE", HOST, f"{QUEUED}/q"))
    assert ask("GET", HOST, f"{QUEUED}/q").status == 404


def test_several_slices_are_numbered(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    queue({"tpu": {"nodeSpec": [{"parent": PARENT, "node": NODE, "multisliceParams": {"nodeCount": 2, "nodeIdPrefix": "s"}}]}})
    cloud.clock.advance(600)
    found = ask("GET", HOST, NODES).body["nodes"]
    assert [(item["name"].rpartition("/")[2], item["multisliceNode"]) for item in found] == [("s-0", True), ("s-1", True)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        (wish(spot={}, guaranteed={}), 400),
        (wish(queueingPolicy={"validUntilTime": "never"}), 400),
        (wish(queueingPolicy={"validUntilDuration": "1h"}), 400),
        ({"tpu": {"nodeSpec": [{"parent": PARENT, "node": NODE}]}}, 400),
        ({"tpu": {"nodeSpec": [{"parent": PARENT, "nodeId": "n"}]}}, 400),
        ({"tpu": {"nodeSpec": [{"parent": PARENT, "node": NODE, "multisliceParams": {"nodeCount": 1}}]}}, 400),
        ({"tpu": {"nodeSpec": [{"parent": PARENT, "nodeId": "m", "node": NODE | {"acceleratorType": "v4-8"}}]}}, 400),
        (wish(), 409),
    ],
)
def test_fails_to_queue(ask: Ask, node: Any, body: dict[str, Any], status: int) -> None:
    assert ask("POST", HOST, QUEUED, body, queuedResourceId="q").status == status


def test_a_zone_says_what_the_catalogue_knows(ask: Ask, cloud: Cloud) -> None:
    types = {item["type"]: item for item in ask("GET", HOST, f"{ZONE}/acceleratorTypes").body["acceleratorTypes"]}
    assert types["v6e-8"]["acceleratorConfigs"] == [{"type": "V6E", "topology": "2x4"}]
    assert not any(name.startswith(("v2-", "tpu7x")) for name in types)
    assert ask("GET", HOST, f"{ZONE}/acceleratorTypes/v6e-8").body == types["v6e-8"]
    assert ask("GET", HOST, f"{ZONE}/acceleratorTypes/v2-8").status == 404
    versions = [item["version"] for item in ask("GET", HOST, f"{ZONE}/runtimeVersions").body["runtimeVersions"]]
    assert "v2-alpha-tpuv6e" in versions
    assert "us-east5-a" in [item["locationId"] for item in ask("GET", HOST, "v2/projects/{project}/locations").body["locations"]]
    assert ask("GET", HOST, "v2/projects/{project}/locations/nowhere1-a").status == 404
    number = cloud.projects.number("shop-prod")
    identity = ask("POST", HOST, f"{ZONE}:generateServiceIdentity", {}).body["identity"]
    assert identity == {"email": f"service-{number}@cloud-tpu.iam.gserviceaccount.com"}


@pytest.mark.parametrize(
    ("zone", "body", "said"),
    [
        (
            "us-east5-a",
            NODE,
            'There is no more capacity in the zone "us-east5-a"; you can try in another zone where Cloud TPU Nodes are offered',
        ),
        (
            "us-east5-a",
            {"acceleratorType": "v5p-8", "runtimeVersion": "v2-alpha-tpuv5"},
            "Insufficient reserved capacity. Contact customer",
        ),
    ],
)
def test_a_zone_without_capacity_fails_the_create(cloud: Cloud, ask: Ask, done: Done, zone: str, body: dict[str, Any], said: str) -> None:
    """Status 8, in Google's words, and nothing is left: the same name is taken again."""
    cloud.faults.add(Fault(do="stockout", zone=zone, provisioning="on-demand", times=1))
    path = f"v2/projects/{{project}}/locations/{zone}/nodes"

    error = done(HOST, "v2", ask("POST", HOST, path, body, nodeId="n")).body["error"]

    assert error["code"] == 8
    assert error["message"].startswith(said)
    assert ask("GET", HOST, f"{path}/n").status == 404
    assert "response" in done(HOST, "v2", ask("POST", HOST, path, body, nodeId="n")).body


def test_a_project_without_quota_is_refused(cloud: Cloud, ask: Ask) -> None:
    cloud.faults.add(Fault(do="quota", provisioning="spot"))

    answer = ask("POST", HOST, NODES, NODE | {"schedulingConfig": {"spot": True}}, nodeId="n")

    assert (answer.status, answer.body["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    said = "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 in region us-east5."
    assert answer.body["error"]["message"] == said
    assert ask("GET", HOST, f"{NODES}/n").status == 404


def test_a_wish_waits_while_a_stockout_lasts_and_fails_without_quota(cloud: Cloud, ask: Ask, queue: Callable[..., Any]) -> None:
    cloud.faults.add(Fault(do="stockout", times=1))
    cloud.faults.add(Fault(do="quota"))
    queue(wish())
    states = []
    for _ in range(3):
        cloud.clock.advance(60)
        states.append(state(ask("GET", HOST, f"{QUEUED}/q")))

    assert "WAITING_FOR_RESOURCES" in states
    assert states[-1] == "FAILED"


def test_a_name_is_taken_until_its_node_is_gone(cloud: Cloud, ask: Ask, done: Done) -> None:
    """A preempted node keeps its name, and so does one that is being deleted."""
    spot = NODE | {"schedulingConfig": {"spot": True}}
    done(HOST, "v2", ask("POST", HOST, NODES, spot, nodeId="n"))
    cloud.faults.add(Fault(do="preempt", path="nodes/n", times=1))
    preempted = ask("GET", HOST, f"{NODES}/n").body["state"]
    taken = [ask("POST", HOST, NODES, spot, nodeId="n")]
    deleting = ask("DELETE", HOST, f"{NODES}/n")
    meanwhile = ask("GET", HOST, f"{NODES}/n").body["state"]
    taken.append(ask("POST", HOST, NODES, spot, nodeId="n"))
    done(HOST, "v2", deleting)

    assert (preempted, meanwhile) == ("PREEMPTED", "DELETING")
    assert [answer.status for answer in taken] == [409, 409]
    assert taken[1].body["error"]["message"] == "Resource 'projects/shop-prod/locations/us-east5-a/nodes/n' already exists"
    assert done(HOST, "v2", ask("POST", HOST, NODES, spot, nodeId="n")).body["response"]["state"] == "READY"
