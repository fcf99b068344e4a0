"""Which cloud a command works on: the sandbox of this checkout, or with `--cloud` Google's, with the caller's own credentials."""

from __future__ import annotations

import time
from collections.abc import Callable

from infra import names
from infra.errors import Problem, SpecError, nearest
from infra.operate.rollout import Place
from infra.operate.times import SandboxTime, Time, WallTime
from infra.provider.google import Google, Settings
from infra.stack import StackSpec


def google(spec: StackSpec, sandbox: str) -> tuple[Google, Time]:
    """
    Google's APIs for a stack, and who waits.

    Args:
        sandbox: Address of the sandbox; empty for Google Cloud, where the stack's project is charged with the quota.
    """
    settings = Settings(sandbox) if sandbox else Settings(charged=spec.project)
    found = Google(settings, _paused())
    return found, SandboxTime(found, sandbox) if sandbox else WallTime()


def place(spec: StackSpec, stack: str, endpoint: str) -> Place:
    """
    One endpoint of a stack file.

    Raises:
        SpecError: The file has none of that name.
    """
    if endpoint not in spec.endpoints:
        allowed = ", ".join(nearest(endpoint, spec.endpoints) or spec.endpoints) or "the stack has no endpoints"
        raise SpecError(f"stack {stack}", [Problem(f"endpoints.{endpoint}", "there is no such endpoint in the stack file", allowed)])
    id = names.endpoint_id(spec.project, stack, endpoint)
    return Place(
        name=endpoint,
        endpoint=f"projects/{spec.project}/locations/{spec.region}/endpoints/{id}",
        holds=names.holds(spec.project, stack),
        journal=names.journal(spec.project, stack, endpoint),
    )


def _paused() -> Callable[[float], bool]:
    """Waits of the client; ^C ends the command itself."""

    def pause(seconds: float) -> bool:
        if seconds:
            time.sleep(seconds)
        return False

    return pause
