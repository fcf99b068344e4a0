"""`member-iam`: grants are added one by one, to somebody, with a role that says what for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.declared import Declared, Secret
from infra.policy.rule import Broken, Rule

GRANT = re.compile(r"gcp:.*:(\w*(?:IAM|Iam)\w*)")
MEMBER = re.compile(r"\w*(?:IAM|Iam)Member")
NO_GRANTS = ("IAMCustomRole",)
ACCESS_CONTROL = re.compile(r"gcp:storage/.*:\w*(?:AccessControl|ACL)|gcp:bigquery/.*:DatasetAccess")
PUBLIC = ("allUsers", "allAuthenticatedUsers", "principalSet://goog/public:all")
PRIMITIVE = ("roles/owner", "roles/editor", "roles/viewer")


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Authoritative grants, grants to everybody, and primitive roles."""
    grant = GRANT.fullmatch(resource.type)
    if grant and grant[1] not in NO_GRANTS:
        yield from _grant(resource, grant[1])
    if ACCESS_CONTROL.fullmatch(resource.type):
        yield Broken("role", "access control lists go around IAM")
    for path, value in resource.leaves():
        if (value.value if isinstance(value, Secret) else value) in PUBLIC:
            yield Broken(path, "grants to everybody")


def _grant(resource: Declared, name: str) -> Iterator[Broken]:
    if not MEMBER.fullmatch(name):
        path = "policyData" if name.endswith("Policy") else "role"
        yield Broken(path, f"{name} replaces or removes what others granted")
        return
    role = resource.get("role")
    if not isinstance(role, str) or not role:
        yield Broken("role", "must be stated, known at preview, and no secret")
    elif role in PRIMITIVE:
        yield Broken("role", f"{role} is a primitive role: it reaches everything in the project")


RULE = Rule(
    name="member-iam",
    description="Grants are made member by member, to nobody public, and with no primitive role.",
    remediation="use the IAMMember type of the resource, with a named member and a predefined or custom role",
    severity="critical",
    find=find,
)
