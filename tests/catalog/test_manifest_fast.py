"""What is taken fast is what the library takes: whatever is odd in whatever place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.catalog.manifest_fast import takes
from infra.catalog.manifest_schemas import schemas
from infra.catalog.manifest_words import _validator

GOOD = {
    one["kind"]: one for one in YAML(typ="safe", pure=True).load_all((Path(__file__).parent / "good_manifests.yaml").read_text("utf-8"))
}
ODD: list[Any] = [None, "", "ü", -1, 1 << 40, True, 1.5, [], {}, {"x": 1}]
TRIED = ("Secret", "ComputeClass", "LocalQueue")
"""Small ones, with all keywords in them; others are tried by their own tests."""


def definition_of(manifest: dict[str, Any]) -> str:
    return schemas().kinds[manifest["apiVersion"], manifest["kind"]]


def changed(value: Any) -> Iterator[Any]:
    """The value with one part, at any depth, replaced by something odd, left out, or put beside."""
    if isinstance(value, dict):
        yield value | {"odd": 1}
        for key, inner in value.items():
            yield {name: one for name, one in value.items() if name != key}
            yield from (value | {key: odd} for odd in ODD)
            yield from (value | {key: other} for other in changed(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in changed(inner))


def test_good_objects_are_taken_fast() -> None:
    """Each of them: else nothing is won."""
    version = schemas().version
    assert [kind for kind, one in GOOD.items() if not takes(definition_of(one), version)(one)] == []


@pytest.mark.parametrize("kind", TRIED)
def test_what_is_taken_fast_is_what_the_library_takes(kind: str) -> None:
    """No more and no less."""
    definition, version = definition_of(GOOD[kind]), schemas().version
    for one in changed(GOOD[kind]):
        slow = next(_validator(definition, version).iter_errors(one), None)
        assert takes(definition, version)(one) == (slow is None), (one, slow)
