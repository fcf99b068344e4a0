"""A job's night on this machine: what it brings along, and what it measures. The night itself is in tests/engine/test_night.py."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.cli import here
from infra.cli.here import Here
from infra.cli.progress import Progress
from infra.errors import MachineError, SpecError
from infra.local.attach.lines import Speaker
from infra.operate.jobs.desk import Desk, Job
from infra.sandbox.clock import rfc3339
from infra.stack import StackSpec
from tests.operate.jobs.night import BASE, BUCKET, PROJECT, REGION, Night

FOLDERS = {"clicks": "clicks/", "pictures": "pictures/"}


class Handler(BaseHTTPRequestHandler):
    """A server that fails at every tenth request."""

    asked: list[Any] = []

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"][0])
        self.send_response(500 if len(self.asked) % 10 == 0 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/predict"
        server.shutdown()
        thread.join()


def test_a_server_is_measured_by_real_requests(url: str) -> None:
    """Every answer counts, those that are errors too; the instances take turns."""
    Handler.asked = []
    times, errors = here.measured(url, [1, 2])
    assert (len(times), errors) == (here.REQUESTS, here.REQUESTS // 10)
    assert times == sorted(times)
    assert times[0] > 0
    assert Handler.asked[:4] == [1, 2, 1, 2]


def test_a_server_that_is_gone_answers_nothing() -> None:
    assert here.measured("http://127.0.0.1:1/predict", [1])[1] == here.REQUESTS


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that were to be run; each ends well."""
    found: list[list[str]] = []

    def run(command: list[str], **more: Any) -> Any:
        found.append(command)
        return SimpleNamespace(returncode=0, stderr="made up")

    monkeypatch.setattr(subprocess, "run", run)
    return found


def filled(night: Night, args: list[str] | None = None, data: dict[str, str] | None = None, workload: str = "train_recommender") -> None:
    job = SimpleNamespace(args=args or [], data=FOLDERS if data is None else data)
    spec = cast(StackSpec, SimpleNamespace(jobs={"nightly": job}))
    google = night.google()
    plan = night.plan.model_copy(update={"workload": workload})
    one = Here(google, Desk(google, PROJECT, REGION, "shop"), Job(plan, "task"), BASE, [], Progress(quiet=True))
    one.fill(spec, BUCKET)


def put(night: Night, name: str) -> None:
    night.ask("POST", f"storage.googleapis.com/upload/storage/v1/b/{BUCKET}/o", {"a": 1}, uploadType="media", name=name)


def test_data_is_made_up_where_there_is_none(ran: list[list[str]]) -> None:
    """By the program's own module, into the folders that the stack file names."""
    filled(Night())
    assert [command[3:] for command in ran] == [["workloads.recommender.data", f"gs://{BUCKET}/clicks", f"gs://{BUCKET}/pictures"]]


@pytest.mark.parametrize("more", [{"args": ["--example"]}, {"data": {}}])
def test_a_job_that_reads_no_folder_gets_none(ran: list[list[str]], more: dict[str, Any]) -> None:
    filled(Night(), **more)
    assert ran == []


def test_data_of_a_shop_is_left_alone(ran: list[list[str]]) -> None:
    """One folder with something is somebody's; a name that only begins like the folder's is another."""
    night = Night()
    put(night, "clickstream/a.csv")
    filled(night)
    assert len(ran) == 1
    put(night, "clicks/a.csv")
    filled(night)
    assert len(ran) == 1


def test_data_that_nobody_can_make_up_is_asked_for(ran: list[list[str]]) -> None:
    with pytest.raises(SpecError, match=r"jobs.nightly.data: gs://.*/pictures: nothing is in there\n  fix: put the data there"):
        filled(Night(), data={"pictures": "pictures"}, workload="embed_images")
    with pytest.raises(SpecError, match="nothing is in there"):
        filled(Night(), data={"clicks": "clicks"})
    assert ran == []


def test_data_that_could_not_be_made_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *words, **more: SimpleNamespace(returncode=2, stderr="no room"))
    with pytest.raises(MachineError, match=r"ended with 2\n  no room"):
        filled(Night())


def test_of_a_rollouts_readings_the_last_one_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """There is one a minute, for hours. Text of a runner that is no event, and the host's lines, are all told; the sweep's are not."""
    night = Night()
    google = night.google()
    one = Here(google, Desk(google, PROJECT, REGION, "shop"), Job(night.plan, "a/jobs/shop-job-nightly"), BASE, [], Progress())
    runner = Speaker(PROJECT, "log", {}, {"job": "shop-job-nightly"})
    sweep = Speaker(PROJECT, "log", {}, {"job": "shop-sweep"})
    host = Speaker(PROJECT, "log", {}, {}, {"name": "vm"})
    for speaker, event, text in (
        (host, "", "step 10"),
        (runner, "reading", "10 %: one"),
        (runner, "reading", "10 %: two"),
        (sweep, "step", "nothing"),
        (runner, "step", "50 %"),
        (runner, "", "a warning"),
    ):
        one._heard(speaker, json.dumps({"at": "now", "event": event, "message": text}) if event else text)
    assert capsys.readouterr().err.splitlines() == ["  step 10", "now  10 %: two", "now  50 %", "a warning"]


def test_what_the_runner_waits_for_is_moved_to(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own events alone tell of it: a reading says until when a step holds. The host's and the sweep's lines do not."""
    night = Night()
    google, moved = night.google(), list[float]()

    def own(self: Here, http: str, what: str, body: Any = None) -> Any:
        moved.append(body["seconds"])
        night.wait(body["seconds"])
        return {"time": rfc3339(night.now())}

    monkeypatch.setattr(Here, "_own", own)
    one = Here(google, Desk(google, PROJECT, REGION, "shop"), Job(night.plan, "a/jobs/shop-job-nightly"), BASE, [], Progress())
    said = json.dumps({"at": "now", "event": "reading", "message": "10 %", "until": night.now() + 3600})
    for speaker in (Speaker(PROJECT, "log", {}, {}, {"name": "vm"}), Speaker(PROJECT, "log", {}, {"job": "shop-sweep"})):
        one._heard(speaker, said)
        one._moments.step()
    assert moved == []
    one._heard(Speaker(PROJECT, "log", {}, {"job": "shop-job-nightly"}), said)
    one._moments.step()
    assert moved == [0, pytest.approx(3600)]
    assert "moved to" in capsys.readouterr().err
