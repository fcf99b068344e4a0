"""The real engine over a copy of the project, a backend of its own, and a provider that only echoes."""

from __future__ import annotations

import datetime as dt
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from infra.local.engine import find
from infra.local.engine.fetch import OFFLINE
from infra.local.home import Home
from infra.sandbox import process
from tests.engine.region import Region

ROOT = Path(__file__).parents[2]
SECONDS = 120
PROVIDER = ("infra/provider/PulumiPlugin.yaml", "infra/provider/__main__.py")


class Ran(NamedTuple):
    code: int
    text: str

    @property
    def changes(self) -> dict[str, int]:
        """What `--json` says would be, or was, done: operation -> number of resources."""
        data: dict[str, Any] = json.loads(self.text)
        return {kind: count for kind, count in data["changeSummary"].items() if count}


class Project:
    """A stack of the project, under the real engine."""

    def __init__(self, folder: Path, engine: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.engine = engine
        for name in ("Pulumi.yaml", "infra/__main__.py", "infra/policy/PulumiPolicy.yaml", "infra/policy/__main__.py", *PROVIDER):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        (folder / "stacks").mkdir()
        (folder / "state").mkdir()
        plugin = folder / "home" / "plugins" / "resource-gcp-v10.2.0"
        shutil.copytree(Path(__file__).parent / "provider", plugin)
        self.write(config)
        self.run("stack", "init", "try")

    def write(self, config: dict[str, Any]) -> None:
        path = self.folder / "stacks" / "Pulumi.try.yaml"
        before = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")) if path.exists() else {}
        with path.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(before | {"config": config}, file)

    def run(self, *arguments: str, **env: str) -> Ran:
        """`pulumi ARGUMENTS`; standard output alone, where it is JSON."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI", "GOOGLE", "ECHO"))}
        own = {
            "PATH": f"{self.engine.parent}:{clean['PATH']}",
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "only for this test",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
            "ACCELFORM_PYTHON": sys.executable,
        }
        done = subprocess.run(
            [str(self.engine), *arguments, "--non-interactive"],
            cwd=self.folder,
            env=clean | own | env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout if "--json" in arguments else done.stdout + done.stderr)


@pytest.fixture
def project(tmp_path: Path) -> Callable[[dict[str, Any]], Project]:
    """Makes a stack of a configuration, where the engine was built here."""
    engine = find.built()
    if engine is None:
        pytest.skip("the engine was not built on this machine: python -m infra.local.engine.build")
    return lambda config: Project(tmp_path, engine.path, config)


@pytest.fixture
def everything(base: dict[str, Any], a_slice: dict[str, Any]) -> dict[str, Any]:
    """A stack with every component, both ways of a TPU machine, and dates as YAML writes them."""
    base["accelform:notify"] = ["email:ml@shop.example"]
    base["accelform:tpu_slices"] = {"eval": a_slice, "node": a_slice | {"way": "tpu-api"}}
    base["accelform:models"] = {
        "recommender": {
            "image": f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:{64 * '0'}",
            "port": 8080,
            "predict_route": "/predict",
            "health_route": "/health",
        }
    }
    base["accelform:endpoints"] = {"recommend": {"callers": ["group:ml@shop.example"]}}
    base["accelform:budgets"]["free-credit"] = {
        "amount": "300 USD",
        "period": {"from": dt.date(2026, 12, 1), "until": dt.date(2027, 2, 28)},
        "spend": "before-credits",
    }
    return base


@pytest.fixture
def region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Any]], Region]]:
    """Makes a checkout with one stack, where an engine is: with the stand-ins, and no look for the official plugins. Its sandbox ends with the test."""
    if find.find() is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    monkeypatch.setenv(OFFLINE, "1")
    yield lambda config: Region(tmp_path, config)
    process.stop(Home.of(tmp_path).sandbox)
    gc.collect()  # what a command left open fails this test, not a later one
