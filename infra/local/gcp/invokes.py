"""The questions that programs ask without making anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.errors import nearest
from infra.local.gcp.resource_type import last
from infra.local.gcp.rest import Client
from infra.provider.server import ProviderError


def project(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    """A project, with its number and its billing account."""
    name = asked.get("projectId") or client.config.project
    if not name:
        raise ProviderError("getProject: projectId: is missing, and the provider has no project\n  fix: set it, or gcp:project")
    found = client.call("GET", "resourceManager", f"projects/{name}")
    billing = client.call("GET", "cloudBilling", f"projects/{name}/billingInfo")
    labels = found.get("labels") or {}
    parent = found.get("parent") or {}
    return {
        "autoCreateNetwork": True,
        "billingAccount": last(billing.get("billingAccountName", "")),
        "deletionPolicy": "PREVENT",
        "effectiveLabels": labels,
        "folderId": parent.get("id", "") if parent.get("type") == "folder" else "",
        "id": f"projects/{name}",
        "labels": labels,
        "name": found.get("name", ""),
        "number": str(found.get("projectNumber", "")),
        "orgId": parent.get("id", "") if parent.get("type") == "organization" else "",
        "projectId": name,
        "pulumiLabels": labels,
        "tags": {},
    }


def billing_account(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    """A billing account, with its currency; by `lookupProjects` with its projects, too."""
    id = last(asked.get("billingAccount") or "")
    if not id:
        raise ProviderError("getBillingAccount: billingAccount: is missing; by its display name it is not looked up here")
    found = client.call("GET", "cloudBilling", f"billingAccounts/{id}")
    projects: list[str] = []
    if asked.get("lookupProjects") is not False:
        page = client.call("GET", "cloudBilling", f"billingAccounts/{id}/projects")
        projects = [one["projectId"] for one in page.get("projectBillingInfo", [])]
    return {
        "billingAccount": id,
        "currencyCode": found.get("currencyCode", ""),
        "displayName": found.get("displayName", ""),
        "id": id,
        "lookupProjects": asked.get("lookupProjects", True),
        "name": found.get("name", f"billingAccounts/{id}"),
        "open": bool(found.get("open")),
        "projectIds": projects,
    }


INVOKES: dict[str, Callable[[Client, dict[str, Any]], dict[str, Any]]] = {
    "gcp:organizations/getBillingAccount:getBillingAccount": billing_account,
    "gcp:organizations/getProject:getProject": project,
}


def answer(client: Client, token: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one question."""
    if token not in INVOKES:
        like = nearest(token, INVOKES) or sorted(INVOKES)
        raise ProviderError(f"{token}: the stand-in provider does not know this function\n  allowed: {', '.join(like)}")
    return INVOKES[token](client, asked)
