"""Every manifest that an example declares is one that a cluster takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from infra.apps import AppsSpec
from infra.collect import collect
from infra.declared import UNKNOWN
from infra.stack_kinds import declare, load

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*(ROOT / "stacks").glob("Pulumi.*-apps.yaml"), *(ROOT / "docs" / "examples").glob("Pulumi.*-apps.yaml")])
VERSION = "1.37"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_manifests_of_an_example_are_whole(path: Path) -> None:
    """By Kubernetes' own schemas, strictly: no field that is not there, none of another type."""
    spec = load(path)
    assert isinstance(spec, AppsSpec)
    wrong, kinds = [], set()
    for one in collect(lambda: declare(spec, "try"), "try"):
        if not one.type.startswith("kubernetes:") or one.type.startswith("kubernetes:helm.sh/"):
            continue
        assert UNKNOWN not in leaves(one.inputs), one.name
        kinds.add(one.inputs["kind"])
        try:
            kubernetes_validate.validate(one.inputs, VERSION, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            assert "." in one.inputs["apiVersion"].partition("/")[0], one.name  # a resource that the cluster has from elsewhere
        except kubernetes_validate.ValidationError as error:
            wrong.append((one.name, error.message))
    assert wrong == []
    assert {"Deployment", "HorizontalPodAutoscaler", "APIService", "Gateway"} <= kinds


def leaves(value: Any) -> list[Any]:
    """Every value in it, at any depth."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    return [leaf for inner in value for leaf in leaves(inner)] if isinstance(value, list) else [value]
