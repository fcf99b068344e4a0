"""The official engine is fetched whole, checked, or not at all; a machine without that network is told at once."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from infra.local.engine import fetch, find

CHECKSUMS = f"/releases/sdk/pulumi-{find.VERSION}-checksums.txt"
ARCHIVE = f"/releases/sdk/{fetch.archive()}"


def packed(script: str = f"echo v{find.VERSION}", folder: str = "pulumi", **more: bytes) -> bytes:
    """An archive like the official ones, with a small engine in it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in ({f"{folder}/pulumi": f"#!/bin/sh\n{script}\n".encode()} | more).items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def checksums(archive: bytes) -> bytes:
    return f"{'0' * 64}  pulumi-v{find.VERSION}-windows-x64.zip\n{hashlib.sha256(archive).hexdigest()}  {fetch.archive()}\n".encode()


class Site:
    """What a test's web site answers, by path; a function is called with the handler and answers by itself."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.url = ""

    def holds(self, archive: bytes, sums: bytes | None = None) -> None:
        self.answers = {CHECKSUMS: checksums(archive) if sums is None else sums, ARCHIVE: archive}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A web site on this machine, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ACCELFORM_OFFLINE", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    served = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            answer = served.answers.get(self.path)
            if callable(answer):
                answer(self)
                return
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Length", str(len(answer or b"")))
            self.end_headers()
            self.wfile.write(answer or b"")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        server.shutdown()
        thread.join()


def left() -> list[str]:
    """What is in the cache, but for the note of why nothing was fetched."""
    folder = find.cache().parent
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".not-fetched") if folder.exists() else []


@pytest.mark.parametrize("folder", ["pulumi", "pulumi/bin"])
def test_fetches_checks_and_finds_it(folder: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program of the archive is there and can be run; the engine is found; an old note of a failure is gone."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(fetch.NotFetchedError):
        fetch.fetch(site.url)
    assert "404" in fetch.tried()
    site.holds(packed(folder=folder, **{f"{folder}/pulumi-language-python": b"#!/bin/sh\n"}))
    engine = fetch.fetch(site.url)
    assert engine == find.Engine(find.fetched_folder() / "pulumi", find.VERSION, "fetched")
    assert (find.fetched(), fetch.tried()) == (engine, "")
    assert sorted(path.name for path in engine.path.parent.iterdir()) == ["pulumi", "pulumi-language-python"]
    assert all(os.access(path, os.X_OK) for path in engine.path.parent.iterdir())
    assert left() == [find.fetched_folder().name]


def test_nothing_is_written_outside_the_folder(site: Site) -> None:
    """Names in an archive that lead elsewhere, links and folders are left out."""
    site.holds(packed(**{"pulumi/../../out": b"x", "/pulumi/abs": b"x", "pulumi/..": b"x", "pulumi/deep/er/x": b"x"}))
    assert [path.name for path in fetch.fetch(site.url).path.parent.iterdir()] == ["pulumi"]
    assert left() == [find.fetched_folder().name]


ENGINE = packed()
HTML = b"<!doctype html><title>Blocked by your network</title>"


@pytest.mark.parametrize(
    ("archive", "sums", "said"),
    [
        (ENGINE, b"", "do not name"),
        (ENGINE, HTML, "do not name"),
        (ENGINE, checksums(b"another"), "the published one is"),
        (HTML, checksums(ENGINE), "the published one is"),
        (HTML, checksums(HTML), "is no archive"),
        (ENGINE[:-30], checksums(ENGINE[:-30]), "is no archive"),
        (packed("exit 1"), None, "does not run on this machine"),
        (packed("echo v3.1.0"), None, "does not run on this machine"),
        (packed(folder="other"), None, "does not run on this machine"),
    ],
    # Named: an archive holds the second it was made in, and two processes would give a case two names.
    ids=["no-sums", "sums-page", "other-sums", "page", "page-with-sums", "cut-off", "fails", "old", "elsewhere"],
)
def test_what_is_wrong_is_refused_and_leaves_nothing(archive: bytes, sums: bytes | None, said: str, site: Site) -> None:
    """Wrong, cut off, blocked or foreign: refused with the reason, which is kept, and nothing that counts is left."""
    site.answers = {ARCHIVE: archive, CHECKSUMS: checksums(archive) if sums is None else sums}
    with pytest.raises(fetch.NotFetchedError, match=said):
        fetch.fetch(site.url)
    assert (left(), find.fetched()) == ([], None)
    assert fetch.tried().partition(": ")[2]


def test_a_download_that_breaks_off_is_refused(site: Site) -> None:
    """A connection that closes before the end is no archive, even if what came looks like one."""

    def breaks_off(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(ENGINE)

    site.answers = {CHECKSUMS: checksums(ENGINE), ARCHIVE: breaks_off}
    with pytest.raises(fetch.NotFetchedError, match="peer closed connection"):
        fetch.fetch(site.url)
    assert left() == []


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_silence_is_given_up_on(silent: str, site: Site) -> None:
    """A server that says nothing, at first or in the middle, costs the time that is given for it and no more."""
    with pytest.raises(fetch.NotFetchedError, match=r"no answer within 0\.05 s|timed out"):
        fetch.fetch(silent, first_answer=0.05)

    done = threading.Event()

    def stalls(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.flush()
        done.wait(30)

    site.answers = {CHECKSUMS: checksums(ENGINE), ARCHIVE: stalls}
    started = time.monotonic()
    with pytest.raises(fetch.NotFetchedError, match="timed out"):
        fetch.fetch(site.url, stall=0.05)
    done.set()
    assert time.monotonic() - started < 30
    assert left() == []


def test_a_name_that_resolves_slowly_is_given_up_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that hangs is no reason to wait: no timeout of a socket covers it."""
    done = threading.Event()

    def hangs(*_: object, **__: object) -> None:
        done.wait(30)
        raise socket.gaierror("nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    with pytest.raises(fetch.NotFetchedError, match=r"no answer within 0\.05 s"):
        fetch.reach("http://slow.invalid/", 0.05)
    done.set()


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "nonsense://proxy", "http://[bad"])
def test_a_proxy_that_refuses_is_a_reason(proxy: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy of the environment is obeyed; where it refuses, or is no address at all, that is the reason."""
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    site.holds(ENGINE)
    with pytest.raises(fetch.NotFetchedError):
        fetch.fetch(site.url)
    assert site.asked == []


def test_offline_is_obeyed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ACCELFORM_OFFLINE nothing is asked; 0 and nothing mean no."""
    site.holds(ENGINE)
    monkeypatch.setenv("ACCELFORM_OFFLINE", "1")
    with pytest.raises(fetch.NotFetchedError, match="ACCELFORM_OFFLINE is set"):
        fetch.fetch(site.url)
    assert site.asked == []
    monkeypatch.setenv("ACCELFORM_OFFLINE", "0")
    assert fetch.fetch(site.url).origin == "fetched"


def test_a_cache_that_cannot_be_written_is_a_reason(site: Site, tmp_path: Path) -> None:
    """Where a file stands in the cache's place, that is said, and the build may be tried."""
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    site.holds(ENGINE)
    with pytest.raises(fetch.NotFetchedError, match="cache"):
        fetch.fetch(site.url)


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("Linux", "x86_64", "linux-x64"),
        ("Linux", "aarch64", "linux-arm64"),
        ("Darwin", "arm64", "darwin-arm64"),
        ("Darwin", "x86_64", "darwin-x64"),
    ],
)
def test_the_archive_is_named_after_the_machine(system: str, machine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems and machines as the official archives call them."""
    monkeypatch.setattr(fetch.platform, "system", lambda: system)
    monkeypatch.setattr(fetch.platform, "machine", lambda: machine)
    assert fetch.archive() == f"pulumi-v3.274.1-{name}.tar.gz"


def test_a_machine_without_an_archive_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Pulumi publishes none, nothing is asked."""
    monkeypatch.setattr(fetch.platform, "machine", lambda: "riscv64")
    with pytest.raises(fetch.NotFetchedError, match=r"no official archive for .* on riscv64"):
        fetch.fetch(site.url)
    assert site.asked == []


def test_two_at_once_end_with_one(site: Site) -> None:
    """Both have it, and nothing else is left."""
    both, data = threading.Barrier(2), ENGINE

    def archive(handler: BaseHTTPRequestHandler) -> None:
        both.wait(30)
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(data)

    site.answers = {CHECKSUMS: checksums(data), ARCHIVE: archive}
    with ThreadPoolExecutor(2) as pool:
        engines = list(pool.map(lambda _: fetch.fetch(site.url), range(2)))
    assert engines[0] == engines[1] == find.fetched()
    assert left() == [find.fetched_folder().name]


def test_killed_half_way_nothing_counts_and_the_next_clears_up(site: Site) -> None:
    """After a kill -9 in the download no engine is found; the next try fetches it and removes what was left."""
    half_way, done = threading.Event(), threading.Event()

    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(ENGINE)
        handler.wfile.flush()
        half_way.set()
        done.wait(30)

    site.answers = {CHECKSUMS: checksums(ENGINE), ARCHIVE: half}
    program = f"from infra.local.engine import fetch; fetch.fetch({site.url!r})"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    assert half_way.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done.set()
    assert find.fetched() is None
    assert [name.startswith("fetching-") for name in left()] == [True]
    site.holds(ENGINE)
    fetch.fetch(site.url)
    assert left() == [find.fetched_folder().name]
