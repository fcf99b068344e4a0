"""Vertex AI: endpoints and what is deployed on them, the model registry, pools, tensorboards, datasets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.faults import Fault

HOST = "asia-east1-aiplatform.googleapis.com"
PLACE = "v1/projects/{project}/locations/asia-east1"
ENDPOINT = f"{PLACE}/endpoints/ranker"
MACHINES = {"machineSpec": {"machineType": "g2-standard-8"}, "minReplicaCount": 1, "maxReplicaCount": 2}

Ask = Callable[..., Answer]
Done = Callable[[str, str, Answer], Answer]


@pytest.fixture
def number(cloud: Cloud) -> str:
    return cloud.projects.number("shop-prod")


@pytest.fixture
def endpoint(ask: Ask, done: Done) -> Any:
    """What a new endpoint's operation answers at its end."""
    body = {"displayName": "ranker", "labels": {"a": "b"}, "dedicatedEndpointEnabled": True}
    return done(HOST, "v1", ask("POST", HOST, f"{PLACE}/endpoints", body, endpointId="ranker")).body


@pytest.fixture
def upload(ask: Ask, done: Done) -> Callable[..., Any]:
    """Uploads a version of a model: `upload("m", ["canary"])`."""

    def upload(name: str, aliases: list[str], parent: str = "") -> Any:
        model = {"displayName": name, "containerSpec": {"imageUri": "asia-east1-docker.pkg.dev/p/r/i"}, "versionAliases": aliases}
        where = {"parentModel": parent} if parent else {"modelId": name}
        return done(HOST, "v1", ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, **where})).body

    return upload


@pytest.fixture
def deploy(ask: Ask, done: Done) -> Callable[..., Any]:
    """Deploys a model on the endpoint: `deploy("1", {"0": 100})`."""

    def deploy(chosen: str, split: dict[str, int], model: str = "m", **more: Any) -> Answer:
        resources = {} if "sharedResources" in more else {"dedicatedResources": MACHINES}
        deployed = {"id": chosen, "model": f"projects/shop-prod/locations/asia-east1/models/{model}", **resources, **more}
        answer = ask("POST", HOST, f"{ENDPOINT}:deployModel", {"deployedModel": deployed, "trafficSplit": split})
        return done(HOST, "v1", answer) if answer.status == 200 else answer

    return deploy


def test_an_endpoint_is_known_by_the_projects_number(ask: Ask, endpoint: Any, number: str) -> None:
    name = f"projects/{number}/locations/asia-east1/endpoints/ranker"
    assert endpoint["name"].startswith(f"{name}/operations/")
    assert endpoint["metadata"]["@type"] == "type.googleapis.com/google.cloud.aiplatform.v1.CreateEndpointOperationMetadata"
    assert endpoint["response"]["@type"] == "type.googleapis.com/google.cloud.aiplatform.v1.Endpoint"
    assert not {"createTime", "updateTime", "etag"} & endpoint["response"].keys()
    got = ask("GET", HOST, ENDPOINT).body
    assert (got["name"], got["labels"], "etag" in got) == (name, {"a": "b"}, True)
    assert got["dedicatedEndpointDns"] == f"ranker.asia-east1-{number}.prediction.vertexai.goog"
    assert ask("GET", HOST, f"v1beta1/{name}").body == got


def test_an_id_is_made_where_none_is_chosen(ask: Ask, done: Done) -> None:
    made = done(HOST, "v1", ask("POST", HOST, f"{PLACE}/endpoints", {"displayName": "e"})).body["response"]
    assert made["name"].rpartition("/")[2].isdecimal()


@pytest.mark.parametrize(
    ("body", "chosen", "field"),
    [
        ({}, "e", "endpoint.display_name"),
        ({"displayName": "e"}, "Upper", "endpoint_id"),
        ({"displayName": "e"}, "012", "endpoint_id"),
        ({"displayName": "e", "trafficSplit": {"1": 100}}, "e", "endpoint.traffic_split"),
    ],
)
def test_fails_to_make_an_endpoint(ask: Ask, body: dict[str, Any], chosen: str, field: str) -> None:
    answer = ask("POST", HOST, f"{PLACE}/endpoints", body, endpointId=chosen)
    assert (answer.status, f"List of found errors:\t1.Field: {field}; Message: " in answer.body["error"]["message"]) == (400, True)


def test_a_patch_answers_the_endpoint_and_heeds_its_etag(ask: Ask, endpoint: Any) -> None:
    before = ask("GET", HOST, ENDPOINT).body
    after = ask("PATCH", HOST, ENDPOINT, {"description": "new", "displayName": "x"}, updateMask="description").body
    assert (after["description"], after["displayName"], after["etag"] != before["etag"]) == ("new", "ranker", True)
    stale = ask("PATCH", HOST, ENDPOINT, {"description": "newer", "etag": before["etag"]}, updateMask="description")
    assert (stale.status, stale.body["error"]["status"]) == (409, "ABORTED")


@pytest.mark.parametrize("field", ["network", "dedicatedEndpointEnabled", "encryptionSpec"])
def test_fails_to_change_what_is_fixed(ask: Ask, endpoint: Any, field: str) -> None:
    value = {"network": "n", "dedicatedEndpointEnabled": False, "encryptionSpec": {"kmsKeyName": "k"}}[field]
    assert ask("PATCH", HOST, ENDPOINT, {field: value}, updateMask=field).status == 400


def test_a_deploy_adds_a_model_and_gives_it_traffic(ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any, number: str) -> None:
    upload("m", [])
    operation = deploy("1", {"0": 100}).body
    assert operation["metadata"]["@type"].endswith(".v1.DeployModelOperationMetadata")
    assert operation["response"]["@type"].endswith(".v1.DeployModelResponse")
    assert operation["response"]["deployedModel"]["id"] == "1"
    got = ask("GET", HOST, ENDPOINT).body
    (deployed,) = got["deployedModels"]
    assert got["trafficSplit"] == {"1": 100}
    assert (deployed["modelVersionId"], deployed["displayName"]) == ("1", "m")
    assert deployed["model"] == f"projects/{number}/locations/asia-east1/models/m"


def test_a_second_deploy_shares_the_traffic(ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    deploy("2", {"0": 10, "1": 90})
    assert ask("GET", HOST, ENDPOINT).body["trafficSplit"] == {"1": 90, "2": 10}
    deploy("3", {"0": 0, "1": 90, "2": 10})
    assert ask("GET", HOST, ENDPOINT).body["trafficSplit"] == {"1": 90, "2": 10, "3": 0}
    deploy("4", {})
    assert ask("GET", HOST, ENDPOINT).body["trafficSplit"] == {"1": 90, "2": 10, "3": 0}


def test_until_a_deploy_ends_nothing_serves(cloud: Cloud, ask: Ask, endpoint: Any, upload: Callable[..., Any]) -> None:
    upload("m", [])
    body = {"model": "projects/shop-prod/locations/asia-east1/models/m", "dedicatedResources": MACHINES}
    ask("POST", HOST, f"{ENDPOINT}:deployModel", {"deployedModel": body})
    assert "deployedModels" not in ask("GET", HOST, ENDPOINT).body
    cloud.clock.advance(601)
    assert len(ask("GET", HOST, ENDPOINT).body["deployedModels"]) == 1


def test_a_deploy_that_fails_leaves_the_endpoint_as_it_was(
    cloud: Cloud, ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any
) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    before = ask("GET", HOST, ENDPOINT).body
    cloud.faults.add(Fault(do="fail", path="endpoints/ranker", message="no L4 left"))
    assert deploy("2", {"0": 50, "1": 50}).body["error"]["message"] == "no L4 left"
    assert ask("GET", HOST, ENDPOINT).body == before


@pytest.mark.parametrize(
    ("split", "more", "status"),
    [
        ({"0": 99}, {}, 400),
        ({"0": 50, "9": 50}, {}, 400),
        ({"0": 110, "1": -10}, {}, 400),
        ({}, {"model": "projects/shop-prod/locations/asia-east1/models/no"}, 404),
        ({}, {"id": "1"}, 409),
        ({}, {"automaticResources": {"minReplicaCount": 1}}, 400),
        ({}, {"dedicatedResources": {"machineSpec": {"machineType": "g2-standard-8"}}}, 400),
        ({}, {"dedicatedResources": {**MACHINES, "minReplicaCount": 3}}, 400),
        ({}, {"dedicatedResources": {**MACHINES, "requiredReplicaCount": 2}}, 400),
        ({}, {"id": "12345678901"}, 400),
        ({}, {"id": "a1"}, 400),
        ({}, {"sharedResources": "projects/shop-prod/locations/asia-east1/deploymentResourcePools/no"}, 404),
    ],
)
def test_fails_to_deploy(
    ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any, split: dict[str, int], more: dict[str, Any], status: int
) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    deployed = {"id": "2", "model": "projects/shop-prod/locations/asia-east1/models/m"}
    deployed |= ({} if "sharedResources" in more else {"dedicatedResources": MACHINES}) | more
    answer = ask("POST", HOST, f"{ENDPOINT}:deployModel", {"deployedModel": deployed, "trafficSplit": split})
    assert answer.status == status, answer.body


def test_traffic_goes_only_to_what_is_deployed_and_adds_up(ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    deploy("2", {})
    for split in ({"1": 60, "2": 30}, {"1": 60, "3": 40}):
        assert ask("PATCH", HOST, ENDPOINT, {"trafficSplit": split}, updateMask="trafficSplit").status == 400
    assert ask("PATCH", HOST, ENDPOINT, {"trafficSplit": {"1": 60, "2": 40}}, updateMask="traffic_split").status == 200
    assert "trafficSplit" not in ask("PATCH", HOST, ENDPOINT, {"trafficSplit": {}}, updateMask="trafficSplit").body


def test_only_what_has_no_traffic_is_undeployed(ask: Ask, done: Done, endpoint: Any, upload: Callable[..., Any], deploy: Any) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    deploy("2", {"0": 20, "1": 80})
    undeploy = f"{ENDPOINT}:undeployModel"
    refused = ask("POST", HOST, undeploy, {"deployedModelId": "1"})
    assert (refused.status, refused.body["error"]["status"]) == (400, "FAILED_PRECONDITION")
    assert ask("POST", HOST, undeploy, {"deployedModelId": "7"}).status == 404
    moved = done(HOST, "v1", ask("POST", HOST, undeploy, {"deployedModelId": "1", "trafficSplit": {"2": 100}})).body
    assert moved["response"] == {"@type": "type.googleapis.com/google.cloud.aiplatform.v1.UndeployModelResponse"}
    assert ask("GET", HOST, ENDPOINT).body["trafficSplit"] == {"2": 100}
    done(HOST, "v1", ask("POST", HOST, undeploy, {"deployedModelId": "2"}))
    assert not {"deployedModels", "trafficSplit"} & ask("GET", HOST, ENDPOINT).body.keys()


def test_replicas_are_mutated_in_place_and_nothing_else(
    ask: Ask, done: Done, endpoint: Any, upload: Callable[..., Any], deploy: Any
) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    body = {"deployedModel": {"id": "1", "dedicatedResources": {"maxReplicaCount": 5}}, "updateMask": "dedicatedResources.maxReplicaCount"}
    done(HOST, "v1", ask("POST", HOST, f"{ENDPOINT}:mutateDeployedModel", body))
    assert ask("GET", HOST, ENDPOINT).body["deployedModels"][0]["dedicatedResources"] == MACHINES | {"maxReplicaCount": 5}
    body["updateMask"] = "dedicatedResources.machineSpec"
    assert ask("POST", HOST, f"{ENDPOINT}:mutateDeployedModel", body).status == 400


def test_a_machine_has_a_default(ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any) -> None:
    upload("m", [])
    deploy("1", {"0": 100}, dedicatedResources={"minReplicaCount": 1})
    (deployed,) = ask("GET", HOST, ENDPOINT).body["deployedModels"]
    assert deployed["dedicatedResources"] == {"machineSpec": {"machineType": "n1-standard-2"}, "minReplicaCount": 1}


def test_each_version_of_the_api_mutates_and_shows_what_it_has(
    ask: Ask, done: Done, endpoint: Any, upload: Callable[..., Any], deploy: Any
) -> None:
    """Scaling to zero is of v1beta1 alone, and each version has a field of its own for the container's output."""
    upload("m", [])
    deploy("1", {"0": 100})
    beta = ENDPOINT.replace("v1/", "v1beta1/")
    zero = {"dedicatedResources": {"scaleToZeroSpec": {"idleScaledownPeriod": "300s"}}}
    for where, fields, mask, status in (
        (ENDPOINT, {"disableContainerLogging": True}, "disableContainerLogging", 200),
        (beta, {"disableContainerLogging": True}, "disableContainerLogging", 400),
        (beta, {"enableContainerLogging": True}, "enableContainerLogging", 200),
        (beta, zero, "dedicatedResources.scaleToZeroSpec,dedicatedResources.minReplicaCount", 200),
    ):
        body = {"deployedModel": {"id": "1", **fields}, "updateMask": mask}
        answer = ask("POST", HOST, f"{where}:mutateDeployedModel", body)
        assert answer.status == status, answer.body
        if status == 200:
            done(HOST, "v1", answer)
    assert "scaleToZeroSpec" in ask("GET", HOST, beta).body["deployedModels"][0]["dedicatedResources"]
    assert "scaleToZeroSpec" not in ask("GET", HOST, ENDPOINT).body["deployedModels"][0]["dedicatedResources"]


def test_a_private_endpoint_takes_one_model_and_no_split(
    ask: Ask, done: Done, upload: Callable[..., Any], deploy: Any, number: str
) -> None:
    upload("m", [])
    body = {"displayName": "ranker", "network": f"projects/{number}/global/networks/inside"}
    done(HOST, "v1", ask("POST", HOST, f"{PLACE}/endpoints", body, endpointId="ranker"))
    deploy("1", {})
    assert deploy("2", {}).body["error"]["status"] == "FAILED_PRECONDITION"
    assert ask("PATCH", HOST, ENDPOINT, {"trafficSplit": {"1": 100}}, updateMask="trafficSplit").status == 400


def test_an_endpoint_by_private_service_connect_has_an_attachment_once_a_model_is_deployed(
    ask: Ask, done: Done, upload: Callable[..., Any], deploy: Any
) -> None:
    """One for all that is deployed, in a project of Google's; it has no name in the internet, and shares traffic like a public one."""
    upload("m", [])
    config = {"enablePrivateServiceConnect": True, "projectAllowlist": ["shop-web"]}
    body = {"displayName": "ranker", "privateServiceConnectConfig": config, "dedicatedEndpointEnabled": True}
    done(HOST, "v1", ask("POST", HOST, f"{PLACE}/endpoints", body, endpointId="ranker"))
    before = ask("GET", HOST, ENDPOINT).body
    assert (before["privateServiceConnectConfig"], "dedicatedEndpointDns" in before) == (config, False)
    deploy("1", {"0": 100})
    deploy("2", {"1": 90, "0": 10})
    first, second = (one["privateEndpoints"] for one in ask("GET", HOST, ENDPOINT).body["deployedModels"])
    assert first == second
    assert re.fullmatch(
        r"projects/[a-z][0-9a-f]{16}-tp/regions/asia-east1/serviceAttachments/gkedpm-[0-9a-f]{30}", first["serviceAttachment"]
    )
    changed = {"privateServiceConnectConfig": config | {"projectAllowlist": ["shop-web", "shop-app"]}}
    assert ask("PATCH", HOST, ENDPOINT, changed, updateMask="privateServiceConnectConfig").status == 400


def test_a_public_endpoint_has_no_attachment(ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    assert "privateEndpoints" not in ask("GET", HOST, ENDPOINT).body["deployedModels"][0]


def test_an_endpoint_with_a_model_is_not_deleted(ask: Ask, endpoint: Any, upload: Callable[..., Any], deploy: Any, number: str) -> None:
    upload("m", [])
    deploy("1", {"0": 100})
    assert ask("DELETE", HOST, ENDPOINT).body["error"]["status"] == "FAILED_PRECONDITION"
    in_use = ask("DELETE", HOST, f"{PLACE}/models/m").body["error"]
    assert f"projects/{number}/locations/asia-east1/endpoints/ranker" in in_use["message"]


def test_a_delete_is_done_in_its_answer(ask: Ask, endpoint: Any, number: str) -> None:
    answer = ask("DELETE", HOST, ENDPOINT).body
    assert answer["name"].startswith(f"projects/{number}/locations/asia-east1/operations/")
    assert (answer["done"], answer["response"]) == (True, {"@type": "type.googleapis.com/google.protobuf.Empty"})
    assert answer["metadata"]["@type"].endswith(".v1.DeleteOperationMetadata")
    gone = ask("GET", HOST, ENDPOINT)
    assert (gone.status, gone.body["error"]["message"]) == (404, "The Endpoint does not exist.")


def test_with_a_manual_clock_a_busy_endpoint_is_not_changed() -> None:
    cloud = Cloud(clock=Clock(manual=True))
    cloud.projects.make("p")
    path = "v1/projects/p/locations/asia-east1/endpoints"
    cloud.handle(Request("POST", HOST, path, {"endpointId": "e"}, b'{"displayName": "e"}'))
    busy = cloud.handle(Request("PATCH", HOST, f"{path}/e", {"updateMask": "description"}, b'{"description": "d"}'))
    assert (busy.status, busy.body["error"]["status"]) == (409, "ABORTED")


def test_who_may_call_an_endpoint_is_kept(ask: Ask, endpoint: Any) -> None:
    beta = ENDPOINT.replace("v1/", "v1beta1/")
    bindings = [{"role": "roles/aiplatform.user", "members": ["user:a@shop.example"]}]
    ask("POST", HOST, f"{beta}:setIamPolicy", {"policy": {"bindings": bindings}})
    assert ask("POST", HOST, f"{beta}:getIamPolicy").body["bindings"] == bindings
    assert ask("POST", HOST, f"{beta.replace('ranker', 'no')}:getIamPolicy").status == 404


def test_an_upload_answers_the_models_name_and_version(ask: Ask, upload: Callable[..., Any], number: str) -> None:
    operation = upload("m", ["canary"])
    name = f"projects/{number}/locations/asia-east1/models/m"
    kind = "type.googleapis.com/google.cloud.aiplatform.v1.UploadModelResponse"
    assert operation["response"] == {"@type": kind, "model": name, "modelVersionId": "1"}
    assert operation["name"].startswith(f"{name}/operations/")
    got = ask("GET", HOST, f"{PLACE}/models/m").body
    assert (got["name"], got["versionId"], got["versionAliases"]) == (name, "1", ["canary", "default"])
    assert ask("GET", HOST, f"{PLACE}/models").body["models"] == [got]


def test_a_version_goes_by_number_and_by_alias_and_aliases_move(ask: Ask, upload: Callable[..., Any]) -> None:
    upload("m", ["canary"])
    upload("m", ["canary"], parent="projects/shop-prod/locations/asia-east1/models/m")
    versions = {item["versionId"]: item.get("versionAliases") for item in ask("GET", HOST, f"{PLACE}/models/m:listVersions").body["models"]}
    assert versions == {"1": ["default"], "2": ["canary"]}
    assert ask("GET", HOST, f"{PLACE}/models/m").body["versionId"] == "1"
    assert ask("GET", HOST, f"{PLACE}/models/m@canary").body["versionId"] == "2"
    merged = ask("POST", HOST, f"{PLACE}/models/m@2:mergeVersionAliases", {"versionAliases": ["default", "-canary"]}).body
    assert merged["versionAliases"] == ["default"]
    assert ask("GET", HOST, f"{PLACE}/models/m").body["versionId"] == "2"
    assert ask("GET", HOST, f"{PLACE}/models/m@canary").body["error"]["message"] == "The Model does not exist."
    assert ask("POST", HOST, f"{PLACE}/models/m@2:mergeVersionAliases", {"versionAliases": ["-default"]}).status == 400


def test_the_last_and_the_default_version_stay(ask: Ask, upload: Callable[..., Any]) -> None:
    upload("m", [])
    assert ask("DELETE", HOST, f"{PLACE}/models/m@1:deleteVersion").status == 400
    upload("m", [], parent="projects/shop-prod/locations/asia-east1/models/m")
    assert ask("DELETE", HOST, f"{PLACE}/models/m@1:deleteVersion").status == 400
    assert ask("DELETE", HOST, f"{PLACE}/models/m@2:deleteVersion").body["done"]
    assert len(ask("GET", HOST, f"{PLACE}/models/m:listVersions").body["models"]) == 1
    ask("DELETE", HOST, f"{PLACE}/models/m")
    assert ask("GET", HOST, f"{PLACE}/models").body == {}


def test_an_upload_that_fails_leaves_no_model(cloud: Cloud, ask: Ask, upload: Callable[..., Any]) -> None:
    cloud.faults.add(Fault(do="fail", path="models/m", message="no"))
    assert upload("m", [])["error"]["message"] == "no"
    assert ask("GET", HOST, f"{PLACE}/models/m").status == 404


@pytest.mark.parametrize(
    ("model", "more", "field"),
    [
        ({}, {}, "model.display_name"),
        ({"displayName": "m", "containerSpec": {"ports": []}}, {}, "model.container_spec.image_uri"),
        ({"displayName": "m"}, {"modelId": "9m"}, "model_id"),
        ({"displayName": "m", "versionAliases": ["1"]}, {}, "version_aliases"),
    ],
)
def test_fails_to_upload(ask: Ask, model: dict[str, Any], more: dict[str, str], field: str) -> None:
    answer = ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, **more})
    assert (answer.status, f"Field: {field};" in answer.body["error"]["message"]) == (400, True)


def test_a_models_container_is_not_changed(ask: Ask, upload: Callable[..., Any]) -> None:
    upload("m", [])
    assert ask("PATCH", HOST, f"{PLACE}/models/m", {"description": "d"}, updateMask="description").body["description"] == "d"
    assert ask("PATCH", HOST, f"{PLACE}/models/m", {"containerSpec": {"imageUri": "x"}}, updateMask="containerSpec").status == 400


def test_a_pool_is_shared_and_then_not_deleted(ask: Ask, done: Done, endpoint: Any, upload: Callable[..., Any], deploy: Any) -> None:
    pool = f"{PLACE}/deploymentResourcePools"
    body = {"deploymentResourcePool": {"dedicatedResources": MACHINES, "name": "shared"}, "deploymentResourcePoolId": "shared"}
    done(HOST, "v1", ask("POST", HOST, pool, body))
    got = ask("GET", HOST, f"{pool}/shared").body
    assert (got["dedicatedResources"], got["satisfiesPzi"]) == (MACHINES, True)
    upload("m", [])
    deploy("1", {"0": 100}, sharedResources="projects/shop-prod/locations/asia-east1/deploymentResourcePools/shared")
    assert ask("GET", HOST, f"{pool}/shared:queryDeployedModels").body["deployedModels"][0]["id"] == "1"
    assert ask("DELETE", HOST, f"{pool}/shared").body["error"]["status"] == "FAILED_PRECONDITION"
    ask("POST", HOST, f"{ENDPOINT}:undeployModel", {"deployedModelId": "1"})
    assert ask("DELETE", HOST, ENDPOINT).body["done"]
    assert ask("DELETE", HOST, f"{pool}/shared").body["done"]


def test_a_tensorboard_and_its_experiment(ask: Ask, done: Done, number: str) -> None:
    operation = done(HOST, "v1beta1", ask("POST", HOST, f"{PLACE}/tensorboards", {"displayName": "runs"})).body
    assert "blobStoragePathPrefix" not in operation["response"]
    name = operation["response"]["name"]
    assert ask("GET", HOST, f"v1/{name}").body["blobStoragePathPrefix"].startswith("cloud-ai-platform-")
    changed = ask("PATCH", HOST, f"v1/{name}", {"isDefault": True}, updateMask="isDefault").body
    assert (changed["done"], changed["response"]["isDefault"]) == (True, True)
    assert changed["name"].startswith(f"projects/{number}/locations/asia-east1/operations/")
    missing = ask("GET", HOST, f"v1/{name}/experiments/e")
    assert missing.body["error"]["message"] == f"TensorboardExperiment {name}/experiments/e is not found."
    assert ask("POST", HOST, f"v1/{name}/experiments", {"displayName": "e"}, tensorboardExperimentId="e").body["displayName"] == "e"
    assert ask("DELETE", HOST, f"v1/{name}/experiments/e").body["name"].startswith(f"{name}/operations/")


def test_a_tensorboard_is_named_by_a_number(ask: Ask) -> None:
    answer = ask("GET", HOST, f"{PLACE}/tensorboards/runs")
    said = "List of found errors:\t1.Field: name; Message: Invalid Tensorboard resource name.\t"
    assert (answer.status, answer.body["error"]["message"]) == (400, said)


def test_a_dataset_gets_its_bucket_and_artifact_later(ask: Ask, done: Done) -> None:
    where = "gs://google-cloud-aiplatform/schema/dataset"
    body = {"displayName": "d", "metadataSchemaUri": f"{where}/metadata/image_1.0.0.yaml"}
    response = done(HOST, "v1", ask("POST", HOST, f"{PLACE}/datasets", body)).body["response"]
    assert response["metadata"] == {"dataItemSchemaUri": f"{where}/dataitem/image_1.0.0.yaml"}
    assert response["labels"] == {"aiplatform.googleapis.com/dataset_metadata_schema": "IMAGE"}
    got = ask("GET", HOST, f"v1/{response['name']}").body
    assert (got["metadata"]["gcsBucket"][:18], "/artifacts/" in got["metadataArtifact"]) == ("cloud-ai-platform-", True)


def test_what_has_no_kind_of_its_own_is_kept_as_sent(ask: Ask) -> None:
    body = {"displayName": "nightly", "trialJobSpec": {"workerPoolSpecs": [{"replicaCount": "1"}]}}
    made = ask("POST", HOST, f"{PLACE}/hyperparameterTuningJobs", body).body
    assert (made["trialJobSpec"], "createTime" in made) == (body["trialJobSpec"], True)
    assert ask("GET", HOST, f"v1/{made['name']}").body == made
    assert ask("GET", HOST, f"{PLACE}/hyperparameterTuningJobs/1").body["error"]["message"] == "The HyperparameterTuningJob does not exist."


def test_a_version_is_there_once_its_upload_has_ended(cloud: Cloud, ask: Ask, upload: Callable[..., Any]) -> None:
    """Until then there is no model to get, to list, to give aliases to, and its id is taken. The operation is listed under it."""
    model = {"displayName": "m", "containerSpec": {"imageUri": "i"}, "versionAliases": ["canary"]}
    begun = ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, "modelId": "m"}).body
    assert ask("GET", HOST, f"{PLACE}/models/m").status == 404
    assert ask("GET", HOST, f"{PLACE}/models").body == {}
    assert ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, "modelId": "m"}).status == 409
    (running,) = ask("GET", HOST, f"{PLACE}/models/m/operations").body["operations"]
    assert (running["name"], "done" in running) == (begun["name"], False)
    cloud.clock.advance(60)
    assert ask("GET", HOST, f"{PLACE}/models/m").body["versionAliases"] == ["canary", "default"]
    ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, "parentModel": "projects/shop-prod/locations/asia-east1/models/m"})
    assert ask("GET", HOST, f"{PLACE}/models/m@canary").body["versionId"] == "1"
    cloud.clock.advance(60)
    assert ask("GET", HOST, f"{PLACE}/models/m@canary").body["versionId"] == "2"
    assert ask("GET", HOST, f"{PLACE}/models/m").body["versionAliases"] == ["default"]


def test_two_uploads_end_in_their_order(cloud: Cloud, ask: Ask, upload: Callable[..., Any]) -> None:
    """The alias that both ask for is the later one's; one that fails takes none."""
    upload("m", [])
    parent = "projects/shop-prod/locations/asia-east1/models/m"
    model = {"displayName": "m", "containerSpec": {"imageUri": "i"}, "versionAliases": ["canary"]}
    for _ in range(2):
        ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, "parentModel": parent})
    cloud.faults.add(Fault(do="fail", at=1, path="models/m"))
    ask("POST", HOST, f"{PLACE}/models:upload", {"model": model, "parentModel": parent})
    cloud.clock.advance(60)
    versions = {item["versionId"]: item.get("versionAliases") for item in ask("GET", HOST, f"{PLACE}/models/m:listVersions").body["models"]}
    assert versions == {"1": ["default"], "2": None, "3": ["canary"]}


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ({"displayName": "x" * 129}, "model.display_name"),
        ({"labels": {"Owner": "x"}}, "model.labels"),
        ({"labels": {"owner": "x" * 65}}, "model.labels"),
        ({"containerSpec": {"imageUri": "i", "ports": [{"containerPort": 70000}]}}, "model.container_spec.ports"),
        ({"containerSpec": {"imageUri": "i", "env": [{"name": "1", "value": "x"}]}}, "model.container_spec.env"),
        ({"containerSpec": {"imageUri": "i", "env": [{"name": f"A{n}"} for n in range(201)]}}, "model.container_spec.env"),
        ({"containerSpec": {"imageUri": "i", "deploymentTimeout": "7201s"}}, "model.container_spec.deployment_timeout"),
    ],
)
def test_fails_to_upload_what_the_document_excludes(ask: Ask, model: dict[str, Any], field: str) -> None:
    answer = ask("POST", HOST, f"{PLACE}/models:upload", {"model": {"displayName": "m"} | model})
    assert (answer.status, f"Field: {field};" in answer.body["error"]["message"]) == (400, True)


def test_files_are_in_the_services_own_location(ask: Ask) -> None:
    """In the words that users of it quote."""
    ask("POST", "storage.googleapis.com", "storage/v1/b", {"name": "elsewhere", "location": "US"}, project="shop-prod")
    model = {"displayName": "m", "artifactUri": "gs://elsewhere/x", "containerSpec": {"imageUri": "i"}}
    error = ask("POST", HOST, f"{PLACE}/models:upload", {"model": model}).body["error"]
    said = "The Cloud Storage bucket of `gs://elsewhere/x` is in location `us`. It must be in the same regional location as the service "
    assert (error["status"], error["message"]) == ("FAILED_PRECONDITION", f"{said}location `asia-east1`.")


@pytest.mark.parametrize(("method", "verb"), [("POST", "mergeVersionAliases"), ("DELETE", "deleteVersion")])
def test_a_version_is_named_where_one_is_meant(ask: Ask, upload: Callable[..., Any], method: str, verb: str) -> None:
    upload("m", [])
    answer = ask(method, HOST, f"{PLACE}/models/m:{verb}", {"versionAliases": ["x"]} if method == "POST" else None)
    assert (answer.status, "Field: name;" in answer.body["error"]["message"]) == (400, True)
