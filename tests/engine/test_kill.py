"""Some of the moments at which a run may be killed. `make soak` tries every one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from infra.sandbox import process
from tests.engine.kills import killed_at
from tests.engine.region import SECONDS, STACK, Region

Make = Callable[[dict[str, Any]], Region]
LOOK_SECONDS = 0.02
"""Between two looks how far a command is, which it would otherwise be slowed by."""


def test_a_killed_run_is_made_good(everything: dict[str, Any], region: Make) -> None:
    """Killed in the middle, `up` goes on and orphans nothing; so do `recover` and `down`. Plain pulumi is told who mends it."""
    here = region(everything)
    shell = here.shell()
    assert killed_at(here, shell, 40, "kill-after", "up")

    locked = here._run(["pulumi", "up", "--yes", "--skip-preview", "--stack", STACK, "--non-interactive"], shell)
    assert locked.code != 0
    assert "accelform recover" in locked.out + locked.err

    assert here.accelform("up", "--json").code == 0
    assert set(here.accelform("up", "--json").changes) == {"same"}
    stands = here.made()

    assert killed_at(here, shell, 20, "kill", "destroy")
    said = here.accelform("recover", "--json")
    assert said.code == 0, said.err
    assert "lifted the lock of a killed run" in said.json["stacks"][STACK][0]
    assert here.accelform("up", "--json").code == 0
    assert here.made() == stands

    assert killed_at(here, shell, 30, "kill-after", "destroy")
    gone = here.accelform("down", "--json")
    assert gone.code == 0, gone.out + gone.err
    assert gone.json["left"] == []


def test_a_killed_provider_orphans_nothing(everything: dict[str, Any], region: Make) -> None:
    """The engine drops what it does not hear the end of. The next command looks for it."""
    here = region(everything)
    here.shell()
    with _up_until(here, calls=25) as up:
        plugins = [pid for pid, folder in _folders() if folder.startswith(f"{here.home.pulumi_home}/plugins/resource-gcp")]
        assert plugins
        for pid in plugins:
            os.kill(pid, signal.SIGKILL)
        out, err = up.communicate(timeout=SECONDS)
    assert up.returncode == 6, out + err
    again = here.accelform("up", "--json")
    assert again.code == 0, again.out + again.err
    assert set(here.accelform("up", "--json").changes) == {"same"}
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


def test_an_interrupted_up_says_so_and_the_next_one_goes_on(everything: dict[str, Any], region: Make) -> None:
    """One signal reaches the engine, which ends what it began; the command waits for it, and says what to do."""
    here = region(everything)
    here.shell()
    with _up_until(here, calls=30) as up:
        up.send_signal(signal.SIGTERM)
        out, err = up.communicate(timeout=SECONDS)
    assert up.returncode == 130, out + err
    assert "interrupted: what was done until then stays" in err
    assert not list(here.home.state.rglob("locks/**/*.json"))
    assert here.accelform("up", "--json").code == 0
    assert set(here.accelform("up", "--json").changes) == {"same"}
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, [])


def test_a_sandbox_that_was_lost_is_noticed(base: dict[str, Any], region: Make) -> None:
    """The state says that all stands; the sandbox is another one, and empty."""
    here = region(base)
    assert here.accelform("up", "--json").code == 0
    stands = here.made()
    process.stop(here.home.sandbox)
    for path in here.home.sandbox.glob("cloud.sqlite*"):
        path.unlink()
    assert set(here.accelform("up", "--json").changes) >= {"create"}
    assert here.made() == stands


def _up_until(region: Region, *, calls: int) -> subprocess.Popen[str]:
    """`accelform up`, as soon as it has made so many calls."""
    region.ask("DELETE", "calls")
    command = [f"{sys.prefix}/bin/accelform", "up"]
    up = subprocess.Popen(command, cwd=region.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(region.ask("GET", "calls")["calls"]) < calls and up.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            up.wait(LOOK_SECONDS)
    return up


def _folders() -> Iterator[tuple[int, str]]:
    """Processes of this machine, and the folder that each works in: a plugin's is its own."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            yield int(path.name), os.readlink(path / "cwd")
