"""
Cloud KMS: key rings, keys and their versions. Nothing is encrypted: no key has any material here.

Source of what is not said otherwise: recordings of 2024 and descriptions in the discovery document.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from infra.sandbox import lists, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Kind, Service

HOST = "cloudkms.googleapis.com"
KEYS = "projects.locations.keyRings.cryptoKeys"
VERSIONS = f"{KEYS}.cryptoKeyVersions"
ALGORITHM, LEVEL, DESTROYED_AFTER = "GOOGLE_SYMMETRIC_ENCRYPTION", "SOFTWARE", "2592000s"
LEAST_ROTATION, MOST_ROTATION = 24 * 3600, 876_000 * 3600
"""Seconds. Source: description of `rotationPeriod`."""
GONE = ("DESTROYED", "DESTROY_SCHEDULED")


def _ring(call: Call, body: Body) -> None:
    body |= {"name": call.target, "createTime": rfc3339(call.now)}
    call.cloud.mark_own(HOST, call.target)  # the official provider leaves it


def _key(call: Call, body: Body) -> None:
    if call.cloud.store.get(HOST, call.owner) is None:
        raise Refused(404, f"KeyRing {call.owner} not found.")
    if not body.get("purpose"):
        raise invalid("The purpose of the key must be set.", "crypto_key.purpose")
    body |= {"name": call.target, "createTime": rfc3339(call.now)}
    body.setdefault("destroyScheduledDuration", DESTROYED_AFTER)
    if body["purpose"] == "ENCRYPT_DECRYPT":
        body["versionTemplate"] = {"algorithm": ALGORITHM, "protectionLevel": LEVEL} | body.get("versionTemplate", {})


def _rotation(call: Call, body: Body, before: Body | None) -> None:
    """A period comes with the first moment, and with a purpose that rotates."""
    period = float(str(body.get("rotationPeriod") or "0s").removesuffix("s"))
    if not period:
        body.pop("rotationPeriod", None)
        return
    if body.get("purpose") != "ENCRYPT_DECRYPT":
        raise invalid("Only keys of purpose ENCRYPT_DECRYPT rotate.", "crypto_key.rotation_period")
    if not LEAST_ROTATION <= period <= MOST_ROTATION:
        raise invalid("rotation_period must be at least 24 hours and at most 876,000 hours.", "crypto_key.rotation_period")


def create_key(call: Call) -> Any:
    """POST: with its first version, unless `skipInitialVersionCreation`."""
    answer = verbs.create(call)
    body = call.cloud.store.get(HOST, call.target)
    assert body is not None
    if call.query.get("skipInitialVersionCreation") == "true" or "versionTemplate" not in body:
        return answer
    version = _new_version(call, call.target, body)
    body["primary"] = version
    call.cloud.store.put(HOST, call.target, body)
    return verbs.answered(call, body)


def create_version(call: Call) -> Any:
    """POST: a version more; it is made primary by `:updatePrimaryVersion`."""
    key = call.cloud.store.get(HOST, call.owner)
    if key is None:
        raise _no_key(call.owner)
    return _new_version(call, call.owner, key)


def _new_version(call: Call, key: str, body: Body) -> Body:
    number = len(call.cloud.store.items(HOST, f"{key}/cryptoKeyVersions")) + 1
    now = rfc3339(call.now)
    version = {
        "name": f"{key}/cryptoKeyVersions/{number}",
        "state": "ENABLED",
        "createTime": now,
        "generateTime": now,
        **body["versionTemplate"],
    }
    call.cloud.store.put(HOST, version["name"], version, f"{key}/cryptoKeyVersions")
    return version


def primary(call: Call) -> Any:
    """POST `:updatePrimaryVersion`."""
    call.target = call.owner
    body = verbs.stored(call)
    name = f"{call.owner}/cryptoKeyVersions/{call.body.get('cryptoKeyVersionId', '')}"
    version = call.cloud.store.get(HOST, name)
    if version is None:
        raise _no_version(name)
    call.cloud.store.put(HOST, call.owner, body | {"primary": version})
    return verbs.answered(call, body | {"primary": version})


def destroy(call: Call) -> Any:
    """POST `:destroy`: the material goes after the key's days."""
    version = _version(call)
    if version["state"] in GONE:
        raise Refused(400, f"{call.owner} is {version['state']}.", status="FAILED_PRECONDITION")
    key = call.cloud.store.get(HOST, call.owner.partition("/cryptoKeyVersions/")[0]) or {}
    at = call.now + float(str(key.get("destroyScheduledDuration", DESTROYED_AFTER)).removesuffix("s"))
    answer = _kept(call, version | {"state": "DESTROY_SCHEDULED", "destroyTime": rfc3339(at)})
    _note_emptied(call)
    return answer


def restore(call: Call) -> Any:
    """POST `:restore`: back, and disabled."""
    version = _version(call)
    if version["state"] != "DESTROY_SCHEDULED":
        raise Refused(400, f"{call.owner} is {version['state']}.", status="FAILED_PRECONDITION")
    return _kept(call, {key: value for key, value in version.items() if key != "destroyTime"} | {"state": "DISABLED"})


def _note_emptied(call: Call) -> None:
    """A key without material is all that the official provider can bring about: nobody is to take it away."""
    key = call.owner.partition("/cryptoKeyVersions/")[0]
    versions = call.cloud.store.items(HOST, f"{key}/cryptoKeyVersions")
    if all(body["state"] in GONE for _, body in versions):
        for name in (key, *(name for name, _ in versions)):
            call.cloud.mark_own(HOST, name)


def _version(call: Call) -> Body:
    version = call.cloud.store.get(HOST, call.owner)
    if version is None:
        raise _no_version(call.owner)
    return _as_now(call, version)


def _as_now(call: Call, version: Body) -> Body:
    """A version whose days are over is destroyed."""
    if version["state"] == "DESTROY_SCHEDULED" and dt.datetime.fromisoformat(version["destroyTime"]).timestamp() <= call.now:
        return version | {"state": "DESTROYED", "destroyEventTime": version["destroyTime"]}
    return version


def _kept(call: Call, version: Body) -> Body:
    call.cloud.store.put(HOST, version["name"], version)
    return version


def delete_version(call: Call) -> Any:
    """DELETE: one that is destroyed."""
    if _version(call)["state"] != "DESTROYED":
        raise Refused(400, f"{call.owner} is not destroyed.", status="FAILED_PRECONDITION")
    return verbs.delete(call)


def _empty(what: str) -> Any:
    def check(call: Call, body: Body) -> None:
        if call.cloud.store.items(HOST, f"{call.owner}/{what}"):
            raise Refused(400, f"{call.owner} still has {what}.", status="FAILED_PRECONDITION")

    return check


def list_(call: Call) -> Any:
    """GET: with the number of all."""
    found = [(name, _shown(call, body)) for name, body in call.cloud.store.items(HOST, call.inside)]
    answer = lists.listed(call, found)
    return answer | ({"totalSize": len(found)} if found else {})


def _shown(call: Call, body: Body) -> Body:
    if "primary" in body:
        kept = call.cloud.store.get(HOST, body["primary"]["name"])
        return body | {"primary": _as_now(call, kept)} if kept else body
    return _as_now(call, body) if "/cryptoKeyVersions/" in body["name"] else body


def _no_key(name: str) -> Refused:
    return Refused(404, f"CryptoKey {name} not found.")


def _no_version(name: str) -> Refused:
    return Refused(404, f"CryptoKeyVersion {name} not found.")


def _exists(what: str) -> Any:
    return lambda call: Refused(409, f"{what} {call.target} already exists.")


SERVICE = Service(
    host=HOST,
    apis=("cloudkms.v1",),
    operations=LongRunning(),
    kinds=(
        Kind(
            "projects.locations.keyRings",
            fill=_ring,
            release=_empty("cryptoKeys"),
            not_found=lambda call: Refused(404, f"KeyRing {call.target} not found."),
            exists=_exists("KeyRing"),
        ),
        Kind(
            KEYS,
            immutable=("purpose", "destroyScheduledDuration", "importOnly", "versionTemplate.protectionLevel"),
            fill=_key,
            check=_rotation,
            release=_empty("cryptoKeyVersions"),
            show=_shown,
            not_found=lambda call: _no_key(call.target),
            exists=_exists("CryptoKey"),
        ),
        Kind(VERSIONS, show=_shown, not_found=lambda call: _no_version(call.target)),
    ),
    handlers={
        f"{KEYS}.create": create_key,
        f"{KEYS}.updatePrimaryVersion": primary,
        f"{VERSIONS}.create": create_version,
        f"{VERSIONS}.destroy": destroy,
        f"{VERSIONS}.restore": restore,
        f"{VERSIONS}.delete": delete_version,
        "projects.locations.keyRings.list": list_,
        f"{KEYS}.list": list_,
        f"{VERSIONS}.list": list_,
    },
)
