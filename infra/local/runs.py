"""
Machines and custom jobs that runs of a stack's jobs have: they go before the stack does, since they stand in its network, or are somebody
of its own, and no program knows them.

They are found by their labels: what knows their job may be gone already, as after a destroy that stopped half way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from infra.labels import RUN_LABEL, STACK_LABEL
from infra.operate.jobs import custom_job
from infra.operate.times import SandboxTime
from infra.provider.calls import GoogleError
from infra.provider.google import Google, Settings
from infra.provider.server import ProviderError
from infra.sandbox import process

COMPUTE, TPU, RUN = "compute.v1", "tpu.v2", "run.v2"
EXECUTIONS = "projects.locations.jobs.executions"
LOOKS_SECONDS = 60.0
"""Between two looks, on the sandbox's clock."""
GONE_SECONDS = 4 * 3600.0
"""How long a machine may take to go: as long as the slowest operation that a fault makes."""


def end(sandbox: process.Running, stack: str, say: Callable[[str], None]) -> None:
    """
    Ends what Cloud Run runs of a stack, and takes its runs' machines away.

    Raises:
        ProviderError: The sandbox refused, or a machine does not go.
    """
    with closing(Google(Settings(sandbox.base), lambda seconds: False)) as google:
        time = SandboxTime(google, sandbox.base)
        names = [one["name"] for one in process.ask(sandbox, "GET", "resources")["resources"]]
        for name in names:
            if name.split("/")[6:7] == ["executions"] and name.count("/") == 7:
                _cancel(google, name, stack, say)
        left = [name for name in names if _is_runs(google, name, stack)]
        until = time.now() + GONE_SECONDS
        for name in left:
            say(f"stack {stack}: {name.rpartition('/')[2]}, the machine of a run, is deleted")
        while left := [name for name in left if not _gone(google, name)]:
            if time.now() >= until:
                raise ProviderError(f"{', '.join(left)}: does not go\n  fix: accelform down again, once it can")
            time.wait(LOOKS_SECONDS)


def _cancel(google: Google, name: str, stack: str, say: Callable[[str], None]) -> None:
    """Its process ends, where one is attached."""
    body = google.call(RUN, f"{EXECUTIONS}.get", name=name)
    if body.get("labels", {}).get(STACK_LABEL) == stack and "completionTime" not in body:
        google.call(RUN, f"{EXECUTIONS}.cancel", safe=True, name=name, body={})
        say(f"stack {stack}: execution {name.rpartition('/')[2]} is cancelled")


def _is_runs(google: Google, name: str, stack: str) -> bool:
    """Whether it is a machine of a run of the stack. A group has no labels of its own but those of its run: it goes by its name."""
    body = _asked(google, "get", name)
    if body is None:
        return False
    labels = body.get("labels") or body.get("allInstancesConfig", {}).get("properties", {}).get("labels", {})
    ours = labels.get(STACK_LABEL) == stack if "labels" in body else name.rpartition("/")[2].startswith(f"{stack}-job-")
    return RUN_LABEL in labels and ours


def _gone(google: Google, name: str) -> bool:
    """Tells it to go, unless it is gone. One that cannot go yet, or goes already, is told again."""
    if _asked(google, "get", name) is None:
        return True
    try:
        _asked(google, "delete", name)
    except GoogleError as error:
        if error.code not in (400, 409, 412):
            raise
    return False


def _asked(google: Google, verb: str, name: str) -> dict[str, Any] | None:
    """The answer to a method of a machine; None where the name is of none, or of one that is gone."""
    words = name.split("/")
    kind = words[-2] if len(words) == 6 else ""
    if kind == "nodes":
        return google.found(TPU, f"projects.locations.nodes.{verb}", name=name)
    if kind == "customJobs":
        found = google.found(custom_job.API, f"{custom_job.JOBS}.get", name=name)
        if verb == "delete" and found is not None:
            over = custom_job.PHASES.get(str(found.get("state", ""))) == "ended"
            how: dict[str, Any] = {} if over else {"body": {}}
            google.call(custom_job.API, f"{custom_job.JOBS}.{'delete' if over else 'cancel'}", safe=True, name=name, **how)
        return found
    if kind in ("instances", "instanceGroupManagers") and words[2] == "zones":
        place: dict[str, Any] = {"project": words[1], "zone": words[3], kind[:-1]: words[5]}
        return google.found(COMPUTE, f"{kind}.{verb}", **place)
    return None
