"""What CONTRIBUTING.md says of renaming a component: with an alias nothing is made anew, without one all in it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.conftest import Project

Make = Callable[[dict[str, Any]], Project]
pytestmark = pytest.mark.soak
PROGRAM = """
import pulumi
from pulumi import Alias, ResourceOptions, ROOT_STACK_RESOURCE
from infra import gcp


class Store(pulumi.ComponentResource):
    def __init__(self, name, kind, opts=None):
        super().__init__(kind, name, None, opts)
        gcp.storage.Bucket("data", name="shop-data", location="us-east5", opts=ResourceOptions(parent=self))


class Shop(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("shop:Shop", name)


{body}
"""
"""A component with a bucket, in a program that is nothing else."""
BEFORE = 'Shop("shop")\nStore("storage", "shop:Store")'
RENAMED = {
    "name": ('Store("store", "shop:Store"{})', 'Alias(name="storage")'),
    "type": ('Store("storage", "shop:storage:Storage"{})', 'Alias(type_="shop:Store")'),
    "parent": ('Store("storage", "shop:Store"{})', "Alias(parent=ROOT_STACK_RESOURCE)"),
}


def written(project: Project, body: str) -> dict[str, int]:
    """What the program with that body would do."""
    (project.folder / "infra" / "__main__.py").write_text(PROGRAM.format(body=body), encoding="utf-8")
    ran = project.run("preview", "--json")
    assert ran.code == 0, ran.text
    return ran.changes


def test_a_renamed_component_keeps_what_is_in_it_by_an_alias(base: dict[str, Any], project: Make) -> None:
    """Name, type and parent, each by the line that the document has."""
    here = project(base)
    written(here, BEFORE)
    made = here.run("up", "--yes", "--skip-preview")
    assert made.code == 0, made.text
    assert written(here, BEFORE).keys() == {"same"}
    for what, (after, alias) in RENAMED.items():
        parent = "parent=shop, " if what == "parent" else ""
        without = after.format(", ResourceOptions(parent=shop)" if parent else "")
        lost = written(here, f'shop = Shop("shop")\n{without}')
        assert {"create", "delete"} <= lost.keys(), what
        kept = written(here, f'shop = Shop("shop")\n{after.format(f", ResourceOptions({parent}aliases=[{alias}])")}')
        assert not {"create", "delete", "replace"} & kept.keys(), (what, kept)
