"""Vertex AI."""

from __future__ import annotations

import json
from typing import Any

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import Codec, Field, Policy, ResourceType, Update

IN_LOCATION = "projects/{project}/locations/{location}"
IN_REGION = "projects/{project}/locations/{region}"
URL = f"{IN_LOCATION}/endpoints/{{endpoint}}"

AS_JSON = Codec(lambda value, _: json.loads(value), lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")))

ONE_OF_LIST = {"automaticResources": "", "dedicatedResources": "", "privateEndpoints": "", "machineSpec": "machineSpecs"}
"""Objects that the provider's schema shows as lists of one, and their name there, where it is another."""


def _as_lists(value: Any) -> Any:
    """What Google says is deployed, in the shape of the provider's outputs: the SDK takes no other."""
    if isinstance(value, list):
        return [_as_lists(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {ONE_OF_LIST.get(key) or key: [_as_lists(inner)] if key in ONE_OF_LIST else _as_lists(inner) for key, inner in value.items()}


DEPLOYED = Codec(decode=_as_lists)

ENDPOINT = ResourceType(
    "gcp:vertex/aiEndpoint:AiEndpoint",
    "vertexAi",
    f"{IN_LOCATION}/endpoints/{{name}}",
    create_query={"endpointId": "{name}"},
    url_only=("name", "location"),
    virtual={"region": None},
    fields=(
        Field("trafficSplit", codec=AS_JSON),
        Field("privateServiceConnectConfig.projectAllowlists", "projectAllowlist"),
        Field("deployedModels", absent=[], codec=DEPLOYED),
        Field("etag", absent=None),
    ),
    updates=(Update(mask=True),),
)

ENDPOINT_IAM_MEMBER = ResourceType(
    "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember",
    "vertexAi",
    URL,
    policy=Policy("endpoint", URL, get=("POST", ":getIamPolicy"), set=("POST", ":setIamPolicy")),
    lifecycle=IamMember,
)


class Pool(Lifecycle):
    """Its id is said beside it."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return super().create_body(inputs, names) | {"deploymentResourcePoolId": names["name"]}


RESOURCE_POOL = ResourceType(
    "gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool",
    "vertexAi",
    f"{IN_REGION}/deploymentResourcePools/{{name}}",
    create_wrap="deploymentResourcePool",
    url_only=("region",),
    lifecycle=Pool,
)

TENSORBOARD = ResourceType(
    "gcp:vertex/aiTensorboard:AiTensorboard",
    "vertexAi",
    f"{IN_REGION}/tensorboards/{{name}}",
    named_by_google=True,
    url_only=("region",),
    fields=(Field("name"),),
    updates=(Update(mask=True),),
)

ROWS = (ENDPOINT, ENDPOINT_IAM_MEMBER, RESOURCE_POOL, TENSORBOARD)
