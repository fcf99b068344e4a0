"""Values as the engine sends them, and as Python has them: unknowns are `UNKNOWN`, secrets are remembered by their path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf import struct_pb2

from infra.wire import HIDDEN, SIGNATURE

UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Source: `pulumi.runtime.rpc`: the protocol's own markers."""

DEFAULTS = "__defaults"
"""Key under which Check says which values of an object it added."""

SHORTEST_HIDDEN = 3
"""Letters of the shortest secret that is hidden in a text, as the engine has it: a shorter one is in any text by chance."""

Path = tuple[str | int, ...]


class Unknown:
    """A value that is known only after an update."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


class Decoded:
    """What came: plain values, and the paths of those that were secret."""

    def __init__(self, struct: struct_pb2.Struct) -> None:
        self.secrets: set[Path] = set()
        self.values: dict[str, Any] = {key: self._value(value, (key,)) for key, value in sorted(struct.fields.items())}

    def hide(self, text: str) -> str:
        """*text* without what is secret here: Google's refusals repeat what was sent."""
        for path in self.secrets:
            value: Any = self.values
            for step in path:
                value = value[step]
            for part in sorted(_strings(value), key=len, reverse=True):
                if len(part) >= SHORTEST_HIDDEN:
                    text = text.replace(part, "[secret]")
        return text

    def _value(self, value: struct_pb2.Value, path: Path) -> Any:
        kind = value.WhichOneof("kind")
        if kind == "struct_value":
            fields = value.struct_value.fields
            if SIGNATURE in fields and fields[SIGNATURE].string_value == HIDDEN:
                self.secrets.add(path)
                return self._value(fields["value"], path)
            return {key: self._value(part, (*path, key)) for key, part in sorted(fields.items())}
        if kind == "list_value":
            return [self._value(part, (*path, index)) for index, part in enumerate(value.list_value.values)]
        if kind == "number_value":
            return int(value.number_value) if value.number_value.is_integer() else value.number_value
        if kind == "string_value":
            return UNKNOWN if value.string_value == UNKNOWN_STRING else value.string_value
        return value.bool_value if kind == "bool_value" else None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
    elif isinstance(value, str):
        yield value


def encode(values: dict[str, Any], secrets: Iterable[Path] = ()) -> struct_pb2.Struct:
    """The engine's form of *values*; what is at a path of *secrets* is marked so."""
    struct = struct_pb2.Struct()
    marked = set(secrets)
    for key, value in values.items():
        struct.fields[key].CopyFrom(_encoded(value, (key,), marked))
    return struct


def _encoded(value: Any, path: Path, secrets: set[Path]) -> struct_pb2.Value:
    made = _plain(value, path, secrets)
    if path not in secrets:
        return made
    fields = {SIGNATURE: struct_pb2.Value(string_value=HIDDEN), "value": made}
    return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))


def _plain(value: Any, path: Path, secrets: set[Path]) -> struct_pb2.Value:
    if isinstance(value, Unknown):
        return struct_pb2.Value(string_value=UNKNOWN_STRING)
    if isinstance(value, dict):
        fields = {key: _encoded(part, (*path, key), secrets) for key, part in value.items()}
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
    if isinstance(value, list | tuple):
        parts = [_encoded(part, (*path, index), secrets) for index, part in enumerate(value)]
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=parts))
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=value)
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    return struct_pb2.Value(string_value=str(value))


def without_defaults(value: Any) -> Any:
    """*value* without Check's notes."""
    if isinstance(value, dict):
        return {key: without_defaults(part) for key, part in value.items() if key != DEFAULTS}
    return [without_defaults(part) for part in value] if isinstance(value, list) else value


def has_unknown(value: Any) -> bool:
    """Whether something in *value* is known only after an update."""
    if isinstance(value, dict):
        return any(has_unknown(part) for part in value.values())
    return any(has_unknown(part) for part in value) if isinstance(value, list) else isinstance(value, Unknown)


def is_empty(value: Any) -> bool:
    """Whether Google's provider takes *value* for not being there: null, zero, false, nothing in it."""
    return not isinstance(value, Unknown) and (value is None or value is False or value in ("", 0, [], {}))


def written(path: Path) -> str:
    """A path as the engine writes it: `bootDisk.initializeParams.size`, `allows[0].ports`, `labels["a.b"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("_", "a").replace("-", "a").isalnum():
            text += f".{step}" if text else step
        else:
            quoted = step.replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def shown(value: Any, path: Path, secrets: Iterable[Path]) -> str:
    """A value as it may be printed: what is secret, or holds or is in what is, is not."""
    hidden = any(path[: len(secret)] == secret or secret[: len(path)] == path for secret in secrets)
    return "a secret" if hidden else repr(value)
