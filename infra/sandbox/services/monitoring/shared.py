"""What Monitoring's resources have in common: refusals in its words, whole updates, records of changes."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox import verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call

HOST = "monitoring.googleapis.com"
WHO = "user@example.com"
"""Whoever asks the sandbox."""
COUNTED = ("alertPolicies", "notificationChannels", "uptimeCheckConfigs")
"""Lists with `totalSize`. Source: the discovery document."""


def bad(field: str, value: Any, why: str) -> Refused:
    """Wording: quoted in chainguard-dev/terraform-infra-common #352, 2024."""
    return invalid(f'Field {field} had an invalid value of "{value}": {why}')


def required(field: str) -> Refused:
    return invalid(f"Field {field} is required.", field)


def seconds(field: str, duration: str) -> float:
    """`60s` -> 60."""
    if not re.fullmatch(r"\d+(\.\d+)?s", duration):
        raise bad(field, duration, "must be a number of seconds such as 60s")
    return float(duration[:-1])


def patch(call: Call) -> Any:
    """PATCH: what the mask names; without one the new whole. Source: description of `updateMask` in the discovery document."""
    return verbs.patch(call) if call.query.get("updateMask") else verbs.replace(call)


def listed(call: Call, bodies: list[Body], count: int) -> Body:
    """A list, some with the number of all that fit."""
    page: Body = {call.collection: bodies} if bodies else {}
    return page | ({"totalSize": count} if count and call.collection in COUNTED else {})


def by_number(call: Call, body: Body) -> Body:
    """With the project's number in its name. Source: recorded, 2026-08."""
    return body | {"name": call.cloud.projects.by_number(body["name"])}


def record(call: Call, *, who: bool = False) -> Body:
    """A change, as channels and policies remember it."""
    return {"mutateTime": rfc3339(call.now)} | ({"mutatedBy": WHO} if who else {})
