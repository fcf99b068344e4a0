"""`accelform state`: older versions of a stack's state."""

from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, InGoogle
from infra.cli.words import stack_names

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

OneState = Annotated[
    str,
    typer.Argument(metavar="STACK", help="Stack name or stack file; with --state-url one without a file too.", autocompletion=stack_names),
]
StateUrl = Annotated[
    str | None, typer.Option("--state-url", metavar="URL", help="Where the states are: gs://BUCKET. (default: the foundation's bucket)")
]


@app.command("list")
def state_list(
    stack: OneState,
    every: Annotated[bool, typer.Option("--all", help="Every version. (default: the last one of each update, and 20 at most)")] = False,
    state_url: StateUrl = None,
    cloud: InGoogle = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """Say which versions of a stack's state its bucket holds: when, how large, how many resources, and who wrote each."""
    from infra.cli import state as command

    raise typer.Exit(command.list_(stack, folder, state_url, every=every, cloud=cloud, as_json=as_json))


@app.command("restore")
def state_restore(
    stack: OneState,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What it was then: 2026-12-01T09:30:00Z.")] = None,
    version: Annotated[str | None, typer.Option(metavar="VERSION", help="A version that `state list` shows.")] = None,
    keep_later: Annotated[
        bool, typer.Option("--keep-later", help="Add what only later versions have, so that nothing made since is forgotten.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be, and write nothing.")] = False,
    state_url: StateUrl = None,
    cloud: InGoogle = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Make an older version of a stack's state the newest one, where it was deleted, damaged, or is wrong. Nothing is deleted.

    It says what was made since, of which that version knows nothing; and what to do next. It refuses while the stack is locked.
    """
    from infra.cli import state as command

    asked = command.Asked(as_of=as_of, version=version, keep_later=keep_later, dry_run=dry_run)
    raise typer.Exit(command.restore(stack, folder, state_url, asked, cloud=cloud, as_json=as_json))
