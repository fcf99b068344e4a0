"""Policies: who may do what with a resource. They are kept beside it, and go with it."""

from __future__ import annotations

from typing import Any

from infra.sandbox import etags, verbs
from infra.sandbox.service import Call


def get(call: Call) -> Any:
    """The policy of a resource; one that was never set has no bindings."""
    _bears_one(call)
    return call.cloud.store.get("policies", f"{call.service.host}/{call.owner}") or {"etag": etags.UNSET}


def set_(call: Call) -> Any:
    """Replaces a policy, if it is still the one that was read."""
    before = get(call)
    wanted = call.body.get("policy", call.body)
    etags.check(call.cloud, wanted.get("etag", ""), before["etag"])
    for binding in wanted.get("bindings", []):
        for member in binding.get("members", []):
            call.cloud.check_member(member)
    bindings = [binding for binding in wanted.get("bindings", []) if binding.get("members")]
    version = 3 if any("condition" in binding for binding in bindings) else 1
    policy = {"version": version, "etag": etags.new(call.cloud)}
    policy |= {"bindings": bindings} if bindings else {}
    policy |= {"auditConfigs": wanted["auditConfigs"]} if wanted.get("auditConfigs") else {}
    call.cloud.store.put("policies", f"{call.service.host}/{call.owner}", policy, call.service.host)
    return policy


def _bears_one(call: Call) -> None:
    """Organizations and billing accounts are there though nobody makes them here; all else must have been made."""
    if call.owner.partition("/")[0] not in ("organizations", "billingAccounts"):
        verbs.stored(call)


def test_permissions(call: Call) -> Any:
    """Whoever asks the sandbox may do all."""
    asked = call.body.get("permissions", [])
    return {"permissions": asked} if asked else {}


VERBS = {"getIamPolicy": get, "setIamPolicy": set_, "testIamPermissions": test_permissions}
