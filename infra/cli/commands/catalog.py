"""`accelform catalog`: what Google Cloud has."""

from typing import Annotated

import typer

from infra.cli.arguments import STACKS, AsJson, Folder, Named

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command()
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


@app.command()
def zone(name: Annotated[str, typer.Argument(metavar="ZONE", help="A zone such as asia-east1-c.")], as_json: AsJson = False) -> None:
    """Say which accelerators a zone has, how they are sold there, and what they cost an hour."""
    from infra.cli import catalog as command

    raise typer.Exit(command.zone(name, as_json=as_json))


@app.command()
def region(name: Annotated[str, typer.Argument(metavar="REGION", help="A region such as asia-east1.")], as_json: AsJson = False) -> None:
    """Say which accelerators the zones of a region have, what they cost an hour, and what Vertex AI runs there."""
    from infra.cli import catalog as command

    raise typer.Exit(command.region(name, as_json=as_json))


@app.command()
def show(name: Named, as_json: AsJson = False) -> None:
    """Say what an accelerator or a machine is made of, what each API calls it, and who says so."""
    from infra.cli import catalog as command

    raise typer.Exit(command.show(name, as_json=as_json))


@app.command()
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


@app.command()
def ages(as_json: AsJson = False) -> None:
    """Say how old each table is, and how far its rows are to be trusted."""
    from infra.cli import catalog as command

    raise typer.Exit(command.ages(as_json=as_json))


@app.command()
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
    from infra.cli import catalog_refresh as command

    raise typer.Exit(command.run(project, only, region, folder, sandbox=sandbox, write=write, as_json=as_json))


@app.command()
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
