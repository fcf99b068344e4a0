"""A run goes the same way whatever its machine is: one host, several hosts, or a node of the Cloud TPU API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.sandbox.faults import Fault
from tests.operate.jobs.night import COMPUTE, NAME, PROJECT, TPU, Night, settled

GROUP: dict[str, Any] = {"form": "group", "accelerator_type": "v6e-16", "hosts": 4, "chips": 16}


def test_several_hosts_are_one_group_and_each_says_how_it_ended() -> None:
    """All four at once, told of the run by the group's own configuration; the run is over when all have spoken."""
    night = Night(**GROUP)
    told: set[str] = set()

    def watch() -> None:
        told.update(items["accelform-run"] for items, _ in night.hosts())

    night.watch = watch
    assert night.run().reason == "all 4 hosts ended well"
    settled(night)
    (text,) = told
    assert json.loads(text)["env"]["WL_HOSTS"] == "4"
    assert night.cloud.store.items(COMPUTE, f"projects/{PROJECT}/zones/us-east5-a/instances") == []


def test_a_group_without_room_goes_to_the_next_zone() -> None:
    """It is there and goes on asking for its hosts: what it says of them is the reason, and it is gone before the next one."""
    night = Night(**GROUP)
    night.cloud.faults.add(Fault(do="stockout", zone="us-east5-a"))
    assert night.run().result == "succeeded"
    settled(night)
    first, second = night.record()["tries"]
    assert (first["result"], second["result"]) == ("no capacity", "succeeded")
    assert "does not have enough resources" in first["reason"]


def test_a_group_that_loses_a_host_is_made_anew() -> None:
    """A slice works as a whole: the others go, too."""
    night = Night(**GROUP)
    night.exits = lambda number: None if number == 1 else 0
    night.cloud.faults.add(Fault(do="preempt", path=f"instances/{NAME}-host", at=30))
    assert night.run().result == "succeeded"
    settled(night)
    first = night.record()["tries"][0]
    assert first["result"] == "restarted"
    assert "3 of 4 hosts RUNNING" in first["reason"]


def test_a_node_is_made_told_of_its_run_and_taken_away() -> None:
    """The same with the Cloud TPU API, which has no run limit of its own."""
    night = Night(form="node")
    told: set[str] = set()

    def watch() -> None:
        told.update(items["accelform-run"] for items, _ in night.hosts())

    night.watch = watch
    assert night.run().result == "succeeded"
    settled(night)
    assert len(told) == 1


@pytest.mark.parametrize("do", ["stockout", "quota"])
def test_a_node_without_room_or_quota_goes_to_the_next_zone(do: str) -> None:
    """The two are told apart, in words."""
    night = Night(form="node")
    night.cloud.faults.add(Fault(do=do, zone="us-east5-a"))
    assert night.run().result == "succeeded"
    settled(night)
    first = night.record()["tries"][0]
    assert first["result"] == {"stockout": "no capacity", "quota": "quota"}[do]


def test_a_node_that_was_preempted_is_deleted_before_another_is_made() -> None:
    """It stays there as PREEMPTED, and would hold its name and quota: never two nodes."""
    night = Night(form="node")
    night.exits = lambda number: None if number == 1 else 0
    night.cloud.faults.add(Fault(do="preempt", path="nodes/", at=30, times=1))
    assert night.run().result == "succeeded"
    settled(night)
    assert [row["result"] for row in night.record()["tries"]] == ["restarted", "succeeded"]
    assert "it is PREEMPTED" in night.record()["tries"][0]["reason"]


def test_a_node_that_is_being_deleted_is_waited_for() -> None:
    """Somebody deletes the node of that name as the run begins: no create is sent before it is gone."""
    night = Night(form="node")
    node = {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e", "networkConfig": {"subnetwork": "net"}}
    at = f"{TPU}/v2/projects/{PROJECT}/locations/us-east5-b/nodes"
    night.ask("POST", at, node, nodeId=NAME)
    night.wait(3600)
    night.ask("DELETE", f"{at}/{NAME}")
    assert night.run().result == "succeeded"
    settled(night)
    calls = [(call["method"], call["status"]) for call in night.cloud.calls if call["method"] == "POST" and call["path"].endswith("/nodes")]
    assert calls == [("POST", 200), ("POST", 200)]


@pytest.mark.parametrize(
    "state", ["CREATING", "READY", "RESTARTING", "REPAIRING", "STOPPED", "PREEMPTED", "TERMINATED", "UNKNOWN", "HIDDEN"]
)
def test_a_node_of_an_earlier_run_goes_in_whatever_state_it_is(state: str) -> None:
    """Each state of the API: it is deleted, and the run is as if it had never been."""
    night = Night(form="node", zones=["us-east5-a"])
    node = {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e", "networkConfig": {"subnetwork": "net"}}
    night.ask("POST", f"{TPU}/v2/projects/{PROJECT}/locations/us-east5-a/nodes", node, nodeId=NAME)
    night.wait(3600)
    (name, body) = next(iter(night.machines.items()))
    night.cloud.store.put(TPU, name, body | {"state": state})
    runner = night.runner()
    runner.run()
    settled(night)
