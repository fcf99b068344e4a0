"""
Why a machine was not to be had, from Google's answers to words: one table.

A zone without room is tried again later, and so is one where the quota is used up: others give theirs back. What is wrong with the
request is wrong everywhere, and ends the run.

Sources: Compute Engine's page "Troubleshooting resource availability errors" (https://docs.cloud.google.com/compute/docs/troubleshooting/
troubleshooting-resource-availability, read 2026-11) for `ZONE_RESOURCE_POOL_EXHAUSTED` and its kin; "Capacity quota errors" there for
`QUOTA_EXCEEDED`. Of the Cloud TPU API: code 8 with "There is no more capacity in the zone" (hashicorp/terraform-provider-google, issue
16957), code 8 with "Insufficient reserved capacity" though no reservation was asked for (skypilot-org/skypilot, issue 4579), 429 with
"Quota limit '...' has been exceeded" (marin-community/marin, issue 3200) and with the same for requests a minute (pull request 6105). Of
Vertex AI's custom jobs: "Resources are insufficient in region" on Google's page "Understand the serverless training service", and 429 with
"The following quota metrics exceed quota limits" (GoogleCloudPlatform/vertex-ai-samples, issue 3479).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["no capacity", "quota", "busy", "refused", "trouble"]
"""`busy`: too many calls a minute; `trouble`: Google's own. Only `refused` ends a run."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not, in words."""

    kind: Kind
    words: str

    @property
    def is_final(self) -> bool:
        """Whether another zone or another way would be refused as well."""
        return self.kind == "refused"


class RefusedError(Exception):
    """
    A machine is not to be had.

    Args:
        refusal: Why not.
        began: Since when it may have been there all the same, and be paid for; empty where it was not.
    """

    def __init__(self, refusal: Refusal, began: str = "") -> None:
        self.refusal = refusal
        self.began = began
        super().__init__(refusal.words)


OWN_FAULT = "it is not about your configuration"
OTHERWISE = f"{OWN_FAULT}; try spot, flex-start or a reservation"

TABLE: tuple[tuple[Kind, str, str], ...] = (
    ("busy", r"requests? (?:exceeded )?per minute|rateLimitExceeded|RATE_LIMIT_EXCEEDED|CreateNode requests", "too many calls a minute"),
    (
        "quota",
        r"QUOTA_EXCEEDED|quotaExceeded|[Qq]uota '|[Qq]uota limit|[Qq]uota metric|exceed(?:ed|s)? (?:the )?quota",
        "the quota is used up",
    ),
    ("no capacity", r"[Rr]eserved capacity", "no {provisioning} capacity here"),
    (
        "no capacity",
        r"RESOURCE_POOL_EXHAUSTED|RESOURCE_NOT_FOUND_IN_POOL|stockout|resource_availability|no more capacity|currently unavailable"
        r"|does not have enough resources|not have sufficient capacity|[Ii]nsufficient capacity|RESOURCE_EXHAUSTED"
        r"|out of (?:machines|capacity)|[Rr]esources are insufficient",
        "no {provisioning} capacity here",
    ),
)
"""Kind, what Google's code or words have of it, and what it says. The first that fits counts."""
METRIC = re.compile(r"[Qq]uota(?: limit| metric)? '([^']+)'|metric: ?([A-Za-z0-9_./-]+)|quota metrics? [a-z ]*: ?([A-Za-z0-9_./-]+)")
RPC_EXHAUSTED = 8
FINAL = (400, 401, 403, 404, 412)
"""HTTP codes of what would be refused anywhere."""
FINAL_RPC = (3, 5, 7, 9, 12, 16)
"""The same as codes of an operation, INVALID_ARGUMENT to UNAUTHENTICATED."""


def refusal(code: int | str, message: str, provisioning: str) -> Refusal:
    """
    Why not.

    Args:
        code: HTTP code, code of an operation of the Cloud TPU API, or Compute Engine's word.
        message: Google's words.
        provisioning: How the machine was to be bought.
    """
    said = f"{code} {message}"
    for kind, pattern, words in TABLE:
        if re.search(pattern, said):
            return Refusal(kind, _words(kind, words.format(provisioning=provisioning), message, provisioning))
    if code in (RPC_EXHAUSTED, 429):
        return Refusal("no capacity", _words("no capacity", f"no {provisioning} capacity here", message, provisioning))
    if code in FINAL or code in FINAL_RPC or (isinstance(code, str) and not code.startswith("INTERNAL")):
        return Refusal("refused", f"Google refuses it, and would anywhere: {message}")
    return Refusal("trouble", f"Google's own trouble: {message}")


def _words(kind: Kind, words: str, message: str, provisioning: str) -> str:
    if kind == "quota":
        found = METRIC.search(message)
        metric = next((one for one in found.groups() if one), "") if found else ""
        return f"{words}{f', {metric}' if metric else ''}: that says nothing of capacity ({message})"
    if kind == "no capacity":
        about = OTHERWISE if provisioning == "on-demand" else OWN_FAULT
        return f"{words}; {about} ({message})"
    return f"{words} ({message})"
