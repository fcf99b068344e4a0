"""Whatever a team does to its model and its endpoint, and whatever breaks meanwhile, by the real engine: the stack file comes true."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from infra.provider.resources.model import LABEL
from tests.engine.kills import killed_at
from tests.engine.region import STACK, Ran, Region
from tests.engine.vertex import Vertex, model

SHORT = ((6, 2), (10, 1))
"""Seed, steps. Kills, failed deploys, lost answers and refusals for a while are in these and in the long ones."""
LONG = (0, 1, 2, 3, 4, 5, 7, 28)
VERTEX = "aiplatform"
"""In the path of every call of Vertex AI, whichever of its hosts is asked."""
CHANGES = ("traffic", "replicas", "image", "add", "remove", "machine")
FAULTS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "slow": [{"do": "slow", "factor": 20}],
    "failed deploy": [{"do": "fail", "method": "deployModel", "times": 1}],
    "503": [{"do": "error", "path": VERTEX, "method": "POST", "times": 1}],
    "lost": [{"do": "lost", "path": f"{VERTEX}.*:(upload|deploy|undeploy|mutate)", "times": 1}],
    "lost split": [{"do": "lost", "path": VERTEX, "method": "PATCH", "times": 1}],
}
"""What goes wrong during an `accelform up`. Twenty times as slow, a deploy takes more than three hours."""
ENDS_WELL = ("none", "slow", "503", "lost", "lost split")
"""The accelform provider gets over these by itself; the create of an endpoint, which is not its call, is stopped by a lost answer."""
KILLS = ("kill", "kill-after")
CALLS = 30
"""A run is killed at one of so many calls of Vertex AI, early ones more often: the first up makes about that many, an update fewer."""
STOPPED = 6
"""Exit code of an update that the cloud stopped."""
NAMES = {"champion": "champion", "challenger": "candidate", "shadow": "candidate"}
"""What may be deployed, and the alias that each serves."""
OPTIONS = ("--stack", STACK, "--non-interactive")


class World:
    """One stack, what its file says, and what must be true of the sandbox."""

    def __init__(self, here: Region, base: dict[str, Any], draw: random.Random) -> None:
        self.here = here
        self.vertex = Vertex(here)
        self._base = base
        self._draw = draw
        self._letter = "a"
        self._shares = {"champion": 90, "challenger": 10}
        self._most = dict.fromkeys(NAMES, 1)
        self._machines = dict.fromkeys(NAMES, "n1-standard-2")
        self.write()
        here.shell()  # brings the sandbox up, which takes faults

    def write(self) -> None:
        """Writes the stack file."""
        deployed = {
            name: {
                "model": f"recommender@{NAMES[name]}",
                "machine_type": self._machines[name],
                "max_replicas": self._most[name],
                "traffic": share,
            }
            for name, share in self._shares.items()
        }
        models = {"recommender": model(self._letter, keep_versions=2)}
        endpoints = {"recommend": {"callers": [], "deployed_models": deployed}}
        self.here.write(self._base | {"accelform:models": models, "accelform:endpoints": endpoints})

    def change(self, what: str) -> None:
        """One change of the stack file, as it can be made now."""
        some = sorted(self._shares)
        absent = sorted(set(NAMES) - set(some))
        one = self._draw.choice(some or absent)
        if what == "image":
            self._letter = self._draw.choice([letter for letter in "abc" if letter != self._letter])
        elif what == "replicas":
            self._most[one] = self._draw.choice([most for most in (1, 2, 3) if most != self._most[one]])
        elif what == "machine":
            self._machines[one] = {"n1-standard-2": "n1-standard-4", "n1-standard-4": "n1-standard-2"}[self._machines[one]]
        elif what == "add" and absent:
            self._share([*some, self._draw.choice(absent)])
        elif what == "remove" and some:
            self._share([name for name in some if name != one])
        else:
            self._share(some)
        self.write()

    def _share(self, names: Sequence[str]) -> None:
        """Gives each of them a share; some have none."""
        cuts = sorted(self._draw.choice(range(0, 101, 5)) for _ in names[1:])
        self._shares = {name: upper - lower for name, lower, upper in zip(names, [0, *cuts], [*cuts, 100], strict=True)}

    def up(self, fault: str, *, strikes: bool) -> None:
        """`accelform up`. One that was stopped is followed by one that nothing stops. *strikes*: whether the fault surely comes about."""
        for one in FAULTS[fault]:
            self.here.ask("POST", "faults", one)
        done = self.here.accelform("up", "--json")
        struck = [one["done"] for one in self.here.ask("GET", "faults")["faults"] if one["do"] != "slow"]
        self.here.ask("DELETE", "faults")
        sys.stderr.write(f"  struck: {struck}, exit code {done.code}\n")
        assert all(struck) or not strikes
        if done.code == STOPPED and fault not in ENDS_WELL:
            self.check()
            done = self.here.accelform("up", "--json")
        self.check_is_so(done)

    def killed(self, moment: str, *command: str) -> None:
        """Plain pulumi, killed at some call of Vertex AI. `recover`, where it is drawn, mends the state."""
        call = min(self._draw.randrange(1, CALLS) for _ in range(2))
        was = killed_at(self.here, self.here.shell(), call, moment, *command, path=VERTEX)
        sys.stderr.write(f"  {moment} at call {call} of {command[0]}: {'killed' if was else 'it had ended'}\n")
        if self._draw.random() < 1 / 2:
            done = self.here.accelform("recover", "--json")
            assert done.code == 0, done.out + done.err
            self.check()

    def refresh(self) -> None:
        """Looks, and touches nothing."""
        before = self.vertex.endpoint
        done = self.here.pulumi("refresh", "--yes", "--skip-preview", *OPTIONS)
        assert done.code == 0, done.out + done.err
        assert self.vertex.endpoint == before
        self.check()

    def check(self) -> None:
        """What is true whenever nothing runs, also after a command that was stopped."""
        made_of = Counter(one["labels"][LABEL] for one in self.vertex.versions)
        assert set(made_of.values()) <= {1}, f"a version twice: {made_of}"
        endpoint = self.vertex.endpoint
        split = endpoint.get("trafficSplit", {})
        assert sum(split.values()) in (0, 100), split
        assert {id for id, share in split.items() if share} <= {one["id"] for one in endpoint.get("deployedModels", [])}, endpoint

    def check_is_so(self, done: Ran) -> None:
        """What is true after a command that says that all is as the stack file has it."""
        assert done.code == 0, done.out + done.err
        self.check()
        deployed = self.vertex.deployed
        assert sorted(one["displayName"] for one in deployed) == sorted(self._shares), deployed
        assert self.vertex.shares == self._shares
        assert sum(self.vertex.shares.values()) == (100 if deployed else 0)
        versions = {alias: one for one in self.vertex.versions for alias in one.get("versionAliases", [])}
        assert versions["candidate"]["containerSpec"]["imageUri"] == model(self._letter)["image"]
        for one in deployed:
            name, machine = one["displayName"], one["dedicatedResources"]
            assert one["modelVersionId"] == versions[NAMES[name]]["versionId"], name
            assert machine["machineSpec"]["machineType"] == self._machines[name], name
            assert machine["maxReplicaCount"] == self._most[name], name


def rounds(seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """All kinds in some order, then all in another, and so on: so a few steps differ from one another."""
    draw = random.Random(f"{seed} {len(kinds)}")
    while True:
        yield from draw.sample(kinds, len(kinds))


def play(seed: int, steps: int, here: Region, base: dict[str, Any]) -> None:
    """A sequence, from nothing to nothing. pytest shows what one did that fails."""
    draw = random.Random(seed)
    world = World(here, base, draw)
    changes, troubles = rounds(seed, CHANGES), rounds(seed, (*FAULTS, *KILLS, "refresh"))
    for step in range(steps):
        change, trouble = next(changes) if step else "none", next(troubles)
        sys.stderr.write(f"seed {seed}, step {step}: {change}, {trouble}\n")
        if step:
            world.change(change)
        if trouble in KILLS:
            world.killed(trouble, "up")
        world.up(trouble if trouble in FAULTS else "none", strikes=not step)  # a first up makes every kind of call
        if trouble == "refresh":
            world.refresh()
    if seed % 2:
        world.killed(draw.choice(KILLS), "destroy")
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


@pytest.mark.parametrize(("seed", "steps"), SHORT)
def test_a_few_steps_come_true(seed: int, steps: int, base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """Some; `make soak` plays longer ones. A seed always plays the same steps."""
    play(seed, steps, region(base), base)


@pytest.mark.soak
@pytest.mark.parametrize("seed", LONG)
def test_many_steps_come_true(seed: int, base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    play(seed, 9, region(base), base)
