"""One stack of a command, and the cloud that it works on: the sandbox of this checkout, or Google's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from infra.errors import AccelformError, ExitCode, MachineError

if TYPE_CHECKING:
    from infra.operate.times import Time
    from infra.provider.google import Google
    from infra.stack import StackSpec


class CloudError(AccelformError):
    """The cloud refused, or did not answer."""

    exit_code = ExitCode.CLOUD


def stack_spec(stack: str, folder: Path) -> StackSpec:
    from infra.check import stack_files
    from infra.stack import StackSpec

    (file,) = stack_files([stack], folder)
    return StackSpec.load(file.path)


def stack_sandbox(stack: str, *, cloud: bool) -> str:
    """Address of this checkout's sandbox; empty for Google Cloud."""
    if cloud:
        return ""
    from infra.local import project, up
    from infra.local.home import Home
    from infra.sandbox import process

    home = Home.of(project.checkout(Path.cwd()))
    if stack not in up.standing(home):
        raise MachineError(f"stack {stack} is not up on this machine\n  fix: accelform up {stack}; or --cloud, for the one in Google Cloud")
    return process.start(home.sandbox).base


@contextmanager
def reached(project: str, sandbox: str) -> Iterator[tuple[Google, Time]]:
    """
    Google's APIs, and who waits; their connections are closed at the end.

    Raises:
        CloudError: They refused, or did not answer: what is known of it, and their words.
    """
    from infra import translated
    from infra.operate import reach
    from infra.provider.server import ProviderError

    google, time = reach.google(project, sandbox)
    try:
        yield google, time
    except ProviderError as error:
        raise CloudError(translated.told(str(error))) from None
    finally:
        google.close()
