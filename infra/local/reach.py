"""
An engine and the backend that it works on: this checkout's own, which leads to the sandbox, or the user's own, which leads to Google Cloud.

Nothing here makes anything: a look at the sandbox works on a copy of its backend, so that no lock is taken, and a stack that is not up
stays unknown to it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from infra.check import StackFile
from infra.clouds import GOOGLE, SANDBOX, OwnerError, check_owner, outputs, recorded
from infra.errors import MachineError
from infra.local import project, up
from infra.local.engine import events, find
from infra.local.engine.call import call, export, failed
from infra.local.engine.state import read
from infra.local.home import Home
from infra.sandbox import process
from infra.stack_file import FileSpec, check_stack_name

PREPARED = "PULUMI_OPTION_CWD"
"""Only a shell that `accelform env` prepared has it."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where `pulumi` is called, and what it then works on."""

    engine: find.Engine
    env: Mapping[str, str]
    folder: Path
    cloud: bool
    standing: Mapping[str, Mapping[str, Any] | None]
    """The state of each stack that is asked about; None where the backend does not know it."""
    known: frozenset[str] = frozenset()
    """Every stack that the sandbox's backend knows."""

    def knows(self, stack: str) -> bool:
        """Whether a stack that another reads stands; the user's own backend is asked by the engine itself."""
        return self.cloud or stack in self.known

    def run(self, arguments: Sequence[str], stack: str, **more: Any) -> events.Outcome:
        """`pulumi ARGUMENTS` on one stack; see `events.run`."""
        return events.run([*arguments, "--stack", stack], engine=self.engine, env=self.env, folder=self.folder, **more)

    def preview(self, stack: str, **more: Any) -> events.Outcome:
        """What an update would do, and the rules that do not hold."""
        if not self.cloud and self.standing[stack] is None:
            done = call(["stack", "init", stack], engine=self.engine, env=self.env, folder=self.folder)  # in the copy
            if done.returncode:
                raise failed(f"stack {stack}: cannot be looked at", done)
        return self.run(["preview", "--policy-pack", up.PACK], stack, **more)


@contextmanager
def ours(root: Path, specs: Mapping[str, FileSpec], files: Sequence[StackFile], progress: up.Progress) -> Iterator[Reach]:
    """
    The sandbox of this checkout, which is started where it does not run, and a copy of its backend.

    Raises:
        MachineError: This machine lacks something, or another command is at work here.
        OwnerError: A stack's state is of the other cloud, or of another region.
    """
    for one in files:
        check_stack_name(one.stack)
    home = Home.of(root)
    with TemporaryDirectory(prefix="accelform-preview-") as folder:
        with home.alone("preview"):  # a copy of what another command is about to write would be neither the old nor the new
            projects = [spec.project for spec in specs.values()]
            # Who looks twice a minute need not read each time what is used.
            place = up.prepare_preview(root, projects, (lambda _text: None) if process.running(home.sandbox) else progress.say)
            scratch = _copied(home, Path(folder))
        standing = {one.stack: read(scratch.state, one.stack) for one in files}
        for stack, state in standing.items():
            if state is not None:
                check_owner(stack, recorded(state), SANDBOX)
                up.check_stays(stack, outputs(state), specs[stack])
        project.write(scratch, root, files, place.sandbox.base)
        yield Reach(place.engine, scratch.env(place.engine), scratch.project, False, standing, frozenset(up.standing(scratch)))


def _copied(home: Home, folder: Path) -> Home:
    """A home that reads the same, but for its backend, which is a copy: no lock, history or backup is in it."""
    scratch = Home(folder / "home")
    scratch.folder.mkdir(mode=0o700)
    for path, target in ((scratch.pulumi_home, home.pulumi_home), (scratch.passphrase, home.passphrase)):
        path.symlink_to(target)
    shutil.copytree(home.stacks, scratch.stacks)
    scratch.state.mkdir()
    if (backend := home.state / ".pulumi").is_dir():
        shutil.copytree(backend, scratch.state / ".pulumi", ignore=shutil.ignore_patterns("locks", "history", "backups"))
    return scratch


def theirs(root: Path, stacks: Sequence[str], command: str) -> Reach:
    """
    The user's own Pulumi CLI, backend, plugins and credentials, as they are: nothing of the sandbox is put before them.

    Raises:
        MachineError: There is no such CLI, or its backend does not know a stack.
        OwnerError: This shell was prepared for the sandbox, or a stack's state is the sandbox's.
    """
    if os.environ.get(PREPARED):
        raise OwnerError(
            f"accelform {command} --cloud: this shell was prepared for the sandbox by `accelform env`: your own backend is not in it\n"
            "  fix: open another shell; or leave --cloud out"
        )
    engine = find.official()
    if engine is None:
        oldest = ".".join(map(str, find.OLDEST))
        raise MachineError(
            f"accelform {command} --cloud: there is no Pulumi CLI of {oldest} or later on PATH: Google Cloud is reached by your own\n"
            "  fix: https://www.pulumi.com/docs/iac/download-install/; or leave --cloud out, for the sandbox"
        )
    standing: dict[str, Mapping[str, Any] | None] = {}
    for stack in stacks:
        check_stack_name(stack)
        state = export(stack, engine=engine, env=os.environ, folder=root)
        if state is None:
            raise MachineError(f"stack {stack}: your backend does not know it\n  fix: pulumi stack init {stack}")
        owner = recorded(state)
        check_owner(stack, owner, GOOGLE if owner in (None, SANDBOX) else owner)
        standing[stack] = state
    return Reach(engine, os.environ, root, True, standing)
