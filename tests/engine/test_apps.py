"""What lives in a cluster, under the real engine: a stack of its own, made after the region and taken away before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
APPS = f"{STACK}-apps"

POOL = {"cluster": "main", "accelerator_type": "v5litepod-4", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {"max": 1}}
TRAINS: dict[str, Any] = {
    "accelform:images": {"train": f"us-central1-docker.pkg.dev/tw-shop-ml/try-images/train@sha256:{64 * '0'}"},
    "accelform:priorities": {"low": {"value": 1}},
    "accelform:queues": {"tpus": {"namespace": "serving", "quotas": [{"node_pool": "tpu", "accelerators": 4}]}},
    "accelform:jobs": {
        "train": {
            "namespace": "serving",
            "workload": "train_recommender",
            "args": ["--example"],
            "queue": "tpus",
            "priority": "low",
            "max_run_minutes": 60,
        }
    },
}
"""A job that waits in a queue, which takes two controllers."""


def test_what_lives_in_a_cluster_comes_up_changes_and_goes(base: dict[str, Any], region: Make) -> None:
    """
    A second preview and a refresh find nothing; a change touches what it names, and no run of a job is begun again for it. A region does
    not go while something lives in its cluster; with it, nothing is left.
    """
    own = {"accelform:clusters": {"main": {"mode": "standard"}}, "accelform:node_pools": {"tpu": POOL}}
    config = base | {"accelform:region": "us-central1"}
    here = region(config | own)
    apps = {key: value for key, value in config.items() if key != "accelform:budgets"}
    apps |= {"accelform:kind": "apps", "accelform:region_stack": STACK, "accelform:namespaces": {"serving": {}}} | TRAINS
    here.write(apps, APPS)
    up = here.accelform("up", "--json")
    assert up.code == 0, up.out + up.err
    assert [one["stack"] for one in up.json["stacks"]] == [STACK, APPS]
    assert up.json["stacks"][1]["changes"].keys() == {"create"}

    pack = ("--stack", APPS, "--non-interactive")
    previewed = here.pulumi("preview", "--expect-no-changes", "--policy-pack", "infra/policy", *pack)
    assert previewed.code == 0, previewed.out + previewed.err
    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes", *pack)
    assert refreshed.code == 0, refreshed.out + refreshed.err

    changed = {"accelform:namespaces": {"serving": {"closed": False}}, "accelform:priorities": {"low": {"value": 2}}}
    here.write(apps | changed, APPS)
    done = here.accelform("up", APPS, "--json")
    assert {kind: count for kind, count in done.changes.items() if kind != "same"} == {"update": 1, "replace": 1, "delete": 1}

    alone = here.accelform("down", STACK, "--json")
    assert alone.code == 5
    assert f"fix: accelform down {STACK} {APPS}" in alone.out + alone.err
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
    assert [one["stack"] for one in gone.json["stacks"]] == [APPS, STACK]
