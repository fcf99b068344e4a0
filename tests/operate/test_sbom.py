"""What an image holds, as a list that others read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.cli.app import main
from infra.errors import MachineError
from infra.operate import sbom
from infra.operate.images import ROOT, archive, names, tag

NOW = 1_800_000_000.0


@pytest.mark.parametrize("name", names())
def test_every_pinned_package_is_in_the_list(name: str) -> None:
    """And the base, by its digest; each once, under an id that SPDX allows; the version is the tag of the image."""
    found = sbom.document(name, NOW)
    image, base, *packages = found["packages"]
    lock = (ROOT / "requirements" / f"image-{name}.lock").read_text()

    assert [f"{one['name']}=={one['versionInfo']}" for one in packages] == re.findall(r"^\S+==\S+", lock, re.MULTILINE)
    assert (image["versionInfo"], found["name"]) == (tag(archive(name)), f"{name}:{tag(archive(name))}")
    assert "@sha256%3A" in base["externalRefs"][0]["referenceLocator"]
    ids = [one["SPDXID"] for one in found["packages"]]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    assert [one["relatedSpdxElement"] for one in found["relationships"]] == ids
    assert found["creationInfo"]["created"] == "2027-01-15T08:00:00Z"


def test_a_purl_names_a_package_as_the_index_does() -> None:
    packages = {one["name"]: one for one in sbom.document("serve", NOW)["packages"]}
    jax = packages["jax"]
    assert jax["externalRefs"] == [
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:pypi/jax@{jax['versionInfo']}"}
    ]


@pytest.mark.parametrize(("spoiled", "says"), [("lock", "image-serve.lock: pins nothing"), ("Dockerfile", "Dockerfile: pins nothing")])
def test_fails_where_nothing_is_pinned(tmp_path: Path, spoiled: str, says: str) -> None:
    folder = tmp_path / "workloads" / "images" / "serve"
    folder.mkdir(parents=True)
    (tmp_path / "requirements").mkdir()
    base = f"FROM docker.io/library/python:3.12@sha256:{64 * '0'}\n" if spoiled == "lock" else "FROM python\n"
    (folder / "Dockerfile").write_text(f"{base}COPY requirements/image-serve.lock x\n")
    (tmp_path / "requirements" / "image-serve.lock").write_text("# nothing\n" if spoiled == "lock" else "a==1\n")
    with pytest.raises(MachineError, match=says):
        sbom.document("serve", NOW, tmp_path)


def test_the_command_prints_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, for a file; a name that is none is refused."""
    monkeypatch.setattr("sys.argv", ["accelform", "image", "sbom", "serve"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["spdxVersion"] == "SPDX-2.3"
    monkeypatch.setattr("sys.argv", ["accelform", "image", "sbom", "sreve"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "'sreve': is no image" in capsys.readouterr().err
