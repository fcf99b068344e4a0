"""`accelform gitops`: stacks that follow the repository."""

from pathlib import Path
from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
init = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(init, name="init", help="Write what a pipeline needs into this checkout: github, operator.")

RunUrl = Annotated[str, typer.Option("--run-url", metavar="URL", help="Where the log is.")]
Overwrite = Annotated[bool, typer.Option("--force", help="Overwrite files that differ.")]


@init.command("github")
def gitops_init_github(
    branch: Annotated[str | None, typer.Option(help="Branch that is applied. (default: the foundation's, or main)")] = None,
    environment: Annotated[
        str | None, typer.Option(help="Environment of GitHub with reviewers. (default: the foundation's, or production)")
    ] = None,
    folder: Folder = STACKS,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write three workflows of GitHub: preview with a comment, apply on merge, and a nightly look at drift."""
    from infra.cli import gitops as command

    raise typer.Exit(command.init_github(folder, branch=branch, environment=environment, force=force, as_json=as_json))


@init.command("operator")
def gitops_init_operator(
    repository: Annotated[str | None, typer.Option(metavar="URL", help="What the operator clones. (default: git's origin)")] = None,
    branch: Annotated[str, typer.Option(help="Branch that is applied.")] = "main",
    state_url: Annotated[str | None, typer.Option("--state-url", metavar="URL", help="Bucket of the states: gs://...")] = None,
    account: Annotated[str | None, typer.Option(metavar="EMAIL", help="Service account of Google Cloud that applies.")] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of the manifests.")] = "pulumi",
    image: Annotated[str | None, typer.Option(help="Image of the workspaces. (default: Pulumi's own, of the tested version)")] = None,
    secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="Secret with the accessToken of a private repository. (default: it is public)")
    ] = None,
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Folder of the checkout for the manifests.")] = Path("operator"),
    folder: Folder = STACKS,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a manifest for each stack, for the Pulumi Kubernetes Operator 2."""
    from infra.cli import gitops as command

    said = {"repository": repository, "branch": branch, "state-url": state_url, "account": account, "namespace": namespace}
    raise typer.Exit(command.init_operator(folder, into, said | {"image": image, "secret": secret}, force=force, as_json=as_json))


@app.command("stacks")
def gitops_stacks(
    against: Annotated[str | None, typer.Option(metavar="REF", help="Those that HEAD touches since a git ref. (default: all)")] = None,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """Say which stacks a change touches, each kind after those that it builds on."""
    from infra.cli import gitops as command

    raise typer.Exit(command.stacks(folder, against=against, as_json=as_json))


@app.command("plan")
def gitops_plan() -> None:
    """Read what `pulumi preview --json` says on standard input; write what would change, without a value, as JSON.

    Set PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true for the preview: else it leaves out which rules do not hold.

    Exit code 3: a rule does not hold. 6: the preview failed.
    """
    from infra.cli import gitops as command

    raise typer.Exit(command.plan())


@app.command("comment")
def gitops_comment(
    reports: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of each stack a folder: check.json, cost.md, plan.json.")],
    run_url: RunUrl = "",
    sha: Annotated[str, typer.Option(metavar="COMMIT", help="Commit that was looked at.")] = "",
) -> None:
    """Print one comment for a pull request, of all stacks that it touches."""
    from infra.cli import gitops as command

    raise typer.Exit(command.comment(reports, run_url=run_url, sha=sha))


@app.command("drift")
def gitops_drift(
    report: Annotated[Path, typer.Argument(metavar="FOLDER", help="The stack's folder, named as the stack, with its plan.json.")],
    run_url: RunUrl = "",
) -> None:
    """Print an issue's text where what stands is not what is declared.

    Exit code 3: there is drift. 6: nobody knows, since the preview failed.
    """
    from infra.cli import gitops as command

    raise typer.Exit(command.drift(report, run_url=run_url))
