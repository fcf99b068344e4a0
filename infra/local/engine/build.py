"""
Builds the Pulumi CLI from its Go module into the user's cache folder, once: about seven minutes on two cores.

    python -m infra.local.engine.build

It ends with 0 where an engine is there or was built, and with 5 where it cannot be, with the ways out.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from infra.errors import ExitCode, MachineError
from infra.local.engine import find

GO_MIN = (1, 25)
"""Go older than this cannot fetch the version that `go.mod` asks for by itself."""

LAUNCHER = """#!/bin/sh
# The engine starts this as its host for Python programs; the environment that holds the SDK is named by who starts the engine.
python="${ACCELFORM_PYTHON:?set it to a Python that has pulumi and this project, such as .venv/bin/python}"
exec "$python" -u -m infra.local.engine.language_host "$@"
"""


def ensure() -> find.Engine:
    """
    The engine, built if it must be.

    Raises:
        MachineError: There is none, and it cannot be built here.
    """
    engine = find.find()
    if engine is not None:
        return engine
    go = shutil.which("go")
    if go is None:
        raise MachineError(
            "the Pulumi engine is not on this machine, and without Go it cannot be built\n"
            "  fix: install the Pulumi CLI (https://www.pulumi.com/docs/iac/download-install/), or Go (https://go.dev/dl/)"
        )
    _build(go)
    built = find.built()
    if built is None:
        raise MachineError(f"the engine was built, but is not in {find.cache()}")
    return built


def _build(go: str) -> None:
    """Builds beside the final folder and renames: killed at any moment, the next run starts anew and finds nothing half made."""
    source = Path(__file__).parent
    final = find.cache()
    final.parent.mkdir(parents=True, exist_ok=True)
    for left in final.parent.glob("building-*"):
        if not _alive(left.name.rpartition("-")[2]):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="building-", suffix=f"-{os.getpid()}", dir=final.parent))
    try:
        for name in ("go.mod", "go.sum", "tools.go"):
            shutil.copy(source / name, folder / name)
        version = f"-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{find.VERSION}"
        command = [
            go,
            "build",
            "-mod=readonly",
            "-ldflags",
            f"-s -w {version}",
            "-o",
            "pulumi",
            "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        ]
        _run(command, folder)
        launcher = folder / "pulumi-language-python"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        for name in ("go.mod", "go.sum", "tools.go"):
            (folder / name).unlink()
        try:
            folder.rename(final)
        except OSError:
            if find.built() is None:  # else somebody else was faster
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def _run(command: list[str], folder: Path) -> None:
    """Runs the build, with elapsed time for people and a line a minute for logs."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    started = time.monotonic()
    title = f"building the Pulumi engine v{find.VERSION} from Go, once (about 7 minutes on 2 cores)"
    with tempfile.TemporaryFile() as output, subprocess.Popen(command, cwd=folder, stdout=output, stderr=output) as process:
        try:
            with console.status(title) as status:
                if not console.is_terminal:
                    console.print(title)
                told = 0
                while True:
                    try:
                        process.wait(timeout=1)
                        break
                    except subprocess.TimeoutExpired:
                        seconds = int(time.monotonic() - started)
                        status.update(f"{title}: {seconds} s")
                        if not console.is_terminal and seconds >= told + 60:
                            told = seconds
                            console.print(f"  {seconds} s")
        except BaseException:
            process.kill()
            raise
        if process.returncode:
            output.seek(0)
            said = output.read().decode(errors="replace").strip().splitlines()[-15:]
            raise MachineError(
                "the engine could not be built\n  " + "\n  ".join(said) + f"\n  fix: Go {GO_MIN[0]}.{GO_MIN[1]} or later is needed"
            )
    console.print(f"built in {int(time.monotonic() - started)} s")


def main() -> int:
    try:
        engine = ensure()
    except MachineError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.ENVIRONMENT
    sys.stdout.write(f"engine: {engine.path} v{engine.version} ({'built here' if engine.built_here else 'official'})\n")
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
