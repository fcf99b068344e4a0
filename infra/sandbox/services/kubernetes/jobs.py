"""
Jobs and CronJobs.

Source: https://kubernetes.io/docs/concepts/workloads/controllers/job/ and `pkg/controller/job` of k8s.io/kubernetes, release 1.35.
Pods that failed are replaced at once: the delay that grows between tries is not here. Pod failure policies and success policies are not
looked at.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Iterable
from itertools import islice, repeat
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, pods
from infra.sandbox.services.kubernetes.objects import seconds, stamp
from infra.sandbox.services.kubernetes.view import POD, View, is_true, with_condition
from infra.sandbox.services.kubernetes.workloads import pod_of

JOB, CRON_JOB = kinds.named("batch", "Job"), kinds.named("batch", "CronJob")
INDEX = "batch.kubernetes.io/job-completion-index"
BY = "controller-uid"
MISSED = 100
"""Runs of a CronJob that were missed at most; the last of them is started. Source: `mostRecentScheduleTime` in `cronjob/utils.go`."""


def is_over(job: Body) -> bool:
    return is_true(job, "Complete") or is_true(job, "Failed")


def run(view: View) -> None:
    for body in view.all(JOB):
        if "deletionTimestamp" in body["metadata"]:
            continue
        if is_over(body):
            _forget(view, body)
        elif not body["spec"].get("managedBy") or body["spec"]["managedBy"] == "kubernetes.io/job-controller":
            _job(view, body)


def _forget(view: View, body: Body) -> None:
    lasts = body["spec"].get("ttlSecondsAfterFinished")
    if lasts is None:
        return
    ended = max(seconds(one["lastTransitionTime"]) for one in body["status"]["conditions"])
    if ended + lasts <= view.now:
        view.delete(JOB, body, "Foreground")
    else:
        view.later(ended + lasts)


def _job(view: View, body: Body) -> None:
    spec, status = body["spec"], dict(body.get("status", {}))
    mine = view.owned(body, POD)
    if spec.get("suspend"):
        for pod in mine:
            if pods.lives(pod):
                view.delete(POD, pod)
        status.pop("startTime", None)
        status["conditions"] = with_condition(view, status.get("conditions"), "Suspended", True, "JobSuspended", "Job suspended")
        view.status(JOB, body, _counted(status, view.owned(body, POD)))
        return
    if any(one["type"] == "Suspended" and one["status"] == "True" for one in status.get("conditions", [])):
        status["conditions"] = with_condition(view, status["conditions"], "Suspended", False, "JobResumed", "Job resumed")
    status.setdefault("startTime", view.stamp)
    done = [pod for pod in mine if pod.get("status", {}).get("phase") == "Succeeded"]
    failed = [pod for pod in mine if pod.get("status", {}).get("phase") == "Failed"]
    indexed = spec.get("completionMode") == "Indexed"
    finished = {_index(pod) for pod in done} if indexed else set()
    succeeded, wanted = len(finished) if indexed else len(done), spec.get("completions")
    reason = _failed(view, spec, status, len(failed) + sum(map(pods.restarts, mine)))
    if reason:
        for pod in mine:
            if pods.lives(pod):
                view.delete(POD, pod)
        words = {
            "BackoffLimitExceeded": "Job has reached the specified backoff limit",
            "DeadlineExceeded": "Job was active longer than specified deadline",
        }
        for name in ("FailureTarget", "Failed"):
            status["conditions"] = with_condition(view, status.get("conditions"), name, True, reason, words[reason])
    elif (wanted is not None and succeeded >= wanted) or (wanted is None and done and not any(pods.lives(pod) for pod in mine)):
        for pod in mine:
            if pods.lives(pod):
                view.delete(POD, pod)
        for name in ("SuccessCriteriaMet", "Complete"):
            said = "Reached expected number of succeeded pods"
            status["conditions"] = with_condition(view, status.get("conditions"), name, True, "CompletionsReached", said)
        status["completionTime"] = view.stamp
    else:
        _pods(view, body, mine, finished, succeeded)
    if indexed:
        status["completedIndexes"] = _ranges(finished)
        if not finished:
            del status["completedIndexes"]
    view.status(
        JOB, view.get(JOB, body["metadata"]["namespace"], body["metadata"]["name"]) or body, _counted(status, view.owned(body, POD))
    )


def _failed(view: View, spec: Body, status: Body, failures: int) -> str:
    """Why a job has failed; empty where it goes on."""
    if failures > spec.get("backoffLimit", 6):
        return "BackoffLimitExceeded"
    if (most := spec.get("activeDeadlineSeconds")) is not None:
        ends = seconds(status["startTime"]) + most
        if ends <= view.now:
            return "DeadlineExceeded"
        view.later(ends)
    return ""


def _counted(status: Body, mine: list[Body]) -> Body:
    active = [pod for pod in mine if pods.lives(pod)]
    phases = [pod.get("status", {}).get("phase") for pod in mine]
    counts = {
        "active": len(active),
        "ready": sum(map(pods.is_ready, active)),
        "succeeded": phases.count("Succeeded"),
        "failed": phases.count("Failed"),
        "terminating": sum("deletionTimestamp" in pod["metadata"] and not pods.is_over(pod) for pod in mine),
    }
    kept = {key: value for key, value in status.items() if key not in counts}
    always = ("ready", "terminating")
    return kept | {"uncountedTerminatedPods": {}} | {key: value for key, value in counts.items() if value or key in always}


def _index(pod: Body) -> int:
    text = str((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
    return int(text) if text.isdecimal() else -1


def _ranges(found: set[int]) -> str:
    """`0,2-4`."""
    runs: list[list[int]] = []
    for index in sorted(found):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _pods(view: View, body: Body, mine: list[Body], finished: set[int], succeeded: int) -> None:
    """Makes the pods that are lacking, and takes away those that are too many."""
    spec, meta = body["spec"], body["metadata"]
    active = [pod for pod in mine if pods.lives(pod)]
    left = spec["completions"] - succeeded if spec.get("completions") is not None else spec["parallelism"]
    if spec.get("completions") is None and any(pod.get("status", {}).get("phase") == "Succeeded" for pod in mine):
        return  # of a work queue nobody begins once one has ended well
    wanted = max(0, min(spec["parallelism"], left))
    for pod in active[wanted:]:
        view.delete(POD, pod)
    free: Iterable[int | None] = repeat(None)
    if spec.get("completionMode") == "Indexed":
        taken = {_index(pod) for pod in active} | finished
        free = (index for index in range(spec["completions"]) if index not in taken)
    for index in islice(free, max(0, wanted - len(active))):
        pod = pod_of(spec["template"], meta)
        if index is not None:
            pod["metadata"]["generateName"] = f"{meta['name']}-{index}-"
            pod["metadata"]["annotations"] = (pod["metadata"].get("annotations") or {}) | {INDEX: str(index)}
            pod["metadata"]["labels"][INDEX] = str(index)
            pod["spec"].setdefault("hostname", f"{meta['name']}-{index}")
        if view.make(POD, pod, (JOB, body)) is None:
            return


# CronJobs


def cron(view: View) -> None:
    for body in view.all(CRON_JOB):
        if "deletionTimestamp" not in body["metadata"]:
            _cron(view, body)


def _cron(view: View, body: Body) -> None:
    spec, meta, status = body["spec"], body["metadata"], dict(body.get("status", {}))
    mine = view.owned(body, JOB)
    _trim(view, mine, spec)
    mine = view.owned(body, JOB)
    last = seconds(status.get("lastScheduleTime") or meta["creationTimestamp"])
    due, following = _times(str(spec.get("schedule")), str(spec.get("timeZone") or "Etc/UTC"), last, view.now)
    if following is not None and not spec.get("suspend"):
        view.later(following)
    active = [job for job in mine if not is_over(job)]
    late = due is not None and spec.get("startingDeadlineSeconds") is not None and view.now - due > spec["startingDeadlineSeconds"]
    if due is not None and not spec.get("suspend") and not late and not (active and spec.get("concurrencyPolicy") == "Forbid"):
        if active and spec.get("concurrencyPolicy") == "Replace":
            for job in active:
                view.delete(JOB, job)
        template = copy.deepcopy(spec["jobTemplate"])
        made = template.get("metadata") or {}
        made |= {"name": f"{meta['name']}-{int(due // 60)}", "namespace": meta["namespace"]}
        made["annotations"] = (made.get("annotations") or {}) | {"batch.kubernetes.io/cronjob-scheduled-timestamp": stamp(due)}
        view.make(JOB, {"metadata": made, "spec": template["spec"]}, (CRON_JOB, body))
        status["lastScheduleTime"] = stamp(due)
    mine = view.owned(body, JOB)
    status.pop("active", None)
    if active := [job for job in mine if not is_over(job)]:
        status["active"] = [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": job["metadata"]["name"],
                "namespace": meta["namespace"],
                "uid": job["metadata"]["uid"],
            }
            for job in active
        ]
    ends = [job["status"]["completionTime"] for job in mine if is_true(job, "Complete")]
    if ends:
        status["lastSuccessfulTime"] = max(ends)
    view.status(CRON_JOB, body, status)


def _times(schedule: str, zone: str, last: float, now: float) -> tuple[float | None, float | None]:
    """The youngest time that has passed since the last one, and the one after it; None of a schedule that is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    from cronsim import CronSim, CronSimError

    try:
        where = ZoneInfo(zone)
        times = CronSim(schedule, dt.datetime.fromtimestamp(last, where))
        due = None
        for count, moment in enumerate(times):
            if moment.timestamp() > now:
                return due, moment.timestamp()
            due = moment.timestamp()
            if count > MISSED:
                # Long ago: from an hour before now at most as many as there are minutes.
                times = CronSim(schedule, dt.datetime.fromtimestamp(max(last, now - 3600), where))
                for later in times:
                    if later.timestamp() > now:
                        return due, later.timestamp()
                    due = later.timestamp()
    except (CronSimError, ZoneInfoNotFoundError, ValueError, OverflowError, StopIteration):
        return None, None
    return None, None


def _trim(view: View, mine: list[Body], spec: Body) -> None:
    """Jobs that have ended are kept for as many as the CronJob says."""
    for name, field in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
        ended = [job for job in mine if is_true(job, name)]
        most: Any = spec.get(field)
        if isinstance(most, int):
            for job in ended[: max(0, len(ended) - most)]:
                view.delete(JOB, job)
