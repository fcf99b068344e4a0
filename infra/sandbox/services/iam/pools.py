"""Workload identity pools and their providers: who outside Google may act as whom inside. Deleted ones stay for 30 days."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

from infra.sandbox import lists, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, invalid, no_entity, same_entity
from infra.sandbox.service import Body, Call, Kind

KEPT_FOR = 30 * 86400
"""Seconds. Source of it, of the ids and of all rules here: the discovery document, `workloadIdentityPools.create` and `.delete`."""
ID = re.compile(r"(?!gcp-)[a-z0-9-]{4,32}")
ISSUERS = ("aws", "oidc", "saml", "x509")


def create(call: Call) -> Any:
    """POST; the name of a deleted one is free after 30 days."""
    kept = call.cloud.store.get(call.service.host, f"{call.owner}/{call.collection}/{_id(call)}")
    if kept is not None and kept.get("expireTime") and dt.datetime.fromisoformat(kept["expireTime"]).timestamp() <= call.now:
        call.cloud.remove(call.service.host, kept["name"])
    return verbs.create(call)


def patch(call: Call) -> Any:
    """PATCH; deleted ones cannot be changed."""
    call.target = call.owner
    if verbs.stored(call)["state"] == "DELETED":
        raise Refused(400, f"{call.target} is deleted and cannot be updated.", status="FAILED_PRECONDITION")
    return verbs.patch(call)


def delete(call: Call) -> Any:
    call.target = call.owner
    body = verbs.stored(call)
    return _moved(call, "delete", body | {"state": "DELETED", "expireTime": rfc3339(call.now + KEPT_FOR)})


def undelete(call: Call) -> Any:
    call.target = call.owner
    body = verbs.stored(call)
    if body["state"] != "DELETED":
        raise Refused(400, f"{call.target} is not deleted.", status="FAILED_PRECONDITION")
    return _moved(call, "undelete", {key: value for key, value in body.items() if key != "expireTime"} | {"state": "ACTIVE"})


def list_(call: Call) -> Any:
    """GET: deleted ones with `showDeleted`."""
    found = call.cloud.store.items(call.service.host, call.inside)
    deleted = call.query.get("showDeleted") == "true"
    return lists.listed(call, [(name, body) for name, body in found if deleted or body["state"] != "DELETED"])


def _moved(call: Call, verb: str, body: Body) -> Any:
    call.cloud.store.put(call.service.host, call.target, body)
    return operations.start(call, verb, body, 0, sets={}, response=verbs.answered(call, body))


def _id(call: Call) -> str:
    return call.query.get("workloadIdentityPoolProviderId") or call.query.get("workloadIdentityPoolId", "")


def _fill(call: Call, body: Body) -> None:
    if not ID.fullmatch(_id(call)):
        raise invalid(f'"{_id(call)}" must be 4 to 32 of a-z, 0-9 and -, and must not begin with gcp-.', "workload_identity_pool_id")
    if call.word("locations") != "global":
        raise invalid("The only supported location is global.", "parent")
    body["name"] = call.target


def _check_provider(call: Call, body: Body, before: Body | None) -> None:
    parent = call.target.rpartition("/providers/")[0]
    if before is None and (call.cloud.store.get(call.service.host, parent) or {"state": "DELETED"})["state"] == "DELETED":
        raise no_entity()
    if len([issuer for issuer in ISSUERS if issuer in body]) != 1:
        raise invalid("Exactly one of aws, oidc, saml and x509 must be set.", "workload_identity_pool_provider")
    if "oidc" in body and not str(body["oidc"].get("issuerUri", "")).startswith("https://"):
        raise invalid("oidc.issuer_uri must be an HTTPS endpoint.", "workload_identity_pool_provider.oidc.issuer_uri")


def _shown(call: Call, body: Body) -> Body:
    """Names have the project's number. Source: IAM's page of principal identifiers."""
    return body | {"name": call.cloud.projects.by_number(body["name"])}


POOL = Kind(
    "projects.locations.workloadIdentityPools",
    id_from="query:workloadIdentityPoolId",
    immutable=("mode",),  # "Immutable." in its description
    ready={"state": "ACTIVE"},
    fill=_fill,
    show=_shown,
    not_found=no_entity,
    exists=same_entity,
)
PROVIDER = Kind(
    "projects.locations.workloadIdentityPools.providers",
    id_from="query:workloadIdentityPoolProviderId",
    ready={"state": "ACTIVE"},
    fill=_fill,
    check=_check_provider,
    show=_shown,
    not_found=no_entity,
    exists=same_entity,
)

_VERBS: dict[str, Callable[[Call], Any]] = {"create": create, "patch": patch, "delete": delete, "undelete": undelete, "list": list_}
HANDLERS = {f"{kind.resource}.{verb}": handler for kind in (POOL, PROVIDER) for verb, handler in _VERBS.items()}
