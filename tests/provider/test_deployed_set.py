"""
Whatever goes wrong, and whenever: an endpoint's traffic stays whole, and the next run makes it as it should be.

A state machine does what the engine does with the provider (create, update, read, delete, kept state, killed runs), while calls are cut,
refused, lost, fail or do not end, and while somebody else works on the endpoint.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from driver import AbortedError, Driver, Sandbox
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from vertex import ENDPOINT, MODEL, REGION, Vertex

from infra.provider.deployed_model import is_ours
from infra.sandbox.faults import Fault

TOKEN = "accelform:vertex:DeployedModels"
SHORT_TIMEOUT_SECONDS = 0.001

ONE = st.fixed_dictionaries(
    {"model": st.sampled_from([f"{MODEL}@{word}" for word in ("champion", "candidate", "1")])},
    optional={
        "machineType": st.just("n1-standard-4"),
        "maxReplicas": st.integers(2, 3),
        "containerLogging": st.just(False),
        "metrics": st.just({"aiplatform.googleapis.com/prediction/online/cpu/utilization": 70}),
    },
)
MODELS = st.dictionaries(st.sampled_from(["a", "b", "c"]), ONE, max_size=3)
WAYS = st.fixed_dictionaries({}, optional={"update": st.just("in-place"), "foreign": st.sampled_from(["keep", "undeploy"])})
FAULTS = st.lists(
    st.one_of(
        st.builds(Fault, do=st.sampled_from(["lost", "drop", "error"]), at=st.integers(1, 25), times=st.integers(1, 8)),
        st.builds(Fault, do=st.sampled_from(["lost", "drop", "error"]), at=st.integers(1, 4), method=st.sampled_from(["POST", "PATCH"])),
        st.builds(Fault, do=st.just("error"), at=st.integers(1, 3), method=st.sampled_from(["POST", "PATCH"]), code=st.just(400)),
        st.builds(
            Fault,
            do=st.just("fail"),
            at=st.integers(1, 3),
            times=st.integers(1, 2),
            method=st.sampled_from(["deployModel", "undeployModel", "mutateDeployedModel"]),
        ),
    ),
    max_size=2,
)


class KilledError(BaseException):
    """The provider's process ends here."""


class Killed(httpx.BaseTransport):
    """Ends the process at the n-th call: before it arrives, or after it was done."""

    def __init__(self, sandbox: Sandbox, call: int, *, arrives: bool) -> None:
        self._sandbox, self._left, self._arrives = sandbox, call, arrives

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._left -= 1
        if self._left > 0:
            return self._sandbox(request)
        if self._arrives:
            self._sandbox(request)
        raise KilledError


class Endpoint(RuleBasedStateMachine):
    """An engine's state of one resource, and the endpoint that it is about."""

    kept: tuple[dict[str, Any], dict[str, Any]] | None = None
    """State and inputs."""
    unfinished = False
    """Whether the engine knows that its last run failed."""

    @initialize()
    def begin(self) -> None:
        self.sandbox = Sandbox()
        self.vertex = Vertex(self.sandbox)
        self.provider = Driver(self.sandbox.http())
        self.vertex.endpoint()
        self.vertex.upload("champion")
        self.vertex.upload("candidate")

    def teardown(self) -> None:
        self.sandbox.close()

    # What the engine does

    @rule(models=MODELS, ways=WAYS, faults=FAULTS, slow=st.booleans())
    def up(self, models: dict[str, Any], ways: dict[str, Any], faults: list[Fault], slow: bool) -> None:
        """A run that may fail; what its error says was kept is true."""
        inputs = self.inputs(models, ways)
        for fault in faults:
            self.vertex.cloud.faults.add(fault)
        self.vertex.cloud.clock.manual = slow
        try:
            self.run(self.provider, inputs, timeout=SHORT_TIMEOUT_SECONDS if slow else 0)
        except AbortedError as error:
            if error.detail is not None:
                self.kept, self.unfinished = (error.state, inputs), True
            elif self.kept is None and not slow:
                assert not self.ours(), "a create that is forgotten left something"
        else:
            self.reached(inputs)
        self.calm()

    @rule(models=MODELS, call=st.integers(1, 30), arrives=st.booleans())
    def killed(self, models: dict[str, Any], call: int, arrives: bool) -> None:
        """The engine and the provider end at a call: the state is the one before."""
        inputs = self.inputs(models, {"foreign": "keep"})
        driver = Driver(httpx.Client(transport=Killed(self.sandbox, call, arrives=arrives)))
        before = self.kept, self.unfinished
        try:
            self.run(driver, inputs)
        except KilledError:
            self.kept, self.unfinished = before
        except AbortedError:  # it was refused before the call came: an alias or a version is gone
            self.kept, self.unfinished = before
        else:
            self.reached(inputs)

    @precondition(lambda self: self.kept is not None)
    @rule(faults=FAULTS)
    def refresh(self, faults: list[Fault]) -> None:
        assert self.kept is not None
        for fault in faults:
            self.vertex.cloud.faults.add(fault)
        try:
            _, state, inputs = self.provider.read(TOKEN, ENDPOINT, *self.kept)
        except AbortedError:
            assert faults
        else:
            self.kept, self.unfinished = (state, inputs), False
        self.calm()

    @precondition(lambda self: self.kept is not None)
    @rule(faults=FAULTS)
    def down(self, faults: list[Fault]) -> None:
        """A delete that ends well leaves nothing of ours; one that does not is done again."""
        assert self.kept is not None
        strangers = [id for id, live in self.vertex.deployed().items() if not is_ours(live)]
        for fault in faults:
            self.vertex.cloud.faults.add(fault)
        try:
            self.provider.delete(TOKEN, ENDPOINT, self.kept[0])
        except AbortedError:
            assert faults
        else:
            assert set(self.vertex.deployed()) <= set(strangers)
            self.kept, self.unfinished = None, False
        self.calm()

    # What others do

    @rule(version=st.sampled_from(["1", "2"]))
    def the_alias_moves(self, version: str) -> None:
        self.vertex.alias("champion", version)

    @rule(data=st.data())
    def somebody_moves_the_traffic(self, data: st.DataObject) -> None:
        self.vertex.settle()
        live = sorted(self.vertex.deployed())
        if live:
            self.vertex.give({data.draw(st.sampled_from(live)): 100})

    @rule(data=st.data())
    def somebody_undeploys(self, data: st.DataObject) -> None:
        self.vertex.settle()
        live = sorted(self.vertex.deployed())
        if live:
            self.vertex.undeploy(data.draw(st.sampled_from(live)))

    @precondition(lambda self: all(is_ours(live) for live in self.vertex.deployed().values()))
    @rule()
    def somebody_deploys(self) -> None:
        self.vertex.settle()
        self.vertex.deploy()

    # What is always so

    @invariant()
    def traffic_is_whole(self) -> None:
        split = self.vertex.split()
        assert set(split) <= set(self.vertex.deployed())
        assert sum(split.values()) in (0, 100)
        assert not split or sum(split.values()) == 100

    @invariant()
    def nothing_stands_twice(self) -> None:
        """Each version of each name has one id: a call that was done twice would have been refused."""
        ids = [live["id"] for live in self.vertex.body()["deployedModels"]] if self.vertex.deployed() else []
        assert len(ids) == len(set(ids))

    # What these share

    def inputs(self, models: dict[str, Any], ways: dict[str, Any]) -> dict[str, Any]:
        shares = {1: [100], 2: [90, 10], 3: [50, 50, 0], 0: []}[len(models)]
        given = {
            name: {"machineType": "n1-standard-2", "minReplicas": 1, **one, "traffic": share}
            for (name, one), share in zip(sorted(models.items()), shares, strict=True)
        }
        return self.provider.checked(TOKEN, {"endpoint": ENDPOINT, "location": REGION, "deployedModels": given, **ways})

    def run(self, driver: Driver, inputs: dict[str, Any], timeout: float = 0) -> None:
        """One `pulumi up`: a create, an update, or nothing where nothing differs."""
        if self.kept is None:
            _, state = driver.create(TOKEN, inputs, timeout=timeout)
        else:
            state, old = self.kept
            if not self.unfinished and not driver.diff(TOKEN, old, inputs, state).detailedDiff:
                self.kept = (state, inputs)
                return
            state = driver.update(TOKEN, ENDPOINT, state, old, inputs, timeout=timeout)
        self.kept, self.unfinished = (state, inputs), False

    def reached(self, inputs: dict[str, Any]) -> None:
        """What is there is what was asked for, once a refresh has seen what others did and a run has repaired it."""
        self.calm()
        assert self.kept is not None
        _, state, found = self.provider.read(TOKEN, ENDPOINT, *self.kept)
        if self.provider.diff(TOKEN, found, inputs, state).detailedDiff:
            if state["others"] and inputs["foreign"] == "refuse":
                self.kept = (state, found)
                return
            state = self.provider.update(TOKEN, ENDPOINT, state, found, inputs)
            assert self.provider.read(TOKEN, ENDPOINT, state, inputs) == (ENDPOINT, state, inputs)
        wanted = inputs["deployedModels"]
        split = self.vertex.split()
        assert {live["displayName"]: split[id] for id, live in self.ours().items() if id in split} == {
            name: one["traffic"] for name, one in wanted.items() if one["traffic"]
        }
        assert sorted(live["displayName"] for live in self.ours().values()) == sorted(wanted)
        assert not self.provider.diff(TOKEN, inputs, inputs, state).detailedDiff
        self.kept, self.unfinished = (state, inputs), False

    def ours(self) -> dict[str, Any]:
        return {id: live for id, live in self.vertex.deployed().items() if is_ours(live)}

    def calm(self) -> None:
        self.vertex.cloud.faults.clear()
        self.vertex.cloud.clock.manual = False


PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""A life is short enough to be read as it is; to shorten one takes minutes."""
CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def test_an_endpoint_survives_what_happens_to_it() -> None:
    short = settings(max_examples=25, stateful_step_count=10, derandomize=True, deadline=None, suppress_health_check=CHECKS, phases=PHASES)
    run_state_machine_as_test(Endpoint, settings=short)  # type: ignore[no-untyped-call]


@pytest.mark.soak
def test_an_endpoint_survives_for_long() -> None:
    """Two thousand lives."""
    long = settings(max_examples=2000, stateful_step_count=15, deadline=None, suppress_health_check=CHECKS, phases=PHASES)
    run_state_machine_as_test(Endpoint, settings=long)  # type: ignore[no-untyped-call]
