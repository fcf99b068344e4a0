"""`member-iam`: grants are added one by one, to somebody, with a role that says what for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.declared import Declared
from infra.policy.rule import Broken, Rule

AUTHORITATIVE = re.compile(r"gcp:.*:\w*I[Aa][Mm](?:Binding|Policy|AuditConfig)")
MEMBER = re.compile(r"gcp:.*:\w*I[Aa][Mm]Member")
ACCESS_CONTROL = re.compile(r"gcp:storage/\w*(?:AccessControl|ACL):\w+")
PUBLIC = ("allUsers", "allAuthenticatedUsers")
PRIMITIVE = ("roles/owner", "roles/editor", "roles/viewer")


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Authoritative grants, grants to everybody, and primitive roles."""
    if AUTHORITATIVE.fullmatch(resource.type):
        yield Broken(
            "role", f"{resource.type.rpartition(':')[2]} replaces what others granted: it drops every member that it does not list"
        )
    if ACCESS_CONTROL.fullmatch(resource.type):
        yield Broken("entity", "access control lists go around IAM")
    for path, value in resource.leaves():
        if value in PUBLIC:
            yield Broken(path, f"{value} is everybody")
    if (MEMBER.fullmatch(resource.type) or AUTHORITATIVE.fullmatch(resource.type)) and resource.get("role") in PRIMITIVE:
        yield Broken("role", f"{resource.get('role')} is a primitive role: it reaches everything in the project")


RULE = Rule(
    name="member-iam",
    description="Grants are made member by member, to nobody public, and with no primitive role.",
    remediation="use the IAMMember type of the resource, with a named member and a predefined or custom role",
    severity="critical",
    find=find,
)
