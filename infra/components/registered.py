"""Models that jobs register: what the stack file may say of them, and what the runner is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from infra import names
from infra.components.deployed_models import CHAMPION, FULL_MODEL, DeployedModelSpec
from infra.components.endpoint import EndpointSpec
from infra.components.model import SERVERS, ModelSpec
from infra.components.placement import Placement
from infra.errors import Problem
from infra.findings import Found
from infra.job_plan import RegisterPlan, RolloutPlan

if TYPE_CHECKING:
    from infra.components.job import JobSpec

BEGIN_MINUTES = 25 * 60


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


def rollout_problems(
    endpoints: Mapping[str, EndpointSpec], models: Mapping[str, ModelSpec], jobs: Mapping[str, JobSpec]
) -> Iterator[Problem]:
    """What is wrong with the rollouts of endpoints beside the rest of the file."""
    by: dict[str, tuple[str, JobSpec]] = {}
    for job, spec in jobs.items():
        model, (first, *others) = spec.registers, _guarded(spec, endpoints, models) or [""]
        by |= dict.fromkeys([first, *others], (job, spec))
        for key in others:
            words = f"{first} has one of {model} too: the alias would move before this one has proven anything"
            fix = "serve it on one endpoint, or give this one a model of its own"
            yield Problem(f"endpoints.{key}.rollout", words, "one rollout for each model that a job registers", fix)
    for key, endpoint in endpoints.items():
        if endpoint.rollout and endpoint.rollout.begin:
            where = f"endpoints.{key}.rollout.begin"
            if key not in by:
                yield Problem(where, "does nothing: no job registers what this endpoint serves", fix="remove it")
            elif not by[key][1].timezone:
                fix = "write the job's schedule and timezone, and `paused: true` where somebody starts it; or remove it"
                yield Problem(where, f"is in the time zone of job {by[key][0]}, which has none", fix=fix)


def warnings(endpoints: Mapping[str, EndpointSpec], models: Mapping[str, ModelSpec], jobs: Mapping[str, JobSpec]) -> Iterator[Found]:
    """What is allowed, and may be meant otherwise."""
    for job, spec in jobs.items():
        for key in _guarded(spec, endpoints, models) if spec.schedule else ():
            rollout = endpoints[key].rollout
            if rollout and not rollout.begin:
                words = (
                    f"a rollout begins as soon as a run of {job} has ended, by its schedule ({spec.schedule}, {spec.timezone}): "
                    f"with less than {rollout.guards.requests} requests a step nothing is proven, and the version is returned"
                )
                yield Found(f"endpoints.{key}.rollout", "warning", words, 'write `begin: "09:00"`, a time of day with requests')


def plan(
    name: str, spec: ModelSpec, image: str, endpoints: Mapping[str, EndpointSpec], placement: Placement, timezone: str | None
) -> RegisterPlan:
    """
    What becomes of what a job trains: the model of that key under `models:`, and the endpoints that serve it by its accepted alias.

    Args:
        timezone: The job's.
    """
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
        timezone=timezone or "",
        keep_versions=spec.keep_versions,
        rollouts=tuple(
            RolloutPlan(
                name=key,
                endpoint=f"{where}/endpoints/{endpoint.id_of(placement.project, placement.stack, key)}",
                journal=names.journal(placement.project, placement.stack, key),
                alias=accepted,
                deployed=served.inputs(),
                deployed_name=shown,
                rollout=_steps(endpoint),
            )
            for key, endpoint in endpoints.items()
            for shown, served in endpoint.served.items()
            if _is_whole(served, name, accepted)
        ),
    )


def rollout_minutes(plan: RegisterPlan) -> int:
    """
    How long the rollouts of one version take at most, one after another: each step twice its time, and the time kept warm; before them up
    to a day, and the hour by which some are longer, where one begins at a time of day.
    """
    steps = [one.rollout for one in plan.rollouts if one.rollout]
    wait = BEGIN_MINUTES if any(one.get("begin") for one in steps) else 0
    return wait + sum(2 * int(one["hold_minutes"]) * len(one["traffic_percent"]) + int(one["keep_warm_minutes"]) for one in steps)


def _guarded(job: JobSpec, endpoints: Mapping[str, EndpointSpec], models: Mapping[str, ModelSpec]) -> list[str]:
    """Endpoints to which what a job registers comes by a rollout; none where the file is wrong about the model."""
    model = models.get(job.registers or "")
    if job.registers is None or model is None or len(model.first_aliases) != 1:
        return []
    return [
        key
        for key, one in endpoints.items()
        if one.rollout and any(_is_whole(served, job.registers, model.first_aliases[0]) for served in one.served.values())
    ]


def _is_whole(served: DeployedModelSpec, name: str, alias: str) -> bool:
    return _is_served(served.model, name, alias) and served.traffic in (None, 100)


def _is_served(reference: str, name: str, alias: str) -> bool:
    if FULL_MODEL.fullmatch(reference):
        return False
    key, _, wanted = reference.partition("@")
    return key == name and (wanted or CHAMPION) == alias


def _steps(endpoint: EndpointSpec) -> dict[str, Any] | None:
    return endpoint.rollout.model_dump(mode="json", exclude_none=True) if endpoint.rollout else None
