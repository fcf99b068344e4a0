"""
Fetches the official Pulumi CLI into the user's cache folder, where the network has it.

A machine without that network is told within seconds, and why is kept for `accelform doctor`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import platform
import re
import shutil
import stat
import tarfile
import threading
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from infra.local.engine import find
from infra.local.engine.atomic import made_beside, put

if TYPE_CHECKING:
    import httpx

SITE = "https://get.pulumi.com"
OFFLINE = "ACCELFORM_OFFLINE"
"""Environment variable: set to anything but 0, nothing is fetched."""
FIRST_ANSWER_SECONDS = 4.0
"""How long the whole of the first, small answer may take: a name that resolves slowly, each address of it, a proxy."""
STALL_SECONDS = 15.0
"""How long the download may stand still."""
SMALL_BYTES = 1_000_000
SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
"""What Python calls a machine -> what the official archives are named after. Source: the install script of https://get.pulumi.com."""


class NotFetchedError(Exception):
    """Why the official engine was not fetched, in a few words."""


def fetch(site: str = SITE, *, first_answer: float = FIRST_ANSWER_SECONDS, stall: float = STALL_SECONDS) -> find.Engine:
    """
    The official engine, from the network.

    Raises:
        NotFetchedError: It is not to be had here. The reason is kept: `tried` answers it.
    """
    try:
        if offline():
            raise NotFetchedError(f"{OFFLINE} is set")
        _fetch(site, first_answer, stall)
        engine = find.fetched()
        if engine is None:
            raise NotFetchedError(f"it is not in {find.fetched_folder()}")
    except (NotFetchedError, OSError) as error:
        _note(str(error))
        raise NotFetchedError(str(error)) from None
    _tried_file().unlink(missing_ok=True)
    return engine


def offline() -> bool:
    return os.environ.get(OFFLINE, "0") not in ("", "0")


def tried() -> str:
    """When and why the last try failed; empty where none did."""
    try:
        return _tried_file().read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _tried_file() -> Path:
    return find.fetched_folder().with_name(f"pulumi-official-v{find.VERSION}.not-fetched")


def _note(reason: str) -> None:
    path = _tried_file()
    with suppress(OSError):  # who cannot keep it was told all the same
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{dt.datetime.now(dt.UTC):%Y-%m-%d}: {reason}\n", encoding="utf-8")


def archive() -> str:
    """
    File name of this machine's archive.

    Raises:
        NotFetchedError: There is none.
    """
    system, machine = SYSTEMS.get(platform.system()), MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        raise NotFetchedError(f"there is no official archive for {platform.system()} on {platform.machine()}")
    return f"pulumi-v{find.VERSION}-{system}-{machine}.tar.gz"


def reach(url: str, seconds: float, *, method: str = "GET") -> str:
    """
    A small answer, all of it within *seconds*: also where the name resolves slowly, or every address is silent.

    Raises:
        NotFetchedError: It did not come.
    """
    import httpx

    client = _client(seconds)
    answers: list[str] = []
    failures: list[str] = []

    def ask() -> None:
        try:
            with client, client.stream(method, url) as response:
                response.raise_for_status()
                text = b""
                for chunk in response.iter_bytes():
                    text += chunk
                    if len(text) > SMALL_BYTES:
                        raise ValueError("the answer is longer than it may be")
                answers.append(text.decode("utf-8", errors="replace"))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            failures.append(_said(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    if answers:
        return answers[0]
    raise NotFetchedError(f"{url}: {failures[0] if failures else f'no answer within {seconds:g} s'}")


def _client(seconds: float) -> httpx.Client:
    import httpx

    try:
        return httpx.Client(timeout=seconds, follow_redirects=True, trust_env=True)
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        raise NotFetchedError(f"the environment's proxy or certificates cannot be used: {_said(error)}") from None


def _said(error: Exception) -> str:
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return f"answered {error.response.status_code}"
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _fetch(site: str, first_answer: float, stall: float) -> None:
    name = archive()
    wanted = _checksum(reach(f"{site}/releases/sdk/pulumi-{find.VERSION}-checksums.txt", first_answer), name)
    final = find.fetched_folder()
    with made_beside(final, "fetching") as folder:
        packed = folder / name
        got = _download(f"{site}/releases/sdk/{name}", packed, stall)
        if got != wanted:
            raise NotFetchedError(f"{site}/releases/sdk/{name}: its SHA-256 is {got}, the published one is {wanted}")
        unpacked = folder / "engine"
        _unpack(packed, unpacked)
        if find.version_of(unpacked / "pulumi") != find.VERSION:
            raise NotFetchedError(f"{site}/releases/sdk/{name}: the engine in it does not run on this machine")
        put(unpacked, final)


def _checksum(text: str, name: str) -> str:
    """The SHA-256 of a file, from lines of `sha256sum`."""
    match = re.search(rf"^([0-9a-f]{{64}})\s+\*?{re.escape(name)}\s*$", text, re.MULTILINE)
    if match is None:
        raise NotFetchedError(f"the published checksums of {find.VERSION} do not name {name}")
    return match[1]


def _download(url: str, path: Path, stall: float) -> str:
    """Downloads with progress, and answers the SHA-256 of what came."""
    import httpx
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True, highlight=False)
    title = f"fetching the official Pulumi engine v{find.VERSION}"
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    digest = hashlib.sha256()
    try:
        with (
            _client(stall) as client,
            client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response,
            path.open("wb") as file,
            Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
        ):
            response.raise_for_status()
            size = int(response.headers.get("content-length") or 0)
            if not console.is_terminal:
                console.print(f"{title}: {size / 1e6:.0f} MB")
            task = progress.add_task(title, total=size or None)
            for chunk in response.iter_raw():  # as it was published: some servers call an archive an encoding
                file.write(chunk)
                digest.update(chunk)
                progress.advance(task, len(chunk))
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise NotFetchedError(f"{url}: {_said(error)}") from None
    return digest.hexdigest()


def _unpack(packed: Path, folder: Path) -> None:
    """Takes the programs of `pulumi/` (older archives: `pulumi/bin/`), each by its own name: nothing can be written elsewhere."""
    folder.mkdir()
    try:
        with tarfile.open(packed, "r:gz") as archive_file:
            for member in archive_file:
                parts = PurePosixPath(member.name).parts
                if not member.isfile() or parts[:-1] not in (("pulumi",), ("pulumi", "bin")) or parts[-1] == "..":
                    continue
                source = archive_file.extractfile(member)
                assert source is not None  # it is a file
                target = folder / parts[-1]
                with target.open("wb") as file:
                    shutil.copyfileobj(source, file)
                target.chmod(target.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise NotFetchedError(f"{packed.name}: is no archive: {error}") from None
