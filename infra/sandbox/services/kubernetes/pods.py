"""
The life of a pod: it gets a node, its containers begin, and those of a job end.

No container runs here. It is ready after `START_SECONDS`. One that may end does so after the seconds that the annotation
`sandbox.accelform/seconds` says, of the pod or of what made it (Job, JobSet), with the code of `sandbox.accelform/exit-code` (default: 0);
without the annotation it runs until somebody writes the pod's status, as a kubelet does: `PATCH .../pods/NAME/status`.
"""

from __future__ import annotations

from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes.objects import at, seconds, stamp
from infra.sandbox.services.kubernetes.view import POD, View, condition, controller, is_true, with_condition

START_SECONDS = 10.0
"""Virtual seconds from a pod's node to its containers being ready. Ours: it depends on the image."""
SECONDS, EXIT = "sandbox.accelform/seconds", "sandbox.accelform/exit-code"
MOST_SECONDS = 1e9
OVER = ("Succeeded", "Failed")


def is_over(pod: Body) -> bool:
    return pod.get("status", {}).get("phase") in OVER


def lives(pod: Body) -> bool:
    """Whether it counts as one that runs or is to run."""
    return not is_over(pod) and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Body) -> bool:
    return lives(pod) and is_true(pod, "Ready")


def ready_since(pod: Body) -> float | None:
    """When it became ready; None where it is not."""
    found = condition(pod.get("status", {}).get("conditions"), "Ready") if is_ready(pod) else None
    return seconds(found["lastTransitionTime"]) if found else None


def is_available(view: View, pod: Body, least: float) -> bool:
    """Whether it has been ready for long enough; else the controllers look again when it will have been."""
    since = ready_since(pod)
    if since is None:
        return False
    if since + least > view.now:
        view.later(since + least)
    return since + least <= view.now


def fail(view: View, pod: Body, reason: str, message: str, condition_type: str = "") -> Body:
    """A pod that ends without success."""
    status: Body = {**pod.get("status", {}), "phase": "Failed", "reason": reason, "message": message}
    for name in ("Ready", "ContainersReady"):
        status["conditions"] = with_condition(view, status.get("conditions"), name, False, "PodFailed")
    if condition_type:
        status["conditions"] = with_condition(view, status["conditions"], condition_type, True, reason, message)
    status["containerStatuses"] = [_ended(one, view.stamp, 137) for one in status.get("containerStatuses", [])]
    return view.status(POD, pod, status)


def run(view: View) -> None:
    there = {machine.name for machine in view.machines() if not machine.down}
    for pod in view.all(POD):
        if not pod.get("status"):
            pod = view.status(POD, pod, {"phase": "Pending", "qosClass": _quality(pod)})
        if not lives(pod) or not pod["spec"].get("nodeName"):
            continue
        if pod["spec"]["nodeName"] not in there:
            _lost(view, pod)
        else:
            _advance(view, pod)


def _lost(view: View, pod: Body) -> None:
    """Its node is gone. Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/ ("DeletionByPodGC"), read 2026-11."""
    failed = fail(view, pod, "DeletionByPodGC", "PodGC: node no longer exists", "DisruptionTarget")
    if (controller(pod) or {}).get("kind") != "Job":
        view.delete(POD, failed, grace=0)


def _advance(view: View, pod: Body) -> None:
    status = pod["status"]
    scheduled = condition(status.get("conditions"), "PodScheduled")
    begun = seconds(scheduled["lastTransitionTime"]) if scheduled else view.now
    if status["phase"] == "Pending":
        if view.now < begun + START_SECONDS:
            view.later(begun + START_SECONDS)
            return
        pod = _begin(view, pod)
    lasts = _number(declared(view, pod, SECONDS), MOST_SECONDS)
    if pod["spec"].get("restartPolicy") == "Always" or lasts is None:
        return
    since = max(
        (seconds(at(one, "state", "running", "startedAt") or stamp(begun)) for one in pod["status"]["containerStatuses"]), default=begun
    )
    if view.now < since + lasts:
        view.later(since + lasts)
        return
    _end(view, pod, int(_number(declared(view, pod, EXIT), 255) or 0))


def declared(view: View, body: Body, key: str) -> Any:
    """What an annotation says: of the object, else of what made it."""
    while True:
        found = (body["metadata"].get("annotations") or {}).get(key)
        reference = controller(body)
        if found is not None or reference is None:
            return found
        kind = next(
            (kind for kind in view.kinds() if (kind.api_version, kind.name) == (reference.get("apiVersion"), reference.get("kind"))), None
        )
        owner = view.get(kind, body["metadata"].get("namespace", ""), str(reference.get("name"))) if kind else None
        if owner is None or owner["metadata"]["uid"] != reference.get("uid"):
            return None
        body = owner


def _number(text: Any, most: float) -> float | None:
    """A declared number; None where it is none."""
    try:
        found = float(text)
    except (TypeError, ValueError):
        return None
    return found if 0 <= found <= most else None


def _begin(view: View, pod: Body) -> Body:
    status = dict(pod["status"])
    now = view.stamp
    conditions = status.get("conditions")
    for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"):
        conditions = with_condition(view, conditions, name, True, "")
    states = [
        {
            "name": container.get("name", ""),
            "image": container.get("image", ""),
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": now}},
        }
        for container in pod["spec"]["containers"]
    ]
    status |= {"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": states}
    status |= {"podIP": (address := _address(view, pod)), "podIPs": [{"ip": address}]}
    return view.status(POD, pod, status)


def _address(view: View, pod: Body) -> str:
    """An address of the cluster's range for pods."""
    first, _, size = str(view.cluster.body.get("clusterIpv4Cidr", "10.64.0.0/14")).partition("/")
    number = int.from_bytes(bytes(map(int, first.split("."))))
    count = view.cluster.cloud.store.next(f"kubernetes/pods/{view.cluster.name}") % max(1, 2 ** (32 - int(size)) - 2)
    return ".".join(map(str, (number + 1 + count).to_bytes(4)))


def _end(view: View, pod: Body, code: int) -> None:
    """Its containers have ended: it is over, or they begin again."""
    status = dict(pod["status"])
    if code and pod["spec"].get("restartPolicy") == "OnFailure":
        states = [
            {**one, "restartCount": one.get("restartCount", 0) + 1, "state": {"running": {"startedAt": view.stamp}}}
            for one in status["containerStatuses"]
        ]
        view.status(POD, pod, {**status, "containerStatuses": states})
        return
    reason = "PodFailed" if code else "PodCompleted"
    for name in ("Ready", "ContainersReady"):
        status["conditions"] = with_condition(view, status["conditions"], name, False, reason)
    status["containerStatuses"] = [_ended(one, view.stamp, code) for one in status["containerStatuses"]]
    view.status(POD, pod, {**status, "phase": "Failed" if code else "Succeeded"})


def _ended(state: Body, now: str, code: int) -> Body:
    began = at(state, "state", "running", "startedAt") or now
    ended = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": began, "finishedAt": now}
    return {**state, "ready": False, "started": False, "state": {"terminated": ended}}


def restarts(pod: Body) -> int:
    return max((int(one.get("restartCount", 0)) for one in pod.get("status", {}).get("containerStatuses", [])), default=0)


def _quality(pod: Body) -> str:
    """Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/, read 2026-11."""
    every = [one.get("resources") or {} for one in pod["spec"].get("containers") or []]
    if all(not one.get("requests") and not one.get("limits") for one in every):
        return "BestEffort"
    full = all(
        {"cpu", "memory"} <= (one.get("limits") or {}).keys() and (one.get("requests") or one["limits"]) == one["limits"] for one in every
    )
    return "Guaranteed" if full else "Burstable"
