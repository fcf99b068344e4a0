"""A few of the moments at which a run may be killed. `make soak` tries every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.kills import calls_of, killed_at
from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]


@pytest.mark.parametrize(("share", "moment"), [(0.4, "kill-after"), (0.8, "kill")])
def test_a_killed_up_and_a_killed_destroy_are_made_good(share: float, moment: str, everything: dict[str, Any], region: Make) -> None:
    """Killed in the middle, `up` goes on and orphans nothing; so does `down`."""
    here = region(everything)
    shell = here.shell()
    assert killed_at(here, shell, round(60 * share), moment, "up")

    locked = here._run(["pulumi", "up", "--yes", "--skip-preview", "--stack", STACK, "--non-interactive"], shell)
    assert locked.code != 0
    assert "accelform recover" in locked.out + locked.err

    assert here.accelform("up", "--json").code == 0
    assert set(here.accelform("up", "--json").changes) == {"same"}
    stands = here.made()

    assert killed_at(here, shell, round(40 * share), moment, "destroy")
    assert here.accelform("up", "--json").code == 0
    assert here.made() == stands

    assert killed_at(here, shell, round(40 * share), moment, "destroy")
    gone = here.accelform("down", "--json")
    assert gone.code == 0, gone.out + gone.err
    assert gone.json["left"] == []


def test_recover_says_what_it_mended(everything: dict[str, Any], region: Make) -> None:
    here = region(everything)
    total = calls_of(here, "up")
    assert total > 60
    assert here.accelform("recover", "--json").json["stacks"] == {STACK: []}
    shell = here.shell()
    assert killed_at(here, shell, 20, "kill-after", "destroy")
    said = here.accelform("recover", "--json")
    assert said.code == 0, said.err
    assert "lifted the lock of a killed run" in said.json["stacks"][STACK][0]
    assert here.accelform("up", "--json").code == 0
