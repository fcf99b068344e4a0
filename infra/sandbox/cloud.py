"""The local Google Cloud without its server: a request goes in, an answer comes out."""

from __future__ import annotations

import json
import re
import uuid
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from infra.sandbox import enums, lists, operations, policies, polls, verbs
from infra.sandbox.clock import Clock
from infra.sandbox.discovery import UPLOAD, Method, Routes, document, routes
from infra.sandbox.faults import Faults, LostError
from infra.sandbox.loads import Loads
from infra.sandbox.machines import KEPT, Machines
from infra.sandbox.projects import MANAGER, Projects
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.schema import check_query, checked, read_only
from infra.sandbox.servers import Servers
from infra.sandbox.service import YOU, Answer, Body, Call, Service
from infra.sandbox.services import SERVICES, kubernetes
from infra.sandbox.services.kubernetes.controllers import Watch
from infra.sandbox.store import Store
from infra.sandbox.use import Use

__all__ = ["Answer", "Cloud", "Request"]

REGION = re.compile(r"^[a-z]+-[a-z]+\d+-(?=aiplatform\.)")
HALF_LETTER = re.compile(rb"\\u[dD][89a-fA-F]")
CALLS_KEPT = 20_000
VERBS = {**verbs.VERBS, **policies.VERBS, "list": lists.list_}


@dataclass(frozen=True, slots=True)
class Request:
    http: str
    host: str
    path: str
    """Raw and undecoded, after the host."""
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those of them that a service reads, by their names in small letters: `range`, `content-range`."""
    caller: str = YOU
    """Email address of whoever asks."""


class Cloud:
    """Everything that stands in one sandbox."""

    def __init__(
        self,
        store: Store | None = None,
        clock: Clock | None = None,
        services: tuple[Service, ...] = SERVICES,
        *,
        masked: Collection[str] = (),
    ) -> None:
        """
        Args:
            masked: Texts that stand for the current etag or fingerprint: in recordings that are replayed. (default: none)
        """
        self.store = store or Store()
        self.clock = clock or Clock()
        self.masked = frozenset(masked)
        self.faults = Faults()
        self.projects = Projects(self)
        self.services = {service.host: service for service in services}
        self.id: str = self.store.fact("id") or str(uuid.uuid4())
        """Another one where the file was lost: what stood in it does no more."""
        self.store.set_fact("id", self.id)
        self.loads = Loads(self)
        self.servers = Servers()
        self.machines = Machines(self)
        self.kubernetes = Watch()
        self.use = Use(self)
        self.store.saw = self._saw
        self._settles: float | None = None
        self.calls: deque[dict[str, Any]] = deque(maxlen=CALLS_KEPT)

    def _saw(self, service: str, name: str, body: Body | None) -> None:
        self.machines.saw(service, name, body)
        self.use.saw(service, name, body)
        self.kubernetes.saw(service, name)

    def handle(self, request: Request) -> Answer:
        """
        Answers one request, in one transaction.

        Raises:
            LostError: A fault cuts the connection.
        """
        service = self._service(request.host)
        if service is None:
            known = ", ".join(sorted(self.services))
            return Answer(404, Refused(404, f"The sandbox has no service {request.host}. It has: {known}").body("status"))
        self.catch_up()
        return self._handled(service, request)

    def within(self, request: Request) -> Answer:
        """Answers a request that a service of the sandbox makes while another one is answered; what a refused one did is undone."""
        service = self._service(request.host)
        assert service is not None
        try:
            with self.faults.apart():
                return self._handled(service, request)
        except LostError:
            return Answer(503, Refused(503, "The connection was lost.").body(service.errors))

    def has(self, host: str) -> bool:
        """Whether a host is one of the sandbox's."""
        return self._service(host) is not None

    def _service(self, host: str) -> Service | None:
        if host.split(":")[0].endswith(kubernetes.DOMAIN):
            return kubernetes.SERVICE
        return self.services.get(REGION.sub("", host.split(":")[0]))

    def _handled(self, service: Service, request: Request) -> Answer:
        host = request.host.split(":")[0] if service.answers else service.host
        entry = {"method": request.http, "host": host, "path": request.path, "query": dict(request.query), "status": 0}
        if request.caller != YOU:
            entry["caller"] = request.caller
        self.calls.append(entry)
        try:
            self.faults.before(request.http, f"{host}/{request.path.lstrip('/')}")
            with self.store.transaction():
                answer = self._answer(service, request)
                self.loads.look(self.moment)
        except Refused as refused:
            answer = Answer(refused.code, refused.body(service.errors))
            if not self.clock.manual:
                self.clock.advance(refused.waits)
        except RecursionError:
            answer = Answer(400, invalid("Invalid JSON payload received. Message too deep.").body(service.errors))
        entry["status"] = answer.status
        self.faults.after()
        return answer

    def catch_up(self) -> None:
        """Makes true what the clock says that is over. It stays so, whatever becomes of the request before which this is done."""
        with self.store.transaction():
            self.pass_time()

    def _answer(self, service: Service, request: Request) -> Answer:
        if service.answers is not None:
            return service.answers(self, request)
        match = self.routes(service).find(request.http, request.path)
        if match is None:
            raise Refused(404, f"The sandbox has no method {request.http} {request.path} at {service.host}.")
        raw = _json(request)
        call = Call(
            cloud=self,
            service=service,
            method=match.method,
            owner=self.projects.by_id(match.owner),
            collection=match.collection,
            query=request.query,
            body=_checked(match.method, raw),
            raw=raw,
            version=match.method.document.version,
            media=request.content,
            content_type=request.content_type,
            headers=request.headers,
            caller=request.caller,
        )
        check_query(match.method, request.query)
        service.prepare(call)
        self._check_project(call)
        answer = self._handler(call)(call)
        if isinstance(answer, Answer):
            return answer
        if request.query.get("$alt") == enums.ASKED and match.method.response:
            answer = enums.numbered(match.method.document, {"$ref": match.method.response}, answer)
        return Answer(200, answer)

    def _handler(self, call: Call) -> Any:
        method = call.method
        name = method.id.partition(".")[2]
        if own := call.service.handlers.get(name):
            return own
        words = method.resource.split(".")
        is_operation = words[-1].lower().endswith("operations")
        verb = polls.VERBS.get(method.verb) if is_operation else call.service.verbs.get(method.verb) or VERBS.get(method.verb)
        if verb is None:
            raise Refused(501, f"The sandbox does not have {method.id} yet.", status="UNIMPLEMENTED")
        return verb

    def _check_project(self, call: Call) -> None:
        project, host = call.project, call.service.host
        if project in ("", "-") or project in call.service.public_projects:
            return
        if call.method.resource == "projects" and call.method.verb == "create":
            return
        if not (self.projects.is_active(project) or (host == MANAGER and self.projects.get(project))):
            raise Refused(403, "The caller does not have permission")
        self.projects.check_service(project, host, document(call.service.apis[0]).title)

    def routes(self, service: Service) -> Routes:
        """A service's methods; its documents are read when it is first asked."""
        return routes(service.apis, tuple(service.widened_by.items()))

    @property
    def moment(self) -> float:
        """What the clock shows; while something that is over is made true, when that was."""
        return self.clock.now() if self._settles is None else self._settles

    @contextmanager
    def at(self, moment: float) -> Iterator[None]:
        """What is done within it was done then."""
        before, self._settles = self._settles, moment
        try:
            yield
        finally:
            self._settles = before

    def pass_time(self) -> None:
        """
        Makes true what the clock says that is over: operations, whatever a service wanted to be woken for, in their order, and what
        time and faults bring about by themselves.
        """
        now = self.clock.now()
        while (timer := self.store.timer(now)) is not None:
            self._settle_all(timer["at"])
            self.store.set_timer(timer["service"], timer["name"], None)
            with self.at(timer["at"]):
                service = kubernetes.SERVICE if timer["service"] == kubernetes.STORED else self.services[timer["service"]]
                service.wakes(self, timer["name"])
        self._settle_all(now)

    def _settle_all(self, until: float) -> None:
        self.settle(until)
        with self.at(until):
            for service in (*self.services.values(), kubernetes.SERVICE):
                service.settle(self)

    def settle(self, until: float) -> None:
        """Makes true what the operations that end by *until* bring about."""
        while (operation := self.store.due(until)) is not None:
            ends = operation["ends"]
            with self.at(ends):
                if "until" not in operation or not self._waits_on(operation):
                    self._end(operation)
                    kubernetes.SERVICE.settle(self)
            self.loads.look(ends)

    def _waits_on(self, operation: Body) -> bool:
        """Whether a create that waits for capacity goes on, for more of it or with what it got."""
        service = self.services[operation["service"]]
        kind, later = service.kind(operation["resource"]), self._later(service, operation)
        body = self.store.get(service.host, operation["target"])
        if body is None:
            return False
        ends = operation["ends"]
        if lacking := kind.lacks(later, body):
            if ends >= operation["until"]:
                operation["error"] = lacking
                return False
            operation["ends"] = min(ends + operations.LOOKS_SECONDS, operation["until"])
        else:
            del operation["until"]
            operation["ends"] = ends + kind.seconds.get("create", 0) * self.faults.slowness
            body |= kind.during.get("create", {})
            kind.granted(later, body)
            self.store.put(service.host, operation["target"], body)
        self.store.put_operation(operation["name"], service.host, operation["target"], operation["ends"], operation, done=False)
        return True

    def _end(self, operation: Body) -> None:
        service = self.services[operation["service"]]
        body = self.store.get(service.host, operation["target"])
        if "error" in operation:
            kind = service.kind(operation["resource"])
            if operation["undo"] and kind.failed is not None:
                if body is not None:
                    later = self._later(service, operation)
                    self.store.put(service.host, operation["target"], kind.failed(later, body, operation["error"]))
            elif operation["undo"]:
                if body is not None:
                    kind.undone(self._later(service, operation), body)
                self.remove(service.host, operation["target"])
            elif body is not None:
                self.store.put(service.host, operation["target"], {**body, **operation["back"]})
        elif operation["removes"]:
            if body is not None:
                service.kind(operation["resource"]).removed(self._later(service, operation), body)
            self.remove(service.host, operation["target"])
        elif body is not None:
            body = {**body, **operation["sets"]}
            self.store.put(service.host, operation["target"], body)
            if "response" not in operation:
                operation["response"] = verbs.answered(self._later(service, operation), body)
        self.store.put_operation(operation["name"], service.host, operation["target"], operation["ends"], operation, done=True)

    def _later(self, service: Service, operation: Body) -> Call:
        """The call that started an operation, as far as its end needs it."""
        return self.inside(service, operation["method"], operation["target"], operation["version"])

    def inside(self, service: Service, method: str, target: str, version: str) -> Call:
        """A call that nobody made, for what the service does by itself: of the method with that id, on *target*."""
        return Call(
            cloud=self,
            service=service,
            method=next(found for api in service.apis if (found := document(api).method(method))),
            owner=target,
            collection="",
            query={},
            body={},
            raw={},
            version=version,
            target=target,
        )

    def remove(self, host: str, name: str) -> None:
        """Takes a resource away, with all inside it and its policy."""
        self.store.delete(host, name)
        self.store.delete("policies", f"{host}/{name}")

    def mark_own(self, host: str, name: str) -> None:
        """Says that a resource comes with the sandbox, such as a project: nobody is to take it away."""
        self.store.set_fact(f"own/{host}/{name}", True)

    def resources(self) -> list[dict[str, Any]]:
        """
        Everything that stands: service, name, and whether it comes with the sandbox.

        A policy stands while it binds somebody; what was deleted and can be restored does not, nor do points of metrics, log entries and
        what is remembered of machines.
        """
        found = []
        for service, name, body in self.store.every():
            if service in ("points", "entries", KEPT) or (service == "policies" and not body.get("bindings")) or _is_deleted(body):
                continue
            own = kubernetes.is_own(name, body) if service == kubernetes.STORED else bool(self.store.fact(f"own/{service}/{name}"))
            found.append({"service": service, "name": name, "own": own})
        return found

    def answered_name(self, service: Service, name: str) -> str:
        """A name as the service answers it: with the project's number where it does that."""
        return self.projects.by_number(name) if service.numbers else name

    def check_member(self, member: str) -> None:
        """Refuses a service account that a project of the sandbox does not have."""
        kind, _, email = member.partition(":")
        match = re.fullmatch(r"([a-z0-9-]+)@([a-z0-9-]+)\.iam\.gserviceaccount\.com", email)
        if kind != "serviceAccount" or not match or self.projects.get(match[2]) is None:
            return
        if self.store.get("iam.googleapis.com", f"projects/{match[2]}/serviceAccounts/{email}") is None:
            raise invalid(f"Service account {email} does not exist.")

    def output_fields(self, call: Call) -> frozenset[str]:
        """Fields of a resource that only the server says."""
        schema = call.method.document.schemas[call.method.request]
        properties: Mapping[str, Body] = schema.get("properties", {})
        always = {"kind", "id", "name", "selfLink", "selfLinkWithId", "creationTimestamp", "createTime", "etag"}
        return frozenset(always | {key for key, item in properties.items() if read_only(item)})

    def uuid(self, count: int) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"sandbox/{count}"))


def _checked(method: Method, raw: Body) -> Body:
    """The body against its schema. A request that is no resource may repeat what its path says: `name`, `parent`."""
    if not raw or not method.request:
        return {}
    known = method.document.schemas[method.request].get("properties", {})
    if "httpBody" in known:  # google.api.HttpBody: any bytes
        return {}
    repeats = method.bound - known.keys() if method.request.endswith("Request") else frozenset()
    return checked(method.document, method.request, {key: value for key, value in raw.items() if key not in repeats})


def _is_deleted(body: Body) -> bool:
    """Whether it is kept only to be restored: projects, folders, roles, workload identity pools."""
    return body.get("deleted") is True or any(body.get(key) in ("DELETED", "DELETE_REQUESTED") for key in ("state", "lifecycleState"))


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _json(request: Request) -> Body:
    carries_bytes = request.path.lstrip("/").startswith(UPLOAD) and (request.http == "PUT" or request.query.get("uploadType") == "media")
    if not request.content or "json" not in request.content_type or carries_bytes:
        return {}
    try:
        body = json.loads(request.content, parse_constant=_finite, parse_float=_finite)
        if HALF_LETTER.search(request.content):
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise invalid("Invalid JSON payload received. Unexpected token.") from None
    if not isinstance(body, dict):
        raise invalid("Invalid JSON payload received. Root element must be a message.")
    return body
