"""Cloud Run: jobs, executions that somebody else runs, and their tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox import executions
from infra.sandbox.cloud import Answer, Cloud

HOST = "run.googleapis.com"
ALL = "v2/projects/{project}/locations/asia-east1/jobs"
NIGHTLY = f"{ALL}/nightly"
IMAGE = "asia-east1-docker.pkg.dev/shop-prod/images/job:1"
RUNNER = "runner@shop-prod.iam.gserviceaccount.com"

Ask = Callable[..., Answer]
Done = Callable[[str, str, Answer], Answer]


def job(**task: Any) -> dict[str, Any]:
    return {"template": {"template": {"containers": [{"image": IMAGE}], **task}}}


@pytest.fixture
def made(ask: Ask, done: Done) -> Any:
    """The operation of a job's creation, done."""
    containers = [{"image": IMAGE, "command": ["python"], "args": ["-m", "x"], "env": [{"name": "A", "value": "1"}, {"name": "B"}]}]
    return done(HOST, "v2", ask("POST", HOST, ALL, job(containers=containers, maxRetries=1, timeout="3600s"), jobId="nightly")).body


def run(ask: Ask, **body: Any) -> Any:
    """The execution that a run begins."""
    answer = ask("POST", HOST, f"{NIGHTLY}:run", body)
    assert answer.status == 200, answer.body
    return answer.body["metadata"]


def move(cloud: Cloud, execution: Any, attempt: int, state: str, **more: Any) -> None:
    executions.moved(cloud, {"name": execution["name"], "attempt": attempt, "state": state, **more})


def completed(ask: Ask, execution: Any) -> Any:
    return ask("GET", HOST, f"v2/{execution['name']}").body["conditions"][-1]


def test_a_job_gets_its_defaults(ask: Ask, done: Done) -> None:
    done(HOST, "v2", ask("POST", HOST, ALL, job(), jobId="plain"))
    body = ask("GET", HOST, f"{ALL}/plain").body
    task = body["template"]["template"]
    assert (body["template"]["taskCount"], task["maxRetries"], task["timeout"]) == (1, 3, "600s")
    assert task["containers"] == [{"image": IMAGE, "resources": {"limits": {"cpu": "1000m", "memory": "512Mi"}}}]
    assert (body["launchStage"], body["generation"], body["terminalCondition"]["state"]) == ("GA", "1", "CONDITION_SUCCEEDED")
    assert body["creator"] == body["lastModifier"] == "you@sandbox.example"


@pytest.mark.parametrize(
    ("name", "body", "status", "part"),
    [
        ("nightly", job(), 409, "already exists"),
        ("Nightly", job(), 400, "Job name"),
        ("nightly-", job(), 400, "Job name"),
        ("n" * 64, job(), 400, "Job name"),
        ("a", {}, 400, "template"),
        ("a", {"template": {"template": {}}}, 400, "at least one container"),
        ("a", job(containers=[{"name": "x"}]), 400, "image"),
        ("a", job(timeout="0s"), 400, "timeout"),
        ("a", job(timeout="604801s"), 400, "timeout"),
        ("a", job(timeout="an hour"), 400, "timeout"),
        ("a", job(maxRetries=11), 400, "max_retries"),
        ("a", job(maxRetries=-1), 400, "max_retries"),
        ("a", {"template": {"taskCount": 10_001, **job()["template"]}}, 400, "task_count"),
        ("a", job(containers=[{"image": IMAGE, "env": [{"name": "CLOUD_RUN_JOB", "value": "x"}]}]), 400, "CLOUD_RUN_JOB"),
        ("a", job(containers=[{"image": IMAGE, "env": [{"value": "x"}]}]), 400, "needs a name"),
        ("a", job(serviceAccount=RUNNER), 403, "iam.serviceaccounts.actAs"),
    ],
)
def test_fails_to_make(ask: Ask, made: Any, name: str, body: Any, status: int, part: str) -> None:
    """What Cloud Run refuses; only to validate refuses the same, but for a name that is taken."""
    answer = ask("POST", HOST, ALL, body, jobId=name)
    assert (answer.status, part in answer.body["error"]["message"]) == (status, True), answer.body
    if status != 409:
        assert ask("POST", HOST, ALL, body, jobId=name, validateOnly="true").status == status


def test_what_is_only_validated_does_not_stand(ask: Ask, made: Any) -> None:
    answer = ask("POST", HOST, ALL, job(), jobId="other", validateOnly="true").body
    assert (answer["done"], answer["response"]["template"]["taskCount"]) == (True, 1)
    assert ask("PATCH", HOST, NIGHTLY, job(timeout="60s"), validateOnly="true").body["response"]["template"]["template"]["timeout"] == "60s"
    assert ask("DELETE", HOST, NIGHTLY, validateOnly="true").body["done"]
    assert ask("POST", HOST, f"{NIGHTLY}:run", {"validateOnly": True}).body["done"]
    assert [one["name"].rpartition("/")[2] for one in ask("GET", HOST, ALL).body["jobs"]] == ["nightly"]
    assert ask("GET", HOST, NIGHTLY).body["template"]["template"]["timeout"] == "3600s"
    assert ask("GET", HOST, f"{NIGHTLY}/executions").body == {}


def test_a_change_is_the_whole_job(ask: Ask, done: Done, made: Any) -> None:
    """There is no mask: what is not sent is as in a new job; what the server says stays."""
    before = ask("GET", HOST, NIGHTLY).body
    after = done(HOST, "v2", ask("PATCH", HOST, NIGHTLY, job(timeout="60s"))).body["response"]
    assert (after["generation"], after["uid"], after["createTime"]) == ("2", before["uid"], before["createTime"])
    task = after["template"]["template"]
    assert (task["maxRetries"], task["timeout"], "env" in task["containers"][0]) == (3, "60s", False)
    assert ask("PATCH", HOST, NIGHTLY, {**job(), "etag": before["etag"]}).status == 409
    assert ask("PATCH", HOST, f"{ALL}/no", job()).body["error"]["message"].endswith('jobs/no" not found')
    assert ask("PATCH", HOST, f"{ALL}/other", job(), allowMissing="true").status == 200


def test_an_execution_is_pending_until_somebody_runs_it(cloud: Cloud, ask: Ask, made: Any) -> None:
    """The clock may pass: nothing runs by itself."""
    execution = run(ask)
    cloud.clock.advance(10 * 86400)
    cloud.catch_up()
    assert completed(ask, execution)["state"] == "CONDITION_PENDING"
    assert executions.waiting(cloud) == [
        {
            "name": execution["name"],
            "task": 0,
            "attempt": 0,
            "state": "pending",
            "created": execution["createTime"],
            "image": IMAGE,
            "command": ["python"],
            "args": ["-m", "x"],
            "working_dir": "",
            "env": {
                "A": "1",
                "B": "",
                "CLOUD_RUN_JOB": "nightly",
                "CLOUD_RUN_EXECUTION": execution["name"].rpartition("/")[2],
                "CLOUD_RUN_TASK_INDEX": "0",
                "CLOUD_RUN_TASK_ATTEMPT": "0",
                "CLOUD_RUN_TASK_COUNT": "1",
            },
            "secret_env": {},
            "service_account": f"{cloud.projects.number('shop-prod')}-compute@developer.gserviceaccount.com",
            "max_retries": 1,
            "timeout_seconds": 3600.0,
        }
    ]
    assert ask("GET", HOST, NIGHTLY).body["latestCreatedExecution"]["completionStatus"] == "EXECUTION_PENDING"


def test_an_execution_that_succeeds(cloud: Cloud, ask: Ask, made: Any) -> None:
    """The operation of the run is done when the execution is, and a poll does not move the clock."""
    answer = ask("POST", HOST, f"{NIGHTLY}:run", {}).body
    execution, now = answer["metadata"], cloud.clock.now()
    cloud.clock.advance(60)
    move(cloud, execution, 0, "running")
    running = ask("GET", HOST, f"v2/{execution['name']}").body
    assert (running["runningCount"], running["reconciling"], "completionTime" in running) == (1, True, False)
    assert running["conditions"][-1]["state"] == "CONDITION_RECONCILING"
    assert "done" not in ask("GET", HOST, f"v2/{answer['name']}").body
    cloud.clock.advance(600)
    move(cloud, execution, 0, "succeeded")
    ended = ask("GET", HOST, f"v2/{answer['name']}").body["response"]
    assert (ended["succeededCount"], ended["startTime"][11:19], ended["completionTime"][11:19]) == (1, "12:01:05", "12:11:05")
    assert [one["state"] for one in ended["conditions"]] == ["CONDITION_SUCCEEDED"] * 3
    assert ("runningCount" in ended, "failedCount" in ended) == (False, False)
    task = ask("GET", HOST, f"v2/{execution['name']}/tasks").body["tasks"][0]
    assert (task["lastAttemptResult"], task["completionTime"]) == ({"status": {}}, ended["completionTime"])
    assert not [key for key in task if key.startswith("_")]
    assert executions.waiting(cloud) == []
    assert cloud.clock.now() - now == 660
    latest = ask("GET", HOST, NIGHTLY).body
    assert (latest["executionCount"], latest["latestCreatedExecution"]["completionStatus"]) == (1, "EXECUTION_SUCCEEDED")


def test_a_failed_attempt_is_begun_again(cloud: Cloud, ask: Ask, made: Any) -> None:
    """With the next number, while the retries last; then the execution has failed."""
    execution = run(ask)
    move(cloud, execution, 0, "running")
    move(cloud, execution, 0, "failed", exit_code=143)
    (again,) = executions.waiting(cloud)
    assert (again["attempt"], again["state"], again["env"]["CLOUD_RUN_TASK_ATTEMPT"]) == (1, "pending", "1")
    with pytest.raises(ValueError, match="pending in attempt 1; not running in attempt 0"):
        move(cloud, execution, 0, "succeeded")
    move(cloud, execution, 1, "running")
    move(cloud, execution, 1, "failed", exit_code=7, message="no data")
    ended = ask("GET", HOST, f"v2/{execution['name']}").body
    assert (ended["failedCount"], ended["retriedCount"], executions.waiting(cloud)) == (1, 1, [])
    name = execution["name"].rpartition("/")[2]
    assert ended["conditions"][-1]["executionReason"] == "NON_ZERO_EXIT_CODE"
    assert ended["conditions"][-1]["message"] == f"Task {name}-task0 failed with exit code: 7 and message: no data"
    assert ask("GET", HOST, NIGHTLY).body["latestCreatedExecution"]["completionStatus"] == "EXECUTION_FAILED"


def test_a_task_that_runs_too_long_has_failed(cloud: Cloud, ask: Ask, made: Any) -> None:
    """The timeout is one of each attempt, from when it began; at its own moment, whenever somebody looks."""
    execution = run(ask, overrides={"timeout": "120s"})
    move(cloud, execution, 0, "running")
    cloud.clock.advance(119)
    cloud.catch_up()
    assert executions.waiting(cloud)[0]["attempt"] == 0
    cloud.clock.advance(3600)
    cloud.catch_up()
    assert executions.waiting(cloud)[0]["attempt"] == 1
    move(cloud, execution, 1, "running")
    began = cloud.clock.now()
    cloud.clock.advance(86400)
    ended = ask("GET", HOST, f"v2/{execution['name']}").body
    assert ended["conditions"][-1]["message"].endswith("-task0 failed with message: The configured timeout was reached.")
    assert (ended["completionTime"][11:19], began % 3600) == ("13:04:04", 5 + 119)


def test_overrides_are_of_one_execution(cloud: Cloud, ask: Ask, made: Any) -> None:
    container = {"args": ["-m", "y"], "env": [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]}
    run(ask, overrides={"containerOverrides": [container], "taskCount": 3})
    first = executions.waiting(cloud)
    assert [one["task"] for one in first] == [0, 1, 2]
    assert (first[2]["args"], {key: first[2]["env"][key] for key in "ABC"}) == (["-m", "y"], {"A": "1", "B": "2", "C": "3"})
    run(ask, overrides={"containerOverrides": [{"clearArgs": True}]})
    assert executions.waiting(cloud)[3]["args"] == []
    run(ask)
    assert executions.waiting(cloud)[4]["args"] == ["-m", "x"]
    for wrong in (
        {"taskCount": -1},
        {"timeout": "700000s"},
        {"containerOverrides": [{"name": "no"}]},
        {"containerOverrides": [{"env": [{"name": "CLOUD_RUN_JOB"}]}]},
    ):
        assert ask("POST", HOST, f"{NIGHTLY}:run", {"overrides": wrong}).status == 400


def test_as_many_tasks_as_run_side_by_side(cloud: Cloud, ask: Ask, done: Done) -> None:
    """An execution is over when all its tasks are, and failed if one of them is."""
    done(
        HOST,
        "v2",
        ask("POST", HOST, ALL, {"template": {"taskCount": 3, "parallelism": 2, **job(maxRetries=0)["template"]}}, jobId="nightly"),
    )
    execution = run(ask)
    assert [one["task"] for one in executions.waiting(cloud)] == [0, 1]
    move(cloud, execution, 0, "succeeded")
    move(cloud, execution, 0, "failed", task=1)
    assert [one["task"] for one in executions.waiting(cloud)] == [2]
    move(cloud, execution, 0, "succeeded", task=2)
    ended = ask("GET", HOST, f"v2/{execution['name']}").body
    assert (ended["succeededCount"], ended["failedCount"], ended["conditions"][-1]["state"]) == (2, 1, "CONDITION_FAILED")


def test_a_cancelled_execution_is_over(cloud: Cloud, ask: Ask, done: Done, made: Any) -> None:
    execution = run(ask)
    move(cloud, execution, 0, "running")
    ended = done(HOST, "v2", ask("POST", HOST, f"v2/{execution['name']}:cancel", {})).body["response"]
    assert (ended["cancelledCount"], ended["conditions"][-1]["executionReason"]) == (1, "CANCELLED")
    cloud.clock.advance(86400)
    assert ask("GET", HOST, f"v2/{execution['name']}").body["completionTime"] == ended["completionTime"]
    assert ask("POST", HOST, f"v2/{execution['name']}:cancel", {}).body["error"]["status"] == "FAILED_PRECONDITION"


def test_gone_with_all_that_is_inside(cloud: Cloud, ask: Ask, done: Done, made: Any) -> None:
    """The operation answers what it deleted; no timer is left."""
    execution, other = run(ask), run(ask)
    move(cloud, execution, 0, "running")
    assert done(HOST, "v2", ask("DELETE", HOST, f"v2/{execution['name']}")).body["response"]["name"] == execution["name"]
    assert ask("GET", HOST, f"v2/{execution['name']}").status == 404
    move(cloud, other, 0, "running")
    deleted = done(HOST, "v2", ask("DELETE", HOST, NIGHTLY)).body["response"]
    assert deleted["@type"] == "type.googleapis.com/google.cloud.run.v2.Job"
    cloud.clock.advance(86400)
    assert ask("GET", HOST, f"{NIGHTLY}/executions").body == {}
    assert executions.waiting(cloud) == []


def test_who_may_run_it(ask: Ask, made: Any) -> None:
    bindings = [{"role": "roles/run.invoker", "members": ["user:a@shop.example"]}]
    assert ask("POST", HOST, f"{NIGHTLY}:setIamPolicy", {"policy": {"bindings": bindings}}).status == 200
    assert ask("GET", HOST, f"{NIGHTLY}:getIamPolicy").body["bindings"] == bindings


def test_services_of_cloud_run_are_not_here(ask: Ask) -> None:
    """Better no answer than one that no service gives."""
    assert ask("GET", HOST, "v2/projects/{project}/locations/asia-east1/services").status == 501


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        ("x", "an attempt has name"),
        ({}, "an attempt has name"),
        ({"name": "", "attempt": 0, "state": "running", "more": 1}, "an attempt has name"),
        ({"name": "", "attempt": 0, "state": "done"}, "state: 'done' is not one of running, succeeded, failed"),
        ({"name": "", "attempt": "0", "state": "running"}, "attempt: '0' is no whole number"),
        ({"name": "", "attempt": True, "state": "running"}, "attempt: True is no whole number"),
        ({"name": "", "attempt": 0, "state": "failed", "exit_code": 0}, "exit_code: 0 is not how failed ends"),
        ({"name": "", "attempt": 0, "state": "succeeded", "exit_code": 1}, "exit_code: 1 is not how succeeded ends"),
        ({"name": "", "attempt": 0, "state": "failed", "message": 1}, "message: 1 is no text"),
        ({"name": "no", "attempt": 0, "state": "running"}, "there is no task 0 of an execution 'no'"),
        ({"name": None, "attempt": 0, "state": "running"}, "there is no task 0"),
    ],
)
def test_what_is_no_word_about_an_attempt(cloud: Cloud, sent: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        executions.moved(cloud, sent)
