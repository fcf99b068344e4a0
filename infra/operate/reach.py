"""Which cloud a command works on: the sandbox of this checkout, or with `--cloud` Google's, with the caller's own credentials."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from infra import names
from infra.components.deployed_models import CHAMPION
from infra.errors import Problem, SpecError, nearest
from infra.operate.rollout import Place
from infra.operate.times import SandboxTime, Time, WallTime
from infra.provider.google import Google, Settings
from infra.stack import StackSpec


def google(project: str, sandbox: str) -> tuple[Google, Time]:
    """
    Google's APIs, whose connections the caller closes, and who waits.

    Args:
        sandbox: Address of the sandbox; empty for Google Cloud, where the project is charged with the quota.
    """
    # Google's client tells every user of Python 3.11 of its end in 2027.
    warnings.filterwarnings("ignore", "You are using a Python version", FutureWarning)
    settings = Settings(sandbox) if sandbox else Settings(charged=project)
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
    id = spec.endpoints[endpoint].id_of(spec.project, stack, endpoint)
    return Place(
        name=endpoint,
        endpoint=f"projects/{spec.project}/locations/{spec.region}/endpoints/{id}",
        holds=names.holds(spec.project, stack),
        journal=names.journal(spec.project, stack, endpoint),
    )


def alias(spec: StackSpec, stack: str, endpoint: str) -> str:
    """
    The alias by which the stack file names what serves all of the traffic: a rollout moves it at its end, so that file and endpoint agree.

    Raises:
        SpecError: The file names a version, or an alias that is given away with each upload: the next update would take the rollout back.
    """
    one = spec.endpoints[endpoint]
    serving = {name: model for name, model in one.served.items() if len(one.served) == 1 or model.traffic == 100}
    if not serving:
        allowed = "one model with all of the traffic"
        raise SpecError(f"stack {stack}", [Problem(f"endpoints.{endpoint}", "nothing has all of the traffic in the stack file", allowed)])
    ((name, served),) = serving.items()
    model, _, wanted = served.model.partition("@")
    path = f"endpoints.{endpoint}.model" if one.model else f"endpoints.{endpoint}.deployed_models.{name}.model"
    moving = spec.models[model].aliases if model in spec.models else []
    if wanted.isdigit() or wanted in moving:
        why = "is one version" if wanted.isdigit() else "is the version that was uploaded last"
        fix = f"write {model}@{CHAMPION}: an alias that a rollout moves"
        raise SpecError(
            f"stack {stack}", [Problem(path, f"{served.model} {why}: the next update would undo the rollout", "an alias that stays", fix)]
        )
    return wanted or CHAMPION


def _paused() -> Callable[[float], bool]:
    """Waits of the client; ^C ends the command itself."""

    def pause(seconds: float) -> bool:
        if seconds:
            time.sleep(seconds)
        return False

    return pause
