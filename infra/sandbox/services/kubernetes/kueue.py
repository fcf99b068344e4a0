"""
Kueue: Jobs and JobSets with a queue's name wait until the quota of its ClusterQueue has room for them.

A workload takes, of each group of resources, the first flavor that has room for all of it, and gets that flavor's labels and tolerations.
What is unused in a cohort is borrowed. Nothing is preempted; admission checks, topologies, fair sharing and partial admission are not here,
and neither are queues of Pods, Deployments and LeaderWorkerSets.

Source: https://kueue.sigs.k8s.io/docs/concepts/, and `pkg/scheduler` of kubernetes-sigs/kueue, read 2026-11.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from infra.catalog.quantities import BadQuantity, quantity
from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import kinds, scheduler
from infra.sandbox.services.kubernetes.jobs import JOB
from infra.sandbox.services.kubernetes.jobsets import JOB_SET
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import NAMESPACE, at, label
from infra.sandbox.services.kubernetes.rules import matches
from infra.sandbox.services.kubernetes.view import View, is_true, with_condition
from infra.sandbox.services.kubernetes.workloads import hashed

GROUP = "kueue.x-k8s.io"
CLUSTER_QUEUE, LOCAL_QUEUE = kinds.named(GROUP, "ClusterQueue"), kinds.named(GROUP, "LocalQueue")
FLAVOR, WORKLOAD = kinds.named(GROUP, "ResourceFlavor"), kinds.named(GROUP, "Workload")
PRIORITY, POD_PRIORITY = kinds.named(GROUP, "WorkloadPriorityClass"), kinds.named("scheduling.k8s.io", "PriorityClass")
QUEUE, CLASS = f"{GROUP}/queue-name", f"{GROUP}/priority-class"
HELD = ("Hold", "HoldAndDrain")
Amounts = dict[str, Decimal]
Chosen = dict[str, str]
"""Resource -> flavor."""


def run(view: View) -> None:
    if not view.all(CLUSTER_QUEUE) and not view.all(LOCAL_QUEUE) and not view.all(WORKLOAD):
        return
    for kind in (JOB, JOB_SET):
        for body in view.all(kind):
            if label(body, QUEUE) and "deletionTimestamp" not in body["metadata"]:
                _follow(view, kind, body)
    _drain(view)
    _admit(view)
    _statuses(view)


def _pod_sets(kind: Kind, body: Body) -> list[Body]:
    """Pods of each sort: name, how many at once, and their template."""
    if kind is JOB:
        return [{"name": "main", "count": int(body["spec"]["parallelism"]), "template": body["spec"]["template"]}]
    found = []
    for one in body["spec"].get("replicatedJobs") or []:
        spec = one["template"]["spec"]
        count = int(one.get("replicas", 1)) * int(spec.get("parallelism") or 1)
        found.append({"name": one["name"], "count": count, "template": spec["template"]})
    return found


def _ended(body: Body) -> bool:
    return any(is_true(body, name) for name in ("Complete", "Completed", "Failed"))


def _follow(view: View, kind: Kind, body: Body) -> None:
    """Each has a workload, which ends with it; and runs only while that is admitted."""
    meta = body["metadata"]
    workload = next(iter(view.owned(body, WORKLOAD)), None)
    if workload is None:
        if _ended(body):
            return
        if not body["spec"].get("suspend"):
            body = view.keep(kind, {**body, "spec": {**body["spec"], "suspend": True}})
        name = f"{kind.name.lower()}-{meta['name'][:200]}-{hashed(meta['uid'])[:5]}"
        spec: Body = {"queueName": label(body, QUEUE), "active": True, "podSets": copy.deepcopy(_pod_sets(kind, body))}
        spec["priority"] = _priority(view, body, spec["podSets"])
        view.make(WORKLOAD, {"metadata": {"name": name, "namespace": meta["namespace"]}, "spec": spec}, (kind, body))
        return
    if workload["spec"]["queueName"] != label(body, QUEUE):
        workload = view.keep(WORKLOAD, {**workload, "spec": {**workload["spec"], "queueName": label(body, QUEUE)}})
    if _ended(body) and not is_true(workload, "Finished"):
        good = is_true(body, "Complete") or is_true(body, "Completed")
        reason, said = ("Succeeded", "Job finished successfully") if good else ("Failed", "Job failed")
        conditions = with_condition(view, workload.get("status", {}).get("conditions"), "Finished", True, reason, said)
        view.status(WORKLOAD, workload, {**workload.get("status", {}), "conditions": conditions})
    elif not _ended(body) and is_true(workload, "Admitted") == bool(body["spec"].get("suspend")):
        view.keep(kind, _started(view, kind, body, workload) if is_true(workload, "Admitted") else _stopped(kind, body, workload))


def _priority(view: View, body: Body, pod_sets: list[Body]) -> int:
    if name := label(body, CLASS):
        return int((view.get(PRIORITY, "", name) or {}).get("value", 0))
    names = [at(one, "template", "spec", "priorityClassName") for one in pod_sets]
    return max((int((view.get(POD_PRIORITY, "", str(name)) or {}).get("value", 0)) for name in names if name), default=0)


def _templates(kind: Kind, body: Body) -> Iterator[tuple[str, Body]]:
    if kind is JOB:
        yield "main", body["spec"]["template"]
    else:
        for one in body["spec"].get("replicatedJobs") or []:
            yield one["name"], one["template"]["spec"]["template"]


def _started(view: View, kind: Kind, body: Body, workload: Body) -> Body:
    """Resumed, on nodes of the flavors that it got."""
    after = copy.deepcopy(body)
    after["spec"]["suspend"] = False
    got = {one["name"]: one["flavors"] for one in workload["status"]["admission"]["podSetAssignments"]}
    for name, template in _templates(kind, after):
        for flavor in dict.fromkeys(got.get(name, {}).values()):
            spec = (view.get(FLAVOR, "", flavor) or {}).get("spec") or {}
            if spec.get("nodeLabels"):
                template["spec"]["nodeSelector"] = (template["spec"].get("nodeSelector") or {}) | spec["nodeLabels"]
            if spec.get("tolerations"):
                template["spec"]["tolerations"] = [*(template["spec"].get("tolerations") or []), *spec["tolerations"]]
    return after


def _stopped(kind: Kind, body: Body, workload: Body) -> Body:
    """Suspended, as it was before it was admitted."""
    after = copy.deepcopy(body)
    after["spec"]["suspend"] = True
    before = {one["name"]: one["template"] for one in workload["spec"]["podSets"]}
    for name, template in _templates(kind, after):
        for field in ("nodeSelector", "tolerations"):
            template["spec"].pop(field, None)
            if field in (before.get(name, {}).get("spec") or {}):
                template["spec"][field] = copy.deepcopy(before[name]["spec"][field])
    return after


def _queue_of(view: View, workload: Body) -> tuple[Body | None, Body | None]:
    """The local queue and the cluster queue of a workload."""
    local = view.get(LOCAL_QUEUE, workload["metadata"]["namespace"], workload["spec"]["queueName"])
    return local, view.get(CLUSTER_QUEUE, "", str(at(local, "spec", "clusterQueue"))) if local else None


def _reserves(workload: Body) -> bool:
    return is_true(workload, "QuotaReserved") and not is_true(workload, "Finished")


def _drain(view: View) -> None:
    """Takes back what runs of a queue that is to be empty."""
    for workload in view.all(WORKLOAD):
        local, queue = _queue_of(view, workload)
        stops = [name for name, one in (("ClusterQueue", queue), ("LocalQueue", local)) if at(one, "spec", "stopPolicy") == "HoldAndDrain"]
        if stops and _reserves(workload):
            said = f"The {stops[0]} is stopped"
            conditions = workload["status"]["conditions"]
            for name, status, reason in (
                ("QuotaReserved", False, "Pending"),
                ("Admitted", False, "NoReservation"),
                ("Evicted", True, f"{stops[0]}Stopped"),
            ):
                conditions = with_condition(view, conditions, name, status, reason, said)
            rest = {key: value for key, value in workload["status"].items() if key != "admission"}
            view.status(WORKLOAD, workload, {**rest, "conditions": conditions})


def _requests(workload: Body) -> dict[str, Amounts] | None:
    """Of each sort of pods what all of them ask for; None where that is no quantity."""
    found = {}
    for one in workload["spec"]["podSets"]:
        need = scheduler.need_of({"spec": at(one, "template", "spec") or {}})
        if need is None:
            return None
        found[one["name"]] = {name: amount * one["count"] for name, amount in need.requests.items()}
    return found


class Quotas:
    """What the queues have, and what of it is used, by queue, flavor and resource."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.nominal: dict[tuple[str, str, str], Decimal] = {}
        self._borrows: dict[tuple[str, str, str], Decimal] = {}
        self._lends: dict[tuple[str, str, str], Decimal] = {}
        self.used: dict[tuple[str, str, str], Decimal] = {}
        self._cohort: dict[str, str] = {}
        for queue in view.all(CLUSTER_QUEUE):
            name = queue["metadata"]["name"]
            self._cohort[name] = str(queue["spec"].get("cohortName") or "")
            for group in queue["spec"].get("resourceGroups") or []:
                for flavor in group["flavors"]:
                    for one in flavor["resources"]:
                        key = (name, flavor["name"], one["name"])
                        self.nominal[key] = _amount(one.get("nominalQuota"))
                        for field, limits in (("borrowingLimit", self._borrows), ("lendingLimit", self._lends)):
                            if one.get(field) is not None:
                                limits[key] = _amount(one[field])
        for workload in view.all(WORKLOAD):
            if _reserves(workload):
                self.take(at(workload, "status", "admission", "clusterQueue"), workload)

    def take(self, queue: Any, workload: Body) -> None:
        for name, amounts in (_requests(workload) or {}).items():
            assigned = workload["status"]["admission"]["podSetAssignments"]
            flavors: Chosen = next((one["flavors"] for one in assigned if one["name"] == name), {})
            for resource, flavor in flavors.items():
                key = (str(queue), flavor, resource)
                self.used[key] = self.used.get(key, Decimal(0)) + amounts.get(resource, Decimal(0))

    def room(self, queue: str, flavor: str, resource: str) -> Decimal:
        """What is left, with what others of the cohort lend."""
        key = (queue, flavor, resource)
        own = self.nominal.get(key, Decimal(0)) - self.used.get(key, Decimal(0))
        if not self._cohort.get(queue):
            return own
        borrowed, lent = Decimal(0), Decimal(0)
        for other, cohort in self._cohort.items():
            if other == queue or cohort != self._cohort[queue]:
                continue
            one = (other, flavor, resource)
            unused = self.nominal.get(one, Decimal(0)) - self.used.get(one, Decimal(0))
            borrowed += max(-unused, Decimal(0))
            lent += min(max(unused, Decimal(0)), self._lends.get(one, Decimal("Infinity")))
        return min(own + lent - borrowed, own + self._borrows.get(key, Decimal("Infinity")))


def _amount(value: Any) -> Decimal:
    try:
        return quantity(value)
    except BadQuantity:
        return Decimal(0)


def _admit(view: View) -> None:
    """The most important first, then the oldest; of a strict queue nobody overtakes."""
    waiting = [one for one in view.all(WORKLOAD) if not _reserves(one) and not is_true(one, "Finished") and one["spec"].get("active", True)]
    quotas, blocked = Quotas(view), set()
    for workload in sorted(waiting, key=lambda one: -int(one["spec"].get("priority") or 0)):
        local, queue = _queue_of(view, workload)
        chosen, why = _fits(view, quotas, workload, local, queue)
        name = queue["metadata"]["name"] if queue else ""
        if chosen is None or name in blocked:
            if queue is not None and queue["spec"].get("queueingStrategy") == "StrictFIFO" and chosen is None:
                blocked.add(name)
            said = with_condition(
                view, workload.get("status", {}).get("conditions"), "QuotaReserved", False, "Pending", why or "It waits for others."
            )
            view.status(WORKLOAD, workload, {**workload.get("status", {}), "conditions": said})
            continue
        requests = _requests(workload) or {}
        assignments = [
            {
                "name": one["name"],
                "count": one["count"],
                "flavors": chosen[one["name"]],
                "resourceUsage": {resource: f"{amount.normalize():f}" for resource, amount in requests[one["name"]].items()},
            }
            for one in workload["spec"]["podSets"]
        ]
        conditions = [one for one in workload.get("status", {}).get("conditions", []) if one["type"] != "Evicted"]
        conditions = with_condition(view, conditions, "QuotaReserved", True, "QuotaReserved", f"Quota reserved in ClusterQueue {name}")
        conditions = with_condition(view, conditions, "Admitted", True, "Admitted", "The workload is admitted")
        admission = {"clusterQueue": name, "podSetAssignments": assignments}
        after = view.status(WORKLOAD, workload, {**workload.get("status", {}), "conditions": conditions, "admission": admission})
        quotas.take(name, after)


def _fits(view: View, quotas: Quotas, workload: Body, local: Body | None, queue: Body | None) -> tuple[dict[str, Chosen] | None, str]:
    """The flavors that a workload gets, or why it gets none."""
    if local is None:
        return None, f"LocalQueue {workload['spec']['queueName']} doesn't exist"
    if queue is None:
        return None, f"ClusterQueue {at(local, 'spec', 'clusterQueue')} doesn't exist"
    if at(local, "spec", "stopPolicy") in HELD:
        return None, f"LocalQueue {local['metadata']['name']} is stopped"
    if at(queue, "spec", "stopPolicy") in HELD:
        return None, f"ClusterQueue {queue['metadata']['name']} is inactive: Stopped"
    if missing := _missing(view, queue):
        return None, f"ClusterQueue {queue['metadata']['name']} is inactive: {missing}"
    if queue["spec"].get("admissionChecks") or queue["spec"].get("admissionChecksStrategy"):
        return None, "The sandbox has no admission checks: this workload waits for ever"
    space = view.get(NAMESPACE, "", workload["metadata"]["namespace"])
    if not matches(queue["spec"].get("namespaceSelector"), at(space, "metadata", "labels")):
        return None, "Workload namespace doesn't match ClusterQueue selector"
    requests = _requests(workload)
    if requests is None:
        return None, "A request is no quantity"
    name, chosen = queue["metadata"]["name"], {}
    taken: dict[tuple[str, str], Decimal] = {}
    for one in workload["spec"]["podSets"]:
        got: Chosen = {}
        left = dict(requests[one["name"]])
        for group in queue["spec"].get("resourceGroups") or []:
            mine = {resource: left.pop(resource) for resource in group["coveredResources"] if resource in left}
            if not mine:
                continue
            flavor, why = _flavor(view, quotas, name, group, mine, one, taken)
            if not flavor:
                return None, f"couldn't assign flavors to pod set {one['name']}: {why}"
            got |= dict.fromkeys(mine, flavor)
            for resource, amount in mine.items():
                taken[flavor, resource] = taken.get((flavor, resource), Decimal(0)) + amount
        if left:
            return None, f"couldn't assign flavors to pod set {one['name']}: resource {min(left)} unavailable in ClusterQueue"
        chosen[one["name"]] = got
    return chosen, ""


def _flavor(
    view: View, quotas: Quotas, queue: str, group: Body, wanted: Amounts, pod_set: Body, taken: dict[tuple[str, str], Decimal]
) -> tuple[str, str]:
    """The first flavor that has room for all of it, on nodes that the pods may be on."""
    reasons = []
    for one in group["flavors"]:
        flavor = one["name"]
        spec = (view.get(FLAVOR, "", flavor) or {}).get("spec") or {}
        selector = at(pod_set, "template", "spec", "nodeSelector") or {}
        if any(selector.get(key, value) != value for key, value in (spec.get("nodeLabels") or {}).items()):
            reasons.append(f"flavor {flavor} doesn't match node affinity")
            continue
        tolerations = [*(at(pod_set, "template", "spec", "tolerations") or []), *(spec.get("tolerations") or [])]
        if taint := next((taint for taint in spec.get("nodeTaints") or [] if not _tolerated(taint, tolerations)), None):
            reasons.append(f"untolerated taint {taint.get('key')} in flavor {flavor}")
            continue
        short = [
            resource
            for resource, amount in wanted.items()
            if amount > quotas.room(queue, flavor, resource) - taken.get((flavor, resource), Decimal(0))
        ]
        if not short:
            return flavor, ""
        reasons.append(f"insufficient unused quota for {short[0]} in flavor {flavor}")
    return "", ", ".join(reasons)


def _tolerated(taint: Body, tolerations: list[Any]) -> bool:
    if taint.get("effect") == "PreferNoSchedule":
        return True
    return any(
        one.get("key", taint.get("key")) == taint.get("key")
        and (one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", ""))
        and one.get("effect") in (None, "", taint.get("effect"))
        for one in tolerations
        if isinstance(one, dict)
    )


def _missing(view: View, queue: Body) -> str:
    names = [one["name"] for group in queue["spec"].get("resourceGroups") or [] for one in group["flavors"]]
    missing = [name for name in names if view.get(FLAVOR, "", name) is None]
    return f"references missing ResourceFlavor(s): {', '.join(missing)}" if missing else ""


def _statuses(view: View) -> None:
    """How many wait and run, and what of the quota is used."""
    quotas, every = Quotas(view), view.all(WORKLOAD)
    for queue in view.all(CLUSTER_QUEUE):
        name = queue["metadata"]["name"]
        mine = [one for one in every if (_queue_of(view, one)[1] or {}).get("metadata", {}).get("name") == name]
        usage = [
            {
                "name": flavor["name"],
                "resources": [
                    {"name": one["name"], "total": f"{quotas.used.get((name, flavor['name'], one['name']), Decimal(0)).normalize():f}"}
                    for one in flavor["resources"]
                ],
            }
            for group in queue["spec"].get("resourceGroups") or []
            for flavor in group["flavors"]
        ]
        stopped, missing = queue["spec"].get("stopPolicy") in HELD, _missing(view, queue)
        said = (
            ("Stopped", "Can't admit new workloads: is stopped.")
            if stopped
            else ("FlavorNotFound", f"Can't admit new workloads: {missing}.")
        )
        said = said if stopped or missing else ("Ready", "Can admit new workloads")
        conditions = with_condition(view, queue.get("status", {}).get("conditions"), "Active", not (stopped or missing), *said)
        view.status(CLUSTER_QUEUE, queue, _count(mine) | {"flavorsReservation": usage, "flavorsUsage": usage, "conditions": conditions})
    for local in view.all(LOCAL_QUEUE):
        meta = local["metadata"]
        mine = [one for one in every if (one["metadata"]["namespace"], one["spec"]["queueName"]) == (meta["namespace"], meta["name"])]
        stopped = local["spec"].get("stopPolicy") in HELD
        there = view.get(CLUSTER_QUEUE, "", str(local["spec"].get("clusterQueue"))) is not None
        said = (
            ("Stopped", "LocalQueue is stopped") if stopped else ("ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
        )
        said = said if stopped or not there else ("Ready", "Can submit new workloads to localQueue")
        conditions = with_condition(view, local.get("status", {}).get("conditions"), "Active", there and not stopped, *said)
        view.status(LOCAL_QUEUE, local, _count(mine) | {"conditions": conditions})


def _count(workloads: list[Body]) -> Body:
    going = [one for one in workloads if not is_true(one, "Finished")]
    reserving = sum(map(_reserves, going))
    return {"pendingWorkloads": len(going) - reserving, "reservingWorkloads": reserving, "admittedWorkloads": reserving}
