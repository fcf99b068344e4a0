"""Alert policies and the dashboard as the component declares them, by the provider before the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from region import P, Region

from infra.collect import collect
from infra.program import declare
from infra.provider.values import Decoded
from infra.stack import StackSpec

CHANNEL = "gcp:monitoring/notificationChannel:NotificationChannel"
POLICY = "gcp:monitoring/alertPolicy:AlertPolicy"
DASHBOARD = "gcp:monitoring/dashboard:Dashboard"


def test_what_is_declared_is_taken_and_has_no_drift(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """
    The sandbox checks every field by the discovery documents. A refresh finds what was written; with a channel that a policy uses, the
    policy lets it go first.
    """
    endpoint = {
        "callers": [],
        "model": "projects/tw-shop-ml/locations/us-east5/models/recommender@champion",
        "machine_type": "n1-standard-2",
        "max_replicas": 2,
    }
    config = base | {
        "gcp:project": P,
        "accelform:notify": ["email:ml@shop.example"],
        "accelform:tpu_slices": {"try": a_slice},
        "accelform:endpoints": {"recommend": endpoint},
        "accelform:monitoring": {},
    }
    spec = StackSpec.load(stack_file(config))
    declared = collect(lambda: declare(spec, "try"), "try")
    (channel,) = [one for one in declared if one.type == CHANNEL]
    region = Region()
    driver = region.driver()
    made = driver.create(CHANNEL, driver.checked(CHANNEL, channel.inputs))
    seen = set()
    for one in declared:
        if one.type not in (POLICY, DASHBOARD):
            continue
        seen.add(one.type)
        written = dict(one.inputs)
        if one.type == POLICY:
            assert channel.urn in one.dependencies
            written["notificationChannels"] = [made.id]
        inputs = driver.checked(one.type, written)
        policy = driver.create(one.type, inputs)
        read = driver.read(one.type, policy.id, Decoded(policy.properties).values, inputs)
        refreshed = Decoded(read.inputs).values
        assert list(driver.diff(one.type, refreshed, inputs).diffs) == [], one.name
    assert seen == {POLICY, DASHBOARD}
