"""Machines of Compute Engine."""

from __future__ import annotations

import re
from typing import Any

from infra.local.gcp import body as bodies
from infra.local.gcp import diff
from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import INT64, ONE_OF_LIST, Codec, Field, Names, ResourceType, last
from infra.provider.calls import GoogleError, OperationError
from infra.provider.server import ProviderError

ZONAL = "projects/{project}/zones/{zone}"
SCOPE = "https://www.googleapis.com/auth/"
SCOPES = {
    "compute-ro": "compute.readonly",
    "compute-rw": "compute",
    "logging-write": "logging.write",
    "monitoring": "monitoring",
    "monitoring-read": "monitoring.read",
    "monitoring-write": "monitoring.write",
    "service-control": "servicecontrol",
    "service-management": "service.management.readonly",
    "sql": "sqlservice",
    "sql-admin": "sqlservice.admin",
    "storage-full": "devstorage.full_control",
    "storage-ro": "devstorage.read_only",
    "storage-rw": "devstorage.read_write",
    "trace": "trace.append",
    "userinfo-email": "userinfo.email",
}
"""Short names of access scopes that are not the last part of the long one.
Source: https://cloud.google.com/sdk/gcloud/reference/alpha/compute/instances/set-scopes, read 2026-11."""


def scope(short: str) -> str:
    """A scope in full."""
    return short if ":" in short else f"{SCOPE}{SCOPES.get(short, short)}"


def _link(kind: str) -> Codec:
    """A short name as the link of a thing in the zone."""

    def full(value: str, names: Names) -> str:
        return value if "/" in value else f"projects/{names['project']}/zones/{names['zone']}/{kind}/{value}"

    return Codec(full, last)


ITEMS = Codec(
    lambda value, _: {"items": [{"key": key, "value": value[key]} for key in sorted(value)]},
    lambda value: {item["key"]: item["value"] for item in value.get("items", [])},
)
TAGS = Codec(lambda value, _: {"items": value}, lambda value: value.get("items"))
ACCOUNT = Codec(lambda value, _: [value | {"scopes": [scope(one) for one in value.get("scopes", [])]}], ONE_OF_LIST.decode)
ACCESS = Codec(lambda value, _: [{"type": "ONE_TO_ONE_NAT"} | part for part in value])
AFFINITY = Codec(
    lambda value, _: {key: part for key, part in value.items() if key != "specificReservation"} | value.get("specificReservation", {}),
    lambda value: value | ({"specificReservation": value} if value.get("key") else {}),
)
NO_AFFINITY: list[Any] = [None]
"""What the official provider sends where there is none."""


def scheduling(prefix: str, nulls: tuple[str, ...]) -> tuple[Field, ...]:
    return (
        Field(f"{prefix}.automaticRestart", always=True),
        Field(f"{prefix}.preemptible", always=True),
        Field(f"{prefix}.skipGuestOsShutdown", always=True),
        Field(f"{prefix}.nodeAffinities", always=True, zero=NO_AFFINITY, codec=Codec(decode=lambda value: [one for one in value if one])),
        Field(f"{prefix}.maxRunDuration.seconds", codec=INT64),
        *(Field(f"{prefix}.{name}", always=True, zero=None) for name in nulls),
    )


class Instance(Lifecycle):
    """An instance and its disks, which Google has in one list, and its updates, which are a call for each concern."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        made = super().create_body(inputs, names)
        made["metadata"] = self._metadata(made, inputs)
        boot = made.pop("bootDisk") | {"boot": True}
        attached = [{"type": "PERSISTENT"} | disk for disk in made.pop("attachedDisks", [])]
        kind = f"zones/{names['zone']}/diskTypes/local-ssd"
        scratch = [
            {"autoDelete": True, "type": "SCRATCH", "initializeParams": {"diskType": kind}} | disk for disk in made.pop("scratchDisks", [])
        ]
        return made | {"disks": [boot, *attached, *scratch]}

    def _metadata(self, sent: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Metadata with the script of its own input among it."""
        metadata: dict[str, Any] = sent.get("metadata", {})
        script = inputs.get("metadataStartupScript")
        return metadata | ({"items": [*metadata.get("items", []), {"key": "startup-script", "value": script}]} if script else {})

    def get(self, names: dict[str, Any]) -> dict[str, Any] | None:
        answer = super().get(names)
        if answer is None:
            return None
        disks = answer.get("disks", [])
        boot: dict[str, Any] = next((disk for disk in disks if disk.get("boot")), {})
        source = re.search(r"projects/.*", boot.get("source", ""))
        if source:
            disk = self._disk(source[0])
            boot = boot | {"initializeParams": disk | {"diskSizeGb": disk.get("sizeGb"), "diskType": disk.get("type")}}
        return answer | {
            "bootDisk": boot,
            "attachedDisks": [disk for disk in disks if not disk.get("boot") and disk.get("type") != "SCRATCH"],
            "scratchDisks": [disk for disk in disks if disk.get("type") == "SCRATCH"],
        }

    def _disk(self, path: str) -> dict[str, Any]:
        try:
            return self.client.call("GET", "compute", path)
        except GoogleError as error:
            if error.code == 404:
                return {}
            raise

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        made = super().outputs(answer, names, written)
        for card in made["networkInterfaces"]:
            subnetwork = re.search(r"projects/([^/]+)/", card.get("subnetwork") or "")
            card["subnetworkProject"] = subnetwork[1] if subnetwork else card["subnetworkProject"]
        params = made["bootDisk"]["initializeParams"]
        image = ((written.get("bootDisk") or {}).get("initializeParams") or {}).get("image")
        if params and image:  # a disk never changes its image, and a family is not what Google answers with
            params["image"] = image
        if made["metadata"] and written.get("metadataStartupScript") and "startup-script" not in (written.get("metadata") or {}):
            made["metadata"].pop("startup-script", None)
        return made

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        changed = {str(change.path[0]) for change in diff.changes(self.row, old, new, state)}
        plain = self._plain(new)
        inputs = self._with_others(plain, state)
        names = self.names_of(id, state)
        now = super().get(names)
        if now is None:
            raise ProviderError(f"{self.row.noun} {id} is gone: `pulumi refresh` takes note of it")
        sent = bodies.body(self.row, self._sent(inputs), names, bodies.in_body(self.row))
        self._change_running(names, now, sent, inputs, changed)
        if stopping := sorted(changed & STOPPING.keys()):
            self._change_stopped(names, now, sent, inputs, stopping)
        if "desiredStatus" in changed and inputs.get("desiredStatus"):
            self._do(names, {"RUNNING": "start", "TERMINATED": "stop", "SUSPENDED": "suspend"}[inputs["desiredStatus"]])
        return self._now(id, names, state | plain)

    def _change_running(
        self, names: dict[str, Any], now: dict[str, Any], sent: dict[str, Any], inputs: dict[str, Any], changed: set[str]
    ) -> None:
        """What may change while the machine runs."""
        if "labels" in changed:
            self._do(names, "setLabels", {"labelFingerprint": now.get("labelFingerprint", ""), "labels": self._labels(inputs)})
        if {"metadata", "metadataStartupScript"} & changed:
            self._do(names, "setMetadata", self._metadata(sent, inputs) | {"fingerprint": now.get("metadata", {}).get("fingerprint", "")})
        if "tags" in changed:
            self._do(names, "setTags", sent.get("tags", {}) | {"fingerprint": now.get("tags", {}).get("fingerprint", "")})
        if "scheduling" in changed:
            self._do(names, "setScheduling", sent["scheduling"])
        if "deletionProtection" in changed:
            on = str(bool(inputs.get("deletionProtection"))).lower()
            self._do(names, "setDeletionProtection", query={"deletionProtection": on})

    def _change_stopped(
        self, names: dict[str, Any], now: dict[str, Any], sent: dict[str, Any], inputs: dict[str, Any], stopping: list[str]
    ) -> None:
        """What changes only while the machine is stopped."""
        runs = now.get("status") != "TERMINATED"
        if runs and not inputs.get("allowStoppingForUpdate"):
            raise ProviderError(
                f"Changing {', '.join(stopping)} on a started instance requires stopping it\n"
                "  fix: set allowStoppingForUpdate: true, or desiredStatus: TERMINATED"
            )
        if runs:
            self._do(names, "stop")
        for name in stopping:
            method, verb, rest = STOPPING[name]
            value = sent.get(rest)
            body = value[0] if isinstance(value, list) and value else value if method == "PATCH" else {rest: value}
            self._do(names, verb, body or {}, method=method)
        if runs:
            self._do(names, "start")

    def _do(self, names: dict[str, Any], verb: str, body: Any = None, *, method: str = "POST", query: dict[str, str] | None = None) -> None:
        try:
            answer = self.call(method, f"{self.fill(self.row.url, names)}/{verb}", query or {}, body, names)
            self.client.finished(self.row.service, answer, names["project"])
        except OperationError as error:
            raise ProviderError(f"Error waiting for Instance {names['name']} to {verb}: {error}") from None


STOPPING = {
    "machineType": ("POST", "setMachineType", "machineType"),
    "minCpuPlatform": ("POST", "setMinCpuPlatform", "minCpuPlatform"),
    "serviceAccount": ("POST", "setServiceAccount", "serviceAccounts"),
    "shieldedInstanceConfig": ("PATCH", "updateShieldedInstanceConfig", "shieldedInstanceConfig"),
}

CARDS = (
    Field("networkInterfaces.networkIp", "networkIP"),
    Field("networkInterfaces.accessConfigs", codec=ACCESS),
    Field("networkInterfaces.accessConfigs.natIp", "natIP"),
)

INSTANCE = ResourceType(
    "gcp:compute/instance:Instance",
    "compute",
    f"{ZONAL}/instances/{{name}}",
    read_query={"view": "FULL"},
    url_only=("zone",),
    defaults={"bootDisk.autoDelete": True, "bootDisk.mode": "READ_WRITE", "eraseWindowsVssSignature": False},
    virtual={
        "allowStoppingForUpdate": None,
        "desiredStatus": None,
        "eraseWindowsVssSignature": False,
        "metadataStartupScript": None,
    },
    fields=(
        Field("bootDisk.autoDelete", always=True),
        Field("bootDisk.initializeParams.image", "sourceImage"),
        Field("bootDisk.initializeParams.size", "diskSizeGb", codec=INT64),
        Field("bootDisk.initializeParams.type", "diskType", codec=_link("diskTypes")),
        Field("bootDisk.initializeParams.labels", absent={}),
        Field("bootDisk.initializeParams.replicaZones", absent=None),
        Field("bootDisk.initializeParams.resourcePolicies", absent=None),
        Field("bootDisk.initializeParams.snapshot", "sourceSnapshot"),
        Field("canIpForward", always=True),
        Field("deletionProtection", always=True),
        Field("enableDisplay", "displayDevice.enableDisplay"),
        Field("guestAccelerators.count", "acceleratorCount"),
        Field("guestAccelerators.type", "acceleratorType", canonical=last),
        Field("machineType", codec=_link("machineTypes")),
        Field("metadata", always=True, zero={}, codec=ITEMS),
        Field("metadataFingerprint", "metadata.fingerprint"),
        Field("params", always=True, zero={}, unread=True),
        Field("reservationAffinity", codec=AFFINITY),
        Field("reservationAffinity.type", "consumeReservationType"),
        Field("resourcePolicies", codec=ONE_OF_LIST, absent=None),
        Field("scheduling", always=True, zero={"automaticRestart": True}),
        *scheduling(
            "scheduling",
            (
                "gracefulShutdown",
                "hostErrorTimeoutSeconds",
                "localSsdRecoveryTimeout",
                "maxRunDuration",
                "onInstanceStopAction",
                "preemptionNoticeDuration",
            ),
        ),
        Field("scheduling.localSsdRecoveryTimeout.seconds", codec=INT64),
        Field("serviceAccount", "serviceAccounts", codec=ACCOUNT),
        Field("serviceAccount.scopes", canonical=scope),
        Field("shieldedInstanceConfig.enableIntegrityMonitoring", always=True),
        Field("shieldedInstanceConfig.enableSecureBoot", always=True),
        Field("shieldedInstanceConfig.enableVtpm", always=True),
        Field("tags", always=True, zero={}, codec=TAGS),
        Field("tagsFingerprint", "tags.fingerprint"),
        Field("currentStatus", "status"),
        Field("instanceId", "id"),
        *CARDS,
    ),
    computed=(
        "bootDisk.deviceName",
        "bootDisk.initializeParams.size",
        "bootDisk.initializeParams.type",
        "bootDisk.interface",
        "bootDisk.source",
        "guestAccelerators",
        "networkInterfaces.name",
        "networkInterfaces.network",
        "networkInterfaces.networkIp",
        "networkInterfaces.stackType",
        "networkInterfaces.subnetwork",
        "networkInterfaces.subnetworkProject",
        "scheduling.provisioningModel",
        "shieldedInstanceConfig",
    ),
    sets=("tags", "serviceAccount.scopes"),
    lifecycle=Instance,
)


ROWS = (INSTANCE,)
