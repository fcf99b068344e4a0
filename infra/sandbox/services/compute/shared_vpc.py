"""
Shared VPC: whose subnets a project may use. A host project needs nothing of its own here: it is one as soon as a project is attached.

Source: discovery document compute v1, `projects.enableXpnResource` and `getXpnHost`, which answers an empty project where there is none.
"""

from __future__ import annotations

from typing import Any

from infra.sandbox import operations
from infra.sandbox.refused import Refused
from infra.sandbox.service import Call, Handler
from infra.sandbox.services.compute import zones


def _key(project: str) -> str:
    return f"Shared VPC host of {project}"


def enable(call: Call) -> Any:
    """Attaches a service project to the host project of the path."""
    project = call.body.get("xpnResource", {}).get("id", "")
    if call.cloud.projects.get(project) is None or project == call.project:
        raise Refused(400, f"Invalid value for field 'resource.xpnResource.id': '{project}'.", reason="invalid")
    if call.cloud.store.fact(_key(project)) not in (None, "", call.project):
        raise Refused(400, f"The project {project} is already associated with another host project.", reason="invalidResourceUsage")
    return _attach(call, project, call.project)


def disable(call: Call) -> Any:
    """Takes it away again."""
    return _attach(call, call.body.get("xpnResource", {}).get("id", ""), "")


def _attach(call: Call, project: str, host: str) -> Any:
    call.cloud.store.set_fact(_key(project), host)
    call.target = f"projects/{call.project}/global/xpnHost"
    return operations.start(call, call.method.verb, None, 0, empty=True)


def host(call: Call) -> Any:
    found = call.cloud.store.fact(_key(call.project))
    if not found:
        return {"kind": "compute#project"}
    call.owner = f"projects/{found}"
    return zones.project(call) | {"xpnProjectStatus": "HOST"}


HANDLERS: dict[str, Handler] = {
    "projects.enableXpnResource": enable,
    "projects.disableXpnResource": disable,
    "projects.getXpnHost": host,
}
