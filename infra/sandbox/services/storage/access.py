"""Who may use a bucket: its policy, and the access lists that were before policies."""

from __future__ import annotations

from typing import Any

from infra.sandbox import etags, policies
from infra.sandbox.service import Body, Call
from infra.sandbox.services.storage.parts import LINK, precondition, refused, there

TEAMS = (("owners", "OWNER"), ("editors", "OWNER"), ("viewers", "READER"))
"""Source: recordings with `projection=full`."""


def acl(body: Body) -> list[Body]:
    """The bucket's access list: that of every bucket of its project."""
    number, name = body["projectNumber"], body["name"]
    found = []
    for team, role in TEAMS:
        one = _entry(number, team, role)
        found.append(
            one
            | {
                "kind": "storage#bucketAccessControl",
                "id": f"{name}/{one['entity']}",
                "selfLink": f"{LINK}b/{name}/acl/{one['entity']}",
                "bucket": name,
                "etag": "CAE=",
            }
        )
    return found


def default_acl(body: Body) -> list[Body]:
    """The access list of an object that comes with none."""
    own = {"kind": "storage#objectAccessControl", "etag": "CAE="}
    return [_entry(body["projectNumber"], team, role) | own for team, role in TEAMS]


def _entry(number: str, team: str, role: str) -> Body:
    return {"entity": f"project-{team}-{number}", "role": role, "projectTeam": {"projectNumber": number, "team": team}}


def list_acl(call: Call) -> Any:
    body = there(call, call.owner)
    if body["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"]:
        said = "Cannot get legacy ACL for a bucket that has uniform bucket-level access."
        raise refused(400, f"{said} Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access", "invalid")
    return {"kind": "storage#bucketAccessControls", "items": acl(body)}


def first_policy(call: Call, body: Body) -> Body:
    """What a new bucket grants to the teams of its project. Source: Google's page on IAM for Cloud Storage, "convenience values"."""
    project = call.project
    bindings = [
        {"role": "roles/storage.legacyBucketOwner", "members": [f"projectEditor:{project}", f"projectOwner:{project}"]},
        {"role": "roles/storage.legacyBucketReader", "members": [f"projectViewer:{project}"]},
    ]
    if body["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"]:
        bindings += [
            {"role": "roles/storage.legacyObjectOwner", "members": [f"projectEditor:{project}", f"projectOwner:{project}"]},
            {"role": "roles/storage.legacyObjectReader", "members": [f"projectViewer:{project}"]},
        ]
    return {"version": 1, "etag": etags.new(call.cloud), "bindings": bindings}


def get_policy(call: Call) -> Any:
    return _policy(there(call), policies.get(call))


def set_policy(call: Call) -> Any:
    body = there(call)
    check_policy(call)
    return _policy(body, policies.set_(call))


def check_policy(call: Call) -> None:
    """
    Raises:
        Refused: The policy is not the one that was read. gsutil's `iam ch` tries again on this status.
    """
    sent = call.body.get("etag", "")
    if sent and not etags.is_current(call.cloud, sent, policies.get(call)["etag"]):
        raise precondition()


def _policy(body: Body, policy: Body) -> Body:
    return policy | {"kind": "storage#policy", "resourceId": f"projects/_/buckets/{body['name']}"}


def permissions(call: Call) -> Any:
    there(call, "/".join(call.owner.split("/")[:2]))
    asked = call.query.get("permissions", "")
    return {"kind": "storage#testIamPermissionsResponse"} | ({"permissions": asked.split(",")} if asked else {})
