"""
What a project has once, by its stack file: `accelform:kind: foundation` -> `FoundationSpec`.

Regions come and go; APIs, the bucket of the states, their key, the pipeline's identities, the project's budget and its quota stay. A
region's file names its foundation, and both read the other's file, which stands beside it: the region what it need not hold itself, the
foundation which APIs are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator

from infra.components.apis import Api
from infra.components.budget import EMAILS_MAX, BudgetSpec, Notified
from infra.components.pipeline import PipelineSpec
from infra.components.quota_request import QuotaRequestSpec
from infra.components.state_bucket import StateBucketSpec
from infra.errors import Problem, ProblemsError, SpecError
from infra.spec import Name, distinct, problem
from infra.stack import StackSpec
from infra.stack_file import REGION, FileSpec
from infra.yaml_file import YamlFile, read

EVERY = ("billingbudgets", "cloudbilling", "cloudkms", "cloudresourcemanager", "serviceusage", "storage")
"""APIs that a foundation calls itself."""
BESIDE = "Pulumi.*.yaml"


def _once(value: list[str]) -> list[str]:
    if twice := sorted({item for item in value if value.count(item) > 1}):
        raise problem(f"names an API twice: {', '.join(twice)}", fix="name each once")
    return value


class FoundationSpec(FileSpec):
    """What a project has once: one stack file."""

    kind: Literal["foundation"] = "foundation"
    """What kind of stack it is: `foundation` holds what a project has once; `region` holds everything in one region; `apps` holds what
    lives in a cluster of a region."""
    notify: Annotated[list[Notified], Field(max_length=EMAILS_MAX), AfterValidator(distinct)] = []
    """Who gets the mail of budgets, and of the alerts of every region that names this foundation, as `email:` addresses."""
    apis: Annotated[list[Api], AfterValidator(_once)] = []
    """APIs that are on besides those that the region files beside this one need."""
    state: StateBucketSpec = StateBucketSpec()
    pipeline: PipelineSpec | None = None
    """Identities of a pipeline. (default: none)"""
    quota_requests: dict[Name, QuotaRequestSpec] = {}
    """Quota that is asked for, by name."""
    budgets: Annotated[dict[Name, BudgetSpec], Field(min_length=1)]
    """Budgets of the project, by name. At least one counts every month."""
    _beside: dict[str, StackSpec] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        if problems := [*self._project_wide(), *self._of(info)]:
            raise ProblemsError(problems)
        return self

    def _project_wide(self) -> Iterator[Problem]:
        if all(budget.period for budget in self.budgets.values()):
            fix = "add one without `period`: a period ends"
            yield Problem("budgets", "none counts the whole project, every month", fix=fix)
        for name, budget in self.budgets.items():
            if budget.scope != "project":
                yield Problem(f"budgets.{name}.scope", "a foundation's budget counts the project", "project", "move it to a region's file")
        wanted: dict[tuple[object, ...], str] = {}
        for name, request in self.quota_requests.items():
            same = wanted.setdefault((request.service, request.quota_id, *sorted(request.dimensions.items())), name)
            if same != name:
                yield Problem(f"quota_requests.{name}", f"asks for what {same} asks for", fix="remove one of the two")
        if self.pipeline is None and "pipeline" in self.model_fields_set:
            yield Problem("pipeline", "says nothing", "a mapping", "name the repository, or remove it")

    def _of(self, info: ValidationInfo) -> Iterator[Problem]:
        """What the regions beside it say."""
        found: Mapping[str, StackSpec | SpecError] = (info.context or {}).get("beside", {})
        for stack, region in found.items():
            if isinstance(region, SpecError):
                words = f"which APIs are needed is not known: the file of stack {stack} is wrong"
                yield Problem("apis", words, fix=f"accelform check {stack}")
            else:
                self._beside[stack] = region

    def services(self) -> tuple[str, ...]:
        """APIs that the project must have enabled: those that its regions call, those that the foundation calls, those that are said."""
        own = {f"{name}.googleapis.com" for name in EVERY}
        own |= {"monitoring.googleapis.com"} if self.notify else set()
        own |= {"cloudquotas.googleapis.com"} if self.quota_requests else set()
        if self.pipeline:
            own |= {"iam.googleapis.com", "iamcredentials.googleapis.com", "sts.googleapis.com"}
        regions = {service for region in self._beside.values() for service in region.services()}
        return tuple(sorted({*own, *regions, *self.apis}))

    @classmethod
    def context(cls, fields: Mapping[str, Any], file: YamlFile, folder: Path | None) -> dict[str, Any]:
        said = {"notify": fields.get("notify"), "beside": dict(_regions(fields.get("project"), folder))}
        return super().context(fields, file, folder) | said


def _regions(project: object, folder: Path | None) -> Iterator[tuple[str, StackSpec | SpecError]]:
    """The region files of the project in a folder, by stack. None of them reads the foundation in its turn."""
    for path in sorted(folder.glob(BESIDE)) if folder else []:
        stack = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        try:
            config = read(path).data.get("config")
        except SpecError as error:
            yield stack, error
            continue
        if not isinstance(config, dict) or config.get("accelform:kind", REGION) != REGION or config.get("gcp:project") != project:
            continue
        try:
            yield stack, StackSpec.load(path, beside=False)
        except SpecError as error:
            yield stack, error
