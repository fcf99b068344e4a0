"""
The runner, as its Cloud Run job calls it: `python -m infra.operate.jobs`, with the plan in its environment.

    --zone ZONE, --provisioning WAY    of one run, in the place of the plan's; may be repeated
    --sweep                            looks after all jobs of a stack, whose plans are in its environment
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType

from infra.errors import ExitCode
from infra.job_plan import PLANS_VARIABLE, VARIABLE, JobPlan
from infra.operate.jobs.lease import Owner
from infra.operate.jobs.runner import FENCED, SKIPPED, Ended, Judge, Runner, Wish
from infra.operate.jobs.sweep import sweep
from infra.operate.rollout import Event
from infra.operate.times import SandboxTime, Time, WallTime
from infra.provider.google import Google, Settings
from infra.provider.holds import moment
from infra.provider.server import ProviderError

WELL = ("succeeded", SKIPPED, FENCED, "stopped")


class _EndedError(BaseException):
    """Cloud Run wants this process to end."""


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Exit code of the process. Another than 0 makes the execution a failed one; Cloud Run may begin it again."""
    given = os.environ if environment is None else environment
    parser = argparse.ArgumentParser(prog="python -m infra.operate.jobs", description="Runs a job.")
    parser.add_argument("--zone", action="append", default=[])
    parser.add_argument("--provisioning", action="append", default=[])
    parser.add_argument("--sweep", action="store_true")
    asked = parser.parse_args(arguments)
    variable = PLANS_VARIABLE if asked.sweep else VARIABLE
    try:
        found = json.loads(given.get(variable, ""))
        plans = [JobPlan.model_validate(one) for one in (found if asked.sweep else [found])]
        wish = Wish() if asked.sweep else Wish.of(plans[0], asked.zone, asked.provisioning)
    except (ValueError, TypeError) as error:
        print(f"{variable}: holds no plan, or the run is none of it: {error}", file=sys.stderr)  # noqa: T201
        return ExitCode.SPEC
    signal.signal(signal.SIGTERM, _end)
    owner, runner = Owner.here(given), None
    try:
        if asked.sweep:
            return _swept(plans, owner)
        google, time = _reach(plans[0])
        runner = Runner(google, time, plans[0], owner, say, _judge(google, plans[0]), wish)
        return _code(runner.run())
    except ProviderError as error:
        print(f"{error}\n  the next attempt goes on; the sweep does, if there is none", file=sys.stderr)  # noqa: T201
        return ExitCode.CLOUD
    except _EndedError:
        with suppress(ProviderError):  # else the lease ends by itself
            if runner is not None:
                runner.release()
        return ExitCode.INTERRUPTED


def say(event: Event) -> None:
    """One line of JSON: Cloud Logging makes an entry of it, with `message` as its text."""
    entry = {"severity": "INFO", "message": event.text, "event": event.kind, "at": moment(event.at), **event.data}
    print(json.dumps(entry, default=str), flush=True)  # noqa: T201


def _code(ended: Ended) -> int:
    return ExitCode.OK if ended.result in WELL else ExitCode.FINDINGS


def _swept(plans: Sequence[JobPlan], owner: Owner) -> int:
    def runner_of(google: Google, time: Time, plan: JobPlan) -> Runner:
        return Runner(google, time, plan, owner, say, _judge(google, plan))

    return ExitCode.CLOUD if list(sweep(plans, _reach, say, runner_of)) else ExitCode.OK


def _reach(plan: JobPlan) -> tuple[Google, Time]:
    import time

    def pause(seconds: float) -> bool:
        if seconds:
            time.sleep(seconds)
        return False

    google = Google(Settings(plan.sandbox), pause)
    return google, SandboxTime(google, plan.sandbox) if plan.sandbox else WallTime()


def _judge(google: Google, plan: JobPlan) -> Callable[[Time], Judge] | None:
    """Who says what becomes of a model; nobody, where the job registers none."""
    if plan.registers is None:
        return None
    from infra.operate.jobs.handover import HandOver

    return lambda time: HandOver(google, plan, time, say)


def _end(number: int, frame: FrameType | None) -> None:
    raise _EndedError


if __name__ == "__main__":
    sys.exit(main())
