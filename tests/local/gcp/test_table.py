"""The table and the schema fit each other."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.gcp import schema, types
from infra.local.gcp.resource_type import ResourceType, placeholders
from infra.local.gcp.schema import FILE

ROOT = Path(__file__).parents[3]
FACTS = ROOT.parent / "shared" / "provider-traffic" / "schema-facts.json"

ROWS = [pytest.param(row, id=row.token) for row in types.TABLE.values()]


def paths(row: ResourceType) -> Iterator[str]:
    yield from (field.path for field in row.fields)
    yield from (*row.defaults, *row.sets, *row.computed, *row.unsupported, *row.virtual, *row.url_only, *row.mask_names)
    yield from (name for update in row.updates for name in (*update.only, *update.kept))


def there_is(row: ResourceType, path: str) -> bool:
    known = schema.of(row.token)
    first, *rest = path.split(".")
    declared = known.inputs.get(first)
    if declared is None:
        return not rest and first in known.outputs
    for step in rest:
        declared = (schema.properties(declared) or schema.properties(declared.get("items", {}))).get(step)
        if declared is None:
            return False
    return True


@pytest.mark.parametrize("row", ROWS)
def test_every_path_of_a_row_exists(row: ResourceType) -> None:
    """A row speaks of properties that the type has, and of no other."""
    assert [path for path in paths(row) if not there_is(row, path)] == []


@pytest.mark.parametrize("row", ROWS)
def test_every_name_in_a_url_is_an_input(row: ResourceType) -> None:
    """A URL is made of the inputs, the provider's own places, and the name that Google or an account gives."""
    known = {*schema.of(row.token).inputs, "project"} | ({"name"} if row.named_by_google else set())
    asked = placeholders("".join([row.url, row.id_template, row.created_in, *row.create_query.values(), *row.delete_query.values()]))
    assert set(asked) - known <= ({"email"} if row.token == "gcp:serviceaccount/account:Account" else set())


def test_the_schema_is_what_the_tool_writes() -> None:
    """Nobody has changed the file by hand."""
    if not FACTS.is_file():
        pytest.skip(f"the facts are not on this machine: {FACTS.name}")
    spec = importlib.util.spec_from_file_location("gcp_schema", ROOT / "tools" / "gcp_schema.py")
    assert spec
    assert spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    facts = json.loads(FACTS.read_text(encoding="utf-8"))
    assert written == tool.schema(facts, list(types.TABLE), written["date"])
