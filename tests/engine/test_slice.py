"""A TPU slice of several hosts under the real engine: a group that is made whole, and changed by being made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
SIXTEEN = {
    "accelerator_type": "v5litepod-16",
    "zone": "us-west4-a",
    "provisioning": "spot",
    "max_run_minutes": "unlimited",
    "because": "it serves at every hour",
}


@pytest.fixture
def slices(base: dict[str, Any]) -> dict[str, Any]:
    """A stack with one spot slice of four hosts."""
    return base | {"accelform:region": "us-west4", "accelform:tpu_slices": {"train": SIXTEEN}}


CLUSTER = {
    "accelform:clusters": {"main": {"mode": "standard"}},
    "accelform:node_pools": {
        "serve": {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 2}},
        "wide": {"cluster": "main", "accelerator_type": "v5litepod-16", "zones": ["us-west4-a"], "provisioning": "spot", "autoscale": {}},
    },
}
"""What stands beside the slice, so that one program is enough: a GKE cluster, with a pool of GPUs and one of TPUs. The rest is in test_gke."""


def test_a_slice_of_several_hosts_comes_up_stays_is_made_anew_and_goes(slices: dict[str, Any], region: Make) -> None:
    """
    Up makes its four hosts, and the cluster beside it; a second preview and a refresh find nothing; down leaves nothing. A change makes it
    anew: its group goes before what it is made from, which cannot go while the group uses it, and no host of the old one stays.
    """
    here = region(slices | CLUSTER)
    assert set(here.accelform("up", "--json").changes) == {"create"}
    assert hosts(here) == 4
    pack = ("--stack", STACK, "--non-interactive")
    previewed = here.pulumi("preview", "--expect-no-changes", "--policy-pack", "infra/policy", *pack)
    assert previewed.code == 0, previewed.out + previewed.err
    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes", *pack)
    assert refreshed.code == 0, refreshed.out + refreshed.err

    larger = SIXTEEN | {"accelerator_type": "v5litepod-32"}  # the policy and the size change, the template does not
    here.write(slices | CLUSTER | {"accelform:tpu_slices": {"train": larger}})
    assert here.accelform("up", "--json").changes["replace"] == 2
    assert hosts(here) == 8

    here.write(slices | CLUSTER | {"accelform:tpu_slices": {"train": larger | {"boot_disk_gib": 200}}})  # the template alone changes
    changes = here.accelform("up", "--json").changes
    assert (set(changes), changes["replace"]) == ({"same", "replace"}, 2)  # nothing was left to do by the one before
    assert hosts(here) == 8
    assert set(here.accelform("up", "--json").changes) == {"same"}

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


def hosts(here: Region) -> int:
    """How many hosts of the slice stand: GKE's nodes are machines too."""
    return len([name for name in here.made() if "/zones/us-west4-a/instances/try-tpu-" in name])
