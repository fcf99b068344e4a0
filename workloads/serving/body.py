"""A request's body, read up to a limit and checked: `{"instances": [...], "parameters": {...}}`, as Vertex AI sends it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NoReturn

_DISCARDED = 16
"""A body over the limit is read on up to so many times the limit: a client that still writes does not read the answer."""


class BodyError(Exception):
    """The request cannot be answered."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Body:
    """What is asked."""

    instances: list[object]
    parameters: dict[str, object]


async def read(stream: AsyncIterator[bytes], limit: int) -> bytes:
    """
    Reads a body of at most *limit* bytes.

    Raises:
        BodyError: It is larger (413).
    """
    kept, seen = bytearray(), 0
    async for chunk in stream:
        seen += len(chunk)
        if seen <= limit:
            kept += chunk
        elif seen > _DISCARDED * limit:
            break
    if seen > limit:
        raise BodyError(413, f"the body is larger than {limit} bytes: send fewer instances at once")
    return bytes(kept)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def parsed(raw: bytes) -> object:
    """
    JSON of a body.

    Raises:
        BodyError: It is none (400).
    """
    try:
        found: object = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise BodyError(400, "the body is no UTF-8") from None
    except RecursionError:
        raise BodyError(400, "the body is nested too deeply") from None
    except ValueError as wrong:
        raise BodyError(400, f"the body is no JSON: {wrong}") from None
    return found


def request(raw: bytes, max_instances: int) -> Body:
    """
    What a prediction's body asks.

    Raises:
        BodyError: It is malformed (400), or asks more than *max_instances* at once (413).
    """
    found = parsed(raw)
    if not isinstance(found, dict):
        raise BodyError(400, f"the body is {_kind(found)}; wanted is an object with a list `instances`")
    if "instances" not in found:
        raise BodyError(400, "`instances` is missing: a list of what is to be predicted")
    instances, parameters = found["instances"], found.get("parameters")
    if not isinstance(instances, list):
        raise BodyError(400, f"`instances` is {_kind(instances)}, not a list")
    if parameters is not None and not isinstance(parameters, dict):
        raise BodyError(400, f"`parameters` is {_kind(parameters)}, not an object")
    if len(instances) > max_instances:
        raise BodyError(413, f"{len(instances)} instances are more than {max_instances}: send fewer at once")
    return Body(instances, parameters or {})


def _kind(value: object) -> str:
    """A value's kind in words of JSON."""
    if isinstance(value, bool):
        return "a truth value"
    kinds = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number", type(None): "null"}
    return kinds[type(value)]
