"""A Vertex AI endpoint: the address that callers ask for predictions, and who may call it."""

from __future__ import annotations

import hashlib
from typing import Annotated, ClassVar

import pulumi
from pydantic import AfterValidator

from infra import gcp, names
from infra.components.placement import Placement
from infra.spec import Member, Sentence, Spec, YesNo, distinct

CALLER_ROLE = "roles/aiplatform.user"
"""The least predefined role with `aiplatform.endpoints.predict`, granted on the endpoint alone.
Source: https://cloud.google.com/vertex-ai/docs/general/access-control, read 2026-11."""


class EndpointSpec(Spec):
    """What one endpoint is. No model is deployed on it yet: it costs nothing until one is."""

    later: ClassVar[dict[str, str]] = {
        "model": "the model whose champion it serves",
        "machine_type": "the machine that a deployed model runs on",
        "accelerator_type": "the accelerator that a deployed model runs on",
        "min_replicas": "replicas of a deployed model",
        "max_replicas": "replicas of a deployed model",
        "deployed_models": "several models with shares of the traffic",
        "rollout": "guarded steps of traffic",
    }

    callers: Annotated[list[Member], AfterValidator(distinct)]
    """Who may ask for predictions, as IAM members. Write `[]` for nobody beyond those who may in the whole project."""
    description: Sentence = ""
    """What it is for, in a sentence."""
    dedicated: YesNo = True
    """Own DNS name, apart from other users' traffic. Immutable: a change makes another endpoint."""


class Endpoint(pulumi.ComponentResource):
    """An endpoint in the stack's region, and a grant for each caller."""

    endpoint: gcp.vertex.AiEndpoint

    def __init__(self, name: str, spec: EndpointSpec, *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:endpoint:Endpoint", name, None, opts)
        self.endpoint = gcp.vertex.AiEndpoint(
            name,
            name=names.endpoint_id(placement.project, placement.stack, name),
            project=placement.project,
            location=placement.region,
            display_name=f"{placement.stack}-{name}",
            description=spec.description,
            dedicated_endpoint_enabled=spec.dedicated,
            labels=placement.labels,
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )
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
        self.register_outputs({"endpoint": self.endpoint.id})
