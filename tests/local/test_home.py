"""The folder of a checkout's runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from infra.errors import MachineError
from infra.local.home import Home


def test_one_command_at_a_time(tmp_path: Path) -> None:
    """Who finds another at work says which, and touches nothing."""
    home = Home.of(tmp_path)
    with home.alone("up"), pytest.raises(MachineError, match=r"accelform up \(process \d+\) is at work here"), home.alone("down"):
        pytest.fail("two at once")
    with home.alone("down"):
        pass


def test_the_folder_may_go_while_it_is_held(tmp_path: Path) -> None:
    """`down` takes it away, lock and all; the next command makes it anew and is alone in it."""
    home = Home.of(tmp_path)
    with home.alone("down"):
        shutil.rmtree(home.folder)
        with home.alone("up"), pytest.raises(MachineError), home.alone("env"):
            pytest.fail("two at once")


def test_git_sees_nothing_of_it_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    home.prepare()
    assert (home.folder / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert home.passphrase.stat().st_mode & 0o077 == 0
    before = home.passphrase.read_text(encoding="utf-8")
    home.prepare()
    assert home.passphrase.read_text(encoding="utf-8") == before


def test_a_run_inherits_nothing_that_leads_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backends, tokens and credentials of real projects stay outside; the rest of the environment is the user's."""
    for name in ("PULUMI_BACKEND_URL", "PULUMI_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CORE_PROJECT"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("LANG", "zh_TW.UTF-8")
    env = Home.of(tmp_path).env()
    assert "theirs" not in env.values()
    assert env["LANG"] == "zh_TW.UTF-8"
    assert env["PULUMI_BACKEND_URL"].startswith("file://")
