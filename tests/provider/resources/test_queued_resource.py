"""Queued resources over the sandbox: asked for, waited for, dead and asked for again, adopted, refused, gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driver import PROJECT, AbortedError, Driver, Sandbox

from infra.provider import queued_spec
from infra.provider.resources.queued_resource import QueuedResource
from infra.provider.values import UNKNOWN, Decoded
from infra.sandbox.cloud import Answer, Request
from infra.sandbox.faults import Fault

TOKEN = "accelform:tpu:QueuedResource"
HOST = "tpu.googleapis.com"
PLACE = f"projects/{PROJECT}/locations/us-east5-a"
NAME = f"{PLACE}/queuedResources/eval"
NODE = {
    "acceleratorType": "v6e-8",
    "runtimeVersion": "v2-alpha-tpuv6e",
    "networkConfig": {"subnetwork": f"projects/{PROJECT}/regions/us-east5/subnetworks/try", "enableExternalIps": False},
    "serviceAccount": {"email": "tpu-eval@shop-prod.iam.gserviceaccount.com"},
    "labels": {"owner": "ml-team"},
    "metadata": {"startup-script": "true"},
    "tags": ["tpu"],
    "shieldedInstanceConfig": {"enableSecureBoot": True},
}
TRAFFIC = Path(__file__).parents[4] / "shared" / "provider-traffic" / "tpu-queued-resource.json"


class Clock:
    """Time passes by waiting alone."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.cancels_after: float | None = None

    def pause(self, seconds: float) -> bool:
        self.passed += seconds
        return self.cancels_after is not None and self.passed >= self.cancels_after

    def date(self) -> float:
        return queued_spec.moment("2026-11-30T12:00:00Z")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(sandbox: Sandbox, clock: Clock) -> Driver:
    return Driver(sandbox.http(), clock.pause, now=lambda: clock.passed, time=clock.date)


@pytest.fixture
def inputs(provider: Driver) -> dict[str, Any]:
    """One Spot node, as Check leaves it."""
    return provider.checked(
        TOKEN, {"project": PROJECT, "zone": "us-east5-a", "queuedResourceId": "eval", "tier": "spot", "nodes": {"eval": NODE}}
    )


def ask(sandbox: Sandbox, method: str, path: str, body: Any = None, **query: str) -> Answer:
    content = b"" if body is None else json.dumps(body).encode()
    return sandbox.cloud.handle(Request(method, HOST, f"/v2/{path}", query, content))


def queued(sandbox: Sandbox) -> dict[str, Any]:
    found: dict[str, Any] = ask(sandbox, "GET", NAME).body
    return found


def stands(sandbox: Sandbox) -> list[str]:
    """Everything of Cloud TPU, by its last two words."""
    return sorted("/".join(name.split("/")[-2:]) for _, name, _ in sandbox.cloud.store.every(HOST, "projects/"))


def calls(sandbox: Sandbox, method: str) -> list[str]:
    """What was called by a method, by the last two words of its path."""
    return ["/".join(one["path"].split("/")[-2:]) for one in sandbox.cloud.calls if one["method"] == method]


def fault(sandbox: Sandbox, **said: Any) -> None:
    sandbox.cloud.faults.add(Fault(**said))


# It comes, stays and goes


def test_it_comes_stays_and_goes(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """What is read is what was written; the queue is told; an import finds it; it goes with its node, by force."""
    id, state = provider.create(TOKEN, inputs)
    assert (id, state["state"], state["name"], state["stateInitiator"]) == (NAME, "ACTIVE", NAME, "SERVICE")
    assert {name: state[name] for name in inputs} == inputs
    assert state["nodeStates"] == {
        "eval": {
            "name": f"{PLACE}/nodes/eval",
            "state": "READY",
            "health": "HEALTHY",
            "addresses": ["10.140.0.66"],
            "externalAddresses": [],
        }
    }
    assert [text for text, _ in provider.notes] == ["eval: CREATING", "eval: ACCEPTED", "eval: PROVISIONING", "eval: ACTIVE"]
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    assert provider.diff(TOKEN, inputs, inputs, state).changes == provider.diff(TOKEN, inputs, inputs, state).DIFF_NONE
    imported, _, found = provider.read(TOKEN, id)
    assert imported == id
    assert found == inputs
    provider.delete(TOKEN, id, state)
    provider.delete(TOKEN, id, state)
    assert stands(sandbox) == []
    assert [one["query"] for one in sandbox.cloud.calls if one["method"] == "DELETE"] == [{"force": "true", "alt": "json"}]
    assert provider.read(TOKEN, id, state, inputs)[0] == ""


def test_everything_that_was_said_is_sent(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T22, T34: no field is dropped, and the one scope is cloud-platform."""
    disk = {"sourceDisk": f"projects/{PROJECT}/zones/us-east5-a/disks/data", "mode": "READ_ONLY"}
    more = inputs | {"nodes": {"eval": NODE | {"dataDisks": [disk], "description": "d"}}, "validUntil": "7200s", "validAfter": "60s"}
    provider.create(TOKEN, more)
    (sent,) = [body for _, name, body in sandbox.cloud.store.every(HOST, NAME)]
    account = NODE["serviceAccount"] | {"scope": ["https://www.googleapis.com/auth/cloud-platform"]}  # type: ignore[operator]
    assert sent["spot"] == {}
    assert sent["queueingPolicy"] == {"validUntilDuration": "7200s", "validAfterDuration": "60s"}
    assert sent["tpu"]["nodeSpec"] == [
        {"parent": PLACE, "nodeId": "eval", "node": NODE | {"dataDisks": [disk], "description": "d", "serviceAccount": account}}
    ]


@pytest.mark.parametrize(
    ("tier", "more", "sent"),
    [
        ("standard", {}, {}),
        ("spot", {}, {"spot": {}}),
        ("guaranteed", {}, {"guaranteed": {}}),
        ("guaranteed", {"minDuration": "86400s"}, {"guaranteed": {"minDuration": "86400s"}}),
        (
            "reservation",
            {"reservationName": f"{PLACE}/reservations/nightly"},
            {"reservationName": f"{PLACE}/reservations/nightly"},
        ),
    ],
)
def test_a_tier_is_that_tier(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], tier: str, more: Any, sent: Any) -> None:
    """And is read as that one."""
    wanted = inputs | {"tier": tier} | more
    provider.create(TOKEN, wanted)
    found = queued(sandbox)
    assert {name: found[name] for name in ("spot", "guaranteed", "reservationName") if name in found} == sent
    _, state, read = provider.read(TOKEN, NAME)
    assert (state["tier"], read["tier"], {name: read[name] for name in more}) == (tier, tier, more)
    provider.delete(TOKEN, NAME, state)
    assert stands(sandbox) == []


def test_several_nodes_of_one_request(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    wanted = inputs | {"nodes": {"a": NODE, "b": NODE | {"acceleratorType": "v6e-1"}}}
    _, state = provider.create(TOKEN, wanted)
    assert {id: len(one["addresses"]) for id, one in state["nodeStates"].items()} == {"a": 1, "b": 1}
    provider.delete(TOKEN, NAME, state)
    assert stands(sandbox) == []


@pytest.mark.parametrize(
    ("prefix", "ids"),
    [
        ({}, ["eval-0", "eval-1", "eval-2"]),
        ({"nodeIdPrefix": "eval"}, ["eval-0", "eval-1", "eval-2"]),
        ({"nodeIdPrefix": "s"}, ["s-0", "s-1", "s-2"]),
    ],
)
def test_a_multislice_group(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], prefix: Any, ids: list[str]) -> None:
    wanted = {name: value for name, value in inputs.items() if name != "nodes"} | {
        "multislice": {"node": NODE | {"acceleratorType": "v6e-16"}, "nodeCount": 3} | prefix
    }
    _, state = provider.create(TOKEN, wanted)
    assert {id: len(one["addresses"]) for id, one in state["nodeStates"].items()} == dict.fromkeys(ids, 4)
    assert provider.read(TOKEN, NAME, state, wanted) == (NAME, state, wanted)
    imported = provider.read(TOKEN, NAME)[2]
    assert queued_spec.node_ids(imported) == ids
    provider.delete(TOKEN, NAME, state)
    assert stands(sandbox) == []


def test_false_is_as_good_as_not_said(provider: Driver, inputs: dict[str, Any]) -> None:
    """A service leaves false out of its answers: a read and a plan take no note of it."""
    wanted = inputs | {"nodes": {"eval": NODE | {"shieldedInstanceConfig": {"enableSecureBoot": False}, "tags": []}}}
    _, state = provider.create(TOKEN, wanted)
    assert provider.read(TOKEN, NAME, state, wanted) == (NAME, state, wanted)
    assert not provider.diff(TOKEN, provider.read(TOKEN, NAME)[2], wanted, state).detailedDiff


def test_topology_in_place_of_a_type(provider: Driver, inputs: dict[str, Any]) -> None:
    node = {name: value for name, value in NODE.items() if name != "acceleratorType"}
    wanted = inputs | {"nodes": {"eval": node | {"acceleratorConfig": {"type": "V6E", "topology": "2x4"}}}}
    _, state = provider.create(TOKEN, wanted)
    assert provider.read(TOKEN, NAME, state, wanted) == (NAME, state, wanted)


@pytest.mark.skipif(not TRAFFIC.exists(), reason="there is no ../shared here")
def test_the_body_is_that_of_the_official_provider() -> None:
    """But for the name, which is output only, and canIpForward, which nobody asked for."""
    recorded = json.loads(TRAFFIC.read_text())
    body = recorded["create"][0]["body"]
    body.pop("name")
    (spec,) = body["tpu"]["nodeSpec"]
    del spec["node"]["networkConfig"]["canIpForward"]
    node = recorded["inputs"]["tpu"]["nodeSpecs"][0]["node"]
    place = {"project": "shop-prod", "zone": "us-central1-a", "queuedResourceId": "queued"}
    assert queued_spec.body(place | {"tier": "standard", "nodes": {"queued-node": node}}) == body


def test_it_waits_only_for_the_queue_where_told(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="fail", path="nodes/")
    wanted = inputs | {"waitFor": "accepted"}
    _, state = provider.create(TOKEN, wanted)
    assert (state["state"], state["nodeStates"]) == ("ACCEPTED", {})
    assert not provider.diff(TOKEN, wanted, wanted, state).detailedDiff
    sandbox.cloud.faults.clear()
    sandbox.cloud.clock.advance(600)
    read = provider.read(TOKEN, NAME, state, wanted)[1]
    assert (read["state"], read["nodeStates"]["eval"]["state"]) == ("ACTIVE", "READY")
    assert not provider.diff(TOKEN, wanted, wanted, read).detailedDiff


# It waits, and the time ends


def test_it_waits_for_room(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="fail", path="nodes/eval", times=3)
    _, state = provider.create(TOKEN, inputs)
    assert (state["state"], calls(sandbox, "POST")) == ("ACTIVE", ["us-east5-a/queuedResources"])
    assert ("eval: WAITING_FOR_RESOURCES", False) in provider.notes


def test_a_time_out_leaves_it_in_the_queue(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """The next run goes on waiting for the same request; a destroy takes it out."""
    fault(sandbox, do="fail", path="nodes/eval")
    with pytest.raises(AbortedError, match="is still WAITING_FOR_RESOURCES: it stays in the queue") as error:
        provider.create(TOKEN, inputs, timeout=600)
    assert (error.value.detail.id, error.value.state["state"]) == (NAME, "WAITING_FOR_RESOURCES")
    assert Decoded(error.value.detail.inputs).values == inputs
    found = provider.diff(TOKEN, inputs, inputs, error.value.state)
    assert {path: one.inputDiff for path, one in found.detailedDiff.items()} == {"state": False}
    assert list(found.replaces) == []
    assert provider.notes[-1] == ("it is WAITING_FOR_RESOURCES: the run waits until it is ACTIVE", False)
    sandbox.cloud.faults.clear()
    state = provider.update(TOKEN, NAME, error.value.state, inputs, inputs)
    assert (state["state"], calls(sandbox, "POST")) == ("ACTIVE", ["us-east5-a/queuedResources"])


def test_a_waiting_one_is_deleted(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="fail", path="nodes/eval", method="POST")
    with pytest.raises(AbortedError) as error:
        provider.create(TOKEN, inputs, timeout=600)
    provider.delete(TOKEN, NAME, error.value.state)
    assert stands(sandbox) == []


def test_a_cancel_keeps_what_is_there(sandbox: Sandbox, provider: Driver, clock: Clock, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="fail", path="nodes/eval")
    clock.cancels_after = 1
    with pytest.raises(AbortedError, match="cancelled") as error:
        provider.create(TOKEN, inputs)
    assert error.value.state["state"] in ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES")


def test_an_unknown_state_counts_as_waiting(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T26: names of states changed before."""
    fault(sandbox, do="fail", path="nodes/eval")
    with pytest.raises(AbortedError):
        provider.create(TOKEN, inputs, timeout=600)
    found = sandbox.cloud.store.get(HOST, NAME)
    assert found is not None
    sandbox.cloud.store.put(HOST, NAME, found | {"state": {"state": "RESERVING"}, "next": None})
    with pytest.raises(AbortedError, match="is still RESERVING") as error:
        provider.update(TOKEN, NAME, {}, inputs, inputs, timeout=60)
    assert error.value.state["state"] == "RESERVING"
    assert ("eval: RESERVING, a state that is not known here: it counts as waiting", False) in provider.notes


# It dies, and is asked for again


def test_an_expired_one_is_asked_for_again_and_then_given_up(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T13, T26: nothing dead is left to count against the quota."""
    fault(sandbox, do="fail", path="nodes/eval", method="POST")
    with pytest.raises(
        AbortedError, match=r"expired: not fulfilled by validUntil, 600s(.|\n)*asked for: 3 times; what was left of it"
    ) as error:
        provider.create(TOKEN, inputs | {"validUntil": "600s"})
    assert (error.value.detail, stands(sandbox)) == (None, [])
    assert len(calls(sandbox, "POST")) == 3


def test_a_time_that_has_passed_is_not_asked_for(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    with pytest.raises(AbortedError, match="has passed"):
        provider.create(TOKEN, inputs | {"validUntil": "2026-11-30T11:59:59Z"})
    assert calls(sandbox, "POST") == []


def test_a_time_is_not_asked_for_twice(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Once it has passed, no request is fulfilled by then: whatever `retries` says."""
    from infra.sandbox.clock import rfc3339

    fault(sandbox, do="fail", path="nodes/eval", method="POST")
    until = rfc3339(sandbox.cloud.clock.now() + 600)
    with pytest.raises(AbortedError, match="asked for: once"):
        provider.create(TOKEN, inputs | {"validUntil": until, "retries": 9})
    assert (len(calls(sandbox, "POST")), stands(sandbox)) == (1, [])


@pytest.mark.parametrize(("status", "times"), [("PERMISSION_DENIED", 1), ("INTERNAL", 3), ("INVALID_ARGUMENT", 1)])
def test_what_cannot_help_is_not_repeated(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], status: str, times: int) -> None:
    fault(sandbox, do="fail", path="nodes/eval", method="POST", status=status, message="of itself")
    with pytest.raises(AbortedError, match=r"is FAILED by Google: .*of itself"):
        provider.create(TOKEN, inputs)
    assert (len(calls(sandbox, "POST")), stands(sandbox)) == (times, [])


def test_one_that_failed_once_succeeds(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="fail", path="nodes/eval", method="POST", status="INTERNAL", times=1)
    _, state = provider.create(TOKEN, inputs)
    assert (state["state"], len(calls(sandbox, "POST"))) == ("ACTIVE", 2)
    assert any(warns and "deleted, and asked for again" in text for text, warns in provider.notes)


def test_words_about_reservations_are_explained(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T10: Google words some shortages so, though no reservation was asked for."""
    said = "There is no reserved capacity in the zone."
    fault(sandbox, do="fail", path="nodes/eval", method="POST", status="UNAVAILABLE", message=said)
    with pytest.raises(AbortedError, match=r"no spot capacity there now; nothing is wrong with what was asked for"):
        provider.create(TOKEN, inputs | {"retries": 0})


def test_a_preempted_one_is_seen_by_refresh_and_repaired(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T14, T16, T18: the node first, then the request; and never two."""
    _, state = provider.create(TOKEN, inputs)
    fault(sandbox, do="preempt", path="nodes/eval", times=1)
    provider.read(TOKEN, NAME, state, inputs)
    _, seen, _ = provider.read(TOKEN, NAME, state, inputs)
    assert (seen["state"], seen["nodeStates"]["eval"]["state"]) == ("SUSPENDING", "PREEMPTED")
    _, seen, read = provider.read(TOKEN, NAME, state, inputs)
    assert (seen["state"], seen["stateInitiator"], read) == ("SUSPENDED", "SERVICE", inputs)
    found = provider.diff(TOKEN, inputs, inputs, seen)
    assert {path: one.inputDiff for path, one in found.detailedDiff.items()} == {"state": False}
    assert provider.notes[-1] == ("it is SUSPENDED by Google: it is deleted with its nodes, and asked for again", True)
    sandbox.cloud.calls.clear()
    repaired = provider.update(TOKEN, NAME, seen, inputs, inputs)
    assert (repaired["state"], repaired["nodeStates"]["eval"]["state"]) == ("ACTIVE", "READY")
    assert calls(sandbox, "DELETE") == ["nodes/eval", "queuedResources/eval"]
    assert len(calls(sandbox, "POST")) == 1


def test_one_preempted_while_it_is_waited_for(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="preempt", path="nodes/eval", times=1)
    _, state = provider.create(TOKEN, inputs)
    assert (state["state"], state["nodeStates"]["eval"]["state"]) == ("ACTIVE", "READY")


def test_one_preempted_each_time_is_given_up(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="preempt", path="nodes/eval")
    with pytest.raises(AbortedError, match="SUSPENDED by Google") as error:
        provider.create(TOKEN, inputs | {"retries": 1})
    assert (error.value.detail, stands(sandbox)) == (None, [])


def test_a_lost_node_of_an_active_one_is_a_change(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """One of several nodes is gone, and Google still says ACTIVE: all go, and are asked for again."""
    wanted = inputs | {"nodes": {"a": NODE, "b": NODE}}
    _, state = provider.create(TOKEN, wanted)
    sandbox.cloud.store.delete(HOST, f"{PLACE}/nodes/b")
    _, seen, _ = provider.read(TOKEN, NAME, state, wanted)
    assert (seen["state"], seen["nodeStates"]["b"]["state"]) == ("ACTIVE", "GONE")
    found = provider.diff(TOKEN, wanted, wanted, seen)
    assert {path: one.inputDiff for path, one in found.detailedDiff.items()} == {"nodeStates.b.state": False}
    repaired = provider.update(TOKEN, NAME, seen, wanted, wanted)
    assert {id: one["state"] for id, one in repaired["nodeStates"].items()} == {"a": "READY", "b": "READY"}
    assert stands(sandbox) == ["nodes/a", "nodes/b", "queuedResources/eval"]


def test_one_that_is_gone_is_asked_for_by_the_next_update(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    _, state = provider.create(TOKEN, inputs)
    provider.delete(TOKEN, NAME, state)
    assert provider.update(TOKEN, NAME, state, inputs, inputs | {"retries": 1})["state"] == "ACTIVE"


# What is there already


@pytest.mark.parametrize("moment", [0, 60, 600])
def test_a_killed_runs_request_is_adopted(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], moment: float) -> None:
    """In whatever state it is."""
    ask(sandbox, "POST", f"{PLACE}/queuedResources", queued_spec.body(inputs), queuedResourceId="eval")
    sandbox.cloud.clock.advance(moment)
    _, state = provider.create(TOKEN, inputs)
    assert (state["state"], len(calls(sandbox, "POST"))) == ("ACTIVE", 1)


def test_what_a_killed_run_left_is_told(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """Nothing, or its request; and another request under its id is not it."""
    google = provider.provider._google
    assert google is not None
    assert QueuedResource(google).there(inputs) == ""
    ask(sandbox, "POST", f"{PLACE}/queuedResources", queued_spec.body(inputs), queuedResourceId="eval")
    assert QueuedResource(google).there(inputs) == NAME
    assert QueuedResource(google).there(inputs | {"tier": "standard"}) == ""


def test_a_dead_one_of_an_earlier_run_is_replaced(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    fault(sandbox, do="fail", path="nodes/eval", method="POST", status="INTERNAL", times=1)
    ask(sandbox, "POST", f"{PLACE}/queuedResources", queued_spec.body(inputs), queuedResourceId="eval")
    sandbox.cloud.clock.advance(600)
    _, state = provider.create(TOKEN, inputs | {"retries": 0})
    assert (state["state"], len(calls(sandbox, "POST"))) == ("ACTIVE", 2)


def test_one_that_is_being_deleted_is_waited_for(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T17: a create while the one before it goes."""
    _, state = provider.create(TOKEN, inputs)
    ask(sandbox, "DELETE", NAME, force="true")
    _, again = provider.create(TOKEN, inputs)
    assert again["state"] == "ACTIVE"
    assert again["createTime"] > state["createTime"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"tier": "standard"}, "tier"),
        ({"nodes": {"eval": NODE | {"acceleratorType": "v6e-1"}}}, "nodes.eval.acceleratorType"),
        ({"nodes": {"eval": NODE | {"labels": {}}}}, "nodes.eval.labels.owner"),
        ({"nodes": {"eval": NODE | {"labels": {"owner": "ml-team", "team": "a"}}}}, "nodes.eval.labels.team"),
        (
            {"nodes": {"eval": NODE | {"dataDisks": [{"sourceDisk": f"projects/{PROJECT}/zones/us-east5-a/disks/d"}]}}},
            "nodes.eval.dataDisks",
        ),
        ({"nodes": {"eval": NODE, "two": NODE}}, "nodes.two"),
        ({"validUntil": "600s"}, "validUntil"),
        ({"nodes": {"eval": NODE | {"metadata": {"startup-script": "a secret word"}}}}, r"nodes.eval.metadata.startup-script"),
    ],
)
def test_another_one_is_refused(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], change: Any, path: str) -> None:
    """With where it differs, and no values; and it stands as it stood."""
    ask(sandbox, "POST", f"{PLACE}/queuedResources", queued_spec.body(inputs | change), queuedResourceId="eval")
    with pytest.raises(AbortedError) as error:
        provider.create(TOKEN, inputs)
    assert f"{NAME} is there, and is another: see {path}\n  fix: " in str(error.value)
    assert (error.value.detail, "secret" in str(error.value), calls(sandbox, "DELETE")) == (None, False, [])


def test_a_node_of_somebody_else_is_left_alone(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    ask(sandbox, "POST", f"{PLACE}/nodes", {"acceleratorType": "v6e-8", "runtimeVersion": "x"}, nodeId="eval")
    with pytest.raises(AbortedError, match=rf"there: {PLACE}/nodes/eval\n  fix: delete them") as error:
        provider.create(TOKEN, inputs)
    assert (error.value.detail, stands(sandbox)) == (None, ["nodes/eval"])


def test_a_stale_node_of_its_own_goes_first(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T16: somebody deleted the suspended request alone, and its preempted node stayed."""
    provider.create(TOKEN, inputs)
    fault(sandbox, do="preempt", path="nodes/eval", times=1)
    for _ in range(3):
        queued(sandbox)
    ask(sandbox, "DELETE", NAME)
    queued(sandbox)
    assert stands(sandbox) == ["nodes/eval", "queuedResources/eval"]
    sandbox.cloud.clock.advance(60)
    _, state = provider.create(TOKEN, inputs)
    assert (state["state"], stands(sandbox)) == ("ACTIVE", ["nodes/eval", "queuedResources/eval"])


# Calls that go wrong


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
def test_a_lost_answer_makes_no_second_one(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], do: str) -> None:
    """The id is ours: asking once more is safe."""
    fault(sandbox, do=do, method="POST", times=1)
    assert provider.create(TOKEN, inputs)[1]["state"] == "ACTIVE"
    assert stands(sandbox) == ["nodes/eval", "queuedResources/eval"]


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
def test_what_may_be_there_is_kept(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], do: str) -> None:
    """No answer came at all: the state has it, a destroy looks for it, and the next run finds it or asks."""
    fault(sandbox, do=do, method="POST")
    with pytest.raises(AbortedError) as error:
        provider.create(TOKEN, inputs)
    assert (error.value.detail.id, error.value.state["state"]) == (NAME, "STATE_UNSPECIFIED")
    sandbox.cloud.faults.clear()
    assert provider.update(TOKEN, NAME, error.value.state, inputs, inputs)["state"] == "ACTIVE"
    assert stands(sandbox) == ["nodes/eval", "queuedResources/eval"]


def test_a_refusal_leaves_nothing(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    with pytest.raises(AbortedError, match="Accelerator type v4-8 is not available in zone us-east5-a") as error:
        provider.create(TOKEN, inputs | {"nodes": {"eval": NODE | {"acceleratorType": "v4-8"}}})
    assert (error.value.detail, stands(sandbox)) == (None, [])


def test_a_late_refusal_leaves_nothing(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """The operation that was to make it fails."""
    fault(sandbox, do="fail", path="queuedResources/eval", status="PERMISSION_DENIED", message="no such subnetwork")
    with pytest.raises(AbortedError, match="7: no such subnetwork") as error:
        provider.create(TOKEN, inputs)
    assert (error.value.detail, stands(sandbox)) == (None, [])


def test_a_delete_that_fails_is_begun_again(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    _, state = provider.create(TOKEN, inputs)
    fault(sandbox, do="fail", path="queuedResources/eval", method="DELETE", status="INTERNAL", times=2)
    provider.delete(TOKEN, NAME, state)
    assert (stands(sandbox), len(calls(sandbox, "DELETE"))) == ([], 3)


def test_a_delete_that_fails_for_good_is_told_with_its_state(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    _, state = provider.create(TOKEN, inputs)
    fault(sandbox, do="fail", path="queuedResources/eval", method="DELETE", status="INTERNAL", message="no")
    with pytest.raises(AbortedError, match="could not be deleted, and is ACTIVE: 13: no"):
        provider.delete(TOKEN, NAME, state)


def test_a_delete_that_is_refused_for_a_while_waits(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """T21: with the state that it waits in, where the time ends first."""
    _, state = provider.create(TOKEN, inputs)
    fault(
        sandbox,
        do="error",
        path="queuedResources/eval",
        method="DELETE",
        code=400,
        status="FAILED_PRECONDITION",
        message="not now",
        times=4,
    )
    provider.delete(TOKEN, NAME, state)
    assert stands(sandbox) == []
    provider.create(TOKEN, inputs)
    fault(sandbox, do="error", path="queuedResources/eval", method="DELETE", code=400, message="not now")
    with pytest.raises(AbortedError, match=r"waits to be deleted, and is ACTIVE; Google said: .*not now\n  waited: 5 minutes"):
        provider.delete(TOKEN, NAME, state, timeout=300)


def test_a_node_that_cannot_be_deleted_is_told(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    _, state = provider.create(TOKEN, inputs)
    fault(sandbox, do="preempt", path="nodes/eval", times=1)
    fault(sandbox, do="fail", path="nodes/eval", method="DELETE", message="no")
    for _ in range(3):
        queued(sandbox)
    with pytest.raises(AbortedError, match="its nodes eval could not be deleted: 8: no"):
        provider.delete(TOKEN, NAME, state)


# What a plan says


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({"tier": "standard"}, ["tier"]),
        ({"zone": "us-east5-b"}, ["zone"]),
        ({"validUntil": "60s"}, ["validUntil"]),
        ({"nodes": {"eval": NODE | {"labels": {"owner": "x"}}}}, ["nodes.eval.labels.owner"]),
        ({"nodes": {"eval": NODE, "b": NODE}}, ["nodes.b"]),
    ],
)
def test_another_request_replaces(provider: Driver, inputs: dict[str, Any], change: Any, paths: list[str]) -> None:
    """The old one goes first: their ids are the same."""
    found = provider.diff(TOKEN, inputs, inputs | change)
    assert (sorted(found.detailedDiff), found.deleteBeforeReplace, len(found.replaces)) == (paths, True, 1)


@pytest.mark.parametrize("change", [{"retries": 5}, {"waitFor": "accepted"}])
def test_how_a_run_waits_replaces_nothing(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any], change: Any) -> None:
    _, state = provider.create(TOKEN, inputs)
    found = provider.diff(TOKEN, inputs, inputs | change, state)
    assert (list(found.detailedDiff), list(found.replaces)) == (list(change), [])
    sandbox.cloud.calls.clear()
    assert provider.update(TOKEN, NAME, state, inputs, inputs | change) == state | change
    assert {one["method"] for one in sandbox.cloud.calls} == {"GET"}


def test_a_preview_calls_nobody(sandbox: Sandbox, provider: Driver, inputs: dict[str, Any]) -> None:
    """What is there stays known; of what comes, only the name is."""
    _, state = provider.create(TOKEN, inputs, preview=True)
    assert (state["name"], state["state"], state["nodeStates"]) == (NAME, UNKNOWN, UNKNOWN)
    assert provider.create(TOKEN, inputs | {"zone": UNKNOWN}, preview=True)[1]["name"] is UNKNOWN
    assert len(sandbox.cloud.calls) == 0
    _, stands_now = provider.create(TOKEN, inputs)
    assert provider.update(TOKEN, NAME, stands_now, inputs, inputs | {"retries": 1}, preview=True) == stands_now | {"retries": 1}
    dead = stands_now | {"state": "SUSPENDED"}
    assert provider.update(TOKEN, NAME, dead, inputs, inputs, preview=True)["state"] is UNKNOWN


@pytest.mark.parametrize("id", ["eval", "projects/123/locations/us-east5-a/queuedResources/eval", f"{NAME}/x", ""])
def test_what_is_no_name_is_not_imported(provider: Driver, id: str) -> None:
    with pytest.raises(AbortedError, match="is no name of a queued resource here"):
        provider.read(TOKEN, id)


# What is refused before any call


def node(**change: Any) -> dict[str, Any]:
    return {"nodes": {"eval": {name: value for name, value in (NODE | change).items() if value is not None}}}


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"project": "Shop Prod"}, "project", "the project's id"),
        ({"zone": "us-east5"}, "zone", "a zone, such as"),
        ({"zone": "US-EAST5-A"}, "zone", "a zone, such as"),
        ({"queuedResourceId": "Eval"}, "queuedResourceId", "1 to 63 of a-z"),
        ({"queuedResourceId": "e" * 64}, "queuedResourceId", "1 to 63 of a-z"),
        ({"queuedResourceId": ""}, "queuedResourceId", "1 to 63 of a-z"),
        ({"queuedResourceId": "eval\n"}, "queuedResourceId", "1 to 63 of a-z"),
        ({"tier": "flex-start"}, "tier", "allowed: standard, spot, guaranteed, reservation"),
        ({"tier": None}, "tier", "is missing"),
        ({"tier": "reservation"}, "reservationName", "is missing with tier: reservation"),
        ({"reservationName": f"{PLACE}/reservations/x"}, "reservationName", "does nothing with tier: spot"),
        ({"tier": "reservation", "reservationName": "nightly"}, "reservationName", "is not of its form"),
        ({"minDuration": "60s"}, "minDuration", "does nothing with tier: spot"),
        ({"tier": "guaranteed", "minDuration": "1h"}, "minDuration", "such as 86400s"),
        ({"validUntil": "6h"}, "validUntil", "neither a duration nor a time"),
        ({"validUntil": "0s"}, "validUntil", "neither a duration nor a time"),
        ({"validUntil": "2026-12-24T18:00:00"}, "validUntil", "a time with its zone"),
        ({"validUntil": "2026-12-24"}, "validUntil", "neither a duration nor a time"),
        ({"validUntil": "60s", "validAfter": "60s"}, "validUntil", "is not after validAfter"),
        ({"validUntil": "2026-12-24T18:00:00Z", "validAfter": "2026-12-24T19:00:00+01:00"}, "validUntil", "is not after validAfter"),
        ({"waitFor": "ready"}, "waitFor", "allowed: active, accepted"),
        ({"retries": -1}, "retries", "allowed: 0 to 100"),
        ({"retries": 10**12}, "retries", "allowed: 0 to 100"),
        ({"retries": True}, "retries", "is not a whole number"),
        ({"nodes": None}, "nodes", "nodes by id, or multislice"),
        ({"nodes": {}}, "nodes", "has 0 nodes"),
        ({"nodes": {"A": NODE}}, "nodes.A", "1 to 63 of a-z"),
        ({"multislice": {"node": NODE, "nodeCount": 2}}, "multislice", "goes not with nodes"),
        ({"nodes": None, "multislice": {"node": NODE, "nodeCount": 1}}, "multislice.nodeCount", "one node goes under nodes"),
        ({"nodes": None, "multislice": {"node": NODE, "nodeCount": 2, "nodeIdPrefix": "é"}}, "multislice.nodeIdPrefix", "1 to 63"),
        ({"nodes": None, "multislice": {"node": NODE, "nodeCount": 11}, "queuedResourceId": "e" * 61}, "queuedResourceId", "allowed: 60"),
        (node(acceleratorType="v6-8x"), "nodes.eval.acceleratorType", "such as v6e-8"),
        (node(acceleratorType=None), "nodes.eval.acceleratorType", "is missing"),
        (node(acceleratorConfig={"type": "V6E", "topology": "2x4"}), "nodes.eval.acceleratorType", "goes not with acceleratorConfig"),
        (
            node(acceleratorType=None, acceleratorConfig={"type": "V7", "topology": "2x4"}),
            "nodes.eval.acceleratorConfig.type",
            "allowed: V2",
        ),
        (node(acceleratorType=None, acceleratorConfig={"type": "V6E", "topology": "8"}), "nodes.eval.acceleratorConfig.topology", "2x2x1"),
        (node(runtimeVersion=None), "nodes.eval.runtimeVersion", "is missing"),
        (node(runtimeVersion=""), "nodes.eval.runtimeVersion", "v2-alpha-tpuv6e"),
        (node(serviceAccount={"email": "default", "scopes": ["x"]}), "nodes.eval.serviceAccount.scopes", "allowed: email"),
        (node(serviceAccount={"email": "default"}), "nodes.eval.serviceAccount.email", "gserviceaccount"),
        (node(labels={"Owner": "x"}), "nodes.eval.labels.Owner", "1 to 63 of a-z"),
        (node(labels={"owner": "X Y"}), "nodes.eval.labels.owner", "at most 63"),
        (node(labels={"owner": 3}), "nodes.eval.labels.owner", "is not a string; got 3"),
        (node(tags=["ok", "Not ok"]), "nodes.eval.tags[1]", "1 to 63"),
        (node(dataDisks=[{"sourceDisk": "data"}]), "nodes.eval.dataDisks[0].sourceDisk", "disks/data"),
        (node(networkConfig={"network": ""}), "nodes.eval.networkConfig.network", "name or path"),
        (node(networkConfig={"queueCount": 0}), "nodes.eval.networkConfig.queueCount", "1 or more"),
        (node(description="x" * 513), "nodes.eval.description", "at most 512"),
        (node(bootDiskGib=3), "nodes.eval.bootDiskGib", "there is no such property"),
    ],
)
def test_what_is_refused(provider: Driver, inputs: dict[str, Any], change: dict[str, Any], path: str, reason: str) -> None:
    """In one place each, with what may stand there."""
    _, failures = provider.check(TOKEN, inputs | change)
    assert path in failures, failures
    assert reason in failures[path]
    assert len(failures) == 1 or path.endswith("scopes")


def test_what_is_not_known_yet_is_not_judged(provider: Driver, inputs: dict[str, Any]) -> None:
    unknown = node(acceleratorType=UNKNOWN, serviceAccount={"email": UNKNOWN}, labels=UNKNOWN, tags=[UNKNOWN], networkConfig=UNKNOWN)
    assert provider.check(TOKEN, inputs | unknown | {"validUntil": UNKNOWN, "tier": UNKNOWN, "retries": UNKNOWN})[1] == {}
    assert provider.check(TOKEN, inputs | {"nodes": UNKNOWN})[1] == {}
