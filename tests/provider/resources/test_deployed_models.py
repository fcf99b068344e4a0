"""Deployed models over the sandbox: in which order they come and go, what is refused, what drifts, what is left."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from driver import AbortedError, Driver, Sandbox
from vertex import ENDPOINT, MODEL, PLACE, Vertex

from infra.provider.deployed_model import DeployedModel, is_ours
from infra.provider.values import UNKNOWN
from infra.sandbox.cloud import Answer, Request
from infra.sandbox.faults import Fault

TOKEN = "accelform:vertex:DeployedModels"
PATCH, DEPLOY, UNDEPLOY, MUTATE = ("PATCH", "77"), ("POST", "deployModel"), ("POST", "undeployModel"), ("POST", "mutateDeployedModel")
CPU = "aiplatform.googleapis.com/prediction/online/cpu/utilization"


def one(model: str = "champion", traffic: int = 100, **more: Any) -> dict[str, Any]:
    return {"model": f"{MODEL}@{model}", "machineType": "n1-standard-2", "minReplicas": 1, "traffic": traffic, **more}


def of(endpoint: str = ENDPOINT, *, models: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"endpoint": endpoint, "location": endpoint.split("/")[3], "deployedModels": models, **more}


TWO = {"champion": one(traffic=90), "challenger": one("candidate", 10)}


def recorded(sandbox: Sandbox) -> list[tuple[str, dict[str, Any]]]:
    """Last word of the path and body of each call that follows and changes something."""
    found: list[tuple[str, dict[str, Any]]] = []
    handle = sandbox.cloud.handle

    def told(request: Request) -> Answer:
        if request.http != "GET":
            found.append((request.path.rpartition(":")[2].rpartition("/")[2], json.loads(request.content)))
        return handle(request)

    sandbox.cloud.handle = told  # type: ignore[method-assign]
    return found


@pytest.fixture
def make(provider: Driver, vertex: Vertex) -> Callable[..., tuple[str, dict[str, Any], dict[str, Any]]]:
    """Creates: id, state and inputs as Check left them."""

    def make(inputs: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
        inputs = provider.checked(TOKEN, inputs)
        id, state = provider.create(TOKEN, inputs)
        vertex.calls()
        return id, state, inputs

    return make


def test_they_come_stay_and_go(vertex: Vertex, provider: Driver) -> None:
    """V01, V02, V24: an endpoint that is there gets its models, then their shares by name; what is read is what was written."""
    inputs = provider.checked(TOKEN, of(models=TWO))
    id, state = provider.create(TOKEN, inputs)
    assert id == ENDPOINT
    assert vertex.calls() == [DEPLOY, DEPLOY, PATCH]
    assert vertex.shares() == {"champion": 90, "challenger": 10}
    assert {one["displayName"]: one["modelVersionId"] for one in vertex.deployed().values()} == {"champion": "1", "challenger": "2"}
    assert {name: found["version"] for name, found in state["deployed"].items()} == {"champion": "1", "challenger": "2"}
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    assert not provider.diff(TOKEN, inputs, inputs, state).detailedDiff
    provider.delete(TOKEN, id, state)
    assert vertex.calls() == [PATCH, UNDEPLOY, UNDEPLOY]
    assert not vertex.deployed()
    provider.delete(TOKEN, id, state)
    assert vertex.calls() == []


def test_a_deploy_has_no_split_and_an_undeploy_no_zero(vertex: Vertex, provider: Driver, sandbox: Sandbox) -> None:
    """V04: "0" is the model that is being deployed, and stands in no request of ours; etags go with splits alone."""
    bodies = recorded(sandbox)
    inputs = provider.checked(TOKEN, of(models=TWO))
    id, state = provider.create(TOKEN, inputs)
    provider.delete(TOKEN, id, state)
    deploys = [body for verb, body in bodies if verb == "deployModel"]
    assert [sorted(body) for body in deploys] == [["deployedModel"], ["deployedModel"]]
    assert [sorted(body) for verb, body in bodies if verb == "undeployModel"] == [["deployedModelId"], ["deployedModelId"]]
    splits = [body for verb, body in bodies if verb == "77"]
    assert [sorted(body) for body in splits] == [["etag", "trafficSplit"], ["etag", "trafficSplit"]]
    assert all("0" not in body["trafficSplit"] for body in splits)


def test_traffic_alone_is_one_patch(vertex: Vertex, provider: Driver, make: Any) -> None:
    id, state, inputs = make(of(models=TWO))
    more = of(models={"champion": one(traffic=50), "challenger": one("candidate", 50)}) | {"update": "surge", "foreign": "refuse"}
    found = provider.diff(TOKEN, inputs, more, state)
    assert sorted(found.detailedDiff) == ["deployedModels.challenger.traffic", "deployedModels.champion.traffic"]
    assert not found.replaces
    assert provider.notes == []
    state = provider.update(TOKEN, id, state, inputs, more)
    assert vertex.calls() == [PATCH]
    assert vertex.shares() == {"champion": 50, "challenger": 50}
    assert state["deployedModels"] == more["deployedModels"]


def test_what_is_removed_loses_its_traffic_first(vertex: Vertex, provider: Driver, make: Any) -> None:
    """V03: 35 and 65, one goes: the other has all before it does."""
    id, state, inputs = make(of(models={"m1": one(traffic=35), "m2": one("candidate", 65)}))
    less = provider.checked(TOKEN, of(models={"m2": one("candidate")}))
    assert list(provider.diff(TOKEN, inputs, less, state).detailedDiff) == ["deployedModels.m1", "deployedModels.m2.traffic"]
    provider.update(TOKEN, id, state, inputs, less)
    assert vertex.calls() == [PATCH, UNDEPLOY]
    assert vertex.shares() == {"m2": 100}
    assert len(vertex.deployed()) == 1


def test_a_model_without_traffic_is_taken_away_too(vertex: Vertex, provider: Driver, make: Any) -> None:
    """V05: what is deployed is what the endpoint lists, not what its split names; then the endpoint can go."""
    id, state, _ = make(of(models={"champion": one(), "idle": one("candidate", 0)}))
    assert vertex.shares() == {"champion": 100}
    provider.delete(TOKEN, id, state)
    assert not vertex.deployed()
    vertex.ask("DELETE", ENDPOINT)


@pytest.mark.parametrize(
    ("change", "mask"),
    [
        ({"minReplicas": 2}, "dedicatedResources.maxReplicaCount,dedicatedResources.minReplicaCount"),
        ({"maxReplicas": 3}, "dedicatedResources.maxReplicaCount"),
        ({"minReplicas": 2, "requiredReplicas": 1, "maxReplicas": 2}, None),
        ({"metrics": {CPU: 80}}, "dedicatedResources.autoscalingMetricSpecs"),
        ({"containerLogging": False}, "disableContainerLogging"),
    ],
)
def test_what_can_be_is_changed_in_place(
    vertex: Vertex, provider: Driver, make: Any, sandbox: Sandbox, change: dict[str, Any], mask: str | None
) -> None:
    id, state, inputs = make(of(models={"champion": one()}))
    bodies = recorded(sandbox)
    new = provider.checked(TOKEN, of(models={"champion": one(**change)}))
    after = provider.update(TOKEN, id, state, inputs, new)
    assert vertex.calls() == [MUTATE]
    assert mask is None or [body["updateMask"] for _, body in bodies] == [mask]
    assert after["deployed"] == state["deployed"]
    assert provider.read(TOKEN, id, after, new)[2] == new
    back = provider.update(TOKEN, id, after, new, inputs)
    assert vertex.calls() == [MUTATE]
    assert back == state


@pytest.mark.parametrize(
    "change", [{"machineType": "n1-standard-4"}, {"model": f"{MODEL}@candidate"}, {"accessLogging": True}, {"spot": True}]
)
def test_what_cannot_be_is_deployed_beside_the_old_one(vertex: Vertex, provider: Driver, make: Any, change: dict[str, Any]) -> None:
    """New, then all the traffic, then the old one goes; the plan says that both count against the quota."""
    id, state, inputs = make(of(models={"champion": one()}))
    new = provider.checked(TOKEN, of(models={"champion": one() | change}))
    assert not provider.diff(TOKEN, inputs, new, state).replaces
    assert provider.notes == [
        ("champion: deployed anew beside the old one, which goes after it: until then both count against the quota", False)
    ]
    after = provider.update(TOKEN, id, state, inputs, new)
    assert vertex.calls() == [DEPLOY, PATCH, UNDEPLOY]
    assert after["deployed"]["champion"]["id"] != state["deployed"]["champion"]["id"]
    assert vertex.shares() == {"champion": 100}
    assert provider.read(TOKEN, id, after, new) == (id, after, new)


def test_in_place_takes_the_old_one_away_first(vertex: Vertex, provider: Driver, make: Any) -> None:
    """Of one, nothing serves meanwhile, and the plan warns; of two, the other serves all."""
    id, state, inputs = make(of(models={"champion": one()}, update="in-place"))
    new = provider.checked(TOKEN, of(models={"champion": one("candidate")}, update="in-place"))
    provider.diff(TOKEN, inputs, new, state)
    assert provider.notes.pop() == (
        "champion: undeployed, then deployed anew (update is in-place): nothing serves until the new one does: minutes",
        True,
    )
    state = provider.update(TOKEN, id, state, inputs, new)
    assert vertex.calls() == [PATCH, UNDEPLOY, DEPLOY, PATCH]
    both = provider.checked(TOKEN, of(models={"champion": one("candidate", 90), "challenger": one("candidate", 10)}, update="in-place"))
    state = provider.update(TOKEN, id, state, new, both)
    vertex.calls()
    other = copy.deepcopy(both)
    other["deployedModels"]["champion"]["machineType"] = "n1-standard-8"
    provider.diff(TOKEN, both, other, state)
    assert provider.notes == [
        ("champion: undeployed, then deployed anew (update is in-place): the others take its traffic until the new one serves", False)
    ]
    provider.update(TOKEN, id, state, both, other)
    assert vertex.calls() == [PATCH, UNDEPLOY, DEPLOY, PATCH]
    assert vertex.shares() == {"champion": 90, "challenger": 10}


def test_attachments_are_known_once_something_is_deployed(vertex: Vertex, provider: Driver) -> None:
    """Of an endpoint by Private Service Connect, which takes several models: unknown while a name is not deployed, then kept by all."""
    private = f"{PLACE}/endpoints/88"
    vertex.endpoint(private, privateServiceConnectConfig={"enablePrivateServiceConnect": True, "projectAllowlist": ["shop-web"]})
    inputs = provider.checked(TOKEN, of(private, models={"champion": one()}))
    _, foreseen = provider.create(TOKEN, inputs, preview=True)
    assert foreseen["attachments"] is UNKNOWN
    id, state = provider.create(TOKEN, inputs)
    attachment = state["attachments"]["champion"]
    assert attachment.startswith("projects/")
    assert state["oneModel"] is False
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)

    anew = provider.checked(TOKEN, of(private, models={"champion": one("candidate")}))
    assert provider.update(TOKEN, id, state, inputs, anew, preview=True)["attachments"] == {"champion": attachment}
    both = provider.checked(TOKEN, of(private, models=TWO))
    assert provider.update(TOKEN, id, state, inputs, both, preview=True)["attachments"] is UNKNOWN
    assert provider.update(TOKEN, id, state, inputs, both)["attachments"] == {"challenger": attachment, "champion": attachment}


def test_a_state_of_before_has_its_attachments_after_a_refresh(vertex: Vertex, provider: Driver) -> None:
    """Nothing is changed for that; a public endpoint has none."""
    inputs = provider.checked(TOKEN, of(models=TWO))
    id, state = provider.create(TOKEN, inputs)
    assert state["attachments"] == {}
    old = {key: value for key, value in state.items() if key != "attachments"}
    assert not provider.diff(TOKEN, inputs, inputs, old).detailedDiff
    assert provider.update(TOKEN, id, old, inputs, inputs, preview=True)["attachments"] is UNKNOWN
    assert provider.read(TOKEN, id, old, inputs) == (id, state, inputs)


def test_a_private_endpoint_has_one_model_and_no_split(vertex: Vertex, provider: Driver) -> None:
    """V06, V17: the same way without a split; another version means a downtime, which the plan says; two are refused."""
    private = f"{PLACE}/endpoints/88"
    vertex.endpoint(private, network=f"projects/{vertex.cloud.projects.number('shop-prod')}/global/networks/inside")
    vertex.calls()
    inputs = provider.checked(TOKEN, of(private, models={"champion": one()}))
    id, state = provider.create(TOKEN, inputs)
    assert (vertex.calls(), state["oneModel"]) == ([DEPLOY], True)
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    new = provider.checked(TOKEN, of(private, models={"champion": one("candidate")}))
    provider.diff(TOKEN, inputs, new, state)
    assert provider.notes == [
        (
            "champion: undeployed, then deployed anew (a private endpoint takes one model): nothing serves until the new one does: minutes",
            True,
        )
    ]
    state = provider.update(TOKEN, id, state, inputs, new)
    assert vertex.calls() == [UNDEPLOY, DEPLOY]
    with pytest.raises(AbortedError, match="a private endpoint takes one deployed model; got challenger, champion"):
        provider.update(TOKEN, id, state, new, provider.checked(TOKEN, of(private, models=TWO)))
    assert vertex.calls() == []
    provider.delete(TOKEN, id, state)
    assert vertex.calls() == [UNDEPLOY]
    vertex.ask("DELETE", private)


def test_a_version_goes_once_its_deployment_is_gone(vertex: Vertex, provider: Driver, make: Any) -> None:
    """V18: a delete returns when the undeploy has ended, so that the version is free."""
    id, state, _ = make(of(models={"champion": one("candidate")}))
    provider.delete(TOKEN, id, state)
    vertex.ask("DELETE", f"{MODEL}@2:deleteVersion")


def test_a_failed_deploy_leaves_the_last_split(vertex: Vertex, provider: Driver, make: Any) -> None:
    """And nothing of what the run deployed before it."""
    id, state, inputs = make(of(models={"champion": one()}))
    before = vertex.body()
    new = provider.checked(TOKEN, of(models={"champion": one("candidate", 50), "second": one(traffic=50, machineType="n1-standard-4")}))
    vertex.cloud.faults.add(Fault(do="fail", at=2, method="deployModel", message="no capacity"))
    with pytest.raises(AbortedError, match="no capacity") as error:
        provider.update(TOKEN, id, state, inputs, new)
    assert vertex.calls() == [DEPLOY, DEPLOY, UNDEPLOY]
    assert (vertex.deployed(), vertex.split()) == (
        {one["id"]: one for one in before["deployedModels"]},
        before["trafficSplit"],
    )
    kept = error.value.state
    assert (error.value.detail.id, kept["deployed"], kept["leftovers"]) == (id, state["deployed"], [])
    assert provider.update(TOKEN, id, kept, new, new)["deployedModels"] == new["deployedModels"]


def test_a_failed_create_is_none(vertex: Vertex, provider: Driver) -> None:
    """Where nothing is left, the engine keeps nothing."""
    inputs = provider.checked(TOKEN, of(models=TWO))
    vertex.cloud.faults.add(Fault(do="fail", at=2, method="deployModel", message="no capacity"))
    with pytest.raises(AbortedError, match="no capacity") as error:
        provider.create(TOKEN, inputs)
    assert error.value.detail is None
    assert not vertex.deployed()


def test_what_failed_in_place_is_brought_back(vertex: Vertex, provider: Driver, make: Any) -> None:
    """The old one is deployed again with its id and its traffic."""
    id, state, inputs = make(of(models={"champion": one(metrics={CPU: 70})}, update="in-place"))
    before = {key: value["modelVersionId"] for key, value in vertex.deployed().items()}
    vertex.cloud.faults.add(Fault(do="fail", at=1, method="deployModel", message="no capacity"))
    new = provider.checked(TOKEN, of(models={"champion": one("candidate")}, update="in-place"))
    with pytest.raises(AbortedError, match="no capacity") as error:
        provider.update(TOKEN, id, state, inputs, new)
    assert {key: value["modelVersionId"] for key, value in vertex.deployed().items()} == before
    assert vertex.shares() == {"champion": 100}
    assert error.value.state["deployedModels"] == {"champion": one("1", metrics={CPU: 70})}


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
@pytest.mark.parametrize("at", range(1, 5))
def test_a_lost_answer_costs_nothing(vertex: Vertex, provider: Driver, make: Any, do: str, at: int) -> None:
    """Any call that changes something is cut, or answered 503: each deployed model stands once, and no old one stays."""
    id, state, inputs = make(of(models={"champion": one()}))
    new = provider.checked(TOKEN, of(models={"champion": one("candidate", 50), "second": one(traffic=50)}))
    changes = [Fault(do=do, at=at, method="POST"), Fault(do=do, at=at, method="PATCH")]
    for fault in changes:
        vertex.cloud.faults.add(fault)
    provider.update(TOKEN, id, state, inputs, new)
    assert vertex.shares() == {"champion": 50, "second": 50}
    assert len(vertex.deployed()) == 2
    provider.delete(TOKEN, id, state)
    assert not vertex.deployed()


def test_what_a_cancelled_run_began_is_kept_and_adopted(vertex: Vertex, provider: Driver, sandbox: Sandbox) -> None:
    """The deploy goes on at the other side: the state keeps the endpoint, and the next run finds what came of it by its id."""
    inputs = provider.checked(TOKEN, of(models=TWO))
    killed = Driver(sandbox.http(), lambda seconds: sandbox.cloud.calls[-1]["path"].endswith("deployModel"))
    with pytest.raises(AbortedError, match="cancelled") as error:
        killed.create(TOKEN, inputs)
    assert (error.value.detail.id, error.value.state["deployed"]) == (ENDPOINT, {})
    assert vertex.calls() == [DEPLOY]
    provider.update(TOKEN, ENDPOINT, error.value.state, inputs, inputs)
    assert vertex.calls() == [DEPLOY, PATCH]
    assert vertex.shares() == {"champion": 90, "challenger": 10}


def test_what_a_killed_run_began_is_taken_away(vertex: Vertex, provider: Driver, sandbox: Sandbox) -> None:
    """A delete waits for the deploy that still runs."""
    inputs = provider.checked(TOKEN, of(models={"champion": one()}))
    killed = Driver(sandbox.http(), lambda seconds: sandbox.cloud.calls[-1]["path"].endswith("deployModel"))
    with pytest.raises(AbortedError, match="cancelled") as error:
        killed.create(TOKEN, inputs)
    provider.delete(TOKEN, ENDPOINT, error.value.state)
    assert vertex.calls() == [DEPLOY, UNDEPLOY]
    assert not vertex.deployed()


def test_an_operation_that_does_not_end_is_told(vertex: Vertex, provider: Driver) -> None:
    """A timeout is no failure: what may come yet is kept, waited for, and adopted."""
    vertex.cloud.clock.manual = True
    inputs = provider.checked(TOKEN, of(models={"champion": one()}))
    with pytest.raises(AbortedError, match="has not ended within") as error:
        provider.create(TOKEN, inputs, timeout=0.2)
    kept = error.value
    assert (kept.detail.id, kept.state["deployed"]) == (ENDPOINT, {})
    vertex.cloud.clock.manual = False
    state = provider.update(TOKEN, ENDPOINT, kept.state, inputs, inputs)
    assert vertex.calls().count(DEPLOY) == 1
    assert vertex.shares() == {"champion": 100}
    assert provider.read(TOKEN, ENDPOINT, state, inputs)[2] == inputs


def test_what_others_deployed_is_refused_kept_or_undeployed(vertex: Vertex, provider: Driver) -> None:
    """Never silently: the error names it, before anything is done."""
    foreign = vertex.deploy(split={"0": 100})
    vertex.calls()
    inputs = provider.checked(TOKEN, of(models={"champion": one()}))
    with pytest.raises(AbortedError, match=rf"not of this program: {foreign} \(somebody's\)\n  fix: set foreign to keep"):
        provider.create(TOKEN, inputs)
    assert vertex.calls() == []
    kept = provider.checked(TOKEN, of(models={"champion": one()}, foreign="keep"))
    id, state = provider.create(TOKEN, kept)
    assert vertex.calls() == [DEPLOY, PATCH]
    assert (vertex.shares(), foreign in vertex.deployed(), state["others"]) == ({"champion": 100}, True, {foreign: "somebody's"})
    assert not provider.diff(TOKEN, kept, kept, state).detailedDiff
    provider.delete(TOKEN, id, state)
    assert list(vertex.deployed()) == [foreign]
    gone = provider.checked(TOKEN, of(models={"champion": one()}, foreign="undeploy"))
    id, state = provider.create(TOKEN, gone)
    assert list(vertex.shares()) == ["champion"]
    assert foreign not in vertex.deployed()
    assert state["others"] == {}


def test_drift_is_seen_and_repaired(vertex: Vertex, provider: Driver, make: Any) -> None:
    """A split, replicas, a model that is gone, an alias that moved, a stranger: each shows, and the next update repairs it."""
    id, state, inputs = make(of(models=TWO))
    champion, challenger = (state["deployed"][name]["id"] for name in ("champion", "challenger"))

    def drifts(*paths: str) -> dict[str, Any]:
        _, seen, found = provider.read(TOKEN, id, state, inputs)
        assert sorted(provider.diff(TOKEN, found, inputs, seen).detailedDiff) == sorted(paths)
        return provider.update(TOKEN, id, seen, found, inputs)

    vertex.give({champion: 40, challenger: 60})
    assert drifts("deployedModels.champion.traffic", "deployedModels.challenger.traffic") == state
    resources = {"deployedModel": {"id": champion, "dedicatedResources": {"maxReplicaCount": 4}}}
    vertex.ask("POST", f"{ENDPOINT}:mutateDeployedModel", resources | {"updateMask": "dedicatedResources.maxReplicaCount"})
    assert drifts("deployedModels.champion.maxReplicas") == state
    vertex.undeploy(challenger)
    assert drifts("deployedModels.challenger", "deployedModels.champion.traffic") == state
    stranger = vertex.deploy()
    with pytest.raises(AbortedError, match=stranger):
        drifts("others")
    vertex.undeploy(stranger)
    vertex.alias("champion", "2")
    assert drifts("deployedModels.champion.model")["deployed"]["champion"]["version"] == "2"
    assert drifts() == provider.read(TOKEN, id, state, inputs)[1]


def test_the_alias_that_is_gone_is_told_by_its_version(vertex: Vertex, provider: Driver, make: Any) -> None:
    id, state, inputs = make(of(models={"champion": one("candidate")}))
    vertex.ask("POST", f"{MODEL}@2:mergeVersionAliases", {"versionAliases": ["-candidate"]})
    assert provider.read(TOKEN, id, state, inputs)[2]["deployedModels"]["champion"]["model"] == f"{MODEL}@2"
    with pytest.raises(AbortedError, match="no version of that alias"):
        provider.update(TOKEN, id, state, inputs, inputs)


def test_what_a_killed_run_left_beside_another_goes(vertex: Vertex, provider: Driver, make: Any) -> None:
    """It shows at a refresh, though all that is written is so."""
    id, state, inputs = make(of(models={"champion": one()}))
    new = provider.checked(TOKEN, of(models={"champion": one("candidate")}))
    vertex.cloud.faults.add(Fault(do="error", method="PATCH", code=400, message="refused"))
    with pytest.raises(AbortedError, match="refused") as error:
        provider.update(TOKEN, id, state, inputs, new)
    vertex.cloud.faults.clear()
    assert len(vertex.deployed()) == 2
    left = error.value.state["leftovers"]
    assert len(left) == 1
    _, seen, found = provider.read(TOKEN, id, error.value.state, inputs)
    assert found == inputs
    assert [(path, change.inputDiff) for path, change in provider.diff(TOKEN, found, inputs, seen).detailedDiff.items()] == [
        ("leftovers", False)
    ]
    state = provider.update(TOKEN, id, seen, found, inputs)
    assert (len(vertex.deployed()), state["leftovers"]) == (1, [])


def test_an_endpoint_that_is_gone_is_gone(vertex: Vertex, provider: Driver, make: Any) -> None:
    id, state, inputs = make(of(models={"champion": one()}))
    vertex.undeploy(state["deployed"]["champion"]["id"])
    assert provider.read(TOKEN, id, state, inputs)[2]["deployedModels"] == {}
    vertex.ask("DELETE", ENDPOINT)
    assert provider.read(TOKEN, id, state, inputs)[0] == ""
    provider.delete(TOKEN, id, state)
    with pytest.raises(AbortedError, match="404"):
        provider.create(TOKEN, inputs)


def test_an_import_is_by_the_endpoints_name(vertex: Vertex, provider: Driver, make: Any) -> None:
    """Versions are written out, names are the display names; what others deployed is not taken over."""
    id, state, _ = make(of(models=TWO))
    found, outputs, inputs = provider.read(TOKEN, id)
    assert (found, outputs["deployed"]) == (id, state["deployed"])
    assert inputs == of(models={"champion": one("1", 90), "challenger": one("2", 10)}, update="surge", foreign="refuse")
    assert provider.checked(TOKEN, inputs) == inputs
    with pytest.raises(AbortedError, match="is no endpoint"):
        provider.read(TOKEN, "recommend")


def test_an_import_sees_what_only_the_beta_shows(vertex: Vertex, provider: Driver, make: Any) -> None:
    zero = one(minReplicas=0, maxReplicas=2, scaleToZero={"idleSeconds": 600, "minUpSeconds": 300, "initialReplicas": 2})
    flex = one(traffic=0, machineType="a2-highgpu-1g", acceleratorType="NVIDIA_TESLA_A100", acceleratorCount=1)
    id, state, inputs = make(of(models={"zero": zero, "flex": flex | {"flexStart": {"maxRunSeconds": 86400}}}))
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    models = provider.read(TOKEN, id)[2]["deployedModels"]
    assert models["zero"] == zero | {"model": f"{MODEL}@1"}
    assert models["flex"]["flexStart"] == {"maxRunSeconds": 86400}
    new = provider.checked(TOKEN, of(models={"zero": one(minReplicas=1, maxReplicas=2)}))
    provider.update(TOKEN, id, state, inputs, new)
    assert vertex.calls() == [MUTATE, UNDEPLOY]
    assert provider.read(TOKEN, id)[2]["deployedModels"] == {"zero": one("1", maxReplicas=2)}


def test_everything_that_can_be_written_is_read(vertex: Vertex, provider: Driver, make: Any) -> None:
    reservation = {"affinity": "SPECIFIC_RESERVATION", "names": ["projects/shop-prod/zones/us-central1-a/reservations/gpus"]}
    full = one(
        machineType="a2-ultragpu-1g",
        acceleratorType="NVIDIA_A100_80GB",
        acceleratorCount=1,
        gpuPartitionSize="1g.10gb",
        minReplicas=2,
        maxReplicas=4,
        requiredReplicas=1,
        metrics={CPU: 50},
        reservation=reservation,
        serviceAccount="serving@shop-prod.iam.gserviceaccount.com",
        containerLogging=False,
        accessLogging=True,
    )
    id, state, inputs = make(of(models={"full": full}))
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    assert provider.read(TOKEN, id)[2]["deployedModels"] == {"full": full | {"model": f"{MODEL}@1"}}
    machine = vertex.deployed()[state["deployed"]["full"]["id"]]["dedicatedResources"]["machineSpec"]
    assert machine["reservationAffinity"] == {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": reservation["names"],
    }


def test_a_tpu_is_its_machine_type(vertex: Vertex, provider: Driver, make: Any) -> None:
    """And a model may come from another region than the endpoint."""
    endpoint = ENDPOINT.replace("us-central1", "us-west4")
    vertex.endpoint(endpoint)
    tpu = one(machineType="ct5lp-hightpu-4t", tpuTopology="2x2", spot=True)
    id, state, inputs = make(of(endpoint, models={"tpu": tpu}))
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    (deployed,) = vertex.deployed(endpoint).values()
    assert deployed["dedicatedResources"] == {
        "machineSpec": {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"},
        "spot": True,
        "minReplicaCount": 1,
        "maxReplicaCount": 1,
    }


def test_what_is_held_is_left(vertex: Vertex, provider: Driver, make: Any) -> None:
    """A controller's split, version and replicas stay; they are no drift, and no change."""
    id, state, inputs = make(of(models=TWO))
    champion, challenger = (state["deployed"][name]["id"] for name in ("champion", "challenger"))
    held = inputs | {"held": ["traffic", "model", "replicas"]}
    vertex.give({champion: 70, challenger: 30})
    vertex.alias("champion", "2")
    body = {"deployedModel": {"id": champion, "dedicatedResources": {"minReplicaCount": 3, "maxReplicaCount": 3}}}
    vertex.ask(
        "POST",
        f"{ENDPOINT}:mutateDeployedModel",
        body | {"updateMask": "dedicatedResources.minReplicaCount,dedicatedResources.maxReplicaCount"},
    )
    vertex.calls()
    _, seen, found = provider.read(TOKEN, id, state | held, held)
    assert found["deployedModels"]["champion"]["traffic"] == 90
    new = copy.deepcopy(held)
    new["deployedModels"]["challenger"] |= {"containerLogging": False, "minReplicas": 2}
    assert list(provider.diff(TOKEN, held, new, seen).detailedDiff) == ["deployedModels.challenger.containerLogging"]
    provider.update(TOKEN, id, seen, held, new)
    assert vertex.calls() == [MUTATE]
    assert vertex.split() == {champion: 70, challenger: 30}
    assert vertex.deployed()[champion]["modelVersionId"] == "1"
    assert vertex.deployed()[champion]["dedicatedResources"]["minReplicaCount"] == 3
    assert vertex.deployed()[challenger]["dedicatedResources"]["minReplicaCount"] == 1


def test_a_reservation_with_no_names_is_one_without(vertex: Vertex, provider: Driver, make: Any) -> None:
    """A program may write an empty list: a refresh leaves it, and nothing is deployed anew for it."""
    machine = {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
    id, state, inputs = make(of(models={"champion": one(**machine, reservation={"affinity": "ANY_RESERVATION", "names": []})}))
    _, state, found = provider.read(TOKEN, id, state, inputs)
    assert found == inputs
    plain = provider.checked(TOKEN, of(models={"champion": one(**machine, reservation={"affinity": "ANY_RESERVATION"})}))
    provider.update(TOKEN, id, state, inputs, plain)
    assert vertex.calls() == []


def test_held_traffic_refuses_what_would_move_it(vertex: Vertex, provider: Driver, make: Any) -> None:
    """A controller that walks from one to another is not overtaken; what has no traffic comes and goes."""
    id, state, inputs = make(of(models={"champion": one(), "idle": one(traffic=0)}))
    held = {"held": ["traffic"]}
    other = provider.checked(TOKEN, of(models={"champion": one(machineType="n1-standard-8"), "idle": one(traffic=0)}) | held)
    with pytest.raises(AbortedError, match="champion: cannot be deployed anew while its traffic is held"):
        provider.update(TOKEN, id, state, inputs, other)
    gone = provider.checked(TOKEN, of(models={"new": one("candidate")}) | held)
    with pytest.raises(AbortedError, match="champion: cannot be removed while its traffic is held"):
        provider.update(TOKEN, id, state, inputs, gone)
    assert vertex.calls() == []
    fine = provider.checked(TOKEN, of(models={"champion": one(traffic=50), "new": one("candidate", 50)}) | held)
    state = provider.update(TOKEN, id, state, inputs, fine)
    assert vertex.calls() == [DEPLOY, UNDEPLOY]
    assert vertex.shares() == {"champion": 100}
    assert sorted(state["deployed"]) == ["champion", "new"]


def test_a_preview_calls_nobody(vertex: Vertex, provider: Driver) -> None:
    """A model that is uploaded in the same run is unknown."""
    models = {"champion": one() | {"model": UNKNOWN}}
    inputs = provider.checked(TOKEN, of(models=models) | {"endpoint": UNKNOWN})
    _, state = provider.create(TOKEN, inputs, preview=True)
    assert state["deployedModels"]["champion"]["model"] is UNKNOWN
    assert state["deployed"] is UNKNOWN
    known = provider.checked(TOKEN, of(models={"champion": one()}))
    after = provider.checked(TOKEN, of(models=models))
    assert list(provider.diff(TOKEN, known, after, known).detailedDiff) == ["deployedModels.champion.model"]
    assert provider.update(TOKEN, ENDPOINT, known, known, after, preview=True)["deployedModels"] == after["deployedModels"]
    assert vertex.calls() == []


def test_another_endpoint_is_another_resource(provider: Driver, vertex: Vertex, make: Any) -> None:
    _, state, inputs = make(of(models=TWO))
    found = provider.diff(TOKEN, inputs, inputs | {"endpoint": f"{PLACE}/endpoints/88"}, state)
    assert (list(found.replaces), found.deleteBeforeReplace) == (["endpoint"], True)


def test_no_model_is_well(vertex: Vertex, provider: Driver, make: Any) -> None:
    id, state, inputs = make(of(models=TWO))
    none = provider.checked(TOKEN, of(models={}))
    assert provider.update(TOKEN, id, state, inputs, none)["deployed"] == {}
    assert vertex.calls() == [PATCH, UNDEPLOY, UNDEPLOY]
    assert (vertex.split(), vertex.deployed()) == ({}, {})


def test_ids_have_ten_digits_and_say_whose_they_are(vertex: Vertex, provider: Driver, make: Any) -> None:
    _, state, _ = make(of(models=TWO))
    ids = [found["id"] for found in state["deployed"].values()]
    assert all(len(id) == 10 and id.isdecimal() and id[0] != "0" for id in ids)
    assert all(is_ours(one) for one in vertex.deployed().values())
    assert not is_ours({"id": ids[0], "displayName": "other"})
    assert not is_ours({"id": "1234567890123456789", "displayName": "champion"})


GPU = {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"traffic": 99}, "", "traffic makes 99 = 99 percent\n  allowed: 100 together"),
        ({"traffic": 101}, ".traffic", "101 is no percentage"),
        ({"traffic": -1}, ".traffic", "-1 is no percentage"),
        ({"traffic": 50.5}, ".traffic", "is not a whole number"),
        ({"model": MODEL}, ".model", "which one is served is written out"),
        ({"model": "recommender@champion"}, ".model", "projects/P/locations/R/models/M@champion"),
        ({"minReplicas": 0}, ".minReplicas", "0 is too few"),
        ({"minReplicas": 3, "maxReplicas": 2}, ".maxReplicas", "2 is less than minReplicas"),
        ({"maxReplicas": 0}, ".maxReplicas", "0 is too few"),
        ({"requiredReplicas": 2}, ".requiredReplicas", "allowed: 1 to 1"),
        ({"scaleToZero": {"idleSeconds": 600}}, ".minReplicas", "allowed: 0, or no scaleToZero"),
        ({"minReplicas": 0, "scaleToZero": {"idleSeconds": 10}}, ".scaleToZero.idleSeconds", "300 to 28800"),
        (
            {"minReplicas": 0, "scaleToZero": {"idleSeconds": 600, "initialReplicas": 2}},
            ".scaleToZero.initialReplicas",
            "1 to maxReplicas, 1",
        ),
        ({"metrics": {"cpu": 60}}, ".metrics.cpu", "no such autoscaling metric"),
        ({"metrics": {CPU: 0}}, f'.metrics["{CPU}"]', "1 to 100 percent"),
        ({"metrics": {CPU.replace("cpu/utilization", "accelerator/duty_cycle"): 60}}, None, "the machine has no accelerator"),
        ({"machineType": "g2-standrd-8"}, ".machineType", "g2-standard-8"),
        ({"machineType": "g2-standard-8"}, ".acceleratorType", "NVIDIA_L4"),
        (GPU | {"acceleratorType": "NVIDIA_L5"}, ".acceleratorType", "NVIDIA_L4"),
        (GPU | {"acceleratorCount": 3}, ".acceleratorCount", "allowed: 1"),
        ({"acceleratorCount": 1}, ".acceleratorType", "is missing"),
        ({"acceleratorType": "NVIDIA_TESLA_T4"}, ".acceleratorCount", "is missing"),
        ({"machineType": "ct5lp-hightpu-4t", "acceleratorType": "TPU_V5_LITEPOD"}, ".acceleratorType", "its type says the accelerator"),
        ({"tpuTopology": "2x2"}, ".tpuTopology", "has no TPU"),
        (GPU | {"gpuPartitionSize": "huge"}, ".gpuPartitionSize", "1g.10gb"),
        ({"spot": True, "reservation": {"affinity": "ANY_RESERVATION"}}, ".reservation", "use no reservation"),
        ({"reservation": {"affinity": "SPECIFIC_RESERVATION"}}, ".reservation.names", "is missing"),
        ({"reservation": {"affinity": "ANY_RESERVATION", "names": [f"{PLACE}/x"]}}, ".reservation.names", None),
        ({"reservation": {"affinity": "MINE"}}, ".reservation.affinity", "ANY_RESERVATION"),
        ({"flexStart": {"maxRunSeconds": 700000}}, ".flexStart.maxRunSeconds", "seven days"),
        ({"spot": True, "flexStart": {"maxRunSeconds": 60}}, ".flexStart", "another kind of capacity"),
        ({"serviceAccount": "serving"}, ".serviceAccount", "is not of its form"),
        ({"machine": "n1"}, ".machine", "machineType"),
        ({"sharedResources": f"{PLACE}/deploymentResourcePools/p"}, ".sharedResources", "there is no such property"),
        ({"minReplicas": "1"}, ".minReplicas", "is not a whole number"),
    ],
)
def test_what_is_refused(provider: Driver, change: dict[str, Any], path: str | None, reason: str | None) -> None:
    """By property path, before any call."""
    _, failures = provider.check(TOKEN, of(models={"champion": one() | change}))
    where = f"deployedModels.champion{path}" if path else "deployedModels"
    if path is not None:
        assert where in failures, failures
    assert reason is None or any(reason in text for text in failures.values()), failures


@pytest.mark.parametrize(
    ("inputs", "path"),
    [
        (of(models={}) | {"endpoint": "recommend"}, "endpoint"),
        (of(models={}) | {"endpoint": None}, "endpoint"),
        (of(models={}) | {"location": "europe-west4"}, "location"),
        (of(models={}) | {"location": None}, "location"),
        (of(models={"Champion": one()}), "deployedModels.Champion"),
        (of(models={"": one()}), 'deployedModels[""]'),
        (of(models={"champion": 3}), "deployedModels.champion"),
        (of(models=TWO, update="blue-green"), "update"),
        (of(models=TWO, foreign="adopt"), "foreign"),
        (of(models=TWO, held=["traffic", "labels"]), "held[1]"),
    ],
)
def test_what_else_is_refused(provider: Driver, inputs: dict[str, Any], path: str) -> None:
    _, failures = provider.check(TOKEN, inputs)
    assert path in failures, failures


def test_a_region_without_the_accelerator_is_refused(provider: Driver) -> None:
    endpoint = ENDPOINT.replace("us-central1", "europe-north1")
    _, failures = provider.check(TOKEN, of(endpoint, models={"champion": one() | GPU}))
    assert "no g2-standard-8 of these accelerators in europe-north1" in failures["deployedModels.champion.machineType"]


# Models that are not there yet

YET = f"{PLACE}/models/trained"
JOB = "job train-recommender"


def awaited(traffic: int = 100, **more: Any) -> dict[str, Any]:
    return one(traffic=traffic, **more) | {"model": f"{YET}@champion"}


def brings(vertex: Vertex, inputs: dict[str, Any], *, alias: bool = True) -> str:
    """What the job's runner does: a version, its deploy as the program would do it, all traffic, and the alias at last."""
    version = vertex.upload(model=YET)
    given = inputs["deployedModels"]["champion"]
    settings = {key: value for key, value in given.items() if key not in ("model", "traffic")}
    model = DeployedModel("champion", ENDPOINT, YET, version, settings)
    vertex.ask("POST", f"{ENDPOINT}:deployModel", {"deployedModel": model.body()})
    vertex.give({model.id: 100})
    if alias:
        vertex.alias("champion", version, model=YET)
    vertex.calls()
    return model.id


def test_a_model_that_comes_later_is_awaited(vertex: Vertex, provider: Driver, make: Any) -> None:
    """Nothing is deployed and nothing fails; what the job brings is adopted, and a second look finds nothing to do."""
    id, state, inputs = make(of(models={"champion": awaited()}, awaits={"champion": JOB}))
    assert not vertex.deployed()
    assert provider.notes == [(f"nothing serves yet: trained@champion comes with the first accepted version of {JOB}", False)]
    assert state["deployed"] == {}
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    assert not provider.diff(TOKEN, inputs, inputs, state).detailedDiff

    brought = brings(vertex, inputs)
    id, state, found = provider.read(TOKEN, id, state, inputs)
    assert found == inputs
    assert state["deployed"] == {"champion": {"id": brought, "version": "1"}}
    assert not provider.diff(TOKEN, inputs, inputs, state).detailedDiff
    provider.update(TOKEN, id, state, inputs, inputs)
    assert vertex.calls() == []
    provider.delete(TOKEN, id, state)
    assert not vertex.deployed()


def test_what_is_brought_stays_before_its_alias_moves(vertex: Vertex, provider: Driver, make: Any) -> None:
    """An update between the job's deploy and its alias takes nothing away, and a refresh sees no drift."""
    id, state, inputs = make(of(models={"champion": awaited()}, awaits={"champion": JOB}))
    brought = brings(vertex, inputs, alias=False)
    state = provider.update(TOKEN, id, state, inputs, inputs)
    assert vertex.calls() == []
    assert state["deployed"] == {"champion": {"id": brought, "version": "1"}}
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)


def test_an_alias_without_a_deploy_is_deployed_by_the_next_update(vertex: Vertex, provider: Driver, make: Any) -> None:
    id, state, inputs = make(of(models={"champion": awaited()}, awaits={"champion": JOB}))
    vertex.upload("champion", model=YET)
    id, state, found = provider.read(TOKEN, id, state, inputs)
    assert list(provider.diff(TOKEN, found, inputs, state).detailedDiff) == ["deployedModels.champion"]
    state = provider.update(TOKEN, id, state, found, inputs)
    assert vertex.shares() == {"champion": 100}
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)


def test_the_others_have_the_traffic_of_what_is_not_there_yet(vertex: Vertex, provider: Driver, make: Any) -> None:
    models = {"champion": awaited(50), "old": one(traffic=40), "idle": one("candidate", 10)}
    id, state, inputs = make(of(models=models, awaits={"champion": JOB}))
    assert vertex.shares() == {"old": 80, "idle": 20}
    assert provider.read(TOKEN, id, state, inputs) == (id, state, inputs)
    vertex.give({next(iter(vertex.deployed())): 100})
    _, _, drifted = provider.read(TOKEN, id, state, inputs)
    diff = provider.diff(TOKEN, drifted, inputs, state).detailedDiff
    assert sorted(diff) == ["deployedModels.idle.traffic", "deployedModels.old.traffic"]
    vertex.upload("champion", model=YET)
    provider.update(TOKEN, id, state, drifted, inputs)
    assert vertex.shares() == {"champion": 50, "old": 40, "idle": 10}


def test_another_model_is_not_awaited(vertex: Vertex, provider: Driver) -> None:
    inputs = provider.checked(TOKEN, of(models={"champion": awaited(), "other": awaited(0)}, awaits={"champion": JOB}))
    with pytest.raises(AbortedError, match="there is no such model"):
        provider.create(TOKEN, inputs)
    _, failures = provider.check(TOKEN, of(models={"champion": awaited()}, awaits={"challenger": JOB}))
    assert "'challenger' is none of the deployed models" in failures["awaits.challenger"]


def test_an_awaited_model_of_other_machines_is_no_second_deploy(vertex: Vertex, provider: Driver, make: Any) -> None:
    """Nothing stands yet, so nothing is deployed anew beside it."""
    id, state, inputs = make(of(models={"champion": awaited()}, awaits={"champion": JOB}))
    provider.notes.clear()
    more = provider.checked(TOKEN, of(models={"champion": awaited(machineType="n1-standard-4")}, awaits={"champion": JOB}))
    assert list(provider.diff(TOKEN, inputs, more, state).detailedDiff) == ["deployedModels.champion.machineType"]
    assert provider.notes == []
    provider.update(TOKEN, id, state, inputs, more)
    assert not vertex.deployed()
