"""`accelform image`: images of the workloads."""

from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, InGoogle

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("build")
def image_build(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="runner, serve, tf or train: folders of workloads/images.")],
    stack: Annotated[str | None, typer.Option(metavar="STACK", help="Stack name or stack file. (default: the only one)")] = None,
    tool: Annotated[
        str | None, typer.Option("--with", metavar="TOOL", help="docker, podman or buildah of this machine. (default: Cloud Build)")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--service-account", metavar="EMAIL", help="Who builds. (default: the stack's own for builds)")
    ] = None,
    folder: Folder = STACKS,
    cloud: InGoogle = False,
    as_json: AsJson = False,
) -> None:
    """Build images and push them to the stack's repository; write each by its digest into the stack file."""
    from infra.cli import images as command

    raise typer.Exit(command.build(names, stack, folder, tool=tool, account=account, cloud=cloud, as_json=as_json))


@app.command("sbom")
def image_sbom(
    name: Annotated[str, typer.Argument(metavar="NAME", help="runner, serve, tf or train.")],
) -> None:
    """Print what is in an image, as SPDX 2.3: what its lock installs, and its base."""
    from infra.cli import images as command

    raise typer.Exit(command.sbom(name))
