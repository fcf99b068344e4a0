"""
What Google's live lists have, zone by zone, as one project sees them. Read-only; a list or a zone that does not answer spoils no other.

Of machines with accelerators only: N1 is not asked for, since its GPUs are attached and have a list of their own.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from infra.catalog.places import region_of
from infra.findings import Found
from infra.operate.google import TIMEOUT_SECONDS, Connect, Google
from infra.operate.refused import RefusedError

WORKERS = 6
PAGE = 500
REPORT = "please report it, with what the API answered"

LOCATIONS = "tpu.projects.locations.list"
TPU_TYPES = "tpu.projects.locations.acceleratorTypes.list"
RUNTIMES = "tpu.projects.locations.runtimeVersions.list"
MACHINES = "compute.machineTypes.aggregatedList"
GPUS = "compute.acceleratorTypes.aggregatedList"
ZONES = "compute.zones.list"

Group = Literal["tpus", "gpus", "regions"]
GROUPS: tuple[Group, ...] = ("tpus", "gpus", "regions")
SERIES: Mapping[Group, str] = {"tpus": "ct|tpu", "gpus": "a[2-9]|g[2-9]", "regions": ""}
"""How names of machine types with accelerators begin, as a regular expression of Compute Engine's filters."""

ZONE = re.compile(r"[a-z]+-[a-z]+\d+-[a-z0-9]+")
"""What a place must look like to become a row: `us-central1-ai1a` does."""
ENDED = ("OBSOLETE", "DELETED")
"""States of `deprecated` in which nothing new can be made. Source: DeprecationStatus in compute v1's discovery document, read 2026-11."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What one list has, place by place: zones; of the list of zones, regions."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    silent: Mapping[str, Found] = field(default_factory=dict)
    """Places that did not answer, and what was said instead."""
    refused: Found | None = None
    """Why the list as a whole did not answer, or not wholly."""

    def has(self, place: str) -> frozenset[str]:
        return self.names.get(place, frozenset())

    def answered(self, place: str) -> bool:
        """Whether what it does not have in a place is not there, as the project sees it."""
        return self.refused is None and place not in self.silent and region_of(place) not in self.silent


Live = Mapping[str, Listed]
"""By the method that lists."""
Progress = Callable[[int, int], None]
"""Is told how many answers are in, and how many there will be as far as is known."""


class ToSandbox:
    """A transport that sends what is meant for `https://HOST/` to a sandbox, at `BASE/HOST/`."""

    def __init__(self, base: str) -> None:
        import httplib2

        self._base = base
        self._http = httplib2.Http(timeout=TIMEOUT_SECONDS, proxy_info=None)

    def request(self, uri: str, *arguments: Any, **named: Any) -> Any:
        url = urlsplit(uri)
        return self._http.request(f"{self._base}/{url.netloc}{url.path}?{url.query}", *arguments, **named)


def look(connect: Connect, project: str, groups: Iterable[Group], *, region: str | None = None, progress: Progress | None = None) -> Live:
    """
    What the lists of *groups* have now, side by side.

    Args:
        region: Only this region's zones are asked one by one, and told.
        progress: Is called from this thread.
    """
    # Google's client tells every user of Python 3.11 of its end in 2027.
    warnings.filterwarnings("ignore", "You are using a Python version", FutureWarning)
    wanted = [group for group in GROUPS if group in set(groups)]
    own = threading.local()

    def google() -> Google:
        """Of this thread."""
        if not hasattr(own, "google"):
            own.google = Google(connect, project)
        found: Google = own.google
        return found

    jobs: dict[tuple[str, str], Callable[[], Listed]] = {}
    if series := "|".join(filter(None, (SERIES[group] for group in wanted))):
        jobs[MACHINES, ""] = lambda: _aggregated(MACHINES, "machineTypes", _machines(google(), project, f"({series}).*"))
    if "gpus" in wanted:
        jobs[GPUS, ""] = lambda: _aggregated(GPUS, "acceleratorTypes", _gpus(google(), project))
    if "regions" in wanted:
        jobs[ZONES, ""] = lambda: _regions(google(), project)
    if "tpus" in wanted:
        jobs[LOCATIONS, ""] = lambda: _locations(google(), project)

    def of_zone(zone: str) -> dict[tuple[str, str], Callable[[], Listed]]:
        where = f"projects/{project}/locations/{zone}"
        return {
            (TPU_TYPES, zone): lambda: _in_zone(zone, _types(google(), where), "acceleratorTypes", "type"),
            (RUNTIMES, zone): lambda: _in_zone(zone, _runtimes(google(), where), "runtimeVersions", "version"),
        }

    answers = _answers(jobs, lambda zone: of_zone(zone) if region in (None, region_of(zone)) else {}, progress)
    return {method: _within(_whole(method, answers), region) for method in _methods(wanted)}


def _methods(groups: Iterable[Group]) -> list[str]:
    of_group: Mapping[Group, tuple[str, ...]] = {"tpus": (TPU_TYPES, RUNTIMES, MACHINES), "gpus": (MACHINES, GPUS), "regions": (ZONES,)}
    return list(dict.fromkeys(method for group in groups for method in of_group[group]))


def _answers(
    jobs: Mapping[tuple[str, str], Callable[[], Listed]],
    of_zone: Callable[[str], Mapping[tuple[str, str], Callable[[], Listed]]],
    progress: Progress | None,
) -> dict[tuple[str, str], Listed]:
    """Runs all jobs, a few at a time, and those of each zone of the Cloud TPU API once its zones are known."""
    answers: dict[tuple[str, str], Listed] = {}
    pool = ThreadPoolExecutor(WORKERS)
    try:
        running: dict[Future[Listed], tuple[str, str]] = {pool.submit(_safe, key, job): key for key, job in jobs.items()}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                key = running.pop(one)
                answers[key] = one.result()
                if key[0] == LOCATIONS:
                    for zone in sorted(answers[key].names):
                        running |= {pool.submit(_safe, more, job): more for more, job in of_zone(zone).items()}
            if progress:
                progress(len(answers), len(answers) + len(running))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # interrupted, nobody waits for what was not begun
    return answers


def _safe(key: tuple[str, str], job: Callable[[], Listed]) -> Listed:
    method, zone = key
    try:
        return job()
    except RefusedError as refused:
        found = refused.found(method)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        found = Found(method, "unknown", f"an answer of Google's was not understood: {type(error).__name__}: {error}", REPORT)
    return Listed(silent={zone: found}) if zone else Listed(refused=found)


def _whole(method: str, answers: Mapping[tuple[str, str], Listed]) -> Listed:
    """One list of all the answers that make it. A zone that the Cloud TPU API does not list has nothing in it."""
    parts = [listed for (of, _), listed in answers.items() if of == method]
    refused = next((one.refused for one in parts if one.refused), None)
    if method in (TPU_TYPES, RUNTIMES):
        refused = answers[LOCATIONS, ""].refused
    return Listed(
        {place: names for one in parts for place, names in one.names.items()},
        {place: found for one in parts for place, found in one.silent.items()},
        refused,
    )


def _within(listed: Listed, region: str | None) -> Listed:
    """Only what is in a region."""
    if region is None:
        return listed
    inside = {place: names for place, names in listed.names.items() if region in (place, region_of(place))}
    silent = {place: found for place, found in listed.silent.items() if region in (place, region_of(place))}
    return Listed(inside, silent, listed.refused)


Pages = Iterable[dict[str, Any]]


def _machines(google: Google, project: str, names: str) -> Pages:
    return google.pages("compute", "v1", "machineTypes.aggregatedList", project=project, filter=f'name eq "{names}"', maxResults=PAGE)


def _gpus(google: Google, project: str) -> Pages:
    return google.pages("compute", "v1", "acceleratorTypes.aggregatedList", project=project, maxResults=PAGE)


def _types(google: Google, where: str) -> Pages:
    return google.pages("tpu", "v2", "projects.locations.acceleratorTypes.list", parent=where, pageSize=PAGE)


def _runtimes(google: Google, where: str) -> Pages:
    return google.pages("tpu", "v2", "projects.locations.runtimeVersions.list", parent=where, pageSize=PAGE)


def _locations(google: Google, project: str) -> Listed:
    every = google.items("tpu", "v2", "projects.locations.list", "locations", name=f"projects/{project}", pageSize=PAGE)
    names = [str(one.get("locationId") or one["name"].rpartition("/")[2]) for one in every]
    return Listed({name: frozenset() for name in names if ZONE.fullmatch(name)})


def _regions(google: Google, project: str) -> Listed:
    """The zones of each region."""
    found: dict[str, set[str]] = {}
    for page in google.pages("compute", "v1", "zones.list", project=project, maxResults=PAGE):
        for zone in (str(one["name"]) for one in page.get("items", [])):
            if ZONE.fullmatch(zone):
                found.setdefault(region_of(zone), set()).add(zone)
    return Listed({region: frozenset(zones) for region, zones in found.items()})


def _in_zone(zone: str, pages: Pages, items: str, name: str) -> Listed:
    found: set[str] = set()
    silent: dict[str, Found] = {}
    for page in pages:
        found |= {str(one.get(name) or one["name"].rpartition("/")[2]) for one in page.get(items, [])}
        if page.get("unreachable"):
            silent[zone] = Found(items, "unknown", f"the Cloud TPU API could not reach {zone}", "try again")
    return Listed({zone: frozenset(found)}, silent)


def _aggregated(method: str, items: str, pages: Pages) -> Listed:
    """A list over all zones. A zone that it warns of, other than that a page has nothing of it, is not known."""
    found: dict[str, set[str]] = {}
    silent: dict[str, Found] = {}
    refused = None
    for page in pages:
        if told := _warned(page):
            refused = Found(method, "unknown", f"Compute Engine warns of the whole list: {told}", "try again")
        for place in page.get("unreachables", []):
            zone = str(place).rpartition("/")[2]
            silent[zone] = Found(method, "unknown", f"Compute Engine could not reach {zone}", "try again")
        for scope, scoped in page.get("items", {}).items():
            kind, _, zone = str(scope).partition("/")
            if kind != "zones" or not ZONE.fullmatch(zone):
                continue
            if told := _warned(scoped):
                silent[zone] = Found(method, "unknown", f"Compute Engine warns of {zone}: {told}", "try again")
            alive = [one for one in scoped.get(items, []) if (one.get("deprecated") or {}).get("state") not in ENDED]
            found.setdefault(zone, set()).update(str(one["name"]) for one in alive)
    return Listed({zone: frozenset(names) for zone, names in found.items()}, silent, refused)


def _warned(answer: Mapping[str, Any]) -> str:
    warning = answer.get("warning") or {}
    code = str(warning.get("code", ""))
    return "" if code in ("", "NO_RESULTS_ON_PAGE") else f"{code}: {warning.get('message', '')}".rstrip(": ")
