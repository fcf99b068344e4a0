"""
Processes that answer for deployed models: somebody starts one beside the sandbox, and says where it is.

Only addresses of this machine are taken. They are kept in memory: a new server of the sandbox starts without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from infra.sandbox.endpoints import is_local

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "aiplatform.googleapis.com"
GOLDEN = 0.6180339887498949
"""Requests are spread by the golden ratio: any few after each other are split nearly as the traffic split says, the same each time."""
FIELDS = {"endpoint", "deployed_model", "base"}


def served(endpoint: str, deployed: str) -> str:
    """What a deployed model is called by whoever says that nobody answers for it."""
    return f"{endpoint}/deployedModels/{deployed}"


def endpoints(cloud: Cloud) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and body of each endpoint that has something deployed."""
    for name, body in cloud.store.of_kind(HOST, "endpoints"):
        if body.get("deployedModels"):
            yield name, body


class Servers:
    """Address of the process of each deployed model."""

    def __init__(self) -> None:
        self._bases: dict[tuple[str, str], str] = {}
        self._asked: dict[str, int] = {}

    def say(self, sent: Any) -> None:
        """
        `{"endpoint": "projects/P/locations/L/endpoints/E", "deployed_model": "1", "base": "http://127.0.0.1:8080"}`; an empty base: gone.

        Raises:
            ValueError: It is something else.
        """
        if not isinstance(sent, dict) or set(sent) != FIELDS or not all(isinstance(value, str) for value in sent.values()):
            raise ValueError(f"a server has {', '.join(sorted(FIELDS))}, each a text; got {sent!r}")
        key, base = (sent["endpoint"], sent["deployed_model"]), sent["base"].rstrip("/")
        if not base:
            self._bases.pop(key, None)
            return
        parts = urlsplit(base)
        if parts.scheme != "http" or not is_local(base) or parts.path or parts.query or parts.username:
            raise ValueError(f"base: {base!r} is no address of this machine, such as http://127.0.0.1:8080")
        self._bases[key] = base

    def shown(self) -> list[dict[str, str]]:
        return [{"endpoint": endpoint, "deployed_model": id, "base": base} for (endpoint, id), base in self._bases.items()]

    def base(self, endpoint: str, deployed: str) -> str:
        """Empty where nobody answers for it."""
        return self._bases.get((endpoint, deployed), "")

    def pick(self, endpoint: str, split: dict[str, int]) -> str:
        """Id of the deployed model that gets the next request: by the traffic split. Empty where the split is."""
        number = self._asked[endpoint] = self._asked.get(endpoint, 0) + 1
        place, total = (number * GOLDEN) % 1 * sum(split.values()), 0
        for id, share in split.items():
            total += share
            if place < total:
                return id
        return ""
