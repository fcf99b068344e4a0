"""`accelform completion`."""

from __future__ import annotations

import sys

from infra.errors import ExitCode, Problem, SpecError

SHELLS = ("bash", "zsh", "fish")


def run(shell: str) -> int:
    """Prints the script that a shell reads."""
    from typer._completion_shared import get_completion_script

    from infra.cli.app import COMPLETE

    if shell not in SHELLS:
        raise SpecError("completion", [Problem("SHELL", f"{shell!r} is none that is known here", ", ".join(SHELLS))])
    script = get_completion_script(prog_name="accelform", complete_var=COMPLETE, shell=shell)
    sys.stdout.write(f"{script}\n")
    return ExitCode.OK
