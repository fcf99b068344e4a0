"""A Vertex AI endpoint: the address that callers ask for predictions, who may call it, and what it serves."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from infra import gcp, names
from infra.components.deployed_models import (
    CHAMPION,
    DeployedModels,
    DeployedModelSpec,
    ModelReference,
    ReplicasSpec,
    in_region,
    key_of,
)
from infra.components.existing import FullName, MayExist
from infra.components.model import Model
from infra.components.placement import Placement
from infra.components.rollout import RolloutSpec
from infra.errors import Problem, ProblemsError
from infra.spec import Because, Member, Name, Sentence, Spec, YesNo, distinct, pattern

CALLER_ROLE = "roles/aiplatform.user"
"""The least predefined role with `aiplatform.endpoints.predict`, granted on the endpoint alone.
Source: https://cloud.google.com/vertex-ai/docs/general/access-control, read 2026-11."""


ENDPOINT = FullName(
    "an endpoint",
    ("projects/{project}/locations/{location}/endpoints/{name}",),
    "projects/tw-shop-ml/locations/asia-east1/endpoints/1234567890",
    name=r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?",
)
ConsumerProject = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        r"[a-z][a-z0-9-]{4,28}[a-z0-9]", "is no project id (6 to 30 of a-z, 0-9 and -, a letter first, no - at the end)", "tw-shop-web"
    ),
]
"""Source: https://cloud.google.com/resource-manager/docs/creating-managing-projects, read 2026-11."""


class PrivateServiceConnectSpec(Spec):
    """
    Callers reach the endpoint by addresses in their own networks, which they connect to its service attachment, and not from the internet.

    There Google judges by the project, and not by who calls: `enableSecurePrivateServiceConnect`, with IAM, is of v1beta1 alone. Source:
    PrivateServiceConnectConfig in the discovery document aiplatform v1beta1, revision 20261106.
    """

    projects: Annotated[list[ConsumerProject], Field(min_length=1), AfterValidator(distinct)]
    """Ids of the projects whose networks may connect; this one too, if it calls. Immutable: a change makes another endpoint."""


class EndpointSpec(ReplicasSpec, MayExist):
    """
    What one endpoint is. It costs nothing until a model is deployed on it: `model` with its machine, or several in `deployed_models`.
    """

    owners: ClassVar[tuple[str, ...]] = ("description", "dedicated", "private_service_connect")

    existing: Annotated[str, ENDPOINT.validator] | None = None
    """An endpoint of the project that others own, by its full name: what is deployed on it, and who may call it, is this file's. (default:
    an own one)"""
    model: ModelReference | None = None
    """The one model that it serves: a key of `models:`, whose champion is served, or one with another alias or version. (default: none)"""
    deployed_models: dict[Name, DeployedModelSpec] = {}
    """Several models with shares of the traffic, by name."""
    update: Literal["surge", "in-place"] = "surge"
    """How something is deployed anew. `surge`: beside the old one, for which the quota of both is needed for a while. `in-place`: after the
    old one went; nobody serves for minutes where it is the only one."""
    foreign: Literal["refuse", "keep", "undeploy"] = "refuse"
    """What happens to deployed models that are not of this file: `refuse` any change, `keep` them without traffic, or `undeploy`."""
    rollout: RolloutSpec | None = None
    """Steps and guards for `accelform rollout`, which gives a new version of `model` the traffic. (default: they are said there)"""
    callers: Annotated[list[Member], AfterValidator(distinct)]
    """Who may ask for predictions, as IAM members. Write `[]` for nobody beyond those who may in the whole project."""
    description: Sentence = ""
    """What it is for, in a sentence."""
    because: Because | None = None
    """Why accelerators stand for it around the clock, or are no Spot machines: a sentence, which such an endpoint must have. (default:
    none)"""
    dedicated: YesNo = True
    """Own DNS name, apart from other users' traffic. Immutable: a change makes another endpoint."""
    private_service_connect: PrivateServiceConnectSpec | None = None
    """Reached by Private Service Connect instead: by whoever is in a network of these projects, without a look at `callers`. Its service
    attachment is there once a model is deployed. Immutable: a change makes another endpoint. (default: reached from the internet)"""

    @field_validator("model")
    @classmethod
    def _in_region(cls, value: str | None, info: ValidationInfo) -> str | None:
        return in_region(value, info) if value else value

    @model_validator(mode="after")
    def _serves(self, info: ValidationInfo) -> Self:
        found = []
        if self.private_service_connect and self.dedicated and "dedicated" in self.model_fields_set:
            # They conflict in the provider's schema: resource_vertex_ai_endpoint.go, as its own tracker quotes it in 2026-05.
            fix = "remove one: an own DNS name is public"
            found.append(Problem("dedicated", "does not go together with private_service_connect", "one of the two", fix))
        settings = sorted(ReplicasSpec.model_fields.keys() & self.model_fields_set)
        if self.rollout and not self.model:
            found.append(Problem("rollout", "does nothing: no `model` is served, of which a version could come", fix="remove it"))
        if self.model and self.deployed_models:
            found.append(Problem("model", "is said besides deployed_models", fix="make it one of deployed_models"))
        elif self.model:
            found += self.problems(info)
        elif self.deployed_models:
            found += [Problem(key, "is of a deployed model", fix="write it for each of deployed_models") for key in settings]
        else:
            found += [Problem(key, "does nothing: no model is served", fix="say which `model`, or remove it") for key in settings]
        shares = {name: one.traffic for name, one in self.deployed_models.items()}
        if len(shares) > 1 or any(share is not None for share in shares.values()):
            missing = [name for name, share in shares.items() if share is None]
            found += [Problem(f"deployed_models.{name}.traffic", "is missing", "0 to 100, together 100") for name in missing]
            total = sum(share for share in shares.values() if share is not None)
            if not missing and total != 100:
                found.append(Problem("deployed_models", f"traffic makes {total} percent", "100 together"))
        if found:
            raise ProblemsError(found)
        return self

    def id_of(self, project: str, stack: str, name: str) -> str:
        """Id of the endpoint."""
        return ENDPOINT.parts(self.existing)["name"] if self.existing else names.endpoint_id(project, stack, name)

    @property
    def has_dns(self) -> bool:
        """Whether it has a DNS name of its own."""
        return self.dedicated and not self.private_service_connect

    @property
    def served(self) -> dict[str, DeployedModelSpec]:
        """What is deployed, by name."""
        if not self.model:
            return self.deployed_models
        settings = {key: getattr(self, key) for key in ReplicasSpec.model_fields}
        return {CHAMPION: DeployedModelSpec.model_construct(**settings, model=self.model, traffic=100)}

    def references(self) -> dict[str, str]:
        """Keys of `models:` that it names, by their path in the file."""
        named = {f"deployed_models.{name}.model": one.model for name, one in self.deployed_models.items()}
        if self.model:
            named["model"] = self.model
        return {path: key for path, reference in named.items() if (key := key_of(reference))}


class Endpoint(pulumi.ComponentResource):
    """An endpoint in the stack's region, what it serves, and a grant for each caller."""

    endpoint: gcp.vertex.AiEndpoint
    attachments: pulumi.Output[Mapping[str, str]] | None
    """Service attachment by deployed model, where one is deployed; only with Private Service Connect there are any."""

    def __init__(
        self,
        name: str,
        spec: EndpointSpec,
        *,
        placement: Placement,
        models: Mapping[str, Model],
        awaits: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            awaits: What it serves whose model may not be there yet, by name: who brings it.
        """
        super().__init__("accelform:endpoint:Endpoint", name, None, opts)
        self.endpoint = self._read(name, spec.existing) if spec.existing else self._made(name, spec, placement)
        for member in spec.callers:
            gcp.vertex.AiEndpointIamMember(
                f"{name}-{hashlib.sha256(member.encode()).hexdigest()[:8]}",  # a list's index would move with its neighbours
                project=placement.project,
                location=placement.region,
                endpoint=self.endpoint.name,
                role=CALLER_ROLE,
                member=member,
                opts=pulumi.ResourceOptions(parent=self.endpoint),
            )
        self.attachments = None
        if spec.served:
            self.attachments = DeployedModels(
                name,
                spec.served,
                placement=placement,
                endpoint=self.endpoint,
                models=models,
                update=spec.update,
                foreign=spec.foreign,
                awaits=awaits or {},
                opts=pulumi.ResourceOptions(parent=self),
            ).deployed_models.attachments
        self.register_outputs({"endpoint": self.endpoint.id})

    def _read(self, name: str, existing: str) -> gcp.vertex.AiEndpoint:
        project, location, short = ENDPOINT.parts(existing).values()
        opts = pulumi.ResourceOptions(parent=self)
        return gcp.vertex.AiEndpoint.get(name, existing, opts=opts, project=project, location=location, name=short)

    def _made(self, name: str, spec: EndpointSpec, placement: Placement) -> gcp.vertex.AiEndpoint:
        private = spec.private_service_connect
        return gcp.vertex.AiEndpoint(
            name,
            name=names.endpoint_id(placement.project, placement.stack, name),
            project=placement.project,
            location=placement.region,
            display_name=f"{placement.stack}-{name}",
            description=spec.description,
            # Not false: the two conflict in the provider's schema as soon as both are written.
            dedicated_endpoint_enabled=None if private else spec.dedicated,
            private_service_connect_config=None
            if private is None
            # Sorted: in another order it would be another endpoint.
            else {"enable_private_service_connect": True, "project_allowlists": sorted(private.projects)},
            labels=placement.labels,
            # What is deployed, and its split, are of `DeployedModels`: after a refresh the provider would take the split away again.
            opts=pulumi.ResourceOptions(
                parent=self,
                delete_before_replace=True,
                ignore_changes=["trafficSplit"],
                # The provider tries to change them. Google does not take that of the first, and no source says that of the second.
                replace_on_changes=["dedicatedEndpointEnabled", "privateServiceConnectConfig"],
            ),
        )
