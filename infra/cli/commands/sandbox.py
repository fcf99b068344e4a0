"""`accelform sandbox`: the local Google Cloud."""

from typing import Annotated

import typer

from infra.cli.arguments import AsJson

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command()
def start(
    project: Annotated[list[str] | None, typer.Option(help="Project that is to be there. Repeatable.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port on 127.0.0.1. (default: the last one, else a free one)")] = None,
    manual_clock: Annotated[bool, typer.Option("--manual-clock", help="Time stands until it is moved, polls do not move it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start it, or find it."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.start(project or [], port, manual_clock=manual_clock, as_json=as_json))


@app.command("attach")
def sandbox_attach(
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left to do.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run what the sandbox's machines, executions and deployed models run: local processes of this project's programs, until ^C."""
    from infra.cli import attach as command

    raise typer.Exit(command.run(once=once, as_json=as_json))


@app.command()
def stop(as_json: AsJson = False) -> None:
    """End it. What stands in it is kept for the next start."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.stop(as_json=as_json))


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say whether it runs, and what stands in it."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.status(as_json=as_json))


@app.command()
def clusters(as_json: AsJson = False) -> None:
    """Say what stands in its clusters: nodes, pods, what keeps a pod or a job waiting, and where their APIs answer."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.clusters(as_json=as_json))
