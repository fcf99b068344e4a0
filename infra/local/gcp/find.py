"""Whether a resource whose create was cut off is there, and under which id: asked of the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from infra.local.gcp import config, types
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.rest import Client
from infra.local.kubernetes import find as objects
from infra.provider.calls import CALL_SECONDS
from infra.provider.google import Google, Settings
from infra.provider.resources import RESOURCES
from infra.provider.server import ProviderError
from infra.provider.values import without_defaults
from infra.sandbox.endpoints import provider_config


def in_sandbox(base: str) -> Callable[[str, Mapping[str, Any]], str | None]:
    """
    Answers, for a type token and checked inputs, the id that such a resource has; empty where it is not there; None where that cannot be
    told: the type is neither in the table nor the accelform provider's, or several look alike. An object in a cluster is named by its
    inputs alone.
    """

    def find(token: str, inputs: Mapping[str, Any]) -> str | None:
        if token.startswith("kubernetes:"):
            return objects.id_of(token, inputs)
        row = types.TABLE.get(token)
        plain: dict[str, Any] = without_defaults(dict(inputs))
        wait = threading.Event().wait
        with httpx.Client(timeout=CALL_SECONDS, trust_env=False, verify=False) as http:  # noqa: S501 - plain HTTP of this machine
            try:
                if row is not None:
                    client = Client(config.read(provider_config(base)), http, wait)
                    return (row.lifecycle or Lifecycle)(row, client).alike(plain)
                if token in RESOURCES:
                    return RESOURCES[token](Google(Settings(sandbox=base), wait, http=http)).there(plain)
            except ProviderError:
                pass
            return None

    return find
