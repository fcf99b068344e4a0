"""The engine is killed with -9 at every HTTP call of an up and of a destroy, before and after the call is done. By `make soak`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.kills import calls_of, killed_at
from tests.engine.region import Region

Make = Callable[[dict[str, Any]], Region]
SHARDS = 4


@pytest.mark.soak
@pytest.mark.parametrize("moment", ["kill", "kill-after"])
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_call_may_be_the_last(shard: int, moment: str, everything: dict[str, Any], region: Make) -> None:
    """After each kill our next command goes on: the same stands as undisturbed, no change is left to make, and down leaves nothing."""
    here = region(everything)
    ups = calls_of(here, "up")
    stands = here.made()
    destroys = calls_of(here, "destroy")
    assert here.made() == []
    for call in range(1 + shard, max(ups, destroys) + 1, SHARDS):
        sys.stderr.write(f"{moment} call {call} of {ups} and {destroys}\n")
        where = f"{moment} at call {call}"
        killed_at(here, here.shell(), call, moment, "up")
        again = here.accelform("up", "--json")
        assert again.code == 0, f"{where} of up: {again.out}{again.err}"
        assert here.made() == stands, where
        assert set(here.accelform("up", "--json").changes) == {"same"}, where
        killed_at(here, here.shell(), call, moment, "destroy")
        gone = here.accelform("down", "--json")
        assert gone.code == 0, f"{where} of destroy: {gone.out}{gone.err}"
        assert gone.json["left"] == [], where
