"""
Exceptions that somebody named: one rule need not hold of one resource, until a day, for a reason.

After that day the rule holds again: nobody has to remember the exception for it to end.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Excepted:
    """That a rule need not hold of a resource."""

    rule: str
    resource: str
    """Logical name of the resource, as findings show it."""
    until: dt.date
    """The last day of it, in UTC."""

    def covers(self, rule: str, resource: str, today: dt.date) -> bool:
        return (self.rule, self.resource) == (rule, resource) and today <= self.until


def read(entries: object) -> tuple[Excepted, ...]:
    """The entries of a stack file; those that are none are refused elsewhere."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            try:
                until = dt.date.fromisoformat(str(entry.get("until"))[:10])
            except ValueError:
                continue
            found.append(Excepted(str(entry.get("rule")), str(entry.get("resource")), until))
    return tuple(found)


def parse(text: str | None) -> tuple[Excepted, ...]:
    """The same from the engine's text."""
    try:
        return read(json.loads(text or "[]"))
    except (ValueError, RecursionError):
        return ()


def covers(exceptions: Iterable[Excepted], rule: str, resource: str, today: dt.date) -> bool:
    """Whether a finding is excepted today."""
    return any(one.covers(rule, resource, today) for one in exceptions)


def this_day() -> dt.date:
    """The day in UTC; as SOURCE_DATE_EPOCH says where it is set, so that documents with output in them can be made again."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = dt.datetime.fromtimestamp(int(said), dt.UTC) if said.isascii() and said.isdigit() else dt.datetime.now(dt.UTC)
    return now.date()
