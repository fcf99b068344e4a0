"""A queued resource costs what its nodes do, once they stand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, month, of, usd

from infra.catalog import prices, tpu
from infra.declared import UNKNOWN

TOKEN = "accelform:tpu:QueuedResource"
NODE = {"acceleratorType": "v6e-8", "runtimeVersion": "v2-alpha-tpuv6e"}


def queued(tier: Any, **inputs: Any) -> Any:
    return declared(TOKEN, "q", {"zone": "us-east5-a", "tier": tier} | inputs)


def chip_hour(accelerator_type: str, way: str) -> Decimal:
    return prices.tpu_chip_hour(tpu.shape(accelerator_type), "us-east5", way).usd


def test_each_kind_of_node_is_a_line() -> None:
    """By hand: chips of a node x nodes x 730 hours x the price of a chip-hour."""
    found = of("q", queued("standard", nodes={"a": NODE, "b": NODE, "c": NODE | {"acceleratorType": "v6e-1"}}))
    rate = chip_hour("v6e-8", "on-demand")
    assert {what: month(line) for what, line in found.items()} == {
        "v6e-8 on-demand": usd(8 * 2 * 730 * rate),
        "v6e-1 on-demand": usd(730 * rate),
    }
    assert found["v6e-8 on-demand"].note.startswith("2 nodes; from when its nodes stand: waiting costs nothing")


def test_a_multislice_group_of_spot_is_bounded_by_the_price_on_demand() -> None:
    """For as long as the stack file assumes that it stands."""
    usage = assuming({"q": {"hours_month": 100}})
    (line,) = of("q", queued("spot", multislice={"node": NODE, "nodeCount": 3}), usage=usage).values()
    low, expected, high = (amount for amount in line.usd_month or ())
    assert low == expected == 8 * 3 * 100 * chip_hour("v6e-8", "spot")
    assert high == 8 * 3 * 100 * chip_hour("v6e-8", "on-demand")


def test_a_reservation_is_billed_at_the_rate_on_demand() -> None:
    (line,) = of("q", queued("reservation", nodes={"a": NODE})).values()
    assert month(line) == usd(8 * 730 * chip_hour("v6e-8", "on-demand"))


@pytest.mark.parametrize(
    ("resource", "what", "why"),
    [
        (queued("guaranteed", nodes={"a": NODE}), "nodes.a", "no source says what the tier guaranteed costs"),
        (queued(UNKNOWN, nodes={"a": NODE}), "nodes.a", "not known yet"),
        (queued("spot", nodes=UNKNOWN), "nodes", "not known yet"),
        (queued("spot", nodes={"a": UNKNOWN}), "nodes.a", "not known yet"),
        (queued("spot", nodes={"a": NODE | {"acceleratorType": UNKNOWN}}), "nodes.a", "not known yet"),
        (queued("spot", nodes={"a": NODE | {"acceleratorType": "v6-8"}}), "v6-8", "is not a TPU accelerator type"),
        (queued("spot", multislice=UNKNOWN), "multislice.node", "not known yet"),
        (queued("spot", multislice={"node": NODE, "nodeCount": UNKNOWN}), "multislice.node", "not known yet"),
        (queued("spot", zone=UNKNOWN, nodes={"a": NODE}), "nodes.a", "not known yet"),
        (queued("spot"), "nodes", "not known yet"),
    ],
)
def test_what_is_not_known_is_never_0(resource: Any, what: str, why: str) -> None:
    found = of("q", resource)
    assert list(found) == [what]
    assert (found[what].status, why in found[what].note) == ("unknown", True)


def test_what_has_no_price_is_said() -> None:
    extras = {"dataDisks": [{"sourceDisk": "d"}], "networkConfig": {"enableExternalIps": True}}
    found = of("q", queued("spot", nodes={"a": NODE | extras}))
    assert sorted(what for what, line in found.items() if line.status == "unknown") == [
        "nodes.a.dataDisks",
        "nodes.a.networkConfig.enableExternalIps",
    ]
