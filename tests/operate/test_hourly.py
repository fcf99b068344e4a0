"""What a deployed model costs an hour: known, or unknown."""

from __future__ import annotations

from typing import Any

import pytest

from infra.operate.hourly import usd_per_hour

REGION = "us-central1"


def live(machine: str = "n1-standard-2", replicas: int = 1, **more: Any) -> dict[str, Any]:
    return {"dedicatedResources": {"machineSpec": {"machineType": machine}, "minReplicaCount": replicas, **more}}


def test_all_replicas_cost() -> None:
    """Two of a machine cost twice as much as one; those that run now count, where Vertex AI says how many."""
    one = usd_per_hour(live(), REGION)
    assert one is not None
    assert one > 0
    assert usd_per_hour(live(replicas=2), REGION) == 2 * one
    assert usd_per_hour(live() | {"status": {"availableReplicaCount": 3}}, REGION) == 3 * one


@pytest.mark.parametrize(
    "unknown",
    [
        {},
        {"sharedResources": "projects/p/locations/r/deploymentResourcePools/x"},
        live("z9-mega-1"),
        live(replicas=0),
        live(spot=True),
        live(flexStart={"maxRuntimeDuration": "60s"}),
        {
            "dedicatedResources": {
                "machineSpec": {"machineType": "n1-standard-2", "acceleratorType": "NVIDIA_TESLA_T4"},
                "minReplicaCount": 1,
            }
        },
    ],
)
def test_what_has_no_known_price_is_unknown(unknown: dict[str, Any]) -> None:
    """Never 0."""
    assert usd_per_hour(unknown, REGION) is None
