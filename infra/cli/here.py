"""`accelform jobs run --here`: a job's whole night on this machine, in real processes beside the sandbox, until its model answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from infra.cli.moments import Moments
from infra.cli.progress import Progress
from infra.errors import MachineError, Problem, SpecError
from infra.labels import RUN_LABEL

if TYPE_CHECKING:
    from infra.job_plan import JobPlan
    from infra.local.attach.lines import Speaker
    from infra.local.attach.models import Answers
    from infra.operate.jobs.desk import Desk, Job
    from infra.provider.google import Google
    from infra.stack import StackSpec

LOOKS_SECONDS = 0.1
JOURNAL_SECONDS = 0.7
"""Between two looks at the journal: each costs the sandbox some milliseconds that a training on the same cores wants too."""
BEGINS_SECONDS = 120.0
SERVES_SECONDS = 180.0
"""How long a server may take until it answers, on a machine that others use too."""
PREDICT_SECONDS = 60.0
REQUESTS = 200
"""That each new server is sent, to know how fast it answers."""
READING = "reading"
"""What a rollout calls the event of one look at its guards."""
PER_SECOND = 5.0
"""Requests of the load that is declared: enough for every step of a rollout to prove something."""


@dataclass(slots=True)
class Night:
    """What happened, for people and for machines."""

    run: dict[str, Any] = field(default_factory=dict)
    machines: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    """How fast each server answered, by deployed model."""
    moved: list[dict[str, str]] = field(default_factory=list)
    """Where the sandbox's clock was moved on: `from` and `to`."""


def asked(texts: Sequence[str]) -> list[Any]:
    """
    Instances that the endpoints are asked for at the end.

    Raises:
        SpecError: One is no JSON.
    """
    found, problems = [], []
    for text in texts:
        try:
            found.append(json.loads(text))
        except (ValueError, RecursionError) as error:
            problems.append(Problem("--ask", f"{text!r} is no JSON: {error}", """one instance, such as '{"user": "u1"}'"""))
    if problems:
        raise SpecError("jobs run", problems)
    return found


def bring_up(stack: str, folder: Path, progress: Progress) -> None:
    """Brings the stack up where it is not."""
    from infra.check import stack_files
    from infra.local import project, up
    from infra.local.home import Home

    root = project.checkout(Path.cwd())
    home = Home.of(root)
    if stack in up.standing(home):
        return
    with home.alone("up"):
        up.up(up.prepare(root, stack_files([stack], folder), progress), stack, progress)


class Here:
    """
    One job of a stack that is up on this machine.

    Args:
        base: Address of the sandbox.
        instances: What its endpoints are asked for.
        line: Gets what a container of it prints, and events of the run.
    """

    def __init__(self, google: Google, desk: Desk, job: Job, base: str, instances: Sequence[Any], progress: Progress) -> None:
        self._google = google
        self._desk = desk
        self._job = job
        self._base = base
        self._instances = list(instances)
        self._progress = progress
        self._night = Night()
        self._loads: dict[str, dict[str, Any]] = {}
        self._shown: Callable[[str], None] = lambda text: None
        self._reading = ""
        self._moments = Moments(self._own, progress.say, job.plan.registers.timezone if job.plan.registers else "")

    @property
    def plan(self) -> JobPlan:
        return self._job.plan

    def fill(self, spec: StackSpec, bucket: str) -> None:
        """
        Makes the job's data up where its folders are empty, and says so.

        Raises:
            SpecError: They are, and nothing is known that could be made up.
            MachineError: It could not be made.
        """
        from infra.local.attach import commands
        from workloads.job import PROGRAMS

        job = spec.jobs[self.plan.job]
        program = PROGRAMS[self.plan.workload]
        folders = {name: f"gs://{bucket}/{folder.rstrip('/')}" for name, folder in job.data.items()}
        if not folders or program.alone in job.args or not all(self._is_empty(folder) for folder in folders.values()):
            return
        if not program.example or program.lacks((), folders):
            raise SpecError(
                "jobs run",
                [Problem(f"jobs.{self.plan.job}.data", f"{' and '.join(folders.values())}: nothing is in there", fix="put the data there")],
            )
        self._progress.say(f"{' and '.join(folders.values())} are empty: data is made up, small, to try the job with")
        command = [sys.executable, "-P", "-m", program.example, *(folders[name] for name in program.needs)]
        done = subprocess.run(command, env=commands.environment(os.environ, {}, self._base), capture_output=True, text=True, check=False)
        if done.returncode:
            raise MachineError(f"{program.example} ended with {done.returncode}\n  {done.stderr.strip()[-1000:]}")
        self._progress.say(done.stderr.strip())

    def run(self) -> Night:
        """
        Starts a run as its clock would, or goes on with the one that is open; and runs what it makes, until its model answers.

        Raises:
            MachineError: It does not begin, or no server comes up.
        """
        from infra.local.attach import Attached

        with ExitStack() as stack:
            self._shown = stack.enter_context(self._progress.status(f"{self.plan.job}: Cloud Run begins it"))
            attached = stack.enter_context(Attached(self._base, self._progress.say, heard=self._heard, met=self._met))
            before = self._desk.open_or_last(self._job)
            if before.get("open"):
                self._progress.say(f"run {before['run']} is open ({before['phase']}): it is gone on with")
                # Nobody else runs anything here: what its runner left is free at once where Cloud Run begins it again, else by the lease.
            if not before.get("open") or not self._begins_again():
                self._start()
            self._follow(attached.step, before)
            until = time.monotonic() + SERVES_SECONDS
            attached.step()
            while attached.busy:
                attached.step()
                if time.monotonic() > until:
                    raise MachineError(f"a server of {self.plan.job}'s model does not answer within {SERVES_SECONDS:.0f} s")
                time.sleep(LOOKS_SECONDS)
            self._night.machines = [one for one in self._own("GET", "machines")["machines"] if self._is_of_run(one)]
            self._night.answers = list(self._predicted())
            self._night.moved = self._moments.moved
        return self._night

    # What happens

    def _start(self) -> None:
        """As the clock starts it, where it has one: the schedule's own target, account and retries."""
        if clock := self._desk.clock(self._job):
            self._google.call("cloudscheduler.v1", "projects.locations.jobs.run", name=clock, body={})
            self._progress.say(f"started by its schedule, {clock.rpartition('/')[2]}, now and not at night")
        else:
            self._desk.start(self._job, [], [])
            self._progress.say("started; it has no schedule")

    def _begins_again(self) -> bool:
        """Whether an attempt of its runner waits to be run, or was run by somebody who is gone."""
        task = self._job.task.rpartition("/")[2]
        return any(f"/jobs/{task}/" in one["name"] for one in self._own("GET", "executions")["executions"])

    def _follow(self, step: Callable[[], None], before: Mapping[str, Any]) -> None:
        began, look = time.monotonic(), 0.0
        while True:
            step()
            self._moments.step()
            if time.monotonic() >= look:
                look = time.monotonic() + JOURNAL_SECONDS
                found = self._desk.open_or_last(self._job)
                if found and (found["run"] != before.get("run") or before.get("open")):
                    self._night.run = found
                    if not found["open"]:
                        return
                elif time.monotonic() - began > BEGINS_SECONDS:
                    raise MachineError(
                        f"the run of {self.plan.job} has not begun within {BEGINS_SECONDS:.0f} s\n  fix: accelform jobs logs"
                    )
            time.sleep(LOOKS_SECONDS)

    def _heard(self, speaker: Speaker, line: str) -> None:
        """What the hosts print, and what the job's own runner says: the sweep's is of another matter."""
        if speaker.instance is not None:
            self._shown(f"{self.plan.job}: {line}")
            self._progress.say(f"  {line}")
        elif speaker.labels["job"] == self._job.task.rpartition("/")[2]:
            self._runner_said(line, speaker.entry(line).get("jsonPayload", {}))

    def _runner_said(self, line: str, said: Mapping[str, Any]) -> None:
        """Readings come for each minute of a rollout: the last one before something happens stays."""
        text = f"{said['at']}  {said['message']}" if "at" in said else line
        self._moments.heard(said)
        self._shown(f"{self.plan.job}: {text}")
        if said.get("event") == READING:
            self._reading = text
            return
        if self._reading:
            self._progress.say(self._reading)
            self._reading = ""
        self._progress.say(text)

    def _met(self, answers: Answers) -> None:
        """
        Measures a new server, and declares what its endpoint's callers see: so a rollout has readings, and they are of this server.

        The sandbox counts declared requests alone; how fast these are answered is what was measured just now.
        """
        if not self._instances or not any(one.endpoint == answers.endpoint for one in self._rollouts()):
            return
        times, errors = measured(answers.url, self._instances)
        behaviour = {"p50_ms": _part(times, 0.5), "p95_ms": _part(times, 0.95), "error_rate": errors / REQUESTS}
        self._night.measured[answers.id] = behaviour
        models = self._loads.setdefault(answers.endpoint, {})
        models[answers.id] = behaviour
        self._own("POST", "loads", {"endpoint": answers.endpoint, "requests_per_second": PER_SECOND, "models": models})
        p50, p95 = behaviour["p50_ms"], behaviour["p95_ms"]
        self._progress.say(
            f"deployed model {answers.id} answered {REQUESTS - errors} of {REQUESTS} requests, half within {p50:.1f} ms, 95 % within "
            f"{p95:.1f} ms: a load of {PER_SECOND:g} requests a second that sees the same is declared"
        )

    def _predicted(self) -> list[dict[str, Any]]:
        """Asks each endpoint that serves the model, as a caller does."""
        import httpx

        found = []
        for endpoint in dict.fromkeys(one.endpoint for one in self._rollouts()):
            for instance in self._instances:
                url = f"{self._base}/aiplatform.googleapis.com/v1/{endpoint}:predict"
                body = {"instances": [instance], "parameters": {"k": 5}}
                answer = httpx.post(url, json=body, timeout=PREDICT_SECONDS, trust_env=False, verify=False)  # noqa: S501 - plain HTTP of this machine
                if answer.status_code != 200:
                    said = {"error": answer.text[:500], "status": answer.status_code}
                else:
                    sent = answer.json()
                    said = {
                        "version": sent["modelVersionId"],
                        "deployed_model": sent["deployedModelId"],
                        "prediction": sent["predictions"][0],
                    }
                found.append({"endpoint": endpoint, "instance": instance, **said})
        return found

    def _rollouts(self) -> Sequence[Any]:
        return self.plan.registers.rollouts if self.plan.registers else ()

    def _is_of_run(self, machine: Mapping[str, Any]) -> bool:
        return bool(machine["labels"].get(RUN_LABEL) == self._night.run["run"].lower())

    def _is_empty(self, folder: str) -> bool:
        parts = urlsplit(folder)
        there = self._google.call("storage.v1", "objects.list", bucket=parts.netloc, prefix=f"{parts.path.lstrip('/')}/", maxResults=1)
        return not there.get("items")

    def _own(self, http: str, what: str, body: Any = None) -> Any:
        import httpx

        url = f"{self._base}/sandbox/{what}"
        answer = httpx.request(http, url, json=body, timeout=PREDICT_SECONDS, trust_env=False, verify=False)  # noqa: S501 - plain HTTP of this machine
        if answer.status_code != 200:
            raise MachineError(f"the sandbox refuses {http} {what}: {answer.text[:500]}")
        return answer.json()


def measured(url: str, instances: Sequence[Any]) -> tuple[list[float], int]:
    """Milliseconds of each of some requests to a server itself, one after the other, and how many of them were errors."""
    import httpx

    times, errors = [], 0
    with httpx.Client(timeout=PREDICT_SECONDS, trust_env=False, verify=False) as client:  # noqa: S501 - plain HTTP of this machine
        for number in range(REQUESTS):
            began = time.perf_counter()
            try:
                good = client.post(url, json={"instances": [instances[number % len(instances)]]}).status_code == 200
            except httpx.HTTPError:
                good = False
            times.append((time.perf_counter() - began) * 1000)
            errors += not good
    return sorted(times), errors


def _part(times: Sequence[float], part: float) -> float:
    return max(0.001, times[min(len(times) - 1, int(len(times) * part))])
