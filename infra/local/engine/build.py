"""
Brings the Pulumi engine onto this machine, once: the official one where the network has it, else built from its Go module (about seven
minutes on two cores). Both go into the user's cache folder.

    python -m infra.local.engine.build

It ends with 0 where an engine is there or was brought, and with 5 where it cannot be, with the ways out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from infra.errors import ExitCode, MachineError
from infra.local.engine import fetch, find
from infra.local.engine.atomic import made_beside, put, write

GO_MIN = (1, 25)
"""Go older than this cannot fetch the version that `go.mod` asks for by itself."""

MODULE_FILES = ("go.mod", "go.sum", "tools.go")

LAUNCHER = """#!/bin/sh
# The engine starts this as its host for Python programs; the environment that holds the SDK is named by who starts the engine.
python="${ACCELFORM_PYTHON:?set it to a Python that has pulumi and this project, such as .venv/bin/python}"
exec "$python" -P -u -m infra.local.engine.language_host "$@"
"""


def ensure() -> find.Engine:
    """
    The engine: the one that is here, else the official one fetched, else built.

    Raises:
        MachineError: There is none, and it can be neither fetched nor built here.
    """
    engine = find.find()
    if engine is not None:
        if engine.built_here:
            _launcher(engine.path.parent)
        return engine
    try:
        return fetch.fetch()
    except fetch.NotFetchedError as error:
        not_fetched = str(error)
    go = shutil.which("go")
    if go is None:
        raise MachineError(
            "the Pulumi engine is not on this machine, and without Go it cannot be built\n"
            f"  fetching the official one: {not_fetched}\n"
            "  fix: install the Pulumi CLI (https://www.pulumi.com/docs/iac/download-install/), or Go (https://go.dev/dl/)"
        )
    sys.stderr.write(f"the official Pulumi engine cannot be fetched: {not_fetched}\n")
    _build(go)
    built = find.built()
    if built is None:
        raise MachineError(f"the engine was built, but is not in {find.cache()}")
    return built


def _build(go: str) -> None:
    """Builds beside the final folder and renames: killed at any moment, the next run starts anew and finds nothing half made."""
    source = Path(__file__).parent
    final = find.cache()
    with made_beside(final, "building") as folder:
        for name in MODULE_FILES:
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
        _launcher(folder)
        for name in MODULE_FILES:
            (folder / name).unlink()
        put(folder, final)


def _launcher(folder: Path) -> None:
    """Puts our host beside the engine, as this version has it: the engine stays when this project is updated."""
    launcher = folder / "pulumi-language-python"
    if launcher.is_file() and launcher.read_text(encoding="utf-8") == LAUNCHER:
        return
    write(launcher, LAUNCHER, mode=0o755)


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
    sys.stdout.write(f"engine: {engine.path} v{engine.version} ({engine.origin})\n")
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
