"""Uptime checks, and groups of monitored resources."""

from __future__ import annotations

import base64
import json

from infra.sandbox.refused import Refused
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.monitoring import shared
from infra.sandbox.services.monitoring.shared import HOST

HIDDEN = "******"
PERIODS = ("60s", "300s", "600s", "900s")
"""Source: description of `UptimeCheckConfig.period`."""


def _fill_check(call: Call, body: Body) -> None:
    body["name"] = call.target
    _complete(body)


def _complete(body: Body) -> None:
    """Defaults. Source: descriptions of `period` and of `HttpCheck`; `checkerType`: recorded, 2026-08."""
    body.setdefault("period", "60s")
    body.setdefault("checkerType", "STATIC_IP_CHECKERS")
    if "httpCheck" in body:
        http = body["httpCheck"]
        http.setdefault("requestMethod", "GET")
        http["path"] = "/" + http.get("path", "").removeprefix("/")
        http.setdefault("port", 443 if http.get("useSsl") else 80)


def _check_check(call: Call, body: Body, before: Body | None) -> None:
    for field, name in (("displayName", "display_name"), ("timeout", "timeout")):  # "Required." in the descriptions
        if not body.get(field):
            raise shared.required(f"uptime_check_config.{name}")
    if body["period"] not in PERIODS:
        raise shared.bad("uptime_check_config.period", body["period"], f"must be one of {', '.join(PERIODS)}")
    if not 1 <= shared.seconds("uptime_check_config.timeout", body["timeout"]) <= 60:
        raise shared.bad("uptime_check_config.timeout", body["timeout"], "must be between 1 and 60 seconds")


def _changed_check(_: Call, body: Body, before: Body) -> None:
    _complete(body)


def _release_check(call: Call, _: Body) -> None:
    """Not while an alert policy looks at it. Source: description of `uptimeCheckConfigs.delete`."""
    check = call.target.rpartition("/")[2]
    for name, policy in call.cloud.store.items(HOST, f"projects/{call.project}/alertPolicies"):
        if check in json.dumps(policy.get("conditions", [])):
            said = f'Could not delete "{call.target}" because it is still being referenced by: "{name}"'
            raise Refused(400, said, status="FAILED_PRECONDITION")


def _shown_check(_: Call, body: Body) -> Body:
    """Without what is secret. Source: description of `maskHeaders`; the length of the body: recorded, 2026-08."""
    shown = json.loads(json.dumps(without_empty(body)))
    http = shown.get("httpCheck", {})
    if "authInfo" in http and "password" in http["authInfo"]:
        http["authInfo"]["password"] = HIDDEN
    if "body" in http:
        http["headers"] = {"Content-Length": str(len(base64.b64decode(http["body"]))), **http.get("headers", {})}
    if http.get("maskHeaders") and "headers" in http:
        http["headers"] = dict.fromkeys(http["headers"], HIDDEN)
    return dict(shown)


def _no_check(call: Call) -> Refused:
    return Refused(404, f"Config not found for check {call.target.rpartition('/')[2]} in project {call.project}")


def _fill_group(call: Call, body: Body) -> None:
    body["name"] = call.target


def _check_group(call: Call, body: Body, before: Body | None) -> None:
    """A group has a name, a filter, and a parent that is there."""
    for field, name in (("displayName", "display_name"), ("filter", "filter")):
        if not body.get(field):
            raise shared.required(f"group.{name}")
    if not body.get("parentName"):
        return
    parent = f"projects/{call.project}/groups/{body['parentName'].rpartition('/')[2]}"
    if call.cloud.store.get(HOST, parent) is None:
        raise _no_group_named(parent)
    if parent == call.target or parent in _below(call, call.target.rpartition("/")[2]):
        raise shared.bad("group.parent_name", body["parentName"], "a group cannot be below itself")


def _release_group(call: Call, _: Body) -> None:
    """Not while it has descendants, unless `recursive`. Source: its description."""
    below = _below(call, call.target.rpartition("/")[2])
    if below and call.query.get("recursive", "").lower() != "true":
        raise Refused(400, f"Cannot delete {call.target}: it has descendants: {', '.join(below)}.", status="FAILED_PRECONDITION")
    for name in below:
        call.cloud.remove(HOST, name)


def _below(call: Call, group: str) -> list[str]:
    found = []
    for name, body in call.cloud.store.items(HOST, f"projects/{call.project}/groups"):
        if body.get("parentName", "").rpartition("/")[2] == group:
            found += [name, *_below(call, name.rpartition("/")[2])]
    return found


def _no_group(call: Call) -> Refused:
    return _no_group_named(call.target)


def _no_group_named(name: str) -> Refused:
    return Refused(404, f"Could not find group definition for '{name.rpartition('/')[2]}'.")  # Wording: recorded, 2026-08


CHECK = Kind(
    "projects.uptimeCheckConfigs",
    id_from="server:number",
    fill=_fill_check,
    check=_check_check,
    changed=_changed_check,
    release=_release_check,
    show=_shown_check,
    not_found=_no_check,
)
GROUP = Kind(
    "projects.groups",
    id_from="server:number",
    fill=_fill_group,
    check=_check_group,
    release=_release_group,
    show=lambda call, body: dict(without_empty(body)),
    not_found=_no_group,
)
