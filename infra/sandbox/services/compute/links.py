"""Names of Compute Engine's resources: taken in any form, answered as full addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from infra.sandbox.service import Body, Call

HOST = "compute.googleapis.com"
LINK = "https://www.googleapis.com/compute/v1/"
ADDRESS = re.compile(r"^https?://.+?/compute/(?:v1|beta|alpha)/(?=projects/)")
PARTIAL = re.compile(r"^(?:projects/[^/]+/)?(?:global|zones|regions)/[^ ]+$")
PLACE = re.compile(r"/global/(?=(?:zones|regions)/)")
TEXT = frozenset({"description", "labels", "value", "filter", "filterExpr", "expression", "prefixMatch", "requestPath", "name"})
"""Fields whose text is nobody's name, whatever it looks like."""


def full(value: str, project: str = "") -> str:
    """The full address of a reference; what is none stays as it is."""
    if found := ADDRESS.match(value):
        name = value[found.end() :]
    elif PARTIAL.match(value):
        name = value if value.startswith("projects/") else f"projects/{project}/{value}"
    else:
        return value
    return LINK + PLACE.sub("/", name)


def name_of(link: str) -> str:
    """`projects/P/global/networks/N` of a full address; empty where it is no address of Compute Engine."""
    found = ADDRESS.match(link)
    return link[found.end() :] if found else ""


def last(link: str) -> str:
    """Last word of a name."""
    return link.rpartition("/")[2]


def normalise(node: Any, project: str) -> Any:
    """A body with every reference in it as a full address."""
    return _each(node, lambda value: full(value, project))


def in_version(node: Any, version: str) -> Any:
    """A body with the addresses of the version that is asked: Google answers a beta call with beta addresses."""
    if version in ("v1", ""):
        return node
    return _each(
        node, lambda value: value.replace(LINK, f"https://www.googleapis.com/compute/{version}/") if value.startswith(LINK) else value
    )


def _each(node: Any, change: Callable[[str], str]) -> Any:
    if isinstance(node, dict):
        return {key: value if key in TEXT else _each(value, change) for key, value in node.items()}
    if isinstance(node, list):
        return [_each(value, change) for value in node]
    return change(node) if isinstance(node, str) else node


def paths(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a body with its path: `("networkInterfaces[0].network", "https://...")`."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key not in TEXT:
                yield from paths(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from paths(value, f"{path}[{index}]")
    elif isinstance(node, str):
        yield path, node


def place(call: Call, collection: str, value: str) -> str:
    """A reference that may be a bare name in the call's own place: `place(call, "global/networks", "default")`."""
    return full(value if "/" in value else f"projects/{call.project}/{collection}/{value}", call.project)


def stored(call: Call, link: str) -> Body | None:
    """The resource behind an address."""
    return call.cloud.store.get(HOST, name_of(link))
