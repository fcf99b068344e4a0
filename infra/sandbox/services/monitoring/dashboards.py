"""Dashboards (v1), and metrics scopes: which projects' metrics a project sees."""

from __future__ import annotations

from typing import Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, no_entity, same_entity
from infra.sandbox.schema import without_empty
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.monitoring import shared
from infra.sandbox.services.monitoring.shared import HOST

STALE = "The dashboard was changed by somebody else: the etag is not the current one."
SCOPES = "locations/global/metricsScopes"


def create(call: Call) -> Any:
    """POST: under the id in its name, or one that the server makes."""
    made = str(call.body.get("name", "")).rpartition("/")[2] or call.cloud.uuid(call.cloud.store.next("ids"))
    call.body["name"] = f"projects/{call.project}/dashboards/{made}"
    return verbs.create(call)


def patch(call: Call) -> Any:
    """PATCH: a new whole, based on the dashboard that its etag names. Source: recorded, 2026-08."""
    call.target = call.owner
    before = verbs.stored(call)
    if not call.body.get("etag"):
        raise shared.required("dashboard.etag")
    etags.check(call.cloud, call.body["etag"], before["etag"], STALE)
    return verbs.replace(call)


def _fill(call: Call, body: Body) -> None:
    body |= {"name": call.target, "etag": etags.new(call.cloud)}
    _complete(body)


def _complete(node: Any) -> None:
    """Defaults of widgets, wherever the layout has them. Source: recorded, 2026-08; `targetAxis`: its description."""
    for value in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        _complete(value)
    if not isinstance(node, dict):
        return
    for data in node.get("xyChart", {}).get("dataSets", []):
        data.setdefault("targetAxis", "Y1")
    for data in node.get("timeSeriesTable", {}).get("dataSets", []):
        data.setdefault("minAlignmentPeriod", "0s")
    if "text" in node and isinstance(node["text"], dict):
        node["text"].setdefault("style", {})


def _check(call: Call, body: Body, before: Body | None) -> None:
    if not body.get("displayName"):  # "Required." in its description
        raise shared.required("dashboard.display_name")


def _changed(call: Call, body: Body, before: Body) -> None:
    body["etag"] = etags.new(call.cloud)
    _complete(body)


def scope(call: Call) -> Any:
    """GET of a project's metrics scope: it sees itself, and what was added."""
    project = _project(call, call.owner)
    made = (call.cloud.projects.get(project) or {})["createTime"]
    name = f"{SCOPES}/{call.cloud.projects.number(project)}"
    added = [body for _, body in call.cloud.store.items(HOST, f"{name}/projects")]
    itself = {"name": f"{name}/projects/{call.cloud.projects.number(project)}", "createTime": made}
    updated = max([made, *(body["createTime"] for body in added)])
    return {"name": name, "createTime": made, "updateTime": updated, "monitoredProjects": [itself, *added]}


def monitor(call: Call) -> Any:
    """POST of a monitored project; done in its answer. Source: recorded, 2026-08."""
    call.target = _member(call, f"{call.owner}/projects/{call.body.get('name', '').rpartition('/')[2]}")
    if call.cloud.store.get(HOST, call.target) is not None:
        raise same_entity()
    body = {"name": call.target, "createTime": rfc3339(call.now)}
    call.cloud.store.put(HOST, call.target, body)
    response = {"@type": "type.googleapis.com/google.monitoring.metricsscope.v1.MonitoredProject"} | body
    return operations.start(call, "create", body, 0, response=response)


def forget(call: Call) -> Any:
    call.target = _member(call, call.owner)
    verbs.stored(call)
    return operations.start(call, "delete", None, 0, empty=True)


def _member(call: Call, name: str) -> str:
    """A monitored project's name with both numbers."""
    scoping, _, monitored = name.rpartition("/projects/")
    numbers = [call.cloud.projects.number(_project(call, one)) for one in (scoping, monitored)]
    return f"{SCOPES}/{numbers[0]}/projects/{numbers[1]}"


def _project(call: Call, name: str) -> str:
    project = call.cloud.projects.id(name.rpartition("/")[2])
    if not call.cloud.projects.is_active(project):
        raise Refused(403, "The caller does not have permission")
    return project


DASHBOARD = Kind(
    "projects.dashboards",
    id_from="body:name",
    fill=_fill,
    check=_check,
    changed=_changed,
    show=lambda call, body: shared.by_number(call, dict(without_empty(body))),
    not_found=no_entity,
)
HANDLERS = {
    "projects.dashboards.create": create,
    "projects.dashboards.patch": patch,
    "locations.global.metricsScopes.get": scope,
    "locations.global.metricsScopes.projects.create": monitor,
    "locations.global.metricsScopes.projects.delete": forget,
}
