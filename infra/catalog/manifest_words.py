"""What a schema refuses, in words for a user: where, what, and what would do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from infra.catalog.manifest_fast import INTS, is_base64, takes
from infra.catalog.manifest_schemas import Schemas, schemas
from infra.catalog.quantities import BadQuantity, quantity
from infra.errors import nearest

Path = tuple[str | int, ...]

DEEPEST = 100
"""No object of Kubernetes is nested so deeply; a file whose anchors hold themselves is without end."""
_KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a map",
    "array": "a list",
    "null": "empty",
}
_QUANTITY = "#/$defs/apimachinery.pkg.api.resource.Quantity"


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """One thing wrong in a manifest. The message reads on after the path."""

    path: str
    """Such as `spec.template.spec.containers[0].image`; empty for the whole of it."""
    message: str
    allowed: str = ""
    """What would do; empty where the message says it."""

    def __str__(self) -> str:
        said = f"{self.path} {self.message}" if self.path else f"the manifest {self.message}"
        return f"{said}; allowed: {self.allowed}" if self.allowed else said


def place(path: Path) -> str:
    """A path as it is written: `spec.containers[0].image`, `metadata.labels[example.com/team]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_$][\w$-]*", part):
            text += f".{part}" if text else part
        else:
            text += f"[{short(part)}]"
    return text


def short(value: object) -> str:
    """A value as a user wrote it, cut where it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of very many digits"
    text = value if isinstance(value, str) else "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def quoted(value: object) -> str:
    return f'"{short(value)}"' if isinstance(value, str) else short(value)


def is_what(value: object) -> str:
    """What sort of a thing a value is."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"{short(value)}, true or false"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, int | float):
        return f"the number {short(value)}"
    return "a map" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else f"a {type(value).__name__}"


def is_json(value: object, depth: int = 0) -> bool:
    """Whether a value is, for sure, one that an object of Kubernetes can hold: a quick look, as nearly all are."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is dict:
        return depth < DEEPEST and all(type(key) is str and is_json(one, depth + 1) for key, one in value.items())  # type: ignore[attr-defined]
    if kind is list:
        return depth < DEEPEST and all(is_json(one, depth + 1) for one in value)  # type: ignore[attr-defined]
    return kind is int and -INTS["int64"] <= value <= INTS["int64"]  # type: ignore[operator]


def not_json(value: object, path: Path = ()) -> Iterator[ManifestFault]:
    """What no object of Kubernetes can hold, whatever its schema: keys that are no text, dates, NaN, and what is nested without end."""
    if len(path) > DEEPEST:
        yield ManifestFault(place(path[:4]), f"is nested more than {DEEPEST} deep")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if isinstance(key, str):
                yield from not_json(one, (*path, key))
            else:
                yield ManifestFault(place((*path, str(key))), f"is a key that is {is_what(key)}, not a text", f'"{short(key)}", in quotes')
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from not_json(one, (*path, index))
    elif isinstance(value, int) and value.bit_length() > 200:
        yield ManifestFault(place(path), f"is {short(value)}", f"at most {INTS['int64']}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield ManifestFault(place(path), f"is {value}, not a number")
    elif value is not None and not isinstance(value, str | int | float):
        hint = f'"{short(str(value))}", in quotes' if hasattr(value, "isoformat") else ""
        yield ManifestFault(place(path), f"is a {type(value).__name__}, which no object of Kubernetes holds", hint)


def refused(manifest: Mapping[str, Any], definition: str, known: Schemas) -> Iterator[ManifestFault]:
    """Everything that the schema refuses, each thing once."""
    if takes(definition, known.version)(manifest):
        return
    validator = _validator(definition, known.version)
    for error in sorted(validator.iter_errors(manifest), key=lambda error: [str(part) for part in error.absolute_path]):
        yield from _words(error)


@cache
def _validator(definition: str, version: str) -> Any:
    import jsonschema  # type: ignore[import-untyped]

    kinds = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, one: isinstance(one, int) and not isinstance(one, bool)
    )
    checker = jsonschema.FormatChecker(formats=())
    for name, largest in INTS.items():
        checker.checks(name)(lambda one, largest=largest: not isinstance(one, int) or -largest - 1 <= one <= largest)
    checker.checks("byte")(lambda one: not isinstance(one, str) or is_base64(one))
    made = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=kinds)
    return made({"$ref": f"#/$defs/{definition}", **schemas(version).document}, format_checker=checker)


def _words(error: Any) -> Iterator[ManifestFault]:
    path: Path = tuple(error.absolute_path)
    got, wanted = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            fields = sorted(error.schema.get("properties", {}))
            for key in sorted(set(got) - set(fields)):
                close = nearest(key, fields) or _same(key, fields)
                yield ManifestFault(place((*path, key)), "is no field here", ", ".join(close or fields[:20]))
        case "required":
            # One error comes for each missing field, which only its message names.
            yield from (ManifestFault(place((*path, key)), "is missing") for key in wanted if error.message.startswith(f"{key!r} is "))
        case "type":
            kinds = [one for one in ([wanted] if isinstance(wanted, str) else wanted) if one != "null"]
            yield ManifestFault(place(path), f"is {is_what(got)}, not {' or '.join(_KINDS[one] for one in kinds)}", _instead(got, kinds))
        case "oneOf":
            yield _neither(path, got, error)
        case "enum":
            allowed = [one for one in wanted if one is not None]
            yield ManifestFault(place(path), f"is {quoted(got)}", ", ".join(map(str, allowed)))
        case "format":
            if wanted == "byte":
                yield ManifestFault(
                    place(path), "is not base64", "the value in base64; or as it is, under stringData where the kind has that"
                )
            else:
                yield ManifestFault(place(path), f"is {short(got)}, too large", f"at most {INTS[wanted]}")
        case _:
            yield ManifestFault(place(path), *_bounds(error.validator, got, wanted))


def _same(key: str, fields: Sequence[str]) -> list[str]:
    """The field that is spelled with other letters: `image_pull_policy`, `ImagePullPolicy`."""
    bare = re.sub(r"[^a-z0-9]", "", key.lower())
    return [one for one in fields if one.lower() == bare]


def _instead(got: object, kinds: Sequence[str]) -> str:
    """What was meant, where it is plain: numbers and truth values need quotes or must have none."""
    if kinds == ["string"] and isinstance(got, bool | int | float):
        return f'"{short(got)}", in quotes'
    if kinds == ["integer"] and isinstance(got, str) and re.fullmatch(r"-?\d{1,18}", got, re.ASCII):
        return f"{got}, without quotes"
    if kinds == ["integer"] and isinstance(got, float) and got == int(got):
        return str(int(got))
    if kinds == ["boolean"] and isinstance(got, str) and got.lower() in ("true", "false", "yes", "no"):
        return "true, without quotes" if got.lower() in ("true", "yes") else "false, without quotes"
    return ""


def _neither(path: Path, got: object, error: Any) -> ManifestFault:
    """`oneOf` is what a quantity is, and a number or a name; the reasons against each of the two help nobody."""
    number = any("number" in (one.get("type") or ()) for one in error.validator_value)
    if number:
        try:
            quantity(got)
        except BadQuantity as bad:
            return ManifestFault(place(path), str(bad), bad.allowed)
    what = "a quantity" if number else "a whole number or a text"
    return ManifestFault(place(path), f"is {is_what(got)}, not {what}", "500m, 16Gi" if number else "")


def _bounds(rule: str, got: Any, wanted: Any) -> tuple[str, str]:
    match rule:
        case "minimum":
            return f"is {short(got)}, too small", f"{wanted} or more"
        case "maximum":
            return f"is {short(got)}, too large", f"at most {wanted}"
        case "minLength":
            return "is empty", f"{wanted} character{'s' if wanted > 1 else ''} or more"
        case "maxLength":
            return f"has {len(got)} characters", f"at most {wanted}"
        case "minItems" | "minProperties":
            return "has too few entries" if got else "has no entry", f"{wanted} or more"
        case "maxItems" | "maxProperties":
            return f"has {len(got)} entries", f"at most {wanted}"
        case "pattern":
            return f"is {quoted(got)}, which has not the right form", _FORMS.get(wanted, f"what the expression {wanted} matches")
    raise AssertionError(f"no schema here has the rule {rule}")


_DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_FORMS = {
    _DNS: "a-z, 0-9, - and . between them",
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": "a-z, 0-9, and - between them",
    rf"^$|{_DNS}": "a group such as gateway.networking.k8s.io; empty for what is in no group",
    rf"^(\*\.)?{_DNS[1:]}": "a host name such as shop.example.com or *.example.com",
    r"^([0-9]{1,5}(h|m|s|ms)){1,4}$": "a duration such as 30s or 1m30s",
    r"^[0-9]+x[0-9]+(x[0-9]+)?$": "chips along each axis, such as 2x4",
}
