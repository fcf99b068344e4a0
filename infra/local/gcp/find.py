"""Whether a resource whose create was cut off is there, and under which id: asked of the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from infra.local.gcp import config, types
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.rest import CALL_SECONDS, Client
from infra.provider.server import ProviderError
from infra.provider.values import without_defaults
from infra.sandbox.endpoints import provider_config


def in_sandbox(base: str) -> Callable[[str, Mapping[str, Any]], str | None]:
    """
    Answers, for a type token and checked inputs, the id that such a resource has; empty where it is not there; None where that cannot be
    told: the type is not in the table, or several look alike.
    """

    def find(token: str, inputs: Mapping[str, Any]) -> str | None:
        row = types.TABLE.get(token)
        if row is None:
            return None
        with httpx.Client(timeout=CALL_SECONDS, trust_env=False) as http:
            client = Client(config.read(provider_config(base)), http, threading.Event().wait)
            lifecycle = (row.lifecycle or Lifecycle)(row, client)
            plain: dict[str, Any] = without_defaults(dict(inputs))
            try:
                return lifecycle.alike(plain)
            except ProviderError:
                return None

    return find
