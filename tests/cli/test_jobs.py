"""`accelform jobs`: runs are started, told of, shown, stopped and read, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from infra.cli import jobs
from infra.errors import SpecError
from infra.local.attach.lines import Speaker
from infra.operate import reach
from infra.operate.jobs.desk import CONTAINER_LOG
from infra.operate.jobs.lease import Owner
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.jobs.night import BASE, PROJECT, REGION, Night, settled

AT = f"run.googleapis.com/v2/projects/{PROJECT}/locations/{REGION}/jobs"
TASK = "shop-job-nightly"


@pytest.fixture
def night(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Night:
    """A stack with one job, whose Cloud Run job stands; while somebody waits, Cloud Run runs what was started."""
    night = Night(form=getattr(request, "param", "instance"))
    container = {"image": "us-docker.pkg.dev/p/r/runner", "env": [{"name": "ACCELFORM_JOB", "value": night.plan.model_dump_json()}]}
    other = {"image": "us-docker.pkg.dev/p/r/other"}
    for name, one in ((TASK, container), ("something-else", other)):
        night.ask("POST", AT, {"template": {"template": {"containers": [one]}}}, jobId=name)
    night.wait(60)

    def sleep(seconds: float) -> None:
        if any(one["path"].endswith(f"{TASK}:run") for one in list(night.cloud.calls)) and not night.journal:
            night.run(Owner("nightly-1", 0, "nightly-1"))

    monkeypatch.setattr(jobs.time, "sleep", sleep)
    monkeypatch.setattr(reach, "google", lambda spec, sandbox: (night.google(), night))
    monkeypatch.setattr(jobs, "stack_sandbox", lambda stack, *, cloud: "" if cloud else BASE)
    return night


@pytest.fixture
def where(stack_file: Callable[..., Path], base: dict[str, Any]) -> jobs.Where:
    """The stack that is told as the only one of its folder, for machines."""
    path = stack_file(base | {"gcp:project": PROJECT}, "shop")
    return jobs.Where(None, path.parent, cloud=False, as_json=True)


def asked(**more: Any) -> jobs.Asked:
    return jobs.Asked(**{"zones": [], "provisioning": [], "follow": True, "local": False, "data": [], "output": None} | more)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_run_is_started_and_followed_to_its_end(night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]) -> None:
    """Each event of the journal is a line; the last one says how it ended. Show and list tell the same."""
    assert jobs.run("nightly", where, asked()) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["seeking", "making", "running", "clearing", "closing", "ended", "end"]
    assert (lines[-1]["result"], lines[-1]["exit_code"]) == ("succeeded", 0)
    settled(night)
    jobs.show("nightly", None, where)
    shown = printed(capsys)
    assert shown["run"]["tries"][0]["result"] == "succeeded"
    assert shown["runs"] == [lines[-1]["run"]]
    jobs.list_(where)
    (row,) = printed(capsys)["jobs"]
    assert (row["job"], row["last"]["result"], row["next"]) == ("nightly", "succeeded", "")
    assert row["last"]["usd"] == lines[-1]["usd"]


def test_a_run_that_does_not_end_well_has_an_exit_code(night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]) -> None:
    """3, and people are told of every try and what it cost."""
    night.exits = lambda number: 1
    assert jobs.run("nightly", jobs.Where("shop", where.folder, cloud=False, as_json=False), asked()) == 3
    said = capsys.readouterr().out
    assert "failed: host 0 ended with 1" in said
    assert "USD, at list prices" in said
    assert "us-east5-a" in said


def test_a_run_may_be_told_its_zone_and_not_be_followed(night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]) -> None:
    """The execution gets it as arguments; what the job does not have is refused before anything is started."""
    assert jobs.run("nightly", where, asked(zones=["us-east5-b"], provisioning=["spot"], follow=False)) == 0
    execution = printed(capsys)["execution"]
    body = night.ask("GET", f"run.googleapis.com/v2/{execution}")
    assert body["template"]["containers"][0]["args"] == ["--zone", "us-east5-b", "--provisioning", "spot"]
    with pytest.raises(SpecError, match="is not in the job's region"):
        jobs.run("nightly", where, asked(zones=["us-central1-a"]))
    with pytest.raises(SpecError, match=r"--zone: 'us-east5' is a region, not a zone\n  allowed: us-east5-a"):
        jobs.run("nightly", where, asked(zones=["us-east5"]))
    with pytest.raises(SpecError, match=r"'on-demand' is none of the job's\n  allowed: spot"):
        jobs.run("nightly", where, asked(provisioning=["on-demand"]))
    with pytest.raises(SpecError, match="are for --local"):
        jobs.run("nightly", where, asked(data=["clicks=/srv/x"]))


@pytest.mark.parametrize("more", [{"local": True}, {"here": True}])
def test_a_command_is_no_process_of_this_machine(base: dict[str, Any], stack_file: Callable[..., Path], more: dict[str, Any]) -> None:
    """It is refused before anything is brought up or started."""
    images = "us-east5-docker.pkg.dev/tw-shop-ml/try-images/"
    digest = f"@sha256:{64 * '0'}"
    job = {"command": ["python3"], "image": f"{images}other{digest}", "accelerator_type": "v6e-1", "zones": ["us-east5-a"]}
    job |= {"provisioning": ["spot"], "max_run_minutes": 60}
    top = {"accelform:images": {"runner": f"{images}runner{digest}"}, "accelform:jobs": {"other": job}}
    path = stack_file(base | top)
    with pytest.raises(SpecError, match=r"jobs.other.command: runs in the image .*\n.*\n  fix: accelform jobs run other --cloud"):
        jobs.run("other", jobs.Where("try", path.parent, cloud=False, as_json=False), asked(**more))


def test_an_unknown_job_or_run_is_refused_with_what_there_is(night: Night, where: jobs.Where) -> None:
    """The nearest is named."""
    with pytest.raises(SpecError, match=r"jobs.nigthly: there is no such job in the cloud\n  allowed: nightly"):
        jobs.show("nigthly", None, where)
    with pytest.raises(SpecError, match="it had none yet"):
        jobs.show("nightly", "20270101T000000Z", where)
    with pytest.raises(SpecError, match="no run is open"):
        jobs.stop("nightly", where)
    with pytest.raises(SpecError, match="it had no run yet"):
        jobs.logs("nightly", None, where, follow=False)


def test_stop_asks_a_runner_that_lives_and_ends_the_run_of_one_that_does_not(
    night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a lease the runner is asked; without, the command itself deletes the machine."""
    night.exits = lambda number: None
    night.kill_at, night.kill_after = 60, True
    with pytest.raises(KilledError):
        night.run()
    night.kill_at = None
    jobs.stop("nightly", where)
    assert printed(capsys)["result"] == "asked"
    assert len(night.machines) == 1
    night.wait(601)
    jobs.stop("nightly", where)
    found = printed(capsys)
    assert found["result"] == "stopped"
    assert "stop was asked for by" in found["reason"]
    settled(night, 601)


def test_ssh_is_refused_on_the_sandbox_and_printed_for_the_cloud(
    night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing could be logged in to here; in the cloud it goes through Google's tunnel, to the machine that stands."""
    with pytest.raises(SpecError, match="nothing that could be logged in to"):
        jobs.ssh("nightly", where, host=0, run_it=False)
    cloud = jobs.Where("shop", where.folder, cloud=True, as_json=True)
    with pytest.raises(SpecError, match="no machine of it stands now"):
        jobs.ssh("nightly", cloud, host=0, run_it=False)
    night.kill_at, night.kill_after = 60, True
    with pytest.raises(KilledError):
        night.run()
    night.kill_at = None
    jobs.ssh("nightly", cloud, host=0, run_it=False)
    command = " ".join(printed(capsys)["command"])
    assert command == f"gcloud compute ssh shop-job-nightly --project {PROJECT} --zone us-east5-a --tunnel-through-iap"
    with pytest.raises(SpecError, match=r"1 is none of its hosts\n  allowed: 0 to 0"):
        jobs.ssh("nightly", cloud, host=1, run_it=False)


def test_a_run_that_never_begins_says_how_its_execution_ended(night: Night, where: jobs.Where, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image is not there: the execution fails, and no journal is written."""
    from infra.cli.reached import CloudError
    from infra.operate.jobs.desk import Desk

    monkeypatch.setattr(Desk, "execution_ended", lambda self, execution: "The image was not found")
    with pytest.raises(CloudError, match="ended before its run began: The image was not found"):
        jobs.run("nightly", where, asked())


def test_what_the_cloud_refuses_is_told_as_it_is(night: Night, where: jobs.Where) -> None:
    """Google's words, and the exit code of the cloud."""
    from infra.cli.reached import CloudError

    night.cloud.faults.add(Fault(do="error", path="run.googleapis.com", code=403, message="Permission 'run.jobs.list' denied"))
    with pytest.raises(CloudError, match=r"Permission 'run.jobs.list' denied"):
        jobs.list_(where)


def test_several_stacks_want_a_name(night: Night, where: jobs.Where, stack_file: Callable[..., Path], base: dict[str, Any]) -> None:
    """Which one is meant is not guessed."""
    stack_file(base, "other")
    with pytest.raises(SpecError, match=r"--stack: is missing: there are several stacks\n  allowed: other, shop"):
        jobs.list_(where)


def test_logs_are_the_runners_and_the_machines(night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of time; not those of another job, nor of before the run."""
    assert jobs.run("nightly", where, asked()) == 0
    capsys.readouterr()
    runner = Speaker(PROJECT, "run.googleapis.com/stdout", {"type": "cloud_run_job", "labels": {"job_name": TASK}}, {})
    other = replace(runner, resource={"type": "cloud_run_job", "labels": {"job_name": "another"}})
    host = Speaker(PROJECT, CONTAINER_LOG, {"type": "gce_instance", "labels": {}}, {}, {"name": "shop-job-nightly"})
    for speaker, line in ((host, "step 10"), (runner, '{"message": "it goes on"}'), (other, "no"), (host, "")):
        body = {"logName": f"projects/{PROJECT}/logs/{quote(speaker.log, safe='')}", "resource": speaker.resource}
        night.ask("POST", "logging.googleapis.com/v2/entries:write", body | {"entries": [speaker.entry(line)]})
        night.wait(1)
    jobs.logs("nightly", None, where, follow=False)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["who"], line["text"]) for line in lines] == [
        ("shop-job-nightly", "step 10"),
        (TASK, "it goes on"),
        ("shop-job-nightly", ""),
    ]


@pytest.mark.parametrize("night", ["custom-job"], indirect=True)
def test_what_runs_on_vertex_ai_is_read_by_its_number(night: Night, where: jobs.Where, capsys: pytest.CaptureFixture[str]) -> None:
    """Its lines are those of a custom job, which no name of ours is in; nobody logs in to it, and nobody chooses its zone."""
    with pytest.raises(SpecError, match="cannot be chosen: Vertex AI chooses one in us-east5"):
        jobs.run("nightly", where, asked(zones=["us-east5-b"]))
    night.work_minutes, night.kill_at, night.kill_after = 2, 40, True
    with pytest.raises(KilledError):
        night.run()
    night.kill_at = None
    cloud = jobs.Where("shop", where.folder, cloud=True, as_json=True)
    with pytest.raises(SpecError, match=r"nobody logs in to by SSH\n  fix: accelform jobs logs nightly"):
        jobs.ssh("nightly", cloud, host=0, run_it=False)
    night.wait(601)
    assert night.run().result == "succeeded"
    id = night.record()["tries"][0]["machine"].rpartition("/")[2]
    for number, line in ((id, "step 10"), ("1", "no")):
        speaker = Speaker(PROJECT, "workerpool0-0", {"type": "ml_job", "labels": {"job_id": number, "task_name": "workerpool0-0"}}, {})
        body = {"logName": f"projects/{PROJECT}/logs/workerpool0-0", "resource": speaker.resource, "entries": [speaker.entry(line)]}
        night.ask("POST", "logging.googleapis.com/v2/entries:write", body)
    capsys.readouterr()
    jobs.logs("nightly", None, where, follow=False)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["who"], line["text"]) for line in lines] == [("workerpool0-0", "step 10")]


@pytest.mark.parametrize("more", [{"zones": ["us-east5-b"]}, {"local": True}, {"follow": False}, {"data": ["a=b"]}, {"output": Path("x")}])
def test_a_night_here_takes_nothing_else(where: jobs.Where, more: dict[str, Any]) -> None:
    """It is the sandbox's, whole, and nothing is brought up before that is said."""
    with pytest.raises(SpecError, match="--here: goes with --ask and --stack alone"):
        jobs.run("nightly", where, asked(here=True, **more))


@pytest.mark.parametrize("text", ["", "{", "u1", "{'user': 1}", "[" * 100_000])
def test_what_is_asked_for_is_json(where: jobs.Where, text: str) -> None:
    with pytest.raises(SpecError, match=r"--ask: .* is no JSON"):
        jobs.run("nightly", where, asked(here=True, ask=[text]))
    with pytest.raises(SpecError, match="--ask: is for --here"):
        jobs.run("nightly", where, asked(ask=[text]))


def test_a_night_here_is_of_a_job_of_the_file(where: jobs.Where) -> None:
    with pytest.raises(SpecError, match=r"jobs.nightly: there is no such job in the stack file\n  allowed: the stack has no jobs"):
        jobs.run("nightly", where, asked(here=True))
