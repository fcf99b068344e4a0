"""Custom jobs of Vertex AI in the sandbox: states on the clock, what goes wrong on request, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud
from infra.sandbox.faults import Fault
from infra.sandbox.services.aiplatform import custom_jobs

Ask = Callable[..., Answer]
HOST = "us-central1-aiplatform.googleapis.com"
AT = "v1/projects/{project}/locations/us-central1/customJobs"
L4 = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
V5E = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}


def wanted(machine: dict[str, Any] = L4, **scheduling: Any) -> dict[str, Any]:
    pool = {"machineSpec": machine, "replicaCount": "1", "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/i"}}
    return {"displayName": "nightly", "labels": {"run": "one"}, "jobSpec": {"workerPoolSpecs": [pool], "scheduling": scheduling}}


@pytest.fixture
def job(cloud: Cloud, ask: Ask) -> Callable[..., Callable[[], dict[str, Any]]]:
    """Makes a custom job; what comes back looks at it."""

    def make(machine: dict[str, Any] = L4, **scheduling: Any) -> Callable[[], dict[str, Any]]:
        made = ask("POST", HOST, AT, wanted(machine, **scheduling))
        assert made.status == 200, made.body
        return lambda: dict(ask("GET", HOST, f"v1/{made.body['name']}").body)

    return make


def test_it_comes_runs_and_ends_as_its_container_does(cloud: Cloud, job: Any) -> None:
    """The answer to the create is the job itself, and no operation: it is PENDING, then RUNNING since `startTime`."""
    look = job()
    assert look()["state"] == "JOB_STATE_PENDING"
    cloud.clock.advance(custom_jobs.COMES_SECONDS)
    began = look()
    assert (began["state"], began["startTime"]) == ("JOB_STATE_RUNNING", "2026-11-30T12:03:50.000000Z")
    cloud.clock.advance(100)
    custom_jobs.ended(cloud, {"name": cloud.projects.by_id(began["name"]), "exit_code": 143})
    over = look()
    assert (over["state"], over["error"]["code"]) == ("JOB_STATE_FAILED", 3)
    assert over["error"]["message"].startswith("The replica workerpool0-0 exited with a non-zero status of 143.")
    (entry,) = cloud.machines.shown()
    # 100 s of a g2-standard-4: 0.70683228 USD at Compute Engine, and 1.204865 of it on Vertex AI
    assert (entry["billed_seconds"], entry["usd_hour"], entry["usd"]) == (100, "0.8516374991395", "0.023657")


def test_a_tpu_has_no_price_and_none_is_guessed(cloud: Cloud, job: Any) -> None:
    """No source has one of a TPU on Vertex AI."""
    job(V5E)
    cloud.clock.advance(300)
    cloud.catch_up()
    assert [one["usd"] for one in cloud.machines.shown()] == ["unknown"]


def test_its_timeout_ends_it(cloud: Cloud, job: Any) -> None:
    """It is cancelled, as users tell."""
    look = job(timeout="600s")
    cloud.clock.advance(custom_jobs.COMES_SECONDS + 599)
    assert look()["state"] == "JOB_STATE_RUNNING"
    cloud.clock.advance(1)
    assert (look()["state"], look()["error"]["code"]) == ("JOB_STATE_CANCELLED", 1)


def test_it_is_cancelled_and_then_deleted(cloud: Cloud, job: Any, ask: Ask) -> None:
    """A cancel begins only, and answers nothing; what is over is not cancelled again."""
    look = job()
    name = look()["name"]
    assert ask("DELETE", HOST, f"v1/{name}").status == 400
    assert ask("POST", HOST, f"v1/{name}:cancel", {}).body == {}
    assert look()["state"] == "JOB_STATE_CANCELLING"
    cloud.clock.advance(custom_jobs.CANCEL_SECONDS)
    assert look()["state"] == "JOB_STATE_CANCELLED"
    assert ask("POST", HOST, f"v1/{name}:cancel", {}).status == 400
    assert ask("DELETE", HOST, f"v1/{name}").status == 200
    assert ask("GET", HOST, f"v1/{name}").status == 404
    assert cloud.machines.shown() == []


def test_lists_are_read_by_label(job: Any, ask: Ask) -> None:
    """An id is the server's: who made one finds it by a label."""
    job()
    for value, count in (("one", 1), ("two", 0)):
        assert len(ask("GET", HOST, AT, filter=f"labels.run={value}").body.get("customJobs", [])) == count


def test_a_region_without_room_fails_the_job_later_and_no_quota_refuses_it(cloud: Cloud, job: Any, ask: Ask) -> None:
    """A stock-out is known only once the machine is sought."""
    cloud.faults.add(Fault(do="stockout", zone="us-central1", times=1))
    look = job()
    cloud.clock.advance(custom_jobs.COMES_SECONDS)
    assert look()["state"] == "JOB_STATE_FAILED"
    assert "startTime" not in look()
    assert look()["error"]["message"].startswith("Resources are insufficient in region: us-central1.")
    cloud.faults.add(Fault(do="quota", provisioning="spot"))
    refused = ask("POST", HOST, AT, wanted(strategy="SPOT"))
    assert (refused.status, refused.body["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert refused.body["error"]["message"].endswith("aiplatform.googleapis.com/custom_model_training_preemptible_nvidia_l4_gpus")


def test_flex_start_waits_for_room_as_long_as_it_was_told(cloud: Cloud, job: Any) -> None:
    """The first job gets its machine at the third look, the second none in time."""
    cloud.faults.add(Fault(do="stockout", times=3))
    look = job(strategy="FLEX_START", maxWaitDuration="3600s")
    cloud.clock.advance(1000)
    assert look()["state"] == "JOB_STATE_RUNNING"
    cloud.faults.add(Fault(do="stockout"))
    late = job(strategy="FLEX_START", maxWaitDuration="600s")
    cloud.clock.advance(599)
    assert late()["state"] == "JOB_STATE_PENDING"
    cloud.clock.advance(300)
    assert late()["state"] == "JOB_STATE_FAILED"


@pytest.mark.parametrize(("retries", "state"), [(False, "JOB_STATE_PENDING"), (True, "JOB_STATE_FAILED")])
def test_a_spot_machine_that_is_taken_away_is_sought_anew_or_not(cloud: Cloud, job: Any, *, retries: bool, state: str) -> None:
    """As `disableRetries` has it."""
    look = job(strategy="SPOT", disableRetries=retries)
    cloud.clock.advance(300)
    assert look()["state"] == "JOB_STATE_RUNNING"
    cloud.faults.add(Fault(do="preempt", path="customJobs/", times=1))
    cloud.catch_up()
    assert look()["state"] == state


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ({"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}, "no such accelerator"),
        (L4 | {"acceleratorCount": 2}, "no such count"),
        ({"machineType": "tpu7x-standard-4t", "acceleratorType": "NVIDIA_L4"}, "no such accelerator"),
        ({}, "machine_spec.machine_type; Message: Required"),
    ],
)
def test_fails_what_vertex_ai_does_not_train_on(ask: Ask, machine: dict[str, Any], said: str) -> None:
    """What the catalogue knows to be impossible is refused."""
    refused = ask("POST", HOST, AT, wanted(machine))
    assert refused.status == 400
    assert said in refused.body["error"]["message"]


@pytest.mark.parametrize("sent", [{}, {"name": "x", "exit_code": "0"}, {"name": "x", "exit_code": 256}, {"name": "x", "exit_code": 0}, []])
def test_fails_an_end_that_is_none(cloud: Cloud, sent: Any) -> None:
    """It is refused in words."""
    with pytest.raises(ValueError, match=r"end|exit_code|name"):
        custom_jobs.ended(cloud, sent)
