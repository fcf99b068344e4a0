"""Resources as they are declared, and what their lines say."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from infra.cost.estimate import Estimate, estimate
from infra.cost.line import LineItem
from infra.cost.usage import Usage
from infra.declared import Declared

REGION = "us-east5"
AMOUNTS = [name for name in Usage.model_fields if name != "resources"]


def assuming(resources: dict[str, Any] | None = None, **usage: Any) -> Usage:
    """Nothing is used of anything, but for what is said."""
    return Usage.model_validate(dict.fromkeys(AMOUNTS, 0) | usage | ({"resources": resources} if resources else {}))


NOTHING = assuming()


def declared(kind: str, name: str, inputs: dict[str, Any], *after: Declared) -> Declared:
    """A resource that depends on others, as the collector notes it."""
    return Declared(kind, name, inputs, urn=f"urn:pulumi:s::p::{kind}::{name}", dependencies=tuple(one.urn for one in after))


def estimated(*resources: Declared, usage: Usage = NOTHING, region: str = REGION) -> Estimate:
    return estimate(resources, usage, region=region)


def lines(*resources: Declared, usage: Usage = NOTHING, region: str = REGION) -> dict[str, LineItem]:
    """By what they are of; those of what the whole stack uses too."""
    return {line.what: line for line in estimated(*resources, usage=usage, region=region).lines}


def of(name: str, *resources: Declared, usage: Usage = NOTHING, region: str = REGION) -> dict[str, LineItem]:
    """The lines of one resource, by what they are."""
    return {line.what: line for line in estimated(*resources, usage=usage, region=region).lines if line.resource == name}


def month(line: LineItem) -> tuple[str, ...]:
    """USD a month in each column, to the sixth place, without what is behind it."""
    assert line.usd_month is not None, line
    return tuple(f"{amount.quantize(Decimal('0.000001')).normalize():f}" for amount in line.usd_month)


def usd(*amounts: Decimal) -> tuple[str, ...]:
    """As `month` says it: one amount stands for all three columns."""
    three = amounts * 3 if len(amounts) == 1 else amounts
    return tuple(f"{amount.quantize(Decimal('0.000001')).normalize():f}" for amount in three)
