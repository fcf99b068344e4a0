"""Models on Vertex AI: the machines that they are deployed on, by replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from infra.catalog import vertex
from infra.catalog.vertex_prices import vertex_hour
from infra.cost.context import Context, bounds, short, whole
from infra.cost.line import LineItem, free, scaled, unknown
from infra.cost.machine import by_the_hour
from infra.cost.usage import HOURS
from infra.declared import UNKNOWN, Declared

ENDPOINT = "gcp:vertex/aiEndpoint:AiEndpoint"
MODEL_GARDEN = "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment"
DEPLOYED_MODELS = "accelform:vertex:DeployedModels"
DEDICATED = "deployConfig.dedicatedResources"


def deployed_model_lines(
    name: str,
    *,
    machine_type: Any,
    accelerator_type: Any,
    accelerator_count: Any,
    min_replicas: Any,
    max_replicas: Any,
    provisioning: str | None,
    region: str,
    context: Context,
    usage_name: str = "",
    title: str = "",
) -> Iterator[LineItem]:
    """
    One deployed model: as many machines as it has replicas. Low is the declared minimum, high the maximum, expected what the stack file
    says of `replicas`.

    Args:
        accelerator_type: As in the API, such as `NVIDIA_L4`; None for a TPU, which the machine type alone chooses, and for a CPU.
        max_replicas: None for the minimum, as the API has it.
        provisioning: `on-demand`, `spot`, `flex-start` or `reservation`; None where it is not known yet.
        usage_name: What the stack file calls it under `usage.resources`; the resource's own name where it has but one.
        title: What its lines begin with, where the resource has several.
    """
    what = f"{title}deployed model"
    found = bounds(min_replicas, min_replicas if max_replicas is None else max_replicas)
    if found is None:
        context.given(usage_name or name, "replicas")
        yield unknown(name, what, "its least or most replicas are not known yet")
        return
    replicas = context.between(usage_name or name, "replicas", *found) if found[0] != found[1] else (found[0],) * 3
    if not isinstance(machine_type, str) or not isinstance(accelerator_type, str | None) or provisioning is None:
        yield unknown(name, what, "its machine type, accelerator or way of buying is not known yet")
        return
    machine_type = machine_type.rpartition("/")[2]
    if accelerator_type in ("", "ACCELERATOR_TYPE_UNSPECIFIED"):
        accelerator_type = None
    choices = [one for one in vertex.machines().get(machine_type, ()) if one.accelerator == accelerator_type]
    if whole(accelerator_count) and any(
        one.takes(accelerator_count, "prediction") and accelerator_count not in one.counts for one in choices
    ):
        yield unknown(name, what, "how many replicas share a machine is not known")
        return
    if accelerator_type is not None and not any(accelerator_count in one.counts for one in choices):
        yield unknown(name, what, f"Vertex AI has no {machine_type} with {accelerator_count} x {accelerator_type}")
        return
    attached = any(not one.built_in for one in choices)
    hour = partial(vertex_hour, machine_type, region, "prediction", attached=attached)
    least, _, most = replicas
    note = f"{least:f} replica{'s' * (least != 1)}" if least == most else f"{least:f} to {most:f} replicas"
    yield by_the_hour(name, f"{title}{machine_type} {provisioning}", provisioning, hour, scaled(replicas, HOURS), note)


def endpoint(resource: Declared, context: Context) -> Iterator[LineItem]:
    """The endpoint itself. Source: https://cloud.google.com/vertex-ai/pricing, read 2026-11: only what is deployed is billed."""
    private = resource.get("privateServiceConnectConfig")
    if private is None:
        yield free(resource.name, short(resource), "no charge until a model is deployed on it")
    else:
        why = "no source says what an endpoint's own side of it costs; forwarding rules of its callers are on their bills"
        yield unknown(resource.name, "Private Service Connect", why)


def model_garden(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A model of Model Garden on an endpoint of its own."""
    region, spec = resource.get("location"), f"{DEDICATED}.machineSpec"
    machine_type, affinity = (resource.get(f"{spec}.{key}") for key in ("machineType", "reservationAffinity.reservationAffinityType"))
    if not isinstance(region, str):
        yield unknown(resource.name, "deployed model", "its location is not known yet")
    elif machine_type is None:
        yield unknown(resource.name, "deployed model", "it says no machine: Model Garden chooses one")
    else:
        yield from deployed_model_lines(
            resource.name,
            machine_type=machine_type,
            accelerator_type=resource.get(f"{spec}.acceleratorType"),
            accelerator_count=resource.get(f"{spec}.acceleratorCount"),
            min_replicas=resource.get(f"{DEDICATED}.minReplicaCount"),
            max_replicas=resource.get(f"{DEDICATED}.maxReplicaCount"),
            provisioning=_provisioning(resource.get(f"{DEDICATED}.spot"), affinity),
            region=region.lower(),
            context=context,
        )


def deployed_models(resource: Declared, context: Context) -> Iterator[LineItem]:
    """What is deployed on one endpoint, each under `usage.resources.<endpoint>/<name>`."""
    region, models = resource.get("location"), resource.get("deployedModels")
    if not isinstance(region, str) or not isinstance(models, Mapping):
        yield unknown(resource.name, "deployed models", "their location, or which there are, is not known yet")
        return
    for name, one in sorted(models.items()):
        given = Declared(resource.type, resource.name, one if isinstance(one, Mapping) else {})
        flex = given.get("flexStart.maxRunSeconds")
        bought = _provisioning(given.get("spot"), given.get("reservation.affinity"))
        yield from deployed_model_lines(
            resource.name,
            machine_type=given.get("machineType"),
            accelerator_type=given.get("acceleratorType"),
            accelerator_count=given.get("acceleratorCount"),
            min_replicas=given.get("minReplicas"),
            max_replicas=given.get("maxReplicas"),
            provisioning="flex-start" if flex is not None else bought,
            region=region.lower(),
            context=context,
            usage_name=f"{resource.name}/{name}",
            title=f"{name}: ",
        )


def _provisioning(spot: Any, affinity: Any) -> str | None:
    if spot not in (None, False, True) or affinity is UNKNOWN:
        return None
    return "spot" if spot else "reservation" if affinity == "SPECIFIC_RESERVATION" else "on-demand"


LINES = {ENDPOINT: endpoint, MODEL_GARDEN: model_garden, DEPLOYED_MODELS: deployed_models}
