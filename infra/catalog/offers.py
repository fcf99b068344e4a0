"""What the tables of TPU zones and of GPU zones have in common: when an offer is none, and which would do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Literal, Protocol, TypeVar

from infra.catalog.places import continent_of, region_of
from infra.catalog.prices import PriceUnknown
from infra.catalog.tables import Trust

Reason = Literal["impossible", "unknown", "unconfirmed", "not-sold"]


class Placed(Protocol):
    """Something that a source says a zone offers."""

    @property
    def zone(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def trust(self) -> Trust: ...


Found = TypeVar("Found", bound=Placed)


def reason_against(found: Found | None, sells: Callable[[Found], bool | None], *, complete: bool) -> Reason | None:
    """
    Why it cannot be had as asked: `impossible` (a list that is complete lacks it), `unknown` (no source has it), `unconfirmed` (a weak one
    only), or `not-sold` (not this way).

    Args:
        complete: Whether the list that the place would be in was read as a whole.
    """
    if found is None:
        return "impossible" if complete else "unknown"
    if found.trust == "low":
        return "unconfirmed"
    return "not-sold" if sells(found) is False else None


def nearest(
    offers: Iterable[Found], zone: str, *, sells: Callable[[Found], bool | None], price: Callable[[str], Decimal]
) -> tuple[Found, ...]:
    """
    Those that would do: same region first, then same continent, then firmer sources, then the lower price, then by name.

    Args:
        price: Of a region; where it raises `PriceUnknown`, the offer comes after those with a price.
    """

    def distance(offer: Found) -> tuple[bool, bool, bool, Decimal, str]:
        try:
            usd = price(offer.region)
        except PriceUnknown:
            usd = Decimal("Infinity")
        return (
            offer.region != region_of(zone),
            continent_of(offer.region) != continent_of(zone),
            offer.trust != "high",
            usd,
            offer.zone,
        )

    return tuple(sorted((offer for offer in offers if reason_against(offer, sells, complete=True) is None), key=distance))
