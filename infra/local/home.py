"""Where a checkout keeps what runs on this machine: engine state, plugins, generated configuration. Tracked files stay as they are."""

from __future__ import annotations

import fcntl
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.errors import MachineError
from infra.local.engine import find

FOREIGN = ("PULUMI", "GOOGLE", "CLOUDSDK", "grpc_proxy")
"""Beginnings of environment variables that a run on this machine must not inherit: another backend, credentials of a real project."""
HERE = "127.0.0.1,localhost"
"""Never by a proxy: the engine and its plugins speak gRPC to each other, which would take one even for this machine."""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder `.accelform` of a checkout."""

    folder: Path

    @classmethod
    def of(cls, checkout: Path) -> Home:
        return cls(checkout.resolve() / ".accelform")

    @property
    def pulumi_home(self) -> Path:
        """PULUMI_HOME: plugins and which stack is selected."""
        return self.folder / "pulumi"

    @property
    def state(self) -> Path:
        """File backend."""
        return self.folder / "state"

    @property
    def passphrase(self) -> Path:
        """File with the passphrase of the backend's secrets."""
        return self.folder / "passphrase"

    @property
    def stacks(self) -> Path:
        """Generated copies of stack files."""
        return self.folder / "stacks"

    @property
    def project(self) -> Path:
        """Generated project: the checkout's program with the generated stack files."""
        return self.folder / "project"

    @property
    def bin(self) -> Path:
        """`pulumi` for prepared shells."""
        return self.folder / "bin"

    @property
    def sandbox(self) -> Path:
        """The sandbox's database and log."""
        return self.folder / "sandbox"

    def prepare(self) -> None:
        """Makes what is missing. The folder ignores itself: git sees nothing of it."""
        for folder in (self.folder, self.pulumi_home, self.state, self.stacks, self.sandbox):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_once(self.folder / ".gitignore", "*\n")
        _write_once(self.passphrase, secrets.token_urlsafe(24))

    @contextmanager
    def alone(self, command: str) -> Iterator[None]:
        """
        Keeps every other command out of this checkout's runs, for as long as this one takes.

        Raises:
            MachineError: One is at work.
        """
        self.prepare()
        path = self.folder / "lock"
        with ExitStack() as stack:
            while True:
                file = stack.enter_context(path.open("a+", encoding="utf-8"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.seek(0)
                    who = file.read().strip() or "another command"
                    raise MachineError(f"{self.folder.parent}: {who} is at work here\n  fix: wait for it, or end it") from None
                if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                    break
                self.prepare()  # a `down` that has just ended took the file away
            file.truncate(0)
            file.write(f"accelform {command} (process {os.getpid()})\n")
            file.flush()
            yield

    def variables(self, engine: find.Engine | None = None) -> dict[str, str]:
        """What a shell needs besides its own environment, so that plain `pulumi` works on this home."""
        engine = engine or find.find()
        path = os.environ.get("PATH", os.defpath)
        return {
            "PATH": f"{engine.path.parent}{os.pathsep}{path}" if engine else path,
            "PULUMI_HOME": str(self.pulumi_home),
            # Without sidecar files: an engine that is killed while it writes one leaves a state that nobody can read.
            "PULUMI_BACKEND_URL": f"{self.state.as_uri()}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.passphrase),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "ACCELFORM_PYTHON": sys.executable,
            **{name: ",".join(filter(None, (os.environ.get(name), HERE))) for name in ("no_proxy", "NO_PROXY")},
        }

    def env(self, engine: find.Engine | None = None) -> dict[str, str]:
        """Whole environment of a subprocess: the user's, without what would lead to another backend or a real project."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        return kept | self.variables(engine)


def _write_once(path: Path, text: str) -> None:
    """Writes a file that only its owner reads, whole or not at all; one that is there stays."""
    if path.exists():
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.touch(mode=0o600)
    beside.write_text(text, encoding="utf-8")
    try:
        os.link(beside, path)
    except FileExistsError:
        pass  # another process was faster: its passphrase counts
    finally:
        beside.unlink()
