"""How a new model version comes to an endpoint's traffic: `accelform rollout` follows it. The program itself does nothing with it."""

from __future__ import annotations

import itertools
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from infra.spec import Number, Spec, WholeNumber, pattern, problem


def _growing(value: list[int]) -> list[int]:
    """Refuses steps that do not grow to 100."""
    if any(later <= earlier for earlier, later in itertools.pairwise(value)) or value[-1] != 100:
        raise problem("is no way up to all of the traffic", allowed="whole percent that grow, 1 to 100, the last one 100: [10, 50, 100]")
    return value


TimeOfDay = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", 'is no time of day ("00:00" to "23:59", in quotes: YAML reads a number otherwise)', '"09:00"'
    ),
]


class GuardsSpec(Spec):
    """What must hold of the new version at each step: every limit must stay below."""

    p50_ms: Annotated[Number, Field(gt=0)] | None = None
    """Milliseconds within which half of the requests are answered. (default: no limit)"""
    p95_ms: Annotated[Number, Field(gt=0)] | None = None
    """Milliseconds within which 95 in a hundred requests are answered. (default: no limit)"""
    p99_ms: Annotated[Number, Field(gt=0)] | None = None
    """Milliseconds within which 99 in a hundred requests are answered. (default: no limit)"""
    error_rate: Annotated[Number, Field(gt=0, le=1)] | None = None
    """Part of the answers that are errors (4xx and 5xx): 0.01 is one in a hundred. (default: no limit)"""
    requests: Annotated[WholeNumber, Field(ge=1)] = 100
    """Requests that a step needs: with fewer nothing is proven, and after twice the hold everything goes back."""

    @model_validator(mode="after")
    def _guards(self) -> Self:
        if not self.limits():
            raise problem("guards nothing", allowed="at least one of p50_ms, p95_ms, p99_ms, error_rate", fix="write p95_ms or error_rate")
        return self

    def limits(self) -> dict[str, float]:
        found = {key: getattr(self, key) for key in ("p50_ms", "p95_ms", "p99_ms", "error_rate")}
        return {key: limit for key, limit in found.items() if limit is not None}


class RolloutSpec(Spec):
    """Steps of traffic for a new version of the endpoint's model, by `accelform rollout`."""

    traffic_percent: Annotated[list[Annotated[WholeNumber, Field(ge=1, le=100)]], Field(min_length=1), AfterValidator(_growing)]
    """Percent of the traffic that the new version gets, step by step, up to 100."""
    hold_minutes: Annotated[WholeNumber, Field(ge=1, le=7 * 24 * 60)]
    """Minutes that each step is held while the guards are read. Google's metrics are late by some minutes."""
    keep_warm_minutes: Annotated[WholeNumber, Field(ge=0, le=7 * 24 * 60)] = 0
    """Minutes that the version before stays deployed, and costs, after the last step: `accelform rollback` then takes one call."""
    begin: TimeOfDay | None = None
    """Time of day, in the time zone of the job that registers the model, before which no rollout of a version that a run made begins: with
    few requests at night nothing is proven. The run waits for it without a machine; `accelform rollout` does not. (default: at once)"""
    guards: GuardsSpec
    """What must hold of the new version: the first that does not sends all traffic back."""
