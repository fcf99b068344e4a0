"""Jobs of Cloud Run: what is to run. What runs are its executions."""

from __future__ import annotations

import copy
import re
from typing import Any

from infra.sandbox import etags, operations, verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import invalid
from infra.sandbox.service import Body, Call, Kind
from infra.sandbox.services.run.operations import only_checked
from infra.sandbox.services.run.parts import check_tasks, check_template

RESOURCE = "projects.locations.jobs"
ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
"""Source: the words of Cloud Run's refusal, quoted in issues: small letters, digits and dashes, at most 63, no dash at an end."""
LIMITS = {"cpu": "1000m", "memory": "512Mi"}
PROBE = {"failureThreshold": 3, "periodSeconds": 10, "timeoutSeconds": 1}


def _defaults(call: Call, body: Body) -> None:
    """Recordings; maxRetries, timeout and taskCount also in the discovery document."""
    body.setdefault("launchStage", "GA")
    execution = body.setdefault("template", {})
    execution.setdefault("taskCount", 1)
    task = execution.setdefault("template", {})
    task.setdefault("maxRetries", 3)
    task.setdefault("timeout", "600s")
    task.setdefault("executionEnvironment", "EXECUTION_ENVIRONMENT_GEN2")
    task.setdefault("serviceAccount", f"{call.number}-compute@developer.gserviceaccount.com")
    for container in task.get("containers", []):
        resources = container.setdefault("resources", {})
        resources["limits"] = LIMITS | resources.get("limits", {})
        if "startupProbe" in container:
            container["startupProbe"] = PROBE | container["startupProbe"]


def _fill(call: Call, body: Body) -> None:
    now = rfc3339(call.now)
    _defaults(call, body)
    body |= {
        "name": call.target,
        "uid": call.cloud.uuid(call.cloud.store.next("ids")),
        "generation": "1",
        "createTime": now,
        "creator": call.caller,
        "latestCreatedExecution": {},
    }
    _ready(call, body, now)


def _ready(call: Call, body: Body, now: str) -> None:
    body |= {
        "updateTime": now,
        "lastModifier": call.caller,
        "observedGeneration": body["generation"],
        "etag": etags.new(call.cloud),
        "terminalCondition": {"type": "Ready", "state": "CONDITION_SUCCEEDED", "lastTransitionTime": now},
    }


def _check(call: Call, body: Body, before: Body | None) -> None:
    if before is None and not ID.fullmatch(call.target.rpartition("/")[2]):
        said = (
            "Job name must use only lowercase alphanumeric characters and dashes, cannot begin or end with a dash, 63 characters at most."
        )
        raise invalid(said, "job_id", said)
    task = body["template"]["template"]
    if not task.get("containers"):
        raise invalid("template.template.containers: should have at least one container", "template.template.containers", "required")
    check_tasks(body["template"]["taskCount"], "template.task_count")
    if body["template"].get("parallelism", 0) < 0:
        raise invalid("template.parallelism: must not be negative", "template.parallelism", "out of range")
    check_template(call, task, "template.template")


def _changed(call: Call, body: Body, before: Body) -> None:
    body["generation"] = str(int(before["generation"]) + 1)
    _ready(call, body, rfc3339(call.now))


def create(call: Call) -> Any:
    if call.query.get("validateOnly", "").lower() not in ("true", "1"):
        return verbs.create(call)
    body = copy.deepcopy(call.body)
    call.target = f"{call.inside}/{call.query.get('jobId', '')}"
    _fill(call, body)
    _check(call, body, None)
    return only_checked(call, body, "Job")


def patch(call: Call) -> Any:
    """PATCH: there is no mask, what is sent is the job from now on. Source: the method in the discovery document; recordings."""
    validates = call.query.get("validateOnly", "").lower() in ("true", "1")
    if call.query.get("allowMissing", "").lower() in ("true", "1") and call.cloud.store.get(call.service.host, call.owner) is None:
        call.owner, _, name = call.owner.rpartition("/jobs/")
        call.collection, call.query = "jobs", {**call.query, "jobId": name}
        return create(call)
    _defaults(call, call.body)
    before = verbs.opened(call)
    etags.check(call.cloud, call.body.get("etag", ""), before["etag"], "The resource was changed meanwhile: its etag is another one.")
    if validates:
        _check(call, {**before, **call.body}, before)
        return only_checked(call, {**before, **call.body}, "Job")
    return verbs.replace(call)


def delete(call: Call) -> Any:
    """DELETE: with all its executions. The operation answers the job as it was."""
    body = verbs.opened(call)
    etags.check(call.cloud, call.query.get("etag", ""), body["etag"], "The resource was changed meanwhile: its etag is another one.")
    if call.query.get("validateOnly", "").lower() in ("true", "1"):
        return only_checked(call, body, "Job")
    return operations.start(call, "delete", None, JOB.seconds["delete"], response=verbs.answered(call, body))


JOB = Kind(
    RESOURCE,
    id_from="query:jobId",
    required=("template", "template.template"),  # "Required." in the discovery document
    seconds={"create": 5, "update": 5, "delete": 5},
    fill=_fill,
    check=_check,
    changed=_changed,
)
HANDLERS = {f"{RESOURCE}.create": create, f"{RESOURCE}.patch": patch, f"{RESOURCE}.delete": delete}
