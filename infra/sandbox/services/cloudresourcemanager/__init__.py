"""Resource Manager: projects, folders, tags, and who may do what on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call, Service
from infra.sandbox.services.cloudresourcemanager import folders, projects, tags

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

_VERBS = {"patch": "Update"}


def _metadata(_: Cloud, operation: Body) -> Body:
    if operation["version"] == "v1":
        status = {"gettable": True, "ready": True} if operation["done"] else {}
        return {"@type": "type.googleapis.com/google.cloudresourcemanager.v1.ProjectCreationStatus", **status}
    verb = _VERBS.get(operation["verb"], operation["verb"].capitalize())
    word = operation["resource"].rpartition(".")[2].removesuffix("s")
    return {"@type": f"type.googleapis.com/google.cloud.resourcemanager.v3.{verb}{word[0].upper()}{word[1:]}Metadata"}


def _missing(_: Call) -> Refused:
    """What is not there is not told from what may not be seen. Source: recorded for projects, 2026-08."""
    return Refused(403, "The caller does not have permission")


SERVICE = Service(
    host=projects.HOST,
    apis=("cloudresourcemanager.v1", "cloudresourcemanager.v3"),
    operations=LongRunning(metadata=_metadata, under=lambda call, verb: ""),
    kinds=(projects.KIND, folders.KIND, *tags.KINDS),
    handlers=projects.HANDLERS | folders.HANDLERS | tags.HANDLERS,
    not_found=_missing,
)
