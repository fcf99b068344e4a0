"""The main job: a region with every component comes up in the sandbox, stays, changes and goes, by every door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]


def test_comes_up_stays_changes_and_goes_by_our_commands(everything: dict[str, Any], region: Make) -> None:
    """Up; second up changes nothing; a label updates and replaces nothing; down leaves nothing, in the sandbox or in the checkout."""
    here = region(everything)
    first = here.started("up", "--json")
    assert first.code == 0, first.out + first.err
    assert set(first.changes) == {"create"}
    assert first.json["plugin"] == "stand-in"
    assert here.git_status() == ""
    assert set(here.accelform("up", "--json").changes) == {"same"}
    assert here.accelform("preview").out.startswith(f"{STACK}: no changes: ")

    here.write(everything | {"accelform:owner": "others"})
    changes = here.accelform("up", "--json").changes
    assert set(changes) == {"same", "update"}
    assert changes["update"] == 8  # two buckets, repository, endpoint, model, channel, two machines
    assert set(here.accelform("up", "--json").changes) == {"same"}

    gone = here.started("down", "--json")
    assert gone.code == 0, gone.out + gone.err
    assert gone.json["left"] == []
    assert not here.home.folder.exists()


def test_plain_pulumi_works_in_a_prepared_shell(everything: dict[str, Any], region: Make) -> None:
    """The same stack by `pulumi` alone, with the policy pack, is the one that our commands know; a machine with GPUs is in it."""
    lab = {"machine_type": "n1-standard-8", "accelerator_type": "nvidia-tesla-t4", "accelerator_count": 1, "zone": "us-east5-a"}
    confirmed = [{"what": "nvidia-tesla-t4", "zone": "us-east5-a", "because": "this test needs one there"}]
    here = region(
        everything | {"accelform:gpu_vms": {"lab": lab | {"provisioning": "spot", "max_run_minutes": 60}}, "accelform:confirmed": confirmed}
    )
    pack = ("--policy-pack", "infra/policy", "--stack", STACK, "--non-interactive")
    up = here.pulumi("up", "--yes", "--skip-preview", *pack)
    assert up.code == 0, up.out + up.err
    assert here.git_status() == ""
    assert here.pulumi("preview", "--expect-no-changes", *pack).code == 0
    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes", "--stack", STACK, "--non-interactive")
    assert refreshed.code == 0, refreshed.out + refreshed.err

    # Drift: a label that somebody changed is seen by refresh, and the next up puts it back.
    bucket = next(name for name in here.made() if name.startswith("storage.googleapis.com/b/"))
    sandbox = here.accelform("sandbox", "status", "--json").json["base"]
    url = f"{sandbox}/{bucket.replace('/b/', '/storage/v1/b/', 1)}"
    answer = httpx.patch(url, json={"labels": {"owner": "somebody"}}, trust_env=False)
    assert answer.status_code == 200, answer.text
    drift = here.pulumi("refresh", "--yes", "--skip-preview", "--json", "--stack", STACK, "--non-interactive")
    assert drift.code == 0
    assert '"update":1' in drift.out.replace(" ", "")
    assert here.accelform("up", "--json").changes["update"] == 1
    assert httpx.get(url, trust_env=False).json()["labels"]["owner"] == "ml-team"

    gone = here.accelform("down", "--json")
    assert gone.code == 0, gone.out + gone.err
    assert gone.json["left"] == []


def test_a_stack_file_that_changed_is_not_run_from_its_old_copy(base: dict[str, Any], region: Make) -> None:
    """Plain pulumi runs generated configuration: one that is old is refused, with what to do."""
    here = region(base)
    shell = here.shell()
    here.write(base | {"accelform:owner": "others"})
    ran = here._run(["pulumi", "preview", "--stack", STACK, "--non-interactive"], shell)
    assert ran.code != 0
    assert "accelform env" in ran.out + ran.err
    assert here.pulumi("preview", "--stack", STACK, "--non-interactive").code == 0  # env was asked again


def test_a_stack_does_not_move_and_goes_without_its_file(base: dict[str, Any], region: Make) -> None:
    """Another project in the stack file would replace everything: refused. A destroy needs no stack file at all."""
    here = region(base)
    assert here.accelform("up", "--json").code == 0
    here.write(base | {"gcp:project": "tw-shop-other"})
    moved = here.accelform("up")
    assert moved.code == 5
    assert "project: tw-shop-other: the stack stands in tw-shop-ml" in moved.err
    (here.folder / "stacks" / f"Pulumi.{STACK}.yaml").unlink()
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.err
