"""Buckets: their defaults and their changes."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

from infra.sandbox import lists
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused
from infra.sandbox.service import Answer, Body, Call
from infra.sandbox.services.storage import access
from infra.sandbox.services.storage.parts import HOST, LINK, PAGE, check_metageneration, generation, refused, rfc3339_ms, there
from infra.sandbox.verbs import merge_patch

MULTI = ("US", "EU", "ASIA")
DUAL = re.compile(r"(NAM4|EUR[4578]|ASIA1)$")
REGION = re.compile(r"[A-Z]+-[A-Z]+\d+$")
"""Forms of a location. Source: Google's page on bucket locations."""
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{1,220}[a-z0-9]$")
"""Source: Google's page on bucket naming."""
WEEK = "604800"
LOCKED_AFTER = 90 * 24 * 3600
"""Uniform access may be taken back for this long. Source: Bucket.iamConfiguration in the discovery document."""
SERVER_SAYS = ("kind", "id", "name", "selfLink", "projectNumber", "generation", "location", "locationType", "timeCreated", "satisfiesPZI")


def insert(call: Call) -> Any:
    check_project(call)
    name = call.body.get("name", "")
    if not NAME.match(name) or (len(name) > 63 and "." not in name):
        raise refused(400, f"Invalid bucket name: '{name}'", "invalid")
    call.target = f"b/{name}"
    other = call.cloud.store.get(HOST, call.target)
    if other is not None:
        raise _taken(other["projectNumber"] == call.number)
    body = {key: value for key, value in call.body.items() if key not in ("acl", "defaultObjectAcl")}
    _fill(call, body, name)
    _settle(call, body, {})
    call.cloud.store.put(HOST, call.target, body, "b")
    call.cloud.store.put("policies", f"{HOST}/{call.target}", access.first_policy(call, body), HOST)
    return shown(call, body, call.query.get("projection", "noAcl"))


def _fill(call: Call, body: Body, name: str) -> None:
    """What is filled in. Source: recordings of buckets in `US` and in a region."""
    now = rfc3339_ms(call)
    location = body.get("location", "US").upper()
    kind = "multi-region" if location in MULTI else "dual-region" if DUAL.match(location) else "region"
    if kind == "region" and not REGION.match(location):
        raise refused(400, "The specified location constraint is not valid.", "invalid")
    body |= {
        "kind": "storage#bucket",
        "id": name,
        "name": name,
        "selfLink": f"{LINK}b/{name}",
        "projectNumber": call.number,
        "generation": generation(call),
        "metageneration": "1",
        "location": location,
        "locationType": kind,
        "timeCreated": now,
        "updated": now,
    }
    body.setdefault("storageClass", "STANDARD")
    if kind == "region":
        body["satisfiesPZI"] = True


def _settle(call: Call, body: Body, before: Body) -> None:
    """Makes the parts of a bucket fit each other, at its creation and after each change."""
    now = rfc3339_ms(call)
    access = body.setdefault("iamConfiguration", {})
    access.setdefault("publicAccessPrevention", "inherited")
    uniform = access.setdefault("uniformBucketLevelAccess", {})
    was = before.get("iamConfiguration", {}).get("uniformBucketLevelAccess", {})
    if uniform.setdefault("enabled", False):
        uniform["lockedTime"] = was.get("lockedTime") or rfc3339(call.now + LOCKED_AFTER)
    else:
        uniform.pop("lockedTime", None)
    access["bucketPolicyOnly"] = dict(uniform)
    soft = body.setdefault("softDeletePolicy", {})
    if soft.setdefault("retentionDurationSeconds", WEEK) == "0":
        soft.pop("effectiveTime", None)
    elif soft["retentionDurationSeconds"] != before.get("softDeletePolicy", {}).get("retentionDurationSeconds"):
        soft["effectiveTime"] = now
    if body["locationType"] != "region":
        body.setdefault("rpo", "DEFAULT")
    if not body.get("lifecycle", {}).get("rule"):
        body.pop("lifecycle", None)
    _settle_autoclass(body, before, now)
    if body.get("hierarchicalNamespace", {}).get("enabled") and not uniform["enabled"]:
        # Google's page on hierarchical namespaces: such a bucket needs uniform access
        raise refused(400, "Hierarchical namespace buckets must use uniform bucket-level access.", "invalid")
    body["etag"] = base64.b64encode(hashlib.sha256(f"{body['generation']}/{body['metageneration']}".encode()).digest()[:9]).decode()


def _settle_autoclass(body: Body, before: Body, now: str) -> None:
    """Source: recordings; the class of a bucket with Autoclass is STANDARD whatever was asked for."""
    autoclass = body.get("autoclass")
    if autoclass is None:
        return
    was = before.get("autoclass", {})
    if autoclass.get("enabled") != was.get("enabled"):
        autoclass["toggleTime"] = now
    if autoclass.get("enabled"):
        body["storageClass"] = "STANDARD"
        autoclass.setdefault("terminalStorageClass", "NEARLINE")
        if autoclass["terminalStorageClass"] != was.get("terminalStorageClass"):
            autoclass["terminalStorageClassUpdateTime"] = now


def get(call: Call) -> Any:
    body = there(call)
    check_metageneration(call, body)
    return shown(call, body, call.query.get("projection", "noAcl"))


def list_(call: Call) -> Any:
    """Buckets of a project, by name."""
    check_project(call)
    prefix = call.query.get("prefix", "")
    mine = [body for _, body in call.cloud.store.items(HOST, "b") if body["projectNumber"] == call.number]
    found = sorted((body for body in mine if body["name"].startswith(prefix)), key=lambda body: str(body["name"]))
    items, more = lists.page(call, found, PAGE)
    bodies = [shown(call, body, call.query.get("projection", "noAcl")) for body in items]
    return {"kind": "storage#buckets"} | ({"items": bodies} if bodies else {}) | more


def patch(call: Call) -> Any:
    """JSON merge patch: null removes."""
    return _change(call, merge_patch(there(call), call.raw, call.body))


def update(call: Call) -> Any:
    """PUT: what is not sent goes back to its default."""
    return _change(call, dict(call.body))


def _change(call: Call, after: Body) -> Any:
    before = there(call)
    check_metageneration(call, before)
    if str(after.get("location") or before["location"]).upper() != before["location"]:
        raise refused(400, "Bucket location cannot be changed.", "invalid")  # Google's page on bucket locations
    if after.get("hierarchicalNamespace") != before.get("hierarchicalNamespace"):
        # Google's page on hierarchical namespaces: only at a bucket's creation
        raise refused(400, "Hierarchical namespace can only be set when a bucket is created.", "invalid")
    after |= {key: before[key] for key in SERVER_SAYS if key in before}
    after |= {"metageneration": str(int(before["metageneration"]) + 1), "updated": rfc3339_ms(call)}
    after.setdefault("storageClass", "STANDARD")
    after.pop("acl", None)
    after.pop("defaultObjectAcl", None)
    _settle(call, after, before)
    call.cloud.store.put(HOST, call.owner, after)
    return shown(call, after, call.query.get("projection", "full"))


def delete(call: Call) -> Any:
    check_metageneration(call, there(call))
    if call.cloud.store.items(HOST, f"{call.owner}/o"):
        raise refused(409, "The bucket you tried to delete is not empty.", "conflict")
    call.cloud.remove(HOST, call.owner)
    return Answer(204, None)


def shown(call: Call, body: Body, projection: str) -> Body:
    """A bucket as it is answered; its access lists only on request, and only where it has any."""
    if projection != "full" or body["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"]:
        return body
    number, name = body["projectNumber"], body["name"]
    return body | {
        "acl": access.acl(body),
        "defaultObjectAcl": access.default_acl(body),
        "owner": {"entity": f"project-owners-{number}"},
        "selfLink": f"{LINK}b/{name}",
    }


def layout(call: Call) -> Any:
    body = there(call)
    picked = {key: body[key] for key in ("location", "locationType", "hierarchicalNamespace") if key in body}
    return {"kind": "storage#storageLayout", "bucket": body["name"]} | picked


def service_account(call: Call) -> Any:
    """The service agent. Source: Google's page on Cloud Storage service agents; recordings of its grants."""
    number = call.cloud.projects.number(call.owner.split("/")[1])
    return {"kind": "storage#serviceAccount", "email_address": f"service-{number}@gs-project-accounts.iam.gserviceaccount.com"}


def check_project(call: Call) -> None:
    """
    Raises:
        Refused: The query names no project. Both methods mark it "required" in the discovery document.
    """
    if not call.project:
        raise refused(400, "Required parameter: project", "required")


def _taken(own: bool) -> Refused:
    """Source: Google's page on status codes of the JSON API."""
    if own:
        return refused(409, "Your previous request to create the named bucket succeeded and you already own it.", "conflict")
    said = "The requested bucket name is not available. The bucket namespace is shared by all users of the system."
    return refused(409, f"{said} Please select a different name and try again.", "conflict")
