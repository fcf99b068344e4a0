"""Selectors of lists: by labels, and by the few fields that the API server knows."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import at
from infra.sandbox.services.kubernetes.statuses import bad_request

PART = re.compile(r"\s*(?:(?P<key>[\w./-]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)|(?P<one>[^,()]*))\s*(?:,|$)")
EQUAL = re.compile(r"\s*(?P<key>!?\s*[\w./-]+)\s*(?:(?P<op>==|!=|=)\s*(?P<value>[\w.-]*)\s*)?")
FIELDS = {
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "Secret": ("type",),
    "Namespace": ("status.phase",),
    "Node": ("spec.unschedulable",),
    "Job": ("status.successful",),
    "Event": ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "reason", "type"),
}
"""Fields beside name and namespace. Source: `pkg/apis/core/v1/conversion.go` of k8s.io/kubernetes."""


def picked(kind: Kind, items: list[Body], labels: str, fields: str) -> list[Body]:
    """
    Those of the items that both selectors pick.

    Raises:
        Failure: One is no selector, or asks for a field that is not known.
    """
    tests = _labels(labels)
    wanted = _fields(kind, fields)
    return [
        one
        for one in items
        if all(_holds(test, one["metadata"].get("labels") or {}) for test in tests)
        and all((_text(at(one, *path.split("."))) == value) is equal for path, value, equal in wanted)
    ]


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _labels(text: str) -> list[tuple[str, str, set[str]]]:
    found, at_ = [], 0
    while at_ < len(text):
        match = PART.match(text, at_)
        if match is None or match.end() == at_:
            raise bad_request(f"unable to parse requirement: found '{text[at_:][:40]}', expected: identifier")
        at_ = match.end()
        if match["key"]:
            found.append((match["key"], match["op"], {one.strip() for one in match["values"].split(",")}))
            continue
        one = EQUAL.fullmatch(match["one"])
        if one is None:
            raise bad_request(f"unable to parse requirement: found '{match['one']}', expected: identifier")
        key = one["key"].replace(" ", "")
        if one["op"] is None:
            found.append((key.lstrip("!"), "absent" if key.startswith("!") else "present", set()))
        else:
            found.append((key, "notin" if one["op"] == "!=" else "in", {one["value"]}))
    return found


def _holds(test: tuple[str, str, set[str]], labels: Body) -> bool:
    key, how, values = test
    if how in ("present", "absent"):
        return (key in labels) is (how == "present")
    return labels.get(key) in values if how == "in" else labels.get(key) not in values


def _fields(kind: Kind, text: str) -> list[tuple[str, str, bool]]:
    known = ("metadata.name", *(("metadata.namespace",) if kind.namespaced else ()), *FIELDS.get(kind.name, ()))
    found = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*([\w.]+)\s*(==|!=|=)\s*(.*?)\s*", part)
        if match is None:
            raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        if match[1] not in known:
            resource = f"{kind.group}/{kind.versions[0]}, Resource={kind.plural}"
            raise bad_request(
                f'Unable to find "{resource}" that match label selector "", field selector "{text}": field label not supported: {match[1]}'
            )
        found.append((match[1], match[3], match[2] != "!="))
    return found
