"""What the engine says, and a repository with stacks."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

Git = Callable[..., str]
POOL = "gcp:container/nodePool:NodePool"


def begun(op: str, type_: str = "gcp:storage/bucket:Bucket", name: str = "data", **more: Any) -> dict[str, Any]:
    """The engine begins with a resource."""
    urn = f"urn:pulumi:try::accelform::accelform:x:X${type_}::{name}"
    return {"resourcePreEvent": {"metadata": {"op": op, "urn": urn, "type": type_, **more}}}


def summary(**changes: int) -> dict[str, Any]:
    return {"summaryEvent": {"resourceChanges": changes}}


def lines(*events: dict[str, Any] | str) -> list[str]:
    return [one if isinstance(one, str) else json.dumps(one) for one in events]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Git]:
    """A repository with a program, two regions and what lives in a cluster of one of them, and its git."""
    for name in [one for one in os.environ if one.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(name, value)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "a")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@shop.example")
    root = tmp_path / "checkout"
    (root / "stacks").mkdir(parents=True)
    (root / "infra").mkdir()
    (root / "infra" / "__main__.py").write_text("print()\n", encoding="utf-8")
    (root / "Pulumi.yaml").write_text("name: accelform\n", encoding="utf-8")
    (root / "README.md").write_text("read\n", encoding="utf-8")
    (root / "stacks" / "stack.schema.json").write_text("{}\n", encoding="utf-8")
    write(root, "asia", {"gcp:project": "shop-ml"})
    write(root, "europe", {"gcp:project": "shop-ml"})
    write(root, "asia-apps", {"gcp:project": "shop-ml", "accelform:kind": "apps", "accelform:region_stack": "asia"})

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    return root, git


def write(root: Path, stack: str, config: dict[str, Any], **top: Any) -> Path:
    path = root / "stacks" / f"Pulumi.{stack}.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump({"config": config, **top}, file)
    return path
