"""What lives in a cluster, read as the engine hands it over: without files, whose reading takes most of a test's time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from pydantic import ValidationError

from infra import refusals
from infra.apps import AppsSpec
from infra.stack import StackSpec
from infra.yaml_file import YamlFile

Apps = Callable[..., AppsSpec]
Refused = Callable[..., dict[str, str]]


@cache
def _region(config: str) -> StackSpec:
    return StackSpec.from_engine(json.loads(config), "there")


@pytest.fixture
def apps(base: dict[str, Any]) -> Apps:
    """Reads an apps file by its own keys, beside a region's file whose keys are `region`."""

    def read(region: dict[str, Any], **said: Any) -> AppsSpec:
        there = base | {f"accelform:{key}": value for key, value in region.items()}
        spec = _region(json.dumps({key: one if isinstance(one, str) else json.dumps(one) for key, one in there.items()}, sort_keys=True))
        own = {"project": spec.project, "schema": 1, "region": spec.region, "environment": spec.environment, "owner": spec.owner}
        context = {"region": spec.region, "region_stack": spec}
        return AppsSpec.model_validate(own | {"kind": "apps", "region_stack": "there"} | said, context=context)

    return read


@pytest.fixture
def refused(apps: Apps) -> Refused:
    """Message, what is allowed and what to do, by the path of each problem."""

    def problems(region: dict[str, Any], **said: Any) -> dict[str, str]:
        with pytest.raises(ValidationError) as caught:
            apps(region, **said)
        found = refusals.problems(AppsSpec, caught.value, YamlFile("apps", {}, {}))
        return {one.path: " | ".join((one.message, one.allowed, one.fix)) for one in found}

    return problems
