"""
Cloud Logging: entries that are written, and read again by the filters that a job's logs need.

Source of what is not said otherwise: descriptions in the discovery document; Google's page "Logging query language", 2026.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.sandbox import lists
from infra.sandbox.clock import rfc3339
from infra.sandbox.discovery import document
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid, no_entity
from infra.sandbox.service import Answer, Body, Call, Service

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "logging.googleapis.com"
ENTRIES = "entries"
"""Where entries are kept: beside the resources, since they are none."""
API = "logging.v2"
SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY")
"""Least first. Source: LogSeverity in the discovery document."""
LOG = re.compile(r"/?projects/([^/]+)/logs/([A-Za-z0-9_.%-]{1,511})")
KEPT_SECONDS, AHEAD_SECONDS = 30 * 86400, 86400
"""An entry is read for 30 days, the retention of the bucket `_Default`, and if it is at most a day ahead of the clock."""
PAGE, MOST = 50, 1000
WORD = r'(?:[A-Za-z_][\w-]*|"[^"]*")'
TERM = re.compile(
    rf"""\s*(?:AND\s+)?(?P<key>{WORD}(?:\.{WORD})*)\s*(?P<operator>>=|<=|!=|=~|!~|=|>|<|:)\s*
    (?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s()"]+))(?=\s|$)\s*""",
    re.VERBOSE,
)
ORDERED = ("severity", "timestamp", "receiveTimestamp")
"""Fields that are compared by more and less."""


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison of a filter."""

    path: tuple[str, ...]
    operator: str
    wanted: str

    def holds(self, entry: Body) -> bool:
        have: Any = entry
        for word in self.path:
            have = have.get(word) if isinstance(have, dict) else None
        if self.path[0] in ORDERED:
            return self._compares(_rank(self.path[0], have or "DEFAULT"), _rank(self.path[0], self.wanted))
        if self.operator == ":":
            return have is not None and (self.wanted == "*" or self.wanted.casefold() in str(have).casefold())
        return (have is not None and _text(have) == self.wanted.casefold()) == (self.operator == "=")

    def _compares(self, have: float, wanted: float) -> bool:
        return {
            "=": have == wanted,
            "!=": have != wanted,
            ">=": have >= wanted,
            "<=": have <= wanted,
            ">": have > wanted,
            "<": have < wanted,
        }[self.operator]


def _text(value: Any) -> str:
    return str(value).casefold()


def _rank(field: str, text: str) -> float:
    """
    Raises:
        Refused: It is no severity, or no moment.
    """
    if field == "severity":
        if text.upper() not in SEVERITIES:
            raise invalid(f"Unparseable filter: {text} is no severity; it is one of {', '.join(SEVERITIES)}.", "filter")
        return float(SEVERITIES.index(text.upper()))
    return _moment(text, "Unparseable filter")


def _moment(text: str, said: str) -> float:
    try:
        found = dt.datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        raise invalid(f"{said}: {text} is no moment such as 2026-12-01T18:00:00Z.", "filter") from None


def parsed(text: str) -> list[Term]:
    """
    The comparisons of a filter, all of which must hold.

    Raises:
        Refused: 501 where it has more than comparisons that AND joins; 400 where it names no field of an entry.
    """
    fields = document(API).schemas["LogEntry"]["properties"]
    terms, at = [], 0
    while at < len(text.rstrip()):
        match = TERM.match(text, at)
        if match is None or match["key"] in ("NOT", "OR", "AND") or match["operator"] in ("=~", "!~"):
            raise _not_read(text[at:])
        path = tuple(word.strip('"') for word in re.findall(WORD, match["key"]))
        wanted = match["plain"] if match["quoted"] is None else re.sub(r"\\(.)", r"\1", match["quoted"])
        if path[0] not in fields:
            raise invalid(f"Unparseable filter: an entry has no field {path[0]}.", "filter")
        ordered = path[0] in ORDERED
        if ordered:
            _rank(path[0], wanted)
        if match["operator"] == ":" if ordered else match["operator"] not in ("=", "!=", ":"):
            raise _not_read(text[at:])
        terms.append(Term(path, match["operator"], wanted))
        at = match.end()
    return terms


def _not_read(text: str) -> Refused:
    said = f"The sandbox reads comparisons that AND joins, and not this in a filter: {text.strip()[:200]}"
    return Refused(501, said, status="UNIMPLEMENTED")


def write(call: Call) -> Any:
    """POST `entries:write`: all of them, or none; with `partialSuccess` those that can be."""
    kept, wrong = [], []
    for number, entry in enumerate(call.body.get("entries", [])):
        try:
            kept.append(_entry(call, entry))
        except Refused as refused:
            wrong.append(refused if refused.code != 400 else invalid(f"entries[{number}]: {refused.message}", f"entries[{number}]"))
    if wrong and not (call.body.get("partialSuccess") and kept):
        raise wrong[0]
    if not call.body.get("dryRun"):
        for entry in kept:
            keep(call.cloud, entry)
    return Answer(wrong[0].code, wrong[0].body(call.service.errors)) if wrong else {}


def _entry(call: Call, entry: Body) -> Body:
    """One entry with what the request says for all."""
    match = LOG.fullmatch(entry.get("logName") or call.body.get("logName", ""))
    if match is None:
        raise invalid("Log name is not valid; it is projects/PROJECT/logs/LOG_ID, where LOG_ID is URL-encoded.", "logName")
    _check_project(call, call.cloud.projects.id(match[1]))
    resource = entry.get("resource") or call.body.get("resource", {})
    if not resource.get("type"):
        raise invalid("A monitored resource must be specified.", "resource")
    if "timestamp" in entry:
        _moment(entry["timestamp"], "Invalid timestamp")
    labels = call.body.get("labels", {}) | entry.get("labels", {})
    body = entry | {"logName": call.cloud.projects.by_id(match[0].lstrip("/")), "resource": resource}
    body |= {"labels": labels} if labels else {}
    return body


def _check_project(call: Call, project: str) -> None:
    """The path names no project: each entry and each list does."""
    if not call.cloud.projects.is_active(project):
        raise Refused(403, "The caller does not have permission")
    call.cloud.projects.check_service(project, HOST, document(API).title)


def keep(cloud: Cloud, entry: Body) -> None:
    """Keeps an entry: it has a `logName` and a `resource`. One with the same time and `insertId` is the same."""
    now = rfc3339(cloud.moment)
    entry.setdefault("timestamp", now)
    entry.setdefault("insertId", f"s{cloud.store.next('entries'):012d}")
    entry |= {"receiveTimestamp": now}
    at = _moment(entry["timestamp"], "Invalid timestamp")
    project = "/".join(entry["logName"].split("/")[:2])
    cloud.store.put(ENTRIES, f"{entry['logName']}/{at:020.6f} {entry['insertId']}", entry, project)


def read(call: Call) -> Any:
    """POST `entries:list`."""
    names = [*call.body.get("resourceNames", []), *(f"projects/{project}" for project in call.body.get("projectIds", []))]
    if not names:
        raise invalid("At least one resource name must be given, such as projects/PROJECT.", "resource_names")
    order = call.body.get("orderBy") or "timestamp asc"
    if order not in ("timestamp asc", "timestamp desc", "timestamp"):
        raise invalid("order_by is either timestamp asc or timestamp desc.", "order_by")
    terms = parsed(call.body.get("filter", ""))
    found = [entry for name in dict.fromkeys(names) for entry in _of(call, name) if all(term.holds(entry[1]) for term in terms)]
    found.sort(key=lambda entry: entry[0], reverse=order.endswith("desc"))
    call.query = {key: str(call.body[key]) for key in ("pageSize", "pageToken") if call.body.get(key)}
    page, more = lists.page(call, [body for _, body in found], PAGE)
    return ({"entries": page[:MOST]} if page else {}) | more


def _of(call: Call, name: str) -> Iterator[tuple[tuple[float, str], Body]]:
    """Order and body of each entry of a project that can be read."""
    words = call.cloud.projects.by_id(name).split("/")
    if words[0] != "projects" or len(words) != 2:
        raise Refused(501, f"The sandbox reads the entries of projects, and not of {name}", status="UNIMPLEMENTED")
    _check_project(call, words[1])
    for _, entry in call.cloud.store.items(ENTRIES, "/".join(words)):
        at = _moment(entry["timestamp"], "Invalid timestamp")
        if call.now - KEPT_SECONDS <= at <= call.now + AHEAD_SECONDS:
            yield (at, entry["insertId"]), entry


def list_logs(call: Call) -> Any:
    """GET: names of a project's logs that have entries."""
    names = sorted({entry["logName"] for _, entry in _of(call, call.owner)})
    page, more = lists.page(call, names, PAGE)
    return ({"logNames": page} if page else {}) | more


def delete_log(call: Call) -> Any:
    """DELETE: all entries of a log."""
    if not any(call.cloud.store.every(ENTRIES, f"{call.owner}/")):
        raise no_entity()
    call.cloud.store.delete(ENTRIES, call.owner)
    return {}


HANDLERS = {
    "entries.write": write,
    "entries.list": read,
    "logs.list": list_logs,
    "projects.logs.list": list_logs,
    "logs.delete": delete_log,
    "projects.logs.delete": delete_log,
}


def _prepare(call: Call) -> None:
    """Only entries and logs are answered: a sink that takes nothing would be none."""
    name = call.method.id.partition(".")[2]
    if name not in HANDLERS or (call.owner and not call.owner.startswith("projects/")):
        raise Refused(501, f"The sandbox does not have {call.method.id} of {call.owner or 'a name'} yet.", status="UNIMPLEMENTED")


SERVICE = Service(host=HOST, apis=(API,), operations=LongRunning(), handlers=HANDLERS, prepare=_prepare, not_found=no_entity)
