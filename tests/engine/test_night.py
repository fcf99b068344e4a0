"""A night of a shop on this machine: a real training, the verdict, the rollout, and answers of the model that came of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from infra.sandbox import process
from tests.engine.region import Region

PLACE = "projects/tw-shop-ml/locations/us-east5"
MODELS = "tw-shop-ml-try-models"
NIGHT = ("jobs", "run", "train", "--here", "--ask", '{"user": "u1"}', "--ask", '{"history": ["p3", "p7"]}')


@pytest.fixture
def shop(base: dict[str, Any]) -> dict[str, Any]:
    """One chip, the least that learns, and a rollout of two steps."""
    digits = {"runner": "1", "train": "2", "serve": "3"}
    base["accelform:images"] = {
        name: f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/{name}@sha256:{64 * digit}" for name, digit in digits.items()
    }
    base["accelform:jobs"] = {
        "train": {
            "workload": "train_recommender",
            "args": ["--dimension", "16", "--steps", "60", "--learning-rate", "0.02"],
            "accelerator_type": "v6e-1",
            "zones": ["us-east5-a"],
            "provisioning": ["spot"],
            "max_run_minutes": 60,
            "save_every_steps": 10,
            "schedule": "0 2 * * *",
            "timezone": "Asia/Taipei",
            "data": {"clicks": "clicks/", "pictures": "pictures/"},
            "registers": "recommender",
        }
    }
    base["accelform:models"] = {"recommender": {"workload": "serve_recommender", "accept_if": "recall_at_50 >= 0.98 * champion"}}
    guards = {"p95_ms": 10_000, "error_rate": 0.01}  # this machine may be busy: what is guarded here are errors
    rollout = {"traffic_percent": [50, 100], "hold_minutes": 60, "begin": "09:00", "guards": guards}
    base["accelform:endpoints"] = {
        "recommend": {"callers": [], "model": "recommender", "machine_type": "n1-standard-2", "rollout": rollout}
    }
    return base


def interrupted(here: Region) -> str:
    """The command, ended by ^C while its machine trains: what it said."""
    with subprocess.Popen([f"{sys.prefix}/bin/accelform", *NIGHT], cwd=here.folder, stderr=subprocess.PIPE, text=True) as command:
        assert command.stderr is not None
        said = ""
        for line in command.stderr:
            said += line
            if "step 20 of 60" in line:
                command.send_signal(signal.SIGINT)
    assert command.returncode == 130, said
    return said


def processes(base: str) -> list[str]:
    """Programs of this machine that were told of the sandbox at an address."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"STORAGE_EMULATOR_HOST={base}/".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.soak
def test_two_nights(shop: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """The first is interrupted and gone on with; the second is held against it, and rolled out by what was measured. Nothing stays."""
    here = region(shop)
    said = interrupted(here)
    assert "data is made up" in said
    base = here.base
    assert processes(base) == []

    first = here.accelform(*NIGHT, "--json")
    assert first.code == 0, first.out + first.err
    night = first.json
    assert (night["run"]["result"], night["run"]["outcome"]) == ("succeeded", "promoted")
    (machine,) = night["machines"]
    assert machine["ended"]
    # What the run says is never less than the bill, and more only by what it takes to see that the machine is gone.
    more = Decimal(night["run"]["usd"]) - Decimal(machine["usd"])
    assert 0 <= more <= Decimal(machine["usd_hour"]) * 120 / 3600
    assert [answer["version"] for answer in night["answers"]] == ["1", "1"]
    assert all(len(answer["prediction"]["item"]) == 5 for answer in night["answers"])
    (registered,) = versions(base)
    assert "champion" in registered["versionAliases"]
    report = read(base, f"jobs/train/{night['run']['run']}/report.json")
    assert report["metrics"]["recall_at_50"] > 1.2 * report["metrics"]["popularity_recall_at_50"]
    assert report["resumed_from"]

    second = here.accelform(*NIGHT, "--json")
    assert second.code == 0, second.out + second.err
    night = second.json
    assert (night["run"]["outcome"], [answer["version"] for answer in night["answers"]]) == ("promoted", ["2", "2"])
    assert len(night["measured"]) == 2
    assert len(night["machines"]) == 1
    assert [one["to"][11:13] for one in night["moved"]] == ["09", "10", "11"]
    champions = [one["versionId"] for one in versions(base) if "champion" in one.get("versionAliases", [])]
    assert champions == ["2"]
    assert processes(base) == []
    assert "step 60 of 60" in "".join(
        json.loads(line)["text"] for line in here.accelform("jobs", "logs", "train", "--json").out.splitlines()
    )

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
    assert process.running(here.home.sandbox) is None
    assert not here.home.folder.exists()
    assert here.git_status() == ""


def versions(base: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{base}/aiplatform.googleapis.com/v1/{PLACE}/models/try-recommender:listVersions", trust_env=False)
    return list(answer.raise_for_status().json()["models"])


def read(base: str, name: str) -> Any:
    url = f"{base}/storage.googleapis.com/storage/v1/b/{MODELS}/o/{quote(name, safe='')}?alt=media"
    return httpx.get(url, trust_env=False).raise_for_status().json()
