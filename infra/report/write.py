"""Where pages go, and how they get there: whole or not at all, and never over a file of somebody else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from infra.errors import Problem, SpecError
from infra.report.document import GENERATOR

DEFAULT = "reports"
"""Where nothing else is told: a folder that git does not see, and that `accelform down` leaves alone."""
SUFFIXES = (".html", ".htm")
INDEX = "index"
HEAD_BYTES = 4096
"""In which a page of ours says so."""


def targets(said: str | None, stacks: Sequence[str]) -> dict[str, Path]:
    """
    The file of each stack's page, by stack; with several, the file of their index under the empty name.

    Args:
        said: A file that ends with .html, for one stack; else a folder.

    Raises:
        SpecError: It cannot be either.
    """
    if said is None:
        return _in(Path(DEFAULT), stacks)
    path = Path(said)
    if not said.strip() or "\0" in said:
        raise _refused(said, "is no name of a file or a folder", "a file that ends with .html, or a folder")
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:
        raise _refused(said, f"cannot be looked at: {error.strerror or error}") from None
    if is_folder or said.endswith("/") or (path.suffix.lower() not in SUFFIXES and not is_file):
        return _in(path, stacks)
    if path.suffix.lower() not in SUFFIXES:
        raise _refused(said, "is a file that is not named like a page", "a file that ends with .html, or a folder")
    if len(stacks) > 1:
        raise _refused(said, f"is one file, for {len(stacks)} stacks", "a folder", f"--html {path.with_suffix('')}, or name one stack")
    return {stacks[0]: path}


def _in(folder: Path, stacks: Sequence[str]) -> dict[str, Path]:
    pages = {stack: folder / f"{stack}.html" for stack in stacks}
    if len(stacks) == 1:
        return pages
    if INDEX in pages:
        fix = f"write that stack's page alone: accelform report {INDEX} --html FILE"
        raise _refused(str(pages[INDEX]), f"would be the page of the stack {INDEX} and the list of all", fix=fix)
    twice = [stack for number, stack in enumerate(stacks) if stack in stacks[:number]]
    if twice:
        raise _refused(str(folder), f"would get two pages of the name {twice[0]}", fix="report each into a folder of its own")
    return {**pages, "": folder / f"{INDEX}.html"}


def check(paths: Sequence[Path], *, force: bool) -> None:
    """
    Raises:
        SpecError: With each file that is there and is not ours, or is no file.
    """
    problems = []
    for path in paths:
        try:
            if path.is_dir():
                problems.append(Problem(str(path), "is a folder", "a file", "remove it, or name another place with --html"))
            elif path.exists() and not path.is_file():
                problems.append(Problem(str(path), "is a device or the like", "a file", "name another place with --html"))
            elif path.exists() and not force and not _ours(path):
                fix = "--force overwrites it; --html names another place"
                problems.append(Problem(str(path), "is there already, and is no report", fix=fix))
        except OSError as error:
            problems.append(Problem(str(path), f"cannot be looked at: {error.strerror or error}"))
    if problems:
        raise SpecError("--html", problems)


def _ours(path: Path) -> bool:
    with path.open("rb") as file:
        return f'content="{GENERATOR}"'.encode() in file.read(HEAD_BYTES)


def write(pages: Iterable[tuple[Path, str]]) -> list[Path]:
    """
    Writes every page beside its place first, and moves them there when all are written: a full disk leaves what was there.

    Pages are taken one by one, for each is 5 MB. Answers where they are.

    Raises:
        SpecError: One cannot be written.
    """
    drafts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, text in pages:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".draft", delete=False, encoding="utf-8") as file:
                drafts[path] = Path(file.name)
                file.write(text)
            drafts[path].chmod(0o644)
        written = list(drafts)
        for path in written:
            drafts.pop(path).replace(path.resolve())
        return written
    except OSError as error:
        raise _refused(str(path), f"cannot be written: {error.strerror or error}") from None
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _refused(said: str, message: str, allowed: str = "", fix: str = "") -> SpecError:
    return SpecError("--html", [Problem(said, message, allowed, fix)])
