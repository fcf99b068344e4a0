"""Commands that look at what stands: status, logs, open, and what a shell needs to complete words."""

from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, InGoogle, Stacks
from infra.cli.words import stack_names, thing_names

app = typer.Typer()

OneThing = Annotated[
    str,
    typer.Argument(
        metavar="THING",
        help="Its name in the stack file: recommend, or endpoints.recommend.",
        autocompletion=thing_names,
        show_default=False,
    ),
]
WhichStack = Annotated[
    str | None,
    typer.Option("--stack", metavar="STACK", help="Stack that it is of. (default: every stack file)", autocompletion=stack_names),
]


@app.command()
def status(stacks: Stacks = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False) -> None:
    """
    Say what stands and how it does, live: what needs a person first. Machines, pools, endpoints, jobs, budgets, quota, services.

    Exit code 3: something is not there, not well or not as declared. 6: something could not be read, and the rest is well.
    """
    from infra.cli import status as command

    raise typer.Exit(command.run(stacks or [], folder, cloud=cloud, as_json=as_json))


@app.command()
def logs(
    thing: OneThing,
    stack: WhichStack = None,
    last: Annotated[str, typer.Option(metavar="TIME", help="How far back: a number with s, m, h or d.")] = "10m",
    follow: Annotated[bool, typer.Option("--follow", help="Go on until ^C.")] = False,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Show what one thing said: a machine, an endpoint, a job, a service in a cluster. One entry a line."""
    from infra.cli import logs as command

    raise typer.Exit(command.run(thing, stack, folder, last=last, follow=follow, cloud=cloud, as_json=as_json))


@app.command("open")
def open_(
    thing: OneThing,
    stack: WhichStack = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the address, and open nothing.")] = False,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Open the page of one thing: in Google's console with --cloud, else what the sandbox answers. Without a terminal it is printed."""
    from infra.cli import open_page as command

    raise typer.Exit(command.run(thing, stack, folder, only_print=only_print, cloud=cloud, as_json=as_json))


@app.command()
def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print what a shell needs to complete commands, options, stacks and things: eval "$(accelform completion bash)"."""
    from infra.cli import completion as command

    raise typer.Exit(command.run(shell))
