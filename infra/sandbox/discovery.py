"""Google's own discovery documents: which methods a service has, and what their bodies may hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from infra import documents

VERSION = re.compile(r"v\d+[a-z0-9]*$")
REST = "{*}"
"""Segment that takes all that is left of a path: a metric's type, a file's name."""
UPLOAD, DOWNLOAD = "upload", "download"
"""First words of the paths that carry an object's own bytes."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method of one version of one API."""

    id: str
    """Such as `tpu.projects.locations.nodes.create`."""
    http: str
    template: tuple[str, ...]
    """Segments of the path after host and version; a parameter is `{name}`."""
    custom: str
    """Verb behind the colon: `getIamPolicy`; empty where there is none."""
    request: str
    """Schema of the body; empty where it has none."""
    response: str
    query: Mapping[str, Mapping[str, Any]]
    """Parameters of the query -> their schemas."""
    bound: frozenset[str]
    """Parameters of the path."""
    document: Document = field(repr=False)

    @property
    def verb(self) -> str:
        """Last word of the id: `create`, `insert`, `setLabels`."""
        return self.id.rpartition(".")[2]

    @property
    def resource(self) -> str:
        """Resource in the document's words: `projects.locations.nodes`, `instances`."""
        return self.id.partition(".")[2].rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Match:
    """A request's method, and what its path names."""

    method: Method
    owner: str
    """Name up to the last parameter: the resource itself, or for a collection what holds it."""
    collection: str
    """Words after the last parameter: `nodes` of a create or list, `global/networks` in compute, the verb of `.../setLabels`."""


class Document:
    """One version of one API."""

    def __init__(self, api: str) -> None:
        self.api = api
        data = json.loads(_path(api).read_text(encoding="utf-8"))
        self.schemas: dict[str, dict[str, Any]] = data["schemas"]
        self.base: str = data.get("servicePath", "")
        self.title: str = data.get("title", "")
        self.version = api.partition(".")[2]
        self.methods: list[Method] = []
        self._collect(data)
        self._by_id = {method.id: method for method in reversed(self.methods)}

    def method(self, name: str) -> Method | None:
        """The method of an id."""
        return self._by_id.get(name)

    def widen(self, other: Document) -> None:
        """Takes in the schemas and fields that only *other* has."""
        for name, schema in other.schemas.items():
            mine = self.schemas.setdefault(name, schema)
            for field_name, item in schema.get("properties", {}).items():
                mine["properties"].setdefault(field_name, item)

    def _collect(self, node: dict[str, Any]) -> None:
        for item in node.get("methods", {}).values():
            path = item.get("flatPath") or item["path"]
            last = path.rpartition("/")[2]
            verb = last.rpartition(":")[2] if ":" in last else ""
            path = self.base + (path[: -len(verb) - 1] if verb else path)
            parameters = item.get("parameters", {})
            method = Method(
                id=item["id"],
                http=item["httpMethod"],
                template=_template(item, path),
                custom=verb,
                request=item.get("request", {}).get("$ref", ""),
                response=item.get("response", {}).get("$ref", ""),
                query={name: schema for name, schema in parameters.items() if schema.get("location") == "query"},
                bound=frozenset(name for name, schema in parameters.items() if schema.get("location") == "path"),
                document=self,
            )
            self.methods.append(method)
            if item.get("supportsMediaUpload") and self.base:
                uploads = replace(method, template=(UPLOAD, *method.template))
                self.methods += [uploads, replace(uploads, http="PUT")]  # PUT: the data of a resumable upload
            if item.get("useMediaDownloadService") and self.base:
                self.methods.append(replace(method, template=(DOWNLOAD, *method.template)))
        for child in node.get("resources", {}).values():
            self._collect(child)


def _template(item: dict[str, Any], path: str) -> tuple[str, ...]:
    *first, last = path.split("/")
    patterns = [parameter.get("pattern", "") for parameter in item.get("parameters", {}).values()]
    takes_rest = last.startswith("{") and any(pattern.endswith("/.*$") for pattern in patterns)
    return (*first, REST if takes_rest else last)


@cache
def document(api: str) -> Document:
    """A document by its name, such as `tpu.v2`. Read once a process."""
    return Document(api)


def _path(api: str) -> Path:
    if own := documents.find(api):
        return own
    spec = find_spec("googleapiclient")
    if spec is None or spec.origin is None:
        raise ImportError("google-api-python-client is not installed", name="googleapiclient")
    return Path(spec.origin).parent / "discovery_cache" / "documents" / f"{api}.json"


@dataclass(frozen=True, slots=True)
class _Route:
    """A method, and which segments of its path are the owner's name."""

    method: Method
    begin: int
    end: int | None


class Routes:
    """Finds the method of a path: literals before parameters, so no two methods of a service collide."""

    def __init__(self, documents: list[Document]) -> None:
        self._root: dict[str, Any] = {}
        for item in documents:
            for method in item.methods:
                node = self._root
                for segment in method.template:
                    node = node.setdefault("{}" if segment.startswith("{") and segment != REST else segment, {})
                node.setdefault("", {})[(method.http, method.custom)] = _route(method)

    def find(self, http: str, path: str) -> Match | None:
        """The method of a raw, undecoded *path*."""
        segments = path.strip("/").split("/")
        head, colon, custom = segments[-1].rpartition(":")
        if colon and (found := self._walk(self._root, [*segments[:-1], head], (http, custom))):
            return _match(found, [*segments[:-1], head])
        found = self._walk(self._root, segments, (http, ""))
        return _match(found, segments) if found else None

    def _walk(self, node: dict[str, Any], segments: list[str], key: tuple[str, str]) -> _Route | None:
        if not segments:
            found: _Route | None = node.get("", {}).get(key)
            return found
        for step in (segments[0], "{}"):
            if (child := node.get(step)) and (step != "{}" or segments[0]) and (found := self._walk(child, segments[1:], key)):
                return found
        rest: _Route | None = node.get(REST, {}).get("", {}).get(key)
        return rest


@cache
def routes(apis: tuple[str, ...], widened_by: tuple[tuple[str, str], ...] = ()) -> Routes:
    """
    The methods of a service. Made once a process: some 20 ms for Compute Engine's.

    Args:
        apis: Names of its documents.
        widened_by: Names of a document, and of another whose schemas and fields it takes in.
    """
    for narrow, wide in widened_by:
        document(narrow).widen(document(wide))
    return Routes([document(api) for api in apis])


def _route(method: Method) -> _Route:
    base = method.document.base.strip("/").count("/") + 1 if method.document.base else 1 if VERSION.match(method.template[0]) else 0
    if method.template[0] in (UPLOAD, DOWNLOAD):
        base += 1 if method.document.base else 2
    after_last = max((i for i, part in enumerate(method.template) if part.startswith("{")), default=base - 1) + 1
    return _Route(method, base, None if method.template[-1] == REST else after_last)


def _match(route: _Route, segments: list[str]) -> Match:
    end = len(segments) if route.end is None else route.end
    owner = "/".join(segments[route.begin : end])
    return Match(route.method, unquote(owner) if "%" in owner else owner, "/".join(segments[end:]))
