"""`accelform open`."""

from __future__ import annotations

import sys
from pathlib import Path

from infra.cli.output import print_json
from infra.cli.reached import stack_sandbox
from infra.errors import ExitCode


def run(word: str, stack: str | None, folder: Path, *, only_print: bool, cloud: bool, as_json: bool) -> int:
    """Opens the page of one thing."""
    from infra.cli import thing as things
    from infra.operate import console

    thing, _ = things.named(word, stack, folder, "open")
    url = console.page(thing, stack_sandbox(thing.stack, cloud=cloud))
    if as_json:
        print_json({"exit_code": int(ExitCode.OK), "thing": thing.path, "stack": thing.stack, "url": url})
        return ExitCode.OK
    sys.stdout.write(f"{url}\n")
    if only_print or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return ExitCode.OK
    import webbrowser

    webbrowser.open(url)
    return ExitCode.OK
