"""
What stands in a project, by Google's own lists: machines, clusters, buckets, endpoints and the like. Read-only.

A list that is refused is told, and spoils no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from infra.catalog.places import region_of
from infra.labels import RUN_LABEL, STACK_LABEL
from infra.operate import reach
from infra.provider.calls import GoogleError
from infra.provider.google import Google
from infra.provider.server import ProviderError

WORKERS = 6
GOING = frozenset({"DELETING", "STOPPING", "PENDING_DELETE", "DELETE_REQUESTED", "TERMINATED_DELETING", "DESTROYED"})
"""States of what is on its way out."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing that stands."""

    kind: str
    """What it is, as the table of kinds calls it."""
    name: str
    """Full name: what `existing:` takes, or what Google calls it."""
    place: str
    """Zone, region, `global`, or a bucket's location in small letters."""
    labels: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    """As Google has it."""

    @property
    def short(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def stack(self) -> str:
        """The stack that it says it is of; empty where it says none."""
        return str(self.labels.get(STACK_LABEL, ""))

    @property
    def ids(self) -> set[str]:
        """Ids under which an engine may know it."""
        return {self.name, self.short} if self.kind == "bucket" else {self.name}

    @property
    def is_going(self) -> bool:
        return str(self.body.get("status") or self.body.get("state") or "") in GOING

    @property
    def maker(self) -> str:
        """What made it, and will take it away: no stack does; empty where nobody is known."""
        if "goog-gke-node" in self.labels or (self.short.startswith("gke-") and self.kind in ("machine", "disk", "machine template")):
            return "is a part of a cluster's nodes"
        if any(one.get("key") == "created-by" for one in (self.body.get("metadata") or {}).get("items") or []):
            return "is one of a managed group"
        if RUN_LABEL in self.labels:
            return "is of a job's run"
        return "is a disk of a machine" if self.kind == "disk" and self.body.get("users") else ""

    def is_in(self, region: str) -> bool:
        """Whether it stands in a region."""
        return self.place == region or (self.place.startswith(f"{region}-") and region_of(self.place) == region)


@dataclass(frozen=True, slots=True)
class Refused:
    """A list that did not answer."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Estate:
    """All of it."""

    things: tuple[Thing, ...] = ()
    refused: tuple[Refused, ...] = ()


Lister = Callable[[Google, str, str], Iterator[Thing]]


def _compute(kind: str, method: str, items: str, part: str) -> Lister:
    def found(google: Google, project: str, region: str) -> Iterator[Thing]:
        page: dict[str, Any] = {}
        while True:
            answer = google.call("compute.v1", f"{method}.aggregatedList", project=project, **page)
            for scope, scoped in sorted((answer.get("items") or {}).items()):
                level, _, place = str(scope).partition("/")
                for one in scoped.get(items) or []:
                    where = f"{level}/{place}" if place else "global"
                    yield Thing(kind, f"projects/{project}/{where}/{part}/{one['name']}", place or "global", one.get("labels") or {}, one)
            if not answer.get("nextPageToken"):
                return
            page = {"pageToken": answer["nextPageToken"]}

    return found


def _global(kind: str, method: str, labels: Callable[[Mapping[str, Any]], Any]) -> Lister:
    def found(google: Google, project: str, region: str) -> Iterator[Thing]:
        for one in google.pages("compute.v1", f"{method}.list", "items", project=project):
            yield Thing(kind, f"projects/{project}/global/{method}/{one['name']}", "global", labels(one) or {}, one)

    return found


def _named(kind: str, api: str, method: str, items: str, *, everywhere: bool = True, labels: str = "labels", host: bool = False) -> Lister:
    """Lists of things that say their full name, in all locations or in one."""

    def found(google: Google, project: str, region: str) -> Iterator[Thing]:
        parent = f"projects/{project}" if ".locations." not in method else f"projects/{project}/locations/{'-' if everywhere else region}"
        arguments = {"name": parent} if method.startswith("projects.") and api.startswith("monitoring") else {"parent": parent}
        for one in google.pages(api, f"{method}.list", items, place=region if host else "", **arguments):
            name = _by_id(str(one["name"]), project)
            parts = name.split("/")
            yield Thing(kind, name, parts[3] if parts[2:3] == ["locations"] else "global", one.get(labels) or {}, one)

    return found


def _by_id(name: str, project: str) -> str:
    """A name with the project's number in it, by its id: Vertex AI and Secret Manager answer so."""
    parts = name.split("/")
    return "/".join(["projects", project, *parts[2:]]) if parts[0] == "projects" and parts[1].isdigit() else name


def _clusters(google: Google, project: str, region: str) -> Iterator[Thing]:
    """Clusters, and the pools in them."""
    answer = google.call("container.v1", "projects.locations.clusters.list", parent=f"projects/{project}/locations/-")
    for one in answer.get("clusters") or []:
        place = one.get("location") or one.get("zone", "")
        name = f"projects/{project}/locations/{place}/clusters/{one['name']}"
        yield Thing("cluster", name, place, one.get("resourceLabels") or {}, one)
        for pool in one.get("nodePools") or []:
            labels = (pool.get("config") or {}).get("resourceLabels") or {}
            yield Thing("node pool", f"{name}/nodePools/{pool['name']}", place, labels, pool)


def _buckets(google: Google, project: str, region: str) -> Iterator[Thing]:
    for one in google.pages("storage.v1", "buckets.list", "items", project=project):
        yield Thing("bucket", str(one["name"]), str(one.get("location", "")).lower(), one.get("labels") or {}, one)


def _budgets(google: Google, project: str, region: str) -> Iterator[Thing]:
    """Budgets of the billing account that count the project alone."""
    info = google.call("cloudbilling.v1", "projects.getBillingInfo", name=f"projects/{project}")
    number = str(google.call("cloudresourcemanager.v1", "projects.get", projectId=project).get("projectNumber", ""))
    if not info.get("billingAccountName"):
        return
    parent = str(info["billingAccountName"])
    for one in google.pages("billingbudgets.v1", "billingAccounts.budgets.list", "budgets", parent=parent):
        counted = (one.get("budgetFilter") or {}).get("projects") or []
        labels = {key: value["values"][0] if isinstance(value, dict) else value[0] for key, value in _filtered(one).items() if value}
        if counted in ([f"projects/{number}"], [f"projects/{project}"]):
            yield Thing("budget", str(one["name"]), "global", labels, one)


def _filtered(budget: Mapping[str, Any]) -> dict[str, Any]:
    """Labels that a budget counts by: `{"values": [...]}` or a list, by the client that reads them."""
    return dict((budget.get("budgetFilter") or {}).get("labels") or {})


def _run_jobs(google: Google, project: str, region: str) -> Iterator[Thing]:
    parent = f"projects/{project}/locations/{region}"
    for one in google.pages("run.v2", "projects.locations.jobs.list", "jobs", parent=parent):
        yield Thing("Cloud Run job", str(one["name"]), region, one.get("labels") or {}, one)


LISTS: Mapping[str, Lister] = {
    "machine": _compute("machine", "instances", "instances", "instances"),
    "machine group": _compute("machine group", "instanceGroupManagers", "instanceGroupManagers", "instanceGroupManagers"),
    "disk": _compute("disk", "disks", "disks", "disks"),
    "subnet": _compute("subnet", "subnetworks", "subnetworks", "subnetworks"),
    "machine template": _global("machine template", "instanceTemplates", lambda one: (one.get("properties") or {}).get("labels")),
    "TPU node": _named("TPU node", "tpu.v2", "projects.locations.nodes", "nodes"),
    "cluster": _clusters,
    "bucket": _buckets,
    "repository": _named("repository", "artifactregistry.v1", "projects.locations.repositories", "repositories", everywhere=False),
    "endpoint": _named("endpoint", "aiplatform.v1", "projects.locations.endpoints", "endpoints", everywhere=False, host=True),
    "model": _named("model", "aiplatform.v1", "projects.locations.models", "models", everywhere=False, host=True),
    "budget": _budgets,
    "channel": _named("channel", "monitoring.v3", "projects.notificationChannels", "notificationChannels", labels="userLabels"),
    "alert policy": _named("alert policy", "monitoring.v3", "projects.alertPolicies", "alertPolicies", labels="userLabels"),
    "secret": _named("secret", "secretmanager.v1", "projects.secrets", "secrets"),
    "Cloud Run job": _run_jobs,
}
"""From each kind to what lists it."""


def look(project: str, region: str, sandbox: str) -> Estate:
    """
    Everything of every kind, side by side.

    Args:
        region: Kinds that are listed region by region are listed in this one.
        sandbox: Address of the local cloud; empty for Google's.
    """
    google, _ = reach.google(project, sandbox)

    def listed(kind: str) -> tuple[list[Thing], Refused | None]:
        try:
            return list(LISTS[kind](google, project, region)), None
        except GoogleError as error:
            return [], Refused(kind, f"Google answers {error.code}: {str(error).partition(chr(10))[0]}")
        except ProviderError as error:
            return [], Refused(kind, str(error).partition("\n")[0])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            return [], Refused(kind, f"an answer of Google's was not understood: {type(error).__name__}: {error}")

    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            answers = list(pool.map(listed, LISTS))
    finally:
        google.close()
    things = sorted((thing for found, _ in answers for thing in found), key=lambda one: (one.kind, one.name))
    return Estate(tuple(things), tuple(refused for _, refused in answers if refused))
