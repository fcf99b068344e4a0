"""Google's own client of Cloud Storage against the sandbox, as a job's program uses it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.local.attach.conftest import PROJECT, Shop


@pytest.fixture
def bucket(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"{shop.base}/storage.googleapis.com")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the Python version and of gRPC, when Google's library is imported
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage

    client = storage.Client(project=PROJECT, credentials=AnonymousCredentials())
    yield client.bucket("shop-models")
    client.close()


def test_objects_are_written_listed_and_read(bucket: Any) -> None:
    """Also through the `mediaLink` that a list answers: Google's client goes there, and it is the sandbox's own."""
    bucket.blob("run/a.txt").upload_from_string(b"hello")
    bucket.blob("run/b.txt").upload_from_string(b"there")

    assert [(one.name, one.download_as_bytes()) for one in bucket.list_blobs(prefix="run/")] == [
        ("run/a.txt", b"hello"),
        ("run/b.txt", b"there"),
    ]
    assert bucket.blob("run/a.txt").download_as_bytes(start=1, end=3) == b"ell"
    assert (bucket.blob("run/a.txt").exists(), bucket.blob("run/c.txt").exists()) == (True, False)


def test_upload_in_parts_is_whole(bucket: Any) -> None:
    data = bytes(range(256)) * 3000
    with bucket.blob("big", chunk_size=256 * 1024).open("wb") as file:
        file.write(data)

    with bucket.blob("big").open("rb", chunk_size=256 * 1024) as file:
        assert file.read() == data


def test_generations_match_or_are_refused(bucket: Any) -> None:
    from google.api_core.exceptions import NotFound, PreconditionFailed

    blob = bucket.blob("journal.json")
    blob.upload_from_string(b"1", if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        bucket.blob("journal.json").upload_from_string(b"2", if_generation_match=0)
    blob.upload_from_string(b"3", if_generation_match=blob.generation)

    assert bucket.blob("journal.json").download_as_bytes() == b"3"
    with pytest.raises(PreconditionFailed):
        bucket.blob("journal.json").delete(if_generation_match=1)
    bucket.blob("journal.json").delete(if_generation_match=bucket.get_blob("journal.json").generation)
    with pytest.raises(NotFound):
        bucket.blob("journal.json").download_as_bytes()
