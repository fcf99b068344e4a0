"""
Secret Manager: secrets, their versions, and who may read them. What a version holds is kept as it came: this is no place for real secrets.

No stack makes a secret: it is its owner's, and `accelform down` does not miss it.

Sources: discovery document secretmanager.v1; recordings of its secrets; https://cloud.google.com/secret-manager/docs, read 2026-11.
"""

from __future__ import annotations

from typing import Any

from infra.sandbox import etags
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind, Service

HOST = "secretmanager.googleapis.com"
PAYLOADS = "payloads"
ENABLED, DISABLED, DESTROYED = "ENABLED", "DISABLED", "DESTROYED"


def _fill(call: Call, body: Body) -> None:
    body["name"] = call.target
    body["createTime"] = rfc3339(call.now)
    body["etag"] = etags.new(call.cloud)
    call.cloud.mark_own(HOST, call.target)


def _changed(call: Call, body: Body, before: Body) -> None:
    body["etag"] = etags.new(call.cloud)


def _release(call: Call, body: Body) -> None:
    """Versions go with their secret."""
    for name, _ in list(call.cloud.store.items(HOST, f"{call.target}/versions")):
        call.cloud.store.delete(HOST, name)
        call.cloud.store.delete(PAYLOADS, name)


def _add_version(call: Call) -> Any:
    secret = call.cloud.store.get(HOST, call.owner)
    if secret is None:
        raise _missing(call, call.owner)
    data = call.body.get("payload", {}).get("data")
    if not data:
        said = "The payload of a version must be said."
        raise invalid(said, "payload.data", said)
    number = len(list(call.cloud.store.items(HOST, f"{call.owner}/versions"))) + 1
    name = f"{call.owner}/versions/{number}"
    where = next(iter(secret["replication"]), "automatic")
    version = {"name": name, "createTime": rfc3339(call.now), "state": ENABLED, "etag": etags.new(call.cloud)}
    call.cloud.store.put(HOST, name, version | {"replicationStatus": {where: {}}}, f"{call.owner}/versions")
    call.cloud.store.put(PAYLOADS, name, {"data": data})
    for kept in (HOST, PAYLOADS):
        call.cloud.mark_own(kept, name)
    return _shown(call, name)


def _get_version(call: Call) -> Any:
    return _shown(call, _version(call)[0])


def _access(call: Call) -> Any:
    name, version = _version(call)
    if version["state"] != ENABLED:
        said = f"Secret Version [{_numbered(call, name)}] is in {version['state']} state."
        raise Refused(400, said, status="FAILED_PRECONDITION")
    return {"name": _numbered(call, name), "payload": {"data": (call.cloud.store.get(PAYLOADS, name) or {})["data"]}}


def _becomes(state: str) -> Any:
    def change(call: Call) -> Any:
        name, version = _version(call)
        if version["state"] == DESTROYED:
            raise Refused(400, f"Secret Version [{_numbered(call, name)}] is in {DESTROYED} state.", status="FAILED_PRECONDITION")
        made = version | {"state": state, "etag": etags.new(call.cloud)}
        if state == DESTROYED:
            made["destroyTime"] = rfc3339(call.now)
            call.cloud.store.delete(PAYLOADS, name)
        call.cloud.store.put(HOST, name, made, name.rpartition("/")[0])
        return _shown(call, name)

    return change


def _version(call: Call) -> tuple[str, Body]:
    """Name and body of a version; `latest` is the one that was added last."""
    above, _, last = call.owner.rpartition("/")
    if last == "latest":
        numbers = [int(name.rpartition("/")[2]) for name, _ in call.cloud.store.items(HOST, above)]
        last = str(max(numbers, default=0))
    found = call.cloud.store.get(HOST, f"{above}/{last}")
    if found is None:
        raise _missing(call, call.owner)
    return f"{above}/{last}", found


def _shown(call: Call, name: str) -> Body:
    return (call.cloud.store.get(HOST, name) or {}) | {"name": _numbered(call, name)}


def _numbered(call: Call, name: str) -> str:
    return name.replace(f"projects/{call.project}/", f"projects/{call.number}/", 1)


def _missing(call: Call, name: str) -> Refused:
    what = "Secret Version" if "/versions/" in name else "Secret"
    return Refused(404, f"{what} [{_numbered(call, name)}] not found.")


SERVICE = Service(
    host=HOST,
    apis=("secretmanager.v1",),
    operations=LongRunning(),
    kinds=(
        Kind(
            "projects.secrets",
            id_from="query:secretId",
            required=("replication",),  # "Required." for secrets that stand everywhere: discovery document, Secret.replication
            immutable=("replication",),
            fill=_fill,
            changed=_changed,
            release=_release,
            not_found=lambda call: _missing(call, call.target),
        ),
    ),
    handlers={
        "projects.secrets.addVersion": _add_version,
        "projects.secrets.versions.get": _get_version,
        "projects.secrets.versions.access": _access,
        "projects.secrets.versions.enable": _becomes(ENABLED),
        "projects.secrets.versions.disable": _becomes(DISABLED),
        "projects.secrets.versions.destroy": _becomes(DESTROYED),
    },
    numbers=True,
    not_found=lambda call: _missing(call, call.target or call.owner),
)
