"""`image-by-digest`: what was tested is what runs, also after a restart: a tag may be another image tomorrow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret
from infra.planned_jobs import CONTAINER, PATH, RUN_JOB, custom_jobs
from infra.policy.objects import containers, pods
from infra.policy.rule import Broken, Rule

DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
SERVICE = "gcp:cloudrunv2/service:Service"
RUNNERS = {RUN_JOB: "template.template", SERVICE: "template"}
MODEL = "accelform:vertex:Model"
DECLARATION = "metadata.gce-container-declaration"
"""Where a machine of Compute Engine was told its container; it is a text of YAML."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Containers of pods, of Cloud Run, of models, of custom jobs and of machines, whose image has no digest."""
    for path, pod in pods(resource):
        for at, one in containers(path, pod):
            if "image" in one:  # a controller may put it in where it is not said, as that of MPI and Ray do
                yield from _image(f"{at}.image", one["image"])
    if resource.type in RUNNERS:
        at = RUNNERS[resource.type]
        several = resource.get(f"{at}.containers")
        for index, one in enumerate(several if isinstance(several, list) else []):
            yield from _image(f"{at}.containers[{index}].image", one.get("image") if isinstance(one, dict) else UNKNOWN)
        for way, job in custom_jobs(resource):
            for index, pool in enumerate(job.get("jobSpec.workerPoolSpecs") or []):
                for broken in _image("imageUri", Declared("", "", pool).get("containerSpec.imageUri")):
                    yield Broken(PATH, f"the custom job as {way}, machines {index}: {broken.message}")
    elif resource.type == MODEL and resource.get("allowTag") is not True and resource.get("imageUri") is not None:
        yield from _image("imageUri", resource.get("imageUri"))
    elif resource.type.startswith("gcp:compute/"):
        yield from _machine(resource)


def _machine(resource: Declared) -> Iterator[Broken]:
    said = resource.get(CONTAINER)
    if isinstance(said, str):
        try:
            yield from _image(CONTAINER, json.loads(said).get("image"))
        except (ValueError, AttributeError, RecursionError):
            yield Broken(CONTAINER, "is no container")
    declared = resource.get(DECLARATION)
    for image in re.findall(r"image:\s*[\"']?([^\s\"',}]+)", declared) if isinstance(declared, str) else []:
        yield from _image(DECLARATION, image)


def _image(path: str, image: Any) -> Iterator[Broken]:
    if isinstance(image, Secret):
        yield Broken(path, "is a secret: what runs must be seen")
    elif not isinstance(image, str):
        yield Broken(path, "must be stated, and known at preview")
    elif not DIGEST.fullmatch(image):
        yield Broken(path, f"{image[:200]} has no digest: what it is may change")


RULE = Rule(
    name="image-by-digest",
    description="Every container runs an image by its digest.",
    remediation="write NAME@sha256:..., which `gcloud artifacts docker images describe` prints; of an own one `accelform image build` does",
    severity="medium",
    find=find,
)
