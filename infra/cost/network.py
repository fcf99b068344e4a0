"""NAT, addresses, forwarding rules, security policies, and what leaves for the internet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from infra.catalog import egress as transfer
from infra.catalog import prices
from infra.catalog.prices import PriceUnknown
from infra.cost.context import Context, elsewhere, short
from infra.cost.line import ALWAYS, MONTH, ZERO, LineItem, Triple, added, columns, free, listed, priced, scaled, unknown
from infra.cost.usage import HOURS
from infra.declared import UNKNOWN, Declared

NAT = "gcp:compute/routerNat:RouterNat"
NAT_MACHINES_MAX = 32
"""Machines behind a NAT gateway that are billed one by one; more cost what these cost.
Source: the row `nat-gateway-cap` of the price table."""
RULES_OF_A_SET = 5
"""Forwarding rules that the price of a set covers. Source: the rows `lb-rule-set` of the price table."""
GLOBAL_RULE = "gcp:compute/globalForwardingRule:GlobalForwardingRule"
INTERNAL = ("INTERNAL", "INTERNAL_MANAGED", "INTERNAL_SELF_MANAGED")


def nat(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A gateway, by the machines behind it. It comes after every machine: see `estimate`."""
    if why := elsewhere(resource, context.region, "region"):
        yield unknown(resource.name, "NAT", why)
        return
    machines = [one for one in context.machines if one is not None]
    if len(machines) != len(context.machines):
        yield unknown(resource.name, "NAT", "how many machines stand behind it, and how long, is not known yet")
    else:
        hours: Triple = (ZERO, ZERO, ZERO)
        for one in machines:
            hours = added(hours, one.hours)
        low, expected, high = (min(one, NAT_MACHINES_MAX * HOURS) for one in hours)
        least, most = sum((one.least for one in machines), ZERO), sum((one.most for one in machines), ZERO)
        count = f"{least.normalize():f}" if least == most else f"{least.normalize():f} to {most.normalize():f}"
        what = f"NAT of {count} machine{'s' * (count != '1')}"
        yield listed(resource.name, what, "nat-gateway", context.region, (low, expected, high))
    note = "one address serves the machines of a stack of this size"
    yield listed(resource.name, "NAT address", "nat-address", context.region, MONTH, note)
    yield listed(resource.name, "NAT data", "nat-data", context.region, columns(context.assume("nat_data_gib")))


def address(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A reserved regional address: in use it is billed with what has it, else on its own."""
    kind = resource.get("addressType")
    if kind == "INTERNAL":
        yield unknown(resource.name, short(resource), "no price of an internal address is known")
        return
    if why := elsewhere(resource, context.region, "region"):
        yield unknown(resource.name, short(resource), why)
        return
    line = listed(resource.name, "reserved address", "external-address-idle", context.region, MONTH)
    used = bool(resource.urn) and any(resource.urn in one.dependencies for one in context.resources)
    if used and line.price is not None:
        note = "in use it is billed with what has it; high: as if nothing had it"
        line = replace(line, status="bounded", unit_usd=(ZERO, ZERO, line.price.usd_high), note=note)
    yield line


def rule(resource: Declared, context: Context) -> Iterator[LineItem]:
    """
    A forwarding rule, regional or global. The first five of a project and region have one price together, each further one its own; and
    each GiB that passes is billed, in and out.
    """
    scheme, target = resource.get("loadBalancingScheme"), resource.get("target")
    is_global = resource.type == GLOBAL_RULE
    traffic = context.per_resource(resource.name, "traffic_gib")
    if scheme is UNKNOWN or scheme == "" or (isinstance(target, str) and "serviceAttachments" in target):
        yield unknown(resource.name, short(resource), "no price of an endpoint of Private Service Connect")
        return
    if not is_global and (why := elsewhere(resource, context.region, "region")):
        yield unknown(resource.name, short(resource), why)
        return
    before = context.ordinal(f"rules {'global' if is_global else context.region}")
    if before == 0:
        item = prices_of_set(is_global)
        yield listed(resource.name, "forwarding rules", item, context.region, MONTH, f"of the first {RULES_OF_A_SET} together")
    elif before < RULES_OF_A_SET:
        yield free(resource.name, short(resource), f"in the price of the first {RULES_OF_A_SET} together")
    elif is_global:
        yield unknown(resource.name, "forwarding rule", f"no price of a global rule after {RULES_OF_A_SET} is known")
    else:
        yield listed(resource.name, "forwarding rule", "lb-rule", context.region, MONTH)
    if scheme in INTERNAL:
        yield unknown(resource.name, "balanced data", "no price of data through an internal load balancer")
    else:
        note = "in and out, at the rate of what comes in"
        yield listed(resource.name, "balanced data", "lb-data-in", context.region, columns(traffic), note)


def prices_of_set(is_global: bool) -> prices.Item:
    return "lb-rule-set-global" if is_global else "lb-rule-set"


def security_policy(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A policy of Cloud Armor: itself, its rules (the one by default too, so never too low) and the requests that it judges."""
    rules = resource.get("rules")
    requests = context.per_resource(resource.name, "requests_thousands")
    if not isinstance(rules, list | tuple | None):
        yield unknown(resource.name, short(resource), "its rules are not known yet")
        return
    yield listed(resource.name, "security policy", "armor-policy", context.region, ALWAYS)
    yield listed(resource.name, "its rules", "armor-rule", context.region, scaled(ALWAYS, len(rules or [None])))
    yield listed(resource.name, "judged requests", "armor-requests-global", context.region, scaled(columns(requests), Decimal("0.001")))


def egress(context: Context) -> Iterator[LineItem]:
    """What leaves for the internet, each tier at its own rate. A destination that nobody assumes makes no line."""
    for field, (what, destination) in EGRESS.items():
        if not context.usage_of(field).high and destination != "world":
            continue
        amount = columns(context.assume(field))
        try:
            tiers = transfer.tiers(context.region, destination)
        except PriceUnknown as error:
            yield unknown("", what, str(error))
            continue
        ends = [start for start, _ in tiers[1:]]
        for index, (start, rate) in enumerate(tiers):
            part = within(amount, start, ends[index] if index < len(ends) else None)
            if not index or part[2]:
                note = f"above {start:f} GiB a month" if index else ""
                yield priced("", what, rate, part, note)


def within(amount: Triple, start: Decimal, end: Decimal | None) -> Triple:
    """How much of an amount lies in a tier."""
    low, expected, high = (max(ZERO, (one if end is None else min(one, end)) - start) for one in amount)
    return (low, expected, high)


EGRESS: Mapping[str, tuple[str, transfer.Destination]] = {
    "internet_egress_gib": ("internet egress", "world"),
    "egress_australia_gib": ("egress to Australia", "australia"),
    "egress_china_gib": ("egress to China", "china"),
}

LINES = {
    NAT: nat,
    "gcp:compute/address:Address": address,
    "gcp:compute/forwardingRule:ForwardingRule": rule,
    GLOBAL_RULE: rule,
    "gcp:compute/securityPolicy:SecurityPolicy": security_policy,
}
