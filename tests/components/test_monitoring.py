"""Monitoring: what is watched and what is refused, the runbooks, and the dashboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from infra.components import alerts
from infra.components.monitoring import MonitoringSpec, dashboard
from infra.errors import SpecError
from infra.stack import StackSpec

StackFile = Callable[..., Path]
NOTIFY = {"accelform:notify": ["email:ml@shop.example"]}
ALL = alerts.Watched(
    "try",
    "us-east5",
    tpu_machines=True,
    tpu_nodes=True,
    gpu_machines=True,
    gpus_reported=True,
    tpu_clusters=("try-main",),
    gpu_clusters=("try-main", "try-two"),
    shared_clusters=("try-two",),
    slice_pools=("try-big",),
    endpoints={"recommend": alerts.Endpoint("123", 80.0, 0.02, 4)},
)


def test_every_alert_is_there_with_its_runbook_and_the_name_of_its_metric() -> None:
    """A policy takes six conditions; each has one metric and one monitored resource, and what to do is said."""
    found = alerts.alerts(ALL, MonitoringSpec())
    assert {one.name for one in found} == set(get_args(alerts.AlertName))
    for alert in found:
        assert 1 <= len(alert.conditions) <= 6
        for one in alert.conditions:
            assert one.signal.filter.startswith(f'metric.type="{one.signal.metric}" AND resource.type="')
            assert f"`{one.signal.metric}`" in alert.runbook
        assert "**What to do:** " in alert.runbook
    assert (
        'cluster_name=monitoring.regex.full_match("try-main|try-two")'
        in next(one for one in found if one.name == "gpu-memory").conditions[0].signal.filter
    )


@pytest.mark.parametrize(
    ("said", "p95", "errors"),
    [({}, 80.0, 0.02), ({"endpoint_p95_ms": 200, "endpoint_error_percent": 5}, 200.0, 0.05)],
)
def test_an_endpoint_has_the_limits_of_its_rollout_where_the_file_says_none(said: dict[str, Any], p95: float, errors: float) -> None:
    found = {one.name: one.conditions[0].limit for one in alerts.alerts(ALL, MonitoringSpec(**said))}
    assert (found["endpoint-p95"], found["endpoint-errors"], found["replicas-at-maximum"]) == (p95, errors, 3)


def test_the_dashboard_has_each_metric_once_and_no_limit_of_zero() -> None:
    found = alerts.alerts(ALL, MonitoringSpec())
    widgets = json.loads(json.dumps(dashboard("try", found)))["gridLayout"]["widgets"]
    titles = [one["title"] for one in widgets]
    assert sorted(titles) == sorted({condition.signal.title for alert in found for condition in alert.conditions})
    limits = {one["title"]: one["xyChart"].get("thresholds") for one in widgets}
    assert limits["TPU duty cycle, machines"] == [{"value": 70.0, "targetAxis": "Y1"}]
    assert limits["Taken away, machines"] is None


@pytest.mark.parametrize(
    ("said", "more", "where", "words"),
    [
        ({}, {}, "monitoring", "would reach nobody"),
        ({"off": ["gpu-memory"]}, NOTIFY, "monitoring.off.0", "does nothing"),
        ({"off": ["preemptions", "preemptions"]}, NOTIFY, "monitoring.off", "names an alert twice: preemptions"),
        ({"off": ["Preemptions"]}, NOTIFY, "monitoring.off.0", "Preemptions"),
        ({"tpu_duty_cycle_percent": 0}, NOTIFY, "monitoring.tpu_duty_cycle_percent", "too small"),
        ({"memory_percent": 100}, NOTIFY, "monitoring.memory_percent", "too large"),
        ({"memory_percent": float("nan")}, NOTIFY, "monitoring.memory_percent", ""),
        ({"low_minutes": "30"}, NOTIFY, "monitoring.low_minutes", "whole number"),
        ({"idle_minutes": 1381}, NOTIFY, "monitoring.idle_minutes", "too large"),
        ({"endpoint_p95_ms": -1}, NOTIFY, "monitoring.endpoint_p95_ms", "too small"),
        ({"budget_burn": 0.5}, NOTIFY, "monitoring.budget_burn", "no metric of what was spent"),
        ({"tpu": {}}, NOTIFY, "monitoring.tpu", "key"),
        ("yes", NOTIFY, "monitoring", "mapping"),
        (None, NOTIFY, "monitoring", "says nothing"),
    ],
)
def test_what_is_refused(
    base: dict[str, Any], a_slice: dict[str, Any], stack_file: StackFile, said: Any, more: dict[str, Any], where: str, words: str
) -> None:
    with pytest.raises(SpecError) as error:
        StackSpec.load(stack_file(base | more | {"accelform:tpu_slices": {"try": a_slice}, "accelform:monitoring": said}))
    found = [problem for problem in error.value.problems if problem.path == where]
    assert found, error.value.problems
    assert words in found[0].message


def test_nothing_to_watch_is_refused_and_all_alerts_off_need_nobody(
    base: dict[str, Any], a_slice: dict[str, Any], stack_file: StackFile
) -> None:
    with pytest.raises(SpecError, match="does nothing: the stack has no accelerator and no endpoint"):
        StackSpec.load(stack_file(base | NOTIFY | {"accelform:monitoring": {}}))
    off = ["tpu-duty-cycle", "tpu-tensorcore", "tpu-memory", "idle-accelerators", "preemptions"]
    spec = StackSpec.load(stack_file(base | {"accelform:tpu_slices": {"try": a_slice}, "accelform:monitoring": {"off": off}}))
    assert "monitoring.googleapis.com" in spec.services()


def test_clusters_pools_and_machines_that_are_watched(base: dict[str, Any], stack_file: StackFile) -> None:
    """A slice of several hosts is waited for unless its pool may be empty; a cluster of another project has its metrics there."""
    config = (
        base
        | NOTIFY
        | {
            "accelform:region": "us-central1",
            "accelform:clusters": {
                "main": {"mode": "standard"},
                "far": {"existing": "projects/other-shop/locations/us-central1/clusters/far"},
                "near": {"existing": "projects/tw-shop-ml/locations/us-central1/clusters/theirs"},
            },
            "accelform:node_pools": {
                "big": {"cluster": "main", "accelerator_type": "v6e-16", "zones": ["us-central1-b"], "provisioning": "spot"},
                "serve": {"cluster": "near", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 8}},
                "lost": {"cluster": "far", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 8}},
            },
            "accelform:monitoring": {},
        }
    )
    watched = StackSpec.load(stack_file(config)).watched("try")
    assert watched.tpu_clusters == ("try-main",)
    assert (watched.gpu_clusters, watched.shared_clusters) == (("theirs",), ())
    config["accelform:node_pools"]["serve"]["sharing"] = {"strategy": "time-sharing", "clients": 2}
    assert StackSpec.load(stack_file(config)).watched("try").shared_clusters == ("theirs",)
    assert watched.slice_pools == ("try-big",)
    assert (watched.tpu_machines, watched.tpu_nodes, watched.gpu_machines) == (False, False, False)
