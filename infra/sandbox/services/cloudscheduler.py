"""
Cloud Scheduler: jobs that call an address whenever the sandbox's clock passes their schedule.

A target at one of the sandbox's own hosts is really called, as the job's service account; any other is never called, and its attempt has
failed. Source of what is not said otherwise: descriptions in the discovery document; `gcloud scheduler jobs describe` as quoted in public
repositories, 2025 to 2026.
"""

from __future__ import annotations

import base64
import binascii
import copy
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from infra.sandbox import verbs
from infra.sandbox.clock import rfc3339
from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import CODE, STATUS, Refused, invalid, no_entity
from infra.sandbox.service import YOU, Body, Call, Kind, Service
from infra.sandbox.services import cloudlogging
from infra.schedule import HOURS_A_MONTH, Schedule, ScheduleError

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

HOST = "cloudscheduler.googleapis.com"
ID = re.compile(r"[A-Za-z0-9_-]{1,500}")
RETRIES = {"maxRetryDuration": "0s", "minBackoffDuration": "5s", "maxBackoffDuration": "3600s", "maxDoublings": 5}
DEADLINE = "180s"
LEAST_DEADLINE, MOST_DEADLINE = 15, 1800
"""Seconds, for an HTTP target."""
MOST_RETRIES = 5
MOST_BACKOFF = 10**9
"""Seconds: the sandbox's own, so that every moment has a date."""
MOST_LETTERS = {"description": 500, "uri": 2083}
WITH_BODY = ("POST", "PUT", "PATCH")
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
NEVER = {"code": -1}
"""Status before the first attempt."""
MOST_AT_ONCE = 10_000
"""Attempts of one job. Where the clock is moved over more of its times, the first of them are left out."""
HTTP = {code: number for code, status in STATUS.items() for name, number in CODE.items() if name == status}
"""HTTP status of an answer -> code of the attempt's status."""


def _schedule(job: Body) -> Schedule:
    zone = job["timeZone"]
    return Schedule(job.get("schedule", ""), "Etc/UTC" if zone.lower() == "utc" else zone)


def _defaults(body: Body) -> None:
    body.setdefault("timeZone", "Etc/UTC")
    body["retryConfig"] = RETRIES | body.get("retryConfig", {})
    if "httpTarget" in body:
        body.setdefault("attemptDeadline", DEADLINE)
        target = body["httpTarget"]
        target.setdefault("httpMethod", "POST")
        target["headers"] = target.get("headers", {}) | {"User-Agent": "Google-Cloud-Scheduler"}
        if "body" in target and "content-type" not in {name.lower() for name in target["headers"]}:
            target["headers"]["Content-Type"] = "application/octet-stream"
        if "oauthToken" in target:
            target["oauthToken"].setdefault("scope", SCOPE)
        if "oidcToken" in target:
            target["oidcToken"].setdefault("audience", target.get("uri", ""))


def _fill(call: Call, body: Body) -> None:
    _defaults(body)
    body |= {"name": call.target, "state": "ENABLED", "status": NEVER, "userUpdateTime": rfc3339(call.now)}


def _check(call: Call, body: Body, before: Body | None) -> None:
    _defaults(body)  # a mask may have taken them away
    if len(body.get("description", "")) > MOST_LETTERS["description"]:
        raise invalid("Job.description must have at most 500 characters.", "job.description", "too long")
    for other in ("pubsubTarget", "appEngineHttpTarget"):
        if other in body:
            raise Refused(501, f"The sandbox's jobs have an httpTarget, and no {other} yet.", status="UNIMPLEMENTED")
    if "httpTarget" not in body:
        raise invalid("Job must have a target.", "job.target", "required")
    try:
        _schedule(body)
    except ScheduleError as error:
        if error.allowed.startswith("the words of App Engine"):
            raise Refused(501, f"The sandbox reads schedules of five fields, not {error.got!r}.", status="UNIMPLEMENTED") from None
        raise invalid("Schedule or time zone is invalid.", f"job.{error.what}", str(error)) from None  # words: google-cloud-go #1352
    _check_target(call, body["httpTarget"])
    deadline = _seconds(body["attemptDeadline"])
    if not LEAST_DEADLINE <= deadline <= MOST_DEADLINE:
        said = "Job.attempt_deadline must be between 15 seconds and 30 minutes for HTTP targets."
        raise invalid(said, "job.attempt_deadline", said)
    _check_retries(body["retryConfig"])


def _check_target(call: Call, target: Body) -> None:
    uri = target.get("uri", "")
    if not _host(uri) or len(uri) > MOST_LETTERS["uri"]:
        raise invalid(
            f"HttpTarget.uri must be a URL that begins with http:// or https://; it is {uri!r}.", "job.http_target.uri", "invalid"
        )
    if target.get("body") and target["httpMethod"] not in WITH_BODY:
        said = f"HttpTarget.body is allowed only with the methods {', '.join(WITH_BODY)}."
        raise invalid(said, "job.http_target.body", said)
    try:
        base64.b64decode(target.get("body", ""), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Invalid value at 'job.http_target.body' (TYPE_BYTES), Base64 decoding failed.", "job.http_target.body") from None
    if "oauthToken" in target and "oidcToken" in target:
        said = "HttpTarget has either an oauth_token or an oidc_token."
        raise invalid(said, "job.http_target.authorization_header", said)
    email = _account(target)
    if email is None:
        return
    project = re.fullmatch(r"[^@]+@([^@]+)\.iam\.gserviceaccount\.com", email)
    if not email or (project and project[1] != call.project):
        said = f"The service account must be within the same project as the job; it is {email!r}."
        raise invalid(said, "job.http_target.service_account_email", said)
    try:
        call.cloud.check_member(f"serviceAccount:{email}")
    except Refused:
        said = (
            'The principal (user or service account) lacks IAM permission "iam.serviceAccounts.actAs" for the resource '
            f'"{email}" (or the resource may not exist).'
        )
        raise Refused(403, said) from None


def _check_retries(config: Body) -> None:
    least, most = (_seconds(config[key]) for key in ("minBackoffDuration", "maxBackoffDuration"))
    if not 0 <= config.get("retryCount", 0) <= MOST_RETRIES:
        said = f"RetryConfig.retry_count must be between 0 and {MOST_RETRIES}."
    elif config["maxDoublings"] < 0 or _seconds(config["maxRetryDuration"]) < 0:
        said = "RetryConfig.max_doublings and max_retry_duration must not be negative."
    elif not 0 <= least <= most <= MOST_BACKOFF:
        said = f"RetryConfig.min_backoff_duration must not be more than max_backoff_duration, nor this more than {MOST_BACKOFF}s."
    else:
        return
    raise invalid(said, "job.retry_config", said)


def _account(target: Body) -> str | None:
    """Email address of the account that calls the target; None where nobody in particular does."""
    token = target.get("oauthToken", target.get("oidcToken"))
    return None if token is None else str(token.get("serviceAccountEmail", ""))


def _host(uri: str) -> str:
    """Host of an address; empty where it is none."""
    try:
        found = urlsplit(uri)
        return (found.hostname or "") if found.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _seconds(text: str) -> float:
    """A length of time as a number; an empty one is none."""
    return float(text.removesuffix("s") or 0)


def create(call: Call) -> Any:
    """POST: the name is in the body; without one, the server makes one."""
    name = call.body.setdefault("name", f"{call.inside}/{call.cloud.uuid(call.cloud.store.next('ids'))}")
    if call.cloud.projects.by_id(name).rpartition("/")[0] != call.inside or not ID.fullmatch(name.rpartition("/")[2]):
        said = f"Job name must be {call.inside}/JOB_ID, of letters, digits, hyphens and underscores; it is {name!r}."
        raise invalid(said, "job.name", said)
    verbs.create(call)
    return _planned(call, verbs.stored(call))


def patch(call: Call) -> Any:
    """PATCH: what the mask names; without one, what is sent is the job from now on."""
    if not call.query.get("updateMask"):
        call.body.setdefault("schedule", verbs.opened(call)["schedule"])
        verbs.replace(call)
    else:
        verbs.patch(call)
    return _planned(call, verbs.stored(call))


def _changed(call: Call, body: Body, before: Body) -> None:
    body |= {"state": before["state"], "status": before["status"], "userUpdateTime": rfc3339(call.now)}


def pause(call: Call) -> Any:
    job = verbs.opened(call)
    if job["state"] != "ENABLED":  # "A job can only be paused if Job.state is set to ENABLED", discovery document
        raise Refused(400, f"Job {call.target} is {job['state']} and cannot be paused.", status="FAILED_PRECONDITION")
    return _planned(call, job | {"state": "PAUSED"})


def resume(call: Call) -> Any:
    """POST `:resume`: also of one that runs, as the official provider sends it after each create."""
    return _planned(call, verbs.opened(call) | {"state": "ENABLED"})


def _planned(call: Call, job: Body) -> Any:
    """Keeps a job that somebody changed: it begins anew with its next time."""
    job = {key: value for key, value in job.items() if not key.startswith("_")}
    _plan(call.cloud, job, _schedule(job).next(call.now))
    return verbs.answered(call, job)


def _plan(cloud: Cloud, job: Body, at: float) -> None:
    """Keeps a job that is due at a moment, if it is at all."""
    job.pop("scheduleTime", None)
    if job["state"] == "ENABLED":
        job["scheduleTime"] = rfc3339(at)
    cloud.store.set_timer(HOST, job["name"], at if job["state"] == "ENABLED" else None)
    cloud.store.put(HOST, job["name"], job)


def run(call: Call) -> Any:
    """POST `:run`: an attempt now, whatever the schedule says."""
    verbs.opened(call)
    if call.caller != YOU:
        raise Refused(501, "The sandbox does not run a job from within a job.", status="UNIMPLEMENTED")
    _attempt(call.cloud, call.target)
    return verbs.answered(call, verbs.stored(call))


def wake(cloud: Cloud, name: str) -> None:
    """A job is due."""
    job = cloud.store.get(HOST, name)
    assert job is not None
    schedule = _schedule(job)
    ahead = float(MOST_AT_ONCE * HOURS_A_MONTH / schedule.runs_a_month) * 3600
    if cloud.moment < cloud.clock.now() - ahead:
        _plan(cloud, job, schedule.next(cloud.clock.now() - ahead))
    else:
        _attempt(cloud, name)


def _attempt(cloud: Cloud, name: str) -> None:
    """Calls the target, and says when the job is due again: after a failure by its retries, else by its schedule."""
    before = cloud.store.get(HOST, name)
    assert before is not None
    code, said = _called(cloud, before["httpTarget"])
    job = cloud.store.get(HOST, name)
    if job is None:  # it had itself deleted
        return
    job |= {"lastAttemptTime": rfc3339(cloud.moment), "status": {"code": code} if code else {}}
    tries, first = job.pop("_tries", 0), job.pop("_first", cloud.moment)
    wait = _backoff(job["retryConfig"], tries)
    if code and job["state"] == "ENABLED" and _is_retried(job["retryConfig"], tries, cloud.moment - first):
        job |= {"_tries": tries + 1, "_first": first}
        _plan(cloud, job, cloud.moment + wait)
    else:
        _plan(cloud, job, _schedule(job).next(cloud.moment))
    _log(cloud, job, code, said)


def _is_retried(config: Body, tries: int, seconds: float) -> bool:
    """Until both limits are reached, where both are set."""
    return tries < config.get("retryCount", 0) or seconds < _seconds(config["maxRetryDuration"])


def _backoff(config: Body, tries: int) -> float:
    """Seconds before a retry: doubled `maxDoublings` times, then more by the same each time. Source: its page "Retry jobs", 2026."""
    doublings = min(config["maxDoublings"], 60)
    steps: float = 2.0 ** min(tries, doublings) * (1 + max(0, tries - doublings))
    return min(_seconds(config["minBackoffDuration"]) * steps, _seconds(config["maxBackoffDuration"]))


def _called(cloud: Cloud, target: Body) -> tuple[int, str]:
    """Code of the attempt's status, 0 for a good one, and what was answered."""
    from infra.sandbox.cloud import Request

    url = urlsplit(target["uri"])
    if not cloud.has(url.netloc):
        return CODE["UNAVAILABLE"], f"The sandbox calls no address outside of it: {target['uri']}"
    email = _account(target)
    if email is None or "oauthToken" not in target:
        return CODE["UNAUTHENTICATED"], "A Google API is called with an oauthToken."
    try:
        cloud.check_member(f"serviceAccount:{email}")
    except Refused as refused:
        return CODE["PERMISSION_DENIED"], refused.message
    headers = {name.lower(): value for name, value in target["headers"].items()}
    answer = cloud.within(
        Request(
            http=target["httpMethod"],
            host=url.netloc,
            path=url.path.lstrip("/"),
            query=dict(parse_qsl(url.query, keep_blank_values=True)),
            content=base64.b64decode(target.get("body", "")),
            content_type=headers.get("content-type", "application/json"),
            caller=email,
        )
    )
    if answer.status < 400:
        return 0, ""
    said = answer.body["error"]["message"] if isinstance(answer.body, dict) and "error" in answer.body else str(answer.status)
    return HTTP.get(answer.status, CODE["UNKNOWN"]), said


def _log(cloud: Cloud, job: Body, code: int, said: str) -> None:
    """What Cloud Scheduler writes of each attempt. Source: its page "View logs", 2026; entries quoted in public repositories."""
    words = job["name"].split("/")
    names = {number: name for name, number in CODE.items()}
    payload: Body = {
        "@type": "type.googleapis.com/google.cloud.scheduler.logging.AttemptFinished",
        "jobName": job["name"],
        "url": job["httpTarget"]["uri"],
        "targetType": "HTTP",
    }
    labels = {"project_id": words[1], "location": words[3], "job_id": words[5]}
    entry = {
        "logName": f"projects/{words[1]}/logs/cloudscheduler.googleapis.com%2Fexecutions",
        "resource": {"type": "cloud_scheduler_job", "labels": labels},
        "severity": "ERROR" if code else "INFO",
        "jsonPayload": payload | ({"status": names[code], "debugInfo": said} if code else {}),
    }
    cloudlogging.keep(cloud, copy.deepcopy(entry))


JOB = Kind(
    "projects.locations.jobs",
    id_from="body:name",
    required=("schedule",),  # "Required, except when used with UpdateJob", discovery document
    fill=_fill,
    check=_check,
    changed=_changed,
    show=lambda call, body: {key: value for key, value in body.items() if not key.startswith("_")},
)
SERVICE = Service(
    host=HOST,
    apis=("cloudscheduler.v1",),
    operations=LongRunning(),
    kinds=(JOB,),
    handlers={
        f"{JOB.resource}.create": create,
        f"{JOB.resource}.patch": patch,
        f"{JOB.resource}.pause": pause,
        f"{JOB.resource}.resume": resume,
        f"{JOB.resource}.run": run,
    },
    wakes=wake,
    not_found=no_entity,
)
