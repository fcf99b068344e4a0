"""Filters of lists, as far as clients of ours send them."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call

ASKED = re.compile(r"""\(?\s*([\w.]+)\s*(eq|ne|!=|=|:)\s*(?:"([^"]*)"|'([^']*)'|([^\s)"']+))\s*\)?""")


def wanted(call: Call, found: list[tuple[str, Body]]) -> list[tuple[str, Body]]:
    """
    Those that the filter wants. `eq` takes a regular expression, `=` a value, `:` a part of it.

    Raises:
        Refused: The filter is none that the sandbox reads.
    """
    text = call.query.get("filter", "")
    if not text:
        return found
    for part in re.split(r"\s+AND\s+|(?<=\))\s*(?=\()", text):
        asked = ASKED.fullmatch(part.strip())
        if asked is None:
            raise _unreadable(text)
        path, sign, *values = asked.groups()
        value = next(value for value in values if value is not None)
        try:
            found = [(name, body) for name, body in found if _fits(body, path, sign, value)]
        except re.error:
            raise _unreadable(text) from None
    return found


def _unreadable(text: str) -> Refused:
    return Refused(400, f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.", reason="invalid")


def _fits(body: Body, path: str, sign: str, value: str) -> bool:
    got: Any = body
    for word in path.split("."):
        got = got.get(word) if isinstance(got, dict) else None
    text = str(got).lower() if isinstance(got, bool) else "" if got is None else str(got)
    if sign in ("eq", "ne"):
        return (re.fullmatch(value, text) is not None) == (sign == "eq")
    if sign == ":":
        return got is not None if value == "*" else value in text
    return (text == value) == (sign == "=")
