"""
Every manifest that an example declares is one that a cluster takes. Of `infra.catalog.manifests` the tests are elsewhere: here it is held
against what is declared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog.manifests import faults
from infra.collect import collect
from infra.declared import UNKNOWN
from infra.stack_kinds import declare, load

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*(ROOT / "stacks").glob("Pulumi.*-apps.yaml"), *(ROOT / "docs" / "examples").glob("Pulumi.*-apps.yaml")])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_manifests_of_an_example_are_whole(path: Path) -> None:
    """By Kubernetes' own schemas and by ours of custom resources, strictly: no field that is not there, none of another type."""
    spec = load(path)
    assert isinstance(spec, AppsSpec)
    wrong, kinds = [], set()
    version = "1.35"  # of the regular channel, which both clusters are on
    for one in collect(lambda: declare(spec, "try"), "try"):
        if not one.type.startswith("kubernetes:") or one.type.startswith("kubernetes:helm.sh/"):
            continue
        assert UNKNOWN not in leaves(one.inputs), one.name
        kinds.add(one.inputs["kind"])
        wrong += [(one.name, str(fault)) for fault in faults(one.inputs, version)]
    assert wrong == []
    assert {"Deployment", "HorizontalPodAutoscaler", "APIService", "Gateway"} <= kinds


def leaves(value: Any) -> list[Any]:
    """Every value in it, at any depth."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    return [leaf for inner in value for leaf in leaves(inner)] if isinstance(value, list) else [value]
