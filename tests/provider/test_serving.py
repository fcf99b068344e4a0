"""One endpoint's calls: each done once, whatever answer is lost, and in the order that Vertex AI asks for."""

from __future__ import annotations

from typing import Any

import pytest
from driver import BASE, Sandbox
from hypothesis import given
from hypothesis import strategies as st
from vertex import ENDPOINT, MODEL, Vertex

from infra.provider.calls import GoogleError, OperationError, UnfinishedError
from infra.provider.deployed_model import DeployedModel, Mutation, is_ours, normal, settings_of
from infra.provider.google import Google, Settings
from infra.provider.server import ProviderError
from infra.provider.serving import Look, NoSuchModelError, Serving, shared, without
from infra.sandbox.faults import Fault

DEPLOY, UNDEPLOY, PATCH, MUTATE = ("POST", "deployModel"), ("POST", "undeployModel"), ("PATCH", "77"), ("POST", "mutateDeployedModel")
INPUTS = {"machineType": "n1-standard-2", "minReplicas": 1}


@pytest.fixture
def serving(sandbox: Sandbox, vertex: Vertex) -> Serving:
    return Serving(Google(Settings(sandbox=BASE), lambda seconds: False, http=sandbox.http()), ENDPOINT)


def model(name: str = "champion", version: str = "1", **settings: Any) -> DeployedModel:
    return DeployedModel(name, ENDPOINT, MODEL, version, INPUTS | settings)


def test_a_look_lists_what_is_deployed_whatever_the_split_names(vertex: Vertex, serving: Serving) -> None:
    first, second = (serving.deploy(model(name))["id"] for name in ("champion", "idle"))
    serving.split({first: 100, second: 0})
    look = serving.look()
    assert (set(look.deployed), look.split, look.one_model) == ({first, second}, {first: 100}, False)
    assert look.name == f"projects/{vertex.cloud.projects.number('shop-prod')}/locations/us-central1/endpoints/77"


def test_an_alias_is_a_version(vertex: Vertex, serving: Serving) -> None:
    assert [serving.resolve(f"{MODEL}@{word}") for word in ("champion", "candidate", "2")] == ["1", "2", "2"]
    vertex.alias("champion", "2")
    assert serving.wanted("champion", {"model": f"{MODEL}@champion", "traffic": 100, **INPUTS}) == model(version="2")
    for missing in (f"{MODEL}@nobody", f"{MODEL}@9", MODEL.replace("recommender", "none") + "@champion"):
        with pytest.raises(NoSuchModelError, match="no such model, or no version"):
            serving.resolve(missing)


def test_a_deploy_that_is_there_is_adopted(vertex: Vertex, serving: Serving) -> None:
    """By its id: nothing is sent, and a 409 of a race is none."""
    found = serving.deploy(model())
    vertex.calls()
    assert serving.deploy(model()) == found
    assert vertex.calls() == []
    stale = serving.look()
    looks = iter([Look(stale.name, stale.etag, {}, {}, False)])
    serving.look, look = lambda **_: next(looks, None) or look(), serving.look  # type: ignore[method-assign]
    assert serving.deploy(model()) == found
    assert vertex.calls() == [DEPLOY]


def test_an_id_that_another_version_has_is_not_adopted(vertex: Vertex, serving: Serving) -> None:
    """One in ten million: it is told, never taken for the other."""
    wanted = model(version="2")
    vertex.deploy(id=wanted.id, shown="champion")
    with pytest.raises(ProviderError, match="is the id of version 1 too, by chance"):
        serving.deploy(wanted)


@pytest.mark.parametrize("do", ["lost", "drop", "error"])
def test_a_call_whose_answer_is_lost_is_done_once(vertex: Vertex, serving: Serving, do: str) -> None:
    for at in (1, 2, 3):
        vertex.cloud.faults.add(Fault(do=do, at=at, method="POST"))
    id = serving.deploy(model())["id"]
    serving.split({id: 100})
    serving.mutate(id, Mutation("aiplatform.v1", {"dedicatedResources": {"maxReplicaCount": 3}}, ("dedicatedResources.maxReplicaCount",)))
    assert vertex.deployed()[id]["dedicatedResources"]["maxReplicaCount"] == 3
    serving.undeploy(id)
    assert (vertex.deployed(), vertex.split()) == ({}, {})


def test_what_runs_is_awaited_whoever_began_it(vertex: Vertex, serving: Serving, sandbox: Sandbox) -> None:
    """An operation does not say what it deploys: the endpoint does, once it has ended. That it failed is not ours to tell."""
    vertex.cloud.faults.add(Fault(do="fail", at=1, method="deployModel", message="somebody's fault"))
    http = sandbox.http()
    body = {"deployedModel": {"model": MODEL, "dedicatedResources": {"minReplicaCount": 1}}}
    assert http.post(f"{BASE}/aiplatform.googleapis.com/v1/{ENDPOINT}:deployModel", json=body).json()["name"]
    assert len(serving.running()) == 1
    serving.settle()
    assert serving.running() == []


def test_a_failed_deploy_leaves_nothing_of_itself(vertex: Vertex, serving: Serving) -> None:
    """Where Google leaves the deployed model, though the operation failed, it is undeployed."""
    vertex.cloud.faults.add(Fault(do="fail", at=1, method="deployModel", message="no capacity"))
    with pytest.raises(OperationError, match="no capacity"):
        serving.deploy(model())
    assert vertex.calls() == [DEPLOY]
    vertex.cloud.faults.add(Fault(do="fail", at=1, method="deployModel", message="no capacity"))
    wanted, look = model(), serving.look
    seen: list[bool] = []

    def late(**_: Any) -> Look:
        """After the first look, the failed one stands there."""
        if seen and wanted.id not in vertex.deployed():
            vertex.deploy(id=wanted.id, shown="champion")
        seen.append(True)
        return look()

    serving.look = late  # type: ignore[method-assign]
    with pytest.raises(OperationError, match="no capacity"):
        serving.deploy(wanted)
    assert vertex.calls()[-1] == UNDEPLOY
    assert not vertex.deployed()


def test_a_refused_deploy_begins_nothing(vertex: Vertex, serving: Serving) -> None:
    with pytest.raises(GoogleError, match="404"):
        serving.deploy(model(version="9"))
    assert not vertex.deployed()


def test_a_split_goes_by_the_etag_of_what_was_seen(vertex: Vertex, serving: Serving) -> None:
    """Who changed it meanwhile is not overwritten unseen: it is looked at again, and the split made anew of that."""
    first, second = (serving.deploy(model(name))["id"] for name in ("champion", "challenger"))
    serving.split({first: 100})
    vertex.calls()
    seen: list[dict[str, int]] = []

    def half(look: Look) -> dict[str, int]:
        seen.append(dict(look.split))
        if len(seen) == 1:
            vertex.give({first: 60, second: 40})
        return {first: look.split[first] - 10, second: 100 - look.split[first] + 10}

    serving.split(half)
    assert seen == [{first: 100}, {first: 60, second: 40}]
    assert vertex.split() == {first: 50, second: 50}
    assert vertex.calls() == [PATCH, PATCH, PATCH]


def test_a_split_that_is_so_is_not_sent(vertex: Vertex, serving: Serving) -> None:
    first, second = (serving.deploy(model(name))["id"] for name in ("champion", "challenger"))
    serving.split({first: 100, second: 0})
    vertex.calls()
    serving.split({second: 0, first: 100})
    assert vertex.calls() == []
    with pytest.raises(ProviderError, match="123 is to get traffic and is not deployed any more"):
        serving.split({"123": 100})


def test_an_undeploy_gives_the_traffic_away_before(vertex: Vertex, serving: Serving) -> None:
    """V03, in its proportions; the last one leaves none."""
    ids = [serving.deploy(model(name))["id"] for name in ("a", "b", "c")]
    serving.split(dict(zip(ids, (50, 30, 20), strict=True)))
    vertex.calls()
    serving.undeploy(ids[0])
    assert vertex.split() == {ids[1]: 60, ids[2]: 40}
    serving.undeploy(ids[1])
    serving.undeploy(ids[2])
    assert vertex.calls() == [PATCH, UNDEPLOY] * 3
    serving.undeploy(ids[2])
    assert vertex.calls() == []


def test_a_deadline_is_for_all_operations_together(vertex: Vertex, sandbox: Sandbox) -> None:
    """What has not ended then may end yet: that is told apart from a failure."""
    vertex.cloud.clock.manual = True
    clock = iter(range(0, 100_000, 20))
    google = Google(Settings(sandbox=BASE), lambda seconds: False, now=lambda: next(clock), http=sandbox.http())
    serving = Serving(google, ENDPOINT, seconds=60)
    with pytest.raises(UnfinishedError, match="has not ended"):
        serving.deploy(model())
    assert serving.began


@given(st.dictionaries(st.text("0123456789", min_size=1, max_size=10), st.integers(0, 1000), max_size=8))
def test_shares_are_whole_and_make_a_hundred(weights: dict[str, int]) -> None:
    found = shared(weights)
    assert sum(found.values()) == (100 if sum(weights.values()) else 0)
    assert all(abs(share - 100 * weights[id] / sum(weights.values())) < 1 for id, share in found.items())
    assert 0 not in found.values()


def test_what_is_gone_gets_nothing() -> None:
    assert without({"1": 35, "2": 65}, ["1"]) == {"2": 100}
    assert without({"1": 100}, ["1"]) == {}
    assert without({"1": 34, "2": 33, "3": 33}, ["3"]) == {"1": 51, "2": 49}


SETTINGS = st.fixed_dictionaries(
    {"machineType": st.sampled_from(["n1-standard-2", "n1-highmem-8"]), "minReplicas": st.integers(1, 3)},
    optional={
        "maxReplicas": st.integers(3, 5),
        "requiredReplicas": st.just(1),
        "metrics": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 100)),
        "spot": st.booleans(),
        "containerLogging": st.booleans(),
        "accessLogging": st.booleans(),
        "serviceAccount": st.sampled_from(["a@b", "c@d"]),
        "acceleratorType": st.just("NVIDIA_L4"),
        "acceleratorCount": st.integers(1, 4),
        "flexStart": st.fixed_dictionaries({"maxRunSeconds": st.integers(1, 9)}),
        "reservation": st.just({"affinity": "ANY_RESERVATION"}),
    },
)


@given(SETTINGS, SETTINGS)
def test_what_is_sent_is_what_is_read(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Settings survive the API's form; an id is another exactly where something differs that cannot be changed in place."""
    one, other = (DeployedModel("champion", ENDPOINT, MODEL, "1", settings) for settings in (first, second))
    assert normal(settings_of(one.body())) == normal(first)
    assert is_ours(one.body())
    fixed = [
        {key: normal(settings)[key] for key in ("machineType", "spot", "accessLogging", "serviceAccount")} for settings in (first, second)
    ]
    rest = [
        {key: settings.get(key) for key in ("acceleratorType", "acceleratorCount", "flexStart", "reservation")}
        for settings in (first, second)
    ]
    assert (one.id == other.id) == (fixed[0] == fixed[1] and rest[0] == rest[1])
    changed = [part for mutation in one.mutations(other.body()) for part in mutation.mask]
    assert not list(one.mutations(one.body()))
    scaling = [
        {key: normal(settings)[key] for key in ("minReplicas", "maxReplicas", "metrics", "containerLogging")}
        for settings in (first, second)
    ]
    assert bool(changed) or scaling[0] == scaling[1]


def test_the_project_counts_but_not_how_it_is_called() -> None:
    """Another project's model of that name is another model."""
    there = DeployedModel("champion", ENDPOINT, MODEL.replace("shop-prod", "shop-dev"), "1", INPUTS)
    assert there.id != model().id
    numbers = DeployedModel("champion", ENDPOINT.replace("shop-prod", "123"), MODEL.replace("shop-prod", "123"), "1", INPUTS)
    assert numbers.id == model().id
