"""Which services of Google Cloud are in which region: those that a job's runner and its clock need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from infra.catalog.tables import Trust, rows, trust_of
from infra.catalog.wish import Kind

Service = Literal["cloud-run", "cloud-scheduler"]
NAMES: dict[Service, str] = {"cloud-run": "Cloud Run", "cloud-scheduler": "Cloud Scheduler"}
JOBS: tuple[Service, ...] = ("cloud-run", "cloud-scheduler")
"""What a job needs in its region: what its runner is, and what starts it."""
LIST: dict[Service, str] = {"cloud-run": "gcloud run regions list", "cloud-scheduler": "gcloud scheduler locations list"}
"""How somebody with a project asks Google."""


@dataclass(frozen=True, slots=True)
class ServiceRegion:
    """What a source says of a service in a region."""

    service: Service
    region: str
    there: bool
    trust: Trust
    source: str
    as_of: str
    notes: str


@cache
def _every() -> Mapping[tuple[str, str], ServiceRegion]:
    found = {}
    for one in rows("services"):
        service: Service = "cloud-run" if one["service"] == "cloud-run" else "cloud-scheduler"
        there = one["there"] == "yes"
        row = ServiceRegion(service, one["region"], there, trust_of(one), one["source"], one["as_of"], one["notes"])
        found[one["service"], one["region"]] = row
    return MappingProxyType(found)


def row(service: Service, region: str) -> ServiceRegion | None:
    """What is known of a service in a region; None where no list that was read is new enough to say it."""
    return _every().get((service, region))


def judge(service: Service, region: str) -> Kind:
    """
    Whether a service is in a region.

    `impossible` where Google's own list was read past the place in which the region would stand; `unconfirmed` where a weak source alone
    lacks it; `unknown` where no row says anything.
    """
    found = row(service, region)
    if found is None:
        return "unknown"
    if found.there:
        return "works"
    return "unconfirmed" if found.trust == "low" else "impossible"


def missing(region: str) -> tuple[Service, ...]:
    """What jobs need and a good list of Google's lacks in the region: no job can stand there."""
    return tuple(service for service in JOBS if judge(service, region) == "impossible")


def doubts(region: str) -> tuple[str, ...]:
    """What nobody could vouch for of what jobs need in the region, each as a sentence with the way to know it."""
    found = []
    for service in JOBS:
        kind, said = judge(service, region), row(service, region)
        if kind == "unconfirmed" and said:
            words = f"{region} is not in the list of {NAMES[service]}'s regions that was read ({said.as_of}, of low trust)"
        elif kind == "unknown":
            words = f"no list that was read says whether {NAMES[service]} is in {region}"
        else:
            continue
        found.append(f"unconfirmed: {words}, and jobs need it: ask Google before you bring them up: {LIST[service]}")
    return tuple(found)
