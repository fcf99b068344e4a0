"""Roles: custom ones of a project or an organization, and the predefined ones that this project grants or asks for."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox import etags, lists, verbs
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.iam.accounts import HOST

ID = re.compile(r"[a-zA-Z0-9_.]{3,64}")
"""Source: description of `roleId` in the discovery document."""
RESTORED_FOR = 7 * 86400
"""Seconds that a deleted role can be undeleted for. Source: the discovery document, `roles.delete`."""
BLOCKED_FOR = 37 * 86400
"""Seconds until its id is free again. Source: IAM's page "Create and manage custom roles", "Deleting a custom role", 2026."""
PREDEFINED = {
    "roles/aiplatform.admin": "Vertex AI Administrator",
    "roles/aiplatform.user": "Vertex AI User",
    "roles/artifactregistry.admin": "Artifact Registry Administrator",
    "roles/artifactregistry.reader": "Artifact Registry Reader",
    "roles/billing.costsManager": "Billing Account Costs Manager",
    "roles/billing.viewer": "Billing Account Viewer",
    "roles/browser": "Browser",
    "roles/compute.admin": "Compute Admin",
    "roles/compute.viewer": "Compute Viewer",
    "roles/editor": "Editor",
    "roles/iam.serviceAccountAdmin": "Service Account Admin",
    "roles/iam.serviceAccountUser": "Service Account User",
    "roles/iam.workloadIdentityUser": "Workload Identity User",
    "roles/logging.logWriter": "Logs Writer",
    "roles/monitoring.metricWriter": "Monitoring Metric Writer",
    "roles/monitoring.notificationChannelEditor": "Monitoring NotificationChannel Editor",
    "roles/orgpolicy.policyViewer": "Organization Policy Viewer",
    "roles/owner": "Owner",
    "roles/resourcemanager.projectIamAdmin": "Project IAM Admin",
    "roles/serviceusage.serviceUsageConsumer": "Service Usage Consumer",
    "roles/serviceusage.serviceUsageViewer": "Service Usage Viewer",
    "roles/storage.admin": "Storage Admin",
    "roles/storage.objectUser": "Storage Object User",
    "roles/storage.objectViewer": "Storage Object Viewer",
    "roles/tpu.admin": "TPU Admin",
    "roles/tpu.viewer": "TPU Viewer",
    "roles/viewer": "Viewer",
}
"""Titles. Source: IAM's reference of roles, 2026. Their permissions are not kept: the sandbox lets everybody do everything."""


def create(call: Call) -> Any:
    """POST: `{roleId, role}`."""
    wanted = call.body.get("roleId", "")
    if not ID.fullmatch(wanted):
        raise invalid(f"The role_id ({wanted}) must be 3 to 64 letters, digits, underscores and periods.", "role_id")
    call.target = f"{call.owner}/roles/{wanted}"
    before = call.cloud.store.get(HOST, call.target)
    if before is not None and not before.get("deleted"):
        raise Refused(409, f"A role named {wanted} in {call.owner} already exists.")
    if before is not None and _gone_for(call, before) < BLOCKED_FOR:
        said = f"You can't create a role_id ({wanted}) which has been marked for deletion."
        raise Refused(400, said, status="FAILED_PRECONDITION", reason="failedPrecondition")
    sent = {key: value for key, value in call.body.get("role", {}).items() if key not in ("name", "deleted")}
    return _keep(call, {**sent, "name": call.target})


def patch(call: Call) -> Any:
    """PATCH, if the etag that comes with it is the role's."""
    call.target = call.owner
    etags.check(call.cloud, call.body.get("etag", ""), verbs.stored(call)["etag"])
    return verbs.patch(call)


def delete(call: Call) -> Any:
    """DELETE: the role stays for a time, marked as deleted."""
    call.target = call.owner
    body = verbs.stored(call)
    etags.check(call.cloud, call.query.get("etag", ""), body["etag"])
    call.cloud.store.set_fact(f"deleted {call.target}", call.now)
    return _keep(call, body | {"deleted": True})


def undelete(call: Call) -> Any:
    call.target = call.owner
    body = verbs.stored(call)
    if not body.get("deleted") or _gone_for(call, body) >= RESTORED_FOR:
        raise Refused(400, f"The role {call.target} is not deleted.", status="FAILED_PRECONDITION", reason="failedPrecondition")
    return _keep(call, {key: value for key, value in body.items() if key != "deleted"})


def list_(call: Call) -> Any:
    """GET: without permissions unless `view=FULL`; deleted ones with `showDeleted`."""
    found = call.cloud.store.items(HOST, call.inside)
    if call.query.get("showDeleted") != "true":
        found = [(name, body) for name, body in found if not body.get("deleted")]
    if call.query.get("view") != "FULL":
        found = [(name, {key: value for key, value in body.items() if key != "includedPermissions"}) for name, body in found]
    return lists.listed(call, found)


def predefined(call: Call) -> Any:
    """GET of one of Google's own."""
    if call.owner not in PREDEFINED:
        raise _not_found(call)
    return _google(call.owner)


def predefined_list(call: Call) -> Any:
    return lists.answer(call, list(PREDEFINED), _google)


def _google(name: str) -> Body:
    return {"name": name, "title": PREDEFINED[name], "stage": "GA"}


def _keep(call: Call, body: Body) -> Body:
    body = body | {"etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, call.target, body)
    return verbs.answered(call, body)


def _changed(call: Call, body: Body, before: Body) -> None:
    body["etag"] = etags.new(call.cloud)


def _gone_for(call: Call, body: Body) -> float:
    return call.now - float(call.cloud.store.fact(f"deleted {body['name']}") or 0)


def _shown(_: Call, body: Body) -> Body:
    """`ALPHA` is what a role without a stage is. Source: description of `stage`."""
    return {key: value for key, value in body.items() if key != "stage" or value != "ALPHA"}


def _not_found(call: Call) -> Refused:
    return Refused(404, f"The role named {call.target or call.owner} was not found.")


KINDS = tuple(Kind(f"{parent}.roles", changed=_changed, show=_shown, not_found=_not_found) for parent in ("projects", "organizations"))

HANDLERS = {
    f"{parent}.roles.{verb}": handler
    for parent in ("projects", "organizations")
    for verb, handler in (("create", create), ("patch", patch), ("delete", delete), ("undelete", undelete), ("list", list_))
} | {"roles.get": predefined, "roles.list": predefined_list}
