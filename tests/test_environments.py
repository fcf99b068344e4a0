"""What an environment decides is asked of one table."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import environments, stack_kinds
from infra.check import StackFile, check
from infra.stack import StackSpec

ROOT = Path(__file__).parent.parent


def test_nobody_else_compares_an_environments_name() -> None:
    """A comparison with `dev`, `staging` or `prod` elsewhere would be a second table."""
    for path in (ROOT / "infra").rglob("*.py"):
        if path.name == "environments.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                said = {one.value for one in [node.left, *node.comparators] if isinstance(one, ast.Constant)}
                assert not said & set(environments.NAMES), f"{path}:{node.lineno}"


def test_data_of_an_unknown_environment_is_prods() -> None:
    assert not environments.protects("dev")
    assert [environments.protects(one) for one in ("staging", "prod", "Dev", "", None, 3, ["dev"])] == [True] * 7


def test_the_table_says_what_the_program_does(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """Its rows hold of what is declared, in each environment."""
    said = {row.what: row.by for row in environments.rows()}
    clusters = {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "autopilot"}}}
    for name in environments.NAMES:
        path = stack_file(base | clusters | {"accelform:environment": name, "gcp:project": f"tw-shop-{name}"}, name)
        checked = check(StackFile(name, path))
        labels = {one.inputs["labels"]["environment"] for one in checked.resources if "labels" in one.inputs}
        assert labels == {said["label `environment`"][name]}
        [cluster] = [one for one in checked.resources if one.type == "gcp:container/cluster:Cluster"]
        buckets = [one for one in checked.resources if one.type == "gcp:storage/bucket:Bucket"]
        assert {one.protect for one in [cluster, *buckets]} == {said["a destroy"][name].startswith("stops")}
        assert {one.inputs["forceDestroy"] for one in buckets} == {said["a destroy"][name] == "takes all"}
        assert str(cluster.inputs["deletionProtection"]).lower() == said["`clusters.<name>.deletion_protection`"][name]
        assert {one.inputs["versioning"]["enabled"] for one in buckets} == {True}
        unheard = [one.message for one in checked.warnings if one.check == "notify"]
        assert bool(unheard) == (said["nobody in `notify`"][name] == "is told")
        assert checked.findings == []


@pytest.mark.parametrize("heard", ["here", "by the foundation"])
def test_prod_with_somebody_who_hears_of_it(heard: str, base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    prod = base | {"accelform:environment": "prod"}
    mail = {"accelform:notify": ["email:ml@shop.example"]}
    stack_file(prod | mail | {"accelform:kind": "foundation"}, "once")
    region = {key: value for key, value in prod.items() if key != "accelform:budgets"} | {"accelform:foundation": "once"}
    spec = stack_kinds.load(stack_file(prod | mail if heard == "here" else region, "try"))
    assert isinstance(spec, StackSpec)
    assert list(spec.unheard()) == []
