"""What a service is told in parts: folders of models, where it sees them, and what more copies come for."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from infra.components.program import in_bucket
from infra.errors import Problem, ProblemsError
from infra.spec import Number, Spec, WholeNumber, pattern

LIVE_ROUTE, METRICS_ROUTE = "/healthz", "/metrics"
"""Paths of our own servers, beside those of the contract."""


Folder = Annotated[
    str,
    StringConstraints(strict=True, max_length=500),
    pattern(
        r"[A-Za-z0-9][A-Za-z0-9._=/-]*",
        "is no folder of the region's models bucket, without gs:// (letters, digits, . _ = - and /)",
        "recommender/7/",
    ),
    in_bucket("models", "recommender/7/"),
]
Metric = Annotated[
    str,
    StringConstraints(strict=True, max_length=200),
    pattern(r"[a-zA-Z_:][a-zA-Z0-9_:]*", "is no metric of Prometheus", "wl_in_flight"),
]


class ScaleSpec(Spec):
    """What more copies come for: one of `cpu_percent` and `metric`."""

    cpu_percent: Annotated[WholeNumber, Field(ge=1, le=100)] | None = None
    """Percent of the CPUs that copies asked for, on average of all copies, above which another one comes."""
    metric: Metric | None = None
    """A gauge among the metrics of the copies, such as `wl_in_flight`. It is read by way of Cloud Monitoring."""
    average: Annotated[Number, Field(ge=0.001, le=1e12)] | None = None
    """What `metric` is on average of all copies, above which another one comes."""

    @model_validator(mode="after")
    def _one_signal(self) -> Self:
        found = []
        if (self.cpu_percent is None) == (self.metric is None):
            found.append(Problem("", "says none, or both", "one of cpu_percent and metric"))
        if self.metric is not None and self.average is None:
            found.append(Problem("average", "is missing: above which average another copy comes", "a number above 0"))
        if self.metric is None and self.average is not None:
            found.append(Problem("average", "does nothing: it is of a metric", fix="say which `metric`, or remove it"))
        if found:
            raise ProblemsError(found)
        return self
