"""`accelform preview` by the real engine: it says what `up` then does, and changes nothing. And both commands by a user's own Pulumi CLI."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infra.check import StackFile, check
from infra.cost.estimate import estimate
from infra.local.engine.state import read
from infra.local.stored import stored
from tests.engine.conftest import Project, Ran
from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]


def files(folder: Path) -> dict[str, bytes]:
    """What a stack's backend and its generated configuration hold."""
    found = [path for name in ("state", "stacks", "project") for path in (folder / name).rglob("*")]
    return {str(path): path.read_bytes() for path in found if path.is_file() and "infra" not in path.parts and ".venv" not in path.parts}


@pytest.mark.soak
def test_says_what_up_then_does_and_changes_nothing(everything: dict[str, Any], region: Make) -> None:
    """Before anything is up; with nothing to do; where machines and data go. What is stored costs what the file says, to the last digit."""
    here = region(everything)
    first = here.accelform("preview", "--json")
    assert first.code in (0, 4), first.err
    (seen,) = first.json["stacks"]
    assert (seen["up"], seen["counts"]["same"], set(seen["counts"])) == (False, 0, {"create", "same"})
    assert here.accelform("env", "--json").code == 0  # makes the stack; the preview did not
    before = files(here.home.folder)
    assert here.accelform("preview", "--json").json["stacks"][0]["changes"] == seen["changes"]
    assert files(here.home.folder) == before

    assert here.accelform("up", "--json").code == 0
    before = files(here.home.folder)
    nothing = here.accelform("preview")
    assert nothing.out.startswith(f"{STACK}: no changes: ")
    assert files(here.home.folder) == before
    checked = check(StackFile(STACK, here.folder / "stacks" / f"Pulumi.{STACK}.yaml"))
    stands = estimate(stored(read(here.home.state, STACK)), checked.spec.usage, region=checked.spec.region)
    assert (stands.total, stands.unknown) == (checked.estimate.total, checked.estimate.unknown)

    changed = {key: value for key, value in everything.items() if key != "accelform:models"}
    slices = everything["accelform:tpu_slices"]
    here.write(changed | {"accelform:tpu_slices": slices | {"node": slices["node"] | {"accelerator_type": "v6e-4"}}})
    (seen,) = here.accelform("preview", "--json").json["stacks"]
    worst = [(one["op"], one["name"], one["lost"]["kind"]) for one in seen["changes"] if one["lost"]]
    assert worst == [("replace", "node", "accelerators"), ("delete", "recommender", "data")]
    assert seen["changes"][0]["causes"]
    assert Decimal(seen["cost"]["difference_usd_month"]["expected"]) > 0
    done = here.accelform("up", "--json").changes
    assert (seen["counts"]["replace"], seen["counts"]["delete"]) == (1, 1)
    assert (done["replace"], done["delete"]) == (1, 3)  # the model's group and its provider are no resources to a person
    assert here.accelform("down", "--json").code == 0


def own(stack: Project, *arguments: str) -> Ran:
    """Our command in the project's folder, with an environment in which the user's own CLI, backend and plugins are."""
    folder = stack.folder / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "pulumi").exists():
        (folder / "pulumi").symlink_to(stack.engine)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI", "GOOGLE", "ECHO"))}
    env = {
        "PATH": f"{folder}{os.pathsep}{kept['PATH']}",
        "PULUMI_HOME": str(stack.folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{stack.folder / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "only for this test",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
        "ACCELFORM_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [f"{sys.prefix}/bin/accelform", *arguments],
        cwd=stack.folder,
        env=kept | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Ran(done.returncode, done.stdout + done.stderr)


@pytest.mark.soak
def test_the_users_own_cli_previews_makes_and_destroys_a_stack_of_prod(
    base: dict[str, Any], project: Callable[[dict[str, Any]], Project]
) -> None:
    """Nothing of the sandbox is started or written. What is protected stays until it is unprotected as the refusal says."""
    config = base | {"accelform:environment": "prod"}
    stack = project(config)
    assert "not up yet" in own(stack, "preview", "--cloud").text
    assert own(stack, "up", "--cloud").code == 2
    made = own(stack, "up", "--cloud", "--yes")
    assert made.code == 0, made.text
    assert "no changes" in own(stack, "preview", "--cloud").text
    assert not (stack.folder / ".accelform").exists()

    refused = own(stack, "down", "--cloud", "try", "--confirm", "try")
    assert refused.code == 3, refused.text
    assert own(stack, "preview", "--cloud").text.startswith("try: no changes")  # nothing went
    kept = own(stack, "down", "--cloud", "try", "--confirm", "try", "--keep-protected")
    assert kept.code == 0, kept.text
    assert "what is protected stands: Repository images, Bucket data, Bucket models" in kept.text
    for line in refused.text.splitlines():
        if line.strip().startswith("pulumi state unprotect"):
            assert stack.run("state", "unprotect", line.split("'")[1], "--stack", "try", "--yes").code == 0
    gone = own(stack, "down", "--cloud", "try", "--confirm", "try")
    assert gone.code == 0, gone.text
    assert own(stack, "down", "--cloud", "try").text == "try: nothing of it stands\n"
