"""A GKE cluster and its pools under the real engine: a pool more touches nothing, and none is made anew that nobody named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
SERVE = {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 2}}
TRAIN = {"cluster": "main", "accelerator_type": "v5litepod-16", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {}}


@pytest.mark.soak
def test_a_cluster_comes_up_grows_keeps_its_pools_and_goes(base: dict[str, Any], region: Make) -> None:
    """
    A second preview and a refresh find nothing. A pool more is one resource more, and nothing else. A new driver would make the pool of
    GPUs anew: refused with the field's name, until somebody allows it.
    """
    config = base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}
    here = region(config | {"accelform:node_pools": {"serve": SERVE}})
    assert set(here.accelform("up", "--json").changes) == {"create"}
    pack = ("--stack", STACK, "--non-interactive")
    previewed = here.pulumi("preview", "--expect-no-changes", "--policy-pack", "infra/policy", *pack)
    assert previewed.code == 0, previewed.out + previewed.err
    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes", *pack)
    assert refreshed.code == 0, refreshed.out + refreshed.err

    here.write(config | {"accelform:node_pools": {"serve": SERVE, "train": TRAIN}})
    changes = here.accelform("up", "--json").changes
    assert changes.keys() == {"create", "same"}
    assert changes["create"] == 2  # the pool and its group

    here.write(config | {"accelform:node_pools": {"serve": SERVE | {"driver": "latest"}, "train": TRAIN}})
    refused = here.accelform("up", "--json")
    assert refused.code == 3, refused.out
    assert "node_pools.serve: nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion" in refused.out
    assert here.accelform("up", "--json", "--allow-replace", "serve").changes["replace"] == 1

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
