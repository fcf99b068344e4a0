"""A GKE cluster and its pools under the real engine: a pool more touches nothing, and none is made anew that nobody named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
STANDARD = {"main": {"mode": "standard"}}
SERVE = {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 2}}
TRAIN = {"cluster": "main", "accelerator_type": "v5litepod-16", "zones": ["us-central1-a"], "provisioning": "spot", "autoscale": {}}


@pytest.mark.soak
def test_a_cluster_comes_up_grows_keeps_its_pools_and_goes(base: dict[str, Any], region: Make) -> None:
    """
    A second preview and a refresh find nothing. A pool more is one resource more, and nothing else. A new driver would make the pool of
    GPUs anew: refused with the field's name, until somebody allows it.
    """
    config = base | {"accelform:region": "us-central1", "accelform:clusters": STANDARD}
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

    here.write(
        config
        | {
            "accelform:node_pools": {
                "serve": SERVE | {"labels": {"team": "ml"}, "autoscale": {"min": 2, "max": 2}, "because": "two stand"},
                "train": TRAIN,
            }
        }
    )
    changes = here.accelform("up", "--json").changes
    assert (changes["update"], changes.keys()) == (1, {"update", "same"})

    here.write(config | {"accelform:node_pools": {"serve": SERVE | {"driver": "latest"}, "train": TRAIN}})
    foreseen = here.accelform("preview", "--json").json["stacks"][0]
    assert (foreseen["exit_code"], foreseen["refused"]) == (3, ["serve"])
    refused = here.accelform("up", "--json")
    assert refused.code == 3, refused.out
    assert "node_pools.serve: nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion" in refused.out
    assert here.accelform("up", "--json", "--allow-replace", "serve").changes["replace"] == 1

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


SLICES = {
    "v5e": {"accelerator_type": "v5litepod-16", "zones": ["us-central1-a"]},
    "v5p": {"accelerator_type": "v5p-16", "zones": ["us-central1-a"]},
    "v6e": {"accelerator_type": "v6e-16", "zones": ["us-central1-b"]},
    "tpu7x": {"accelerator_type": "tpu7x-16", "zones": ["us-central1-c"]},
    "one-host": {"accelerator_type": "v6e-8", "zones": ["us-central1-b"], "nodes": 1},
}


@pytest.mark.soak
def test_slices_of_every_generation_are_as_they_were_written(base: dict[str, Any], region: Make) -> None:
    """
    Each places its hosts in its own way, and the service keeps no kind of a policy by name: neither a second preview nor a refresh finds a
    change (vllm-project/ci-infra pull request 547).
    """
    pools = {name: {"cluster": "main", "provisioning": "on-demand", "because": "it is looked at"} | pool for name, pool in SLICES.items()}
    here = region(base | {"accelform:region": "us-central1", "accelform:clusters": STANDARD, "accelform:node_pools": pools})
    assert set(here.accelform("up", "--json").changes) == {"create"}
    pack = ("--stack", STACK, "--non-interactive")
    for command in (("preview",), ("refresh", "--yes", "--skip-preview")):
        ran = here.pulumi(*command, "--expect-no-changes", *pack)
        assert ran.code == 0, ran.out + ran.err
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


@pytest.mark.soak
def test_calls_grow_as_pools_do(base: dict[str, Any], region: Make) -> None:
    """
    Of an update, and of one that changes nothing: 40 pools ask at most eleven times what 4 ask, beside what the cluster needs itself; and
    looking again asks once for each.
    """
    config = base | {"accelform:region": "us-central1", "accelform:clusters": STANDARD}
    here = region(config)
    calls: dict[int, tuple[int, int]] = {}
    for count in (0, 4, 40):
        pools = {f"serve-{number}": SERVE for number in range(count)}
        here.write(config | ({"accelform:node_pools": pools} if pools else {}))
        assert here.accelform("up", "--json").code == 0
        made = len(here.ask("GET", "calls")["calls"])
        here.ask("DELETE", "calls")
        assert here.accelform("up", "--json").changes.keys() == {"same"}
        calls[count] = (made, len(here.ask("GET", "calls")["calls"]))
        gone = here.accelform("down", "--json")
        assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
    for few, many, floor in zip(calls[4], calls[40], calls[0], strict=True):
        assert many - floor <= 11 * (few - floor), calls


@pytest.mark.soak
def test_what_prod_locks_goes_from_the_sandbox_all_the_same(base: dict[str, Any], region: Make) -> None:
    """A destroy is refused, by the engine and then by the provider, in Google's cloud and here; `down` takes both locks away."""
    prod = {"accelform:environment": "prod", "accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "autopilot"}}}
    here = region(base | prod)
    assert set(here.accelform("up", "--json").changes) == {"create"}
    pack = ("--stack", STACK, "--non-interactive")
    locked = here.pulumi("destroy", "--yes", "--skip-preview", *pack)
    assert "is protected" in locked.out + locked.err
    assert here.pulumi("state", "unprotect", "--all", "--yes", "--stack", STACK).code == 0
    locked = here.pulumi("destroy", "--yes", "--skip-preview", *pack)
    assert "deletion_protection" in locked.out + locked.err
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
