"""A checkout with one stack, and this project's own commands in it: as a user has it."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from ruamel.yaml import YAML

from infra.cli.app import main
from infra.local.home import Home
from infra.sandbox import process

ROOT = Path(__file__).parents[2]
SECONDS = 180
STACK = "try"


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def changes(self) -> dict[str, int]:
        """What `accelform up --json` or `down --json` did to the one stack."""
        assert self.code == 0, self.out + self.err
        found: dict[str, int] = self.json["stacks"][0]["changes"]
        return found


class Region:
    """A git checkout in a folder of its own, with the program of this one."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.home = Home.of(folder)
        self._shell: dict[str, str] = {}
        self._prepared: tuple[bytes, process.Running | None] | None = None
        shutil.copy(ROOT / "Pulumi.yaml", folder / "Pulumi.yaml")
        (folder / "infra").symlink_to(ROOT / "infra")
        (folder / "stacks").mkdir()
        self.write(config)
        for command in (["init", "--quiet"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "-m", "t"]):
            subprocess.run(["git", *command], cwd=folder, check=True)

    def write(self, config: dict[str, Any], stack: str = STACK) -> None:
        with (self.folder / "stacks" / f"Pulumi.{stack}.yaml").open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump({"config": config}, file)

    def accelform(self, *arguments: str) -> Ran:
        """Our command in the checkout, run in this process, which has imported already what a new one would import for a second."""
        out, err = io.StringIO(), io.StringIO()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        code: object = 0
        with chdir(self.folder), patch.object(sys, "argv", ["accelform", *arguments]), redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                gc.unfreeze()
                gc.enable()
        assert isinstance(code, int)
        return Ran(code, out.getvalue(), err.getvalue())

    def started(self, *arguments: str, **env: str) -> Ran:
        """Our command as a process of its own, as a user starts it."""
        return self._run([f"{sys.prefix}/bin/accelform", *arguments], os.environ | env)

    def pulumi(self, *arguments: str, **env: str) -> Ran:
        """Plain `pulumi` in a shell that `accelform env` prepared."""
        return self._run(["pulumi", *arguments], self.shell() | env)

    def shell(self) -> dict[str, str]:
        """A shell that `accelform env` prepared: once, as a user does, until the stack file or the sandbox is another."""
        if self._prepared is None or self._prepared != self._needs():
            variables: Mapping[str, str | None] = self.accelform("env", "--json").json
            self._shell = {key: value for key, value in (dict(os.environ) | dict(variables)).items() if value is not None}
            self._prepared = self._needs()
        return self._shell

    def _needs(self) -> tuple[bytes, process.Running | None]:
        """What a prepared shell is prepared for."""
        return (self.folder / "stacks" / f"Pulumi.{STACK}.yaml").read_bytes(), process.running(self.home.sandbox)

    def _run(self, command: list[str], env: Mapping[str, str]) -> Ran:
        # A program is looked up on the PATH that it gets, as a shell does it.
        found = shutil.which(command[0], path=env["PATH"])
        assert found is not None, command[0]
        done = subprocess.run(
            [found, *command[1:]], cwd=self.folder, env=dict(env), capture_output=True, text=True, timeout=SECONDS, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Asks the running sandbox about itself."""
        return process.ask(self._sandbox, method, path, body)

    @property
    def base(self) -> str:
        """Address of the running sandbox."""
        return self._sandbox.base

    @property
    def _sandbox(self) -> process.Running:
        running = process.running(self.home.sandbox)
        assert running is not None
        return running

    def made(self) -> list[str]:
        """What stands in the sandbox and did not come with it; names that the service makes up are left out."""
        found = [f"{one['service']}/{one['name']}" for one in self.ask("GET", "resources")["resources"] if not one["own"]]
        return sorted(re.sub(r"(budgets|notificationChannels)/[^/]+$", r"\1", name) for name in found)

    def git_status(self) -> str:
        return subprocess.run(["git", "status", "--porcelain"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
