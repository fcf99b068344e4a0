"""Filters of lists, as far as the sandbox reads them: comparisons that are joined by AND, or side by side in parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from infra.sandbox.refused import Refused
from infra.sandbox.schema import camel
from infra.sandbox.service import Body

TERM = re.compile(
    r"""\s*(?:AND\s+)?(?P<open>\()?\s*(?P<key>[\w-]+(?:\.(?:[\w-]+|"[^"]*"))*)\s*(?P<operator>!=|=|:|\beq\b|\bne\b)\s*
    (?:(?P<function>[\w.]+)\((?P<arguments>[^)]*)\)|"(?P<quoted>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>[^\s()"']+))\s*(?(open)\))\s*""",
    re.VERBOSE,
)
WORD = re.compile(r'"([^"]*)"|([^."]+)')
"""A part of a key."""
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
        if term is None or not _is_read(term):
            raise Refused(501, f"The sandbox does not read this in a filter yet: {text[at:].strip()}", status="UNIMPLEMENTED")
        terms.append(term)
        at = term.end()
    return terms


def _is_read(term: re.Match[str]) -> bool:
    """Whether its function and its regular expressions are known."""
    words = _arguments(term)
    patterns = [wanted(term)] if term["operator"] in ("eq", "ne") else []
    if term["function"]:
        if term["function"] not in FUNCTIONS or not words:
            return False
        patterns = words if "regex" in term["function"] else []
    try:
        return all(re.compile(pattern) for pattern in patterns)
    except re.error:
        return False


def wanted(term: re.Match[str]) -> str:
    """The value that a comparison names."""
    return next((term[group] for group in ("quoted", "single", "plain") if term[group] is not None), "")


def _arguments(term: re.Match[str]) -> list[str]:
    return re.findall(r'"([^"]*)"', term["arguments"] or "")


def fits(body: Body, terms: list[re.Match[str]], *, part: bool = False) -> bool:
    """
    Whether every comparison holds.

    Args:
        part: Whether `:` finds a part of a text. (default: all of it, whatever its case)
    """
    return all(_holds(term, value(body, term["key"]), part) for term in terms)


def _holds(term: re.Match[str], have: Any, part: bool) -> bool:
    if term["operator"] == ":" and not term["function"]:
        return _has(have, wanted(term), part)
    found = str(have).lower() if isinstance(have, bool) else "" if have is None else str(have)
    if term["function"]:
        holds = FUNCTIONS[term["function"]](found, _arguments(term))
    elif term["operator"] in ("eq", "ne"):
        return (re.fullmatch(wanted(term), found) is not None) == (term["operator"] == "eq")
    else:
        holds = re.fullmatch(re.escape(wanted(term)).replace(r"\*", ".*"), found) is not None
    return holds != (term["operator"] == "!=")


def _has(have: Any, text: str, part: bool) -> bool:
    """The operator `:`."""
    if text == "*" or have is None:
        return have is not None
    if isinstance(have, dict | list):
        return text in have
    if part:
        return text in str(have)
    return re.fullmatch(re.escape(text).replace(r"\*", ".*"), str(have), re.IGNORECASE) is not None


def value(body: Body, key: str) -> Any:
    """`metric.label.x` is `metric.labels.x`; names of fields are as in the documents, keys of labels as they are, in quotes or without."""
    found: Any = body
    for word in (quoted or plain for quoted, plain in WORD.findall(key)):
        if not isinstance(found, dict):
            return None
        found = next((found[name] for name in (word, camel(word), f"{word}s") if name in found), None)
    return found
