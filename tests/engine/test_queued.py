"""A queued slice by the real engine: it waits, comes up, is taken away, comes back by the next run, and goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from tests.engine.region import STACK, Region

NODES = "tpu.googleapis.com/v2/projects/tw-shop-ml/locations/us-east5-a/nodes"
REFRESH = ("refresh", "--yes", "--skip-preview", "--stack", STACK, "--non-interactive")


def nodes(here: Region) -> dict[str, str]:
    """Nodes by id, with their states."""
    sandbox = here.accelform("sandbox", "status", "--json").json["base"]
    found = httpx.get(f"{sandbox}/{NODES}", trust_env=False).json().get("nodes", [])
    return {one["name"].rpartition("/")[2]: one["state"] for one in found}


def test_a_queued_slice_waits_stands_comes_back_and_goes(
    base: dict[str, Any], a_slice: dict[str, Any], region: Callable[[dict[str, Any]], Region]
) -> None:
    """A preempted one is seen by refresh, and asked for again by the next up; a second up changes nothing."""
    queued = a_slice | {"way": "tpu-api", "queued": {"nodes": 2}}
    here = region(base | {"accelform:tpu_slices": {"eval": queued}})
    first = here.accelform("up", "--json")
    assert first.code == 0, first.out + first.err
    assert set(first.changes) == {"create"}
    both = {"try-tpu-eval-0": "READY", "try-tpu-eval-1": "READY"}
    assert nodes(here) == both
    quiet = here.pulumi(*REFRESH, "--expect-no-changes")
    assert quiet.code == 0, quiet.out + quiet.err

    here.ask("POST", "faults", {"do": "preempt", "path": "nodes/try-tpu-eval-1$", "times": 1})
    assert nodes(here)["try-tpu-eval-1"] == "PREEMPTED"
    seen = here.pulumi(*REFRESH)
    assert seen.code == 0, seen.out + seen.err
    again = here.pulumi("up", "--yes", "--stack", STACK, "--non-interactive")
    assert again.code == 0, again.out + again.err
    plan, _, done = again.out.partition("Updating (")
    assert "it is SUSPENDING by Google: it is deleted with its nodes, and asked for again" in plan
    assert "~ 1 updated" in done
    assert nodes(here) == both
    assert set(here.accelform("up", "--json").changes) == {"same"}

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
