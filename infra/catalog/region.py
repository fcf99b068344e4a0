"""What a whole region has: accelerators in its zones, and on Vertex AI."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog import ask
from infra.catalog.fits_vertex import PAGES, plain_names
from infra.catalog.places import check_region, continent_of, region_of
from infra.catalog.vertex import Use, VertexRegion
from infra.catalog.vertex import regions as on_vertex


@dataclass(frozen=True, slots=True)
class OnVertex:
    """What Vertex AI runs in a region for one use."""

    use: Use
    accelerators: tuple[str, ...]
    """GPUs by their names on Compute Engine, TPUs as zones list them; those for everybody first."""
    by_allowlist: tuple[str, ...]
    """Those of them that are open to projects only that Google let in."""
    tpu_elsewhere: tuple[str, ...]
    """Regions with a TPU for this use, nearest first, where this one has none; else empty."""
    source: str = PAGES

    @property
    def has_tpu(self) -> bool:
        return any(one.startswith("tpu") for one in self.accelerators)


@dataclass(frozen=True, slots=True)
class Region:
    """What a region has."""

    region: str
    offers: tuple[ask.Offered, ...]
    """By accelerator, then zone; weak sources last."""
    vertex_ai: tuple[OnVertex, ...]


def region(name: str) -> Region:
    """
    What the zones of a region have, weak sources included, and what Vertex AI runs there.

    Raises:
        UnknownPlace: There is no such region; it holds the nearest names, or the region of a zone.
    """
    check_region(name)
    offers = [one for one in ask.everything() if region_of(one.zone) == name]
    ordered = sorted(offers, key=lambda one: (not one.confirmed, one.accelerator, one.priced_as, one.zone))
    return Region(name, tuple(ordered), (_on_vertex(name, "prediction"), _on_vertex(name, "training")))


def _on_vertex(name: str, use: Use) -> OnVertex:
    able = [one for one in on_vertex() if one.runs(use)]
    here = sorted((one for one in able if one.region == name), key=lambda one: (_limited(one, use), _plain(one)))
    tpus = {one.region: _limited(one, use) for one in able if one.accelerator.startswith("tpu")}
    far = sorted(tpus, key=lambda one: (continent_of(one) != continent_of(name), tpus[one], one))
    return OnVertex(
        use=use,
        accelerators=tuple(map(_plain, here)),
        by_allowlist=tuple(_plain(one) for one in here if _limited(one, use)),
        tpu_elsewhere=() if name in tpus else tuple(far),
    )


def _limited(one: VertexRegion, use: Use) -> bool:
    return use == "prediction" and one.by_allowlist


def _plain(one: VertexRegion) -> str:
    return plain_names().get(one.accelerator, one.accelerator)
