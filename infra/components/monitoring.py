"""Monitoring: alerts on what the stack holds, each with what to do, and a dashboard of the same metrics. Mail goes to `notify`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

import pulumi
from pydantic import AfterValidator, Field

from infra import gcp
from infra.components.alerts import PERIOD_SECONDS, Alert, AlertName, Condition, Signal, Watched, alerts
from infra.components.placement import Placement
from infra.spec import Number, Spec, WholeNumber, YesNo, problem

AUTO_CLOSE = "3600s"
"""An incident whose machine is gone, and with it its data, is closed after it. Google's own default is seven days."""


def _once(value: list[AlertName]) -> list[AlertName]:
    if twice := sorted({name for name in value if value.count(name) > 1}):
        raise problem(f"names an alert twice: {', '.join(twice)}", fix="name each once")
    return value


Percent = Annotated[Number, Field(gt=0, le=99)]
Minutes = Annotated[WholeNumber, Field(ge=5, le=23 * 60)]
"""Google looks back for a day at most, the five minutes that points are put together over included."""


class MonitoringSpec(Spec):
    """
    What is watched, and from where on it is an alarm. `{}` watches all that the stack holds. An alert of which the stack has nothing is
    not made.
    """

    never: ClassVar[dict[str, str]] = {
        "existing": "policies of others go on as they are: only a channel of theirs is named, under `notify`",
        "budget_burn": "Cloud Monitoring has no metric of what was spent: `budgets` mail by their own thresholds and forecasts",
    }

    off: Annotated[list[AlertName], AfterValidator(_once)] = []
    """Alerts that are not made, by name."""
    dashboard: YesNo = True
    """Whether a dashboard is made, with every metric of the alerts, those that are off too."""
    tpu_duty_cycle_percent: Percent = 70.0
    """`tpu-duty-cycle`: percent of the time below which TPUs work too little."""
    tensorcore_percent: Percent = 10.0
    """`tpu-tensorcore`: percent of their arithmetic below which TPUs do too little."""
    gpu_duty_cycle_percent: Percent = 70.0
    """`gpu-duty-cycle`: percent of the time below which GPUs work too little."""
    memory_percent: Percent = 95.0
    """`tpu-memory` and `gpu-memory`: percent of the memory above which it is nearly full."""
    low_minutes: Minutes = 30
    """Minutes that duty cycle, tensorcore or memory must be so."""
    idle_minutes: Minutes = 60
    """`idle-accelerators`: minutes without any work."""
    queue_wait_minutes: Minutes = 30
    """`queue-wait`: minutes that a node pool of a slice of several hosts is not whole."""
    endpoint_p95_ms: Annotated[Number, Field(gt=0)] | None = None
    """`endpoint-p95`: milliseconds within which 95 in a hundred requests are answered. (default: the guard of the endpoint's rollout, 1000
    without one)"""
    endpoint_error_percent: Percent | None = None
    """`endpoint-errors`: percent of the answers that are errors. (default: the guard of the endpoint's rollout, 1 without one)"""
    endpoint_minutes: Minutes = 5
    """Minutes that an endpoint must be too slow, or wrong."""
    at_maximum_minutes: Minutes = 30
    """`replicas-at-maximum`: minutes that all replicas run."""


class Monitoring(pulumi.ComponentResource):
    """An alert policy for each alert that is on, and the dashboard."""

    def __init__(
        self,
        name: str,
        spec: MonitoringSpec,
        *,
        watched: Watched,
        channels: Iterable[pulumi.Input[str]],
        placement: Placement,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("accelform:monitoring:Monitoring", name, None, opts)
        found = alerts(watched, spec)
        ids = list(channels)
        child = pulumi.ResourceOptions(parent=self)
        for alert in found:
            if alert.name not in spec.off:
                gcp.monitoring.AlertPolicy(
                    alert.key,
                    project=placement.project,
                    display_name=f"{placement.stack} {alert.key}",
                    combiner="OR",
                    conditions=[condition_of(one) for one in alert.conditions],
                    notification_channels=ids,
                    documentation={"content": alert.runbook, "mime_type": "text/markdown"},
                    alert_strategy={"auto_close": AUTO_CLOSE},
                    user_labels=placement.labels,
                    opts=child,
                )
        if spec.dashboard:
            text = json.dumps(dashboard(placement.stack, found), sort_keys=True, separators=(",", ":"))
            gcp.monitoring.Dashboard(name, project=placement.project, dashboard_json=text, opts=child)
        self.register_outputs({})


def condition_of(condition: Condition) -> dict[str, Any]:
    signal = condition.signal
    aggregation = {
        "alignment_period": f"{PERIOD_SECONDS}s",
        "per_series_aligner": signal.aligner,
        "cross_series_reducer": signal.reducer,
        "group_by_fields": [signal.by],
    }
    ratio = {"denominator_filter": signal.denominator, "denominator_aggregations": [aggregation]} if signal.denominator else {}
    return {
        "display_name": signal.title,
        "condition_threshold": {
            "filter": signal.filter,
            "aggregations": [aggregation],
            "comparison": "COMPARISON_LT" if condition.below else "COMPARISON_GT",
            "threshold_value": condition.limit,
            "duration": f"{condition.minutes * 60}s",
            **ratio,
        },
    }


def dashboard(stack: str, found: Iterable[Alert]) -> dict[str, Any]:
    """A dashboard as Google's API takes it: a chart for each metric, with the limit of the first alert that looks at it."""
    charts: dict[Signal, float] = {}
    for alert in found:
        for one in alert.conditions:
            charts.setdefault(one.signal, one.limit)
    widgets = [_chart(signal, limit) for signal, limit in charts.items()]
    return {"displayName": f"{stack} accelerators", "gridLayout": {"columns": "2", "widgets": widgets}}


def _chart(signal: Signal, limit: float) -> dict[str, Any]:
    whole: dict[str, Any] = {"filter": signal.filter, "aggregation": signal.aggregation}
    query = {"timeSeriesFilter": whole}
    if signal.denominator:
        query = {"timeSeriesFilterRatio": {"numerator": whole, "denominator": whole | {"filter": signal.denominator}}}
    return {
        "title": signal.title,
        "xyChart": {
            "dataSets": [{"plotType": "LINE", "targetAxis": "Y1", "timeSeriesQuery": query}],
            # Google does not answer with a limit of 0: it would be a change at every preview.
            **({"thresholds": [{"value": limit, "targetAxis": "Y1"}]} if limit else {}),
        },
    }
