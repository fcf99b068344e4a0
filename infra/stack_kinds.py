"""The kinds of stacks: which spec reads a file, and which program makes it so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.check import StackFile
from infra.clouds import GOOGLE_CLOUD, Cloud
from infra.errors import Problem, SpecError, nearest
from infra.keys import Key
from infra.refusals import NAMESPACE, show
from infra.stack_file import KINDS, REGION, FileSpec
from infra.yaml_file import YamlFile, read

KEY = f"{NAMESPACE}kind"


def load(path: Path, name: str | None = None, *, beside: Path | None = None) -> FileSpec:
    """
    Reads one stack file of any kind.

    Args:
        beside: Where the files of other stacks are. (default: in its folder)

    Raises:
        SpecError: With every problem of the file.
    """
    file = read(path, name)
    return _spec_of_file(file).from_file(file, beside or path.parent)


def in_order(files: Sequence[StackFile]) -> list[StackFile]:
    """
    The stacks as they are made: foundations first, what lives in a region's cluster after the region.

    Raises:
        SpecError: A file is no stack file, or of no known kind.
    """
    return sorted(files, key=lambda one: list(KINDS).index(str(kind_of(one.path))))


def kind_of(path: Path, name: str | None = None) -> str:
    """
    What kind of stack a file is of.

    Raises:
        SpecError: It is no stack file, or of no known kind.
    """
    return str(_spec_of_file(read(path, name)).model_fields["kind"].default)


def _spec_of_file(file: YamlFile) -> type[FileSpec]:
    config = file.data.get("config")
    return spec_of(config if isinstance(config, dict) else {}, file.name, file.line_of(("config", KEY)))


def from_engine(config: Mapping[str, str], name: str, folder: Path) -> FileSpec:
    """
    Reads what the engine hands over.

    Args:
        folder: Where the files of other stacks are.

    Raises:
        SpecError: With every problem of the configuration.
    """
    return spec_of(config, name).from_engine(config, name, folder)


def spec_of(config: Mapping[str, Any], file: str, line: int | None = None) -> type[FileSpec]:
    """
    The spec that reads the configuration, by its key `kind`.

    Raises:
        SpecError: There is no such kind.
    """
    kind = config.get(KEY, REGION)
    if not isinstance(kind, str) or kind not in KINDS:
        close = nearest(kind, KINDS) if isinstance(kind, str) else []
        raise SpecError(file, [Problem("kind", f"{show(kind)} is no kind of stack", ", ".join(close or KINDS), line=line)])
    return _spec(kind)


def specs() -> dict[str, type[FileSpec]]:
    """The spec of every kind, regions first: most files are of that kind."""
    return {kind: _spec(kind) for kind in (REGION, "foundation", "apps")}


def _spec(kind: str) -> type[FileSpec]:
    """Imports no other kind's: what lives in a cluster alone takes a tenth of a second, and a region needs none of it."""
    module, name = {REGION: ("stack", "StackSpec"), "foundation": ("foundation", "FoundationSpec"), "apps": ("apps", "AppsSpec")}[kind]
    found: type[FileSpec] = getattr(import_module(f"infra.{module}"), name)
    return found


def every_key() -> Iterator[tuple[str, Key]]:
    """Every key of every kind of file, with its kind: empty for those that all kinds have."""
    from infra.keys import keys

    shared = {key.path.partition(".")[0] for key in keys(FileSpec)} - {"kind"}
    for kind, spec in specs().items():
        for key in keys(spec):
            is_shared = key.path.partition(".")[0] in shared
            if kind == REGION or not is_shared:
                yield "" if is_shared else kind, key


def declare(spec: FileSpec, stack: str, cloud: Cloud = GOOGLE_CLOUD) -> None:
    """Declares everything that *spec* says, named after *stack*, in *cloud*."""
    program = {REGION: "program", "foundation": "foundation_program", "apps": "apps_program"}[spec.kind]
    import_module(f"infra.{program}").declare(spec, stack, cloud)
