"""Whether a zone may have something: what a missing row means, and what a row says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from infra.catalog import gpu_zones, prices, zones
from infra.catalog.gpu_zones import GpuOffer, Host
from infra.catalog.places import region_of, regions
from infra.catalog.tpu import TpuShape
from infra.catalog.wish import WAYS, Reason, Wish
from infra.catalog.zones import FLEX_START, Offer
from infra.errors import nearest

ZONE_LETTER = re.compile(r"[a-z]|ai\d[a-z]")
"""What follows the region in a zone's name; two parts for AI zones, such as `ai1a`."""

FLEX_START_GENERATIONS = frozenset({"v5e", "v5p", "v6e", "tpu7x"})
"""Source: the lists of flex-start zones of GKE and of Cloud TPU (https://cloud.google.com/tpu/docs/request-using-flex-start), read
2026-11."""


@lru_cache(maxsize=4096)
def named(zone: str) -> Reason | None:
    """Why a name is no zone; None where it may be one."""
    if not zone:
        return Reason("zone", "impossible", "is missing: an accelerator stands in one zone, and most zones of a region have none")
    region = region_of(zone)
    if region in regions() and ZONE_LETTER.fullmatch(zone.removeprefix(f"{region}-")):
        return None
    known = sorted({one.zone for one in zones.every()} | {one.zone for one in gpu_zones.every()})
    if zone in regions():
        return Reason("zone", "impossible", "is a region, not a zone", tuple(one for one in known if region_of(one) == zone))
    return Reason("zone", "impossible", "is not a zone of Google Cloud", tuple(nearest(zone.lower()[:60], known)))


def tpu(wish: Wish, shape: TpuShape) -> Iterator[Reason]:
    """What speaks against a slice in the wish's zone, got in the wish's way."""
    if reason := named(wish.zone):
        yield reason
        return
    if shape.generation not in FLEX_START_GENERATIONS and wish.provisioning == FLEX_START:
        yield Reason("provisioning", "impossible", f"is not how any {shape.generation} is sold", source=zones.FLEX_START_SOURCE)
    offer = zones.offer(shape.sold_as, wish.zone)
    if offer is None:
        there = ", ".join(sorted({one.sold_as for one in zones.in_zone(wish.zone) if one.trust != "low"})) or "no TPU that is known"
        if zones.read_in_full(wish.zone):
            yield Reason("zone", "impossible", f"does not offer {shape.accelerator_type}; it has {there}", source=zones.PAGE)
        else:
            message = f"is not known to offer {shape.accelerator_type}; it has {there}, and no list of its region was read in full"
            yield Reason("zone", "unknown", message, source=zones.PAGE)
        return
    if offer.trust == "low":
        yield _weak(offer, shape.accelerator_type)
    sold = offer.sells(wish.provisioning)
    if sold is False:
        yield _not_sold(wish, shape.accelerator_type, tuple(way for way in WAYS if offer.sells(way)), offer)
    elif sold is None and wish.provisioning == FLEX_START and _unlisted(shape, offer):
        message = f"is not known to be how {wish.zone} sells {shape.accelerator_type}: no list of flex-start zones that was read names it"
        yield Reason("provisioning", "unknown", message, source=zones.FLEX_START_SOURCE)


def _unlisted(shape: TpuShape, offer: Offer) -> bool:
    """Whether no list of flex-start zones was read for this one, and its region has no price for it either."""
    return shape.generation in FLEX_START_GENERATIONS and not prices.is_priced(shape.sold_as, offer.region, FLEX_START)


def gpu(wish: Wish, host: Host, what: str) -> Iterator[Reason]:
    """What speaks against GPUs in the wish's zone, got in the wish's way."""
    ways = tuple(way for way in WAYS if not gpu_zones.never_sold(host, way))
    if wish.provisioning not in ways:
        yield Reason("provisioning", "impossible", f"is not how {what} is sold, anywhere", ways, host.source)
    if reason := named(wish.zone):
        yield reason
        return
    offer = gpu_zones.offer(host, wish.zone)
    if offer is None:
        message = f"is not known to have {host.accelerator_type} on {host.series}: no row has it, and no list of GPU zones is complete"
        yield Reason("zone", "unknown", message)
    elif offer.trust == "low":
        yield _weak(offer, what)


def _weak(offer: Offer | GpuOffer, what: str) -> Reason:
    said = f": {offer.notes}" if offer.notes else ""
    return Reason("zone", "unconfirmed", f"is said to offer {what} by one weak source only", source=f"{offer.source} ({offer.as_of}){said}")


def _not_sold(wish: Wish, what: str, ways: tuple[str, ...], offer: Offer) -> Reason:
    return Reason("provisioning", "impossible", f"is not how {wish.zone} sells {what}", ways, f"{offer.source} ({offer.as_of})")
