"""
How a service is described: what is its own, and nothing that its discovery document or the generic verbs know.

A service is one file in `services/`. Every method that its documents have is answered: by a handler of the service, else by the generic
verb of its name (`verbs.py`) on the kind of its resource, else by 501.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from infra.sandbox.refused import Refused, Style

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud, Request
    from infra.sandbox.discovery import Method

Body = dict[str, Any]
YOU = "you@sandbox.example"
"""Whoever asks the sandbox."""


@dataclass(slots=True)
class Call:
    """One request, as handlers and hooks see it."""

    cloud: Cloud
    service: Service
    method: Method
    owner: str
    """Name of the resource, or of what holds the collection. The project in it is always the id."""
    collection: str
    """Words of the path after that: see `Match`."""
    query: Mapping[str, str]
    body: Body
    """The body, held against its schema: what only the server says is gone."""
    raw: Body
    """The body as it came."""
    version: str
    """Such as `v2`, `v1beta1`."""
    media: bytes = b""
    """The body of an upload, as it came."""
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    caller: str = YOU
    """Email address of whoever asks."""
    target: str = ""
    """Name of the resource that is made, read or changed; set by the generic verbs."""

    @property
    def now(self) -> float:
        return self.cloud.moment

    @property
    def kind(self) -> Kind:
        return self.service.kind(self.method.resource)

    @property
    def project(self) -> str:
        """Id of the project in the path or the query; empty where none is."""
        words = self.owner.split("/")
        return words[1] if words[0] == "projects" and len(words) > 1 else self.query.get("project", "")

    @property
    def number(self) -> str:
        """Number of that project."""
        return self.cloud.projects.number(self.project)

    @property
    def inside(self) -> str:
        """Name of the collection that the call is about."""
        return f"{self.owner}/{self.collection}".strip("/")

    def word(self, before: str) -> str:
        """Word after *before* in the name: `call.word("locations")` is the region or zone."""
        words = (self.target or self.owner).split("/") + self.collection.split("/")
        return words[words.index(before) + 1] if before in words[:-1] else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a handler answers where it is not simply 200 and a body."""

    status: int
    body: Any
    """JSON, bytes, or None for no body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    later: Callable[[], Answer] | None = None
    """What really answers, once the transaction is over: another process is asked, which may ask the sandbox meanwhile."""


def nothing(*_: Any) -> None:
    """A hook that has nothing to do."""


@dataclass(frozen=True)
class Kind:
    """
    One resource of a service: `projects.locations.nodes`.

    The hooks run inside the request's transaction, in this order: create: `fill`, `check`; patch and update: `check`; delete: `release`.
    """

    resource: str
    id_from: str = ""
    """Query parameter or body field that holds a new one's id: `query:nodeId`, `body:name`, `server:number`, `server:uuid`.
    (default: found from the method)"""
    required: tuple[str, ...] = ()
    """Dotted fields without which a create is refused. Each with a source beside it."""
    immutable: tuple[str, ...] = ()
    """Dotted fields that an update may not change."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Virtual seconds that the operation of each verb takes: `create`, `patch`, `delete`. (default: it is done in the answer)"""
    during: Mapping[str, Body] = field(default_factory=dict)
    """Fields while an operation runs, by verb: `{"create": {"state": "CREATING"}}`; `wait`: while a create waits for capacity."""
    ready: Body = field(default_factory=dict)
    """Fields once a create or update is done: `{"state": "READY"}`."""
    fill: Callable[[Call, Body], None] = nothing
    """Adds to a new one what the service fills in: defaults, names, addresses. Values that were sent are in the body already."""
    check: Callable[[Call, Body, Body | None], None] = nothing
    """Refuses what fits no other thing: (call, new body, old body or None)."""
    changed: Callable[[Call, Body, Body], None] = nothing
    """After a patch or update was merged, before it is kept: (call, new body, old body)."""
    release: Callable[[Call, Body], None] = nothing
    """Refuses or follows a delete: (call, body)."""
    lacks: Callable[[Call, Body], Body | None] = nothing
    """Error that the operation of a create ends with where there is no capacity for the new one, by a fault; None where there is."""
    waits: Callable[[Call, Body], float] = lambda call, body: 0.0
    """Seconds that a create looks for capacity again and again before it ends with that error."""
    granted: Callable[[Call, Body], None] = nothing
    """After a create that waited got its capacity: changes the body, which is as during a create from then on."""
    undone: Callable[[Call, Body], None] = nothing
    """After a create's operation failed: takes away what was made beside the resource."""
    removed: Callable[[Call, Body], None] = nothing
    """After a delete's operation ended: takes away what was made beside the resource."""
    failed: Callable[[Call, Body, Body], Body] | None = None
    """What one whose create's operation failed is from then on, where it stays: (call, body, error). (default: it goes)"""
    show: Callable[[Call, Body], Body] | None = None
    """The body as it is answered, where that is not how it is kept."""
    made: Callable[[Call, Body], Body] | None = None
    """The response inside a create's operation, where it is not what a get answers."""
    not_found: Callable[[Call], Refused] | None = None
    exists: Callable[[Call], Refused] | None = None
    name: Callable[[Call, str], str] | None = None
    """Name kept under, where it is not the owner, the collection and the id: (call, id)."""


class Operations:
    """How a service's long-running operations look. Subclasses are in `operations.py`."""

    def name(self, call: Call, verb: str) -> str:
        raise NotImplementedError

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        raise NotImplementedError


Handler = Callable[[Call], Any]


@dataclass(frozen=True)
class Service:
    """One API: a host, its documents, and what is its own."""

    host: str
    apis: tuple[str, ...]
    """Discovery documents, such as `tpu.v2`."""
    operations: Operations
    errors: Style = "status"
    kinds: tuple[Kind, ...] = ()
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    """Method id without the API's name, such as `projects.locations.queuedResources.reset` -> what answers it."""
    keeps_empty: bool = False
    """Whether false and "" stay in answers. Services on protocol buffers leave them out."""
    numbers: bool = False
    """Whether names in answers have the project's number though the request had its id."""
    listed: Callable[[Call, list[Body], int], Body] | None = None
    """Shape of a list, where it is not `{plural: [...]}`: (call, items of the page, number of all)."""
    finds_parts: bool = False
    """Whether `:` in a filter finds a part of a text. (default: all of it)"""
    unwrap: Callable[[Call], tuple[Body, str]] | None = None
    """Resource and mask of a patch whose body wraps them: (call) -> (resource, comma-separated mask)."""
    not_found: Callable[[Call], Refused] | None = None
    exists: Callable[[Call], Refused] | None = None
    prepare: Callable[[Call], None] = nothing
    """Runs before every method, such as to read `projects/-`."""
    wakes: Callable[[Cloud, str], None] = nothing
    """Runs at the moment that `Store.set_timer` was told for a name."""
    settle: Callable[[Cloud], None] = nothing
    """Makes true what time and faults bring about by themselves. Runs before every request of any service."""
    usual: Kind = field(default_factory=lambda: Kind(""))
    """What a resource without a kind of its own is."""
    verbs: Mapping[str, Handler] = field(default_factory=dict)
    """Last word of a method's id, such as `setLabels` -> what answers it for every resource that has no handler for it."""
    widened_by: Mapping[str, str] = field(default_factory=dict)
    """Document -> one whose fields it takes too: clients of a beta send its fields to whatever address they were told."""
    public_projects: frozenset[str] = frozenset()
    """Projects of Google that anybody reads, such as those of images."""
    answers: Callable[[Cloud, Request], Answer] | None = None
    """What answers all of it, where it is no API of Google's: the API server of a cluster."""

    def kind(self, resource: str) -> Kind:
        """The kind of a resource; one without a word of its own is the service's usual kind: by itself, kept as it is sent."""
        known = self._kinds
        if resource not in known:
            known[resource] = replace(self.usual, resource=resource)
        return known[resource]

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        return {kind.resource: kind for kind in self.kinds}
