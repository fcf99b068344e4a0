"""A foundation and a region under the real engine: the one first, the other's mail by its channels, and last down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
ONCE = {"accelform:kind": "foundation", "accelform:notify": ["email:ml@shop.example"]}
WHOLE = ONCE | {
    "accelform:pipeline": {"repository": "shop/ml", "repository_id": 123, "owner_id": 45, "environment": "production"},
    "accelform:quota_requests": {
        "h100": {
            "service": "compute.googleapis.com",
            "quota_id": "GPUS-PER-GPU-FAMILY-per-project-region",
            "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
            "value": 8,
            "contact": "email:ml@shop.example",
            "justification": "One machine, every night",
        }
    },
}


def test_a_foundation_comes_first_and_goes_last(base: dict[str, Any], region: Make) -> None:
    """The region's budget mails to the foundation's channel. What nobody can delete is not left over."""
    told = {"accelform:foundation": "once", "accelform:budgets": {"own": {"amount": "9 USD", "scope": "stack"}}}
    here = region(base | told)
    here.write(base | ONCE, "once")
    up = here.accelform("up", "--json")
    assert up.code == 0, up.out + up.err
    assert [(one["stack"], set(one["changes"])) for one in up.json["stacks"]] == [("once", {"create"}), ("try", {"create"})]
    made = here.made()
    assert [sum(f"/{kind}" in one for one in made) for kind in ("budgets", "notificationChannels")] == [2, 1]

    gone = here.accelform("down", "--json")
    assert gone.code == 0, gone.out + gone.err
    assert ([one["stack"] for one in gone.json["stacks"]], gone.json["left"]) == (["try", "once"], [])


@pytest.mark.soak
def test_a_whole_foundation_comes_stays_and_goes(base: dict[str, Any], region: Make) -> None:
    """With a pipeline and a request, which is granted meanwhile: neither a second up nor a refresh finds anything to do."""
    here = region(base | WHOLE)
    assert set(here.accelform("up", "--json").changes) == {"create"}
    assert set(here.accelform("up", "--json").changes) == {"same"}
    outputs = here.pulumi("stack", "output", "--json", "--stack", STACK).json
    assert outputs["state_url"] == "gs://tw-shop-ml-try-state"
    assert outputs["secrets_provider"] == "gcpkms://projects/tw-shop-ml/locations/us-east5/keyRings/try-state/cryptoKeys/secrets"
    assert outputs["pipeline_provider"].endswith("/locations/global/workloadIdentityPools/pipeline-try/providers/github")
    assert outputs["pipeline_apply"] == "try-apply@tw-shop-ml.iam.gserviceaccount.com"
    assert outputs["quota_requests"]["h100"] == {"wanted": "8", "granted": None, "pending": True, "detail": ""}
    refreshed = here.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes", "--stack", STACK, "--non-interactive")
    assert refreshed.code == 0, refreshed.out + refreshed.err
    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
