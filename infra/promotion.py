"""
What one environment's stack file gets from another's: what was tried there, and nothing of how large it is and where it stands.

A file is written, and no more: the change is a commit of whoever asked, and a pull request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra import environments, names
from infra.check import StackFile
from infra.components.storage import REPOSITORY
from infra.errors import Problem, SpecError
from infra.operate import file_keys
from infra.operate.image_keys import NOTE, noted
from infra.refusals import NAMESPACE, PROJECT_KEY
from infra.stack_file import REGION, STACK_NAME
from infra.stack_kinds import KEY, load, spec_of
from infra.yaml_file import KeyPath, YamlFile, read

IMAGES = "images"
PROGRAM = ("workload", "image", "command", "args", "env")
ANSWERS = ("port", "health_route")
PROMOTED: dict[str, dict[str, tuple[str, ...]]] = {
    REGION: {
        "jobs": (*PROGRAM, "save_every_steps"),
        "models": (*PROGRAM, *ANSWERS, "predict_route", "accept_if"),
    },
    "apps": {
        "services": (*PROGRAM, *ANSWERS, "live_route", "metrics_route"),
        "jobs": (*PROGRAM, "save_every_steps"),
        "ray_clusters": ("image", "ray_version"),
    },
}
"""
Keys that are promoted, by kind of stack and group, of what both files have under one name; and every entry of `images`.

Not what each environment says for itself: sizes, places, ways of buying, schedules, traffic, callers, budgets, who gets the mail, folders
of data and models (another environment trains its own). Versions of charts and controllers are this project's code, which a commit
promotes by itself.
"""
PER_ENTRY = "env"
"""Of this key each entry by itself: what the other file alone has stays."""
PLACEHOLDER = 64 * "0"


@dataclass(frozen=True, slots=True)
class Change:
    """One key that gets another value."""

    key: str
    before: Any
    """None where it was not said."""
    after: Any
    """None where it is not said any more."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An image that must be in the other project's repository, too."""

    image: str
    to: str
    """By a tag: the repository deletes what has none."""

    @property
    def command(self) -> str:
        return f"gcrane cp {self.image} {self.to}"


@dataclass(frozen=True, slots=True)
class Promotion:
    """What a file gets."""

    source: StackFile
    target: StackFile
    changes: list[Change] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    """What is not promoted and somebody may have expected, by key, and why."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two files."""

    file: StackFile
    data: dict[str, Any]
    config: dict[str, Any]
    repository: str
    """What the names of its own images begin with."""

    @property
    def project(self) -> str:
        return str(self.config[PROJECT_KEY])

    def group(self, key: str) -> dict[str, Any]:
        found = self.config.get(f"{NAMESPACE}{key}")
        return found if isinstance(found, dict) else {}


def promote(source: StackFile, target: StackFile, *, write: bool) -> Promotion:
    """
    What *target* gets from *source*; and writes it.

    Raises:
        SpecError: Either file is wrong, they are no pair, an image was never built, or the outcome would be wrong: nothing is written then.
    """
    load(source.path)
    here, there = _side(source), _side(target)
    if problems := list(_no_pair(here, there)):
        raise SpecError(f"promote {source.stack} {target.stack}", problems)
    text = source.path.read_text(encoding="utf-8")
    found = Promotion(source, target)
    values: dict[KeyPath, Any] = {}
    gone: list[KeyPath] = []
    wrong: list[Problem] = []
    for path, value in _wanted(here, there, found.left):
        before = _at(there.config, path)
        if before == value:
            continue
        key = ".".join(path).removeprefix(NAMESPACE)
        if (why := _not_for_others(value, here, there)) is not None:
            found.left[key] = why
            continue
        images = value if path[-1] == "image" or path[0] == f"{NAMESPACE}{IMAGES}" else None
        if isinstance(images, str):
            if images.endswith(f"sha256:{PLACEHOLDER}"):
                wrong.append(Problem(key, "is a placeholder: it was never built", fix=f"accelform image build --stack {source.stack}"))
                continue
            value = _image(images, here, there, text, key, found)
            if before == value:
                continue
        found.changes.append(Change(key, before, value))
        if value is None:
            gone.append(("config", *path))
        else:
            values["config", *path] = value
    if wrong:
        raise SpecError(str(source.path), wrong)
    if odd := sorted({one for path in values for one in _odd(there.data, path)}):
        problems = [Problem(one, "is no mapping", fix=f"accelform check {target.stack}") for one in odd]
        raise SpecError(str(target.path), problems)
    if values or gone:
        _put(there, values, gone, write=write, source=source)
    return found


def _side(file: StackFile) -> _Side:
    """
    Raises:
        SpecError: The file cannot be read, or does not say where it stands.
    """
    found = read(file.path)
    data, config = found.data, found.config
    kind = spec_of(config, str(file.path)).model_fields["kind"].default
    of, stack = config, file.stack
    if kind == "apps":
        said = config.get(f"{NAMESPACE}region_stack")
        if not isinstance(said, str) or not STACK_NAME.fullmatch(said):
            raise SpecError(str(file.path), [Problem("region_stack", "is missing", fix=f"accelform check {file.stack}")])
        stack = said
        of = read(file.path.parent / f"Pulumi.{stack}.yaml").config
    wanted = (PROJECT_KEY, f"{NAMESPACE}region", f"{NAMESPACE}environment")
    if lacking := [key for key in wanted if not isinstance(config.get(key), str)]:
        problems = [Problem(key.removeprefix(NAMESPACE), "is missing", fix=f"accelform check {file.stack}") for key in lacking]
        raise SpecError(str(file.path), problems)
    return _Side(file, data, config, _repository(of, stack, config))


def _repository(region: Mapping[str, Any], stack: str, config: Mapping[str, Any]) -> str:
    storage = region.get(f"{NAMESPACE}storage")
    images = storage.get("images") if isinstance(storage, dict) else None
    existing = images.get("existing") if isinstance(images, dict) else None
    if match := REPOSITORY.match(existing):
        return f"{match['location']}-docker.pkg.dev/{match['project']}/{match['name']}"
    return f"{config[f'{NAMESPACE}region']}-docker.pkg.dev/{config[PROJECT_KEY]}/{names.resource(stack, 'images')}"


def _no_pair(here: _Side, there: _Side) -> Iterator[Problem]:
    """Why nothing goes from the one to the other."""
    kinds = [str(one.config.get(KEY, REGION)) for one in (here, there)]
    if here.file.path.resolve() == there.file.path.resolve():
        yield Problem("", "is one file, named twice", fix="name the file that gets it second")
    elif kinds[0] != kinds[1]:
        yield Problem("kind", f"{here.file.stack} is of kind {kinds[0]}, {there.file.stack} of kind {kinds[1]}", "two of one kind")
    elif kinds[0] not in PROMOTED:
        words = f"nothing of a {kinds[0]} is promoted: all of it is what each project has for itself"
        yield Problem("kind", words, ", ".join(PROMOTED), "write it into both files")
    order = [str(one.config[f"{NAMESPACE}environment"]) for one in (here, there)]
    if unknown := [one for one in order if one not in environments.NAMES]:
        yield Problem("environment", f"{unknown[0]} is none", ", ".join(environments.NAMES), f"accelform check {there.file.stack}")
    elif environments.NAMES.index(order[0]) > environments.NAMES.index(order[1]):
        words = f"{order[0]} comes after {order[1]}: a change goes the other way"
        yield Problem("environment", words, " -> ".join(environments.NAMES), f"accelform promote {there.file.stack} {here.file.stack}")


def _wanted(here: _Side, there: _Side, left: dict[str, str]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each key that is promoted, by its path under `config`, and what the one file says: None where it says nothing."""
    for name, image in here.group(IMAGES).items():
        yield (f"{NAMESPACE}{IMAGES}", name), image
    for group, keys in PROMOTED[str(here.config.get(KEY, REGION))].items():
        others = there.group(group)
        for name, one in here.group(group).items():
            other = others.get(name)
            if not isinstance(other, dict):
                left[f"{group}.{name}"] = f"{there.file.stack} has none: how large it is and where it stands is for its file to say"
                continue
            for key in keys:
                path = (f"{NAMESPACE}{group}", name, key)
                if key != PER_ENTRY:
                    yield path, one.get(key)
                    continue
                for variable, value in (one.get(key) or {}).items():
                    yield (*path, variable), value


def _at(config: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = config
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _odd(data: Mapping[str, Any], path: KeyPath) -> Iterator[str]:
    """What stands above a key and is no mapping: the file was not judged before, since what it gets may be what it lacks."""
    found: Any = data
    for index, step in enumerate(path[:-1]):
        found = found.get(step)
        if found is None:
            return
        if not isinstance(found, Mapping):
            yield ".".join(map(str, path[1 : index + 1])).removeprefix(NAMESPACE)
            return


def _not_for_others(value: Any, here: _Side, there: _Side) -> str | None:
    """Why a value is no other project's: it names what is the first one's. An image of its repository has a place in the other's."""
    if here.project == there.project:
        return None
    texts = [value] if isinstance(value, str) else [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
    for text in texts:
        if here.project in text.replace(there.project, "") and not text.startswith(f"{here.repository}/"):
            return f"names {here.project}, which is {here.file.stack}'s project: write what is {there.file.stack}'s by hand"
    return None


def _image(image: str, here: _Side, there: _Side, text: str, key: str, found: Promotion) -> str:
    """The same image, by the same digest, in the other one's repository where it is of the first one's."""
    if any(image in line and NOTE in line for line in text.splitlines()):
        found.left.setdefault(f"{key}: the note beside it", "a build in the sandbox wrote it, and no registry has it")
    if not image.startswith(f"{here.repository}/") or here.repository == there.repository:
        return image
    moved = f"{there.repository}{image.removeprefix(here.repository)}"
    name, _, digest = moved.partition("@sha256:")
    copy = Copy(image, f"{name}:promoted-{digest[:12]}")
    if copy not in found.copies and _at(there.config, (*_path(key),)) != moved:
        found.copies.append(copy)
    return moved


def _path(key: str) -> tuple[str, ...]:
    first, _, rest = key.partition(".")
    return (f"{NAMESPACE}{first}", *rest.split("."))


def _put(there: _Side, values: Mapping[KeyPath, Any], gone: Sequence[KeyPath], *, write: bool, source: StackFile) -> None:
    """
    Raises:
        SpecError: The file would be wrong, or cannot be written.
    """
    path = there.file.path
    if write:
        file_keys.check_writable(path)
    text = file_keys.edited(path.read_text(encoding="utf-8"), values, gone)
    text = noted(text, [value for value in values.values() if isinstance(value, str) and "@sha256:" in value])
    with file_keys.Beside(path, text) as unfinished:
        made: YamlFile = unfinished.read(file_keys.applied(there.data, values, gone), "")
        config = made.data["config"]
        try:
            spec_of(config, made.name).from_file(made, path.parent)
        except SpecError as error:
            words = f"with what {source.stack} has, the file would be wrong, and nothing was written"
            raise SpecError(str(path), [Problem("", words, fix="mend it by hand, and promote again"), *error.problems]) from None
        if write:
            unfinished.put()
