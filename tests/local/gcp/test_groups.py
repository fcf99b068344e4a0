"""A managed group's policies in the program's form and in Google's."""

from __future__ import annotations

from typing import Any

import pytest

from infra.local.gcp import body as bodies
from infra.local.gcp.types.instance_groups import GROUP

NAMES = {"project": "shop-prod", "zone": "us-east5-a", "name": "mig"}
BULK = {"targetSizePolicies": [{"mode": "BULK"}]}
LIFECYCLE = {"instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"}}


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        (
            {"type": "OPPORTUNISTIC", "minimalAction": "REPLACE", "maxSurgeFixed": 0, "maxUnavailableFixed": 4},
            {"maxSurge": {"fixed": 0, "percent": None}, "maxUnavailable": {"fixed": 4, "percent": None}},
        ),
        (
            {"type": "PROACTIVE", "minimalAction": "REPLACE", "maxSurgePercent": 20},
            {"maxSurge": {"percent": 20, "fixed": None}, "maxUnavailable": {"fixed": 0, "percent": None}},
        ),
    ],
    ids=["numbers", "share"],
)
def test_an_update_policy_is_told_by_number_or_by_share(said: dict[str, Any], sent: dict[str, Any]) -> None:
    """Each is sent with the other as null, and reads back as it was said; what was not said is 0."""
    inputs = {"name": "mig", "targetSize": 4, "updatePolicy": said} | BULK | LIFECYCLE
    body = bodies.body(GROUP, inputs, NAMES, bodies.in_body(GROUP))
    assert body["updatePolicy"] == sent | {key: value for key, value in said.items() if not key.startswith("max")}
    assert body["targetSizePolicy"] == {"mode": "BULK"}
    assert body["instanceLifecyclePolicy"] == {"defaultActionOnFailure": "DO_NOTHING"}
    read = bodies.outputs(GROUP, body, NAMES, inputs)
    assert said.items() <= read["updatePolicy"].items()
    assert sum(read["updatePolicy"][key] for key in read["updatePolicy"] if key.startswith("max")) in (4, 20)
    assert read["targetSizePolicies"] == [{"mode": "BULK"}]
