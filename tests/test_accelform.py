"""The Python classes of the accelform provider say what its schema says."""

from __future__ import annotations

import inspect
import re

import pytest

from infra import accelform
from infra.provider import schema
from infra.provider.resources import RESOURCES

RESOURCE_CLASSES = {token: getattr(accelform, token.rpartition(":")[2], None) for token in schema.package()["resources"]}


def test_every_resource_of_the_schema_is_there_twice() -> None:
    """As a class for programs, and as what the provider does."""
    assert sorted(RESOURCE_CLASSES) == sorted(RESOURCES)
    assert None not in RESOURCE_CLASSES.values()


@pytest.mark.parametrize("token", RESOURCE_CLASSES)
def test_a_class_takes_and_gives_what_the_schema_says(token: str) -> None:
    """Each input is an argument, with a default where the schema has one or does not ask for it; each further output is a property."""
    declared, kind = schema.resource(token), RESOURCE_CLASSES[token]
    arguments = {name: one for name, one in inspect.signature(kind).parameters.items() if name not in ("resource_name", "opts")}
    assert sorted(arguments) == sorted(map(snake, declared["inputProperties"]))
    without_default = sorted(name for name, one in arguments.items() if one.default is inspect.Parameter.empty)
    assert without_default == sorted(map(snake, declared["requiredInputs"]))
    for name in set(declared["properties"]) - set(declared["inputProperties"]):
        assert isinstance(inspect.getattr_static(kind, snake(name), None), property), name


@pytest.mark.parametrize("token", RESOURCE_CLASSES)
def test_everything_is_described(token: str) -> None:
    """In the schema, and in the class for those who write a program."""
    declared, kind = schema.resource(token), RESOURCE_CLASSES[token]
    assert declared["description"]
    assert all(schema.resolved(one).get("description") for one in declared["inputProperties"].values())
    assert all(f"{snake(name)}:" in str(kind.__doc__) for name in declared["inputProperties"])


def snake(name: str) -> str:
    return re.sub(r"(?=[A-Z])", "_", name).lower()
