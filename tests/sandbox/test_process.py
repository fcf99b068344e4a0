"""The sandbox as a process, over HTTP on loopback."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from infra.errors import MachineError
from infra.sandbox import process

NODES = "tpu.googleapis.com/v2/projects/shop-prod/locations/us-east5-a/nodes"
NODE = {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "sandbox"
    process.stop(tmp_path / "sandbox")


def http(method: str, sandbox: process.Running, path: str, **more: object) -> httpx.Response:
    return httpx.request(method, f"{sandbox.base}/{path}", trust_env=False, **more)  # type: ignore[arg-type]


def test_starts_once_and_keeps_port_time_and_content_over_a_stop_and_a_kill(folder: Path) -> None:
    assert process.running(folder) is None
    first = process.start(folder, ["shop-prod"])
    assert process.start(folder) == first == process.running(folder)
    assert http("POST", first, NODES, params={"nodeId": "n"}, json=NODE).status_code == 200
    moved = http("POST", first, "sandbox/clock", json={"seconds": 86400}).json()["time"]
    assert process.stop(folder)
    assert not process.stop(folder)
    second = process.start(folder)
    assert (second.port, second.pid) != (first.port, first.pid)
    assert second.port == first.port
    os.kill(second.pid, signal.SIGKILL)
    os.waitpid(second.pid, 0)
    third = process.start(folder)
    assert http("GET", third, "sandbox/status").json()["time"] > moved  # what was written in the store is of that day
    found = http("GET", third, f"{NODES}/n")
    assert found.json()["name"].endswith("/nodes/n")
    assert found.headers["Server"] == "ESF"
    assert found.headers["Content-Type"] == "application/json; charset=UTF-8"


def test_a_sandbox_of_older_code_is_started_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = process.start(folder)
    monkeypatch.setattr(process, "code", lambda: "newer")
    assert process.start(folder).pid != first.pid


def test_many_that_start_it_at_once_get_one(folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: process.start(folder), range(4)))
    assert len(found) == 1


def test_another_port_than_it_has_is_refused(folder: Path) -> None:
    found = process.start(folder)
    with pytest.raises(MachineError, match=f"on port {found.port}"):
        process.start(folder, port=found.port + 1)


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"pid": 1, "port": 1}'])
def test_a_sandbox_whose_file_is_damaged_is_started_anew(damage: str, folder: Path) -> None:
    """Its lock says which process it is, and no other is ever ended."""
    first = process.start(folder, ["shop-prod"])
    (folder / "server.json").write_text(damage, encoding="utf-8")
    assert process.running(folder) is None
    second = process.start(folder)
    assert second.pid != first.pid
    assert process.ask(second, "GET", "status")["projects"] == ["shop-prod"]


def test_a_sandbox_that_does_not_say_which_process_it_is_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for said in ("", "1", "nonsense"):
            (folder / "lock").write_text(said, encoding="utf-8")
            with pytest.raises(MachineError, match="fuser"):
                process.stop(folder)


def test_another_clock_than_it_has_is_refused(folder: Path) -> None:
    process.start(folder)
    with pytest.raises(MachineError, match="accelform sandbox stop"):
        process.start(folder, manual_clock=True)


def test_a_taken_port_is_left_to_whom_it_belongs(folder: Path, tmp_path: Path) -> None:
    """The last port, taken meanwhile, is no reason not to start; one that was asked for is had or refused."""
    other = process.start(tmp_path / "other")
    try:
        folder.mkdir()
        (folder / "server.json").write_text(f'{{"pid": 1, "port": {other.port}}}', encoding="utf-8")
        assert process.start(folder).port != other.port
        process.stop(folder)
        with pytest.raises(MachineError, match=f"port {other.port} is taken"):
            process.start(folder, port=other.port)
        assert process.running(folder) is None
    finally:
        process.stop(tmp_path / "other")


def test_tells_about_itself_and_cuts_lines_on_request(folder: Path) -> None:
    sandbox = process.start(folder, ["shop-prod"])
    said = process.ask(sandbox, "GET", "status")
    assert said["projects"] == ["shop-prod"]
    assert "tpu.googleapis.com" in said["services"]
    before = said["time"]
    assert process.ask(sandbox, "POST", "clock", {"seconds": 3600})["time"] > before
    process.ask(sandbox, "POST", "faults", {"do": "lost", "at": 1})
    with pytest.raises(httpx.HTTPError):
        http("POST", sandbox, NODES, params={"nodeId": "n"}, json=NODE)
    assert http("GET", sandbox, f"{NODES}/n").status_code == 200
    assert process.ask(sandbox, "DELETE", "faults") == {"faults": []}
    ours = [one for one in process.ask(sandbox, "GET", "resources")["resources"] if not one["own"]]
    assert ours == [{"service": "tpu.googleapis.com", "name": "projects/shop-prod/locations/us-east5-a/nodes/n", "own": False}]
    assert http("POST", sandbox, "sandbox/faults", json={"do": "nothing"}).status_code == 400


def test_a_sandbox_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "cloud.sqlite").write_text("this is no database, and long enough to be read as one" * 20)
    with pytest.raises(MachineError, match="not a database"):
        process.start(tmp_path)
