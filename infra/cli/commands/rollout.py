"""Commands that move traffic from one version of a model to the next, and say what controllers hold and what waits."""

from pathlib import Path
from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, InGoogle, OneEndpoint, OneStack

app = typer.Typer()


@app.command()
def rollout(
    stack: OneStack,
    endpoint: OneEndpoint,
    to: Annotated[str, typer.Option(metavar="VERSION", help="Alias or number of the version that is to serve.")] = "candidate",
    steps: Annotated[
        str | None, typer.Option(metavar="PERCENT,...", help="Shares of the traffic: 10,50,100. (default: the file's)")
    ] = None,
    hold: Annotated[str | None, typer.Option(metavar="TIME", help="How long each step is held: 60m. (default: the file's)")] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(help="What must hold: p95_ms<80, error_rate<0.01, requests>=100. Repeatable. (default: the file's)"),
    ] = None,
    keep_warm: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long the version before stays deployed after it. (default: the file's, or 0)")
    ] = None,
    probe: Annotated[Path | None, typer.Option(metavar="FILE", help="Send these requests, instead of reading Cloud Monitoring.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the rollout that was cut off.")] = False,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give a new model version the traffic by steps; the first guard that breaks returns it all."""
    from infra.cli import rollout as command

    raise typer.Exit(
        command.run(
            stack,
            endpoint,
            folder,
            to=to,
            steps=steps,
            hold=hold,
            guards=guard or [],
            keep_warm=keep_warm,
            probe=probe,
            resume=resume,
            cloud=cloud,
            yes=yes,
            as_json=as_json,
        )
    )


@app.command()
def rollback(stack: OneStack, endpoint: OneEndpoint, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False) -> None:
    """Return all traffic to the version before, while it is deployed."""
    from infra.cli import rollout as command

    raise typer.Exit(command.back(stack, endpoint, folder, cloud=cloud, as_json=as_json))


@app.command()
def compare_versions(
    stack: OneStack,
    endpoint: OneEndpoint,
    last: Annotated[str, typer.Option(metavar="TIME", help="How far back: 60m.")] = "60m",
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Compare the two versions on an endpoint: requests, latency, errors, cost, and what is more than chance."""
    from infra.cli import rollout as command

    raise typer.Exit(command.compare(stack, endpoint, folder, last=last, cloud=cloud, as_json=as_json))


@app.command()
def holds(
    stack: OneStack,
    release: Annotated[
        list[str] | None, typer.Option(metavar="ENDPOINT", help="End the holds on this endpoint; `all` for every one. Repeatable.")
    ] = None,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Say what controllers hold of a stack: programs leave it as it is."""
    from infra.cli import rollout as command

    raise typer.Exit(command.holds(stack, folder, released=release or [], cloud=cloud, as_json=as_json))


@app.command()
def queue(
    stack: OneStack,
    remove_dead: Annotated[
        bool, typer.Option("--remove-dead", help="Delete those that nothing comes of any more, with what they left.")
    ] = False,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Say what waits in the project's queue of the Cloud TPU API, and what is dead there and holds quota.

    Exit code 3: something is dead.
    """
    from infra.cli import queue as command

    raise typer.Exit(command.run(stack, folder, remove_dead=remove_dead, cloud=cloud, as_json=as_json))
