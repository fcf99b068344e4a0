"""What lives in a cluster, under the real engine: a stack of its own, made after the region and taken away before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
APPS = f"{STACK}-apps"


def test_what_lives_in_a_cluster_comes_up_changes_and_goes(base: dict[str, Any], region: Make) -> None:
    """
    A second preview and a refresh find nothing; a change touches what it names. A region does not go while something lives in its
    cluster; with it, nothing is left.
    """
    config = base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}
    here = region(config)
    apps = {key: value for key, value in config.items() if key not in ("accelform:budgets", "accelform:clusters")}
    apps |= {"accelform:kind": "apps", "accelform:region_stack": STACK, "accelform:namespaces": {"serving": {}}}
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

    here.write(apps | {"accelform:namespaces": {"serving": {"pod_security": "restricted"}}}, APPS)
    assert here.accelform("up", APPS, "--json").changes.keys() == {"update", "same"}

    alone = here.accelform("down", STACK, "--json")
    assert alone.code == 5
    assert f"fix: accelform down {STACK} {APPS}" in alone.out + alone.err
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
    assert [one["stack"] for one in gone.json["stacks"]] == [APPS, STACK]
