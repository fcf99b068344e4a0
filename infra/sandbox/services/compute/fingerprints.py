"""Fingerprints: what a resource was when it was read. A change that was based on anything else is refused."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from typing import Any

from infra.sandbox import etags
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call


def of(value: Any) -> str:
    """Eight bytes in base64, another for every other value."""
    return base64.b64encode(hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()[:8]).decode()


def check(call: Call, sent: str, current: str, said: str) -> None:
    """
    Raises:
        Refused: *sent* is not the *current* one.
    """
    if not etags.is_current(call.cloud, sent, current):
        raise Refused(412, said)


def renewed(body: Body) -> Body:
    """A copy whose fingerprint is another."""
    after = copy.deepcopy(body)
    after.pop("fingerprint", None)
    return {**after, "fingerprint": of(after)}
