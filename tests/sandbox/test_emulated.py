"""Clients that were told STORAGE_EMULATOR_HOST, such as the engine's `gs://` backend."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from infra.sandbox import emulated
from infra.sandbox.cloud import Cloud
from infra.sandbox.server import Server

HOST = "storage.googleapis.com"


@pytest.mark.parametrize(
    ("http", "host", "path", "asked"),
    [
        ("POST", "upload", "storage/v1/b/data/o", (HOST, "upload/storage/v1/b/data/o", {})),
        ("GET", "storage", "v1/b/data/o", (HOST, "storage/v1/b/data/o", {})),
        ("GET", "shop-data", "a%2Fb/c.json", (HOST, "storage/v1/b/shop-data/o/a%2Fb%2Fc.json", {"alt": "media"})),
        ("GET", "tpu.googleapis.com", "v2/projects", ("tpu.googleapis.com", "v2/projects", {})),
        ("PUT", "shop-data", "a", ("shop-data", "a", {})),
        ("GET", "shop-data", "", ("shop-data", "", {})),
    ],
)
def test_a_path_without_a_host_is_one_of_cloud_storage(http: str, host: str, path: str, asked: tuple[object, ...]) -> None:
    assert emulated.asked(http, host, path, {}) == asked


def test_the_variable_is_a_host_and_a_port() -> None:
    """Google's Go client puts a path behind it, and parses it as the host of an address."""
    assert emulated.environment("http://127.0.0.1:9555") == {"STORAGE_EMULATOR_HOST": "127.0.0.1:9555"}


def test_what_was_written_is_read_by_the_other_address(cloud: Cloud) -> None:
    """With the headers that the client wants of an object, and the older version by its number."""

    async def session() -> None:
        transport = httpx.ASGITransport(app=Server(cloud))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9") as client:
            made = await client.post("/storage/v1/b?project=shop-prod", json={"name": "states", "versioning": {"enabled": True}})
            assert made.status_code == 200
            first = await client.post("/upload/storage/v1/b/states/o?uploadType=media&name=.pulumi%2Fa.json", content=b"1")
            await client.post("/upload/storage/v1/b/states/o?uploadType=media&name=.pulumi%2Fa.json", content=b"2")
            read = await client.get("/states/.pulumi/a.json")
            assert (read.content, read.headers["x-goog-metageneration"]) == (b"2", "1")
            old = await client.get("/states/.pulumi/a.json", params={"generation": first.json()["generation"]})
            assert (old.content, old.headers["x-goog-generation"]) == (b"1", first.json()["generation"])
            assert (await client.get("/states/none")).status_code == 404

    asyncio.run(session())
