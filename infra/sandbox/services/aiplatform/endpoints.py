"""Endpoints, what is deployed on them, and pools of machines that several share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import number
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.aiplatform import models, parts
from infra.sandbox.services.aiplatform.parts import HOST, found_errors, precondition

ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|[1-9][0-9]{0,9}")
"""Source: `endpointId` in the discovery document; the provider's reference allows ten digits."""
RESOURCES = ("dedicatedResources", "automaticResources", "sharedResources")
DEPLOYED_ID = re.compile(r"[0-9]{1,10}")
"""Source: DeployedModel.id in the discovery document."""
DEFAULT_MACHINE = "n1-standard-2"
"""Of a DeployedModel. Source: MachineSpec.machineType in the discovery document."""
BETA_ONLY = ("flexStart", "initialReplicaCount", "scaleToZeroSpec")
"""Fields of DedicatedResources that v1beta1 alone has, and shows."""
MUTABLE = (
    r"(dedicatedResources|automaticResources)\.(minReplicaCount|maxReplicaCount)|"
    r"dedicatedResources\.(requiredReplicaCount|autoscalingMetricSpecs)|autoscalingMetricSpecs"
)
MUTABLE_IN = {
    "v1": re.compile(f"{MUTABLE}|disableContainerLogging"),
    "v1beta1": re.compile(rf"{MUTABLE}|enableContainerLogging|dedicatedResources\.(scaleToZeroSpec|initialReplicaCount)"),
}
"""Source: MutateDeployedModelRequest.deployedModel in the discovery document."""
DEPLOY, UNDEPLOY, MUTATE = 600, 120, 180
"""Seconds that a deploy and its kin take here: Google says that a deploy takes several minutes."""


def _fill(call: Call, body: Body) -> None:
    parts.required(body, {"displayName": "endpoint.display_name"})  # "Required." in the discovery document
    parts.fill(call, body)
    if body.get("dedicatedEndpointEnabled") and not _is_private(body):  # DeployRequestEndpointConfig, discovery document of v1beta1
        words = call.target.split("/")
        body["dedicatedEndpointDns"] = f"{words[5]}.{words[3]}-{call.number}.prediction.vertexai.goog"  # its form: discovery document


def _is_private(endpoint: Body) -> bool:
    """Whether it is reached by Private Service Connect."""
    return bool(endpoint.get("privateServiceConnectConfig", {}).get("enablePrivateServiceConnect"))


def _attachment(endpoint: Body) -> str:
    """
    The service attachment of an endpoint: of what is deployed there, all of it has one and the same.

    Source: Google's guide "Use dedicated private endpoints based on Private Service Connect for online inference": one is made for the
    endpoint when a model is deployed, in a project of Google's; `projects/ac74a9f84c2e5f2a1-tp/.../gkedpm-c6e6a854a634dc99472bb802f503c1`.
    That it stays while nothing is deployed, no source says.
    """
    made = hashlib.sha256(f"{endpoint['name']} {endpoint['createTime']}".encode()).hexdigest()
    return f"projects/a{made[:16]}-tp/regions/{endpoint['name'].split('/')[3]}/serviceAttachments/gkedpm-{made[16:46]}"


def _check(call: Call, body: Body, before: Body | None) -> None:
    parts.check_etag(call, before)
    body["etag"] = (before or body)["etag"]
    if body.get("network") and body.get("privateServiceConnectConfig"):
        raise invalid("Only one of the fields, network or private_service_connect_config, can be set.")  # discovery document
    if before is None:
        chosen = call.query.get("endpointId", "")
        if chosen and not ID.fullmatch(chosen):
            raise found_errors([("endpoint_id", f"Invalid endpoint ID: {chosen}")])
        if body.pop("trafficSplit", None):
            raise found_errors([("endpoint.traffic_split", "No model is deployed yet.")])
        return
    if body.get("trafficSplit") != before.get("trafficSplit"):
        if body.get("trafficSplit") and body.get("network"):
            # The same guide: "Private endpoints don't support traffic splitting".
            raise precondition("Traffic splitting is not supported for a private Endpoint.")
        _check_split(body.get("trafficSplit") or {}, _ids(before))


def _check_split(split: Body, ids: set[str]) -> None:
    """
    Raises:
        Refused: It names what is not deployed, or does not add up. Source: Endpoint.trafficSplit in the discovery document.
    """
    if unknown := sorted(set(split) - ids):
        raise found_errors([("traffic_split", f"DeployedModel id {', '.join(unknown)} is not deployed on the Endpoint.")])
    if split and (sum(split.values()) != 100 or min(split.values()) < 0):
        raise found_errors([("traffic_split", f"Traffic percentages must add up to 100, not {sum(split.values())}.")])


def _ids(endpoint: Body) -> set[str]:
    return {item["id"] for item in endpoint.get("deployedModels", [])}


def _shown(call: Call, body: Body) -> Body:
    """v1 does not show what it does not have."""
    if call.version != "v1" or "deployedModels" not in body:
        return body
    every = []
    for one in body["deployedModels"]:
        resources = {key: value for key, value in one.get("dedicatedResources", {}).items() if key not in BETA_ONLY}
        every.append(one | ({"dedicatedResources": resources} if "dedicatedResources" in one else {}))
    return body | {"deployedModels": every}


def _release(call: Call, body: Body) -> None:
    """Source: Google's guide: what is deployed is undeployed before."""
    if body.get("deployedModels"):
        ids = ", ".join(sorted(_ids(body)))
        name = call.cloud.projects.by_number(call.target)
        raise precondition(f'The Endpoint "{name}" has deployed or being-deployed DeployedModel(s) {ids} and cannot be deleted.')


def deploy(call: Call) -> Any:
    """`:deployModel`: at its end the model serves, with the traffic that the call gives it."""
    endpoint = verbs.opened(call)
    asked = dict(call.body.get("deployedModel", {}))
    parts.required({"deployedModel": asked}, {"deployedModel.model": "deployed_model.model"})
    if not DEPLOYED_ID.fullmatch(asked.get("id", "0")):
        raise found_errors([("deployed_model.id", f"Invalid DeployedModel ID: {asked['id']}")])
    _fill_machine(asked)
    _check_resources(call, asked)
    if endpoint.get("network") and endpoint.get("deployedModels"):
        # One model a private endpoint. Source: Google's guide "Use private services access endpoints for online inference".
        raise precondition("Only one model can be deployed to a private Endpoint.")
    _, version = models.find(call, asked["model"])
    chosen = asked.get("id") or number(f"{call.owner}{call.cloud.store.next('ids')}")[:19]
    if chosen in _ids(endpoint):
        raise Refused(409, f"DeployedModel id {chosen} already exists on the Endpoint.")
    split = {chosen if key == "0" else key: value for key, value in call.body.get("trafficSplit", {}).items()}
    _check_split(split, _ids(endpoint) | {chosen})
    now = rfc3339(call.now)
    deployed = asked | {
        "id": chosen,
        "model": call.cloud.projects.by_number(models.without_version(asked["model"])),
        "modelVersionId": version["versionId"],
        "displayName": asked.get("displayName") or version["displayName"],  # "the Model's display_name is used", discovery document
        "createTime": now,
    }
    if _is_private(endpoint):
        deployed["privateEndpoints"] = {"serviceAttachment": _attachment(endpoint)}
    replicas = asked.get("dedicatedResources", {}).get("minReplicaCount")
    if replicas:
        deployed["status"] = {"availableReplicaCount": replicas, "lastUpdateTime": now}
    sets = {"deployedModels": [*endpoint.get("deployedModels", []), deployed]} | ({"trafficSplit": split} if split else {})
    return _start(call, endpoint, "deployModel", DEPLOY, sets, {"deployedModel": deployed})


def _fill_machine(asked: Body) -> None:
    if "dedicatedResources" in asked:
        resources = asked["dedicatedResources"]
        asked["dedicatedResources"] = {**resources, "machineSpec": {"machineType": DEFAULT_MACHINE, **resources.get("machineSpec", {})}}


def _check_resources(call: Call, asked: Body) -> None:
    """Source: DeployedModel and DedicatedResources in the discovery document."""
    given = [key for key in RESOURCES if key in asked]
    if len(given) != 1:
        raise found_errors([("deployed_model.prediction_resources", "Exactly one kind of resources must be set.")])
    if given[0] == "sharedResources":
        pool = call.cloud.projects.by_id(asked["sharedResources"])
        if call.cloud.store.get(HOST, pool) is None:
            raise Refused(404, "The DeploymentResourcePool does not exist.")
    elif given[0] == "dedicatedResources":
        _check_dedicated(asked["dedicatedResources"], "deployed_model.dedicated_resources")


def _check_dedicated(resources: Body, where: str) -> None:
    """Source: DedicatedResources in the discovery document."""
    machine, least = resources.get("machineSpec", {}).get("machineType"), resources.get("minReplicaCount", 0)
    findings = [] if machine else [(f"{where}.machine_spec.machine_type", "Required field is not set.")]
    if least < 1 and not resources.get("scaleToZeroSpec"):
        findings.append((f"{where}.min_replica_count", "must be greater than or equal to 1."))
    if not 0 < resources.get("requiredReplicaCount", 1) <= max(least, 1):  # the parameter's text in google-cloud-aiplatform
        findings.append((f"{where}.required_replica_count", "must be between 1 and min_replica_count."))
    if resources.get("maxReplicaCount", least) < least:
        findings.append((f"{where}.max_replica_count", "must not be less than min_replica_count."))
    if findings:
        raise found_errors(findings)


def undeploy(call: Call) -> Any:
    """`:undeployModel`: only what gets no traffic, or what the call takes the traffic from, or the last one."""
    endpoint = verbs.opened(call)
    wanted = call.body.get("deployedModelId", "")
    parts.required(call.body, {"deployedModelId": "deployed_model_id"})
    if wanted not in _ids(endpoint):
        raise Refused(404, f"DeployedModel with ID {wanted} is not found on the Endpoint.")
    left = [item for item in endpoint["deployedModels"] if item["id"] != wanted]
    asked = call.body.get("trafficSplit") or endpoint.get("trafficSplit", {})
    split = {key: value for key, value in asked.items() if value or key != wanted}
    if not left:
        split = {}
    elif split.get(wanted):
        raise precondition(f"DeployedModel {wanted} has {split[wanted]} percent of the traffic; it must have none to be undeployed.")
    _check_split(split, _ids({"deployedModels": left}))
    return _start(call, endpoint, "undeployModel", UNDEPLOY, {"deployedModels": left, "trafficSplit": split}, {})


def mutate(call: Call) -> Any:
    """`:mutateDeployedModel`: replicas, scaling and logging of what is deployed."""
    endpoint = verbs.opened(call)
    asked = call.body.get("deployedModel", {})
    mask = call.body.get("updateMask", "")
    parts.required(call.body, {"deployedModel.id": "deployed_model.id", "updateMask": "update_mask"})
    if asked["id"] not in _ids(endpoint):
        raise Refused(404, f"DeployedModel with ID {asked['id']} is not found on the Endpoint.")
    before = next(item for item in endpoint["deployedModels"] if item["id"] == asked["id"])
    after = verbs.masked(before, asked, mask)
    for path in verbs.paths(mask):
        if not MUTABLE_IN[call.version].fullmatch(path):
            raise found_errors([("update_mask", f"Field {path} of a DeployedModel cannot be mutated.")])
    if "dedicatedResources" in after:
        _check_dedicated(after["dedicatedResources"], "deployed_model.dedicated_resources")
        replicas = after["dedicatedResources"].get("minReplicaCount", 0)
        after["status"] = {"availableReplicaCount": replicas, "lastUpdateTime": rfc3339(call.now)}
    every = [after if item["id"] == asked["id"] else item for item in endpoint["deployedModels"]]
    return _start(call, endpoint, "mutateDeployedModel", MUTATE, {"deployedModels": every}, {"deployedModel": after})


def _start(call: Call, endpoint: Body, verb: str, seconds: float, sets: Body, response: Body) -> Body:
    sets |= {"updateTime": rfc3339(call.now + seconds), "etag": etags.new(call.cloud)}
    return operations.start(call, verb, endpoint, seconds, response=response, sets=sets)


def _create_pool(call: Call) -> Any:
    """The body wraps the pool and its id."""
    chosen, pool = call.body.get("deploymentResourcePoolId", ""), call.body.get("deploymentResourcePool", {})
    parts.required(
        call.body,
        {
            "deploymentResourcePoolId": "deployment_resource_pool_id",
            "deploymentResourcePool.dedicatedResources": "deployment_resource_pool.dedicated_resources",
        },
    )
    call.body = pool | {"name": chosen}
    return verbs.create(call)


def _fill_pool(call: Call, body: Body) -> None:
    parts.fill(call, body)
    body |= {"satisfiesPzi": True, "satisfiesPzs": True}  # recordings
    _check_dedicated(body["dedicatedResources"], "deployment_resource_pool.dedicated_resources")


def _release_pool(call: Call, body: Body) -> None:
    users = [endpoint["name"] for endpoint, _ in _on_pool(call, call.target)]
    if users:
        raise precondition(f"The DeploymentResourcePool is in use by {', '.join(call.cloud.projects.by_number(name) for name in users)}.")


def _on_pool(call: Call, pool: str) -> Iterator[tuple[Body, Body]]:
    """Endpoints, and what each has deployed on the pool."""
    for endpoint, deployed in models.deployments(call):
        if call.cloud.projects.by_id(deployed.get("sharedResources", "")) == pool:
            yield endpoint, deployed


def _of_pool(call: Call) -> Any:
    """`:queryDeployedModels`."""
    call.target = call.owner
    verbs.stored(call)
    found = list(_on_pool(call, call.owner))
    if not found:
        return {}
    return {"deployedModels": [deployed for _, deployed in found], "deployedModelRefs": models.references(call, found)}


ENDPOINT = Kind(
    "projects.locations.endpoints",
    id_from="server:number",
    immutable=("network", "encryptionSpec", "dedicatedEndpointEnabled", "privateServiceConnectConfig"),  # the provider's reference
    seconds={"create": 10},
    fill=_fill,
    check=_check,
    changed=parts.touched,
    release=_release,
    show=_shown,
    made=parts.made,
    not_found=lambda call: Refused(404, "The Endpoint does not exist."),
    name=lambda call, made: f"{call.owner}/endpoints/{call.query.get('endpointId') or made}",
)
POOL = Kind(
    "projects.locations.deploymentResourcePools",
    id_from="body:name",
    immutable=("encryptionSpec", "serviceAccount", "dedicatedResources.machineSpec"),  # "Immutable." in the discovery document
    seconds={"create": 60, "patch": 60},
    fill=_fill_pool,
    release=_release_pool,
    made=parts.made,
)
HANDLERS = {
    "projects.locations.endpoints.deployModel": deploy,
    "projects.locations.endpoints.undeployModel": undeploy,
    "projects.locations.endpoints.mutateDeployedModel": mutate,
    "projects.locations.deploymentResourcePools.create": _create_pool,
    "projects.locations.deploymentResourcePools.queryDeployedModels": _of_pool,
}
