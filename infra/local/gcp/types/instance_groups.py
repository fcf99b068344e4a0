"""What machines of Compute Engine are made from, and groups of them."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import INT64, ONE_OF_LIST, Codec, Field, Names, ResourceType, Update
from infra.local.gcp.types.instances import ACCOUNT, AFFINITY, CARDS, ITEMS, TAGS, ZONAL, scheduling, scope


def _template_disks(value: list[dict[str, Any]], _: Names) -> list[dict[str, Any]]:
    """Disks with what makes them in an object of its own."""
    inner = {"diskName": "diskName", "diskType": "diskType", "sourceImage": "sourceImage", "labels": "labels", "diskSizeGb": "diskSizeGb"}
    made = []
    for disk in value:
        outer = {key: part for key, part in disk.items() if key not in inner or key == "diskSizeGb"}
        params = {inner[key]: part for key, part in disk.items() if key in inner}
        made.append(outer if disk.get("source") else outer | {"initializeParams": params})
    return made


def _flat_disks(value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [disk.get("initializeParams", {}) | disk for disk in value]


class InstanceTemplate(Lifecycle):
    """Nearly all of a template is within its `properties`."""

    def labels_in(self, answer: dict[str, Any]) -> Any:
        return answer.get("properties", {}).get("labels")

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        flat = answer | {"labels": self.labels_in(answer)}
        return super().outputs(flat, names, written) | {"selfLinkUnique": f"{answer.get('selfLink', '')}?uniqueId={answer.get('id', '')}"}


TEMPLATE = ResourceType(
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "compute",
    "projects/{project}/global/instanceTemplates/{name}",
    url_only=("region",),
    unsupported=("namePrefix", "metadataStartupScript"),
    virtual={"namePrefix": "", "metadataStartupScript": None, "region": None},
    fields=(
        *(
            Field(name, f"properties.{name}")
            for name in (
                "advancedMachineFeatures",
                "confidentialInstanceConfig",
                "guestAccelerators",
                "keyRevocationActionType",
                "labels",
                "machineType",
                "minCpuPlatform",
                "networkInterfaces",
                "networkPerformanceConfig",
                "partnerMetadata",
                "resourceManagerTags",
                "resourcePolicies",
                "shieldedInstanceConfig",
                "workloadIdentityConfig",
            )
        ),
        Field("canIpForward", "properties.canIpForward"),
        Field("instanceDescription", "properties.description"),
        Field("disks", "properties.disks", codec=Codec(_template_disks, _flat_disks)),
        Field("disks.diskSizeGb", codec=INT64),
        Field("guestAccelerators.count", "acceleratorCount"),
        Field("guestAccelerators.type", "acceleratorType"),
        Field("metadata", "properties.metadata", always=True, zero={}, codec=ITEMS),
        Field("metadataFingerprint", "properties.metadata.fingerprint"),
        Field("reservationAffinity", "properties.reservationAffinity", codec=AFFINITY),
        Field("reservationAffinity.type", "consumeReservationType"),
        Field("scheduling", "properties.scheduling", always=True, zero={"automaticRestart": True}),
        *scheduling("scheduling", ("hostErrorTimeoutSeconds",)),
        Field("serviceAccount", "properties.serviceAccounts", codec=ACCOUNT),
        Field("serviceAccount.scopes", canonical=scope),
        Field("tags", "properties.tags", always=True, zero={}, codec=TAGS),
        Field("tagsFingerprint", "properties.tags.fingerprint"),
        Field("numericId", "id"),
        *CARDS,
    ),
    computed=(
        "disks.deviceName",
        "disks.interface",
        "disks.mode",
        "disks.type",
        "networkInterfaces.name",
        "networkInterfaces.network",
        "networkInterfaces.networkIp",
        "networkInterfaces.stackType",
        "networkInterfaces.subnetworkProject",
    ),
    sets=("tags", "serviceAccount.scopes"),
    lifecycle=InstanceTemplate,
)


def _group_status(status: dict[str, Any]) -> list[dict[str, Any]]:
    """What a group says of itself, each object in a list of one, as the official provider has it."""
    config = status.get("allInstancesConfig") or {}
    kept = status.get("stateful") or {}
    return [
        {
            "allInstancesConfigs": [{"currentRevision": config.get("currentRevision", ""), "effective": config.get("effective", False)}],
            "isStable": status.get("isStable", False),
            "statefuls": [
                {
                    "hasStatefulConfig": kept.get("hasStatefulConfig", False),
                    "perInstanceConfigs": [{"allEffective": (kept.get("perInstanceConfigs") or {}).get("allEffective", False)}],
                }
            ],
            "versionTargets": [{"isReached": (status.get("versionTarget") or {}).get("isReached", False)}],
        }
    ]


def _update_policy(value: dict[str, Any], _: Names) -> dict[str, Any]:
    """Surge and unavailability as a number or a share, the other as null: what is not said is the number 0."""
    made = {key: part for key, part in value.items() if not key.startswith("max")}
    for name in ("maxSurge", "maxUnavailable") if value else ():
        share = value.get(f"{name}Percent", 0)
        made[name] = {"percent": share, "fixed": None} if share else {"fixed": value.get(f"{name}Fixed", 0), "percent": None}
    return made


def _flat_update_policy(value: dict[str, Any]) -> dict[str, Any]:
    flat = {key: part for key, part in value.items() if key not in ("maxSurge", "maxUnavailable")}
    for name in ("maxSurge", "maxUnavailable"):
        for word, one in (("fixed", "Fixed"), ("percent", "Percent")):
            flat[f"{name}{one}"] = (value.get(name) or {}).get(word) or 0
    return flat


GROUP = ResourceType(
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "compute",
    f"{ZONAL}/instanceGroupManagers/{{name}}",
    url_only=("zone",),
    defaults={"listManagedInstancesResults": "PAGELESS", "waitForInstancesStatus": "STABLE"},
    virtual={
        "statefulDisks": [],
        "statefulExternalIps": [],
        "statefulInternalIps": [],
        "waitForInstances": False,
        "waitForInstancesStatus": "STABLE",
    },
    unsupported=("statefulDisks", "statefulExternalIps", "statefulInternalIps", "waitForInstances"),
    constants={"statefulPolicy": {"preservedState": {}}},
    fields=(
        Field("description", always=True),
        Field("autoHealingPolicies", codec=ONE_OF_LIST),
        Field("instanceGroupManagerId", "id", codec=INT64),
        Field("instanceLifecyclePolicy", always=True, zero={}),
        Field("params", always=True, zero={}, unread=True),
        Field("standbyPolicy", always=True, zero={}),
        Field("statuses", "status", codec=Codec(decode=_group_status)),
        Field("operation", absent=None),
        Field("targetPools", absent=None),
        Field("targetSize", always=True),
        Field("targetSizePolicies", "targetSizePolicy", codec=Codec(lambda value, _: value[0], lambda value: [value])),
        Field("updatePolicy", always=True, zero={}, codec=Codec(_update_policy, _flat_update_policy)),
        Field("versions.name", always=True),
        Field("versions.targetSize", always=True, zero={}, codec=Codec(decode=lambda value: value or None)),
    ),
    computed=(
        "instanceLifecyclePolicy",
        "standbyPolicy",
        "targetSize",
        "targetSizePolicies",
        "targetStoppedSize",
        "targetSuspendedSize",
        "updatePolicy",
        "versions.name",
    ),
    updates=(Update(("targetSize",), "POST", "/resize", query={"size": "{targetSize}"}, body=False), Update(changed_only=True)),
)

ROWS = (TEMPLATE, GROUP)
