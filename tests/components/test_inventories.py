"""
Each component, by inventory: what a stack file makes it declare. One file a component: `inventories/<component>.yaml`, here and in
`tests/in_cluster`.

An inventory counts every resource under its component, and pins only the inputs that matter. One of what lives in a cluster says the
region's file too.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.collect import collect
from infra.declared import UNKNOWN, Declared
from infra.policy.rule import check
from infra.stack_kinds import declare, load

ROOMS = ("components", "in_cluster")
TESTS = Path(__file__).parent.parent
INVENTORIES = sorted(path for room in ROOMS for path in (TESTS / room / "inventories").glob("*.yaml"))
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


def keys(said: dict[str, Any]) -> dict[str, Any]:
    """Keys of an inventory as a stack file has them."""
    return {("gcp:project" if key == "project" else f"accelform:{key}"): value for key, value in said.items()}


@pytest.mark.parametrize(("component", "case"), CASES)
def test_declares_its_inventory(component: str, case: dict[str, Any], base: dict[str, Any], stack_file: Any) -> None:
    """
    Each stack file declares exactly what its inventory counts, with the inputs that it names, and breaks no rule but those that a reason is
    enough for.
    """
    config = base | keys(case["config"])
    if "region" in case:
        stack_file(base | keys(case["region"]), "there")
        config = {key: value for key, value in config.items() if key != "accelform:budgets"}
        config |= keys({"region": case["region"].get("region", base["accelform:region"]), "kind": "apps", "region_stack": "there"})
    spec = load(stack_file(config))
    declared = under(collect(lambda: declare(spec, "try"), "try"), component)

    assert Counter(one.type for one in declared) == case["counts"]
    by_key = {f"{kind(one)}/{one.name}": one for one in declared}
    for key, wanted in case.get("inputs", {}).items():
        assert only(wanted, plain(by_key[key].inputs)) == wanted, key
    for key, wanted in case.get("options", {}).items():
        assert {name: getattr(by_key[key], name) for name in wanted} == wanted, key
    assert [f"{one.resource}: {one.rule} {one.path}" for one in check(declared, spec.region) if not one.reason_at] == []


def test_every_component_has_an_inventory() -> None:
    """Every file that declares a component has an inventory of its name."""
    infra = TESTS.parent / "infra"
    files = {path.stem for room in ROOMS for path in (infra / room).glob("*.py") if "(pulumi.ComponentResource)" in path.read_text("utf-8")}
    assert files == {path.stem for path in INVENTORIES}
