"""`accelform`: every command. Its arguments and its help are in `commands`, what it does is in the file of its name."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

import typer

from infra.cli.commands import catalog, gitops, image, jobs, look, rollout, sandbox, stacks, stands, state

if TYPE_CHECKING:
    from infra.errors import AccelformError, ExitCode
COMPLETE = "_ACCELFORM_COMPLETE"
"""Variable in which a shell says that it asks for words."""

app = typer.Typer(
    help="Google Cloud accelerators as Python: a stack file a region, one for its cluster, one for the project; checked and priced first.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for said in (stacks, stands, look, rollout):
    app.add_typer(said.app)
app.add_typer(image.app, name="image", help="Images of the workloads: build, sbom.")
app.add_typer(sandbox.app, name="sandbox", help="The local Google Cloud: start, stop, status, clusters, attach.")
app.add_typer(jobs.app, name="jobs", help="Jobs that run by night: run, list, show, logs, stop, ssh.")
app.add_typer(state.app, name="state", help="Older versions of a stack's state: list, restore.")
app.add_typer(gitops.app, name="gitops", help="Stacks that follow the repository: init, and what its workflows run.")
app.add_typer(catalog.app, name="catalog", help="What Google Cloud has: zones, zone, region, show, search, fits, ages, refresh.")


def main() -> None:
    """Entry point: a user's mistake is a sentence and an exit code, never a traceback."""
    from infra.errors import AccelformError, ExitCode, StoppedError

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed before we began, as some schedulers do
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show is no fault of the file
    for number in (signal.SIGTERM, signal.SIGHUP):  # whoever ends us gets the same end as ^C
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    gc.disable()  # a command ends before garbage matters; looking for it takes a third of a `check`
    if COMPLETE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()  # a shell asks what goes on with a word: see `accelform completion`
    try:
        try:
            code = app(standalone_mode=False, complete_var=COMPLETE)
        except AccelformError as error:
            code = _fail(error)
        except typer.TyperException as error:  # every mistake in a command line
            code = _misused(error)
        if code == ExitCode.INTERRUPTED and not isinstance(code, ExitCode):
            code = _fail(StoppedError("interrupted"))
        sys.stdout.flush()
        sys.exit(code)
    except BrokenPipeError:
        # Who read the output has seen enough; the interpreter would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    finally:
        gc.freeze()  # nor is it looked for at the end


def _fail(error: AccelformError) -> ExitCode:
    """Says what is wrong: on standard output where a machine reads, else on standard error."""
    from infra.cli.output import print_json, problems_json

    if "--json" in sys.argv:
        print_json({"exit_code": int(error.exit_code), "problems": problems_json(error)})
    else:
        sys.stderr.write(f"{error}\n")
    return error.exit_code


def _misused(error: typer.TyperException) -> ExitCode:
    """The same for a command line, in typer's own words."""
    from infra.cli.output import print_json
    from infra.errors import ExitCode

    if "--json" in sys.argv:
        print_json({"exit_code": int(ExitCode.SPEC), "problems": [{"message": str(getattr(error, "message", error))}]})
    elif callable(show := getattr(error, "show", None)):
        show()
    return ExitCode.SPEC
