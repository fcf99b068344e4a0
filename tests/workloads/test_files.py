"""Folders of files: the same in a bucket and on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workloads import files
from workloads.files import CHECKSUMS, DeniedError, FilesError, Folder


@pytest.fixture(params=["path", "bucket"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """An empty folder of either kind."""
    if request.param == "path":
        yield Folder(str(tmp_path / "folder"))
        return
    request.getfixturevalue("bucket")
    folder = Folder("gs://shop-models/jobs/one")
    folder.erase()
    yield folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Files to send."""
    place = tmp_path / "source"
    (place / "deep" / "er").mkdir(parents=True)
    (place / "a.bin").write_bytes(bytes(range(256)))
    (place / "deep" / "er" / "b.json").write_text('{"b": 1}', encoding="utf-8")
    return place


def test_reads_what_was_written(folder: Folder) -> None:
    """Bytes, JSON and odd names."""
    folder.write("a b/ü.bin", b"\x00\xff")
    folder.write_json("x.json", {"n": 1})

    assert folder.read("a b/ü.bin") == b"\x00\xff"
    assert folder.read_json("x.json") == {"n": 1}
    assert folder.names() == ["a b/ü.bin", "x.json"]
    assert folder.children() == ["a b"]
    assert folder.child("a b").names() == ["ü.bin"]


def test_what_is_not_there(folder: Folder) -> None:
    """Is nothing, or said by name; to delete it is fine."""
    assert folder.find("a") is None
    assert folder.names() == []
    folder.delete("a")
    with pytest.raises(FilesError, match="a is not there"):
        folder.read("a")


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../a", "a/../../b"])
def test_refuses_names_outside(folder: Folder, name: str) -> None:
    """A name stays in its folder."""
    with pytest.raises(FilesError, match="no name in a folder"):
        folder.write(name, b"")


@pytest.mark.parametrize("location", ["", " ", "gs://", "gs:///a"])
def test_refuses_no_folder(location: str) -> None:
    """A bucket has a name."""
    with pytest.raises(FilesError, match="is no folder"):
        Folder(location)


def test_a_folder_goes_there_and_back(folder: Folder, source: Path, tmp_path: Path) -> None:
    """All files, and their checksums last."""
    folder.upload(source)
    folder.download(tmp_path / "back")

    assert (tmp_path / "back" / "a.bin").read_bytes() == bytes(range(256))
    assert (tmp_path / "back" / "deep" / "er" / "b.json").read_text(encoding="utf-8") == '{"b": 1}'
    assert sorted(folder.checksums()) == ["a.bin", "deep/er/b.json"]


def test_half_a_folder_is_not_read(folder: Folder, source: Path, tmp_path: Path) -> None:
    """Without its last file, a folder is not there; a later upload that ends in the middle is none either."""
    folder.upload(source)
    folder.delete(CHECKSUMS)

    with pytest.raises(FilesError, match="it is not whole"):
        folder.download(tmp_path / "back")


def test_a_changed_file_is_found(folder: Folder, source: Path, tmp_path: Path) -> None:
    """Each file is held against its checksum, and all wrong ones are named."""
    folder.upload(source)
    folder.write("a.bin", b"other")
    folder.delete("deep/er/b.json")

    with pytest.raises(FilesError) as refused:
        folder.download(tmp_path / "back")
    assert "a.bin is not what its checksum says" in str(refused.value)
    assert "b.json is not there" in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"files": []}', b'{"files": {"a": 1}}', b'{"files": {"../../x": {}}}'])
def test_odd_checksums_are_refused(folder: Folder, content: bytes, tmp_path: Path) -> None:
    """Nothing is taken on trust, and nothing is written outside."""
    folder.write(CHECKSUMS, content)

    with pytest.raises(FilesError):
        folder.download(tmp_path / "back")


def test_says_that_it_cannot_write(tmp_path: Path) -> None:
    """In a sentence: here, where a file is in the folder's place."""
    (tmp_path / "file").write_bytes(b"")

    folder = Folder(str(tmp_path / "file" / "deep"))
    for write in (folder.write, folder.create):
        with pytest.raises(FilesError, match=r"file/deep: x cannot be written: "):
            write("x", b"")


def test_says_that_it_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Google answers to an account that lacks a role, with the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from google.api_core.exceptions import Forbidden, Unauthorized

    class Denied:
        def download_as_bytes(self) -> bytes:
            raise Forbidden("it lacks storage.objects.get")

        def upload_from_string(self, content: bytes, **more: object) -> None:
            raise Forbidden("it lacks storage.objects.create")

        def delete(self) -> None:
            raise Unauthorized("who is it?")

        def list_blobs(self, bucket: str, prefix: str) -> list[object]:
            raise Forbidden("it lacks storage.objects.list")

    monkeypatch.setattr(Folder, "_blob", lambda self, name: Denied())
    monkeypatch.setattr(files, "_client", Denied)
    folder = Folder("gs://shop-data/pictures")

    with pytest.raises(DeniedError, match=r"gs://shop-data/pictures: a\.png may not be read: it lacks storage\.objects\.get"):
        folder.find("a.png")
    for write in (folder.write, folder.create):
        with pytest.raises(DeniedError, match=r"a\.png may not be written: it lacks storage\.objects\.create"):
            write("a.png", b"")
    with pytest.raises(DeniedError, match=r"a\.png may not be deleted: who is it\?"):
        folder.delete("a.png")
    with pytest.raises(DeniedError, match=r"^gs://shop-data/pictures may not be listed: it lacks storage\.objects\.list$"):
        folder.names()


def test_says_that_a_file_of_this_machine_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(DeniedError, match="x may not be read: Permission denied"):
        Folder(str(tmp_path)).find("x")


def test_says_that_there_is_no_such_bucket(bucket: str) -> None:
    """Where it is listed or written to; a file in it is one that is not there."""
    folder = Folder("gs://shop-modles/jobs/one")

    for ask in (folder.names, folder.sizes, folder.digests, lambda: folder.write("x", b""), lambda: folder.create("x", b"")):
        with pytest.raises(FilesError, match=r"there is no bucket shop-modles$"):
            ask()
    assert folder.find("x") is None


def test_of_several_who_create_a_file_one_does(folder: Folder) -> None:
    """At once: one is told so, and what is there is that one's; what was there before stays."""
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda number: folder.create("deep/claim", f"{number}".encode()), range(8)))

    assert done.count(True) == 1
    assert folder.read("deep/claim") == f"{done.index(True)}".encode()
    assert folder.names() == ["deep/claim"]


def test_digests_are_of_contents(folder: Folder) -> None:
    """The same text for the same bytes, in a bucket as here: MD5 in base64."""
    folder.write("a", b"one")
    folder.write("b/c", b"one")
    folder.write("d", b"")

    assert folder.digests() == {"a": "+XxdKZQb+xsv2rCHSQargg==", "b/c": "+XxdKZQb+xsv2rCHSQargg==", "d": "1B2M2Y8AsgTpgAmY7PhCfg=="}


def test_erases(folder: Folder, source: Path) -> None:
    """Nothing stays."""
    folder.upload(source)
    folder.erase()

    assert folder.names() == []
