"""Files as they are at a git ref. Reads the repository only: neither work tree nor index is looked at or touched."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from infra.errors import MachineError, Problem, SpecError

QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
"""No lock, no question, no call over the network, and words that can be read here."""

REF_MAX = 1000
"""Letters of a ref: what is longer is no name of anything."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the repository that holds a folder."""

    root: Path
    """Top of the work tree."""
    ref: str
    """As the user named it."""
    sha: str

    @classmethod
    def at(cls, ref: str, folder: Path) -> Self:
        """
        The commit that *ref* means in the repository that holds *folder*.

        Raises:
            MachineError: There is no git on PATH.
            SpecError: The folder is in no git repository, or the ref is no commit of it.
        """
        if not ref or not ref.isprintable() or len(ref) > REF_MAX:
            raise _refused(repr(ref[:60]), "is not a git ref", "a branch, a tag or a commit", "for example --against origin/main")
        inside = folder if os.path.isdir(folder) else Path()  # a name that no file system takes is no folder
        top = _git(inside, "rev-parse", "--show-toplevel")
        if top.returncode:
            said = _words(top.stderr) or "git finds no repository"
            fix = "run it in a checkout of the repository that holds the stack files; git init begins one"
            raise _refused(str(inside), f"is in no git repository that can be read: {said}", "", fix)
        root = Path(os.fsdecode(top.stdout.removesuffix(b"\n")))
        # A ref that begins with a dash would be an option.
        found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if found.returncode:
            fix = "git fetch origin, and name it as origin/BRANCH; a checkout in CI often has one commit only (fetch-depth: 0)"
            raise _refused(ref, "git knows no such commit here", "a branch, a tag or a commit", fix)
        return cls(root, ref, found.stdout.decode().strip())

    def files(self, folder: Path) -> list[str]:
        """
        Names of what is right in *folder* at this commit, sorted; none where it had no such folder.

        Raises:
            SpecError: The folder is outside the repository, or git cannot read it.
        """
        inside = self.path_of(folder)
        place = [] if inside == "." else [f"{inside}/"]
        listed = self._read("ls-tree", "-z", "--name-only", "--full-tree", self.sha, "--", *place)
        return sorted(os.fsdecode(name).rpartition("/")[2] for name in listed.split(b"\0") if name)

    def content(self, path: Path) -> bytes | None:
        """
        The file as it is at this commit; None where it had no such file.

        Raises:
            SpecError: The file is outside the repository, or git cannot read it.
        """
        inside = self.path_of(path)
        if not self._read("ls-tree", "-z", "--name-only", "--full-tree", self.sha, "--", inside):
            return None
        return self._read("cat-file", "blob", f"{self.sha}:{inside}")

    def changes(self) -> list[str]:
        """
        Every path, as the repository names it, at which what is checked out (`HEAD`) differs from this commit.

        Raises:
            SpecError: Git cannot read one of the two.
        """
        names = self._read("diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", self.sha, "HEAD", "--")
        return sorted(os.fsdecode(name) for name in names.split(b"\0") if name)

    def _read(self, *arguments: str) -> bytes:
        done = _git(self.root, *arguments)
        if done.returncode:
            raise _refused(self.ref, f"git cannot read this commit: {_words(done.stderr)}", "", f"git fetch origin {self.sha}")
        return done.stdout

    def path_of(self, path: Path) -> str:
        """A path as the repository names it."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            raise _refused(str(path), f"is outside the git repository {self.root}", "", "name stack files of this repository") from None


def origin(folder: Path) -> str | None:
    """
    Address of the remote `origin` of the repository that holds *folder*, without credentials; None where it has none.

    Raises:
        MachineError: There is no git on PATH.
    """
    found = _git(folder, "remote", "get-url", "origin")
    return re.sub(r"(?<=://)[^/@]*@", "", found.stdout.decode(errors="replace").strip()) if not found.returncode else None


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        # A hook's GIT_DIR names its own repository, by a path that holds in another folder only.
        env = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")} | QUIET
        return subprocess.run(["git", "-C", str(folder), *arguments], check=False, capture_output=True, env=env)
    except OSError as error:
        said = f"git cannot be run ({error.strerror}), and --against reads the files of another commit by it"
        raise MachineError(f"{said}\n  fix: install git, and see that it is on PATH") from None


def _words(stderr: bytes) -> str:
    """The first line that git says, without its own mark."""
    return stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: ")


def _refused(what: str, message: str, allowed: str, fix: str) -> SpecError:
    return SpecError("--against", [Problem(what, message, allowed, fix)])
