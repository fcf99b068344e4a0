"""Whatever happens in whatever order: no version twice, own aliases where they belong, nothing left after a delete."""

from __future__ import annotations

import json
from typing import Any

import pytest
from driver import PROJECT, AbortedError, Driver, Sandbox
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.provider.resources.model import LABEL
from infra.sandbox.cloud import Request
from infra.sandbox.faults import Fault

TOKEN = "accelform:vertex:Model"
PLACE = f"projects/{PROJECT}/locations/asia-east1"
NAME = f"{PLACE}/models/m"
HOST = "aiplatform.googleapis.com"
LAST = 40
"""Calls of a run among which one goes wrong, where it makes as many."""

CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "imageUri": st.sampled_from([f"asia-east1-docker.pkg.dev/shop-prod/images/serve@sha256:{digit * 64}" for digit in "abc"]),
        "env": st.sampled_from([{}, {"A": "1"}]),
        "displayName": st.sampled_from(["m", "n"]),
        "labels": st.sampled_from([{}, {"owner": "ml-team"}]),
        "versionAliases": st.lists(st.sampled_from(["candidate", "nightly"]), unique=True),
        "firstAliases": st.lists(st.sampled_from(["champion"]), unique=True),
        "keepVersions": st.sampled_from([1, 2]),
    },
)
FAULTS = st.none() | st.tuples(st.sampled_from(["lost", "drop", "error", "fail"]), st.integers(1, LAST), st.sampled_from([1, 30]))
"""Nothing, or what goes wrong from the how-manieth call on, once or until the run gives up: as a killed run does."""
STEPS = st.one_of(
    st.tuples(st.just("up"), CHANGES, FAULTS),
    st.tuples(st.just("refresh"), st.just({}), FAULTS),
    st.tuples(st.just("forget"), CHANGES, FAULTS),
    st.tuples(st.just("gate"), st.sampled_from(["champion"]), st.integers(0, 5)),
    st.tuples(st.just("remove"), st.just({}), st.integers(0, 5)),
)


class World:
    """One stack with one model: what the engine would do and keep."""

    def __init__(self) -> None:
        self.sandbox = Sandbox()
        self.provider = Driver(self.sandbox.http())
        self.inputs: dict[str, Any] = self.provider.checked(
            TOKEN,
            {
                "project": PROJECT,
                "location": "asia-east1",
                "modelId": "m",
                "displayName": "m",
                "imageUri": f"asia-east1-docker.pkg.dev/shop-prod/images/serve@sha256:{'a' * 64}",
                "ports": [8080],
                "predictRoute": "/predict",
                "healthRoute": "/health",
                "versionAliases": ["candidate"],
                "firstAliases": ["champion"],
            },
        )
        self.state: dict[str, Any] | None = None
        self.kept = self.inputs
        self.gates: dict[str, str] = {}

    def up(self, change: dict[str, Any], fault: Any) -> None:
        """One run; what it ends with is the state."""
        self.inputs = self.inputs | change
        self._wrong(fault)
        try:
            if self.state is None:
                _, self.state = self.provider.create(TOKEN, self.inputs)
            else:
                self.state = self.provider.update(TOKEN, NAME, self.state, self.kept, self.inputs)
            self.kept = self.inputs
        except AbortedError as error:
            if error.detail is not None:
                self.state, self.kept = json_format.MessageToDict(error.detail.properties), self.inputs
        finally:
            self.sandbox.cloud.faults.clear()

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

    def gate(self, alias: str, which: int) -> None:
        """Somebody gives an alias to a version."""
        if there := self.versions():
            version = there[which % len(there)]["versionId"]
            self._ask("POST", f"{NAME}@{version}:mergeVersionAliases", {"versionAliases": [alias]})
            self.gates[alias] = version

    def remove(self, which: int) -> None:
        """Somebody deletes a version that may be deleted."""
        free = [one for one in self.versions() if not one.get("versionAliases")]
        if free:
            self._ask("DELETE", f"{NAME}@{free[which % len(free)]['versionId']}:deleteVersion")

    def versions(self) -> list[dict[str, Any]]:
        """Every version, once every upload has ended."""
        self.sandbox.cloud.clock.advance(7200)
        found: list[dict[str, Any]] = self._ask("GET", f"{NAME}:listVersions").get("models", [])
        return found

    def check(self) -> None:
        """What holds at any moment that a run may begin at."""
        made_of = [one["labels"][LABEL] for one in self.versions()]
        assert len(made_of) == len(set(made_of)), "a version twice"

    def check_converged(self) -> None:
        """A run without trouble, and a second that finds nothing to do."""
        self.up({}, None)
        there = self.versions()
        assert self.state is not None
        has = {alias: one["versionId"] for one in there for alias in one.get("versionAliases", [])}
        for alias in self.inputs["versionAliases"]:
            assert has[alias] == self.state["versionId"], alias
        assert all(alias in has for alias in self.inputs["firstAliases"])
        for alias, version in self.gates.items():
            assert has.get(alias) == version, f"{alias} was taken back"
        described = next(one for one in there if one["versionId"] == self.state["versionId"])
        assert described["containerSpec"]["imageUri"] == self.inputs["imageUri"]
        assert {one["displayName"] for one in there} == {self.inputs["displayName"]}
        id, state, read = self.provider.read(TOKEN, NAME, self.state, self.inputs)
        assert (id, state, read) == (NAME, self.state, self.inputs)
        before = len(self.sandbox.cloud.calls)
        self.up({}, None)
        assert {one["method"] for one in list(self.sandbox.cloud.calls)[before:]} == {"GET"}

    def check_gone(self) -> None:
        assert self.state is not None
        self.provider.delete(TOKEN, NAME, self.state)
        self.sandbox.cloud.clock.advance(7200)
        self._ask("GET", f"{PLACE}/models")  # what has ended by now comes about
        assert [name for _, name, _ in self.sandbox.cloud.store.every(HOST, NAME)] == []

    def _wrong(self, fault: Any) -> None:
        if fault:
            do, at, times = fault
            self.sandbox.cloud.faults.add(Fault(do=do, at=1 if do == "fail" else at, times=times))

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        content = json.dumps(body).encode() if body is not None else b""
        answer = self.sandbox.cloud.handle(Request(method, f"asia-east1-{HOST}", f"/v1/{path}", {}, content))
        return answer.body if answer.status == 200 else {}


def play(steps: list[tuple[str, Any, Any]]) -> None:
    world = World()
    for what, one, two in steps:
        if what == "up":
            world.up(one, two)
        elif what == "forget":  # the run was killed before the engine wrote anything: a create begins anew
            state, kept = world.state, world.kept
            world.up(one, two)
            world.state, world.kept = state, kept
        elif what == "refresh":
            world.refresh(two)
        elif what == "gate":
            world.gate(one, two)
        else:
            world.remove(two)
        world.check()
    world.check_converged()
    world.check_gone()


@given(st.lists(STEPS, max_size=6))
@settings(max_examples=10)
def test_any_sequence_converges(steps: list[tuple[str, Any, Any]]) -> None:
    """A few; `make soak` tries many."""
    play(steps)


@pytest.mark.soak
@given(st.lists(STEPS, max_size=12))
@settings(max_examples=500)
def test_many_sequences_converge(steps: list[tuple[str, Any, Any]]) -> None:
    play(steps)
