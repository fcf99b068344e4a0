"""Models that jobs register: what the stack file may say of them, and what the runner is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra import names
from infra.components.deployed_models import CHAMPION, FULL_MODEL
from infra.components.endpoint import EndpointSpec
from infra.components.model import SERVERS, ModelSpec
from infra.components.placement import Placement
from infra.errors import Problem
from infra.job_plan import RegisterPlan, RolloutPlan


def problems(models: Mapping[str, ModelSpec], images: Mapping[str, str], jobs: Mapping[str, str]) -> Iterator[Problem]:
    """
    What is wrong with models beside the rest of the file.

    Args:
        jobs: The job that registers it, by model.
    """
    for name, spec in models.items():
        if spec.workload and SERVERS[spec.workload] not in images:
            image = SERVERS[spec.workload]
            fix = f"build it: accelform image build {image}; or write the model's own `image`"
            yield Problem(f"models.{name}.workload", f"{spec.workload} runs in the image {image}, and images has none", fix=fix)
        if name not in jobs:
            if spec.accept_if:
                fix = f"write `registers: {name}` in a job, or remove it"
                yield Problem(f"models.{name}.accept_if", "does nothing: no job registers this model", fix=fix)
            continue
        why = f"job {jobs[name]} registers each version from its run's folder"
        if spec.artifact:
            yield Problem(f"models.{name}.artifact", f"is said, and {why}", fix="remove it")
        for key in ("aliases", "first_aliases"):
            if len(getattr(spec, key)) != 1:
                what = "each new version" if key == "aliases" else "the one that is accepted"
                yield Problem(f"models.{name}.{key}", f"job {jobs[name]} gives one alias to {what}", "one alias")


def image_of(spec: ModelSpec, images: Mapping[str, str]) -> str:
    """The image of a model's container."""
    return spec.image or images[SERVERS[spec.workload or ""]]


def awaited(spec: EndpointSpec, jobs: Mapping[str, str]) -> dict[str, str]:
    """What an endpoint serves whose first version comes from a job: who brings it, by name."""
    found = {name: one.model.partition("@")[0] for name, one in spec.served.items() if not FULL_MODEL.fullmatch(one.model)}
    return {name: f"job {jobs[key]}" for name, key in found.items() if key in jobs}


def plan(name: str, spec: ModelSpec, image: str, endpoints: Mapping[str, EndpointSpec], placement: Placement) -> RegisterPlan:
    """What becomes of what a job trains: the model of that key under `models:`, and the endpoints that serve it by its accepted alias."""
    where = f"projects/{placement.project}/locations/{placement.region}"
    (accepted,), (alias,) = spec.first_aliases, spec.aliases
    return RegisterPlan(
        model=f"{where}/models/{names.resource(placement.stack, name)}",
        display_name=f"{placement.stack}-{name}",
        description=spec.description,
        labels=placement.labels,
        container=spec.container_spec(image),
        alias=alias,
        accepted_alias=accepted,
        accept_if=spec.accept_if or "",
        keep_versions=spec.keep_versions,
        rollouts=tuple(
            RolloutPlan(
                name=key,
                endpoint=f"{where}/endpoints/{names.endpoint_id(placement.project, placement.stack, key)}",
                journal=names.journal(placement.project, placement.stack, key),
                alias=accepted,
                deployed=served.inputs(),
                deployed_name=shown,
                rollout=_steps(endpoint),
            )
            for key, endpoint in endpoints.items()
            for shown, served in endpoint.served.items()
            if _is_served(served.model, name, accepted) and served.traffic in (None, 100)
        ),
    )


def rollout_minutes(plan: RegisterPlan) -> int:
    """How long the rollouts of one version take at most, one after another: each step twice its time, and the time kept warm."""
    steps = [one.rollout for one in plan.rollouts if one.rollout]
    return sum(2 * one["hold_minutes"] * len(one["traffic_percent"]) + one["keep_warm_minutes"] for one in steps)


def _is_served(reference: str, name: str, alias: str) -> bool:
    if FULL_MODEL.fullmatch(reference):
        return False
    key, _, wanted = reference.partition("@")
    return key == name and (wanted or CHAMPION) == alias


def _steps(endpoint: EndpointSpec) -> dict[str, Any] | None:
    return endpoint.rollout.model_dump(mode="json", exclude_none=True) if endpoint.rollout else None
