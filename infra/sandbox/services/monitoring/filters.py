"""Monitoring's filters, as far as the sandbox reads them: comparisons that are joined by AND."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from infra.sandbox.refused import Refused
from infra.sandbox.schema import camel
from infra.sandbox.service import Body

TERM = re.compile(
    r"\s*(?:AND\s+)?(?P<key>[\w.]+)\s*(?P<operator>!=|=|:)\s*"
    r"(?:(?P<function>[\w.]+)\((?P<arguments>[^)]*)\)|\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\s()\"]+))\s*"
)
FUNCTIONS: dict[str, Callable[[str, list[str]], bool]] = {
    "starts_with": lambda value, words: value.startswith(words[0]),
    "ends_with": lambda value, words: value.endswith(words[0]),
    "has_substring": lambda value, words: words[0] in value,
    "one_of": lambda value, words: value in words,
    "monitoring.regex.full_match": lambda value, words: re.fullmatch(words[0], value) is not None,
}
"""Source: Monitoring's page "Monitoring filters", 2026."""


def parsed(text: str) -> list[re.Match[str]]:
    """
    The comparisons of a filter.

    Raises:
        Refused: It has something else.
    """
    terms, at = [], 0
    while at < len(text):
        term = TERM.match(text, at)
        if term is None or (term["function"] and term["function"] not in FUNCTIONS):
            raise Refused(501, f"The sandbox does not read this in a filter yet: {text[at:].strip()}", status="UNIMPLEMENTED")
        terms.append(term)
        at = term.end()
    return terms


def fits(body: Body, terms: list[re.Match[str]]) -> bool:
    """Whether every comparison holds."""
    return all(_holds(term, _value(body, term["key"])) for term in terms)


def _holds(term: re.Match[str], value: str) -> bool:
    if term["function"]:
        found = FUNCTIONS[term["function"]](value, re.findall(r'"([^"]*)"', term["arguments"]))
    else:
        wanted = term["quoted"] if term["quoted"] is not None else term["plain"]
        found = wanted in value if term["operator"] == ":" else wanted == value
    return found != (term["operator"] == "!=")


def _value(body: Body, key: str) -> str:
    """`metric.label.x` is `metric.labels.x`; names of fields are as in the documents, keys of labels as they are."""
    value: Any = body
    for word in key.split("."):
        if not isinstance(value, dict):
            return ""
        value = next((value[name] for name in (word, camel(word), f"{word}s") if name in value), None)
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
