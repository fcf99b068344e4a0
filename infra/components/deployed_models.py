"""What an endpoint serves: models on machines, each with its share of the traffic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator

from infra import accelform, gcp
from infra.catalog import deployed_model
from infra.components.model import Model
from infra.components.placement import Placement, region_of_file
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, YesNo, pattern, problem

CHAMPION = "champion"
"""Alias of the version that is served where the file says no other, and the name of what is deployed then."""
FULL_MODEL = re.compile(r"projects/[^/@\s]+/locations/([^/@\s]+)/models/[^/@\s]+@[a-z0-9-]+")
RESERVATION = r"projects/[a-z0-9-]+/zones/[a-z0-9-]+/reservations/[a-z0-9-]+"
METRICS = {
    "cpu_utilization": "aiplatform.googleapis.com/prediction/online/cpu/utilization",
    "duty_cycle": "aiplatform.googleapis.com/prediction/online/accelerator/duty_cycle",
    "request_count": "aiplatform.googleapis.com/prediction/online/request_count",
    "undelivered_messages": "pubsub.googleapis.com/subscription/num_undelivered_messages",
    "gpu_utilization": "prometheus.googleapis.com/vertex_dcgm_fi_dev_gpu_util",
    "vllm_cache_usage": "prometheus.googleapis.com/vertex_vllm_gpu_cache_usage_perc",
    "vllm_requests_waiting": "prometheus.googleapis.com/vertex_vllm_num_requests_waiting",
}
"""Autoscaling metrics, in short. Source: AutoscalingMetricSpec in the discovery document aiplatform, revision 20261106."""

Metric = Literal[
    "cpu_utilization",
    "duty_cycle",
    "request_count",
    "undelivered_messages",
    "gpu_utilization",
    "vllm_cache_usage",
    "vllm_requests_waiting",
]
ModelReference = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?(?:@[a-z0-9-]+)?|" + FULL_MODEL.pattern,
        "names no model",
        "recommender@champion, a key of `models:` with an alias or version; or projects/P/locations/R/models/M@champion",
    ),
]
ServiceAccount = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[a-z0-9.-]+@[a-z0-9.-]+", "is no service account's address", "serving@tw-shop-ml.iam.gserviceaccount.com"),
]
ReservationUse = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(rf"any|none|{RESERVATION}", "is no reservation", "any, none, or projects/P/zones/Z/reservations/R"),
]


class ScaleToZeroSpec(Spec):
    """When the last replica goes."""

    idle_minutes: Annotated[WholeNumber, Field(ge=5, le=480)]
    """Minutes without traffic before the last replica goes. Source of the bounds: DedicatedResourcesScaleToZeroSpec."""
    min_up_minutes: Annotated[WholeNumber, Field(ge=5, le=480)] | None = None
    """Minutes that replicas stay at least. (default: Google's)"""
    initial_replicas: Annotated[WholeNumber, Field(ge=1)] = 1
    """Replicas that come up from none."""


class FlexStartSpec(Spec):
    """Capacity of Dynamic Workload Scheduler: it ends by itself."""

    max_run_minutes: Annotated[WholeNumber, Field(ge=1, le=7 * 24 * 60)]
    """Minutes after which the deployment ends: seven days at most."""


class ReplicasSpec(Spec):
    """The machines of one deployed model. Another machine, accelerator or service account is deployed anew; the numbers change in place."""

    never: ClassVar[dict[str, str]] = dict.fromkeys(
        ("shared", "shared_resources", "pool", "resource_pool", "deployment_resource_pool"),
        "Google shares no machines among custom containers, and every model of this file is one: each has machines of its own",
    )
    """Source: Google's guide "Share resources across deployments", its limitations, read 2026-11."""

    machine_type: Annotated[str, StringConstraints(strict=True, min_length=1)] | None = None
    """Machine type of each replica, such as `n1-standard-2` or `g2-standard-8`. (default: none; it must be said)"""
    accelerator_type: Annotated[str, StringConstraints(strict=True, min_length=1)] | None = None
    """Accelerator of each replica in Vertex AI's spelling, such as `NVIDIA_L4`. (default: none; a TPU machine's type says it)"""
    accelerator_count: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Accelerators of each replica. (default: none)"""
    gpu_partition_size: Annotated[str, StringConstraints(strict=True)] | None = None
    """Part of a GPU that each replica gets, such as `1g.10gb`. (default: whole ones)"""
    tpu_topology: Annotated[str, StringConstraints(strict=True)] | None = None
    """Topology of a TPU machine's slice, such as `2x2`. (default: that of one machine)"""
    min_replicas: Annotated[WholeNumber, Field(ge=0, le=10_000)] = 1
    """Replicas that always run, and cost; 0 with `scale_to_zero` only."""
    max_replicas: Annotated[WholeNumber, Field(ge=1, le=10_000)] | None = None
    """Replicas at most. (default: as many as `min_replicas`)"""
    required_replicas: Annotated[WholeNumber, Field(ge=1, le=10_000)] | None = None
    """Replicas that must run before a deploy has succeeded. (default: all of `min_replicas`)"""
    metrics: dict[Metric, WholeNumber] = {}
    """What replicas are added and removed by, and its target. Without any: 60 percent of the CPU, and of an accelerator."""
    spot: YesNo = False
    """Whether replicas are spot machines, which can be taken away at any time."""
    reservation: ReservationUse | None = None
    """Compute Engine reservation that replicas use: its full name, `any` or `none`. (default: Google's)"""
    service_account: ServiceAccount | None = None
    """Service account that the container runs as. (default: Google's, without access to the project)"""
    container_logging: YesNo = True
    """Whether the container's output goes to Cloud Logging, which costs."""
    access_logging: YesNo = False
    """Whether each request is logged, which costs."""
    scale_to_zero: ScaleToZeroSpec | None = None
    """Lets replicas go to none without traffic. A beta of Google's. (default: never)"""
    flex_start: FlexStartSpec | None = None
    """Waits for capacity that ends by itself. A beta of Google's. (default: no)"""

    def inputs(self) -> dict[str, Any]:
        """These settings as the provider takes them."""
        zero, flex, place = self.scale_to_zero, self.flex_start, self.reservation
        affinity = {"any": {"affinity": "ANY_RESERVATION"}, "none": {"affinity": "NO_RESERVATION"}}
        found = {
            "machineType": self.machine_type,
            "acceleratorType": self.accelerator_type,
            "acceleratorCount": self.accelerator_count,
            "gpuPartitionSize": self.gpu_partition_size,
            "tpuTopology": self.tpu_topology,
            "minReplicas": self.min_replicas,
            "maxReplicas": self.max_replicas,
            "requiredReplicas": self.required_replicas,
            "metrics": {METRICS[name]: target for name, target in self.metrics.items()} or None,
            "spot": self.spot or None,
            "reservation": affinity.get(place, {"affinity": "SPECIFIC_RESERVATION", "names": [place]}) if place else None,
            "serviceAccount": self.service_account,
            "containerLogging": None if self.container_logging else False,
            "accessLogging": self.access_logging or None,
            "scaleToZero": zero
            and _there(
                {
                    "idleSeconds": zero.idle_minutes * 60,
                    "minUpSeconds": zero.min_up_minutes and zero.min_up_minutes * 60,
                    "initialReplicas": zero.initial_replicas,
                }
            ),
            "flexStart": flex and {"maxRunSeconds": flex.max_run_minutes * 60},
        }
        return _there(found)

    def problems(self, info: ValidationInfo) -> Iterator[Problem]:
        """What Vertex AI would refuse, by the names of the file."""
        if self.machine_type is None:
            yield Problem("machine_type", "is missing", "a machine type of Vertex AI", "write one, such as machine_type: n1-standard-2")
        for wrong in deployed_model.wrongs(self.inputs(), region_of_file(info)):
            path = ".".join(_WORDS.get(str(step), str(step)) for step in wrong.path if step not in ("names", "affinity"))
            yield Problem(path, _in_words(wrong.message), _in_words(wrong.allowed), _in_words(wrong.fix))


class DeployedModelSpec(ReplicasSpec):
    """One of several models on an endpoint."""

    model: ModelReference
    """Key of `models:` with an alias or a version, such as `recommender@champion`; or a model's full name, in the stack's region."""
    traffic: Annotated[WholeNumber, Field(ge=0, le=100)] | None = None
    """Percent of the endpoint's traffic: together 100. (default: 100 where there is one model only)"""

    @field_validator("model")
    @classmethod
    def _in_region(cls, value: str, info: ValidationInfo) -> str:
        return in_region(value, info)

    @model_validator(mode="after")
    def _runs(self, info: ValidationInfo) -> Self:
        if found := list(self.problems(info)):
            raise ProblemsError(found)
        return self


def in_region(model: str, info: ValidationInfo) -> str:
    """Refuses a model of another region."""
    match, region = FULL_MODEL.fullmatch(model), region_of_file(info)
    if match and region and match[1] != region:
        raise problem("stands in another region", allowed=f"a model in {region}", fix=f"copy the model to {region}")
    return model


class DeployedModels(pulumi.ComponentResource):
    """The deployed models of one endpoint."""

    def __init__(
        self,
        name: str,
        specs: Mapping[str, DeployedModelSpec],
        *,
        placement: Placement,
        endpoint: gcp.vertex.AiEndpoint,
        models: Mapping[str, Model],
        update: Literal["surge", "in-place"],
        foreign: Literal["refuse", "keep", "undeploy"],
        awaits: Mapping[str, str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("accelform:deployed_models:DeployedModels", name, None, opts)
        self.deployed_models = accelform.DeployedModels(
            name,
            endpoint=endpoint.id,
            location=placement.region,
            deployed_models={
                key: spec.inputs() | {"model": _model(spec.model, models), "traffic": 100 if spec.traffic is None else spec.traffic}
                for key, spec in specs.items()
            },
            update=update,
            foreign=foreign,
            awaits=awaits,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"deployed": self.deployed_models.deployed})


def _model(reference: str, models: Mapping[str, Model]) -> pulumi.Input[str]:
    """
    A model's full name with an alias or a version.

    An alias that moves with each upload of this stack is the version that the stack describes, so that one run uploads and deploys it.
    """
    if FULL_MODEL.fullmatch(reference):
        return reference
    key, _, wanted = reference.partition("@")
    found = models[key]
    return found.model.version_name if wanted in found.moving else found.model.at(wanted or CHAMPION)


def key_of(reference: str) -> str | None:
    """The key of `models:` that a reference names; None for a full name."""
    return None if FULL_MODEL.fullmatch(reference) else reference.partition("@")[0]


_WORDS = {
    "machineType": "machine_type",
    "acceleratorType": "accelerator_type",
    "acceleratorCount": "accelerator_count",
    "gpuPartitionSize": "gpu_partition_size",
    "tpuTopology": "tpu_topology",
    "minReplicas": "min_replicas",
    "maxReplicas": "max_replicas",
    "requiredReplicas": "required_replicas",
    "serviceAccount": "service_account",
    "scaleToZero": "scale_to_zero",
    "initialReplicas": "initial_replicas",
    "flexStart": "flex_start",
    **{full: short for short, full in METRICS.items()},
}
"""The provider's words -> the file's."""
_ANY_WORD = re.compile("|".join(map(re.escape, _WORDS)))


def _in_words(text: str) -> str:
    return _ANY_WORD.sub(lambda match: _WORDS[match[0]], text)


def _there(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
