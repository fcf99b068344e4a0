"""
Executions of jobs, and their tasks. Nothing runs by itself: a task is pending until somebody attached says that it began, and how it ended.

A task that fails is begun again, with the next number of its attempt, while `maxRetries` last; one that runs longer than its `timeout` has
failed. An execution is over when all its tasks are. Source: the fields in the discovery document; Cloud Run's pages "Set maximum retries
for jobs" and "Set task timeout for jobs", 2026; conditions and their words: answers of the API quoted in public repositories, 2025 to 2026.
"""

from __future__ import annotations

import copy
import string
from typing import TYPE_CHECKING, Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import CODE, Refused, invalid
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.run import jobs
from infra.sandbox.services.run.operations import only_checked, start_run
from infra.sandbox.services.run.parts import HOST, check_env, check_tasks, check_timeout, seconds, short, shown

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

RESOURCE = f"{jobs.RESOURCE}.executions"
PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED = "pending", "running", "succeeded", "failed", "cancelled"
"""States of a task, kept as `_state`."""
TIMED_OUT = "The configured timeout was reached."
ENDED = {
    SUCCEEDED: ("CONDITION_SUCCEEDED", "EXECUTION_SUCCEEDED"),
    FAILED: ("CONDITION_FAILED", "EXECUTION_FAILED"),
    CANCELLED: ("CONDITION_FAILED", "EXECUTION_CANCELLED"),
}
"""How an execution ended -> its condition, and what its job says of it."""
LETTERS = string.ascii_lowercase + string.digits


def run(call: Call) -> Any:
    """POST on a job, `:run`: a new execution, as the job's template and the overrides say."""
    job = verbs.opened(call)
    etags.check(call.cloud, call.body.get("etag", ""), job["etag"], "The resource was changed meanwhile: its etag is another one.")
    template = copy.deepcopy(job["template"])
    _override(template, call.body.get("overrides", {}))
    tasks = template["taskCount"]
    now = rfc3339(call.now)
    count = call.cloud.store.next("ids")
    execution: Body = {
        "name": f"{call.owner}/executions/{short(call.owner)[:57]}-{_letters(call.cloud.uuid(count))}",
        "uid": call.cloud.uuid(count),
        "creator": call.caller,
        "generation": "1",
        "observedGeneration": "1",
        "labels": job.get("labels", {}) | template.get("labels", {}),
        "annotations": template.get("annotations", {}),
        "createTime": now,
        "updateTime": now,
        "launchStage": job["launchStage"],
        "job": short(call.owner),
        "taskCount": tasks,
        "parallelism": min(template.get("parallelism") or tasks, tasks),
        "template": template["template"],
    }
    if call.body.get("validateOnly"):
        return only_checked(call, execution, "Execution")
    call.cloud.store.put(HOST, execution["name"], execution)
    for index in range(tasks):
        _make_task(call, execution, index)
    job["executionCount"] = job.get("executionCount", 0) + 1
    call.cloud.store.put(HOST, call.owner, job)
    _reckon(call.cloud, execution["name"])
    return start_run(call, execution)


def _letters(uuid: str) -> str:
    """Five letters and digits: what the name of an execution ends with."""
    number = int(uuid.replace("-", ""), 16)
    return "".join(LETTERS[number // len(LETTERS) ** place % len(LETTERS)] for place in range(5))


def _override(template: Body, overrides: Body) -> None:
    """Source: Overrides and ContainerOverride in the discovery document."""
    task = template["template"]
    for key, into in (("taskCount", template), ("timeout", task)):
        if overrides.get(key):
            into[key] = overrides[key]
    check_tasks(template["taskCount"], "overrides.task_count")
    check_timeout(task["timeout"], "overrides.timeout")
    for override in overrides.get("containerOverrides", []):
        name = override.get("name", "")
        container = next((one for one in task["containers"] if not name or one.get("name") == name), None)
        if container is None:
            raise invalid(f"overrides.container_overrides: no container is named {name}", "overrides.container_overrides", "not found")
        check_env(override.get("env", []), "overrides.container_overrides.env")
        if override.get("args"):
            container["args"] = override["args"]
        elif override.get("clearArgs"):
            container.pop("args", None)
        env = {one["name"]: one for one in (*container.get("env", []), *override.get("env", []))}
        if env:
            container["env"] = list(env.values())


def _make_task(call: Call, execution: Body, index: int) -> None:
    name = f"{execution['name']}/tasks/{short(execution['name'])}-task{index}"
    body: Body = {
        "name": name,
        "uid": call.cloud.uuid(call.cloud.store.next("ids")),
        "generation": "1",
        "observedGeneration": "1",
        "createTime": execution["createTime"],
        "scheduledTime": execution["createTime"],
        "updateTime": execution["createTime"],
        "job": execution["job"],
        "execution": short(execution["name"]),
        "index": index,
        "labels": execution["labels"],
        **execution["template"],
        "etag": etags.new(call.cloud),
        "_state": PENDING,
    }
    call.cloud.store.put(HOST, name, body | {"conditions": [_condition("Completed", "CONDITION_PENDING", execution["createTime"])]})


def move(cloud: Cloud, name: str, state: str, *, exit_code: int | None = None, message: str = "", status: str = "") -> None:
    """
    Says that a task's attempt began, or how it ended.

    Args:
        name: The task's.
        state: `running`, `succeeded` or `failed`.
        exit_code: Of its container. (default: 0 where it succeeded, 1 where it failed by itself)
        message: Why it failed.
        status: Of its end, such as `DEADLINE_EXCEEDED`. (default: as *state* says)
    """
    task = cloud.store.get(HOST, name)
    assert task is not None
    now = rfc3339(cloud.moment)
    task |= {"updateTime": now, "etag": etags.new(cloud)}
    task.setdefault("startTime", now)
    if state == RUNNING:
        if task["_state"] != RUNNING:
            cloud.store.set_timer(HOST, name, cloud.moment + seconds(task["timeout"]))
        task |= {"_state": RUNNING, "conditions": [_condition("Completed", "CONDITION_RECONCILING", now)]}
    else:
        cloud.store.set_timer(HOST, name, None)
        _end_attempt(task, state, now, exit_code, message, status)
    cloud.store.put(HOST, name, task)
    _reckon(cloud, task["name"].partition("/tasks/")[0])


def _end_attempt(task: Body, state: str, now: str, exit_code: int | None, message: str, status: str) -> None:
    succeeded = state == SUCCEEDED
    message = "" if succeeded else message or "The container exited with an error."
    code = CODE[status] if status else 0 if succeeded else CODE["UNKNOWN"]
    result: Body = {"status": {"code": code, "message": message}}
    if not status:
        result["exitCode"] = exit_code if exit_code is not None else int(not succeeded)
    task["lastAttemptResult"] = result
    if state == FAILED and task.get("retried", 0) < task["maxRetries"]:
        task |= {"_state": PENDING, "retried": task.get("retried", 0) + 1}
        task["conditions"] = [_condition("Completed", "CONDITION_PENDING", now)]
        return
    task |= {"_state": state, "completionTime": now}
    more = {} if succeeded else {"message": message}
    more |= {"executionReason": "NON_ZERO_EXIT_CODE"} if result.get("exitCode") else {}
    task["conditions"] = [_condition("Completed", ENDED[state][0], now, **more)]


def _condition(kind: str, state: str, now: str, **more: str) -> Body:
    return {"type": kind, "state": state, "lastTransitionTime": now} | more


def tasks_of(cloud: Cloud, execution: str) -> list[Body]:
    """Tasks of an execution by their index."""
    return [body for _, body in cloud.store.items(HOST, f"{execution}/tasks")]


def _reckon(cloud: Cloud, name: str) -> None:
    """Makes an execution, and what its job says of it, what its tasks are."""
    execution = cloud.store.get(HOST, name)
    assert execution is not None
    tasks, now = tasks_of(cloud, name), rfc3339(cloud.moment)
    count = {state: sum(task["_state"] == state for task in tasks) for state in (PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED)}
    execution |= {f"{state}Count": count[state] for state in (RUNNING, SUCCEEDED, FAILED, CANCELLED)}
    execution |= {"retriedCount": sum(task.get("retried", 0) > 0 for task in tasks), "updateTime": now, "etag": etags.new(cloud)}
    started = min((task["startTime"] for task in tasks if "startTime" in task), default="")
    begun = "CONDITION_SUCCEEDED" if started else "CONDITION_PENDING"
    since = started or execution["createTime"]
    if started:
        execution["startTime"] = started
    completed = _condition("Completed", "CONDITION_RECONCILING" if started else "CONDITION_PENDING", since)
    how = "EXECUTION_RUNNING" if started else "EXECUTION_PENDING"
    execution["reconciling"] = bool(count[PENDING] + count[RUNNING])
    if not execution["reconciling"]:
        ended = next((state for state in (CANCELLED, FAILED) if count[state]), SUCCEEDED)
        execution.setdefault("completionTime", now)
        condition, how = ENDED[ended]
        completed = _condition("Completed", condition, execution["completionTime"], **_why(tasks, ended))
    execution["conditions"] = [_condition("ResourcesAvailable", begun, since), _condition("Started", begun, since), completed]
    cloud.store.put(HOST, name, execution)
    _tell_job(cloud, execution, how)


def _why(tasks: list[Body], ended: str) -> dict[str, str]:
    if ended == CANCELLED:
        return {"executionReason": "CANCELLED", "message": "Execution was cancelled."}
    failed = next((task for task in tasks if task["_state"] == FAILED), None)
    if failed is None:
        return {}
    result = failed["lastAttemptResult"]
    code = f"exit code: {result['exitCode']} and message: " if "exitCode" in result else "message: "
    said = f"Task {short(failed['name'])} failed with {code}{result['status']['message']}"
    return {"message": said} | ({"executionReason": "NON_ZERO_EXIT_CODE"} if "exitCode" in result else {})


def _tell_job(cloud: Cloud, execution: Body, how: str) -> None:
    name = execution["name"].partition("/executions/")[0]
    job = cloud.store.get(HOST, name)
    assert job is not None
    latest = job["latestCreatedExecution"]
    if how != "EXECUTION_PENDING" and latest.get("name") != short(execution["name"]):
        return  # a later one was begun meanwhile
    job["latestCreatedExecution"] = {"name": short(execution["name"]), "createTime": execution["createTime"], "completionStatus": how}
    if "completionTime" in execution:
        job["latestCreatedExecution"]["completionTime"] = execution["completionTime"]
    cloud.store.put(HOST, name, job)


def time_out(cloud: Cloud, name: str) -> None:
    """A task that runs has reached its timeout: the attempt has failed."""
    move(cloud, name, FAILED, message=TIMED_OUT, status="DEADLINE_EXCEEDED")


def cancel(call: Call) -> Any:
    """POST on an execution, `:cancel`: its tasks that are not over end."""
    execution = verbs.opened(call)
    if "completionTime" in execution:
        said = f"Execution {short(call.owner)} is completed and cannot be cancelled."
        raise Refused(400, said, status="FAILED_PRECONDITION")
    if call.body.get("validateOnly"):
        return only_checked(call, execution, "Execution")
    now = rfc3339(call.now)
    for task in tasks_of(call.cloud, call.owner):
        if task["_state"] in (PENDING, RUNNING):
            call.cloud.store.set_timer(HOST, task["name"], None)
            ended = _condition("Completed", ENDED[CANCELLED][0], now, executionReason="CANCELLED", message="Task was cancelled.")
            call.cloud.store.put(
                HOST, task["name"], task | {"_state": CANCELLED, "completionTime": now, "updateTime": now, "conditions": [ended]}
            )
    _reckon(call.cloud, call.owner)
    after = verbs.stored(call)
    return operations.start(call, "cancel", after, 0, sets={}, response=verbs.answered(call, after))


def delete(call: Call) -> Any:
    """DELETE: with its tasks; the operation answers it as it was."""
    body = verbs.opened(call)
    etags.check(call.cloud, call.query.get("etag", ""), body["etag"], "The resource was changed meanwhile: its etag is another one.")
    if call.query.get("validateOnly", "").lower() in ("true", "1"):
        return only_checked(call, body, "Execution")
    return operations.start(call, "delete", None, 0, response=verbs.answered(call, body))


EXECUTION = Kind(RESOURCE)
TASK = Kind(f"{RESOURCE}.tasks", show=lambda call, body: shown(body))
HANDLERS = {f"{jobs.RESOURCE}.run": run, f"{RESOURCE}.cancel": cancel, f"{RESOURCE}.delete": delete}
