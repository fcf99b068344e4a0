"""What holds for every type and any inputs: what replaces does so by its path, what is not known yet stops nothing."""

from __future__ import annotations

from typing import Any

import echo
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.local.gcp import body as bodies
from infra.local.gcp import diff, schema, types
from infra.local.gcp.resource_type import placeholders
from infra.provider.values import UNKNOWN, Decoded, is_empty

TOKENS = sorted(types.TABLE)
WORDS = ("alpha", "beta", "gamma", "delta")
DEPTH = 3
MANY = settings(max_examples=100, deadline=None, derandomize=True)


def leaf(kind: str) -> st.SearchStrategy[Any]:
    return {
        "string": st.sampled_from(WORDS),
        "boolean": st.just(True),
        "integer": st.integers(1, 9),
        "number": st.integers(1, 9),
    }[kind]


@st.composite
def of_properties(
    draw: st.DrawFn, known: schema.Properties, required: list[str], left_out: tuple[str, ...] = (), depth: int = DEPTH
) -> dict[str, Any]:
    """An object with what it must have, and a few of what it may."""
    optional = sorted(set(known) - set(required) - set(left_out))
    some = (
        draw(st.lists(st.sampled_from(optional), min_size=0 if required else 1, max_size=4, unique=True)) if optional and depth > 0 else []
    )
    return {name: draw(of(known[name], depth - 1)) for name in [*required, *some]}


def of(declared: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    """A value of a property, none of it empty."""
    kind = schema.kind(declared)
    if kind == "object":
        return of_properties(schema.properties(declared), schema.required(declared), depth=depth)
    if kind == "array":
        return st.lists(of(declared.get("items", {}), depth), min_size=1, max_size=2)
    if kind == "map":
        return st.dictionaries(st.sampled_from(WORDS), of(declared.get("additionalProperties", {}), depth), min_size=1, max_size=2)
    return leaf(kind)


@st.composite
def resources(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A type, and inputs that its schema allows."""
    token = draw(st.sampled_from(TOKENS))
    known = schema.of(token)
    required = [*known.required, *(["name"] if "name" in known.inputs and "name" not in known.required else [])]
    return token, draw(of_properties(known.inputs, required, types.TABLE[token].unsupported))


def leaves(declared: dict[str, Any], value: Any, path: tuple[Any, ...], replaces: bool) -> Any:
    """Every plain value in *value*: its path, whether its change replaces, and its kind."""
    kind = schema.kind(declared)
    if kind == "object":
        for name, part in value.items():
            inside = schema.properties(declared)[name]
            yield from leaves(inside, part, (*path, name), bool(inside.get("replaces")))
    elif kind == "array":
        for index, part in enumerate(value):
            yield from leaves(declared.get("items", {}), part, (*path, index), replaces)
    elif kind == "map":
        for name, part in value.items():
            yield from leaves(declared.get("additionalProperties", {}), part, (*path, name), replaces)
    else:
        yield path, replaces, kind


def all_leaves(token: str, inputs: dict[str, Any]) -> list[Any]:
    known = schema.of(token).inputs
    named = placeholders(types.TABLE[token].id_template)
    return [
        one
        for name, value in inputs.items()
        for one in leaves(known[name], value, (name,), bool(known[name].get("replaces")) or name in named)
    ]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """*value* with *new* at *path*."""
    if not path:
        return new
    if isinstance(value, list):
        return [put(part, path[1:], new) if index == path[0] else part for index, part in enumerate(value)]
    return {name: put(part, path[1:], new) if name == path[0] else part for name, part in value.items()}


def other(kind: str, value: Any) -> Any:
    return {"string": lambda: f"{value}2", "boolean": lambda: not value}.get(kind, lambda: value + 1)()


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@MANY
@given(resources(), st.data())
def test_a_changed_value_replaces_where_its_schema_says_so(resource: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    """However deep it is; and nothing else is said to change."""
    token, inputs = resource
    row = types.TABLE[token]
    assert diff.changes(row, inputs, inputs, inputs) == []
    path, replaces, kind = data.draw(st.sampled_from(all_leaves(token, inputs)))
    changed = put(inputs, path, other(kind, at(inputs, path)))
    found = diff.changes(row, inputs, changed, inputs)
    assert [(change.path, change.kind, change.replaces) for change in found] == [(path, "UPDATE", replaces)]


@MANY
@given(resources(), st.data())
def test_what_comes_or_goes_replaces_where_its_schema_says_so(resource: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    """An object replaces by itself, or by what is in it."""
    token, inputs = resource
    row, known = types.TABLE[token], schema.of(token).inputs
    name = data.draw(st.sampled_from(sorted(inputs)))
    without = {key: value for key, value in inputs.items() if key != name}
    wanted = bool(known[name].get("replaces")) or any(one[1] for one in all_leaves(token, {name: inputs[name]}))
    came = diff.changes(row, without, inputs, without)
    assert [(change.path, change.kind, change.replaces) for change in came] == [((name,), "ADD", wanted)]
    went = diff.changes(row, inputs, without, inputs)
    stays = name in {*row.computed, *bodies.PLACES}  # Google has filled it in, or the configuration does
    assert [(change.path, change.kind, change.replaces) for change in went] == ([] if stays else [((name,), "DELETE", wanted)])


@MANY
@given(resources(), st.data())
def test_what_is_not_known_yet_stops_nothing(resource: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    """Check, Diff and the previews of create and update go on with an unknown at any depth."""
    token, inputs = resource
    paths = [one[0] for one in all_leaves(token, inputs)]
    whole = data.draw(st.sampled_from(paths))
    unknown = put(inputs, whole[: data.draw(st.integers(1, len(whole)))], UNKNOWN)
    driver = echo.Driver(echo.Echo())
    checked = driver.checked(token, unknown)
    created = driver.create(token, checked, preview=True)
    assert Decoded(created.properties).values.keys() == set(schema.of(token).outputs)
    old = driver.checked(token, inputs)
    assert driver.diff(token, old, checked).changes == 2
    assert driver.update(token, "id", old, old, checked, preview=True).properties
    assert not is_empty(checked)


def test_what_is_deployed_has_the_shape_that_the_sdk_takes() -> None:
    """Single objects are lists of one in the provider's outputs: else a program stops at an endpoint that serves."""
    from infra.local.gcp.types.vertex import DEPLOYED

    said = [{"id": "1", "dedicatedResources": {"machineSpec": {"machineType": "n1-standard-2"}, "minReplicaCount": 1}}]
    assert DEPLOYED.decode(said) == [
        {"id": "1", "dedicatedResources": [{"machineSpecs": [{"machineType": "n1-standard-2"}], "minReplicaCount": 1}]}
    ]
