"""
The sandbox's HTTP server: `http://127.0.0.1:PORT/HOST/PATH` is `https://HOST/PATH` of Google.

    python -m infra.sandbox.server FOLDER PORT [--manual-clock] [--project ID ...] [--currency CODE] [--masked TEXT ...]

`/sandbox/...` is its own: `status`, `clock`, `faults`, `calls`, `projects`, `resources`.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from infra.sandbox import process
from infra.sandbox.clock import Clock, rfc3339
from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.faults import Fault, LostError
from infra.sandbox.store import Store

HEADERS = {
    "Content-Type": "application/json; charset=UTF-8",
    "Server": "ESF",
    "Vary": "Origin, X-Origin, Referer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Xss-Protection": "0",
}
"""Headers of Google's JSON answers. Source: recorded traffic, 2026-08."""


class _Cut:
    """An answer that is none: the connection ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Server:
    """The web application over one `Cloud`."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        own = [
            Route("/sandbox/status", self.status),
            Route("/sandbox/clock", self.clock, methods=["POST"]),
            Route("/sandbox/faults", self.faults, methods=["GET", "POST", "DELETE"]),
            Route("/sandbox/calls", self.calls, methods=["GET", "DELETE"]),
            Route("/sandbox/projects", self.projects, methods=["POST"]),
            Route("/sandbox/resources", self.resources),
        ]
        every = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        self.app = Starlette(routes=[*own, Route("/{path:path}", self.google, methods=every)])

    async def google(self, request: HttpRequest) -> Any:
        """Any call of Google's APIs."""
        raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        host, _, path = raw.partition(b"?")[0].decode("latin-1").lstrip("/").partition("/")
        call = Request(
            http=request.method,
            host=host,
            path=path,
            query=_query(request),
            content=await request.body(),
            content_type=request.headers.get("content-type", "application/json"),
        )
        try:
            answer = self.cloud.handle(call)
        except LostError:
            return _Cut()
        where = answer.headers.get("Location", "")
        if where.startswith("/"):
            answer = replace(answer, headers={**answer.headers, "Location": str(request.base_url).rstrip("/") + where})
        return _response(answer)

    async def status(self, request: HttpRequest) -> Response:
        """What stands, by service."""
        count: dict[str, int] = {}
        for service, _, _ in self.cloud.store.every():
            count[service] = count.get(service, 0) + 1
        return JSONResponse(
            {
                "time": rfc3339(self.cloud.clock.now()),
                "clock": "manual" if self.cloud.clock.manual else "automatic",
                "projects": self.cloud.projects.all(),
                "services": sorted(self.cloud.services),
                "resources": count,
            }
        )

    async def clock(self, request: HttpRequest) -> Response:
        """Moves time on: `{"seconds": 60}`."""
        self.cloud.clock.advance(float((await request.json())["seconds"]))
        return JSONResponse({"time": rfc3339(self.cloud.clock.now())})

    async def faults(self, request: HttpRequest) -> Response:
        """Shows, adds or clears what goes wrong."""
        if request.method == "DELETE":
            self.cloud.faults.clear()
        elif request.method == "POST":
            try:
                self.cloud.faults.add(Fault.model_validate(await request.json()))
            except ValidationError as error:
                return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"faults": self.cloud.faults.shown()})

    async def calls(self, request: HttpRequest) -> Response:
        """The calls so far, oldest first."""
        if request.method == "DELETE":
            self.cloud.calls.clear()
        return JSONResponse({"calls": list(self.cloud.calls)})

    async def projects(self, request: HttpRequest) -> Response:
        """Makes a project: `{"project": "tw-shop-ml"}`."""
        return JSONResponse(self.cloud.projects.make((await request.json())["project"]))

    async def resources(self, request: HttpRequest) -> Response:
        """Everything that stands."""
        return JSONResponse({"resources": self.cloud.resources()})


def _query(request: HttpRequest) -> dict[str, str]:
    """What a service reads of the query; a parameter that is given several times is one, by commas."""
    found: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key not in ("prettyPrint", "key") and (key, value) != ("alt", "json"):
            found[key] = f"{found[key]},{value}" if key in found else value
    return found


def _response(answer: Answer) -> Response:
    headers = HEADERS | dict(answer.headers)
    if answer.body is None:
        return Response(status_code=answer.status, headers={key: value for key, value in headers.items() if key != "Content-Type"})
    content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body, separators=(",", ":")).encode()
    return Response(content, status_code=answer.status, headers=headers)


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


def serve(
    folder: Path, port: int, projects: Sequence[str], *, manual_clock: bool, currency: str | None = None, masked: Sequence[str] = ()
) -> None:
    """Serves one folder until it is ended; holds its lock for as long."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        cloud = Cloud(Store(folder / "cloud.sqlite"), Clock(manual=manual_clock), masked=masked)
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
            Server(cloud).app, log_level="warning", access_log=False, lifespan="off", http="httptools", server_header=False
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
