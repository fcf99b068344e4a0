"""The Cloud TPU API."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.resource_type import Codec, Field, ResourceType, Update

PARENT = "projects/{project}/locations/{zone}"


def _endpoints(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where each host is; its external address is an object at Google, and a list in the state."""
    return [
        {
            "accessConfigs": [{"externalIp": one["accessConfig"].get("externalIp", "")}] if one.get("accessConfig") else [],
            "ipAddress": one.get("ipAddress", ""),
            "port": one.get("port", 0),
        }
        for one in found
    ]


ENDPOINTS = Codec(decode=_endpoints)

V2_VM = ResourceType(
    "gcp:tpu/v2Vm:V2Vm",
    "tpuV2",
    f"{PARENT}/nodes/{{name}}",
    create_query={"nodeId": "{name}"},
    url_only=("zone",),
    fields=(
        Field("multisliceNode", absent=False),
        Field("networkConfig.canIpForward", always=True),
        Field("networkConfig.enableExternalIps", always=True),
        Field("networkConfigs.canIpForward", always=True),
        Field("networkConfigs.enableExternalIps", always=True),
        Field("networkEndpoints", codec=ENDPOINTS, absent=[]),
        Field("schedulingConfig.preemptible", always=True),
        Field("schedulingConfig.reserved", always=True),
        Field("schedulingConfig.spot", always=True),
        Field("serviceAccount.scopes", "scope"),
        Field("symptoms", absent=[]),
        Field("tags", absent=None),
    ),
    computed=(
        "acceleratorConfig",
        "acceleratorType",
        "cidrBlock",
        "networkConfig",
        "networkConfig.network",
        "networkConfig.subnetwork",
        "schedulingConfig",
        "serviceAccount",
    ),
    sets=("serviceAccount.scopes", "tags"),
    updates=(Update(mask=True),),
)

QUEUED_RESOURCE = ResourceType(
    "gcp:tpu/v2QueuedResource:V2QueuedResource",
    "tpuV2",
    f"{PARENT}/queuedResources/{{name}}",
    create_query={"queuedResourceId": "{name}"},
    url_only=("zone",),
    fields=(
        Field("tpu.nodeSpecs", "nodeSpec"),
        Field("tpu.nodeSpecs.node.networkConfig.canIpForward", always=True),
        Field("tpu.nodeSpecs.node.networkConfig.enableExternalIps", always=True),
    ),
)

ROWS = (V2_VM, QUEUED_RESOURCE)
