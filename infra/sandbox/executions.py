"""
The executions of Cloud Run that somebody else runs: a process that is attached to the sandbox, or a test.

`GET /sandbox/executions` lists the attempts that are to begin or have begun, with all that their container gets. `POST /sandbox/executions`
says that one began, and how it ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.sandbox.services.run import executions
from infra.sandbox.services.run.parts import HOST, seconds, short

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

FIELDS = ("name", "attempt", "state", "task", "exit_code", "message")
STATES = (executions.RUNNING, executions.SUCCEEDED, executions.FAILED)


def waiting(cloud: Cloud) -> list[dict[str, Any]]:
    """Attempts that are to begin or run, oldest execution first: as many tasks of one as run side by side."""
    found = []
    for _, name, body in cloud.store.every(HOST):
        if "/executions/" not in name or "/tasks/" in name or "completionTime" in body:
            continue
        tasks = [task for task in executions.tasks_of(cloud, name) if task["_state"] in (executions.PENDING, executions.RUNNING)]
        found += [_attempt(body, task) for task in tasks[: body["parallelism"]]]
    return found


def _attempt(execution: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    container, attempt = task["containers"][0], task.get("retried", 0)
    own = {
        "CLOUD_RUN_JOB": execution["job"],
        "CLOUD_RUN_EXECUTION": short(execution["name"]),
        "CLOUD_RUN_TASK_INDEX": str(task.get("index", 0)),
        "CLOUD_RUN_TASK_ATTEMPT": str(attempt),
        "CLOUD_RUN_TASK_COUNT": str(execution["taskCount"]),
    }
    env = container.get("env", [])
    return {
        "name": execution["name"],
        "task": task.get("index", 0),
        "attempt": attempt,
        "state": task["_state"],
        "created": execution["createTime"],
        "image": container["image"],
        "command": container.get("command", []),
        "args": container.get("args", []),
        "working_dir": container.get("workingDir", ""),
        "env": {one["name"]: one.get("value", "") for one in env if "valueSource" not in one} | own,
        "secret_env": {one["name"]: one["valueSource"] for one in env if "valueSource" in one},
        "service_account": task["serviceAccount"],
        "max_retries": task["maxRetries"],
        "timeout_seconds": seconds(task["timeout"]),
    }


def moved(cloud: Cloud, sent: Any) -> None:
    """
    One attempt begins or has ended: `{"name": EXECUTION, "attempt": 0, "state": "failed", "exit_code": 1, "message": "..."}`; `task` is
    its index (default: 0).

    Raises:
        ValueError: There is no such attempt, or it is over: a word of an attempt that came too late changes nothing.
    """
    unknown = sorted(set(sent) - set(FIELDS)) if isinstance(sent, dict) else [repr(sent)]
    if unknown or not {"name", "attempt", "state"} <= set(sent):
        raise ValueError(
            f"an attempt has name, attempt and state, and may have task, exit_code and message; got {', '.join(map(repr, sent))}"
        )
    name, state = sent["name"], sent["state"]
    if state not in STATES:
        raise ValueError(f"state: {state!r} is not one of {', '.join(STATES)}")
    attempt, index, code = (_number(key, sent.get(key, 0)) for key in ("attempt", "task", "exit_code"))
    if not isinstance(message := sent.get("message", ""), str):
        raise ValueError(f"message: {message!r} is no text")
    if (state == executions.FAILED) == (code == 0) and "exit_code" in sent:
        raise ValueError(f"exit_code: {code} is not how {state} ends")
    tasks = executions.tasks_of(cloud, str(name))
    task = next((one for one in tasks if one.get("index", 0) == index), None)
    if task is None:
        raise ValueError(f"there is no task {index} of an execution {name!r}")
    now = {"attempt": task.get("retried", 0), "state": task["_state"]}
    if now["attempt"] != attempt or now["state"] not in (executions.PENDING, executions.RUNNING):
        raise ValueError(f"task {index} of {name} is {now['state']} in attempt {now['attempt']}; not running in attempt {attempt}")
    executions.move(cloud, task["name"], state, exit_code=code if "exit_code" in sent else None, message=message)


def _number(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 2**31:
        raise ValueError(f"{key}: {value!r} is no whole number from 0")
    return value
