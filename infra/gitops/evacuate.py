"""
A region that is left for another, by one pull request: the files that it holds, what of data is copied, what only a person can decide, and
the order.

It reads the files of the checkout and the catalogue, and no cloud: a region is left when its cloud may not answer.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra import environments, names
from infra.apps import AppsSpec
from infra.catalog import egress, places
from infra.catalog.prices import PriceUnknown
from infra.check import Checked, StackFile, check, stack_files
from infra.components import registered
from infra.cost.against import Difference, difference
from infra.cost.line import Triple
from infra.cost.usage import Range
from infra.errors import Problem, SpecError
from infra.gitops import evacuated_file
from infra.gitops.evacuated_file import Change, Move, Undecided, Written
from infra.refusals import NAMESPACE
from infra.stack import StackSpec
from infra.stack_file import REGION, check_stack_name
from infra.yaml_file import read

WHERE = "accelform evacuate"
BUILT = re.compile(r"@sha256:(?!0{64})[0-9a-f]{64}")
"""A digest of an image that somebody built: the examples' placeholders have zeros."""
TERABYTE_GIB = 1024
"""From here on, Storage Transfer Service copies and a machine of one's own need not stay on. Source: Google's page on it, read 2026-12."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What of data is copied, and how."""

    what: str
    commands: tuple[str, ...]
    gib: Triple | None
    """Low, expected and high; None where the file does not say how much it is."""
    usd: Triple | None
    """What its way between the regions costs, once; None where size or price is unknown."""
    usd_gib: Triple | None
    """The same of one GiB."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class NewFile:
    """One file of the pull request."""

    stack: str
    old: str
    path: Path
    text: str
    changes: Sequence[Change]
    undecided: Sequence[Undecided]
    problems: Sequence[Problem]
    """What the check of the new file refuses: all of it is to be decided before the pull request can be merged."""
    cost: Difference | None
    """The month there against the month here; None where the new file is not right yet."""


@dataclass(frozen=True, slots=True)
class Evacuation:
    """All of it."""

    move: Move
    files: Sequence[NewFile]
    copies: Sequence[Copy]
    notes: Sequence[str]
    steps: Sequence[tuple[str, Sequence[str]]]
    stays: Sequence[str] = field(default_factory=tuple)
    """What of the old region is protected, and stays until somebody takes it away by hand."""

    @property
    def is_decided(self) -> bool:
        """Whether every new file is right."""
        return not any(one.problems for one in self.files)


def plan(
    name: str, folder: Path, region: str, *, stack: str | None = None, said: Sequence[str] = (), gib: Mapping[str, Range] | None = None
) -> Evacuation:
    """
    What a pull request that leaves a region holds.

    Args:
        stack: Name of the new one. (default: the old one's with the new region in the old one's place)
        said: `KEY=VALUE` of the region's new file, or `STACK:KEY=VALUE`.
        gib: How much is in `data`, `models` and `images`, where it is known better than the file says.

    Raises:
        SpecError: A file is wrong, the region is none, or a new file is there already.
    """
    (file,) = stack_files([name], folder)
    folder = file.path.parent
    spec = StackSpec.load(file.path)
    move = _move(file, spec, region, stack)
    renamed = {file.stack: move.new, **_renamed(move, _apps(file, folder))}
    decided = _said(said, renamed)
    drafts: dict[str, Written] = {}
    taken = [one for config in _regions(folder, spec.project) for one in evacuated_file.ranges(config)]
    text = file.path.read_text(encoding="utf-8")
    drafts[file.stack] = evacuated_file.region_file(text, spec, move, taken, decided.get(move.new, {}))
    apps: dict[str, AppsSpec] = {}
    for old in renamed:
        if old != file.stack:
            path = folder / f"Pulumi.{old}.yaml"
            apps[old] = AppsSpec.load(path)
            drafts[old] = evacuated_file.apps_file(path.read_text(encoding="utf-8"), apps[old], move, decided.get(renamed[old], {}))
    _check_free(folder, renamed.values())
    files = _judged(folder, renamed, drafts)
    copies = list(_copies(spec, apps, move, gib or {}))
    notes = [*_notes(spec, apps, move, folder)]
    return Evacuation(move, files, copies, notes, _steps(renamed, spec, folder), tuple(_stays(spec, move)))


def write(found: Evacuation) -> None:
    """
    Writes the files of the pull request: all of them, or none.

    Raises:
        SpecError: One cannot be written.
    """
    done: list[Path] = []
    try:
        for one in found.files:
            draft = one.path.with_name(f".{one.path.name}.{os.getpid()}")  # killed at any moment, no half file has the name of a stack's
            try:
                draft.write_text(one.text, encoding="utf-8")
                os.link(draft, one.path)  # as no rename does, it refuses where somebody has made the file meanwhile
            finally:
                draft.unlink(missing_ok=True)
            done.append(one.path)
    except BaseException as error:
        for path in done:
            path.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise SpecError(str(one.path), [Problem("", f"cannot be written: {error.strerror or error}; nothing was written")]) from None


def _move(file: StackFile, spec: StackSpec, region: str, stack: str | None) -> Move:
    """
    Raises:
        SpecError: The region is none or the same, or the new stack's name cannot be told.
    """
    if region not in places.regions():
        try:
            places.check_region(region)
        except places.UnknownPlace as error:
            allowed = ", ".join(error.nearest)
            raise SpecError(WHERE, [Problem("--to", f"{region[:60]!r} is no region of Google Cloud", allowed)]) from None
    if region == spec.region:
        raise SpecError(WHERE, [Problem("--to", f"{region} is where stack {file.stack} stands", fix="name another region")])
    if stack is None and spec.region not in file.stack:
        fix = f"--stack NAME, such as {file.stack}-{region}"
        raise SpecError(WHERE, [Problem("--stack", f"is missing: {file.stack} does not have its region in its name", fix=fix)])
    new = stack if stack is not None else file.stack.replace(spec.region, region)
    check_stack_name(new)
    if new == file.stack:
        raise SpecError(WHERE, [Problem("--stack", f"{new} is the old one", fix="name another: both stand for a while")])
    return Move(spec.project, file.stack, new, spec.region, region)


def _apps(file: StackFile, folder: Path) -> list[str]:
    """Stacks that live in clusters of the region."""
    return [one.stack for one in stack_files([], folder) if read(one.path).config.get(f"{NAMESPACE}region_stack") == file.stack]


def _renamed(move: Move, apps: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in apps:
        has = next((part for part in (move.old, move.old_region) if part in name), "")
        other = move.new if has == move.old else move.region
        found[name] = name.replace(has, other) if has else f"{name}-{move.region}"
        check_stack_name(found[name])
    return found


def _regions(folder: Path, project: str) -> Iterator[dict[str, Any]]:
    """The region files of the project, unjudged."""
    for one in stack_files([], folder):
        config = read(one.path).config
        if config.get("gcp:project") == project and config.get(f"{NAMESPACE}kind", REGION) == REGION:
            yield config


def _said(every: Sequence[str], renamed: Mapping[str, str]) -> dict[str, dict[tuple[str, ...], Any]]:
    """
    What a person decided, by new stack and path.

    Raises:
        SpecError: It is not of its form.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    found: dict[str, dict[tuple[str, ...], Any]] = {}
    problems = []
    new = list(renamed.values())
    for text in every:
        key, is_set, value = text.partition("=")
        stack, has_stack, path = key.rpartition(":")
        stack = stack if has_stack else new[0]
        words = tuple(path.split("."))
        if not is_set or not all(words) or stack not in new:
            allowed = f"KEY=VALUE, or STACK:KEY=VALUE with one of {', '.join(new)}"
            problems.append(Problem("--set", f"{text[:80]!r} is none", allowed, "such as jobs.nightly.accelerator_type=v6e-4"))
            continue
        try:
            found.setdefault(stack, {})[words] = YAML(typ="safe", pure=True).load(value)
        except YAMLError:
            problems.append(Problem("--set", f"{value[:80]!r} is no YAML", "a value as the file would have it"))
    if problems:
        raise SpecError(WHERE, problems)
    return found


def _check_free(folder: Path, stacks: Any) -> None:
    there = [path for stack in stacks if (path := folder / f"Pulumi.{stack}.yaml").exists()]
    if there:
        raise SpecError(WHERE, [Problem(str(path), "is there already", fix="remove it, or name another stack: --stack") for path in there])


def _judged(folder: Path, renamed: Mapping[str, str], drafts: Mapping[str, Written]) -> list[NewFile]:
    """Each new file with what its check says, beside the others: before one of them stands in the checkout."""
    found = []
    with tempfile.TemporaryDirectory() as place:
        for one in stack_files([], folder):
            shutil.copy(one.path, place)
        for old, draft in drafts.items():
            (Path(place) / f"Pulumi.{renamed[old]}.yaml").write_text(draft.text, encoding="utf-8")
        for old, draft in drafts.items():
            path = folder / f"Pulumi.{renamed[old]}.yaml"
            problems: list[Problem] = []
            cost = None
            try:
                after = check(StackFile(renamed[old], Path(place) / path.name), str(path))
                before = check(StackFile(old, folder / f"Pulumi.{old}.yaml"))
                problems = _broken(after)
                cost = difference(before.estimate, after.estimate)
            except SpecError as error:
                problems = error.problems
            found.append(NewFile(renamed[old], old, path, draft.text, draft.changes, draft.undecided, problems, cost))
    return found


def _broken(checked: Checked) -> list[Problem]:
    """Rules that do not hold, as problems."""
    return [Problem("", f"{one.rule}: {one.message}") for one in checked.findings]


def _copies(spec: StackSpec, apps: Mapping[str, AppsSpec], move: Move, known: Mapping[str, Range]) -> Iterator[Copy]:
    for purpose in ("data", "models"):
        if getattr(spec.storage, purpose).existing:
            continue
        old, new = (names.bucket(move.project, stack, purpose) for stack in (move.old, move.new))
        gib = _size(spec, purpose, known)
        rsync = f"gcloud storage rsync --recursive --exclude='^\\.accelform/' gs://{old} gs://{new}"
        note = "without .accelform/: what controllers hold and how far runs are is of the old region"
        transfer = f"gcloud transfer jobs create gs://{old} gs://{new} --exclude-prefixes=.accelform/"
        yield _copy(f"bucket {old}", (rsync,), gib, move, f"{note}; of more than {TERABYTE_GIB} GiB: {transfer}")
    if not spec.storage.images.existing:
        yield from _images(spec, apps, move, known)
    yield from _models(spec, move)


def _size(spec: StackSpec, purpose: str, known: Mapping[str, Range]) -> Triple | None:
    """How much there is, where a person said so: the defaults of the estimate are of a small shop, and no facts."""
    said = known.get(purpose) or (getattr(spec.usage, f"{purpose}_gib") if f"{purpose}_gib" in spec.usage.model_fields_set else None)
    return None if said is None else (said.low, said.expected, said.high)


def _copy(what: str, commands: Sequence[str], gib: Triple | None, move: Move, note: str) -> Copy:
    try:
        price = egress.between(move.old_region, move.region, "storage")
    except PriceUnknown:
        return Copy(what, tuple(commands), gib, None, None, note)
    rate = (price.usd_low, price.usd, price.usd_high)
    usd = None if gib is None else (gib[0] * rate[0], gib[1] * rate[1], gib[2] * rate[2])
    return Copy(what, tuple(commands), gib, usd, rate, note)


def _images(spec: StackSpec, apps: Mapping[str, AppsSpec], move: Move, known: Mapping[str, Range]) -> Iterator[Copy]:
    """Images by their digests, which stay what they are: what was tested is what runs."""
    old = f"{move.old_region}-docker.pkg.dev/{move.project}/{names.resource(move.old, 'images')}"
    new = f"{move.region}-docker.pkg.dev/{move.project}/{names.resource(move.new, 'images')}"
    used = sorted({one for stack in (spec, *apps.values()) for one in _texts(stack.model_dump(mode="json")) if one.startswith(f"{old}/")})
    built = [one for one in used if BUILT.search(one)]
    if built:
        commands = [f"gcrane cp {one} {new}/{one.removeprefix(f'{old}/').partition('@')[0]}:from-{move.old_region}" for one in built]
        yield _copy(f"repository {old}", commands, _size(spec, "images", known), move, "digests stay: the new file names the same ones")
    if left := sorted({one.removeprefix(f"{old}/").partition("@")[0] for one in used if one not in built}):
        words = f"accelform image build NAME --stack {move.new} --cloud"
        yield Copy(f"images {', '.join(left)}", (words,), None, None, None, "placeholders: nothing was built yet")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _models(spec: StackSpec, move: Move) -> Iterator[Copy]:
    """
    Versions of models. `models.copy` keeps neither aliases nor the id, and its copy goes on to need the image and the files of the old
    region (Google's pages on the method and on copying models, read 2026-12): so a version is uploaded anew, from what was copied.
    """
    folder = f"gs://{names.bucket(move.project, move.new, 'models')}"
    for name in spec.registered:
        one = spec.models[name]
        old, new = (names.resource(stack, name) for stack in (move.old, move.new))
        container = one.container(registered.image_of(one, spec.images))
        files = f"gcloud ai models describe {old}@champion --region={move.old_region} --format='value(artifactUri)'"
        options = {
            "region": move.region,
            "model-id": new,
            "display-name": f"{move.new}-{name}",
            "version-aliases": "champion",
            "container-image-uri": "IMAGE",
            "artifact-uri": "FILES",
            "container-ports": container["ports"][0],
            "container-predict-route": container["predictRoute"],
            "container-health-route": container["healthRoute"],
            **({"container-command": ",".join(container["command"])} if "command" in container else {}),
        }
        upload = " ".join(["gcloud ai models upload", *(f"--{key}={value}" for key, value in options.items())])
        note = f"FILES: what the first command says, in {folder}; IMAGE: that of the new file. Where nothing serves yet: nothing to do"
        yield Copy(f"model {name}, the version that serves", (files, upload), None, None, None, note)


def _notes(spec: StackSpec, apps: Mapping[str, AppsSpec], move: Move, folder: Path) -> Iterator[str]:
    """What of the rest of the files another region changes."""
    for name, endpoint in spec.endpoints.items():
        old, new = (endpoint.id_of(move.project, stack, name) for stack in (move.old, move.new))
        yield f"endpoints.{name}: callers ask {old} in {move.old_region}, and will ask {new} in {move.region}"
    for name, endpoint in spec.endpoints.items():
        if endpoint.private_service_connect:
            who = ", ".join(endpoint.private_service_connect.projects)
            yield f"endpoints.{name}: has a new service attachment, to which {who} connect anew"
    for name in spec.models.keys() - spec.registered.keys():
        yield f"models.{name}: is made of files and an image that are copied: the first update stops at it, and the next goes on"
    for name, job in spec.jobs.items():
        if job.schedule and not job.paused:
            yield f"jobs.{name}: runs in both regions until the old file is gone: `paused: true` in one of them stops that"
    yield from _money(spec, folder)
    for stack, one in apps.items():
        yield from _of_apps(stack, one, move)
    found = spec.of_foundation
    if found is not None and found.region == move.old_region:
        words = f"the states are in a bucket of {move.old_region}"
        yield f"{words} (stack {spec.foundation}): while it is down, no stack of the project can be updated"
    if found is not None:
        for name, request in found.quota_requests.items():
            if request.dimensions.get("region") == move.old_region:
                yield f"quota_requests.{name} of stack {spec.foundation}: asks for {move.old_region}: write one for {move.region}"
    yield f"quota of {move.region}: accelform doctor --cloud {move.new}"


def _money(spec: StackSpec, folder: Path) -> Iterator[str]:
    for name, budget in spec.budgets.items():
        if budget.scope == "project":
            words = "counts the project, as the new file's of the same name does: while both stand, each counts both regions"
            yield f"budgets.{name}: {words}, and sends its mail twice"
    for name in spec.spend_caps:
        yield f"spend_caps.{name}: caps the project, and both files have it: take it out of one of them before the pull request"


def _of_apps(stack: str, spec: AppsSpec, move: Move) -> Iterator[str]:
    for name, route in spec.routes.items():
        hosts = ", ".join(route.hosts) or "its callers"
        yield f"routes.{name} of {stack}: has a new address: DNS of {hosts} is moved when it answers"
        if certificate := route.certificate:
            words = f"certificate {certificate} of Certificate Manager is of {move.old_region}"
            yield f"routes.{name} of {stack}: {words}: make it in {move.region}"
    for name in spec.secrets:
        yield f"secrets.{name} of {stack}: where replicas were chosen by hand, add {move.region}: gcloud secrets replication get SECRET"
    for name, volume in spec.volumes.items():
        if not volume.disk:
            yield f"volumes.{name} of {stack}: begins empty there: what is in it is in the old region's disk or share"


def _steps(renamed: Mapping[str, str], spec: StackSpec, folder: Path) -> list[tuple[str, list[str]]]:
    new = list(renamed.values())
    files, old = (" ".join(str(folder / f"Pulumi.{one}.yaml") for one in some) for some in (new, renamed))
    inits = [f'pulumi stack init {one} --secrets-provider "gcpkms://..."' for one in new]
    serving = [name for name, one in spec.endpoints.items() if one.served]
    again = "so that endpoints get what was uploaded" if serving else "so that nothing is left to do"
    destroys = [f"pulumi destroy --exclude-protected --stack {one}" for one in reversed(list(renamed))]
    return [
        ("the stacks, by a person, once: this writes their key into the new files", inits),
        (f"first pull request: {files}; its merge brings the new region up beside the old one", [f"accelform check {' '.join(new)}"]),
        ("the data, as above; once more just before the traffic moves, which copies what came since", []),
        (f"the new region once more, with a look at the cloud, {again}", [f"pulumi up --refresh --stack {one}" for one in new]),
        ("every endpoint and route of the new region, asked as a caller asks", [f"pulumi stack output --stack {one}" for one in new]),
        ("the traffic: callers and DNS; the old region answers until nobody asks it", []),
        ("the old region, by a person, for whose secrets the old files are still needed", destroys),
        ("second pull request: without the old files, which no pipeline then looks for", [f"git rm {old}"]),
    ]


def _stays(spec: StackSpec, move: Move) -> Iterator[str]:
    """Protected resources of the old region, by name: in staging and prod."""
    if not environments.of(spec.environment).protects_data:
        return
    for purpose in ("data", "models"):
        if not getattr(spec.storage, purpose).existing:
            yield f"gs://{names.bucket(move.project, move.old, purpose)}"
    if not spec.storage.images.existing:
        yield f"{move.old_region}-docker.pkg.dev/{move.project}/{names.resource(move.old, 'images')}"
    for name, cluster in spec.clusters.items():
        if not cluster.existing:
            yield f"cluster {names.cluster(move.old, name)}"
    yield from (f"node pool {names.cluster(move.old, name)}" for name, pool in spec.node_pools.items() if not pool.existing)
