"""Commands that judge, price and explain stack files, and write them."""

from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, Named, OneStack, Stacks

app = typer.Typer()


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
        typer.Argument(help="A key such as tpu_slices.zone; or: stack, environment, rules, exit-codes. (default: every key)"),
    ] = None,
    stacks: Stacks = None,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """Explain a key of the stack file, a stack with all its defaults, what an environment decides, the rules, or the exit codes."""
    from infra.cli import explain as command

    raise typer.Exit(command.run(topic, stacks or [], folder, as_json=as_json))


@app.command()
def init(
    kind: Annotated[str, typer.Option(help="region; foundation, what a project has once; or apps, what lives in a cluster.")] = "region",
    region_stack: Annotated[str | None, typer.Option(metavar="STACK", help="For apps: stack of the region whose cluster it is.")] = None,
    stack: Annotated[
        str | None, typer.Option(help="Name of the stack. (default: the region; foundation; that of the region and -apps)")
    ] = None,
    project: Annotated[str | None, typer.Option(help="Google Cloud project id.")] = None,
    region: Annotated[str | None, typer.Option(help="Region that everything lives in.")] = None,
    environment: Annotated[str | None, typer.Option(help="dev, staging or prod.")] = None,
    owner: Annotated[str | None, typer.Option(help="Label of every resource, such as a team.")] = None,
    notify: Annotated[list[str] | None, typer.Option(help="Who gets the budgets' mail: email:ADDRESS. Repeatable.")] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(help="What to run: endpoint, cluster, a TPU accelerator type such as v6e-1, or nothing. Repeatable."),
    ] = None,
    zone: Annotated[str | None, typer.Option(help="Zone of the TPU machine.")] = None,
    provisioning: Annotated[str | None, typer.Option(help="spot, on-demand or flex-start.")] = None,
    max_run_minutes: Annotated[str | None, typer.Option(help="Run limit of the TPU machine, or unlimited.")] = None,
    because: Annotated[str | None, typer.Option(help="Why the TPU machine always stands, or is got on demand.")] = None,
    callers: Annotated[list[str] | None, typer.Option(help="IAM member who may call the endpoint, or none. Repeatable.")] = None,
    monthly_limit: Annotated[str | None, typer.Option(help='Monthly budget, such as "350 USD".')] = None,
    folder: Folder = STACKS,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: a missing answer is an error.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing stack file.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Write a stack file that passes: asks the region, what to run and the monthly limit. Every answer is also an option.

    What lives in a cluster (--kind apps) takes all but its name from the region's file. Larger ones to copy from are in docs/examples.
    """
    from infra.cli import init as command

    answers = command.Answers(
        kind=kind,
        region_stack=region_stack,
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
        because=because,
        callers=callers,
        monthly_limit=monthly_limit,
    )
    raise typer.Exit(command.run(answers, folder, ask=not yes, force=force, as_json=as_json))


@app.command("import")
def import_(
    stack: Annotated[str | None, typer.Option(help="Name of the stack. (default: the region)")] = None,
    project: Annotated[str | None, typer.Option(help="Google Cloud project id, where no stack file is there.")] = None,
    region: Annotated[str | None, typer.Option(help="Region whose things are taken.")] = None,
    environment: Annotated[str | None, typer.Option(help="dev, staging or prod, for a new stack file.")] = None,
    owner: Annotated[str | None, typer.Option(help="Label of every resource, for a new stack file.")] = None,
    notify: Annotated[list[str] | None, typer.Option(help="Who gets the mail: email:ADDRESS, for a new stack file. Repeatable.")] = None,
    monthly_limit: Annotated[str | None, typer.Option(help='Monthly budget, such as "350 USD", where the project has none.')] = None,
    cloud: Annotated[
        bool, typer.Option("--cloud", help="Look in Google Cloud, with your own credentials, and not in the sandbox.")
    ] = False,
    folder: Folder = STACKS,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing stack file.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Take what stands already, without a change of it.

    With a stack file: its state was lost; what the file declares is found by its names. Without one: a file of what others made is written,
    which names it as `existing`. Nothing in the cloud is ever changed.
    """
    from infra.cli import import_ as command

    asked = command.Asked(stack, project, region, environment, owner, notify, monthly_limit)
    raise typer.Exit(command.run(asked, folder, cloud=cloud, force=force, as_json=as_json))


@app.command()
def promote(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Stack whose images and programs were tried, such as that of staging.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Stack whose file gets them.")],
    check: Annotated[bool, typer.Option("--check", help="Write nothing: exit code 3 says that something would change.")] = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Copy what was tried in one environment into another's stack file: images by digest, programs and their arguments, accept_if.

    Sizes, places, budgets and names stay as they are. It commits nothing: the change is yours to look at, and a pull request.
    """
    from infra.cli import promote as command

    raise typer.Exit(command.run(source, target, folder, check=check, as_json=as_json))


@app.command()
def doctor(
    stacks: Stacks = None,
    folder: Folder = STACKS,
    cloud: Annotated[bool, typer.Option("--cloud", help="Look at the stacks' projects too: read-only, with your own credentials.")] = False,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="The same of their projects in the sandbox of this checkout.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is installed; with --cloud, whether each stack's project is ready for it."""
    from infra.cli import doctor as command

    raise typer.Exit(command.run(stacks or [], folder, cloud=cloud, sandbox=sandbox, as_json=as_json))


@app.command()
def evacuate(
    stack: OneStack,
    to: Annotated[str, typer.Option("--to", metavar="REGION", help="Region that takes its place.")],
    new: Annotated[
        str | None,
        typer.Option("--stack", metavar="NAME", help="Name of the new stack. (default: the old one's, with its region)"),
    ] = None,
    said: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of the new file; of its cluster's apps STACK:KEY=VALUE; KEY= takes it out."),
    ] = None,
    gib: Annotated[
        list[str] | None, typer.Option("--gib", metavar="WHAT=GIB", help="How much is in data, models or images: data=120. Repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say all of it, and write nothing.")] = False,
    folder: Folder = STACKS,
    as_json: AsJson = False,
) -> None:
    """
    Write the files of a pull request that moves a region, with what lives in its cluster, to another one.

    It says what is copied, what a person must decide, and in which order all is done.

    Exit code 3: the files are written, and something in them must be decided first.
    """
    from infra.cli import evacuate as command

    code = command.run(stack, folder, to, stack=new, said=said or [], gib=gib or [], dry_run=dry_run, as_json=as_json)
    raise typer.Exit(code)
