"""Cloud Scheduler."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import Codec, Field, ResourceType, Update, last

DEADLINE = "180s"
"""The official provider does not send it: it is what Google takes by itself."""
OWN_HEADERS = {("User-Agent", "Google-Cloud-Scheduler"), ("Content-Type", "application/octet-stream")}
"""What Google adds to the headers of a target; the official provider does not look at them."""

IN_FULL = Codec(lambda value, names: f"projects/{names['project']}/locations/{names['region']}/jobs/{value}", last)
NOT_USUAL = Codec(lambda value, _: None if value == DEADLINE else value)
HEADERS = Codec(decode=lambda headers: {key: value for key, value in headers.items() if (key, value) not in OWN_HEADERS} or None)


class Job(Lifecycle):
    """Whether it is paused is said by a call of its own."""

    def created(self, names: dict[str, Any], inputs: dict[str, Any]) -> None:
        self._switch(names, paused=bool(inputs.get("paused")))

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        return super().outputs(answer, names, written) | {"paused": answer.get("state") == "PAUSED"}

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        made = super().update(id, state, old, new)
        if bool(new.get("paused")) == made.outputs["paused"]:
            return made
        names = self.names_of(id, state)
        self._switch(names, paused=bool(new.get("paused")))
        return self._now(id, names, state | self._plain(new))

    def _switch(self, names: dict[str, Any], *, paused: bool) -> None:
        self.call("POST", self.fill(self.row.url, names) + (":pause" if paused else ":resume"), {}, None, names)


JOB = ResourceType(
    "gcp:cloudscheduler/job:Job",
    "cloudScheduler",
    "projects/{project}/locations/{region}/jobs/{name}",
    url_only=("region",),
    virtual={"paused": False},
    defaults={"timeZone": "Etc/UTC"},
    fields=(
        Field("name", codec=IN_FULL),
        Field("attemptDeadline", codec=NOT_USUAL, canonical=lambda value: "" if value == DEADLINE else value),
        Field("httpTarget.headers", codec=HEADERS),
    ),
    computed=(
        "attemptDeadline",
        "httpTarget.httpMethod",
        "httpTarget.oauthToken.scope",
        "httpTarget.oidcToken.audience",
        "retryConfig",
        *(f"retryConfig.{name}" for name in ("maxBackoffDuration", "maxDoublings", "maxRetryDuration", "minBackoffDuration")),
    ),
    updates=(Update(),),
    lifecycle=Job,
)

ROWS = (JOB,)
