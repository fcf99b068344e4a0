"""Etags: another one at each change. A change that was based on any but the current one is refused."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from infra.sandbox.refused import Refused

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

UNSET = "ACAB"
"""Of a policy that nobody ever set. Source: IAM's page "Policies", on etags, 2026."""
CONFLICT = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."


def new(cloud: Cloud) -> str:
    return base64.b64encode(b"\x07" + cloud.store.next("etags").to_bytes(7)).decode()


def is_current(cloud: Cloud, sent: str, current: str) -> bool:
    """Whether *sent* is the *current* one, or stands for it in the requests that this sandbox is replayed."""
    return sent == current or sent in cloud.masked


def check(cloud: Cloud, sent: str, current: str, said: str = CONFLICT) -> None:
    """
    Whether a change may be made by whoever read *sent*. An empty one is no condition.

    Raises:
        Refused: It is not the current one.
    """
    if sent and not is_current(cloud, sent, current):
        raise Refused(409, said, status="ABORTED", reason="aborted")
