"""What is installed on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.findings import Found
from infra.local import machine


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
    (tmp_path / "plugins" / "resource-gcp-v10.2.0").mkdir(parents=True)
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
