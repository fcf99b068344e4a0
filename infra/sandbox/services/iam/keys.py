"""Keys of service accounts. None of them signs anything: the sandbox asks nobody who they are."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from typing import Any

from infra.sandbox import verbs
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.iam import accounts

MOST = 10
"""User-managed keys an account. Source: IAM's quota page, "Service account keys", 2026."""


def create(call: Call) -> Any:
    """POST: the one answer that has `privateKeyData`. Defaults: description of `CreateServiceAccountKeyRequest`."""
    body = _new(call, "GOOGLE_PROVIDED")
    body["keyAlgorithm"] = call.body.get("keyAlgorithm", "KEY_ALG_RSA_2048")
    kind = call.body.get("privateKeyType", "TYPE_GOOGLE_CREDENTIALS_FILE")
    call.cloud.store.put(accounts.HOST, call.target, body)
    return verbs.answered(call, body | {"privateKeyType": kind, "privateKeyData": _private(call, body)})


def upload(call: Call) -> Any:
    """POST `keys:upload`: a public key of the user's own."""
    body = _new(call, "USER_PROVIDED") | {"keyAlgorithm": "KEY_ALG_RSA_2048"}
    call.cloud.store.put(accounts.HOST, call.target, body)
    return verbs.answered(call, body)


def _new(call: Call, origin: str) -> Body:
    if call.cloud.store.get(accounts.HOST, call.owner) is None:
        raise accounts.not_found(call)
    if len(call.cloud.store.items(accounts.HOST, f"{call.owner}/keys")) >= MOST:
        raise Refused(400, "Precondition check failed.", status="FAILED_PRECONDITION", reason="failedPrecondition")
    count = call.cloud.store.next("keys")
    call.target = f"{call.owner}/keys/{hashlib.sha1(f'{call.owner}{count}'.encode(), usedforsecurity=False).hexdigest()}"
    return {
        "name": call.target,
        "keyOrigin": origin,
        "keyType": "USER_MANAGED",
        "validAfterTime": dt.datetime.fromtimestamp(call.now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "validBeforeTime": "9999-12-31T23:59:59Z",
    }


def _private(call: Call, body: Body) -> str:
    """A credentials file with everything but a key."""
    account = call.cloud.store.get(accounts.HOST, call.owner) or {}
    file = {
        "type": "service_account",
        "project_id": call.project,
        "private_key_id": body["name"].rpartition("/")[2],
        "client_email": account["email"],
        "client_id": account["uniqueId"],
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return base64.b64encode(json.dumps(file, indent=2).encode()).decode()


def disable(call: Call) -> Any:
    return _switch(call, disabled=True)


def enable(call: Call) -> Any:
    return _switch(call, disabled=False)


def _switch(call: Call, *, disabled: bool) -> Any:
    call.target = call.owner
    call.cloud.store.put(accounts.HOST, call.target, verbs.stored(call) | {"disabled": disabled})
    return {}


def _not_found(call: Call) -> Refused:
    return Refused(404, f"Service account key {call.target.rpartition('/')[2]} does not exist.")


KIND = Kind("projects.serviceAccounts.keys", not_found=_not_found)

HANDLERS = {
    "projects.serviceAccounts.keys.create": create,
    "projects.serviceAccounts.keys.upload": upload,
    "projects.serviceAccounts.keys.disable": disable,
    "projects.serviceAccounts.keys.enable": enable,
}
