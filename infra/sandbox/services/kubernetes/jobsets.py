"""
JobSets, and the groups of LeaderWorkerSet.

Sources: `pkg/controllers` of kubernetes-sigs/jobset 0.10 and of kubernetes-sigs/lws 0.7. Of a failure policy `maxRestarts` is looked at,
and its rules are not; where pods of one group stand (exclusive topology) is not either.
"""

from __future__ import annotations

import copy

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, pods
from infra.sandbox.services.kubernetes.jobs import JOB, is_over
from infra.sandbox.services.kubernetes.view import MOST, POD, View, is_true, with_condition
from infra.sandbox.services.kubernetes.workloads import hashed, pod_of

JOB_SET, LEADER = kinds.named("jobset.x-k8s.io", "JobSet"), kinds.named("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
SERVICE = kinds.named("", "Service")
OF = "jobset.sigs.k8s.io"
LWS = "leaderworkerset.sigs.k8s.io"


def run(view: View) -> None:
    for body in view.all(JOB_SET):
        if "deletionTimestamp" not in body["metadata"] and not _ended(body):
            _job_set(view, body)


def _ended(body: Body) -> bool:
    return is_true(body, "Completed") or is_true(body, "Failed")


def _job_set(view: View, body: Body) -> None:
    spec, meta, status = body["spec"], body["metadata"], dict(body.get("status", {}))
    restarts = int(status.get("restarts", 0))
    network = spec.get("network") or {}
    subdomain = str(network.get("subdomain") or meta["name"])
    if network.get("enableDNSHostnames") and view.get(SERVICE, meta["namespace"], subdomain) is None:
        selector = {f"{OF}/jobset-name": meta["name"]}
        service = {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": bool(network.get("publishNotReadyAddresses"))}
        view.make(SERVICE, {"metadata": {"name": subdomain, "namespace": meta["namespace"]}, "spec": service}, (JOB_SET, body))
    mine = view.owned(body, JOB)
    for job in mine:
        if _attempt(job) < restarts:
            view.delete(JOB, job, "Foreground")
    mine = [job for job in view.owned(body, JOB) if _attempt(job) == restarts and "deletionTimestamp" not in job["metadata"]]
    if any(is_true(job, "Failed") for job in mine):
        most = (spec.get("failurePolicy") or {}).get("maxRestarts", 0)
        if restarts < most:
            view.status(JOB_SET, body, status | {"restarts": restarts + 1})
            return
        reason = "ReachedMaxRestarts" if most else "FailedJobs"
        said = "jobset failed due to reaching max number of restarts" if most else "jobset failed due to one or more job failures"
        status["conditions"] = with_condition(view, status.get("conditions"), "Failed", True, reason, said)
        status["terminalState"] = "Failed"
        _stop(view, mine)
    elif _succeeded(spec, mine):
        said = "jobset completed successfully"
        status["conditions"] = with_condition(view, status.get("conditions"), "Completed", True, "AllJobsCompleted", said)
        status["terminalState"] = "Completed"
        _stop(view, mine)
    else:
        _jobs(view, body, mine, restarts, subdomain)
        suspended = bool(spec.get("suspend"))
        if suspended or any(one["type"] == "Suspended" for one in status.get("conditions", [])):
            reason, said = ("SuspendedJobs", "jobset is suspended") if suspended else ("ResumeJobs", "jobset is resumed")
            status["conditions"] = with_condition(view, status.get("conditions"), "Suspended", suspended, reason, said)
    status["restarts"] = restarts
    status["replicatedJobsStatus"] = [_counts(one, view.owned(body, JOB)) for one in spec.get("replicatedJobs") or []]
    view.status(JOB_SET, view.get(JOB_SET, meta["namespace"], meta["name"]) or body, status)


def _stop(view: View, mine: list[Body]) -> None:
    for job in mine:
        if not is_over(job):
            view.delete(JOB, job, "Foreground")


def _attempt(job: Body) -> int:
    text = str((job["metadata"].get("labels") or {}).get(f"{OF}/restart-attempt", "0"))
    return int(text) if text.isdecimal() else 0


def _of(job: Body) -> str:
    return str((job["metadata"].get("labels") or {}).get(f"{OF}/replicatedjob-name", ""))


def _succeeded(spec: Body, mine: list[Body]) -> bool:
    policy = spec.get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [one["name"] for one in spec.get("replicatedJobs") or []]
    found = [job for job in mine if _of(job) in targets]
    if policy.get("operator") == "Any":
        return any(is_true(job, "Complete") for job in found)
    wanted = sum(int(one.get("replicas", 1)) for one in spec.get("replicatedJobs") or [] if one["name"] in targets)
    return bool(wanted) and sum(is_true(job, "Complete") for job in found) >= wanted


def _counts(replicated: Body, jobs: list[Body]) -> Body:
    mine = [job for job in jobs if _of(job) == replicated["name"]]
    going = [job for job in mine if not is_over(job)]
    return {
        "name": replicated["name"],
        "ready": sum(_is_ready(job) for job in going),
        "succeeded": sum(is_true(job, "Complete") for job in mine),
        "failed": sum(is_true(job, "Failed") for job in mine),
        "active": sum(job.get("status", {}).get("active", 0) > 0 for job in going),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in going),
    }


def _is_ready(job: Body) -> bool:
    status, spec = job.get("status", {}), job["spec"]
    wanted = min(spec["parallelism"], spec.get("completions") or spec["parallelism"])
    return bool(status.get("ready", 0) + status.get("succeeded", 0) >= wanted)


def _jobs(view: View, body: Body, mine: list[Body], restarts: int, subdomain: str) -> None:
    """Makes the jobs that are lacking, and suspends or resumes them all. Those of one name may wait for those before it."""
    spec, meta = body["spec"], body["metadata"]
    ordered = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    standing = {job["metadata"]["name"] for job in view.owned(body, JOB)}
    total = sum(int(one.get("replicas", 1)) for one in spec.get("replicatedJobs") or [])
    number = 0
    for one in spec.get("replicatedJobs") or []:
        for index in range(min(int(one.get("replicas", 1)), MOST)):
            name = f"{meta['name']}-{one['name']}-{index}"
            if name not in standing and _may_begin(spec, one, mine):
                _make(view, body, one, name, index, number, total, restarts, subdomain)
            number += 1
        ready = [job for job in mine if _of(job) == one["name"] and (_is_ready(job) or is_over(job))]
        if ordered and not spec.get("suspend") and len(ready) < int(one.get("replicas", 1)):
            break
    for job in mine:
        if not is_over(job) and bool(job["spec"].get("suspend")) != bool(spec.get("suspend")):
            changed = {**job, "spec": {**job["spec"], "suspend": bool(spec.get("suspend"))}}
            template = next((one["template"]["spec"]["template"] for one in spec["replicatedJobs"] if one["name"] == _of(job)), None)
            if template is not None and not spec.get("suspend"):  # what Kueue chose for it meanwhile
                inner = {**job["spec"]["template"]["spec"]} | {
                    key: template["spec"][key] for key in ("nodeSelector", "tolerations") if key in template["spec"]
                }
                changed["spec"]["template"] = {**job["spec"]["template"], "spec": inner}
            view.keep(JOB, changed)


def _may_begin(spec: Body, one: Body, mine: list[Body]) -> bool:
    for needed in one.get("dependsOn") or []:
        of: Body = next((other for other in spec["replicatedJobs"] if other["name"] == needed.get("name")), {})
        found = [job for job in mine if _of(job) == needed.get("name")]
        good = sum(
            is_true(job, "Complete") if needed.get("status") == "Complete" else _is_ready(job) or is_true(job, "Complete") for job in found
        )
        if good < int(of.get("replicas", 1)):
            return False
    return True


def _make(view: View, body: Body, one: Body, name: str, index: int, number: int, total: int, restarts: int, subdomain: str) -> None:
    meta = body["metadata"]
    marks = {
        f"{OF}/jobset-name": meta["name"],
        f"{OF}/jobset-uid": meta["uid"],
        f"{OF}/replicatedjob-name": one["name"],
        f"{OF}/replicatedjob-replicas": str(one.get("replicas", 1)),
        f"{OF}/global-replicas": str(total),
        f"{OF}/job-index": str(index),
        f"{OF}/job-global-index": str(number),
        f"{OF}/restart-attempt": str(restarts),
    }
    template = copy.deepcopy(one["template"])
    made, inner = template.get("metadata") or {}, template["spec"]["template"]
    pod = inner.setdefault("metadata", {})
    for some in (made, pod):
        some["labels"] = (some.get("labels") or {}) | marks
        some["annotations"] = (some.get("annotations") or {}) | marks
    made |= {"name": name, "namespace": meta["namespace"]}
    inner.setdefault("spec", {}).setdefault("subdomain", subdomain)
    template["spec"]["suspend"] = bool(body["spec"].get("suspend"))
    view.make(JOB, {"metadata": made, "spec": template["spec"]}, (JOB_SET, body))


# LeaderWorkerSet


def leaders(view: View) -> None:
    for body in view.all(LEADER):
        if "deletionTimestamp" not in body["metadata"]:
            _groups(view, body)


def _groups(view: View, body: Body) -> None:
    """Groups of one leader and its workers. One whose pod is gone or fails is made anew as a whole."""
    spec, meta = body["spec"], body["metadata"]
    template = spec["leaderWorkerTemplate"]
    size, revision = min(int(template.get("size", 1)), MOST), hashed([template, spec.get("networkConfig")])
    most = min(spec["replicas"], MOST // size + 1)
    if view.get(SERVICE, meta["namespace"], meta["name"]) is None:
        service = {"clusterIP": "None", "selector": {f"{LWS}/name": meta["name"]}, "publishNotReadyAddresses": True}
        view.make(SERVICE, {"metadata": {"name": meta["name"], "namespace": meta["namespace"]}, "spec": service}, (LEADER, body))
    wanted = {f"{meta['name']}-{group}{f'-{worker}' if worker else ''}": (group, worker) for group in range(most) for worker in range(size)}
    mine = view.owned(body, POD)
    broken = {_group(pod) for pod in mine if pods.is_over(pod)}
    rolls = next(
        (_group(pod) for pod in reversed(mine) if pod["metadata"]["labels"].get(f"{LWS}/template-revision-hash") != revision), None
    )
    if rolls is not None and _all_ready(view, mine, spec["replicas"], size, besides=rolls):
        broken.add(rolls)
    for pod in mine:
        if (_group(pod) in broken or pod["metadata"]["name"] not in wanted) and "deletionTimestamp" not in pod["metadata"]:
            view.delete(POD, pod)
    going = {_group(pod) for pod in view.owned(body, POD) if "deletionTimestamp" in pod["metadata"]}
    for name, (group, worker) in wanted.items():
        if group not in going and view.get(POD, meta["namespace"], name) is None:
            _member(view, body, name, group, worker, revision)
    mine = [pod for pod in view.owned(body, POD) if pods.lives(pod)]
    by_group: dict[int, list[Body]] = {group: [] for group in range(most)}
    for pod in mine:
        by_group.setdefault(_group(pod), []).append(pod)
    groups = [by_group[group] for group in range(most)]
    ready = sum(len(one) == size and all(map(pods.is_ready, one)) for one in groups)
    updated = sum(
        len(one) == size and all(pod["metadata"]["labels"].get(f"{LWS}/template-revision-hash") == revision for pod in one)
        for one in groups
    )
    done = ready == updated == spec["replicas"]
    conditions = with_condition(
        view,
        body.get("status", {}).get("conditions"),
        "Available",
        done,
        "AllGroupsReady" if done else "GroupsNotReady",
        "All replicas are ready" if done else "Replicas are progressing",
    )
    conditions = with_condition(view, conditions, "Progressing", not done, "GroupsProgressing", "Replicas are progressing")
    status = {"replicas": sum(bool(one) for one in groups), "readyReplicas": ready, "updatedReplicas": updated, "conditions": conditions}
    status["hpaPodSelector"] = f"{LWS}/name={meta['name']},{LWS}/worker-index=0"
    view.status(LEADER, body, status)


def _group(pod: Body) -> int:
    text = str(pod["metadata"]["labels"].get(f"{LWS}/group-index", ""))
    return int(text) if text.isdecimal() else -1


def _all_ready(view: View, mine: list[Body], replicas: int, size: int, *, besides: int) -> bool:
    """Whether every other group runs: one at a time is made anew."""
    return sum(pods.is_ready(pod) and _group(pod) != besides for pod in mine) >= (replicas - 1) * size


def _member(view: View, body: Body, name: str, group: int, worker: int, revision: str) -> None:
    meta, template = body["metadata"], body["spec"]["leaderWorkerTemplate"]
    leader = template.get("leaderTemplate") or template["workerTemplate"]
    labels = {
        f"{LWS}/name": meta["name"],
        f"{LWS}/group-index": str(group),
        f"{LWS}/worker-index": str(worker),
        f"{LWS}/group-key": hashed([meta["uid"], group]),
        f"{LWS}/template-revision-hash": revision,
    }
    pod = pod_of(template["workerTemplate"] if worker else leader, meta, name, **labels)
    size = str(template.get("size", 1))
    pod["metadata"]["annotations"] = (pod["metadata"].get("annotations") or {}) | {f"{LWS}/size": size}
    pod["spec"] |= {"hostname": name, "subdomain": meta["name"]}
    first = f"{meta['name']}-{group}.{meta['name']}.{meta['namespace']}"
    known = [
        {"name": "LWS_LEADER_ADDRESS", "value": first},
        {"name": "LWS_GROUP_SIZE", "value": size},
        {"name": "LWS_WORKER_INDEX", "value": str(worker)},
    ]
    for container in pod["spec"].get("containers") or []:
        container["env"] = [*known, *(container.get("env") or [])]
    view.make(POD, pod, (LEADER, body))
