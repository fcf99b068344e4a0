"""NAT, addresses, forwarding rules, security policies and egress."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, lines, month, of, usd

from infra.cost.line import LineItem
from infra.declared import UNKNOWN, Declared

REGION = "us-central1"


def rule(name: str = "front", **change: Any) -> Declared:
    return declared(
        "gcp:compute/forwardingRule:ForwardingRule", name, {"region": REGION, "loadBalancingScheme": "EXTERNAL_MANAGED"} | change
    )


def global_rule(name: str = "front") -> Declared:
    kind = "gcp:compute/globalForwardingRule:GlobalForwardingRule"
    return declared(kind, name, {"loadBalancingScheme": "EXTERNAL_MANAGED"})


def address(**change: Any) -> Declared:
    return declared("gcp:compute/address:Address", "address", {"region": REGION} | change)


def found(name: str, *resources: Declared, **usage: Any) -> dict[str, LineItem]:
    return of(name, *resources, usage=assuming({name: usage} if usage else None), region=REGION)


@pytest.mark.parametrize("make", [rule, global_rule])
def test_the_first_five_rules_have_one_price_together(make: Any) -> None:
    """0.025 an hour for one to five of a region, or of the world; data at 0.008 a GiB."""
    five = [make(f"front-{number}") for number in range(5)]
    result = estimated(*five, usage=assuming({one.name: {"traffic_gib": 10} for one in five}), region=REGION)
    rules = [line for line in result.lines if "forwarding" in line.what.lower()]
    assert [line.what for line in rules] == ["forwarding rules"] + [make("x").type.rpartition(":")[2]] * 4
    assert [line.status for line in rules[1:]] == ["free"] * 4
    assert month(rules[0])[1] == usd(730 * Decimal("0.025"))[0]
    assert [month(line) for line in result.lines if line.what == "balanced data"] == [usd(10 * Decimal("0.008"))] * 5


def test_a_sixth_rule_has_a_price_of_its_own_or_none() -> None:
    """Frankfurt: 0.012 an hour after five; in us-central1 no source says."""
    six = [rule(f"front-{number}", region="europe-west3") for number in range(6)]
    sixth = of("front-5", *six, region="europe-west3")["forwarding rule"]
    assert month(sixth) == usd(730 * Decimal("0.012"))
    assert of("front-5", *[rule(f"front-{number}") for number in range(6)], region=REGION)["forwarding rule"].status == "unknown"


def test_rules_of_a_region_and_of_the_world_are_counted_apart() -> None:
    """Two sets."""
    result = estimated(rule("a"), global_rule("b"), region=REGION)
    assert [line.what for line in result.lines if line.what == "forwarding rules"] == ["forwarding rules"] * 2


def test_data_that_nobody_assumes_has_a_default_that_is_shown() -> None:
    """Ten GiB, as of a small shop, and said to be a default."""
    result = estimated(rule(), region=REGION)
    assert next((one.name, one.is_default) for one in result.assumptions) == ("resources.front.traffic_gib", True)
    assert month(found("front", rule())["balanced data"]) == usd(*(Decimal("0.008") * gib for gib in (1, 10, 100)))


@pytest.mark.parametrize(
    "change",
    [
        {"region": "us-east1"},
        {"region": UNKNOWN},
        {"loadBalancingScheme": UNKNOWN},
        {"loadBalancingScheme": ""},
        {"target": "projects/p/regions/r/serviceAttachments/x"},
        {"loadBalancingScheme": "INTERNAL_MANAGED"},
    ],
    ids=str,
)
def test_what_no_source_prices_of_a_rule_is_unknown(change: dict[str, Any]) -> None:
    """Other regions, Private Service Connect, internal data."""
    assert not estimated(rule(**change), region=REGION).complete


def test_a_reserved_address_costs_most_when_nothing_has_it() -> None:
    """0.01 an hour idle; what depends on it has it, and then it may cost nothing of its own."""
    assert month(found("address", address())["reserved address"]) == usd(730 * Decimal("0.01"))
    user = declared("gcp:compute/forwardingRule:ForwardingRule", "front", {"region": REGION}, address())
    line = found("address", address(), user)["reserved address"]
    assert (line.status, month(line)) == ("bounded", usd(Decimal(0), Decimal(0), 730 * Decimal("0.01")))
    assert found("address", address(addressType="INTERNAL"))["Address"].status == "unknown"
    assert found("address", address(region="us-east1"))["Address"].status == "unknown"


def test_a_security_policy_costs_itself_its_rules_and_requests() -> None:
    """5 a month, 1 a rule, 0.75 a million requests."""
    policy = declared("gcp:compute/securityPolicy:SecurityPolicy", "armor", {"rules": [{"priority": 1}, {"priority": 2147483647}]})
    lines_of = found("armor", policy, requests_thousands=4000)
    assert [month(line) for line in lines_of.values()] == [usd(Decimal(5)), usd(Decimal(2)), usd(Decimal(3))]
    assert not estimated(declared(policy.type, "armor", {"rules": UNKNOWN}), region=REGION).complete


def test_egress_is_billed_tier_by_tier() -> None:
    """12,000 GiB: the first TiB at 0.12, to ten TiB at 0.11, the rest at 0.08."""
    result = estimated(rule(), usage=assuming(internet_egress_gib={"low": 10, "expected": 2000, "high": 12000}), region=REGION)
    tiers = [line for line in result.lines if line.what == "internet egress"]
    assert [line.quantity for line in tiers] == [(10, 1024, 1024), (0, 976, 9216), (0, 0, 1760)]
    low = 10 * Decimal("0.12")
    expected = 1024 * Decimal("0.12") + 976 * Decimal("0.11")
    high = 1024 * Decimal("0.12") + 9216 * Decimal("0.11") + 1760 * Decimal("0.08")
    months = [line.usd_month or (0, 0, 0) for line in tiers]
    assert tuple(sum(column, Decimal(0)) for column in zip(*months, strict=True)) == (low, expected, high)


def test_egress_to_australia_and_china_has_rates_of_its_own() -> None:
    """Only what somebody assumes makes a line."""
    usage = assuming(egress_australia_gib=100, egress_china_gib=10)
    found_lines = lines(rule(), usage=usage, region=REGION)
    assert month(found_lines["egress to Australia"]) == usd(100 * Decimal("0.19"))
    assert month(found_lines["egress to China"]) == usd(10 * Decimal("0.23"))
    assert "egress to China" not in lines(rule(), region=REGION)


def test_egress_of_a_region_without_a_rate_is_unknown() -> None:
    """No other region's rate is taken."""
    assert lines(rule(), region="us-central9")["internet egress"].status == "unknown"


def test_nat_counts_no_more_than_its_cap_and_no_less_than_what_is_known() -> None:
    """40 machines cost what 32 do; one of which the hours are not known makes the gateway unknown, and its address has a price."""
    gateway = declared("gcp:compute/routerNat:RouterNat", "nat", {"region": REGION})
    node = [
        declared("gcp:tpu/v2Vm:V2Vm", f"node-{number}", {"zone": "us-central1-a", "acceleratorType": "v5litepod-4"}) for number in range(40)
    ]
    assert month(lines(gateway, *node, region=REGION)["NAT of 40 machines"]) == usd(32 * 730 * Decimal("0.0014"))
    broken = declared("gcp:compute/instance:Instance", "x", {"zone": UNKNOWN})
    open_lines = lines(gateway, broken, region=REGION)
    assert (open_lines["NAT"].status, open_lines["NAT address"].status) == ("unknown", "priced")
