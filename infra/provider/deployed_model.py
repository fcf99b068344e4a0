"""
One deployed model, as a program wants it and as Vertex AI has it: its id, its request, what can be changed in place.

Fields are those of DeployedModel, DedicatedResources and MachineSpec in the discovery document aiplatform, revision 20261106.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

V1 = "aiplatform.v1"
BETA = "aiplatform.v1beta1"
"""Only `scaleToZeroSpec`, `initialReplicaCount` and `flexStart` need it: the document of v1 lacks them."""

RESERVATION_KEY = "compute.googleapis.com/reservation-name"
"""Source: ReservationAffinity.key: a reservation by its name."""
FIXED = (
    "machineType",
    "acceleratorType",
    "acceleratorCount",
    "gpuPartitionSize",
    "tpuTopology",
    "spot",
    "reservation",
    "serviceAccount",
    "accessLogging",
    "flexStart",
)
"""Settings that mutateDeployedModel does not change: another value is another deployment. Source: MutateDeployedModelRequest."""
SCALING = ("minReplicas", "maxReplicas", "requiredReplicas", "metrics", "scaleToZero")
"""Settings that are changed in place. `scaleToZero` is so in v1beta1 only."""
DEFAULT_TARGET = 60
"""Source: AutoscalingMetricSpec.target."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One call of mutateDeployedModel."""

    api: str
    fields: dict[str, Any]
    """The deployed model, with the fields of the mask only."""
    mask: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeployedModel:
    """A deployed model as it is wanted, of a version that is known."""

    name: str
    endpoint: str
    """Full name of the endpoint, as the program writes it."""
    model: str
    """Full name of the model, without a version."""
    version: str
    settings: Mapping[str, Any]
    """The inputs of the provider's resource, but `model` and `traffic`."""

    @property
    def id(self) -> str:
        """
        Ten digits: three of the name, seven of the name and everything that cannot be changed in place.

        So a run finds what a killed one deployed, another version stands beside the old one, and what is ours is known without a state.
        """
        full = normal(self.settings)
        fixed = {key: full[key] for key in FIXED if full[key] not in (None, False)}
        text = json.dumps([self.name, own_model(self.model, self.endpoint), self.version, fixed], sort_keys=True)
        return f"{prefix(self.name)}{_digits(text, 7):07d}"

    @property
    def api(self) -> str:
        return BETA if needs_beta(self.settings) else V1

    def body(self) -> dict[str, Any]:
        """What a deploy sends. The version is written out: an alias could move meanwhile."""
        full = normal(self.settings)
        reserved = full["reservation"] or {}
        affinity = {"reservationAffinityType": reserved["affinity"]} if reserved else {}
        if reserved.get("names"):
            affinity |= {"key": RESERVATION_KEY, "values": list(reserved["names"])}
        machine = {
            "machineType": full["machineType"],
            "acceleratorType": full["acceleratorType"],
            "acceleratorCount": full["acceleratorCount"],
            "gpuPartitionSize": full["gpuPartitionSize"],
            "tpuTopology": full["tpuTopology"],
            "reservationAffinity": affinity,
        }
        flex = {"maxRuntimeDuration": f"{full['flexStart']['maxRunSeconds']}s"} if full["flexStart"] else None
        resources = {"machineSpec": _there(machine), "spot": full["spot"], "flexStart": flex} | _scaling(full)
        # v1beta1 has a second field for the same; the default of each is the other's opposite
        logs = {"disableContainerLogging": not full["containerLogging"]}
        logs |= {"enableContainerLogging": full["containerLogging"]} if self.api == BETA else {}
        return {
            "id": self.id,
            "displayName": self.name,
            "model": f"{self.model}@{self.version}",
            "dedicatedResources": _there(resources),
            **_there({"serviceAccount": full["serviceAccount"], "enableAccessLogging": full["accessLogging"]}),
            **_there(logs),
        }

    def mutations(self, live: Mapping[str, Any], held: frozenset[str] = frozenset()) -> Iterator[Mutation]:
        """The calls that make *live* as this is. *held*: settings that somebody else decides."""
        wants, has = normal(self.settings), normal(settings_of(live))
        if wants["containerLogging"] != has["containerLogging"]:
            yield Mutation(V1, {"disableContainerLogging": not wants["containerLogging"]}, ("disableContainerLogging",))
        changed = [key for key in SCALING if key not in held and wants[key] != has[key]]
        if changed:
            goal, before = _scaling({**wants, **{key: has[key] for key in held}}), _scaling(has)
            differs = sorted(key for key in goal if goal[key] != before[key])
            beta = wants["scaleToZero"] is not None or has["scaleToZero"] is not None
            fields = {"dedicatedResources": _there({key: goal[key] for key in differs})}
            yield Mutation(BETA if beta else V1, fields, tuple(f"dedicatedResources.{key}" for key in differs))


def prefix(name: str) -> str:
    """The first digits of every id of that name, no zero in front."""
    return str(100 + _digits(name, 3) % 900)


def is_ours(live: Mapping[str, Any]) -> bool:
    """Whether a program of ours deployed it: its id says so. Google's own ids have 19 digits."""
    id = str(live.get("id", ""))
    return len(id) == 10 and id.startswith(prefix(str(live.get("displayName", ""))))


def own_model(model: str, endpoint: str) -> str:
    """A model's name, without the project where that is the endpoint's: Google answers numbers for ids."""
    words = model.partition("@")[0].split("/")
    return "/".join(words[2:] if words[1:2] == endpoint.split("/")[1:2] else words)


def needs_beta(settings: Mapping[str, Any]) -> bool:
    return bool(settings.get("scaleToZero") or settings.get("flexStart"))


def normal(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with every default written out; two that mean the same are equal."""
    found: dict[str, Any] = {key: settings.get(key) for key in (*FIXED, *SCALING)}
    least = settings.get("minReplicas", 1)
    found |= {
        "minReplicas": least,
        "maxReplicas": settings.get("maxReplicas") or max(least, 1),  # "will use min_replica_count as the default value"
        "requiredReplicas": settings.get("requiredReplicas") or least,  # "the default required_replica_count will be min_replica_count"
        "metrics": dict(settings.get("metrics") or {}),
        "spot": bool(settings.get("spot", False)),
        "accessLogging": bool(settings.get("accessLogging", False)),
        "containerLogging": bool(settings.get("containerLogging", True)),
    }
    if found["reservation"]:
        found["reservation"] = _there(found["reservation"])
    if found["scaleToZero"]:
        found["scaleToZero"] = {"initialReplicas": 1} | dict(found["scaleToZero"])
    return found


def settings_of(live: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that would deploy what is there; defaults are left out."""
    resources = live.get("dedicatedResources", {})
    machine = resources.get("machineSpec", {})
    least = resources.get("minReplicaCount", 0)
    found: dict[str, Any] = {
        key: machine.get(key) for key in ("machineType", "acceleratorType", "acceleratorCount", "gpuPartitionSize", "tpuTopology")
    }
    affinity = machine.get("reservationAffinity", {})
    if affinity:
        names = {"names": list(affinity["values"])} if affinity.get("values") else {}
        found["reservation"] = {"affinity": affinity.get("reservationAffinityType", "")} | names
    if "scaleToZeroSpec" in resources:
        spec = resources["scaleToZeroSpec"]
        times = {"idleSeconds": _seconds(spec.get("idleScaledownPeriod")), "minUpSeconds": _seconds(spec.get("minScaleupPeriod"))}
        found["scaleToZero"] = _there(times) | {"initialReplicas": resources.get("initialReplicaCount", 1)}
    if "flexStart" in resources:
        found["flexStart"] = _there({"maxRunSeconds": _seconds(resources["flexStart"].get("maxRuntimeDuration"))})
    metrics = {one["metricName"]: one.get("target", DEFAULT_TARGET) for one in resources.get("autoscalingMetricSpecs", [])}
    most, required = resources.get("maxReplicaCount", least), resources.get("requiredReplicaCount", least)
    found |= {
        "spot": resources.get("spot"),
        "serviceAccount": live.get("serviceAccount"),
        "accessLogging": live.get("enableAccessLogging"),
        "maxReplicas": most if most != max(least, 1) else None,
        "requiredReplicas": required if required != least else None,
        "metrics": metrics,
    }
    kept = _there(found) | {"minReplicas": least}
    return kept | ({"containerLogging": False} if live.get("disableContainerLogging") else {})


def redeployable(live: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """API and body that deploy once more what was there."""
    resources = live.get("dedicatedResources", {})
    beta = bool({"scaleToZeroSpec", "flexStart", "initialReplicaCount"} & resources.keys())
    body = {key: value for key, value in live.items() if key not in ("createTime", "modelVersionId", "status", "privateEndpoints")}
    return BETA if beta else V1, body | {"model": f"{live['model']}@{live['modelVersionId']}"}


def _scaling(full: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of DedicatedResources that can be changed in place, of normal settings. None: it is not there."""
    zero, least, required = full["scaleToZero"], full["minReplicas"], full["requiredReplicas"]
    spec = None
    if zero is not None:
        times = {"idleScaledownPeriod": zero.get("idleSeconds"), "minScaleupPeriod": zero.get("minUpSeconds")}
        spec = {key: f"{seconds}s" for key, seconds in times.items() if seconds is not None}
    return {
        "minReplicaCount": least,
        "maxReplicaCount": full["maxReplicas"],
        "requiredReplicaCount": required if required != least else None,
        "autoscalingMetricSpecs": [{"metricName": name, "target": target} for name, target in sorted(full["metrics"].items())],
        "scaleToZeroSpec": spec,
        "initialReplicaCount": zero["initialReplicas"] if zero is not None else None,
    }


def _seconds(duration: Any) -> int | None:
    return int(float(str(duration).removesuffix("s"))) if duration else None


def _there(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, False, {}, [])}


def _digits(text: str, count: int) -> int:
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return number % int("1" + "0" * count)
