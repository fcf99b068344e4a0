"""What tests of the workloads share."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from infra.sandbox.cloud import Cloud
from infra.sandbox.server import Server

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


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of what JAX compiled, so that no job compiles what another did."""
    return tmp_path_factory.mktemp("compiled")
