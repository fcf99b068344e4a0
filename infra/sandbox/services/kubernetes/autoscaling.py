"""
The horizontal pod autoscaler: as many replicas as a declared load wants, within the limits.

Nothing is measured here. `POST /sandbox/loads` says of each metric what all pods have of it together: percents of their requests for a
target of utilization, else the value: `{"autoscaler": "projects/P/locations/L/clusters/C/namespaces/N/NAME", "metrics": {"cpu": 340}}`.
Without it replicas only are brought within the limits.

Source: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/, read 2026-11: a tenth above or below the target changes
nothing, and fewer pods come only after five minutes that wanted fewer.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

from infra.catalog.quantities import BadQuantity, quantity
from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import fields, kinds
from infra.sandbox.services.kubernetes.objects import STORED, Cluster, at
from infra.sandbox.services.kubernetes.view import MANAGER, View, with_condition

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

AUTOSCALER = kinds.named("autoscaling", "HorizontalPodAutoscaler")
FACT = f"{STORED}/loads"
CALM_SECONDS, TOLERANCE = 300.0, 0.1
MOST = 1e12


def declare(cloud: Cloud, sent: Any) -> None:
    """
    Says what the pods of an autoscaler's target have of its metrics, from now on.

    Raises:
        ValueError: It says something else, or there is no such autoscaler.
    """
    if set(sent) != {"autoscaler", "metrics"} or not isinstance(sent["metrics"], dict) or not isinstance(sent["autoscaler"], str):
        raise ValueError(f"a load of an autoscaler has autoscaler and metrics; got {', '.join(map(str, sent))}")
    for name, one in sent["metrics"].items():
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= MOST:
            raise ValueError(f"metrics.{name}: {one!r} is not a number from 0 to {MOST:g}")
    name = cloud.projects.by_id(sent["autoscaler"])
    cluster, _, rest = name.partition("/namespaces/")
    namespace, _, last = rest.partition("/")
    if Cluster(cloud, cluster).get(AUTOSCALER, namespace, last) is None:
        raise ValueError(f"autoscaler: there is no HorizontalPodAutoscaler {name!r} in the sandbox")
    cloud.store.set_fact(FACT, shown(cloud) | {name: sent["metrics"]})
    cloud.kubernetes.changed = True
    cloud.pass_time()


def shown(cloud: Cloud) -> dict[str, Any]:
    """Autoscaler -> the load that was declared of it."""
    return dict(cloud.store.fact(FACT) or {})


def clear(cloud: Cloud) -> None:
    cloud.store.set_fact(FACT, {})
    cloud.kubernetes.changed = True


def run(view: View) -> None:
    loads = shown(view.cluster.cloud) if view.all(AUTOSCALER) else {}
    for body in view.all(AUTOSCALER):
        meta = body["metadata"]
        _scale(view, body, loads.get(f"{view.cluster.name}/namespaces/{meta['namespace']}/{meta['name']}"))


def _scale(view: View, body: Body, load: Any) -> None:
    meta, spec, status = body["metadata"], body["spec"], dict(body.get("status", {}))
    reference = spec["scaleTargetRef"]
    kind = next(
        (one for one in view.kinds() if one.scale and (one.api_version, one.name) == (reference.get("apiVersion"), reference.get("kind"))),
        None,
    )
    target = view.get(kind, meta["namespace"], reference["name"]) if kind else None
    if kind is None or target is None:
        said = (False, "FailedGetScale", f"the HPA controller was unable to get the target's current scale: {reference['name']} not found")
        view.status(AUTOSCALER, body, {**status, "conditions": with_condition(view, status.get("conditions"), "AbleToScale", *said)})
        return
    has = int(target["spec"].get("replicas", 1))
    wanted = _wanted(spec, load, has)
    conditions = with_condition(
        view, status.get("conditions"), "AbleToScale", True, "ReadyForNewScale", "recommended size matches current size"
    )
    active = (
        (True, "ValidMetricFound", "the HPA was able to compute the replica count")
        if wanted is not None
        else (
            False,
            "FailedGetResourceMetric",
            "the HPA was unable to compute the replica count: no load is declared in the sandbox",
        )
    )
    conditions = with_condition(view, conditions, "ScalingActive", *active)
    least, most = int(spec.get("minReplicas", 1)), int(spec["maxReplicas"])
    bounded = min(max(has if wanted is None else wanted, least), most)
    key = f"{FACT}/{view.cluster.name}/{meta['uid']}"
    store = view.cluster.cloud.store
    if has == 0 or bounded >= has or has > most:
        store.set_fact(key, None)
    else:
        since = store.fact(key)
        if since is None:
            store.set_fact(key, since := view.now)
        if since + CALM_SECONDS > view.now:
            view.later(since + CALM_SECONDS)
            bounded = has
        else:
            store.set_fact(key, None)
    if has and bounded != has:
        after = copy.deepcopy(target)
        after["spec"]["replicas"] = bounded
        fields.written(target, after, MANAGER, kind.api_version, view.stamp, "scale")
        view.keep(kind, after)
        status["lastScaleTime"] = view.stamp
    status |= {"currentReplicas": int(target.get("status", {}).get("replicas", 0)), "desiredReplicas": bounded if has else 0}
    view.status(AUTOSCALER, body, {**status, "observedGeneration": meta.get("generation", 1), "conditions": conditions})


def _wanted(spec: Body, load: Any, has: int) -> int | None:
    """The most that any metric wants; None where none is known."""
    found = []
    for metric in spec.get("metrics") or []:
        inner = metric.get(
            {"Resource": "resource", "ContainerResource": "containerResource"}.get(metric.get("type"), str(metric.get("type")).lower())
        )
        name = at(inner, "name") or at(inner, "metric", "name")
        target = at(inner, "target") or {}
        each = target.get("averageUtilization") or target.get("averageValue") or target.get("value")
        if not isinstance(load, dict) or name not in load or each is None:
            continue
        try:
            exact = float(load[name]) / float(quantity(each))
        except (BadQuantity, ZeroDivisionError):
            continue
        found.append(has if has and abs(exact / has - 1) <= TOLERANCE else math.ceil(exact))
    return max(found) if found else None
