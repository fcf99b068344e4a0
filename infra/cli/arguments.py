"""Arguments and options that several commands have, with one help each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infra.cli.words import stack_names

Stacks = Annotated[
    list[str] | None,
    typer.Argument(metavar="[STACK]...", help="Stack names or stack files. (default: every file in stacks/)", autocompletion=stack_names),
]
Standing = Annotated[
    list[str] | None,
    typer.Argument(metavar="[STACK]...", help="Stacks of the sandbox, by name. (default: all that are up)", autocompletion=stack_names),
]
Named = Annotated[
    str, typer.Argument(metavar="NAME", help="A TPU slice such as v6e-8, a GPU such as l4, or a machine type such as g2-standard-4.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print for machines.")]
Folder = Annotated[Path, typer.Option("--stacks", metavar="FOLDER", help="Folder of the stack files.", envvar="ACCELFORM_STACKS")]
STACKS = Path("stacks")
OneStack = Annotated[str, typer.Argument(metavar="STACK", help="Stack name or stack file.", autocompletion=stack_names)]
OneEndpoint = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Endpoint, as the stack file calls it.")]
InGoogle = Annotated[bool, typer.Option("--cloud", help="In Google Cloud, with your own credentials. (default: in the sandbox)")]
OfStack = Annotated[
    str | None,
    typer.Option("--stack", metavar="STACK", help="Stack of the job. (default: the only one there is)", autocompletion=stack_names),
]
