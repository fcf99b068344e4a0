"""A rollout and the programs around it, by the real engine: what it holds stays, what is released is undone, and at its end all agree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx
import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.job_plan import VARIABLE, JobPlan
from infra.operate import guards, reach
from infra.operate.jobs.handover import HandOver
from infra.operate.rollout import Plan, Rollout
from infra.operate.times import SandboxTime
from infra.provider.google import Google, Settings
from infra.stack import StackSpec
from tests.engine.region import STACK, Region

PLACE = "projects/tw-shop-ml/locations/us-east5"
RUN = "20261201T180000Z"
OPTIONS = ("--stack", STACK, "--non-interactive")
STEPS = {"traffic_percent": [10, 100], "hold_minutes": 10, "guards": {"p95_ms": 80, "error_rate": 0.01}}


class StoppedError(Exception):
    """The process that rolls out has ended."""


class Ends:
    """A clock that ends the process at the first wait."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now

    def wait(self, seconds: float) -> None:
        raise StoppedError


class Vertex:
    """The sandbox's models and the endpoint."""

    def __init__(self, here: Region, endpoint: str) -> None:
        self.base = here.accelform("sandbox", "status", "--json").json["base"]
        self._endpoint = endpoint

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = httpx.request(method, f"{self.base}/{path}", json=body, trust_env=False)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def upload(self, alias: str, **where: str) -> None:
        model = {"displayName": "recommender", "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/i"}, "versionAliases": [alias]}
        begun = self.ask("POST", f"aiplatform.googleapis.com/v1/{PLACE}/models:upload", {"model": model, **where})
        for _ in range(2):  # the first look moves the clock to its end
            self.ask("GET", f"aiplatform.googleapis.com/v1/{begun['name']}")

    @property
    def shares(self) -> dict[str, int]:
        """Percent by version; what is deployed without any has 0."""
        found = self.ask("GET", f"aiplatform.googleapis.com/v1/{self._endpoint}")
        return {one["modelVersionId"]: found["trafficSplit"].get(one["id"], 0) for one in found["deployedModels"]}


def served(**more: Any) -> dict[str, Any]:
    model = f"{PLACE}/models/recommender@champion"
    return {"recommend": {"callers": [], "model": model, "machine_type": "n1-standard-2", "rollout": STEPS, **more}}


def test_what_a_rollout_holds_is_not_undone(base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """At 10 %: plain pulumi and our own up keep the split, also where they change something; `--release` ends it. At the end nothing differs."""
    here = region(base | {"accelform:endpoints": served()})
    here.shell()  # brings the sandbox up, which takes the versions before the endpoint is there
    spec = StackSpec.load(here.folder / "stacks" / f"Pulumi.{STACK}.yaml")
    place = reach.place(spec, STACK, "recommend")
    vertex = Vertex(here, place.endpoint)
    vertex.upload("champion", modelId="recommender")
    vertex.upload("candidate", parentModel=f"{PLACE}/models/recommender")
    up = here.accelform("up", "--json")
    assert up.code == 0, up.out + up.err
    assert vertex.shares == {"1": 100}

    google, time = reach.google(spec.project, vertex.base)
    with closing(google), pytest.raises(StoppedError):
        Rollout(google, place, Ends(time.now), lambda event: None).start(Plan("candidate", (10, 100), 600, guards.parse(["p95_ms<80"])))
    at_ten = {"1": 90, "2": 10}
    assert vertex.shares == at_ten
    held = here.accelform("holds", STACK, "--json").json["holds"]
    assert [(one["who"], one["fields"], one["counts"]) for one in held] == [("rollout", ["model", "traffic"], True)]

    here.write(base | {"accelform:endpoints": served(max_replicas=2)})
    plain = here.pulumi("up", "--yes", "--skip-preview", "--refresh", *OPTIONS)
    assert plain.code == 0, plain.out + plain.err
    assert "kept as it is: model, traffic of endpoints/" in plain.out
    assert vertex.shares == at_ten
    here.write(base | {"accelform:endpoints": served(max_replicas=3)})
    assert here.accelform("up", "--json").changes["update"] == 1
    assert vertex.shares == at_ten

    released = here.accelform("up", "--release", "recommend", "--json")
    assert released.code == 0, released.out + released.err
    assert vertex.shares == {"1": 100}
    stopped = here.accelform("rollout", STACK, "recommend", "--resume", "--json")
    assert stopped.code == 3, stopped.out + stopped.err
    assert "version 2 is not deployed any more" in stopped.out

    good = {"default": {"p50_ms": 20, "p95_ms": 50}}
    vertex.ask("POST", "sandbox/loads", {"endpoint": place.endpoint, "requests_per_second": 5, "models": good})
    done = here.accelform("rollout", STACK, "recommend", "--yes")
    assert done.code == 0, done.out + done.err
    assert "done: version 2 serves alone, and the hold is ended" in done.err
    assert vertex.shares == {"2": 100}
    assert here.accelform("holds", STACK).out.strip() == f"{STACK}: nothing is held"
    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", *OPTIONS)
    assert refreshed.code == 0, refreshed.out + refreshed.err
    assert set(here.accelform("up", "--json").changes) == {"same"}
    assert vertex.shares == {"2": 100}

    gone = here.accelform("down", "--json")
    models = {one.partition("/models/")[2].partition("/")[0] for one in gone.json["left"]}
    assert models == {"recommender"}, gone.out + gone.err  # what this test uploaded itself


@pytest.mark.soak
def test_what_a_job_brings_is_adopted(base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """
    Before the first version nothing serves and nothing fails; the hand-over deploys it, and then nobody has anything to do. A schedule is
    paused by an update. With the machine of a killed runner, a plain destroy stops and names it; our own takes all away.
    """
    images = {
        name: f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/{name}@sha256:{64 * str(digit)}"
        for digit, name in enumerate(("runner", "train", "serve"))
    }
    job = {"workload": "train_recommender", "accelerator_type": "v6e-4", "zones": ["us-east5-a"], "provisioning": ["spot"]}
    job["data"] = {"clicks": "clicks/", "pictures": "pictures/"}
    base["accelform:images"] = images
    base["accelform:jobs"] = {"train": job | {"max_run_minutes": 60, "registers": "recommender"}}
    base["accelform:models"] = {"recommender": {"workload": "serve_recommender", "accept_if": "recall_at_50 >= 0.98 * champion"}}
    base["accelform:endpoints"] = {"recommend": {"callers": [], "model": "recommender", "machine_type": "n1-standard-2"}}
    here = region(base)
    up = here.accelform("up", "--json")
    assert up.code == 0, up.out + up.err
    with closing(Google(Settings(here.base), lambda seconds: False)) as google:
        runners = google.pages("run.v2", "projects.locations.jobs.list", "jobs", parent=PLACE)
        said = [one for made in runners for one in made["template"]["template"]["containers"][0]["env"]]
        (text,) = [one["value"] for one in said if one["name"] == VARIABLE]
        plan = JobPlan.model_validate_json(text)
        bucket, _, folder = f"{plan.output}/{RUN}".removeprefix("gs://").partition("/")
        report = MediaInMemoryUpload(b'{"metrics": {"recall_at_50": 0.4}}', mimetype="application/json")
        google.call("storage.v1", "objects.insert", bucket=bucket, name=f"{folder}/report.json", media_body=report)
        hand_over, kept = HandOver(google, plan, SandboxTime(google, here.base), lambda event: None), {}
        while (more := hand_over.advance(RUN, kept)) is not None:
            kept = more
        assert kept["outcome"] == "promoted", kept
        assert Vertex(here, plan.registers.rollouts[0].endpoint).shares == {"1": 100}  # type: ignore[union-attr]

    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", *OPTIONS)
    assert refreshed.code == 0, refreshed.out + refreshed.err
    preview = here.pulumi("preview", "--expect-no-changes", *OPTIONS)
    assert preview.code == 0, preview.out + preview.err
    base["accelform:jobs"]["train"] |= {"schedule": "0 2 * * *", "timezone": "Asia/Taipei"}
    here.write(base)
    assert here.accelform("up", "--json").code == 0
    base["accelform:jobs"]["train"]["paused"] = True
    here.write(base)
    assert here.accelform("up", "--json").changes["update"] == 1

    with closing(Google(Settings(here.base), lambda seconds: False)) as google:  # a runner was killed: its machine stands, and its journal
        template = plan.machines[0].template
        where = {"project": plan.project, "zone": plan.zones[0], "sourceInstanceTemplate": template}
        labels = google.call("compute.v1", "instanceTemplates.get", project=plan.project, instanceTemplate=template.rpartition("/")[2])
        body = {"name": plan.machine_name, "labels": labels["properties"]["labels"] | {"accelform-run": RUN.lower()}}
        google.call("compute.v1", "instances.insert", **where, body=body)
        journal = MediaInMemoryUpload(b'{"version": 1, "phase": "running"}', mimetype="application/json")
        name = f"{plan.state}/job.json".partition(f"{bucket}/")[2]
        google.call("storage.v1", "objects.insert", bucket=bucket, name=name, media_body=journal)
    stands = here.pulumi("destroy", "--yes", "--skip-preview", *OPTIONS)
    assert stands.code != 0
    assert f"/instances/{plan.machine_name}" in stands.out + stands.err, stands.out
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
