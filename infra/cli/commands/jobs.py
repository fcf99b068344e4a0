"""`accelform jobs`: jobs that run by night."""

from pathlib import Path
from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, InGoogle, OfStack

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

OneJob = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job under `jobs:`.")]
OneRun = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Id of a run, such as 20261201T180000Z. (default: the open or last one)")
]


@app.command("run")
def run_job(
    name: OneJob,
    zone: Annotated[list[str] | None, typer.Option(help="Zone to try, in the place of the job's. Repeatable, in order.")] = None,
    provisioning: Annotated[list[str] | None, typer.Option(metavar="WAY", help="Way of buying to try, of the job's. Repeatable.")] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Tell what happens, until it ends.")] = True,
    local: Annotated[bool, typer.Option("--local", help="Run its program as a process here, on the processor.")] = False,
    data: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FOLDER", help="With --local: a folder of data by its name. Repeatable.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FOLDER", help="With --local: what it makes. (default: runs/NAME/RUN)")] = None,
    here: Annotated[
        bool, typer.Option("--here", help="In the sandbox, with real processes beside it: training, rollout, answers.")
    ] = False,
    ask: Annotated[
        list[str] | None,
        typer.Option(metavar="JSON", help="With --here: an instance that the model's endpoints are asked for. Repeatable."),
    ] = None,
    stack: OfStack = None,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Start a run as the clock would, and tell what happens. Exit code 3: it did not end well."""
    from infra.cli import jobs as command

    asked = command.Asked(zone or [], provisioning or [], follow, local, data or [], output, here, ask or [])
    raise typer.Exit(command.run(name, command.Where(stack, folder, cloud, as_json), asked))


@app.command("list")
def list_jobs(stack: OfStack = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False) -> None:
    """Say of each job how its last run ended, what that cost, and when the next one begins."""
    from infra.cli import jobs as command

    raise typer.Exit(command.list_(command.Where(stack, folder, cloud, as_json)))


@app.command("show")
def show_job(
    name: OneJob, run: OneRun = None, stack: OfStack = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False
) -> None:
    """Show a run: every try and why it ended, what it cost and may cost at most, and what became of the model."""
    from infra.cli import jobs as command

    raise typer.Exit(command.show(name, run, command.Where(stack, folder, cloud, as_json)))


@app.command("logs")
def job_logs(
    name: OneJob,
    run: OneRun = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run ends.")] = False,
    stack: OfStack = None,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Print what the runner and the hosts of a run said, from Cloud Logging."""
    from infra.cli import jobs as command

    raise typer.Exit(command.logs(name, run, command.Where(stack, folder, cloud, as_json), follow=follow))


@app.command("stop")
def stop_job(name: OneJob, stack: OfStack = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False) -> None:
    """End the run that is open: its runner does within a minute, or this command where none lives. Its machine is deleted."""
    from infra.cli import jobs as command

    raise typer.Exit(command.stop(name, command.Where(stack, folder, cloud, as_json)))


@app.command("ssh")
def ssh_job(
    name: OneJob,
    host: Annotated[int, typer.Option(help="Number of the host, from 0.")] = 0,
    show: Annotated[bool, typer.Option("--show", help="Only print the command.")] = False,
    stack: OfStack = None,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Log in to a host of the open run, by gcloud through Google's tunnel. The command is printed first."""
    from infra.cli import jobs as command

    raise typer.Exit(command.ssh(name, command.Where(stack, folder, cloud, as_json), host=host, run_it=not show))
