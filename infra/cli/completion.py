"""`accelform completion`."""

from __future__ import annotations

import sys

from infra.errors import ExitCode, Problem, SpecError

SHELLS = ("bash", "zsh", "fish")


def run(shell: str) -> int:
    """Prints the script that a shell reads."""
    from typer import completion

    if shell not in SHELLS:
        raise SpecError("completion", [Problem("SHELL", f"{shell!r} is none that is known here", ", ".join(SHELLS))])
    script = completion.get_completion_script(prog_name="accelform", complete_var="_ACCELFORM_COMPLETE", shell=shell)
    sys.stdout.write(f"{script}\n")
    return ExitCode.OK
