"""`accelform sandbox attach`: local processes for the machines, executions and deployed models of the sandbox."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from infra.errors import ExitCode, MachineError

if TYPE_CHECKING:
    from infra.local.home import Home


@contextmanager
def alone(home: Home) -> Iterator[None]:
    """
    One command at a time has the hands of a sandbox: of two, both would run the same containers.

    Raises:
        MachineError: Another one has them.
    """
    with (home.sandbox / "attached").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MachineError("somebody is attached to the sandbox already\n  fix: wait for it, or end it by ^C") from None
        yield


def run(*, once: bool, as_json: bool) -> int:
    """
    Goes on until it is interrupted, which ends all its processes; with *once*, until nothing is left to do.

    Raises:
        MachineError: The sandbox does not run, or does not answer any more.
    """
    from infra.cli.output import print_json
    from infra.cli.progress import Progress
    from infra.local import project
    from infra.local.attach import Attached
    from infra.local.home import Home
    from infra.sandbox import process

    home = Home.of(project.checkout(Path.cwd()))
    found = process.running(home.sandbox)
    if found is None:
        raise MachineError("the sandbox does not run\n  fix: accelform sandbox start")
    progress = Progress(quiet=as_json)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        progress.say(text)

    with alone(home), Attached(found.base, say) as attached:
        progress.say(f"attached to {found.base}; devices of this machine's processor stand for TPU chips; ^C ends all of it")
        try:
            attached.run(once=once)
        except KeyboardInterrupt:
            progress.say("every process that was started is ended")
    if as_json:
        print_json({"base": found.base, "events": said})
    return ExitCode.OK
