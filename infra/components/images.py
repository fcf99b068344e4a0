"""Images of the stack's containers, by name: each by its digest, so that what was tested is what runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, StringConstraints, ValidationInfo

from infra.components.model import IMAGE
from infra.components.placement import region_of_file
from infra.spec import pattern, problem

RUNNER = "runner"
"""Name of the image that runs the jobs of a stack: this very project."""


def _in_region(value: str, info: ValidationInfo) -> str:
    match, region = IMAGE.fullmatch(value), region_of_file(info)
    if match and region and match[1] != region:
        raise problem("stands in another region", allowed=f"an image in {region}-docker.pkg.dev", fix=f"copy the image to {region}")
    return value


Image = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        IMAGE.pattern,
        "is no image of Artifact Registry by its digest",
        f"asia-east1-docker.pkg.dev/tw-shop-ml/asia-east1-images/train@sha256:{64 * '0'}",
    ),
    AfterValidator(_in_region),
]
"""A full reference by digest, in a repository of the stack's region."""
