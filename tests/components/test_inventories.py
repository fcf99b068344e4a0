"""
Each component, by inventory: what a stack file makes it declare. One file a component: `inventories/<component>.yaml`.

An inventory counts every resource under its component, and pins only the inputs that matter.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.collect import collect
from infra.declared import UNKNOWN, Declared
from infra.program import declare
from infra.stack import StackSpec

INVENTORIES = sorted((Path(__file__).parent / "inventories").glob("*.yaml"))
CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}-{name}")
    for path in INVENTORIES
    for name, case in YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")).items()
]


def under(resources: list[Declared], component: str) -> list[Declared]:
    """Resources whose URN stands under a component of that file, without the components themselves."""
    return [one for one in resources if f"accelform:{component}:" in one.urn and not one.is_component]


def kind(one: Declared) -> str:
    """The last word of a type; of those that two packages call `Job`, the package."""
    short = one.type.rpartition(":")[2]
    return one.type.removeprefix("gcp:").partition("/")[0] if short == "Job" else short


def plain(value: Any) -> Any:
    """Declared values as an inventory writes them."""
    if value is UNKNOWN:
        return "<unknown>"
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def only(wanted: Any, got: Any) -> Any:
    """The part of *got* that *wanted* names; lists are compared whole, element by element."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return {key: only(inner, got.get(key)) for key, inner in wanted.items()}
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [only(one, other) for one, other in zip(wanted, got, strict=True)]
    return got


@pytest.mark.parametrize(("component", "case"), CASES)
def test_declares_its_inventory(component: str, case: dict[str, Any], base: dict[str, Any], stack_file: Any) -> None:
    """Each stack file declares exactly what its inventory counts, with the inputs that it names."""
    config = base | {("gcp:project" if key == "project" else f"accelform:{key}"): value for key, value in case["config"].items()}
    spec = StackSpec.load(stack_file(config))
    declared = under(collect(lambda: declare(spec, "try"), "try"), component)

    assert Counter(one.type for one in declared) == case["counts"]
    by_key = {f"{kind(one)}/{one.name}": one for one in declared}
    for key, wanted in case.get("inputs", {}).items():
        assert only(wanted, plain(by_key[key].inputs)) == wanted, key
    for key, wanted in case.get("options", {}).items():
        assert {name: getattr(by_key[key], name) for name in wanted} == wanted, key


def test_every_component_has_an_inventory() -> None:
    """Every component's file has an inventory of its name."""
    import infra.components

    folder = Path(next(iter(infra.components.__path__)))
    files = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "alerts",
        "placement",
        "registered",
        "rollout",
        "host",
        "tpu_host",
        "gpu_host",
        "gpu_offer",
        "tpu_offer",
        "vertex_offer",
        "images",
        "job_machine",
        "maintenance",
        "pool_checks",
        "pool_nodes",
        "pool_parts",
    }
    assert files == {path.stem for path in INVENTORIES}
