"""What tests of the workloads share."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from infra.sandbox.cloud import Cloud
from infra.sandbox.server import Server
from tests.workloads.jobs import Job, taken_away
from workloads.contract import RESTART_EXIT
from workloads.files import CHECKSUMS, Folder

BUCKET = "shop-models"


@pytest.fixture(scope="module")
def storage() -> Iterator[str]:
    """Address of the local cloud's storage, with a bucket."""
    cloud = Cloud()
    cloud.projects.make("shop-prod")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(Server(cloud), log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/storage.googleapis.com"
        httpx.post(f"{address}/storage/v1/b", params={"project": "shop-prod"}, json={"name": BUCKET, "location": "US"}).raise_for_status()
        yield address
        server.should_exit = True
        thread.join()


@pytest.fixture
def bucket(storage: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket to which Google's own client speaks."""
    from workloads import files

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from google.cloud import storage as client  # noqa: F401

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", storage)
    files._client.cache_clear()
    yield BUCKET
    files._client()._http.close()
    files._client.cache_clear()


@pytest.fixture
def signals() -> Iterator[None]:
    """For a program that listens for SIGTERM in the tests' process: afterwards this one does not."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of what JAX compiled, so that no job compiles what another did."""
    return shared(tmp_path_factory, "compiled", lambda place: None)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Job:
    """
    A run on eight devices of the processor that stand for a TPU's chips: one for all tests, as a container runs it.

    It was told to leave at step 40, and what it saved then is made half, so that its second try goes on from the checkpoint before: what
    the first one had learned is in `first.json`.
    """

    def job(place: Path) -> Job:
        return Job(place, compiled, accelerator_type="v5litepod-8", chips=8, simulated=True, save_every=48)

    def run(place: Path) -> None:
        one, arguments = job(place), ("--example", "--small", "--steps", "80")
        ended = taken_away(*one.start(*arguments), step=40)
        assert ended.returncode == RESTART_EXIT, ended.stderr
        assert "stand for 8 chips of v5litepod-8" in ended.stderr
        before, half = sorted(int(name) for name in Folder(str(place / "checkpoints")).children())
        assert f"this machine is taken away: step {half} is saved" in ended.stderr
        first = Folder(str(place / "checkpoints" / str(half)))
        curve = first.read_json("meta.json")["curve"]
        first.delete(CHECKSUMS)
        Folder(str(place)).write_json("first.json", {"before": before, "half": half, "loss": curve})
        ended = one.run(*arguments)
        assert ended.returncode == 0, ended.stderr

    return job(shared(tmp_path_factory, "trained", run))


def shared(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that is made once, by the first of the tests' processes that needs it; the others wait."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            unfinished = place.with_suffix(".unfinished")
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(place)
    return place
