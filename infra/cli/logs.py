"""`accelform logs`."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import time
from pathlib import Path

from infra.cli.output import console
from infra.cli.reached import reached, stack_sandbox
from infra.errors import ExitCode, Problem, SpecError

LOOKS_SECONDS = 5.0
"""Between two looks at logs that are followed."""
LAST = re.compile(r"([0-9]{1,6})\s*(s|m|min|h|d)")
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
MOST_SECONDS = 30 * 86400
"""How long Cloud Logging keeps entries. Source: https://cloud.google.com/logging/quotas, read 2026-11."""


def run(word: str, stack: str | None, folder: Path, *, last: str, follow: bool, cloud: bool, as_json: bool) -> int:
    """What one thing said."""
    from infra.cli import thing as things

    back = _seconds(last)
    thing, spec = things.named(word, stack, folder, "logs")
    if thing.kind == "jobs" and thing.form == "job":
        from infra.cli import jobs

        return jobs.logs(thing.name, None, jobs.Where(thing.stack, folder, cloud=cloud, as_json=as_json), follow=follow)
    from infra.operate import logs

    with reached(spec.project, stack_sandbox(thing.stack, cloud=cloud)) as (google, clock):
        every = logs.filters(google, thing)
        since = dt.datetime.fromtimestamp(clock.now() - back, dt.UTC).isoformat()
        seen: set[tuple[str, str]] = set()
        while True:
            for entry in logs.read(google, spec.project, every, since):
                if (key := (entry["at"], entry["id"])) not in seen:
                    seen.add(key)
                    since = entry["at"]
                    _print(entry, as_json=as_json)
            if not follow:
                break
            sys.stdout.flush()
            time.sleep(LOOKS_SECONDS)
    if not seen and not as_json:
        sys.stderr.write(f"{thing.path}: said nothing in the last {last}; more: --last 1d\n")
    return ExitCode.OK


def _seconds(text: str) -> int:
    match = LAST.fullmatch(text.strip().lower())
    seconds = int(match[1]) * UNITS[match[2]] if match else 0
    if not 0 < seconds <= MOST_SECONDS:
        raise SpecError("logs", [Problem("--last", f"{text!r} is no time", "a number with s, m, h or d, up to 30d: 10m")])
    return seconds


def _print(entry: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(entry) + "\n")
        return
    from rich.text import Text

    weight = "" if entry["severity"] in ("DEFAULT", "INFO", "NOTICE", "DEBUG") else f"{entry['severity']}  "
    console().print(Text(f"{entry['at']}  {entry['who']}  {weight}{entry['text']}"), soft_wrap=True)
