"""What became of the quota that a foundation asks for: granted, in part, refused, or not decided yet. Only Google decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds
from infra.operate.google import Google
from infra.operate.gpu_quotas import console

CHECK = "quota requests"


@dataclass(frozen=True, slots=True)
class QuotaAnswer:
    """One quota preference as Google has it."""

    id: str
    quota: str
    """Service and id of the quota, and the dimensions."""
    wanted: int
    granted: int | None
    """None where Google has granted nothing yet."""
    pending: bool
    """Whether it is not decided yet, or being put into effect."""
    detail: str
    """Google's own words on its state; often empty."""


def read(google: Google, project: str) -> dict[str, QuotaAnswer]:
    """
    Every quota preference of a project, by its id.

    Raises:
        RefusedError: With what to do about it.
    """
    parent = f"projects/{project}/locations/global"
    every = google.items("cloudquotas", "v1", "projects.locations.quotaPreferences.list", "quotaPreferences", parent=parent, pageSize=100)
    return {one.id: one for one in map(answer, every)}


def answer(body: dict[str, Any]) -> QuotaAnswer:
    """
    One as Google answers it.

    Zeros are left out of Google's JSON; of what is granted, which is a message of its own, nothing means that there is none yet.
    """
    config = body.get("quotaConfig", {})
    where = ", ".join(f"{key}={value}" for key, value in sorted(body.get("dimensions", {}).items()))
    quota = f"{body.get('service', '')} {body.get('quotaId', '')}" + (f" ({where})" if where else "")
    granted = config.get("grantedValue")
    return QuotaAnswer(
        id=str(body["name"]).rpartition("/")[2],
        quota=quota,
        wanted=int(config.get("preferredValue", 0)),
        granted=None if granted is None else int(granted),
        pending=bool(body.get("reconciling")),
        detail=str(config.get("stateDetail", "")),
    )


def quota_requests(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Each request of the stack file."""
    there = read(google, needs.project)
    for name, id in needs.quota_requests.items():
        yield _found(f"{CHECK}, {name}", there.get(id), needs)


def _found(check: str, answer: QuotaAnswer | None, needs: CloudNeeds) -> Found:
    if answer is None:
        return Found(check, "warning", "was not sent yet", "pulumi up")
    said = f"{answer.quota}: wanted {answer.wanted}, granted {'nothing yet' if answer.granted is None else answer.granted}"
    said += f"; Google says: {answer.detail}" if answer.detail else ""
    if answer.pending:
        return Found(check, "warning", f"{said}; not decided yet", "wait for Google's mail to the contact")
    if answer.granted is None or answer.granted < answer.wanted:
        return Found(check, "failed", said, console(needs, answer.quota))
    return Found(check, "ok", said)
