"""`accelform`: every command, its arguments and its help. What a command does is in the file of its name."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from infra.errors import AccelformError, ExitCode

app = typer.Typer(
    help="Google Cloud accelerators as Python: one stack file a region, and one for what lives in its cluster; checked and priced first.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Stacks = Annotated[
    list[str] | None,
    typer.Argument(metavar="[STACK]...", help="Stack names or stack files. (default: every file in stacks/)"),
]
Standing = Annotated[
    list[str] | None,
    typer.Argument(metavar="[STACK]...", help="Stacks of the sandbox, by name. (default: all that are up)"),
]
Named = Annotated[
    str, typer.Argument(metavar="NAME", help="A TPU slice such as v6e-8, a GPU such as l4, or a machine type such as g2-standard-4.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print for machines.")]
Folder = Annotated[Path, typer.Option("--stacks", metavar="FOLDER", help="Folder of the stack files.", envvar="ACCELFORM_STACKS")]
STACKS = Path("stacks")


@app.command()
def check(stacks: Stacks = None, folder: Folder = STACKS, as_json: AsJson = False) -> None:
    """Say what a stack would make, where each thing stands, what it costs a month, and which rules hold."""
    from infra.cli import check as command

    raise typer.Exit(command.run(stacks or [], folder, as_json=as_json))


@app.command()
def cost(
    stacks: Stacks = None,
    folder: Folder = STACKS,
    against: Annotated[str | None, typer.Option(metavar="REF", help="What changes against the stack files of a git ref.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="With --against: print a comment for a pull request.")] = False,
    actual: Annotated[bool, typer.Option("--actual", help="Hold the estimate against what Google billed.")] = False,
    billing_table: Annotated[
        str | None,
        typer.Option(metavar="PROJECT.DATASET.TABLE", help="With --actual: the detailed usage cost export in BigQuery."),
    ] = None,
    month: Annotated[
        str | None,
        typer.Option(metavar="MONTH", help="With --actual: 2026-11, or days 2026-12-01..2026-12-15. (default: the last full month)"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what each thing costs a month: low, expected and high, with the age of every price."""
    from infra.cli import cost as command

    asked = command.Asked(against=against, markdown=markdown, actual=actual, billing_table=billing_table, month=month, as_json=as_json)
    raise typer.Exit(command.run(stacks or [], folder, asked))


@app.command()
def compare(
    name: Named,
    hours_a_day: Annotated[str, typer.Option("--hours-a-day", metavar="HOURS", help="Hours of use a day, above 0 to 24.")] = "24",
    region: Annotated[str | None, typer.Option(help="Region of Google Cloud. (default: for each thing the cheapest)")] = None,
    years: Annotated[str, typer.Option(metavar="YEARS", help="Years that an own server is used.")] = "3",
    usd_kwh: Annotated[str | None, typer.Option("--usd-kwh", metavar="USD", help="Price of a kWh for it. (default: unknown)")] = None,
    credit: Annotated[str | None, typer.Option(metavar="MONEY", help='A credit, such as "300 USD": says when it is gone.')] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="DAY", help="Day on which the credit starts: 2026-12-01.")] = None,
    credit_days: Annotated[
        str | None, typer.Option("--credit-days", metavar="DAYS", help="Days of the credit. (default: 90, as Google's free trial has)")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what the same hours cost on other accelerators, on AWS and on an own server, and how long a credit lasts."""
    from infra.cli import compare as command

    asked = command.Asked(name, hours_a_day, region, years, usd_kwh, credit, start, credit_days)
    raise typer.Exit(command.run(asked, as_json=as_json))


@app.command()
def report(
    stacks: Stacks = None,
    folder: Folder = STACKS,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE|FOLDER", help="A file that ends with .html for one stack, or a folder. (default: the folder reports)"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is no report.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """
    Write a page a stack for people: findings, resources, costs and accelerator prices, with plots. One file each, that asks nobody.

    Several stacks get an index too. It ends with 0 once everything is written, whatever the pages say: `accelform check` judges, and
    its --json has all that the pages show.
    """
    from infra.cli import report as command

    raise typer.Exit(command.run(stacks or [], folder, html=html, force=force, show=show))


@app.command()
def explain(
    topic: Annotated[
        str | None,
        typer.Argument(help="A key such as tpu_slices.zone; or: stack, rules, exit-codes. (default: every key)"),
    ] = None,
    stacks: Stacks = None,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """Explain a key of the stack file, a stack with all its defaults, the rules, or the exit codes."""
    from infra.cli import explain as command

    raise typer.Exit(command.run(topic, stacks or [], folder, as_json=as_json))


@app.command()
def init(
    stack: Annotated[str | None, typer.Option(help="Name of the stack. (default: the region)")] = None,
    project: Annotated[str | None, typer.Option(help="Google Cloud project id.")] = None,
    region: Annotated[str | None, typer.Option(help="Region that everything lives in.")] = None,
    environment: Annotated[str | None, typer.Option(help="dev, staging or prod.")] = None,
    owner: Annotated[str | None, typer.Option(help="Label of every resource, such as a team.")] = None,
    notify: Annotated[list[str] | None, typer.Option(help="Who gets the budgets' mail: email:ADDRESS. Repeatable.")] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(help="What to run: endpoint, a TPU accelerator type such as v6e-1, or nothing. Repeatable."),
    ] = None,
    zone: Annotated[str | None, typer.Option(help="Zone of the TPU machine.")] = None,
    provisioning: Annotated[str | None, typer.Option(help="spot, on-demand or flex-start.")] = None,
    max_run_minutes: Annotated[str | None, typer.Option(help="Run limit of the TPU machine, or unlimited.")] = None,
    callers: Annotated[list[str] | None, typer.Option(help="IAM member who may call the endpoint, or none. Repeatable.")] = None,
    monthly_limit: Annotated[str | None, typer.Option(help='Monthly budget, such as "350 USD".')] = None,
    folder: Folder = STACKS,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: a missing answer is an error.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing stack file.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Write a region's stack file that passes: asks the region, what to run and the monthly limit. Every answer is also an option.

    For clusters, and for what lives in them, copy one from docs/examples.
    """
    from infra.cli import init as command

    answers = command.Answers(
        stack=stack,
        project=project,
        region=region,
        environment=environment,
        owner=owner,
        notify=notify,
        run=run,
        zone=zone,
        provisioning=provisioning,
        max_run_minutes=max_run_minutes,
        callers=callers,
        monthly_limit=monthly_limit,
    )
    raise typer.Exit(command.run(answers, folder, ask=not yes, force=force, as_json=as_json))


@app.command()
def doctor(
    stacks: Stacks = None,
    folder: Folder = STACKS,
    cloud: Annotated[bool, typer.Option("--cloud", help="Look at the stacks' projects too: read-only, with your own credentials.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is installed; with --cloud, whether each stack's project is ready for it."""
    from infra.cli import doctor as command

    raise typer.Exit(command.run(stacks or [], folder, cloud=cloud, as_json=as_json))


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
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Bring stacks up on this machine, by the real engine, in a local Google Cloud: no account, no cost.

    What a project has once first, then regions, then what lives in their clusters.
    """
    from infra.cli import up as command

    asked = {"release": release or [], "allow_replace": allow_replace or []}
    raise typer.Exit(command.run(stacks or [], folder, **asked, as_json=as_json))


@app.command()
def down(
    stacks: Standing = None,
    force: Annotated[bool, typer.Option("--force", help="Do not destroy: drop the sandbox with all that stands in it.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Take away what `up` made on this machine, and show that nothing is left.

    What lives in clusters first, then their regions, then what a project has once.
    """
    from infra.cli import up as command

    raise typer.Exit(command.down(stacks or [], force=force, as_json=as_json))


@app.command()
def recover(
    stacks: Standing = None,
    forget: Annotated[bool, typer.Option("--forget", help="Take a create of which nobody can tell as not done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Mend stacks of the sandbox whose update was killed. `up` and `down` do it by themselves; plain `pulumi` needs it."""
    from infra.cli import up as command

    raise typer.Exit(command.recover(stacks or [], forget=forget, as_json=as_json))


@app.command()
def env(stacks: Stacks = None, folder: Folder = STACKS, as_json: AsJson = False) -> None:
    """Print what a shell needs so that plain `pulumi` works against the sandbox: eval "$(accelform env)"."""
    from infra.cli import up as command

    raise typer.Exit(command.env(stacks or [], folder, as_json=as_json))


OneStack = Annotated[str, typer.Argument(metavar="STACK", help="Stack name or stack file.")]
OneEndpoint = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Endpoint, as the stack file calls it.")]
InGoogle = Annotated[bool, typer.Option("--cloud", help="In Google Cloud, with your own credentials. (default: in the sandbox)")]


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


image = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(image, name="image", help="Images of the workloads: build, sbom.")


@image.command("build")
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


@image.command("sbom")
def image_sbom(
    name: Annotated[str, typer.Argument(metavar="NAME", help="runner, serve, tf or train.")],
) -> None:
    """Print what is in an image, as SPDX 2.3: what its lock installs, and its base."""
    from infra.cli import images as command

    raise typer.Exit(command.sbom(name))


sandbox = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(sandbox, name="sandbox", help="The local Google Cloud: start, stop, status, clusters, attach.")


@sandbox.command()
def start(
    project: Annotated[list[str] | None, typer.Option(help="Project that is to be there. Repeatable.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port on 127.0.0.1. (default: the last one, else a free one)")] = None,
    manual_clock: Annotated[bool, typer.Option("--manual-clock", help="Time stands until it is moved, polls do not move it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start it, or find it."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.start(project or [], port, manual_clock=manual_clock, as_json=as_json))


@sandbox.command("attach")
def sandbox_attach(
    once: Annotated[bool, typer.Option("--once", help="End when nothing is left to do.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run what the sandbox's machines, executions and deployed models run: local processes of this project's programs, until ^C."""
    from infra.cli import attach as command

    raise typer.Exit(command.run(once=once, as_json=as_json))


@sandbox.command()
def stop(as_json: AsJson = False) -> None:
    """End it. What stands in it is kept for the next start."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.stop(as_json=as_json))


@sandbox.command()
def status(as_json: AsJson = False) -> None:
    """Say whether it runs, and what stands in it."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.status(as_json=as_json))


@sandbox.command()
def clusters(as_json: AsJson = False) -> None:
    """Say what stands in its clusters: nodes, pods, what keeps a pod or a job waiting, and where their APIs answer."""
    from infra.cli import sandbox as command

    raise typer.Exit(command.clusters(as_json=as_json))


jobs = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(jobs, name="jobs", help="Jobs that run by night: run, list, show, logs, stop, ssh.")

OneJob = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job under `jobs:`.")]
OneRun = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Id of a run, such as 20261201T180000Z. (default: the open or last one)")
]
OfStack = Annotated[str | None, typer.Option("--stack", metavar="STACK", help="Stack of the job. (default: the only one there is)")]


@jobs.command("run")
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


@jobs.command("list")
def list_jobs(stack: OfStack = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False) -> None:
    """Say of each job how its last run ended, what that cost, and when the next one begins."""
    from infra.cli import jobs as command

    raise typer.Exit(command.list_(command.Where(stack, folder, cloud, as_json)))


@jobs.command("show")
def show_job(
    name: OneJob, run: OneRun = None, stack: OfStack = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False
) -> None:
    """Show a run: every try and why it ended, what it cost and may cost at most, and what became of the model."""
    from infra.cli import jobs as command

    raise typer.Exit(command.show(name, run, command.Where(stack, folder, cloud, as_json)))


@jobs.command("logs")
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


@jobs.command("stop")
def stop_job(name: OneJob, stack: OfStack = None, folder: Folder = STACKS, cloud: InGoogle = False, as_json: AsJson = False) -> None:
    """End the run that is open: its runner does within a minute, or this command where none lives. Its machine is deleted."""
    from infra.cli import jobs as command

    raise typer.Exit(command.stop(name, command.Where(stack, folder, cloud, as_json)))


@jobs.command("ssh")
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


gitops = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(gitops, name="gitops", help="Stacks that follow the repository: init, and what its workflows run.")
gitops_init = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
gitops.add_typer(gitops_init, name="init", help="Write what a pipeline needs into this checkout: github, operator.")

RunUrl = Annotated[str, typer.Option("--run-url", metavar="URL", help="Where the log is.")]
Overwrite = Annotated[bool, typer.Option("--force", help="Overwrite files that differ.")]


@gitops_init.command("github")
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


@gitops_init.command("operator")
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


@gitops.command("stacks")
def gitops_stacks(
    against: Annotated[str | None, typer.Option(metavar="REF", help="Those that HEAD touches since a git ref. (default: all)")] = None,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """Say which stacks a change touches, each kind after those that it builds on."""
    from infra.cli import gitops as command

    raise typer.Exit(command.stacks(folder, against=against, as_json=as_json))


@gitops.command("plan")
def gitops_plan() -> None:
    """Read what `pulumi preview --json` says on standard input; write what would change, without a value, as JSON.

    Set PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true for the preview: else it leaves out which rules do not hold.

    Exit code 3: a rule does not hold. 6: the preview failed.
    """
    from infra.cli import gitops as command

    raise typer.Exit(command.plan())


@gitops.command("comment")
def gitops_comment(
    reports: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of each stack a folder: check.json, cost.md, plan.json.")],
    run_url: RunUrl = "",
    sha: Annotated[str, typer.Option(metavar="COMMIT", help="Commit that was looked at.")] = "",
) -> None:
    """Print one comment for a pull request, of all stacks that it touches."""
    from infra.cli import gitops as command

    raise typer.Exit(command.comment(reports, run_url=run_url, sha=sha))


@gitops.command("drift")
def gitops_drift(
    report: Annotated[Path, typer.Argument(metavar="FOLDER", help="The stack's folder, named as the stack, with its plan.json.")],
    run_url: RunUrl = "",
) -> None:
    """Print an issue's text where what stands is not what is declared.

    Exit code 3: there is drift. 6: nobody knows, since the preview failed.
    """
    from infra.cli import gitops as command

    raise typer.Exit(command.drift(report, run_url=run_url))


catalog = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(catalog, name="catalog", help="What Google Cloud has: zones, zone, region, show, search, fits, ages, refresh.")


@catalog.command()
def zones(
    name: Named,
    near: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Region or zone that is to be near. (default: cheapest first)"),
    ] = None,
    unconfirmed: Annotated[bool, typer.Option("--unconfirmed", help="Show zones that only a weak source has, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which zones have an accelerator, how it is sold there, and what it costs an hour."""
    from infra.cli import catalog as command

    raise typer.Exit(command.zones(name, near=near, unconfirmed=unconfirmed, as_json=as_json))


@catalog.command()
def zone(name: Annotated[str, typer.Argument(metavar="ZONE", help="A zone such as asia-east1-c.")], as_json: AsJson = False) -> None:
    """Say which accelerators a zone has, how they are sold there, and what they cost an hour."""
    from infra.cli import catalog as command

    raise typer.Exit(command.zone(name, as_json=as_json))


@catalog.command()
def region(name: Annotated[str, typer.Argument(metavar="REGION", help="A region such as asia-east1.")], as_json: AsJson = False) -> None:
    """Say which accelerators the zones of a region have, what they cost an hour, and what Vertex AI runs there."""
    from infra.cli import catalog as command

    raise typer.Exit(command.region(name, as_json=as_json))


@catalog.command()
def show(name: Named, as_json: AsJson = False) -> None:
    """Say what an accelerator or a machine is made of, what each API calls it, and who says so."""
    from infra.cli import catalog as command

    raise typer.Exit(command.show(name, as_json=as_json))


@catalog.command()
def search(
    memory_gib: Annotated[str | None, typer.Option(metavar="GIB", help="Memory of all accelerators together, at least.")] = None,
    max_usd_hour: Annotated[str | None, typer.Option(metavar="USD", help="Price an hour, at most.")] = None,
    spot: Annotated[bool, typer.Option("--spot", help="As spot. (default: on demand)")] = False,
    flex_start: Annotated[bool, typer.Option("--flex-start", help="As flex-start. (default: on demand)")] = False,
    region: Annotated[str | None, typer.Option(help="In this region only. (default: every region)")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what has so much memory for so little money, cheapest first; what has no known price is listed apart."""
    from infra.cli import catalog as command

    raise typer.Exit(command.search(memory_gib, max_usd_hour, spot=spot, flex_start=flex_start, region=region, as_json=as_json))


@catalog.command()
def ages(as_json: AsJson = False) -> None:
    """Say how old each table is, and how far its rows are to be trusted."""
    from infra.cli import catalog as command

    raise typer.Exit(command.ages(as_json=as_json))


@catalog.command()
def refresh(
    project: Annotated[str | None, typer.Option(help="Project that asks. (default: the one that the stack files name)")] = None,
    only: Annotated[str | None, typer.Option(metavar="GROUPS", help="Of tpus,gpus,regions, apart by commas. (default: all)")] = None,
    region: Annotated[str | None, typer.Option(help="This region only. (default: every region)")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the difference into the tables of this checkout.")] = False,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Ask the sandbox of this checkout, not Google Cloud.")] = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """Compare the tables of zones and regions with Google's live lists; read-only in the cloud, with your own credentials.

    A list shows what one project may see: what it lacks is marked with --write and trusted less, never taken away. How a thing is sold no
    list tells. Names that no table knows are shown and never written.

    Prices are not refreshed: Google's list of SKUs tells what one is for in free text only. How old they are: accelform catalog ages.

    Exit code 3: there is a difference, and it was not written. 6: something did not answer; its rows are left as they are.
    """
    from infra.cli import refresh as command

    raise typer.Exit(command.run(project, only, region, folder, sandbox=sandbox, write=write, as_json=as_json))


@catalog.command()
def fits(
    name: Named,
    zone: Annotated[str | None, typer.Option(help="Zone that it is to stand in.")] = None,
    region: Annotated[str | None, typer.Option(help="Region, for Vertex AI.")] = None,
    way: Annotated[
        str | None, typer.Option("--as", metavar="WAY", help="on-demand, spot, flex-start or reservation. (default: on-demand)")
    ] = None,
    api: Annotated[
        str | None,
        typer.Option("--on", metavar="API", help="compute-engine, tpu-api, gke or vertex. (default: by generation; GPUs compute-engine)"),
    ] = None,
    topology: Annotated[str | None, typer.Option(help="Chips of a TPU slice along each axis, such as 2x4.")] = None,
    count: Annotated[int | None, typer.Option(metavar="N", help="GPUs of one machine.")] = None,
    gpu: Annotated[str | None, typer.Option("--with", metavar="GPU", help="GPU on a machine, such as nvidia-tesla-t4.")] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Machines in all. (default: those of one slice, or one)")] = None,
    use: Annotated[str | None, typer.Option(help="On Vertex AI: prediction or training. (default: prediction)")] = None,
    placement: Annotated[str | None, typer.Option(help="How machines stand to each other: compact or spread.")] = None,
    partition: Annotated[str | None, typer.Option(metavar="SIZE", help="Parts that each GPU is cut into, such as 1g.5gb.")] = None,
    reservation: Annotated[str | None, typer.Option(metavar="NAME", help="Reservation that is consumed.")] = None,
    unconfirmed: Annotated[bool, typer.Option("--unconfirmed", help="Offer what only a weak source has, too, marked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether a machine, its accelerators, place, way of buying and API go together; else why not, and the nearest that do."""
    from infra.cli import fits as command

    places = {"zone": zone, "region": region, "as": way, "on": api, "topology": topology, "with": gpu}
    options = {**places, "use": use, "placement": placement, "partition": partition, "reservation": reservation}
    raise typer.Exit(command.run(name, options, count=count, nodes=nodes, unconfirmed=unconfirmed, as_json=as_json))


def main() -> None:
    """Entry point: a user's mistake is a sentence and an exit code, never a traceback."""
    from infra.errors import AccelformError, ExitCode, StoppedError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show is no fault of the file
    for number in (signal.SIGTERM, signal.SIGHUP):  # whoever ends us gets the same end as ^C
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    gc.disable()  # a command ends before garbage matters; looking for it takes a third of a `check`
    try:
        try:
            code = app(standalone_mode=False)
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
