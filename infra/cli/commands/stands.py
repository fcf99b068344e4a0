"""Commands that bring stacks up on this machine and take them away."""

from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, InGoogle, Stacks, Standing

app = typer.Typer()

AllowGone = Annotated[bool, typer.Option("--allow-gone", help="What is not found may be gone, however much it is.")]


@app.command()
def preview(
    stacks: Stacks = None,
    cloud: InGoogle = False,
    full: Annotated[bool, typer.Option("--full", help="A line for each resource, and every line of the cost.")] = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Say on one screen what `up` would do: changes, what is lost, costs, rules, how long it takes.

    Nothing is made or locked, and a stack need not be up. With --cloud by your own `pulumi`, backend and credentials.
    """
    from infra.cli import preview as command

    raise typer.Exit(command.run(stacks or [], folder, cloud=cloud, full=full, as_json=as_json))


@app.command()
def up(
    stacks: Stacks = None,
    release: Annotated[
        list[str] | None,
        typer.Option(metavar="ENDPOINT", help="End the holds on this endpoint first; `all` for every one. Repeatable."),
    ] = None,
    allow_replace: Annotated[
        list[str] | None,
        typer.Option("--allow-replace", metavar="POOL", help="A node pool that may be deleted and made anew. Repeatable."),
    ] = None,
    cloud: InGoogle = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --cloud: do not ask.")] = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Bring stacks up on this machine, by the real engine, in a local Google Cloud: no account, no cost.

    What a project has once first, then regions, then what lives in their clusters. With --cloud in Google Cloud, by your own `pulumi`,
    backend and credentials: the preview is shown, and somebody is asked. ^C ends it after what is under way; what a kill leaves is
    mended by `recover`, in Google Cloud as it says there.
    """
    from infra.cli import up as command

    raise typer.Exit(
        command.run(stacks or [], folder, release=release or [], allow_replace=allow_replace or [], cloud=cloud, yes=yes, as_json=as_json)
    )


@app.command()
def down(
    stacks: Standing = None,
    force: Annotated[bool, typer.Option("--force", help="Do not destroy: drop the sandbox with all that stands in it.")] = False,
    cloud: InGoogle = False,
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="With --cloud: the stack's name, where no one can type it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --cloud: do not ask; not enough for prod.")] = False,
    keep_protected: Annotated[bool, typer.Option("--keep-protected", help="With --cloud: destroy all but what is protected.")] = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Take away what `up` made on this machine, and show that nothing is left.

    What lives in clusters first, then their regions, then what a project has once. Nobody is asked: what stands here is no real thing.
    With --cloud one stack of Google Cloud: it says what goes, asks for the name of one of prod, and destroys nothing that is protected.
    """
    from infra.cli import up as command

    raise typer.Exit(
        command.down(
            stacks or [], folder, force=force, cloud=cloud, confirm=confirm, yes=yes, keep_protected=keep_protected, as_json=as_json
        )
    )


@app.command()
def recover(
    stacks: Standing = None,
    forget: Annotated[bool, typer.Option("--forget", help="Take a create of which nobody can tell as not done.")] = False,
    allow_gone: AllowGone = False,
    as_json: AsJson = False,
) -> None:
    """Mend stacks of the sandbox whose update was killed. `up` and `down` do it by themselves; plain `pulumi` needs it."""
    from infra.cli import up as command

    raise typer.Exit(command.recover(stacks or [], forget=forget, allow_gone=allow_gone, as_json=as_json))


@app.command()
def env(stacks: Stacks = None, folder: Folder = STACKS, as_json: AsJson = False) -> None:
    """Print what a shell needs so that plain `pulumi` works against the sandbox: eval "$(accelform env)"."""
    from infra.cli import up as command

    raise typer.Exit(command.env(stacks or [], folder, as_json=as_json))


@app.command()
def refresh(
    stacks: Stacks = None,
    allow_gone: AllowGone = False,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """
    Look at everything that stands, and take note of it in the state. Never empties it: where much is not found nothing is written.

    In the place of plain `pulumi refresh`, which with another account or project takes out of the state whatever it does not find.
    """
    from infra.cli import refresh as command

    raise typer.Exit(command.run(stacks or [], folder, allow_gone=allow_gone, cloud=cloud, as_json=as_json))
