"""`accelform image build` and `sbom`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import print_json
from infra.cli.reached import reached, stack_sandbox
from infra.errors import ExitCode, Problem, SpecError

if TYPE_CHECKING:
    from infra.check import StackFile
    from infra.operate.images import Built, CloudBuild, LocalBuild

WHERE = "accelform image build"
TOOLS = ("docker", "podman", "buildah")
ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]*@[a-z0-9.-]+\.gserviceaccount\.com")
PROJECT = "[a-z][a-z0-9-]{4,28}[a-z0-9]"
"""Of no domain: Artifact Registry writes `example.com:shop` as `example.com/shop`, and no stack is in one.
Source: https://cloud.google.com/artifact-registry/docs/docker/names, read 2026-11."""


def build(
    names: Sequence[str],
    stack: str | None,
    folder: Path,
    *,
    tool: str | None,
    account: str | None,
    cloud: bool,
    as_json: bool,
) -> int:
    """Builds images, and writes what came of each into the stack file as soon as it is there."""
    from infra.operate import image_keys, images

    images.check(names)
    _check(tool, account, cloud)
    file = _stack(stack, folder)
    image_keys.check(file.path)
    found: list[Built] = []
    changed: list[str] = []
    try:
        with _builder(file, tool, account, cloud=cloud) as builder:
            for built in images.build(builder, names, _say):
                found.append(built)
                changed += image_keys.write(file.path, {built.name: built.reference}, note="" if cloud else image_keys.NOTE)
                if not as_json:
                    _say("", f"{built.name}: {built.reference}", *([f"  {built.said}"] if built.said else []))
    finally:
        if as_json:
            print_json({"stack": file.stack, "file": str(file.path), "images": [asdict(one) for one in found], "written": changed})
    if as_json:
        return ExitCode.OK
    written = f"written to {file.path}: images.{', images.'.join(changed)}" if changed else f"{file.path} says the same already"
    _say("", written)
    if cloud:
        _say("how it was built: gcloud artifacts docker images describe REFERENCE --show-provenance")
        _say("what is inside: accelform image sbom NAME")
    return ExitCode.OK


def sbom(name: str) -> int:
    """Prints what is in an image of this checkout."""
    import time

    from infra.operate import images
    from infra.operate import sbom as lists

    images.check([name])
    print_json(lists.document(name, time.time()))
    return ExitCode.OK


def _check(tool: str | None, account: str | None, cloud: bool) -> None:
    """
    Raises:
        SpecError: The options do not go together.
    """
    problems = []
    if tool is not None and tool not in TOOLS:
        problems.append(Problem("--with", f"{tool[:40]!r} builds no images", ", ".join(TOOLS), "leave it out: Cloud Build builds"))
    if tool is not None and not cloud:
        fix = "add --cloud; or leave --with out"
        problems.append(Problem("--with", "pushes to Artifact Registry, and the sandbox's repository keeps no image", fix=fix))
    if account is not None and not ACCOUNT.fullmatch(account):
        allowed = "NAME@PROJECT.iam.gserviceaccount.com"
        problems.append(Problem("--service-account", f"{account[:60]!r} is no e-mail address of a service account", allowed))
    if account is not None and tool is not None:
        problems.append(Problem("--service-account", "is of Cloud Build", fix="leave it out: this machine builds by its own login"))
    if problems:
        raise SpecError(WHERE, problems)


def _stack(stack: str | None, folder: Path) -> StackFile:
    from infra.check import stack_files

    files = stack_files([stack] if stack else [], folder)
    if len(files) != 1:
        raise SpecError(WHERE, [Problem("--stack", "is missing", ", ".join(file.stack for file in files) or "a stack of the folder")])
    return files[0]


@contextmanager
def _builder(file: StackFile, tool: str | None, account: str | None, *, cloud: bool) -> Iterator[CloudBuild | LocalBuild]:
    """
    Who builds, as far as the stack file says where: it may lack the very images that are built.

    Raises:
        SpecError: The file does not say project and region.
    """
    from infra import names
    from infra.operate.images import CloudBuild, LocalBuild, account_of

    project, region, storage = _place(file)
    prefix = f"{region}-docker.pkg.dev/{project}/{names.resource(file.stack, 'images')}"
    if existing := _existing(storage, "images"):
        of = re.fullmatch(rf"projects/({PROJECT})/locations/{re.escape(region)}/repositories/([^/]+)", existing)
        if of is None:
            allowed = f"projects/PROJECT/locations/{region}/repositories/NAME"
            raise SpecError(
                str(file.path), [Problem("storage.images.existing", f"{existing[:80]!r} is no repository of {region}", allowed)]
            )
        prefix = f"{region}-docker.pkg.dev/{of[1]}/{of[2]}"
    with reached(project, "" if tool else stack_sandbox(file.stack, cloud=cloud)) as (google, _):
        if tool is not None:
            yield LocalBuild(tool, prefix, google=google)  # type: ignore[arg-type]
            return
        bucket = _existing(storage, "models") or names.bucket(project, file.stack, "models")
        own = names.service_account_email(project, file.stack, names.BUILDER)
        if account is None and not (account := account_of(google, project, own)):
            _say(f"there is no account {own} yet: the project's own for builds is used", "  an update of a stack with `images` makes it")
        yield CloudBuild(google, project, region, bucket, prefix, account or "")


def _place(file: StackFile) -> tuple[str, str, dict[str, Any]]:
    from infra.refusals import NAMESPACE, PROJECT_KEY
    from infra.yaml_file import read

    config = read(file.path).data.get("config")
    config = config if isinstance(config, dict) else {}
    found = {key: config.get(key) for key in (PROJECT_KEY, f"{NAMESPACE}region")}
    lacking = [
        Problem(key, "is missing" if value is None else "is no name that a stack file takes", fix="see accelform check")
        for key, value in found.items()
        if not isinstance(value, str) or not re.fullmatch(PROJECT, value)
    ]
    if lacking:
        raise SpecError(str(file.path), lacking)
    storage = config.get(f"{NAMESPACE}storage")
    return str(found[PROJECT_KEY]), str(found[f"{NAMESPACE}region"]), storage if isinstance(storage, dict) else {}


def _existing(storage: dict[str, Any], part: str) -> str:
    """Name of a bucket or repository of others that the stack uses; empty where it has its own."""
    found = storage.get(part)
    return str(found.get("existing") or "") if isinstance(found, dict) else ""


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr)  # noqa: T201
