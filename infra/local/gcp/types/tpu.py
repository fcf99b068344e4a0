"""The Cloud TPU API."""

from __future__ import annotations

from infra.local.gcp.resource_type import Field, ResourceType, Update

PARENT = "projects/{project}/locations/{zone}"

V2_VM = ResourceType(
    "gcp:tpu/v2Vm:V2Vm",
    "tpuV2",
    f"{PARENT}/nodes/{{name}}",
    create_query={"nodeId": "{name}"},
    url_only=("zone",),
    fields=(
        Field("networkConfig.canIpForward", always=True),
        Field("networkConfig.enableExternalIps", always=True),
        Field("networkConfigs.canIpForward", always=True),
        Field("networkConfigs.enableExternalIps", always=True),
        Field("schedulingConfig.preemptible", always=True),
        Field("schedulingConfig.reserved", always=True),
        Field("schedulingConfig.spot", always=True),
        Field("serviceAccount.scopes", "scope"),
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
