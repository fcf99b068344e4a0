"""Etags: another one at each change. A change that was based on an older one is refused."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from infra.sandbox.refused import Refused

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

UNSET = "ACAB"
"""Of a policy that nobody ever set. Source: IAM's page "Policies", on etags, 2026."""
CONFLICT = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."


def new(cloud: Cloud) -> str:
    return base64.b64encode(b"\x07" + cloud.store.next("etags").to_bytes(7)).decode()


def check(sent: str, current: str, said: str = CONFLICT) -> None:
    """
    Whether a change may be made by whoever read *sent*.

    Raises:
        Refused: It is an etag of this sandbox, but not the current one. What the sandbox never gave, such as a recording's, may pass.
    """
    if sent != current and _ours(sent):
        raise Refused(409, said, status="ABORTED", reason="aborted")


def _ours(etag: str) -> bool:
    try:
        return etag == UNSET or base64.b64decode(etag, validate=True)[:1] == b"\x07"
    except binascii.Error:
        return False
