"""What Google's APIs say when they refuse, in words, with what mends it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.findings import Found, Level

READERS = {
    "bigquery.jobs": "roles/bigquery.jobUser",
    "cloudbilling.billingAccounts": "roles/billing.viewer",
    "cloudbilling.projects": "roles/browser",  # getBillingInfo asks for resourcemanager.projects.get
    "cloudquotas.projects": "roles/cloudquotas.viewer",
    "cloudresourcemanager.projects": "roles/browser",
    "compute.acceleratorTypes": "roles/compute.viewer",
    "compute.machineTypes": "roles/compute.viewer",
    "compute.projects": "roles/compute.viewer",
    "compute.firewalls": "roles/compute.networkViewer",
    "compute.regions": "roles/compute.viewer",
    "compute.routers": "roles/compute.networkViewer",
    "compute.subnetworks": "roles/compute.networkViewer",
    "compute.zones": "roles/compute.viewer",
    "orgpolicy.projects": "roles/orgpolicy.policyViewer",
    "serviceusage.services": "roles/serviceusage.serviceUsageViewer",
    "tpu.projects": "roles/tpu.viewer",
}
"""The least predefined role that reads each collection.
Source: https://cloud.google.com/iam/docs/roles-permissions, read 2026-11."""

DISABLED = "has not been used in project"
"""How APIs without `details`, Compute Engine among them, say that they are off."""


@dataclass(frozen=True)
class RefusedError(Exception):
    """Google's API refused or did not answer."""

    level: Level
    message: str
    fix: str = ""
    status: int = 0
    """HTTP status; 0 where there was no answer."""

    def found(self, check: str) -> Found:
        return Found(check, self.level, self.message, self.fix)


def each(parts: Iterable[tuple[str, Iterator[Found]]]) -> Iterator[Found]:
    """What every part finds. One that is refused ends there, under its own name: what it found before stays, and the others go on."""
    for check, part in parts:
        try:
            yield from part
        except RefusedError as refused:
            yield refused.found(check)


def explained(api: str, method: str, project: str, status: int, reason: str, content: bytes) -> RefusedError:
    """
    A refusal by HTTP *status* and body, with the role, the permission or the command that mends it.

    Source of reasons: https://cloud.google.com/apis/design/errors and `google.api.ErrorReason`, read 2026-11.
    """
    service = f"{api}.googleapis.com"
    error = _error(content)
    message = str(error.get("message") or reason or "no message").strip()
    info = next((one for one in error.get("details", []) if isinstance(one, Mapping) and one.get("reason")), {})
    why, told = info.get("reason", ""), info.get("metadata") or {}
    # An API must be on in the project that is charged with the quota, which need not be the one looked at.
    consumer = str(told.get("consumer", "")).removeprefix("projects/") or project
    if why == "SERVICE_DISABLED" or DISABLED in message:
        off = told.get("service") or service
        return RefusedError("failed", f"{off} is not enabled in {consumer}", f"gcloud services enable {off} --project={consumer}", status)
    if why == "BILLING_DISABLED" or "requires billing to be enabled" in message:
        link = f"gcloud billing projects link {consumer} --billing-account=ACCOUNT"
        return RefusedError("failed", f"{service} answers only where somebody pays: {consumer} has no open billing account", link, status)
    if why == "ACCESS_TOKEN_SCOPE_INSUFFICIENT":
        return RefusedError("failed", f"{service}: {message}", "gcloud auth application-default login", status)
    if why == "USER_PROJECT_DENIED":
        return RefusedError(
            "failed",
            f"you may not charge quota to {consumer}, or it does not exist: {message}",
            grant(consumer, "roles/serviceusage.serviceUsageConsumer"),
            status,
        )
    if "quota project" in message:
        return RefusedError("failed", message, f"gcloud auth application-default set-quota-project {project}", status)
    if status in (401, 403):
        permission = told.get("permission", "")
        said = f"you lack {permission}" if permission else f"you may not look: {message}"
        return RefusedError("unknown", f"{service}: {said}", _reader(api, method, project), status)
    return RefusedError("unknown", f"{service} answered {status}: {message}", "try again" if status >= 500 else "", status)


def grant(project: str, role: str) -> str:
    """The command that grants a role on a project."""
    return f"gcloud projects add-iam-policy-binding {project} --member=user:YOUR_EMAIL --role={role}"


def grant_on_account(account: str, role: str) -> str:
    """The command that grants a role on a billing account, named `billingAccounts/...` or by its id."""
    short = account.removeprefix("billingAccounts/")
    return f"gcloud billing accounts add-iam-policy-binding {short} --member=user:YOUR_EMAIL --role={role}"


def _reader(api: str, method: str, project: str) -> str:
    role = READERS[f"{api}.{method.partition('.')[0]}"]
    return grant_on_account("ACCOUNT", role) if role.startswith("roles/billing.") else grant(project, role)


def _error(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}
