"""`accelform jobs`: what runs at night, looked at and worked on by day."""

from __future__ import annotations

import getpass
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, plain_table, print_json
from infra.cli.reached import CloudError, reached, stack_sandbox, stack_spec
from infra.errors import ExitCode, MachineError, Problem, SpecError

if TYPE_CHECKING:
    from infra.components.job import JobSpec
    from infra.operate.jobs.desk import Desk, Job
    from infra.operate.times import Time
    from infra.provider.google import Google
    from infra.stack import StackSpec

LOOKS_SECONDS = 5.0
"""Between two looks at a journal or at logs that are followed."""
BEGINS_SECONDS = 900.0
"""How long a run that was started may take until its journal says so: Cloud Run pulls an image first."""
WELL = ("succeeded", "skipped")


@dataclass(frozen=True, slots=True)
class Where:
    """What every command of jobs is told."""

    stack: str | None
    folder: Path
    cloud: bool
    as_json: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """How one run is to be."""

    zones: Sequence[str]
    provisioning: Sequence[str]
    follow: bool
    local: bool
    data: Sequence[str]
    output: Path | None
    here: bool = False
    ask: Sequence[str] = ()


def run(name: str, where: Where, asked: Asked) -> int:
    """`accelform jobs run`."""
    if asked.here:
        return _here(name, where, asked)
    if asked.ask:
        raise SpecError("jobs run", [Problem("--ask", "is for --here: in the cloud the callers ask")])
    if asked.local:
        return _locally(name, where, asked)
    if asked.data or asked.output:
        raise SpecError("jobs run", [Problem("--data, --output", "are for --local: in the cloud the stack file says where they are")])
    from infra.catalog.fits_zone import named
    from infra.operate.jobs.runner import Wish

    with _desk(where) as desk:
        job = desk.one(name)
        unknown = [(zone, found) for zone in asked.zones if (found := named(zone))]
        wrong = [Problem("--zone", f"{zone!r} {found.message}", ", ".join(found.allowed[:5])) for zone, found in unknown]
        if wrong:
            raise SpecError("jobs run", wrong)
        try:
            Wish.of(job.plan, asked.zones, asked.provisioning)
        except ValueError as error:
            words, _, allowed = str(error).partition("; allowed: ")
            raise SpecError("jobs run", [Problem("", words, allowed)]) from None
        before = desk.open_or_last(job)
        if before.get("open"):
            state = f"run {before['run']} is open ({before['phase']})"
            _say(f"{state}: it is gone on with if nobody works on it, else this one is skipped", aside=True)
        if job.plan.sandbox:
            _say("in the sandbox it is run by accelform sandbox attach, beside this command", aside=True)
        execution = desk.start(job, asked.zones, asked.provisioning)
        if not asked.follow:
            if where.as_json:
                print_json({"job": name, "execution": execution})
            else:
                _say(f"{name}: started, {execution or 'without an execution that was told'}")
            return ExitCode.OK
        return _followed(desk, job, before, execution, as_json=where.as_json)


def _here(name: str, where: Where, asked: Asked) -> int:
    """A whole night on this machine: all that the run makes in the sandbox is run by processes beside it."""
    from infra import names
    from infra.cli import here
    from infra.cli.attach import alone
    from infra.cli.progress import Progress
    from infra.local import project
    from infra.local.home import Home

    if asked.zones or asked.provisioning or asked.local or asked.data or asked.output or where.cloud or not asked.follow:
        fix = "leave the others out: it is the sandbox, followed to its end, with the stack file as it is"
        raise SpecError("jobs run", [Problem("--here", "goes with --ask and --stack alone", fix=fix)])
    instances = here.asked(asked.ask)
    stack, spec = _spec(where)
    if name not in spec.jobs:
        from infra.errors import nearest

        allowed = ", ".join(nearest(name, spec.jobs) or spec.jobs) or "the stack has no jobs"
        raise SpecError("jobs run", [Problem(f"jobs.{name}", "there is no such job in the stack file", allowed)])
    _is_ours(name, spec.jobs[name])
    progress, began = Progress(quiet=where.as_json), time.monotonic()
    here.bring_up(stack, where.folder, progress)
    where = Where(stack, where.folder, cloud=False, as_json=where.as_json)
    with alone(Home.of(project.checkout(Path.cwd()))), _reached(where) as (google, _, desk):
        one = here.Here(google, desk, desk.one(name), stack_sandbox(stack, cloud=False), instances, progress)
        one.fill(spec, names.bucket(spec.project, stack, "data"))
        night = one.run()
    code = ExitCode.OK if night.run["result"] in WELL and not any("error" in answer for answer in night.answers) else ExitCode.FINDINGS
    if where.as_json:
        said = {"run": _brief(night.run), "machines": night.machines, "measured": night.measured, "answers": night.answers}
        print_json({"exit_code": int(code), **said, "moved": night.moved})
        return code
    _shown(night.run)
    for machine in night.machines:
        name = machine["name"].rpartition("/")[2]
        state = f"gone at {machine['ended']}" if machine["ended"] else machine["state"]
        _say(f"machine {name}: {state}; {machine['billed_seconds']} s, {machine['usd']} USD, by the sandbox's ledger")
    for answer in night.answers:
        _say(f"{json.dumps(answer['instance'])}: " + _answered(answer))
    _say(f"{time.monotonic() - began:.0f} s, and no process of it is left; what stands in the sandbox stays: accelform down takes it away")
    return code


def _answered(answer: Mapping[str, Any]) -> str:
    if "error" in answer:
        return f"{answer['status']}: {answer['error']}"
    items = answer["prediction"].get("item") if isinstance(answer["prediction"], dict) else None
    said = ", ".join(map(str, items)) if isinstance(items, list) else json.dumps(answer["prediction"])[:300]
    return f"{said} (version {answer['version']})"


def list_(where: Where) -> int:
    """`accelform jobs list`."""
    with _desk(where) as desk:
        rows: list[dict[str, Any]] = []
        for job in desk.every():
            last = desk.open_or_last(job)
            rows.append({"job": job.plan.job, "workload": job.plan.workload, "next": desk.next_start(job), "last": _brief(last)})
        if where.as_json:
            print_json({"jobs": rows})
            return ExitCode.OK
        if not rows:
            _say("no job stands there: accelform up, or pulumi up, brings those of the stack file")
            return ExitCode.OK
        table = plain_table("job", "workload", "last run", "result", "USD", "next run", right=("USD",))
        for row in rows:
            last = row["last"] or {}
            result = last.get("result") or last.get("phase", "")
            table.add_row(row["job"], row["workload"], last.get("run", "none yet"), result, last.get("usd", ""), _when(row["next"]))
        console().print(table)
    return ExitCode.OK


def show(name: str, run: str | None, where: Where) -> int:
    """`accelform jobs show`."""
    with _desk(where) as desk:
        job = desk.one(name)
        found = desk.run(job, run) if run else desk.open_or_last(job)
        runs = desk.runs(job)
        if where.as_json:
            print_json({"job": name, "runs": runs, "run": found or None})
            return ExitCode.OK
        if not found:
            _say(f"{name}: it had no run yet; accelform jobs run {name}")
            return ExitCode.OK
        _shown(found)
        if others := [one for one in runs if one != found["run"]][-5:]:
            _say(f"other runs: {', '.join(others)}")
    return ExitCode.OK


def logs(name: str, run: str | None, where: Where, *, follow: bool) -> int:
    """`accelform jobs logs`."""
    with _desk(where) as desk:
        job = desk.one(name)
        found = desk.run(job, run) if run else desk.open_or_last(job)
        if not found:
            raise SpecError("jobs logs", [Problem(f"jobs.{name}", "it had no run yet", fix=f"accelform jobs run {name}")])
        seen: set[tuple[str, str, str]] = set()
        since = found["began"]
        while True:
            entries = desk.logs(job, since, "" if found.get("open") else _later(found.get("ended", "")), found.get("tries", []))
            for entry in entries:
                if (key := (entry["at"], entry["who"], entry["text"])) not in seen:
                    seen.add(key)
                    _entry(entry, as_json=where.as_json)
            if not (follow and found.get("open")):
                return ExitCode.OK
            since = entries[-1]["at"] if entries else since
            time.sleep(LOOKS_SECONDS)
            found = desk.open_or_last(job) if not run else desk.run(job, run)


def stop(name: str, where: Where) -> int:
    """`accelform jobs stop`."""
    from infra.operate.jobs.handover import HandOver
    from infra.operate.jobs.lease import Owner
    from infra.operate.jobs.runner import Runner
    from infra.operate.rollout import Event

    with _reached(where) as (google, clock, desk):
        job = desk.one(name)
        found = desk.open_or_last(job)
        if not found.get("open"):
            raise SpecError("jobs stop", [Problem(f"jobs.{name}", "no run is open", f"the last one: {found.get('run') or 'none'}")])
        who = getpass.getuser()
        desk.ask_to_stop(job, found["run"], who)

        def tell(event: Event) -> None:
            _say(event.text, aside=True)

        judge = partial(HandOver, google, job.plan, say=tell) if job.plan.registers else None
        runner = Runner(google, clock, job.plan, Owner.here({}), tell, judge)
        if runner.is_nobodys:
            ended = runner.give_up(f"stop was asked for by {who}", "stopped")
            said = {"job": name, "run": found["run"], "result": ended.result, "reason": ended.reason}
        else:
            owner = found["lease"]["owner"]
            said = {
                "job": name,
                "run": found["run"],
                "result": "asked",
                "reason": f"{owner} works on it, and ends it within a minute or so",
            }
        if where.as_json:
            print_json(said)
        else:
            _say(f"{name}, run {said['run']}: {said['result']}: {said['reason']}")
    return ExitCode.OK


def ssh(name: str, where: Where, *, host: int, run_it: bool) -> int:
    """`accelform jobs ssh`."""
    if not where.cloud:
        fix = "its hosts are processes of this machine, where they are attached; or --cloud, for a machine of Google Cloud"
        raise SpecError("jobs ssh", [Problem("", "the sandbox's machines are nothing that could be logged in to", fix=fix)])
    with _reached(where) as (google, _, desk):
        job = desk.one(name)
        found = desk.open_or_last(job)
        tries = found.get("tries") or []
        if not found.get("open") or not tries or tries[-1]["ended"]:
            fix = f"accelform jobs run {name}"
            raise SpecError("jobs ssh", [Problem(f"jobs.{name}", "no machine of it stands now", fix=fix)])
        if tries[-1]["form"] == "custom-job":
            why = "it runs on a machine of Vertex AI's, which nobody logs in to by SSH"
            fix = f"accelform jobs logs {name}; or leave out `way: vertex`, for a machine of Compute Engine"
            raise SpecError("jobs ssh", [Problem(f"jobs.{name}", why, fix=fix)])
        if not 0 <= host < job.plan.hosts:
            raise SpecError("jobs ssh", [Problem("--host", f"{host} is none of its hosts", f"0 to {job.plan.hosts - 1}")])
        words = _ssh_words(google, job, tries[-1], host)
    if where.as_json:
        print_json({"job": name, "command": words})
        return ExitCode.OK
    _say(" ".join(words))
    if not run_it:
        return ExitCode.OK
    sys.stdout.flush()
    try:
        os.execvp(words[0], words)  # noqa: S606
    except FileNotFoundError:
        raise MachineError("gcloud is not on this machine\n  fix: install the Google Cloud CLI; the command is printed above") from None


def _ssh_words(google: Google, job: Job, row: Mapping[str, Any], host: int) -> list[str]:
    """The gcloud command, through Google's tunnel: no machine has an external address."""
    plan, zone = job.plan, row["zone"]
    tail = ["--project", plan.project, "--zone", zone, "--tunnel-through-iap"]
    if row["form"] == "node":
        return ["gcloud", "compute", "tpus", "tpu-vm", "ssh", plan.machine_name, f"--worker={host}", *tail]
    machine = plan.machine_name
    if row["form"] == "group":
        where = {"project": plan.project, "zone": zone, "instanceGroupManager": plan.machine_name}
        every: Any = google.pages
        hosts = every("compute.v1", "instanceGroupManagers.listManagedInstances", "managedInstances", **where)
        names = sorted(str(one["instance"]).rpartition("/")[2] for one in hosts)
        if host >= len(names):
            raise CloudError(f"the group {plan.machine_name} has {len(names)} hosts now, and none of number {host}")
        machine = names[host]
    return ["gcloud", "compute", "ssh", machine, *tail]


def _locally(name: str, where: Where, asked: Asked) -> int:
    """The container's command, as a process of this machine: with its processor, and a folder in the place of the bucket."""
    import subprocess
    from datetime import UTC, datetime

    from workloads.contract import TrainSettings

    if asked.zones or asked.provisioning or where.cloud:
        raise SpecError("jobs run", [Problem("--local", "takes no zone, no way of buying and no cloud: it is this machine")])
    spec = _spec(where)[1]
    jobs: Mapping[str, Any] = getattr(spec, "jobs", {})
    if name not in jobs:
        from infra.errors import nearest

        allowed = ", ".join(nearest(name, jobs) or jobs) or "the stack has no jobs"
        raise SpecError("jobs run", [Problem(f"jobs.{name}", "there is no such job in the stack file", allowed)])
    job = jobs[name]
    _is_ours(name, job)
    run_id = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    output = (asked.output or Path("runs") / name / run_id).absolute()
    settings = TrainSettings(
        run_id=run_id, output=str(output), checkpoints=str(output / "checkpoints"), accelerator_type="cpu", chips=1, data=_data(asked.data)
    )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"{output}: cannot be made: {error.strerror}") from None
    words = [sys.executable, "-m", "workloads.entry", job.workload, *job.args]
    _say(f"{' '.join(words[1:])}\n  output: {output}", aside=True)
    code = subprocess.run(words, env=os.environ | dict(job.env) | settings.environment(), check=False).returncode
    if where.as_json:
        print_json({"job": name, "run": run_id, "output": str(output), "exit_code": code})
    else:
        _say(f"{name}: ended with {code}; {output}")
    return ExitCode.OK if code == 0 else ExitCode.FINDINGS


def _is_ours(name: str, job: JobSpec) -> None:
    """
    Whether a process of this machine can run it.

    Raises:
        SpecError: It runs what an image has.
    """
    if job.command:
        words = f"runs in the image {job.image}, and processes of this machine run programs of this project alone"
        raise SpecError(
            "jobs run", [Problem(f"jobs.{name}.command", words, "a job with a `workload`", f"accelform jobs run {name} --cloud")]
        )


def _data(words: Sequence[str]) -> dict[str, str]:
    """Folders by name, of `NAME=FOLDER`."""
    found = {}
    for word in words:
        name, _, folder = word.partition("=")
        if not name or not folder:
            raise SpecError("jobs run", [Problem("--data", f"{word!r} is no folder by name", "NAME=FOLDER, such as clicks=./clicks")])
        found[name] = folder if "://" in folder else str(Path(folder).absolute())
    return found


def _followed(desk: Desk, job: Job, before: Mapping[str, Any], execution: str, *, as_json: bool) -> int:
    """Tells what the journal tells, until the run has ended."""
    from rich.console import Console
    from rich.status import Status

    told, began, run = len(before.get("events", [])) if before.get("open") else 0, time.monotonic(), ""
    with Status(f"{job.plan.job}: Cloud Run begins it", console=Console(stderr=True, highlight=False)) as status:
        while True:
            found = desk.open_or_last(job)
            is_it = found and (found["run"] != before.get("run") or before.get("open"))
            if is_it:
                run = found["run"]
                for event in found["events"][told:]:
                    _event(event, as_json=as_json)
                told = max(told, len(found["events"]))
                status.update(f"{job.plan.job}, run {run}: {found['phase']}, {found['usd']} USD so far")
                if not found["open"]:
                    break
            elif time.monotonic() - began > BEGINS_SECONDS:
                raise CloudError(f"{execution}: its run has not begun within {BEGINS_SECONDS / 60:.0f} min\n  fix: accelform jobs logs")
            if execution and (how := desk.execution_ended(execution)):
                again = desk.open_or_last(job)
                if not again or (again.get("run") == before.get("run") and not before.get("open")):
                    raise CloudError(f"{execution} ended before its run began: {how}")
                if again.get("open"):
                    raise CloudError(
                        f"{execution} ended, and run {again['run']} is open: {how}\n  the sweep goes on with it, within the hour"
                    )
            time.sleep(LOOKS_SECONDS)
    code = ExitCode.OK if found["result"] in WELL else ExitCode.FINDINGS
    if as_json:
        sys.stdout.write(json.dumps({"event": "end", "exit_code": int(code), **_brief(found)}) + "\n")
    else:
        _shown(found)
    return code


def _event(event: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"at": event["at"], "event": event["phase"], "text": event["text"]}) + "\n")
        sys.stdout.flush()
    else:
        _say(f"{event['at']}  {event['text']}")


def _entry(entry: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(dict(entry)) + "\n")
    else:
        from rich.text import Text

        console().print(Text(f"{entry['at']}  {entry['who']}  {entry['text']}"), soft_wrap=True)


def _shown(found: Mapping[str, Any]) -> None:
    """A run for people: its tries, what it cost, and what became of what it made."""
    state = f"open, {found['phase']}" if found.get("open") else found["result"]
    _say(f"run {found['run']}: {state}{': ' if found.get('reason') else ''}{found.get('reason', '')}")
    if found.get("tries"):
        table = plain_table("try", "zone", "way", "asked, UTC", "machine since", "gone", "result", "USD", "why", right=("try", "USD"))
        for row in found["tries"]:
            moments = [_moment(row[key]) for key in ("asked", "began", "ended")]
            table.add_row(str(row["number"]), row["zone"], row["provisioning"], *moments, row["result"], row["usd"], row["reason"])
        console().print(table)
    _say(f"cost so far {found['usd']} USD, at most {found.get('usd_at_most', 'unknown')} USD, at list prices")
    if found.get("gate"):
        word = "accepted" if found["gate"]["accepted"] else "refused"
        _say(f"model version {found['model_version']}: {word}: {found['gate']['reason']}")
    if found.get("outcome"):
        _say(f"{found['outcome']}: {found['why']}")
    if found.get("output"):
        _say(f"output: {found['output']}")


def _moment(at: str) -> str:
    """A moment in a row of others: `12-01 07:00:20`; the run's own name has the year."""
    return f"{at[5:10]} {at[11:19]}" if at else ""


def _when(start: str) -> str:
    """A start as people read it: `2026-12-01 18:00 UTC`."""
    return f"{start[:10]} {start[11:16]} UTC" if start[:1].isdigit() else start or "by hand"


def _brief(found: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("run", "phase", "began", "ended", "result", "reason", "usd", "usd_at_most", "model_version", "outcome")
    return {key: found.get(key, "") for key in keys} if found else {}


def _later(moment: str) -> str:
    """A quarter of an hour after: what was said last comes late."""
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(moment) + timedelta(minutes=15)).isoformat() if moment else ""


def _say(text: str, *, aside: bool = False) -> None:
    """A line for people. *aside*: to standard error, as it is no part of what was asked for."""
    from rich.console import Console
    from rich.text import Text

    (Console(stderr=True, highlight=False) if aside else console()).print(Text(text), soft_wrap=True)


def _spec(where: Where) -> tuple[str, StackSpec]:
    """
    Name and file of the stack: the one that is named, else the only one there is.

    Raises:
        SpecError: There are several.
    """
    from infra.check import stack_files

    if where.stack is not None:
        return where.stack, stack_spec(where.stack, where.folder)
    files = stack_files([], where.folder)
    if len(files) != 1:
        allowed = ", ".join(file.stack for file in files)
        raise SpecError("jobs", [Problem("--stack", "is missing: there are several stacks", allowed)])
    return files[0].stack, stack_spec(files[0].stack, where.folder)


@contextmanager
def _reached(where: Where) -> Iterator[tuple[Google, Time, Desk]]:
    """The jobs of the stack, in the cloud that is meant; what that answers goes to the user as it is."""
    from infra.operate.jobs.desk import Desk

    stack, spec = _spec(where)
    with reached(spec.project, stack_sandbox(stack, cloud=where.cloud)) as (google, clock):
        yield google, clock, Desk(google, spec.project, spec.region, stack)


@contextmanager
def _desk(where: Where) -> Iterator[Desk]:
    with _reached(where) as (_, _, desk):
        yield desk
