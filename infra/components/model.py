"""A model in Vertex AI's registry: an image, its files and the container's contract; each change of them is another version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import pulumi
from pydantic import AfterValidator, Field, Strict, StringConstraints, ValidationInfo, field_validator, model_validator

from infra import accelform, names
from infra.accept_if import ConditionError, parse
from infra.components.existing import FullName, MayExist
from infra.components.placement import Placement, region_of_file
from infra.components.storage import Storage
from infra.errors import Problem, ProblemsError
from infra.spec import Sentence, WholeNumber, distinct, pattern, problem
from workloads.contract import ServeSettings
from workloads.job import PROGRAMS

IMAGE = re.compile(r"([a-z0-9-]+)-docker\.pkg\.dev(?:/[a-z0-9][a-z0-9._-]*){3,}@sha256:[0-9a-f]{64}")
NO_FILES = "none"
DEFAULT = "default"
SERVERS = {name: program.image for name, program in PROGRAMS.items() if program.kind == "serve"}
"""Programs that serve -> the key of `images:` whose image has them."""

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


TEXT_BYTES = 130_000
"""Of one argument, or of one variable with its name: with more a process does not begin. Linux takes 128 KiB.
Source: `MAX_ARG_STRLEN` in include/uapi/linux/binfmts.h of Linux, read 2026-11."""


def _of_a_process(value: str) -> str:
    if "\0" in value:
        raise problem("has a zero byte, where an argument or a variable of a process ends", fix="leave it out")
    if (size := len(value.encode(errors="surrogatepass"))) > TEXT_BYTES:
        words = f"is {size:,} bytes, and no process takes so long an argument or variable"
        raise problem(words, allowed=f"{TEXT_BYTES:,} at most", fix="put it into a file that is read")
    return value


Text = Annotated[str, Strict(), AfterValidator(_of_a_process)]


def _program(value: str) -> str:
    if value not in SERVERS:
        raise problem("is no workload that serves", allowed=SERVERS)
    return value


def _condition(value: str) -> str:
    try:
        parse(value)
    except ConditionError as error:
        raise problem(f"is no condition: {error}", allowed=error.allowed, fix=error.fix) from None
    return value


MODEL = FullName(
    "a model",
    ("projects/{project}/locations/{location}/models/{name}",),
    "projects/tw-shop-ml/locations/asia-east1/models/recommender",
    name=r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}",
)


class ModelSpec(MayExist):
    """
    What one model is made of, and what its versions are called. It costs nothing until it is deployed.

    Where a job registers it, its versions are the job's: they are uploaded when a run has ended well, and not by an update.
    """

    image: (
        Annotated[
            str,
            StringConstraints(strict=True),
            pattern(
                IMAGE.pattern,
                "is no image of Artifact Registry by its digest",
                f"asia-east1-docker.pkg.dev/tw-shop-ml/asia-east1-images/serve@sha256:{64 * '0'}",
            ),
        ]
        | None
    ) = None
    """Image of the container, by its digest, in a repository of the stack's region. Another one is another version. (default: that of
    `workload`)"""
    workload: Annotated[str, StringConstraints(strict=True), AfterValidator(_program)] | None = None
    """Program of this project that serves it, such as `serve_recommender`: its image is of `images:`. (default: none; `image` is said)"""
    accept_if: Annotated[str, StringConstraints(strict=True), AfterValidator(_condition)] | None = None
    """What the metrics of a new version must be for it to be served, by numbers and by those of the version that serves:
    `recall_at_50 >= 0.98 * champion and click_auc > 0.6`. Of a model that a job registers. (default: each version is accepted)"""
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
    port: Annotated[WholeNumber, Field(ge=1, le=65535)] | None = None
    """Port that the container serves HTTP on. (default: the workload's; needed with `image`)"""
    predict_route: Route | None = None
    """Path that predictions are asked at. (default: the workload's; needed with `image`)"""
    health_route: Route | None = None
    """Path that says whether the container is healthy. (default: the workload's; needed with `image`)"""
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
    existing: Annotated[str, MODEL.validator] | None = None
    """A model that others register, by its full name without a version, and nothing else: endpoints serve it by an alias or a version."""

    @field_validator("image")
    @classmethod
    def _in_region(cls, value: str | None, info: ValidationInfo) -> str | None:
        match, region = IMAGE.fullmatch(value or ""), region_of_file(info)
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
        problems += self._made_of()
        if problems:
            raise ProblemsError(problems)
        return self

    def _made_of(self) -> Iterator[Problem]:
        if self.image and self.workload:
            yield Problem("workload", "is said besides image", "one of the two", "remove one: a workload's image is of `images:`")
        elif self.workload:
            said = [name for name in ("command", "args") if getattr(self, name)]
            yield from (Problem(name, "goes not with workload: it is started as it is", fix="remove it") for name in said)
        elif self.image:
            needed = {
                "port": "a port, such as 8080",
                "predict_route": "a path, such as /predict",
                "health_route": "a path, such as /health",
            }
            for name, allowed in needed.items():
                if getattr(self, name) is None:
                    yield Problem(name, "is missing: with `image` nothing is known of the container", allowed)
        else:
            yield Problem("image", "is missing", "an image by its digest, or a `workload`", f"write workload: {next(iter(SERVERS))}")

    def container(self, image: str) -> dict[str, Any]:
        """The container, as the provider takes it. *image*: its own, or its workload's."""
        known = ServeSettings("")
        found = {
            "imageUri": image,
            "ports": [self.port or known.port],
            "predictRoute": self.predict_route or known.predict_route,
            "healthRoute": self.health_route or known.health_route,
            "command": ["python", "-m", "workloads.serve", self.workload] if self.workload else self.command or None,
            "args": self.args or None,
            "env": self.env or None,
            "sharedMemorySizeMb": self.shared_memory_mib,
        }
        return {name: value for name, value in found.items() if value is not None}

    def container_spec(self, image: str) -> dict[str, Any]:
        """The same as a version in the registry has it."""
        from infra.provider import container  # with Google's clients behind it: a check needs it for the models of jobs alone

        spec: dict[str, Any] = container.body(self.container(image))["containerSpec"]
        return spec


class Model(pulumi.ComponentResource):
    """A model in the stack's region."""

    model: accelform.Model
    moving: tuple[str, ...]
    """Aliases that name the version which the stack file describes."""

    def __init__(
        self,
        name: str,
        spec: ModelSpec,
        *,
        placement: Placement,
        storage: Storage,
        image: str,
        job: str = "",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            image: Of the container.
            job: Key of the job that registers its versions; empty where an update uploads them.
        """
        super().__init__("accelform:model:Model", name, None, opts)
        if spec.existing:
            self.model, self.moving = self._read(name, spec.existing), ()
            self.register_outputs({"model": self.model.name})
            return
        folder = spec.artifact or pulumi.Output.concat("gs://", storage.models.name, "/", name, "/")
        made_of = {} if job else spec.container(image)
        self.model = accelform.Model(
            name,
            project=placement.project,
            location=placement.region,
            model_id=names.resource(placement.stack, name),
            display_name=f"{placement.stack}-{name}",
            description=spec.description or None,
            labels=placement.labels,
            uploaded_by=f"job {job}" if job else None,
            image_uri=made_of.get("imageUri"),
            artifact_uri=None if job or spec.artifact == NO_FILES else folder,
            ports=made_of.get("ports"),
            predict_route=made_of.get("predictRoute"),
            health_route=made_of.get("healthRoute"),
            command=made_of.get("command"),
            args=made_of.get("args"),
            env=made_of.get("env"),
            shared_memory_size_mb=made_of.get("sharedMemorySizeMb"),
            version_aliases=None if job else spec.aliases,
            first_aliases=None if job else spec.first_aliases,
            keep_versions=None if job else spec.keep_versions,
            # The image may be in a repository that this very run makes: then nothing can have been pushed, and the upload says so.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[storage.models, storage.images]),
        )
        self.moving = () if job else tuple(spec.aliases)
        self.register_outputs({"model": self.model.name, "version": self.model.version_id})

    def _read(self, name: str, existing: str) -> accelform.Model:
        project, location, short = MODEL.parts(existing).values()
        opts = pulumi.ResourceOptions(parent=self, id=existing)
        return accelform.Model(name, project=project, location=location, model_id=short, display_name=short, opts=opts)
