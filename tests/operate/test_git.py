"""Files at a git ref: read from the repository, without a look at the work tree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.errors import MachineError, SpecError
from infra.operate.git import Commit

Git = Callable[..., str]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two commits of a stack file, the second one on `main`, the first tagged."""
    for name in [one for one in os.environ if one.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@shop.example",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@shop.example",
    }.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "a folder" / "stacks"
    folder.mkdir(parents=True)
    git = runner(folder.parent)
    git("init", "-q", "-b", "main")
    (folder / "Pulumi.one.yaml").write_bytes(b"first\r\n")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    git("tag", "v1")
    (folder / "Pulumi.one.yaml").write_bytes(b"second")
    (folder / "Pulumi.zwei ü.yaml").write_bytes(b"new")
    git("add", "-A")
    git("commit", "-q", "-m", "second")
    return folder


def runner(folder: Path) -> Git:
    return lambda *arguments: subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_reads_files_as_they_were(repository: Path) -> None:
    """Bytes of the commit, not of the work tree; a file that it did not have is none."""
    (repository / "Pulumi.one.yaml").write_text("edited")
    then = Commit.at("v1", repository)
    assert then.sha == runner(repository)("rev-parse", "v1")
    assert then.content(repository / "Pulumi.one.yaml") == b"first\r\n"
    assert then.content(repository / "Pulumi.zwei ü.yaml") is None
    assert then.path_of(repository / "Pulumi.one.yaml") == "stacks/Pulumi.one.yaml"
    assert then.files(repository) == ["Pulumi.one.yaml"]
    assert Commit.at("main", repository).files(repository) == ["Pulumi.one.yaml", "Pulumi.zwei ü.yaml"]
    assert then.files(repository / "nowhere") == []
    assert Commit.at("v1", repository).files(repository.parent) == ["stacks"]


def test_a_hooks_own_repository_is_not_asked(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git runs hooks with the variables of their repository: the one that holds the folder is read all the same."""
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert Commit.at("v1", repository).content(repository / "Pulumi.one.yaml") == b"first\r\n"


def test_touches_nothing(repository: Path) -> None:
    """Neither the work tree nor the index changes, whatever is staged or edited."""
    (repository / "Pulumi.one.yaml").write_text("edited")
    (repository / "Pulumi.zwei ü.yaml").unlink()
    git = runner(repository)
    index = repository.parent / ".git" / "index"
    before = (git("status", "--porcelain"), index.read_bytes())
    Commit.at("v1", repository).content(repository / "Pulumi.one.yaml")
    assert (git("status", "--porcelain"), index.read_bytes()) == before


@pytest.mark.parametrize(
    "ref", ["nowhere", "-h", "--output=out", "--all", "v1:stacks", "", "a\nb", "a\0b", "v1 main", "🦊", "x" * 500, "x" * 200_000]
)
def test_fails_on_a_ref_that_is_no_commit(ref: str, repository: Path) -> None:
    """What git does not know is refused with what to do, and is never taken for an option."""
    with pytest.raises(SpecError) as refused:
        Commit.at(ref, repository)
    assert "fix: " in str(refused.value)
    assert not (repository.parent / "out").exists()


def test_fails_outside_a_repository(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of no repository, and a file outside of it, are refused."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(SpecError, match="is in no git repository"):
        Commit.at("v1", tmp_path)
    with pytest.raises(SpecError, match="is outside the git repository"):
        Commit.at("v1", repository).content(tmp_path / "Pulumi.one.yaml")


def test_fails_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without git is told which program lacks."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MachineError, match="git cannot be run"):
        Commit.at("v1", repository)


def test_fails_where_git_cannot_read_what_it_names(repository: Path) -> None:
    """A commit without its objects, as in a partial clone, is not a commit without the file."""
    then = Commit.at("v1", repository)
    blob = runner(repository)("rev-parse", "v1:stacks/Pulumi.one.yaml")
    (repository.parent / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(SpecError, match="git cannot read this commit"):
        then.content(repository / "Pulumi.one.yaml")
