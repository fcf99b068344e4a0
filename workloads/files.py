"""
Folders of files, in a bucket or on this machine: the one place that reads and writes either.

A folder of a bucket is `gs://BUCKET/NAME`; any other text is a path. `STORAGE_EMULATOR_HOST` names another server than Google's, as in
Google's own client. A folder that is made in many writes is whole once its `checksums.json` is there, which is written last: who reads
such a folder asks `verified` first, and never sees half of one.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

CHECKSUMS = "checksums.json"
"""File that ends a folder: `{"files": {NAME: {"sha256": HEX, "bytes": N}}}`."""
PARALLEL = 8
"""Files that are sent or fetched at once."""


class FilesError(Exception):
    """A folder or file is not what its reader needs. A sentence for the user."""


class DeniedError(FilesError):
    """It may not be read or written. That says nothing against what is there."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder. Names in it are relative, with `/`."""

    location: str
    """`gs://BUCKET/NAME`, or a path."""

    def __post_init__(self) -> None:
        bucket = self.location.removeprefix("gs://").split("/")[0] if self.remote else "."
        if not self.location.strip() or not bucket:
            raise FilesError(f"{self.location!r} is no folder: gs://BUCKET/NAME, or a path")

    @property
    def remote(self) -> bool:
        return self.location.startswith("gs://")

    def child(self, name: str) -> Folder:
        """The folder *name* in this one."""
        return Folder(f"{self.location.rstrip('/')}/{_relative(name)}")

    def read(self, name: str) -> bytes:
        """
        Content of a file.

        Raises:
            FilesError: It is not there.
        """
        found = self.find(name)
        if found is None:
            raise FilesError(f"{self.location}: {name} is not there")
        return found

    def find(self, name: str) -> bytes | None:
        """
        Content of a file, or nothing where it is not there.

        Raises:
            DeniedError: It may not be read.
        """
        if not self.remote:
            try:
                return self._path(name).read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                return None
            except PermissionError as error:
                raise DeniedError(f"{self.location}: {name} may not be read: {error.strerror}") from None
        from google.api_core.exceptions import NotFound

        try:
            with _sentences(f"{self.location}: {name} may not be read"):
                content: bytes = self._blob(name).download_as_bytes()
        except NotFound:
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """
        Writes a file: a reader finds the old one or the new one, never a part.

        Raises:
            FilesError: It may not be written there, or cannot.
        """
        if self.remote:
            self._sent(name, content)
            return
        with self._unfinished(name, content) as unfinished:
            unfinished.replace(self._path(name))

    def create(self, name: str, content: bytes) -> bool:
        """
        Writes a file that is not there. Of several who do so at once, one is answered yes.

        Raises:
            FilesError: It may not be written there, or cannot.
        """
        if self.remote:
            from google.api_core.exceptions import PreconditionFailed

            try:
                self._sent(name, content, if_generation_match=0)
            except PreconditionFailed:
                return False
            return True
        with self._unfinished(name, content) as unfinished:
            try:
                # Fails where the name is there, unlike a rename.
                os.link(unfinished, self._path(name))
            except FileExistsError:
                return False
        return True

    def _sent(self, name: str, content: bytes, **only: int) -> None:
        from google.api_core.exceptions import NotFound

        try:
            with _sentences(f"{self.location}: {name} may not be written"):
                self._blob(name).upload_from_string(content, content_type="application/octet-stream", **only)
        except NotFound:
            raise FilesError(f"{self.location}: {name} cannot be written: there is no bucket {self._address[0]}") from None

    @contextmanager
    def _unfinished(self, name: str, content: bytes) -> Iterator[Path]:
        """A hidden file beside *name*, which goes where it is not renamed."""
        path = self._path(name)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(content)
            yield unfinished
        except OSError as error:
            raise FilesError(f"{self.location}: {name} cannot be written: {error.strerror}") from None
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        """
        Deletes a file. One that is not there is fine.

        Raises:
            DeniedError: It may not be deleted.
        """
        if not self.remote:
            self._path(name).unlink(missing_ok=True)
            return
        from google.api_core.exceptions import NotFound

        with suppress(NotFound), _sentences(f"{self.location}: {name} may not be deleted"):
            self._blob(name).delete()

    def names(self) -> list[str]:
        """All files in it and in its folders, sorted. Hidden files are none: they may be unfinished."""
        if not self.remote:
            root = Path(self.location)
            paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
            return sorted(path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts))
        return list(self._blobs())

    def sizes(self) -> dict[str, int]:
        """Bytes of each file, by its name."""
        if self.remote:
            return {name: int(blob.size) for name, blob in self._blobs().items()}
        return {name: self._path(name).stat().st_size for name in self.names()}

    def digests(self) -> dict[str, str]:
        """
        What the content of each file is, by its name: a text that is another where the content is. A bucket's listing tells it, so that
        nothing is fetched: MD5, or CRC-32C and size of an object that was composed and has no other.
        """
        if self.remote:
            return {name: blob.md5_hash or f"{blob.crc32c}{blob.size}" for name, blob in self._blobs().items()}

        def digest(name: str) -> str:
            return base64.b64encode(hashlib.md5(self.find(name) or b"", usedforsecurity=False).digest()).decode()

        names = self.names()
        with ThreadPoolExecutor(PARALLEL) as pool:
            return dict(zip(names, pool.map(digest, names), strict=True))

    def children(self) -> list[str]:
        """Names of the folders in it."""
        return sorted({name.split("/")[0] for name in self.names() if "/" in name})

    def read_json(self, name: str) -> Any:
        """
        Content of a JSON file.

        Raises:
            FilesError: It is not there, or no JSON.
        """
        try:
            return json.loads(self.read(name))
        except ValueError as error:
            raise FilesError(f"{self.location}: {name} is no JSON: {error}") from None

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, json.dumps(value, indent=1, allow_nan=False).encode() + b"\n")

    def upload(self, source: Path) -> None:
        """Sends all files of *source*, and then says that this folder is whole."""
        self.delete(CHECKSUMS)
        names = [path.relative_to(source).as_posix() for path in sorted(source.rglob("*")) if path.is_file()]

        def send(name: str) -> tuple[str, dict[str, Any]]:
            content = (source / name).read_bytes()
            self.write(name, content)
            return name, _checksum(content)

        with ThreadPoolExecutor(PARALLEL) as pool:
            self.write_json(CHECKSUMS, {"files": dict(pool.map(send, [name for name in names if name != CHECKSUMS]))})

    def download(self, target: Path) -> None:
        """
        Fetches all files that its checksums name, and holds each against its own.

        Raises:
            FilesError: It is not whole, or a file is another.
        """
        files = self.checksums()

        def fetch(name: str) -> str:
            content = self.find(name)
            if content is None or _checksum(content) != files[name]:
                return f"{self.location}: {name} is {'not there' if content is None else 'not what its checksum says'}"
            path = target / _relative(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            return ""

        with ThreadPoolExecutor(PARALLEL) as pool:
            if problems := [problem for problem in pool.map(fetch, files) if problem]:
                raise FilesError("\n".join(problems))

    def checksums(self) -> dict[str, dict[str, Any]]:
        """
        Size and SHA-256 of each file of a whole folder.

        Raises:
            FilesError: It is not whole.
        """
        if self.find(CHECKSUMS) is None:
            raise FilesError(f"{self.location} has no {CHECKSUMS}: it is not whole, or not there")
        found = self.read_json(CHECKSUMS)
        files = found.get("files") if isinstance(found, dict) else None
        if not isinstance(files, dict) or not all(isinstance(said, dict) for said in files.values()):
            raise FilesError(f"{self.location}: {CHECKSUMS} does not name files")
        return files

    def erase(self) -> None:
        """Deletes all its files, the one that says that it is whole first."""
        self.delete(CHECKSUMS)
        if not self.remote:
            shutil.rmtree(self.location, ignore_errors=True)
            return
        for name in self.names():
            self.delete(name)

    def _blobs(self) -> dict[str, Any]:
        """
        All objects of it, by their names in it, sorted.

        Raises:
            FilesError: They may not be listed, or there is no such bucket.
        """
        from google.api_core.exceptions import NotFound

        bucket, prefix = self._address
        prefix = f"{prefix}/" if prefix else ""
        try:
            with _sentences(f"{self.location} may not be listed"):
                every = list(_client().list_blobs(bucket, prefix=prefix))
        except NotFound:
            raise FilesError(f"{self.location}: there is no bucket {bucket}") from None
        return dict(sorted((blob.name.removeprefix(prefix), blob) for blob in every if not blob.name.endswith("/")))

    def _path(self, name: str) -> Path:
        return Path(self.location) / _relative(name)

    @property
    def _address(self) -> tuple[str, str]:
        bucket, _, prefix = self.location.removeprefix("gs://").partition("/")
        return bucket, prefix.strip("/")

    def _blob(self, name: str) -> Any:
        bucket, prefix = self._address
        return _client().bucket(bucket).blob(f"{prefix}/{_relative(name)}" if prefix else _relative(name))


def _relative(name: str) -> str:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts:
        raise FilesError(f"{name!r} is no name in a folder")
    return "/".join(parts)


def _checksum(content: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


@contextmanager
def _sentences(what: str) -> Iterator[None]:
    """Says what Google refuses to this account."""
    from google.api_core.exceptions import Forbidden, Unauthorized

    try:
        yield
    except (Forbidden, Unauthorized) as error:
        raise DeniedError(f"{what}: {error.message}") from None


@functools.cache
def _client() -> Any:
    from google.cloud import storage

    return storage.Client()
