"""A model in Vertex AI's registry: an image, its files and the container's contract; each change of them is another version."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

import pulumi
from pydantic import AfterValidator, Field, Strict, StringConstraints, ValidationInfo, field_validator, model_validator

from infra import accelform, names
from infra.components.placement import Placement, region_of_file
from infra.components.storage import Storage
from infra.errors import Problem, ProblemsError
from infra.spec import Sentence, Spec, WholeNumber, distinct, pattern, problem

IMAGE = re.compile(r"([a-z0-9-]+)-docker\.pkg\.dev(?:/[a-z0-9][a-z0-9._-]*){3,}@sha256:[0-9a-f]{64}")
NO_FILES = "none"
DEFAULT = "default"

Route = Annotated[str, StringConstraints(strict=True), pattern(r"/[!-~]*", "is no path of HTTP: it begins with /", "/predict")]
Alias = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[a-z][a-z0-9-]{0,126}[a-z0-9]", "is no alias (2 to 128 of a-z, 0-9 and -, a letter first, no - at the end)", "candidate"),
]
"""Source: Model.versionAliases in the discovery document aiplatform v1, revision 20261106; of the limits below too."""
Variable = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[A-Za-z_][A-Za-z0-9_]*", "is no name of a variable (letters, digits and _, no digit first)", "BATCH_SIZE"),
]
Text = Annotated[str, Strict()]


class ModelSpec(Spec):
    """What one model is made of, and what its versions are called. It costs nothing until it is deployed."""

    later: ClassVar[dict[str, str]] = {
        "workload": "the workload whose image it is",
        "accept_if": "the gate that accepts a candidate",
    }

    image: Annotated[
        str,
        StringConstraints(strict=True),
        pattern(
            IMAGE.pattern,
            "is no image of Artifact Registry by its digest",
            f"asia-east1-docker.pkg.dev/tw-shop-ml/asia-east1-images/serve@sha256:{64 * '0'}",
        ),
    ]
    """Image of the container, by its digest, in a repository of the stack's region. Another one is another version."""
    artifact: (
        Annotated[
            str,
            StringConstraints(strict=True),
            pattern(
                rf"gs://[a-z0-9][a-z0-9._-]{{1,220}}[a-z0-9](?:/[^\x00-\x1f\x7f]*)?|{NO_FILES}",
                f"is neither a folder of a bucket nor {NO_FILES}",
                "gs://tw-shop-ml-asia-east1-models/recommender/7/",
            ),
        ]
        | None
    ) = None
    """Folder of the model's files, in a bucket of the stack's region; `none` where the image has them. They are copied when a version is
    made: new files under the same address are not seen. (default: the folder of the model's name in the models bucket)"""
    port: Annotated[WholeNumber, Field(ge=1, le=65535)]
    """Port that the container serves HTTP on."""
    predict_route: Route
    """Path that predictions are asked at."""
    health_route: Route
    """Path that says whether the container is healthy."""
    command: list[Text] = []
    """What runs instead of the image's entry point."""
    args: list[Text] = []
    """Its arguments, instead of the image's."""
    env: Annotated[dict[Variable, Text], Field(max_length=200)] = {}
    """Environment of the container, in the order of the names. No secrets: whoever may read the model reads it."""
    shared_memory_mib: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Shared memory, of the machine's, as Vertex AI counts it in `sharedMemorySizeMb`."""
    description: Sentence = ""
    """What it is for, in a sentence."""
    aliases: Annotated[list[Alias], AfterValidator(distinct)] = ["candidate"]
    """Aliases of the version that this file describes: they move with each new one."""
    first_aliases: Annotated[list[Alias], AfterValidator(distinct)] = ["champion"]
    """Aliases that the first version gets, and that move by hand or by a gate alone."""
    keep_versions: Annotated[WholeNumber, Field(ge=1)] | None = None
    """How many versions stay; older ones that are neither deployed nor have an alias are deleted. (default: all)"""

    @field_validator("image")
    @classmethod
    def _in_region(cls, value: str, info: ValidationInfo) -> str:
        match, region = IMAGE.fullmatch(value), region_of_file(info)
        if match and region and match[1] != region:
            raise problem("stands in another region", allowed=f"an image in {region}-docker.pkg.dev", fix=f"copy the image to {region}")
        return value

    @model_validator(mode="after")
    def _one_kind_of_alias(self) -> ModelSpec:
        both = [alias for alias in self.first_aliases if alias in self.aliases]
        problems = [
            Problem("first_aliases", f"{alias} is in aliases too", fix="say it once: does it move with each version?") for alias in both
        ]
        if DEFAULT in self.first_aliases:
            problems.append(Problem("first_aliases", f"{DEFAULT} is Google's own: the first version has it", fix="leave it out"))
        if problems:
            raise ProblemsError(problems)
        return self


class Model(pulumi.ComponentResource):
    """A model in the stack's region."""

    model: accelform.Model
    moving: tuple[str, ...]
    """Aliases that name the version which the stack file describes."""

    def __init__(
        self, name: str, spec: ModelSpec, *, placement: Placement, storage: Storage, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("accelform:model:Model", name, None, opts)
        folder = spec.artifact or pulumi.Output.concat("gs://", storage.models.name, "/", name, "/")
        self.model = accelform.Model(
            name,
            project=placement.project,
            location=placement.region,
            model_id=names.resource(placement.stack, name),
            display_name=f"{placement.stack}-{name}",
            description=spec.description or None,
            labels=placement.labels,
            image_uri=spec.image,
            artifact_uri=None if spec.artifact == NO_FILES else folder,
            ports=[spec.port],
            predict_route=spec.predict_route,
            health_route=spec.health_route,
            command=spec.command or None,
            args=spec.args or None,
            env=spec.env or None,
            shared_memory_size_mb=spec.shared_memory_mib,
            version_aliases=spec.aliases,
            first_aliases=spec.first_aliases,
            keep_versions=spec.keep_versions,
            # The image may be in a repository that this very run makes: then nothing can have been pushed, and the upload says so.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[storage.models, storage.images]),
        )
        self.moving = tuple(spec.aliases)
        self.register_outputs({"model": self.model.name, "version": self.model.version_id})
