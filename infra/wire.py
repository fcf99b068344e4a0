"""Values as the engine sends them, in the neutral form: the mock monitor and the policy pack read the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from infra.declared import NOT_ASKED, UNKNOWN, Secret

if TYPE_CHECKING:
    from google.protobuf import struct_pb2

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of a mapping that stands for something else."""
HIDDEN = "1b47061264138c4ac30d75fd1eb44270"
"""The value beside it is a secret. Source: sdk/go/common/resource/sig/sig.go of Pulumi 3.274."""
UNKNOWNS = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # of a string, and of what nobody knows more of
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""What stands for a value that is not known yet, by its kind. Source: sdk/go/common/resource/plugin/rpc.go of Pulumi 3.274."""


def fields(struct: struct_pb2.Struct) -> dict[str, Any]:
    """A mapping, in an order of its own: the wire has none."""
    return _fields(struct.fields)


def _fields(found: Mapping[str, struct_pb2.Value]) -> dict[str, Any]:
    return {key: value(found[key]) for key in sorted(found)}


def value(one: struct_pb2.Value) -> Any:
    """One value. What a look-up answers where there is no cloud to ask is unknown, as is what is known later."""
    kind = one.WhichOneof("kind")
    if kind == "string_value":
        text = one.string_value
        return UNKNOWN if text in UNKNOWNS or NOT_ASKED in text else text
    if kind == "struct_value":
        inner = one.struct_value.fields
        if SIGNATURE in inner and inner[SIGNATURE].string_value == HIDDEN:
            return Secret(value(inner["value"]))
        return _fields(inner)
    if kind == "list_value":
        return [value(each) for each in one.list_value.values]
    if kind == "number_value":
        number = one.number_value
        return int(number) if number.is_integer() else number
    return one.bool_value if kind == "bool_value" else None
