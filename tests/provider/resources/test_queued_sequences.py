"""Whatever happens to a queued resource in whatever order: never two sets of nodes, nothing of somebody else's touched, nothing left."""

from __future__ import annotations

import json
from typing import Any

import pytest
from driver import PROJECT, AbortedError, Driver, Sandbox
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.sandbox.cloud import Request
from infra.sandbox.faults import Fault

TOKEN = "accelform:tpu:QueuedResource"
HOST = "tpu.googleapis.com"
PLACE = f"projects/{PROJECT}/locations/us-east5-a"
NAME = f"{PLACE}/queuedResources/q"
OTHERS = f"{PLACE}/nodes/other"
LAST = 25
"""Calls of a run among which one goes wrong, where it makes as many."""


def node(accelerator_type: str) -> dict[str, Any]:
    return {"acceleratorType": accelerator_type, "runtimeVersion": "v2-alpha-tpuv6e"}


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "tier": st.sampled_from(["spot", "standard"]),
        "nodes": st.sampled_from([{"a": node("v6e-8")}, {"a": node("v6e-1")}, {"a": node("v6e-8"), "b": node("v6e-8")}]),
        "validUntil": st.sampled_from(["600s", "86400s"]),
        "waitFor": st.sampled_from(["active", "accepted"]),
        "retries": st.sampled_from([0, 2]),
    },
)
CALLS = st.tuples(st.sampled_from(["lost", "drop", "error"]), st.integers(1, LAST), st.sampled_from([1, 30]), st.just(""))
WORK = st.tuples(st.just("fail"), st.just(None), st.sampled_from([1, 3, 500]), st.sampled_from(["RESOURCE_EXHAUSTED", "INTERNAL"]))
TAKEN = st.tuples(st.just("preempt"), st.just(None), st.sampled_from([1, 2]), st.just(""))
FAULTS = st.none() | CALLS | WORK | TAKEN
"""Nothing; a call that goes wrong, once or until the run gives up, as a killed run does; no room, or a failure; a preemption."""
STEPS = st.one_of(
    st.tuples(st.just("up"), CHANGES, FAULTS),
    st.tuples(st.just("forget"), CHANGES, FAULTS),
    st.tuples(st.just("refresh"), st.just({}), FAULTS),
    st.tuples(st.just("destroy"), st.just({}), FAULTS),
    st.tuples(st.just("remove"), st.sampled_from(["nodes/a", "nodes/b", "queuedResources/q"]), st.none()),
    st.tuples(st.just("wait"), st.integers(0, 4000), st.none()),
)


class World:
    """One stack with one queued resource: what the engine would do and keep."""

    def __init__(self) -> None:
        self.sandbox = Sandbox()
        self.passed = 0.0
        self.provider = Driver(self.sandbox.http(), self._pause, now=lambda: self.passed)
        self.inputs: dict[str, Any] = self.provider.checked(
            TOKEN, {"project": PROJECT, "zone": "us-east5-a", "queuedResourceId": "q", "tier": "spot", "nodes": {"a": node("v6e-8")}}
        )
        self.state: dict[str, Any] | None = None
        self.kept = self.inputs
        self._ask("POST", f"{PLACE}/nodes", node("v6e-1"), nodeId="other")

    def _pause(self, seconds: float) -> bool:
        self.passed += seconds
        return False

    def up(self, change: dict[str, Any], fault: Any) -> None:
        """One run; what it ends with is the state."""
        self.inputs = self.inputs | change
        self._wrong(fault)
        try:
            self._up()
        except AbortedError as error:
            if error.detail is not None:
                self.state, self.kept = json_format.MessageToDict(error.detail.properties), self.inputs
        finally:
            self.sandbox.cloud.faults.clear()

    def _up(self) -> None:
        """As the engine does it: a replacement deletes first, and nothing to do is not done."""
        if self.state is not None:
            found = self.provider.diff(TOKEN, self.kept, self.inputs, self.state)
            if found.replaces:
                self.provider.delete(TOKEN, NAME, self.state, timeout=900)
                self.state = None
            elif found.detailedDiff:
                self.state = self.provider.update(TOKEN, NAME, self.state, self.kept, self.inputs, timeout=900)
        if self.state is None:
            _, self.state = self.provider.create(TOKEN, self.inputs, timeout=900)
        self.kept = self.inputs

    def refresh(self, fault: Any) -> None:
        if self.state is None:
            return
        self._wrong(fault)
        try:
            id, state, read = self.provider.read(TOKEN, NAME, self.state, self.kept)
        except AbortedError:
            return
        finally:
            self.sandbox.cloud.faults.clear()
        self.state, self.kept = (state, read) if id else (None, self.inputs)

    def destroy(self, fault: Any) -> None:
        if self.state is None:
            return
        self._wrong(fault)
        try:
            self.provider.delete(TOKEN, NAME, self.state, timeout=900)
            self.state = None
        except AbortedError:
            return
        finally:
            self.sandbox.cloud.faults.clear()

    def stands(self) -> list[str]:
        """What stands of it, by the last two words."""
        self._ask("GET", f"{PLACE}/nodes")
        every = [name for _, name, _ in self.sandbox.cloud.store.every(HOST, PLACE)]
        return sorted("/".join(name.split("/")[-2:]) for name in every if name != OTHERS)

    def check(self) -> None:
        """What holds at any moment that a run may begin at: nodes are of the one request, and no more than it asks for."""
        self._ask("GET", f"{PLACE}/nodes")
        stored = {name: body for _, name, body in self.sandbox.cloud.store.every(HOST, PLACE)}
        assert stored[OTHERS]["state"] == "READY", "somebody else's node was touched"
        requests = [name for name in stored if "/queuedResources/" in name]
        assert requests in ([], [NAME])
        own = {name for name in stored if "/nodes/" in name and name != OTHERS}
        assert all(stored[name]["queuedResource"] == NAME for name in own)
        if requests and stored[NAME]["state"]["state"] == "ACTIVE":
            asked = {f"{PLACE}/nodes/{spec['nodeId']}" for spec in stored[NAME]["tpu"]["nodeSpec"]}
            assert own <= asked, "nodes of an earlier request stand beside those of this one"

    def check_converged(self) -> None:
        """A refresh and a run without trouble, and a second that finds nothing to do."""
        if self.state is None and self.stands():
            self.recover()
        self.refresh(None)
        self.up({"waitFor": "active", "retries": 2}, None)
        assert self.state is not None, "a run without trouble failed"
        assert {id: one["state"] for id, one in self.state["nodeStates"].items()} == dict.fromkeys(self.inputs["nodes"], "READY")
        assert self.stands() == [*(f"nodes/{id}" for id in sorted(self.inputs["nodes"])), "queuedResources/q"]
        id, state, read = self.provider.read(TOKEN, NAME, self.state, self.inputs)
        assert (id, read, state["nodeStates"]) == (NAME, self.inputs, self.state["nodeStates"])
        assert not self.provider.diff(TOKEN, self.inputs, self.inputs, state).detailedDiff

    def recover(self) -> None:
        """A killed run's request of another specification is refused, and a person imports it."""
        id, state, read = self.provider.read(TOKEN, NAME)
        if id:
            self.state, self.kept = state, read

    def check_gone(self) -> None:
        self.destroy(None)
        assert (self.state, self.stands()) == (None, [])

    def _wrong(self, fault: Any) -> None:
        if fault:
            do, at, times, status = fault
            path = f"{HOST}/{PLACE}/nodes/[ab]" if do in ("fail", "preempt") else ""
            self.sandbox.cloud.faults.add(Fault(do=do, at=at, times=times, path=path, status=status))

    def _ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        content = json.dumps(body).encode() if body is not None else b""
        answer = self.sandbox.cloud.handle(Request(method, HOST, f"/v2/{path}", query, content))
        if "/operations/" in answer.body.get("name", "") and not answer.body.get("done"):
            self.sandbox.cloud.clock.advance(600)
            self._ask("GET", PLACE)
        return answer.body

    def somebody_removes(self, what: str) -> None:
        self._ask("DELETE", f"{PLACE}/{what}", **({"force": "true"} if what.startswith("queued") else {}))


def play(steps: list[tuple[str, Any, Any]]) -> None:
    world = World()
    for what, one, two in steps:
        if what == "up":
            world.up(one, two)
        elif what == "forget":  # the run was killed before the engine wrote anything
            state, kept = world.state, world.kept
            world.up(one, two)
            world.state, world.kept = state, kept
        elif what == "refresh":
            world.refresh(two)
        elif what == "destroy":
            world.destroy(two)
        elif what == "remove":
            world.somebody_removes(one)
        else:
            world.sandbox.cloud.clock.advance(one)
        world.check()
    world.check_converged()
    world.check_gone()
    world.sandbox.close()


@given(st.lists(STEPS, max_size=5))
@settings(max_examples=20)
def test_any_sequence_converges(steps: list[tuple[str, Any, Any]]) -> None:
    """A few; `make soak` tries many."""
    play(steps)


@pytest.mark.soak
@given(st.lists(STEPS, max_size=12))
@settings(max_examples=1500)
def test_many_sequences_converge(steps: list[tuple[str, Any, Any]]) -> None:
    play(steps)
