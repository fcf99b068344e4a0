"""What a release made is not made anew by the present program: each stored deployment, imported, and previewed by the real engine."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.engine import find
from infra.local.home import Home
from infra.sandbox import process
from tests.engine.region import ROOT, Region
from tests.upgrade import store

BUCKET = "gcp:storage/bucket:Bucket"
Take = Callable[..., "Taken"]


class Taken:
    """A checkout in whose backend a stored deployment is, with those of the stacks that it reads, as if an older release had made it here."""

    def __init__(self, folder: Path, base: dict[str, Any], one: store.Stored) -> None:
        self.one = one
        self.here = Region(folder, base)
        (folder / "stacks" / "Pulumi.try.yaml").unlink()
        text = store.examples()[one.stack].read_text(encoding="utf-8")
        self.stacks = [*re.findall(r"^  accelform:(?:region_stack|foundation): (\S+)", text, re.MULTILINE), one.stack]
        for stack in self.stacks:
            shutil.copy(store.examples()[stack], folder / "stacks")
        shell = self.here.accelform("env", *self.stacks, "--json")
        assert shell.code == 0, shell.out + shell.err
        self._shell = {key: value for key, value in (shell.json).items() if value is not None}
        for stack in self.stacks:
            self.load(store.read(store.FOLDER / f"{stack}@{one.version}.json.gz", self.here.base), stack)

    def load(self, deployment: Any, stack: str) -> None:
        """Makes a deployment the state of a stack. Its secrets are stored as plain text, and are then encrypted by the stack's own key."""
        own = json.loads(self.pulumi("stack", "export", "--stack", stack))["deployment"]["secrets_providers"]
        deployment["deployment"]["secrets_providers"] = own
        file = self.here.folder / "state.json"
        file.write_text(json.dumps(deployment), encoding="utf-8")
        self.pulumi("stack", "import", "--stack", stack, "--file", str(file))

    def previewed(self) -> list[tuple[str, str, str]]:
        """What an update by the present program would change."""
        return list(store.changes(json.loads(self.pulumi("preview", "--json", "--stack", self.one.stack))))

    def pulumi(self, *arguments: str) -> str:
        done = self.here._run(["pulumi", *arguments, "--non-interactive"], _environment(self._shell))
        assert done.code == 0, done.out + done.err
        return done.out


def _environment(shell: dict[str, str]) -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI", "GOOGLE"))} | shell


@pytest.fixture
def take(tmp_path: Path, base: dict[str, Any]) -> Iterator[Take]:
    """Takes a stored deployment over, where an engine is."""
    if find.find() is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    yield lambda one: Taken(tmp_path, base, one)
    process.stop(Home.of(tmp_path).sandbox)


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


QUICK = [one for one in store.stored() if one.stack == "asia-east1"]
OTHERS = [one for one in store.stored() if one.stack != "asia-east1"]


@pytest.mark.parametrize(
    "one",
    [*QUICK, *(pytest.param(one, marks=pytest.mark.soak) for one in OTHERS)],
    ids=lambda one: f"{one.stack}@{one.version}",
)
def test_nothing_is_made_anew(take: Take, one: store.Stored) -> None:
    """No replacement, no delete, and no other change that the changelog does not name."""
    assert store.broken(take(one).previewed(), changelog(), one.version) == []


@pytest.mark.soak
def test_a_replacing_difference_is_found(take: Take) -> None:
    """The same deployment, as if the older release had made a bucket elsewhere and one resource more."""
    (one, *_) = QUICK
    taken = take(one)
    deployment = store.read(one.path, taken.here.base)
    buckets = [found for found in deployment["deployment"]["resources"] if found["type"] == BUCKET]
    data = next(found for found in buckets if found["urn"].endswith("::data"))
    for side in ("inputs", "outputs"):
        data[side]["location"] = "us-east5"
    gone = json.loads(json.dumps(buckets[0]))
    gone |= {"urn": gone["urn"].rpartition("::")[0] + "::other", "protect": False}
    deployment["deployment"]["resources"].append(gone)
    data["protect"] = False
    taken.load(deployment, one.stack)
    found = store.broken(taken.previewed(), changelog(), one.version)
    assert [line for line in found if "data (location)" in line], found
    assert f"delete {BUCKET} other" in found
