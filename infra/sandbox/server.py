"""
The sandbox's HTTP server: `http://127.0.0.1:PORT/HOST/PATH` is `https://HOST/PATH` of Google.

    python -m infra.sandbox.server FOLDER PORT [--manual-clock] [--project ID ...] [--currency CODE] [--masked TEXT ...]

`/sandbox/...` is its own: `status`, `clock`, `faults`, `loads`, `alerts`, `executions`, `custom-jobs`, `calls`, `projects`, `resources`,
`clusters`, `machines`, `busy`, `servers`, `deployed`.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import gc
import json
import os
import re
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl

import uvicorn

from infra.sandbox import emulated, executions, process, servers
from infra.sandbox.clock import Clock, rfc3339
from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.faults import Fault, LostError
from infra.sandbox.services.aiplatform import custom_jobs
from infra.sandbox.services.container import autoscaler
from infra.sandbox.services.kubernetes import autoscaling, standing
from infra.sandbox.services.monitoring import incidents
from infra.sandbox.store import Store
from infra.sandbox.use import PERCENTS, TARGETS

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
LOOKS_SECONDS = 5.0
HOLD_TRIES = 20
HOLD_SECONDS = 0.05
"""Between two tries for a folder's lock."""
READ = ("range", "content-range", "user-agent")
"""Headers that services read."""
CLIENT = b"gccl/"
"""Google's own client of Cloud Storage says so. It downloads from the `mediaLink` that it was told, whatever server it talks to."""
HELD_SECONDS = 0.2
"""Real seconds until somebody who waits asks again, while the clock is held."""
AHEAD = "ahead"
"""What the store has the seconds under by which the clock is ahead: it goes back in no other server of the same folder."""
CENTURY = 100 * 365 * 86400
PROJECT = re.compile(r"[a-z][a-z0-9.:-]*")
PLAIN = [
    (b"server", b"ESF"),
    (b"vary", b"Origin, X-Origin, Referer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-xss-protection", b"0"),
]
JSON = [(b"content-type", b"application/json; charset=UTF-8"), *PLAIN]
"""Headers of Google's JSON answers. Source: recorded traffic, 2026-08."""


class Server:
    """The web application over one `Cloud`."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._own: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
            "status": ("GET", self.status),
            "clock": ("POST", self.clock),
            "faults": ("GET POST DELETE", self.faults),
            "loads": ("GET POST DELETE", self.loads),
            "alerts": ("GET", self.alerts),
            "executions": ("GET POST", self.executions),
            "custom-jobs": ("POST", self.custom_jobs),
            "calls": ("GET DELETE", self.calls),
            "projects": ("POST", self.projects),
            "resources": ("GET", self.resources),
            "clusters": ("GET", self.clusters),
            "machines": ("GET", self.machines),
            "busy": ("POST", self.busy),
            "servers": ("GET POST", self.servers),
            "deployed": ("GET", self.deployed),
        }

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answers one request, as ASGI has it."""
        content = await _body(receive)
        try:
            if scope["path"] == "/sandbox/clock" and self.held:
                await asyncio.sleep(HELD_SECONDS)
            answer = self.own(scope, content) if scope["path"].startswith("/sandbox/") else self.google(scope, content)
            if answer.later is not None:
                answer = await asyncio.to_thread(answer.later)
        except LostError:  # an answer that is none: the connection ends
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
            await send({"type": "http.response.body", "body": b""})
            return
        data, headers = _encoded(answer)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    def own(self, scope: Any, content: bytes) -> Answer:
        """What is asked of the sandbox itself."""
        http, what = scope["method"], scope["path"].removeprefix("/sandbox/")
        methods, handler = self._own.get(what, ("", None))
        if handler is None or http not in methods.split():
            known = ", ".join(f"{methods} {name}" for name, (methods, _) in self._own.items())
            return Answer(404, {"error": f"{http} {what}: the sandbox has {known}"})
        try:
            return Answer(200, handler(http, json.loads(content or b"{}")))
        except (ValueError, TypeError, KeyError) as error:
            return Answer(400, {"error": f"{http} {what}: {error}"})

    def google(self, scope: Any, content: bytes) -> Answer:
        """Any call of Google's APIs."""
        sent = dict(scope["headers"])
        host, _, path = scope["raw_path"].decode("latin-1").lstrip("/").partition("/")
        host, path, query = emulated.asked(scope["method"], host, path, _query(scope["query_string"]))
        answer = self.cloud.handle(
            Request(
                http=scope["method"],
                host=host,
                path=path,
                query=query,
                content=content,
                content_type=sent.get(b"content-type", b"application/json").decode("latin-1"),
                headers={name: sent[name.encode()].decode("latin-1") for name in READ if name.encode() in sent},
            )
        )
        base = f"{scope['scheme']}://{sent[b'host'].decode('latin-1')}"
        where = answer.headers.get("Location", "")
        if where.startswith("/"):
            answer = replace(answer, headers={**answer.headers, "Location": base + where})
        if CLIENT in sent.get(b"x-goog-api-client", b"") and isinstance(answer.body, dict):
            answer = replace(answer, body=_here(answer.body, base))
        return answer

    def status(self, http: str, sent: Any) -> Any:
        """What stands, by service."""
        count: dict[str, int] = {}
        for service, _, _ in self.cloud.store.every():
            count[service] = count.get(service, 0) + 1
        return {
            "id": self.cloud.id,
            "time": rfc3339(self.cloud.clock.now()),
            "clock": "manual" if self.cloud.clock.manual else "automatic",
            "projects": self.cloud.projects.all(),
            "services": sorted(self.cloud.services),
            "resources": count,
        }

    def clock(self, http: str, sent: Any) -> Any:
        """
        Moves time on: `{"seconds": 60}`. While somebody works in real time, it is not moved: the answer comes after some real time,
        and says that it was `held`. Operations that are polled end at once nevertheless.
        """
        seconds = float(sent["seconds"])
        if not 0 <= seconds <= CENTURY:
            raise ValueError(f"seconds: {seconds} is not from 0 to {CENTURY}")
        held = self.held
        if not held:
            self.cloud.clock.advance(seconds)
        self.cloud.catch_up()
        return {"time": rfc3339(self.cloud.clock.now())} | ({"held": True} if held else {})

    @property
    def held(self) -> bool:
        """Whether time passes as it does, and is moved by nobody. A clock that is moved by hand is never held: it would stand."""
        return self.cloud.machines.held and not self.cloud.clock.manual

    def faults(self, http: str, sent: Any) -> Any:
        """Shows, adds or clears what goes wrong."""
        if http == "DELETE":
            self.cloud.faults.clear()
        elif http == "POST":
            self.cloud.faults.add(Fault.read(sent))
        return {"faults": self.cloud.faults.shown()}

    def loads(self, http: str, sent: Any) -> Any:
        """Shows, declares or clears how callers use endpoints, how many nodes pods want, and how busy they are."""
        if http == "DELETE":
            self.cloud.loads.clear()
            autoscaler.clear(self.cloud)
            autoscaling.clear(self.cloud)
            self.cloud.use.clear()
        elif http == "POST":
            self.cloud.catch_up()
            with self.cloud.store.transaction():
                self._declare(sent)
        more = {
            "node_pools": autoscaler.shown(self.cloud),
            "accelerators": self.cloud.use.shown(),
            "autoscalers": autoscaling.shown(self.cloud),
        }
        return self.cloud.loads.shown() | {key: value for key, value in more.items() if value}

    def _declare(self, sent: Any) -> None:
        """A load of one kind; of a node pool its nodes, how busy they are, or both."""
        if not isinstance(sent, dict) or not {"endpoint", "autoscaler", *TARGETS} & set(sent):
            got = ", ".join(sent) or "nothing" if isinstance(sent, dict) else repr(sent)
            raise ValueError(f"a load is of one of endpoint, autoscaler, {', '.join(TARGETS)}; got {got}")
        if "autoscaler" in sent:
            autoscaling.declare(self.cloud, sent)
            return
        if "endpoint" in sent:
            self.cloud.loads.declare(sent)
            return
        if "nodes" in sent:
            autoscaler.declare(self.cloud, {key: value for key, value in sent.items() if key not in PERCENTS})
        if "nodes" not in sent or set(PERCENTS) & set(sent):
            self.cloud.use.declare({key: value for key, value in sent.items() if key != "nodes"})

    def alerts(self, http: str, sent: Any) -> Any:
        """Incidents of the alert policies, and the policies that are not judged."""
        self.cloud.catch_up()
        return incidents.judged(self.cloud)

    def executions(self, http: str, sent: Any) -> Any:
        """Attempts of Cloud Run's executions that are to begin or run; says that one began, or how it ended."""
        self.cloud.catch_up()
        with self.cloud.store.transaction():
            if http == "POST":
                executions.moved(self.cloud, sent)
            return {"executions": executions.waiting(self.cloud)}

    def custom_jobs(self, http: str, sent: Any) -> Any:
        """Says how the container of a custom job has ended: `{"name": JOB, "exit_code": 0}`."""
        self.cloud.catch_up()
        with self.cloud.store.transaction():
            custom_jobs.ended(self.cloud, sent)
        return {}

    def calls(self, http: str, sent: Any) -> Any:
        """The calls so far, oldest first."""
        if http == "DELETE":
            self.cloud.calls.clear()
        return {"calls": list(self.cloud.calls)}

    def projects(self, http: str, sent: Any) -> Any:
        """Makes a project: `{"project": "tw-shop-ml"}`."""
        if not PROJECT.fullmatch(sent["project"]):
            raise ValueError(f"project: {sent['project']!r} is no project id, such as tw-shop-ml")
        return self.cloud.projects.make(sent["project"])

    def resources(self, http: str, sent: Any) -> Any:
        """Everything that stands."""
        return {"resources": self.cloud.resources()}

    def clusters(self, http: str, sent: Any) -> Any:
        """What stands in each cluster, in short: nodes, pods, and why one waits."""
        self.cloud.catch_up()
        return {"clusters": standing.clusters(self.cloud)}

    def busy(self, http: str, sent: Any) -> Any:
        """
        Somebody runs the containers of machines for the next seconds of real time, and says of which they have ended:
        `{"holder": "attach-1", "seconds": 10, "done": [KEY, ...]}`, with keys of `machines`. 0 seconds: no longer.
        """
        self.cloud.machines.hold(sent)
        return {"held": self.cloud.machines.held}

    def deployed(self, http: str, sent: Any) -> Any:
        """What is deployed on each endpoint: whoever runs servers asks for it again and again."""
        return {"endpoints": [{"name": name, "deployedModels": body["deployedModels"]} for name, body in servers.endpoints(self.cloud)]}

    def servers(self, http: str, sent: Any) -> Any:
        """Which process answers for which deployed model."""
        if http == "POST":
            self.cloud.servers.say(sent)
        return {"servers": self.cloud.servers.shown()}

    def machines(self, http: str, sent: Any) -> Any:
        """Every machine that ever ran, and what it cost."""
        self.cloud.catch_up()
        return {"machines": self.cloud.machines.shown()}


def _here(body: Any, base: str) -> Any:
    """A body whose objects are downloaded from here."""
    if isinstance(body, list):
        return [_here(item, base) for item in body]
    if not isinstance(body, dict):
        return body
    link = body.get("mediaLink", "")
    changed = {"mediaLink": link.replace("https://", f"{base}/", 1)} if link else {}
    return {key: _here(value, base) if key in ("items", "resource") else value for key, value in body.items()} | changed


async def _body(receive: Receive) -> bytes:
    message = await receive()
    content: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        content += message.get("body", b"")
    return content


def _query(text: bytes) -> dict[str, str]:
    """What a service reads of the query; a parameter that is given several times is one, by commas."""
    found: dict[str, str] = {}
    for key, value in parse_qsl(text.decode("latin-1"), keep_blank_values=True) if text else ():
        if key not in ("prettyPrint", "key") and (key, value) != ("alt", "json"):
            found[key] = f"{found[key]},{value}" if key in found else value
    return found


def _encoded(answer: Answer) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Body and headers of an answer."""
    if answer.body is None:
        content, headers = b"", PLAIN
    else:
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body, separators=(",", ":")).encode()
        headers = JSON
    if answer.headers:
        own = {key.lower().encode("latin-1"): value.encode("latin-1") for key, value in answer.headers.items()}
        headers = [*own.items(), *((key, value) for key, value in headers if key not in own)]
    if answer.status in (204, 304):
        return content, headers
    return content, [*headers, (b"content-length", str(len(content)).encode())]


def bound(port: int) -> socket.socket:
    """A socket on *port*; on another where that one is taken."""
    for wanted in (port, 0):
        # The protocol is named: asyncio turns Nagle's algorithm off only then, and 40 ms a call are saved.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", wanted))
        except OSError:
            listener.close()
        else:
            return listener
    raise OSError("no port is free")


def _ends_with(lock: Path, number: int) -> None:
    """Ends this process when its folder was taken away: nobody could find it any more."""
    with suppress(FileNotFoundError):
        while lock.stat().st_ino == number:
            time.sleep(LOOKS_SECONDS)
    os._exit(0)


def hold(lock: IO[bytes]) -> None:
    """
    Takes a folder's lock. Whoever looks whether a server has it takes it too, for a moment: so it is tried some times.

    Raises:
        BlockingIOError: Another server has it.
    """
    for left in reversed(range(HOLD_TRIES)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not left:
                raise
            time.sleep(HOLD_SECONDS)


def serve(
    folder: Path, port: int, projects: Sequence[str], *, manual_clock: bool, currency: str | None = None, masked: Sequence[str] = ()
) -> None:
    """Serves one folder until it is ended; holds its lock for as long."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as lock:
        hold(lock)
        lock.truncate(0)
        lock.write(str(os.getpid()).encode())
        lock.flush()
        threading.Thread(target=_ends_with, args=(folder / "lock", os.fstat(lock.fileno()).st_ino), daemon=True).start()
        store = Store(folder / "cloud.sqlite")
        clock = Clock(manual=manual_clock, ahead=float(store.fact(AHEAD) or 0), moved=lambda ahead: store.set_fact(AHEAD, ahead))
        cloud = Cloud(store, clock, masked=masked)
        if currency:
            cloud.projects.set_currency(currency)
        for project in projects:
            cloud.projects.make(project)
        listener = bound(port)
        listener.listen(128)
        beside = folder / f"server.json.{os.getpid()}"
        said = {"pid": os.getpid(), "port": listener.getsockname()[1], "code": process.code(), "manual_clock": manual_clock}
        beside.write_text(json.dumps(said), encoding="utf-8")
        beside.replace(folder / "server.json")
        config = uvicorn.Config(
            Server(cloud),
            log_level="warning",
            access_log=False,
            lifespan="off",
            loop="asyncio",
            http="httptools",
            ws="none",
            interface="asgi3",
            proxy_headers=False,
            server_header=False,
        )
        uvicorn.Server(config).run(sockets=[listener])
        cloud.store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--manual-clock", action="store_true")
    parser.add_argument("--project", action="append", default=[])
    parser.add_argument("--currency", metavar="CODE", help="of the billing account, ISO 4217 (default: as it was; at first USD)")
    parser.add_argument(
        "--masked",
        metavar="TEXT",
        action="append",
        default=[],
        help="stands for the current etag or fingerprint: for replays",
    )
    arguments = parser.parse_args()
    gc.freeze()  # documents and modules stay for ever: the collector need not look at them
    serve(
        arguments.folder,
        arguments.port,
        arguments.project,
        manual_clock=arguments.manual_clock,
        currency=arguments.currency,
        masked=arguments.masked,
    )


if __name__ == "__main__":
    main()
