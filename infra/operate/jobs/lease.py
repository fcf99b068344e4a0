"""Who works on a run: one runner at a time, for a while that it makes longer as long as it lives."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.provider.holds import moment, seconds

SECONDS = 600.0
"""How long a runner that died is waited for. Longer than the longest call of it that may still be on its way."""
HANDED_SECONDS = 4200.0
"""The same of one that hands a model over, whose calls, such as a deployment, take up to an hour. No machine stands then, so that
whoever goes on later costs nothing."""
RENEWED_SECONDS = 300.0
"""It is made longer once less than this is left."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A runner. Two attempts of one Cloud Run execution are one owner: Cloud Run begins the second when the first has ended."""

    name: str
    attempt: int = 0
    execution: str = ""
    """Execution of a Cloud Run job; empty where a person runs it."""

    @classmethod
    def here(cls, environment: Mapping[str, str] | None = None) -> Owner:
        """
        This process.

        Source: https://docs.cloud.google.com/run/docs/container-contract, read 2026-11: environment of jobs.
        """
        given = os.environ if environment is None else environment
        if execution := given.get("CLOUD_RUN_EXECUTION", ""):
            attempt = given.get("CLOUD_RUN_TASK_ATTEMPT", "0")
            return cls(execution, int(attempt) if attempt.isascii() and attempt.isdigit() else 0, execution)
        return cls(f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}")

    def lease(self, now: float, seconds: float = SECONDS) -> dict[str, Any]:
        """What the journal has of it from now on."""
        return {"owner": self.name, "attempt": self.attempt, "until": moment(now + seconds)}

    def may_take(self, lease: Mapping[str, Any], now: float) -> bool:
        """Whether the run is this one's to go on with: nobody's any more, or the one of its own earlier attempt."""
        own = lease.get("owner") == self.name and int(lease.get("attempt", 0)) < self.attempt
        return own or now >= ends(lease)


def ends(lease: Mapping[str, Any]) -> float:
    """When it ends, in seconds since 1970."""
    return seconds(lease["until"]) if lease.get("until") else 0.0
