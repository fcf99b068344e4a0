"""Regions on this machine: brought up by the real engine against the sandbox, and taken away again."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote

from infra import stack_kinds, yaml_file
from infra.check import StackFile, stack_files
from infra.clouds import SANDBOX, OwnerError, check_owner, outputs, recorded, resources
from infra.errors import AccelformError, ExitCode, MachineError, SpecError
from infra.local import project, recover, refreshed, runs
from infra.local.engine import atomic, build, events, find, plugin
from infra.local.engine import state as states
from infra.local.engine.call import call, failed
from infra.local.gcp import find as find_ids
from infra.local.home import FOREIGN, Home
from infra.provider.server import ProviderError
from infra.refusals import NAMESPACE
from infra.sandbox import emulated, process
from infra.sandbox.endpoints import environment
from infra.stack_file import FileSpec, check_stack_name

PACK = "infra/policy"
GONE = {"PULUMI_K8S_DELETE_UNREACHABLE": "true"}
"""What is in a cluster that does not answer is taken as gone with it: a destroy must end, however sick the cluster is.
Source: https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/, read 2026-11."""
OBJECT = re.compile(r"b/(?P<bucket>[^/]+)/o/(?P<name>[^#]+)(?:#(?P<old>[0-9]+))?")
"""An object in the sandbox, or an older version of it."""
CONTROL = re.compile(r"\.accelform/(?:holds|rollouts|jobs)/(?P<stack>[^/.]+)[/.].*")
"""Holds and journals. See `names.holds`."""
REFERENCE = "pulumi:pulumi:StackReference"
BUCKET = "gcp:storage/bucket:Bucket"
LOCKED = ("gcp:container/cluster:Cluster", "gcp:cloudrunv2/job:Job")
"""Types that the provider does not delete while their own state says `deletionProtection`."""
POOL = "accelform:node_pool:NodePool$gcp:container/nodePool:NodePool::"
"""What the URN of a pool with accelerators holds."""


class UpdateError(AccelformError):
    """The engine, a policy or the cloud said no. What was made until then stays, and the next run goes on from there."""

    exit_code = ExitCode.CLOUD


class PolicyError(AccelformError):
    """A rule does not hold: nothing was made."""

    exit_code = ExitCode.FINDINGS


class ReplaceError(AccelformError):
    """Accelerators would be given back and asked for again, which nobody allowed: nothing was made."""

    exit_code = ExitCode.FINDINGS


class Progress(Protocol):
    """Tells a person what happens."""

    def say(self, text: str) -> None:
        """One line that stays."""

    def steps(
        self, title: str, *, lines: bool, ahead: Sequence[events.Step] = (), cloud: bool = False
    ) -> AbstractContextManager[Callable[[events.Step], None]]:
        """
        A bar for one update; with *lines*, logs get a line for each change.

        Args:
            ahead: What would change, where a preview has said it.
            cloud: Whether it is Google Cloud, whose clock is the real one.
        """


@dataclass(frozen=True, slots=True)
class Place:
    """This machine, ready: where everything is, and what answers."""

    home: Home
    engine: find.Engine
    plugin: plugin.Plugin
    sandbox: process.Running


@dataclass(slots=True)
class Result:
    """What became of one stack."""

    stack: str
    changes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    recovered: list[str] = field(default_factory=list)


def prepare(root: Path, stacks: Sequence[StackFile], progress: Progress, allow_replace: Mapping[str, Sequence[str]] | None = None) -> Place:
    """
    Everything that a run against the sandbox needs: engine, plugin, sandbox, configuration, and each stack in the backend.

    Args:
        allow_replace: Node pools that may be made anew, by stack.

    Raises:
        SpecError: With every problem of the first wrong stack file.
        MachineError: This machine lacks something.
        OwnerError: A stack's state is of the other cloud.
    """
    for stack in stacks:
        check_stack_name(stack.stack)
    specs = {stack.stack: stack_kinds.load(stack.path) for stack in stacks}
    _check_before(specs, standing(Home.of(root)))
    _check_apps(stacks, specs, standing(Home.of(root)))
    place = _place(root, list(dict.fromkeys(spec.project for spec in specs.values())), progress.say)
    project.write(place.home, root, stacks, place.sandbox.base, allow_replace)
    project.write_pulumi(place.home, place.engine)
    for name, spec in specs.items():
        state = _state(place, name)
        if state is None:
            _pulumi(place, ["stack", "init", name], f"stack {name}: cannot be made")
        else:
            check_stays(name, outputs(state), spec)
    return place


def _check_before(specs: Mapping[str, FileSpec], standing: Container[str]) -> None:
    """
    Raises:
        MachineError: A stack would be made before one that it reads: its region, or its foundation.
    """
    for stack, spec in specs.items():
        for before in spec.refers_to:
            if before not in specs and before not in standing:
                raise MachineError(f"stack {stack} reads stack {before}, which is not up\n  fix: accelform up {before} {stack}")


def _check_apps(stacks: Sequence[StackFile], specs: Mapping[str, FileSpec], standing: Container[str]) -> None:
    """
    What stands in a cluster fits what becomes of the cluster, also where only the region is brought up; and no two hold the same in it.

    Raises:
        SpecError: The file of what stands there names what the region's file no longer has, or two stacks hold the same.
    """
    paths = {one.stack: one.path for one in stacks}
    inside = {stack: paths[stack] for stack, spec in specs.items() if spec.kind == "apps"}
    for folder in dict.fromkeys(path.parent for path in paths.values()):
        for one in stack_files([], folder):
            if one.stack in standing and one.stack not in paths and _lives_in(one.path) in specs:
                inside[one.stack] = one.path
    if not inside:
        return  # what lives in clusters is the larger part of all imports
    from infra import apps_beside
    from infra.apps import AppsSpec

    apps = {stack: AppsSpec.load(path) for stack, path in inside.items()}
    for stack, spec in apps.items():
        if found := list(apps_beside.problems(stack, spec, apps)):
            raise SpecError(str(inside[stack]), found)


def _lives_in(path: Path) -> str:
    """Stack whose cluster a file's stack lives in, whatever else is wrong with the file; empty where it says none."""
    config = yaml_file.read(path).data.get("config")
    return str(config.get(f"{NAMESPACE}region_stack", "")) if isinstance(config, dict) else ""


def last_first(place: Place, stacks: Sequence[str]) -> list[str]:
    """
    The stacks in the order in which they are taken away: what lives in a cluster before the cluster, regions before their foundation.

    Raises:
        MachineError: Something that stays reads one that would go.
    """
    reads = {stack: references(_state(place, stack)) for stack in standing(place.home)}
    for stack, others in reads.items():
        if stack not in stacks and (gone := sorted(others & set(stacks))):
            raise MachineError(f"stack {stack} reads stack {gone[0]}\n  fix: accelform down {' '.join([*stacks, stack])}")
    return in_turn(stacks, reads)


def in_turn(stacks: Sequence[str], reads: Mapping[str, Container[str]]) -> list[str]:
    """Each of the stacks after all of them that read it; of a circle, which only a hand-made state has, each once."""
    order: list[str] = []
    seen: set[str] = set()

    def take(stack: str) -> None:
        if stack in seen:
            return
        seen.add(stack)
        for other in stacks:
            if stack in reads.get(other, ()):
                take(other)
        order.append(stack)

    for one in stacks:
        take(one)
    return order


def references(state: Mapping[str, Any] | None) -> set[str]:
    """Stacks whose outputs a state's stack reads."""
    return {one["inputs"]["name"].rpartition("/")[2] for one in resources(state) if one["type"] == REFERENCE}


def prepare_down(root: Path, stacks: Sequence[str], progress: Progress) -> Place:
    """
    What a destroy needs: no stack file, which may have changed or gone since.

    Raises:
        MachineError: This machine lacks something.
        OwnerError: A stack's state is of the other cloud.
    """
    place = _place(root, [], progress.say)
    project.write(place.home, root, [], place.sandbox.base)
    for stack in stacks:
        _state(place, stack)
    return place


def prepare_preview(root: Path, projects: Sequence[str], say: Callable[[str], None]) -> Place:
    """
    What a look needs: nothing of the stacks is prepared.

    Raises:
        MachineError: This machine lacks something.
    """
    return _place(root, list(dict.fromkeys(projects)), say)


def _place(root: Path, projects: Sequence[str], say: Callable[[str], None]) -> Place:
    home = Home.of(root)
    home.prepare()
    engine = build.ensure()
    say(f"engine: pulumi {engine.version}, {engine.path}")
    plugins = {package.name: plugin.placed(package, home.pulumi_home, engine) for package in plugin.EVERY}
    for name, one in plugins.items():
        say(f"{name} plugin: {one.kind} ({one.why})")
    sandbox = process.start(home.sandbox, projects)
    say(f"sandbox: {sandbox.base}, in {home.sandbox}")
    place = Place(home, engine, plugins["gcp"], sandbox)
    _notice_another(place)
    return place


def _notice_another(place: Place) -> None:
    """Where the sandbox is not the one that the stacks were made in, each of them is looked at anew."""
    known, now = place.home.folder / "sandbox-id", process.ask(place.sandbox, "GET", "status")["id"]
    if known.exists() and known.read_text(encoding="utf-8") != now:
        for stack in standing(place.home):
            if not _note(place, stack).exists():  # one that is there says more
                atomic.write(_note(place, stack), "[]")
            atomic.write(_another(place, stack), "")
    atomic.write(known, now)


def up(place: Place, stack: str, progress: Progress, *, refresh: bool = False, allow_replace: Container[str] = ()) -> Result:
    """
    Previews one stack with the policy pack, and makes it so: policies stop an update only where a preview ran first.

    Args:
        refresh: Whether everything is looked at anew before: what the state says need not be so any more.
        allow_replace: Node pools that may be made anew.

    Raises:
        PolicyError: A mandatory rule does not hold.
        ReplaceError: A node pool with accelerators would be made anew, and nobody named it.
        UpdateError: The engine or the cloud refused.
    """
    started = time.monotonic()
    result = Result(stack, recovered=recovered(place, stack, progress))
    if refresh:
        refreshed.refresh(stack, engine=place.engine, env=place.home.env(place.engine), folder=place.home.project)
    ahead: list[events.Step] = []
    preview = _run(place, ["preview", "--policy-pack", PACK], stack, f"{stack}: preview", progress, seen=ahead.append)
    if preview.violations:
        raise PolicyError(f"stack {stack}: a rule does not hold, and nothing was made\n  " + "\n  ".join(preview.violations))
    _check(preview, f"stack {stack}: the preview failed, and nothing was made")
    check_replaced(stack, preview.replaced, allow_replace)
    if preview.changed:
        with _begun(place, stack) as note:
            make = ["up", "--yes", "--skip-preview", "--policy-pack", PACK]
            done = _run(place, make, stack, f"{stack}: up", progress, ahead=ahead)
            atomic.write(note, json.dumps(list(done.unsure.values())))
            _check(done, f"stack {stack}: the update stopped; what was made stays, and the next `accelform up` goes on from there")
        result.changes = done.changes
    else:
        result.changes = preview.changes
    result.seconds = time.monotonic() - started
    return result


def check_replaced(stack: str, replaced: Mapping[str, Sequence[str]], allowed: Container[str]) -> None:
    """
    Capacity that is given back may not come again: a pool with accelerators is made anew only where somebody named it.

    Raises:
        ReplaceError: With every pool, and what makes it anew.
    """
    pools = {urn.rpartition("::")[2]: causes for urn, causes in replaced.items() if POOL in urn}
    lines = [f"node_pools.{name}: {', '.join(causes) or 'what it stands in'}" for name, causes in pools.items() if name not in allowed]
    if lines:
        names = ", ".join(name for name in pools if name not in allowed)
        raise ReplaceError(
            f"stack {stack}: node pools would be deleted and made anew, and nothing was made: their capacity may not come again\n  "
            + "\n  ".join(lines)
            + "\n  fix: leave that as it is, or add a pool beside it; or say so: --allow-replace, "
            + f"or in the stack file `accelform:allow_replace: [{names}]`"
        )


def down(place: Place, stack: str, progress: Progress) -> Result:
    """
    Destroys one stack of the sandbox, protected resources too: what they protect is data in the cloud, and here is none.

    Raises:
        UpdateError: The engine or the cloud refused.
    """
    started = time.monotonic()
    result = Result(stack, recovered=recovered(place, stack, progress, env=GONE))
    if any(one.get("protect") for one in _resources(place, stack)):
        unprotect = ["state", "unprotect", "--all", "--yes", "--stack", stack]
        _pulumi(place, unprotect, f"stack {stack}: its resources cannot be unprotected")
    _unlock(place, stack)
    try:
        runs.end(place.sandbox, stack, progress.say)
    except ProviderError as error:
        raise UpdateError(f"stack {stack}: a run of it does not end, and nothing was destroyed: {error}") from None
    _forget(place, stack, _buckets(place, stack))
    with _begun(place, stack):
        destroy = ["destroy", "--yes", "--skip-preview"]
        done = _run(place, destroy, stack, f"{stack}: down", progress, GONE)
        if done.code and references(_state(place, stack)):  # the provider takes all but Helm's releases as gone with their cluster
            refresh = ["refresh", "--yes", "--skip-preview", "--stack", stack]
            _pulumi(place, refresh, f"stack {stack}: cannot be looked at", GONE)
            done = _run(place, destroy, stack, f"{stack}: down", progress, GONE)
        _check(done, f"stack {stack}: the destroy stopped; the next `accelform down` goes on from there")
    _pulumi(place, ["stack", "rm", stack, "--yes", "--preserve-config"], f"stack {stack}: cannot be removed")
    (place.home.stacks / f"Pulumi.{stack}.yaml").unlink(missing_ok=True)
    result.changes = done.changes
    result.seconds = time.monotonic() - started
    return result


def _unlock(place: Place, stack: str) -> None:
    """Takes the providers' own protection back, which is in the state alone: an update would ask the stack file."""
    state = _state(place, stack)
    locked = [
        values
        for one in resources(state)
        for values in (one.get("inputs", {}), one.get("outputs", {}))
        if one["type"] in LOCKED and values.get("deletionProtection")
    ]
    if not locked:
        return
    for values in locked:
        values["deletionProtection"] = False
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(state, file)
        file.flush()
        _pulumi(place, ["stack", "import", "--file", file.name, "--stack", stack], f"stack {stack}: its clusters cannot be unlocked")


def _buckets(place: Place, stack: str) -> set[str]:
    """Buckets that a stack made, by its state."""
    found = _resources(place, stack)
    return {one["outputs"]["name"] for one in found if one["type"] == BUCKET and not one.get("external") and "outputs" in one}


def _resources(place: Place, stack: str) -> list[dict[str, Any]]:
    """What a stack's state holds."""
    return resources(_state(place, stack))


def _forget(place: Place, stack: str, buckets: Container[str]) -> None:
    """
    Takes away what is in a stack's own buckets, and what controllers wrote about it elsewhere: a bucket that is not empty, and keeps its
    data, does not go. What cannot be deleted, such as what is under a hold, is the destroy's to tell.
    """
    import httpx

    with httpx.Client(trust_env=False, verify=False) as client:  # noqa: S501 - plain HTTP of this machine
        for _ in range(2):  # of a bucket with versions, what was the live one is then an older one
            for one in process.ask(place.sandbox, "GET", "resources")["resources"]:
                match = OBJECT.fullmatch(unquote(one["name"]))
                if one["service"] != "storage.googleapis.com" or match is None:
                    continue
                control = CONTROL.fullmatch(match["name"])
                if match["bucket"] in buckets or (control and control["stack"] == stack):
                    url = f"{place.sandbox.base}/storage.googleapis.com/storage/v1/b/{match['bucket']}/o/{quote(match['name'], safe='')}"
                    client.delete(url, params={"generation": match["old"]} if match["old"] else {})


def standing(home: Home) -> list[str]:
    """Stacks that the sandbox's backend knows."""
    return sorted(path.stem for path in states.files(home.state))


def left_over(place: Place) -> list[str]:
    """What stands in the sandbox though no stack is left: every service is asked."""
    found = process.ask(place.sandbox, "GET", "resources")["resources"]
    return [f"{one['service']}: {one['name']}" for one in found if not one["own"]]


def clock(place: Place) -> float:
    """Seconds since 1970 on the sandbox's own clock, which jumps over what Google Cloud takes minutes for."""
    return dt.datetime.fromisoformat(process.ask(place.sandbox, "GET", "status")["time"]).timestamp()


def shell(place: Place) -> dict[str, str | None]:
    """
    Variables with which plain `pulumi`, in any folder, works on the sandbox's stacks; and other tools on the sandbox.

    None is for what must not be set: another passphrase, backend or project of the user's.
    """
    variables = place.home.variables(place.engine)
    return {
        **dict.fromkeys(key for key in os.environ if key.startswith(FOREIGN)),
        **variables,
        "PATH": f"{place.home.bin}{os.pathsep}{variables['PATH']}",
        "PULUMI_OPTION_CWD": str(place.home.project),
        **environment(place.sandbox.base),
        **emulated.environment(place.sandbox.base),  # `pulumi login gs://...` is then a bucket of the sandbox
    }


def clear(home: Home) -> None:
    """
    Ends the sandbox, and removes all that runs on this machine left in the checkout.

    Raises:
        RecoverError: An engine is at work on one of the stacks.
    """
    for stack in standing(home):
        list(recover.lift(home, stack))
    process.stop(home.sandbox)
    shutil.rmtree(home.folder, ignore_errors=True)


def check_stays(stack: str, recorded: Mapping[str, Any], spec: FileSpec) -> None:
    """
    A stack stays where it was made: elsewhere everything would be replaced, data too.

    Raises:
        OwnerError: The stack file names another project or region than the state.
    """
    for key, now in (("project", spec.project), ("region", spec.region)):
        before = recorded.get(key, now)
        if before != now:
            raise OwnerError(
                f"stack {stack}: {key}: {now}: the stack stands in {before}, and everything in it would be replaced\n"
                f"  fix: accelform down {stack}, then up again; or a stack file of another name for {now}"
            )


def _state(place: Place, stack: str) -> dict[str, Any] | None:
    """The state of a stack, which is the sandbox's; None where the backend does not know the stack."""
    state = states.read(place.home.state, stack)
    if state is not None:
        check_owner(stack, recorded(state), SANDBOX)
    return state


def _pulumi(place: Place, arguments: list[str], what: str, env: Mapping[str, str] | None = None) -> None:
    """A call of the engine that changes nothing in the sandbox."""
    done = call(arguments, engine=place.engine, env={**place.home.env(place.engine), **(env or {})}, folder=place.home.project)
    if done.returncode:
        raise failed(what, done)


def recovered(
    place: Place,
    stack: str,
    progress: Progress,
    *,
    forget: bool = False,
    allow_gone: bool = False,
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """
    Mends what a killed run left, and says what that was.

    Args:
        forget: Whether what cannot be told is taken as not made.
        allow_gone: Whether all that the state has may be gone.
        env: What the engine is told besides, such as `GONE`.
    """
    note = _note(place, stack)
    begun = json.loads(note.read_text(encoding="utf-8")) if note.exists() else []
    done = recover.recover(
        place.home,
        stack,
        engine=place.engine,
        folder=place.home.project,
        find_id=find_ids.in_sandbox(place.sandbox.base),
        begun=begun,
        forget=forget,
    )
    lines = done.lines()
    if note.exists():
        # The engine was stopped while the cloud went on: of some resource the state may say what is no longer so.
        another = _another(place, stack)
        settings = {**place.home.env(place.engine), **(env or {})}
        gone = allow_gone or another.exists() or env is not None  # what is taken away next may be gone
        refreshed.refresh(stack, engine=place.engine, env=settings, folder=place.home.project, allow_gone=gone)
        another.unlink(missing_ok=True)
        note.unlink()
        lines.append("looked at everything anew: the last run did not come to its end")
    for line in lines:
        progress.say(line)
    return lines


@contextmanager
def _begun(place: Place, stack: str) -> Iterator[Path]:
    """A note that stays until the update has come to its end, however it is stopped. It may say what nobody is sure of."""
    note = _note(place, stack)
    atomic.write(note, "[]")
    yield note
    note.unlink()


def _another(place: Place, stack: str) -> Path:
    """A note that the sandbox is another one than the stack was made in: then everything may be gone."""
    return place.home.folder / "begun" / f"{stack}.another"


def _note(place: Place, stack: str) -> Path:
    return place.home.folder / "begun" / stack


def _run(
    place: Place,
    arguments: list[str],
    stack: str,
    title: str,
    progress: Progress,
    env: Mapping[str, str] | None = None,
    *,
    ahead: Sequence[events.Step] = (),
    seen: Callable[[events.Step], None] = lambda _step: None,
) -> events.Outcome:
    with progress.steps(title, lines=arguments[0] != "preview", ahead=ahead) as step:

        def take(one: events.Step) -> None:
            seen(one)
            step(one)

        return events.run(
            [*arguments, "--stack", stack],
            engine=place.engine,
            env={**place.home.env(place.engine), **(env or {})},
            folder=place.home.project,
            step=take,
        )


def _check(outcome: events.Outcome, what: str) -> None:
    if outcome.code:
        raise UpdateError(what + "".join(f"\n  {line}" for line in outcome.text().splitlines()))
