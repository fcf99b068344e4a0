"""What the engine makes of a program, over a provider that only echoes: answers that the sandbox does not give, and reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[[dict[str, Any]], Any]


def test_what_others_own_is_never_destroyed(base: dict[str, Any], a_slice: dict[str, Any], project: Make) -> None:
    """Existing things are read, and no delete of theirs is ever planned."""
    base["accelform:network"] = {"existing": "projects/host/regions/us-east5/subnetworks/ml"}
    base["accelform:tpu_slices"] = {"eval": a_slice}
    base["accelform:storage"] = {
        "data": {"existing": "shop-clicks", "location": "us-east5"},
        "images": {"existing": "projects/other/locations/us-east5/repositories/images"},
    }
    stack = project(base)
    assert stack.run("up", "--yes", "--skip-preview").code == 0
    text = stack.run("destroy", "--yes", "--skip-preview").text
    assert "deleted" in text
    for kind in ("Subnetwork", "storage:Bucket data", "Repository images"):
        assert f"gcp:{kind} deleted" not in text


def test_the_pack_passes_the_program_and_stops_what_strays(everything: dict[str, Any], project: Make) -> None:
    """Every rule holds over the whole program, unknowns included; a bucket elsewhere stops the preview before anything is made."""
    stack = project(everything)
    fine = stack.run("preview", "--policy-pack", "infra/policy")
    assert fine.code == 0, fine.text
    program = stack.folder / "infra" / "__main__.py"
    program.write_text(
        program.read_text(encoding="utf-8") + "\nfrom infra import gcp\n\ngcp.storage.Bucket('astray', location='US')\n", encoding="utf-8"
    )
    stopped = stack.run("preview", "--policy-pack", "infra/policy")
    assert stopped.code != 0
    assert "[mandatory]" in stopped.text
    assert "location: US is not us-east5 or a zone of it" in stopped.text


@pytest.mark.parametrize(
    ("env", "change", "said"),
    [
        ({"ECHO_CURRENCY": "TWD"}, {}, "budgets.monthly.amount: 350000 USD is not in the billing account's currency, TWD"),
        (
            {"ECHO_BUCKET_LOCATION": "US"},
            {"accelform:storage": {"data": {"existing": "shop-clicks", "location": "us-east5"}}},
            "storage.data.location: bucket shop-clicks stands in US, not in us-east5",
        ),
        ({}, {"accelform:regoin": "us-east5"}, "regoin: is not a key here"),
    ],
)
def test_fails_in_a_sentence_before_anything_is_made(
    env: dict[str, str], change: dict[str, Any], said: str, base: dict[str, Any], project: Make
) -> None:
    """Another currency, a bucket elsewhere and a misspelt key end the preview with their sentence, once, and no traceback."""
    ran = project(base | change).run("preview", **env)
    assert ran.code != 0
    assert said in ran.text
    assert "Traceback" not in ran.text
