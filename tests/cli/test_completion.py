"""Words that a shell completes: the script that bash reads works in bash, and what is asked at a TAB is quick."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.cli.words import KINDS, stack_names, thing_names
from infra.operate.things import of
from infra.stack_kinds import load

ROOT = Path(__file__).parents[2]


def bash(tmp_path: Path, *words: str) -> list[str]:
    """What bash would offer for the last of the words, by the script that we print."""
    program = tmp_path / "accelform"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from infra.cli.app import main; main()" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    text = (
        f'source <("{program}" completion bash)\nCOMP_WORDS=(accelform {" ".join(words)})\nCOMP_CWORD={len(words)}\n'
        f'_accelform_completion "{program}"\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
    )
    env = {key: value for key, value in os.environ.items() if key != "ACCELFORM_STACKS"} | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "--norc", "-c", text], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on this machine")
def test_bash_completes_commands_options_stacks_and_things(tmp_path: Path) -> None:
    assert {*bash(tmp_path, "stat")} == {"state", "status"}
    assert "--follow" in bash(tmp_path, "logs", "--f")
    assert bash(tmp_path, "check", "us-ea") == ["us-east5"]
    assert "endpoints.recommend" in bash(tmp_path, "open", "endpoints.")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(accelform: Any, shell: str) -> None:
    ran = accelform("completion", shell)
    assert ran.code == 0
    assert "_ACCELFORM_COMPLETE" in ran.out


@pytest.mark.parametrize("shell", ["", "powershell", "BASH", "sh; rm", "東京"])
def test_another_shell_is_a_sentence(accelform: Any, shell: str) -> None:
    ran = accelform("completion", shell)
    assert ran.code == 2
    assert "allowed: bash, zsh, fish" in ran.err


def test_the_words_are_those_that_the_files_really_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "stacks")
    monkeypatch.delenv("ACCELFORM_STACKS", raising=False)
    files = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    assert stack_names("") == sorted(path.name.split(".")[1] for path in files)
    offered = set(thing_names(""))
    for path in files:
        spec = load(path)
        assert {one.path for one in of(spec, "x") if one.kind in KINDS} <= offered, path
    assert stack_names("us-") == [name for name in stack_names("") if name.startswith("us-")]
    assert stack_names("zz") == thing_names("zz") == []


def test_files_that_cannot_be_read_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELFORM_STACKS", str(tmp_path))
    (tmp_path / "Pulumi.a.yaml").mkdir()
    (tmp_path / "Pulumi.b.yaml").write_bytes(b"config:\n  accelform:jobs:\n    night:\n      x: \xff\n  other: 1\n    not-one: 2\n")
    (tmp_path / "Pulumi.B.yaml").write_text("", encoding="utf-8")
    assert stack_names("") == ["a", "b"]
    assert thing_names("") == ["jobs.night", "night"]
    monkeypatch.setenv("ACCELFORM_STACKS", str(tmp_path / "nowhere"))
    assert stack_names("") == thing_names("") == []
