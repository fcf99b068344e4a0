"""`accelform sandbox attach`: local processes for the machines, executions and deployed models of the sandbox."""

from __future__ import annotations

from pathlib import Path

from infra.errors import ExitCode, MachineError


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

    found = process.running(Home.of(project.checkout(Path.cwd())).sandbox)
    if found is None:
        raise MachineError("the sandbox does not run\n  fix: accelform sandbox start")
    progress = Progress(quiet=as_json)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        progress.say(text)

    with Attached(found.base, say) as attached:
        progress.say(f"attached to {found.base}; devices of this machine's processor stand for TPU chips; ^C ends all of it")
        try:
            attached.run(once=once)
        except KeyboardInterrupt:
            progress.say("every process that was started is ended")
    if as_json:
        print_json({"base": found.base, "events": said})
    return ExitCode.OK
