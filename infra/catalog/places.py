"""Regions and zones by name."""

from __future__ import annotations

from functools import cache

from infra.catalog.tables import rows
from infra.errors import nearest


class UnknownPlace(ValueError):  # noqa: N818 - reads as the finding it is
    """A region that the catalogue does not know."""

    def __init__(self, got: str, close: tuple[str, ...]) -> None:
        self.got = got
        self.nearest = close
        super().__init__(f"{got} is not a Google Cloud region; nearest names: {', '.join(close) or 'none'}")


def region_of(zone: str) -> str:
    """Region of a zone: its name less the last dash part. AI zones (`us-central1-ai1a`) do not end in one letter."""
    return zone.rpartition("-")[0]


def continent_of(place: str) -> str:
    """First part of a region's or zone's name: `asia`, `europe`, `southamerica`; the rest of North America counts as `us`."""
    first = place.partition("-")[0]
    return "us" if first == "northamerica" else first


@cache
def regions() -> tuple[str, ...]:
    """Every region that a table of the catalogue names, sorted."""
    return tuple(row["region"] for row in rows("regions"))


def check_region(name: str) -> None:
    """
    Raises:
        UnknownPlace: No table names this region. It holds the nearest names; for a zone, its region.
    """
    if name in regions():
        return
    inside = region_of(name)
    close = (inside,) if inside in regions() else tuple(nearest(name.lower(), regions()))
    raise UnknownPlace(name, close)
