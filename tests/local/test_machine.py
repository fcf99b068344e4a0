"""What is installed on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from infra.findings import Found
from infra.local import machine
from infra.local.engine import find


def found(check: str) -> Found:
    return next(one for one in machine.inspect() if one.check == check)


def program(folder: Path, name: str, says: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {says}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(("says", "level"), [("v3.274.1", "ok"), ("v3.100.0", "failed"), ("nonsense", "warning")])
def test_the_engine_is_judged_by_its_version(says: str, level: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A current engine is fine, an old one is not, and one that does not say is doubtful."""
    program(tmp_path, "pulumi", says)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert found("engine").level == level


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (find.fetched_folder, "the official one, fetched: none is on PATH"),
        (find.cache, "built here: no official one is on PATH, and it could not be fetched (2026-11-30: no network)"),
    ],
)
def test_which_engine_it_is_and_why(folder: Callable[[], Path], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Never a silent switch: fetched or built here, and what was tried before."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder().mkdir(parents=True)
    (folder() / "pulumi").touch()
    find.fetched_folder().with_name(f"pulumi-official-v{find.VERSION}.not-fetched").write_text("2026-11-30: no network\n", encoding="utf-8")
    engine = found("engine")
    assert engine.level == "ok"
    assert f"pulumi {find.VERSION}, {said} ({folder()}/pulumi)" == engine.message


@pytest.mark.parametrize(
    ("file", "said"), [("PulumiPlugin.yaml", "the stand-in of this project"), ("pulumi-resource-gcp", "the official one")]
)
def test_which_plugin_runs_here(file: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a checkout where something was brought up, the plugin is said; of another, nothing."""
    monkeypatch.chdir(tmp_path)
    assert "gcp plugin of `accelform up`" not in [one.check for one in machine.inspect()]
    folder = tmp_path / ".accelform" / "pulumi" / "plugins" / "resource-gcp-v10.2.0"
    folder.mkdir(parents=True)
    (folder / file).touch()
    assert said in found("gcp plugin of `accelform up`").message


def test_what_is_missing_is_only_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A check needs neither engine, gcloud nor credentials."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    for check in ("engine", "gcp plugin", "gcloud", "credentials"):
        assert (found(check).level, bool(found(check).fix)) == ("warning", True)


def test_credentials_and_plugin_are_found_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The engine's folder and the variable of Google's clients are honoured."""
    folder = tmp_path / "plugins" / "resource-gcp-v10.2.0"
    folder.mkdir(parents=True)
    (folder / "pulumi-resource-gcp").touch()
    (tmp_path / "key.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    assert (found("gcp plugin").level, found("credentials").level) == ("ok", "ok")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    assert "which is not there" in found("credentials").message


def test_another_version_of_an_sdk_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pinned SDK chooses the plugin: another one would change what is diffed."""
    monkeypatch.setattr(machine.metadata, "version", lambda package: "9.9.9")
    assert (found("pulumi-gcp").level, "10.2.0 is pinned" in found("pulumi-gcp").message) == ("failed", True)
