"""Controllers: that Kueue's configuration is whole, and that a system pool too small for them is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest

from infra.apps import AppsSpec
from infra.in_cluster.controllers import CHARTS, Controller, kueue_config, warnings

Apps = Callable[..., AppsSpec]
Refused = Callable[..., dict[str, str]]


def test_every_controller_has_a_chart() -> None:
    """What a file may name is what can be installed, each at one version."""
    assert tuple(CHARTS) == get_args(Controller)
    assert all(chart.version.count(".") == 2 for chart in CHARTS.values())
    assert {chart.namespace for chart in CHARTS.values()} == {"kueue-system", "jobset-system", "lws-system", "kuberay-system"}


def test_kueue_takes_in_what_names_a_queue() -> None:
    """Jobs without a queue run as ever."""
    config = json.loads(kueue_config())
    assert config["manageJobsWithoutQueueName"] is False
    assert config["integrations"] == {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]}
    assert (config["apiVersion"], config["kind"]) == ("config.kueue.x-k8s.io/v1beta2", "Configuration")


@pytest.mark.parametrize(
    ("machine", "nodes", "short"),
    [("e2-standard-2", 1, []), ("n1-standard-2", 1, []), ("e2-highcpu-2", 1, ["kuberay-operator"]), ("e2-highcpu-2", 2, [])],
)
def test_warns_where_the_system_pool_holds_not_all_of_them(machine: str, nodes: int, short: list[str], apps: Apps) -> None:
    """As many as fit are placed first; who finds no room is named, with what it asks for."""
    pool = {"machine_type": machine, "max_nodes": nodes}
    spec = apps({"clusters": {"main": {"mode": "standard", "system_pool": pool}}})
    found = list(warnings(tuple(CHARTS), spec.system_nodes))
    assert [one.message.partition(" ")[0] for one in found] == short


def test_nothing_is_known_of_nodes_that_google_or_others_make(apps: Apps) -> None:
    """On Autopilot nodes come as pods ask."""
    spec = apps({"clusters": {"main": {"mode": "autopilot"}}})
    assert spec.system_nodes == ()
    assert list(warnings(tuple(CHARTS), spec.system_nodes)) == []


def test_fails_with_a_controller_that_there_is_not(refused: Refused) -> None:
    """Only those are named that something of the file may need, and each once."""
    region: dict[str, Any] = {"clusters": {"main": {"mode": "standard"}}}
    assert "kueue" in refused(region, existing_controllers=["Kueue"])["existing_controllers.0"]
    assert "names somebody twice" in refused(region, existing_controllers=["kueue", "kueue"])["existing_controllers"]
