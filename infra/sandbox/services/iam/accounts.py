"""Service accounts: named by e-mail or by unique id, in a project or under `projects/-`."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind

HOST = "iam.googleapis.com"
ID = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])")
"""Source: description of `accountId` in the discovery document, which also says: 6 to 30 letters."""
MOST = 100
"""Service accounts a project. Source: IAM's quota page, "Service accounts", 2026."""
RESTORED_FOR = 30 * 86400
"""Seconds that a deleted account can be undeleted for. Source: the discovery document, `serviceAccounts.delete`."""
CHANGEABLE = ("displayName", "description")
"""Source: the discovery document, `serviceAccounts.patch`."""


def named(call: Call) -> None:
    """
    Reads `projects/-` and unique ids, so that a call's owner is the name that the account is kept under.

    Raises:
        Refused: `projects/-` and no such account: 403, as the document of `serviceAccounts.get` warns.
    """
    words = call.owner.split("/")
    if len(words) < 4 or words[2] != "serviceAccounts" or call.method.verb == "undelete":
        return
    project, account = words[1], words[3]
    found = _find(call, project, account)
    if found is None and project == "-":
        raise Refused(403, f"Permission 'iam.serviceAccounts.{call.method.verb}' denied on resource (or it may not exist).")
    call.owner = "/".join([found or f"projects/{project}/serviceAccounts/{account}", *words[4:]])


def _find(call: Call, project: str, account: str) -> str | None:
    projects = call.cloud.projects.all() if project == "-" else [project]
    for one in projects:
        for name, body in call.cloud.store.items(HOST, f"projects/{one}/serviceAccounts"):
            if account in (body["email"], body["uniqueId"]):
                return name
    return None


def create(call: Call) -> Any:
    """POST: `{accountId, serviceAccount}`."""
    wanted = call.body.get("accountId", "")
    if not 6 <= len(wanted) <= 30:
        raise invalid(f'The account ID "{wanted}" does not have a length between 6 and 30.')
    if not ID.fullmatch(wanted):
        raise invalid(f'The account ID "{wanted}" must match the regular expression [a-z]([-a-z0-9]*[a-z0-9]).')
    email = f"{wanted}@{call.project}.iam.gserviceaccount.com"
    call.target = f"projects/{call.project}/serviceAccounts/{email}"
    store = call.cloud.store
    _refuse_existing(call, wanted)
    if len(store.items(HOST, f"projects/{call.project}/serviceAccounts")) >= MOST:
        raise Refused(429, "Maximum number of service accounts on project reached.")
    unique = _unique(call)
    sent = call.body.get("serviceAccount", {})
    body = {
        "name": call.target,
        "projectId": call.project,
        "uniqueId": unique,
        "email": email,
        "oauth2ClientId": unique,
        "etag": etags.new(call.cloud),
        **{key: sent[key] for key in CHANGEABLE if key in sent},
    }
    store.put(HOST, call.target, body)
    return verbs.answered(call, body)


def _refuse_existing(call: Call, wanted: str) -> None:
    if call.cloud.store.get(HOST, call.target) is not None:
        # Wording: recorded, 2026-08.
        raise Refused(409, f"Service account {wanted} already exists within project projects/{call.project}.")


def _unique(call: Call) -> str:
    """21 digits that no other account has: one made again under an old name is another account."""
    count = call.cloud.store.next("unique ids")
    return f"1{operations.number(f'{call.target}{count}').zfill(20)[-20:]}"


def patch(call: Call) -> Any:
    """PATCH: mask and account are in the body; the answer has the name and what was changed. Source: recorded, 2026-08."""
    sent, mask = call.body.get("serviceAccount", {}), call.body.get("updateMask", "")
    fields = [re.sub(r"_n", "N", field.strip()) for field in mask.split(",") if field.strip()]
    if not fields or not set(fields) <= {*CHANGEABLE, "etag"}:
        raise invalid(f"Invalid update mask: {mask or '(none)'}. Only display_name and description can be updated.", "update_mask")
    return _change(call, {field: sent.get(field, "") for field in fields if field != "etag"})


def update(call: Call) -> Any:
    """PUT, which the document advises against: display name and description are what was sent."""
    return _change(call, {field: call.body.get(field, "") for field in CHANGEABLE})


def _change(call: Call, fields: Body) -> Any:
    call.target = call.owner
    body = verbs.stored(call) | fields | {"etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, call.target, body)
    return verbs.answered(call, {"name": body["name"], **fields})


def disable(call: Call) -> Any:
    return _switch(call, disabled=True)


def enable(call: Call) -> Any:
    return _switch(call, disabled=False)


def _switch(call: Call, *, disabled: bool) -> Any:
    call.target = call.owner
    call.cloud.store.put(HOST, call.target, verbs.stored(call) | {"disabled": disabled, "etag": etags.new(call.cloud)})
    return {}


def delete(call: Call) -> Any:
    """DELETE: the account's grants stay, marked as those of a deleted one, and fit no account made later under its name."""
    call.target = call.owner
    body = verbs.stored(call)
    call.cloud.remove(HOST, call.target)
    call.cloud.store.set_fact(f"deleted account {body['uniqueId']}", {"body": body, "until": call.now + RESTORED_FOR})
    _rename_member(call, f"serviceAccount:{body['email']}", f"deleted:serviceAccount:{body['email']}?uid={body['uniqueId']}")
    return {}


def undelete(call: Call) -> Any:
    """Brings a deleted account back, and its grants; it is named by its unique id."""
    key = f"deleted account {call.owner.rpartition('/')[2]}"
    kept = call.cloud.store.fact(key)
    if not kept or kept["until"] < call.now:
        raise not_found(call)
    body = kept["body"]
    call.target = body["name"]
    _refuse_existing(call, body["email"].partition("@")[0])
    call.cloud.store.set_fact(key, None)
    call.cloud.store.put(HOST, body["name"], body)
    _rename_member(call, f"deleted:serviceAccount:{body['email']}?uid={body['uniqueId']}", f"serviceAccount:{body['email']}")
    return {"restoredAccount": verbs.answered(call, body)}


def _rename_member(call: Call, before: str, after: str) -> None:
    for _, name, policy in list(call.cloud.store.every("policies")):
        bindings = policy.get("bindings", [])
        if any(before in binding["members"] for binding in bindings):
            for binding in bindings:
                binding["members"] = [after if member == before else member for member in binding["members"]]
            call.cloud.store.put("policies", name, policy)


def not_found(_: Call) -> Refused:
    return Refused(404, "Unknown service account")  # Wording: recorded, 2026-08.


KIND = Kind("projects.serviceAccounts", not_found=not_found)

HANDLERS = {
    "projects.serviceAccounts.create": create,
    "projects.serviceAccounts.patch": patch,
    "projects.serviceAccounts.update": update,
    "projects.serviceAccounts.disable": disable,
    "projects.serviceAccounts.enable": enable,
    "projects.serviceAccounts.delete": delete,
    "projects.serviceAccounts.undelete": undelete,
}
