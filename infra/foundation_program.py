"""What a project has once, from its stack file."""

from __future__ import annotations

from dataclasses import replace

import pulumi

from infra.clouds import GOOGLE_CLOUD, Cloud
from infra.components.apis import Apis
from infra.components.budget import Budgets
from infra.components.pipeline import Pipeline
from infra.components.quota_request import QuotaRequest
from infra.components.state_bucket import StateBucket
from infra.components.state_key import StateKey
from infra.foundation import FoundationSpec
from infra.program import CHANNELS


def declare(spec: FoundationSpec, stack: str, cloud: Cloud = GOOGLE_CLOUD) -> None:
    """Declares everything that *spec* says, named after *stack*, in *cloud*. What calls an API comes after it is on."""
    placement = replace(spec.placement(stack), provider=cloud.provider)
    services = spec.services()
    apis = Apis("apis", services, placement=placement)
    budgets = Budgets("budgets", spec.budgets, notify=spec.notify, placement=placement, opts=apis.after)
    bucket = StateBucket("state", spec.state, placement=placement, opts=apis.after)
    key = StateKey("state", placement=placement, opts=apis.after)
    requests = {name: QuotaRequest(name, one, placement=placement, opts=apis.after) for name, one in spec.quota_requests.items()}
    if spec.pipeline:
        pipeline = Pipeline(
            "pipeline", spec.pipeline, services=services, bucket=bucket.bucket, key=key.key, placement=placement, opts=apis.after
        )
        pulumi.export("pipeline_provider", pipeline.provider.name)
        pulumi.export("pipeline_preview", pipeline.preview.email)
        pulumi.export("pipeline_apply", pipeline.apply.email)

    pulumi.export("cloud", cloud.name or budgets.project_number)
    pulumi.export("project", spec.project)
    pulumi.export("project_number", budgets.project_number)
    pulumi.export("region", spec.region)
    pulumi.export("state_url", bucket.url)
    pulumi.export("secrets_provider", key.url)
    pulumi.export(CHANNELS, budgets.channels)
    pulumi.export("quota_requests", {name: one.granted for name, one in requests.items()})
