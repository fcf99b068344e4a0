"""The generated project: the user's own stack files, led to the sandbox; nothing tracked is written."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.check import StackFile
from infra.clouds import cloud_of
from infra.errors import MachineError
from infra.local import project
from infra.local.home import Home
from infra.stack import StackSpec

ROOT = Path(__file__).parents[2]
BASE = "http://127.0.0.1:9555"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "infra").mkdir()
    for name in ("Pulumi.yaml", "infra/__main__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def write(checkout: Path, file: Path, base: str = BASE) -> tuple[Home, dict[str, Any]]:
    home = Home.of(checkout)
    home.prepare()
    project.write(home, checkout, [StackFile("try", file)], base)
    return home, YAML(typ="safe", pure=True).load((home.stacks / "Pulumi.try.yaml").read_text(encoding="utf-8"))


def test_the_copy_says_what_the_file_says_and_where_the_sandbox_is(
    checkout: Path, base: dict[str, Any], stack_file: Callable[..., Path]
) -> None:
    base["accelform:budgets"]["credit"] = {
        "amount": "300 USD",
        "spend": "before-credits",
        "period": {"from": dt.date(2026, 12, 1), "until": dt.date(2027, 2, 28)},
    }
    file = stack_file(base, secretsprovider="gcpkms://projects/p", encryptedkey="abc")
    before = file.read_bytes()
    home, data = write(checkout, file)
    assert file.read_bytes() == before
    assert set(data) == {"config"}  # the cloud's key is not the sandbox's
    config = data["config"]
    assert {key: value for key, value in config.items() if key in base} == base
    assert config["accelform:cloud"] == "sandbox"
    assert config["gcp:computeCustomEndpoint"] == f"{BASE}/compute.googleapis.com/compute/beta/"
    cloud, rest = cloud_of(config, {})
    assert cloud.name == "sandbox"
    assert StackSpec.load(file) == StackSpec._from_config(rest, project_file(), [], None)
    assert (home.project / "infra").resolve() == checkout / "infra"


def project_file() -> Any:
    from infra.yaml_file import YamlFile

    return YamlFile("x", {}, {})


def test_what_the_engine_wrote_into_the_copy_stays(checkout: Path, base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    file = stack_file(base)
    home, _ = write(checkout, file)
    copy = home.stacks / "Pulumi.try.yaml"
    copy.write_text("encryptionsalt: v1:abc\n" + copy.read_text(encoding="utf-8"), encoding="utf-8")
    stack_file(base | {"accelform:owner": "others"})
    _, data = write(checkout, file, "http://127.0.0.1:7")
    assert data["encryptionsalt"] == "v1:abc"
    assert data["config"]["accelform:owner"] == "others"
    assert data["config"]["gcp:tpuV2CustomEndpoint"].startswith("http://127.0.0.1:7/")


def test_a_checkout_is_found_from_within_and_nowhere_else(checkout: Path) -> None:
    assert project.checkout(checkout / "infra") == checkout
    (checkout / "Pulumi.yaml").unlink()
    with pytest.raises(MachineError, match="not in a checkout"):
        project.checkout(checkout / "infra")
