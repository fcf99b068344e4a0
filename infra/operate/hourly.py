"""What a deployed model costs an hour, at list prices of the catalogue: all its replicas, as many as run at least."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from infra.catalog.prices import PriceUnknown
from infra.catalog.vertex_prices import vertex_hour


def usd_per_hour(live: Mapping[str, Any], region: str) -> Decimal | None:
    """
    USD an hour of a DeployedModel; None where a price, or the number of its replicas, is unknown.

    Of an autoscaled one it is what runs now, if Vertex AI says so, else its least.
    """
    resources = live.get("dedicatedResources") or {}
    machine = resources.get("machineSpec") or {}
    replicas = (live.get("status") or {}).get("availableReplicaCount") or resources.get("minReplicaCount")
    if not replicas or not machine.get("machineType") or resources.get("flexStart"):
        return None
    provisioning = "spot" if resources.get("spot") else "on-demand"
    attached = str(machine["machineType"]).startswith("n1-") and bool(machine.get("acceleratorType"))
    try:
        return vertex_hour(str(machine["machineType"]), region, "prediction", provisioning, attached=attached).usd * int(replicas)
    except PriceUnknown:
        return None
