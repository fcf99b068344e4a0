"""Whether a resource whose create was cut off is there, and under which id: asked of the sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from infra.local.gcp import config, types
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.rest import CALL_SECONDS, Client
from infra.local.gcp.values import without_defaults
from infra.provider.server import ProviderError
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
                if row.named_by_google:
                    return _alike(lifecycle, plain)
                return lifecycle.id_of(plain)
            except ProviderError:
                return None

    return find


def _alike(lifecycle: Lifecycle, inputs: dict[str, Any]) -> str | None:
    """The one of its kind with the same display name: Google made up the rest of its name."""
    row, names = lifecycle.row, lifecycle.names(inputs)
    path = lifecycle.fill(row.created_in, names)
    found: list[str] = []
    query: dict[str, str] = {}
    while True:
        page = lifecycle.client.call("GET", row.service, path, query)
        items = page.get(path.rpartition("/")[2], [])
        found += [item["name"].rpartition("/")[2] for item in items if item.get("displayName") == inputs.get("displayName")]
        if not page.get("nextPageToken"):
            break
        query = {"pageToken": page["nextPageToken"]}
    if len(found) > 1:
        return None
    return lifecycle.fill(row.id_template, names | {"name": found[0]}) if found else ""
