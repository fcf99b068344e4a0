"""A wish for more quota, which Google grants or not. What became of it is an output, and `doctor --cloud` tells it."""

from __future__ import annotations

from typing import Annotated

import pulumi
from pydantic import AfterValidator, Field, StringConstraints

from infra import gcp, names
from infra.catalog import places
from infra.components.apis import Api
from infra.components.budget import Email
from infra.components.placement import Placement
from infra.spec import Sentence, Spec, WholeNumber, pattern, problem

VALUE_MAX = 10**12
NOT_HERE = ("resource", "user")
"""Dimensions that no request may name. Source: google.api.cloudquotas.v1, `QuotaPreference.dimensions`, read 2026-11."""


def _places(value: dict[str, str]) -> dict[str, str]:
    """A region or zone that is none would be asked for in vain."""
    for key, said in value.items():
        if key in NOT_HERE:
            raise problem(f"may not name {key}: a request is for all of them", fix=f"remove {key}")
        if key in ("region", "zone"):
            region = said if key == "region" else places.region_of(said)
            try:
                places.check_region(region)
            except places.UnknownPlace as error:
                raise problem(f"names no {key} of Google Cloud: {said}", allowed=error.nearest or "a region's name") from None
    return value


Dimension = Annotated[
    str, StringConstraints(strict=True), pattern(r"[a-z][a-z_]{0,62}", "is not the name of a dimension (small letters and _)", "region")
]
Value = Annotated[
    str, StringConstraints(strict=True), pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", "is not a dimension's value", "us-central1")
]


class QuotaRequestSpec(Spec):
    """One wish: a quota of an API, where, and how much of it."""

    service: Api
    """API whose quota it is: `compute.googleapis.com` for GPUs, and for TPUs on Compute Engine and GKE."""
    quota_id: Annotated[
        str,
        StringConstraints(strict=True),
        pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", "is not the id of a quota", "GPUS-PER-GPU-FAMILY-per-project-region"),
    ]
    """Id of the quota, such as `GPUS-PER-GPU-FAMILY-per-project-region`. `gcloud beta quotas info list` shows all of an API."""
    dimensions: Annotated[dict[Dimension, Value], Field(max_length=8), AfterValidator(_places)] = {}
    """What it is for, as the quota has it: `{region: us-central1, gpu_family: NVIDIA_H100}`. Without one, for all places."""
    value: Annotated[WholeNumber, Field(ge=0, le=VALUE_MAX)]
    """How much is wanted in all, not how much more."""
    contact: Email
    """Who is asked if Google wants to know more; must be allowed to change quotas of the project, or the request is denied then."""
    justification: Annotated[Sentence, StringConstraints(min_length=1)]
    """Why, for the people who decide."""


class QuotaRequest(pulumi.ComponentResource):
    """The request. Google keeps it for ever: who takes it out of the file leaves the quota as it is."""

    preference: gcp.cloudquota.SQuotaPreference

    def __init__(self, name: str, spec: QuotaRequestSpec, *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:quota_request:QuotaRequest", name, None, opts)
        self.preference = gcp.cloudquota.SQuotaPreference(
            name,
            name=names.resource(placement.stack, name),
            parent=f"projects/{placement.project}",
            service=spec.service,
            quota_id=spec.quota_id,
            dimensions=spec.dimensions,
            quota_config={"preferred_value": str(spec.value)},
            contact_email=spec.contact.removeprefix("email:"),
            justification=spec.justification,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"granted": self.granted})

    @property
    def granted(self) -> pulumi.Output[dict[str, object]]:
        """What was asked for, and what became of it, as it was when the engine looked last."""
        config = self.preference.quota_config.apply(
            lambda found: {
                "wanted": found.preferred_value,
                "granted": found.granted_value or None,
                "detail": found.state_detail or "",
            }
        )
        return pulumi.Output.all(config, self.preference.reconciling).apply(lambda found: {**found[0], "pending": bool(found[1])})
