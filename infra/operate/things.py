"""What a stack file's things are called in the cloud: so that status, logs and the console's page are found by the name in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from infra import names
from infra.apps import AppsSpec
from infra.errors import Problem, SpecError, nearest
from infra.foundation import FoundationSpec
from infra.stack import SWEEP, StackSpec
from infra.stack_file import FileSpec

FORMS = {"instances": "instance", "instanceGroupManagers": "group", "nodes": "node"}
"""By the last words but one of a machine's full name."""
RUNNERS = "runners"
"""In the place of a key of the stack file: what Cloud Run runs for the stack, such as the sweep of its jobs."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of a stack file."""

    kind: str
    """Key of the stack file: `endpoints`."""
    name: str
    """Its name there: `recommend`."""
    form: str
    """What it is in the cloud: `node`, `instance`, `group`, `request`, `cluster`, `pool`, `endpoint`, `model`, `job`, `budget`, `quota`,
    `bucket` or `service`."""
    resource: str
    """Full name in the cloud: `projects/P/locations/L/endpoints/E`. Of a service of a cluster: the cluster, the namespace and the name."""
    stack: str

    @property
    def path(self) -> str:
        return f"{self.kind}.{self.name}"

    @property
    def id(self) -> str:
        """The last part of the full name."""
        return self.resource.rpartition("/")[2]

    def part(self, collection: str) -> str:
        """What stands after a word in the full name, such as the zone after `zones`; empty where the word is not there."""
        words = self.resource.split("/")
        return words[words.index(collection) + 1] if collection in words[:-1] else ""


def of(spec: FileSpec, stack: str) -> list[Thing]:
    """Everything that a stack file declares and that can be looked at by itself."""
    if isinstance(spec, StackSpec):
        return list(_of_region(spec, stack))
    if isinstance(spec, FoundationSpec):
        return list(_of_foundation(spec, stack))
    return list(_of_apps(spec, stack)) if isinstance(spec, AppsSpec) else []


def _of_region(spec: StackSpec, stack: str) -> Iterator[Thing]:
    at, project = f"projects/{spec.project}/locations/{spec.region}", f"projects/{spec.project}"
    for name, tpu in spec.tpu_slices.items():
        if tpu.existing:
            yield _machine_of_others("tpu_slices", name, tpu.existing, stack)
            continue
        short = names.resource(stack, "tpu", name)
        if tpu.queued:
            form, full = "request", f"{project}/locations/{tpu.zone}/queuedResources/{short}"
        elif tpu.chosen_way != "compute-engine":
            form, full = "node", f"{project}/locations/{tpu.zone}/nodes/{short}"
        elif tpu.shape.single_host:
            form, full = "instance", f"{project}/zones/{tpu.zone}/instances/{short}"
        else:
            form, full = "group", f"{project}/zones/{tpu.zone}/instanceGroupManagers/{short}"
        yield Thing("tpu_slices", name, form, full, stack)
    for name, vm in spec.gpu_vms.items():
        if vm.existing:
            yield _machine_of_others("gpu_vms", name, vm.existing, stack)
        else:
            yield Thing("gpu_vms", name, "instance", f"{project}/zones/{vm.zone}/instances/{names.resource(stack, 'gpu', name)}", stack)
    clusters = {name: cluster_name(spec, stack, name) for name in spec.clusters}
    for name, full in clusters.items():
        yield Thing("clusters", name, "cluster", full, stack)
    for name, pool in spec.node_pools.items():
        full = pool.existing or f"{clusters[pool.cluster]}/nodePools/{names.cluster(stack, name)}"
        yield Thing("node_pools", name, "pool", full, stack)
    for name, model in spec.models.items():
        yield Thing("models", name, "model", model.existing or f"{at}/models/{names.resource(stack, name)}", stack)
    for name, endpoint in spec.endpoints.items():
        yield Thing("endpoints", name, "endpoint", f"{at}/endpoints/{endpoint.id_of(spec.project, stack, name)}", stack)
    for name in spec.jobs:
        yield Thing("jobs", name, "job", f"{at}/jobs/{names.run_job(stack, 'job', name)}", stack)
    if spec.jobs:
        yield Thing(RUNNERS, SWEEP, "job", f"{at}/jobs/{names.run_job(stack, SWEEP)}", stack)
    for name, budget in spec.budgets.items():
        yield Thing("budgets", name, "budget", budget.existing or f"{project}/budgets/{stack} {name}", stack)


def _machine_of_others(kind: str, name: str, existing: str, stack: str) -> Thing:
    """A machine, group or node that the file only names: its full name says what it is."""
    return Thing(kind, name, FORMS[existing.split("/")[-2]], existing, stack)


def _of_foundation(spec: FoundationSpec, stack: str) -> Iterator[Thing]:
    project = f"projects/{spec.project}"
    yield Thing("state", "bucket", "bucket", f"{project}/buckets/{names.bucket(spec.project, stack, 'state')}", stack)
    for name, budget in spec.budgets.items():
        yield Thing("budgets", name, "budget", budget.existing or f"{project}/budgets/{stack} {name}", stack)
    for name in spec.quota_requests:
        yield Thing("quota_requests", name, "quota", f"{project}/locations/global/quotaPreferences/{names.resource(stack, name)}", stack)


def _of_apps(spec: AppsSpec, stack: str) -> Iterator[Thing]:
    cluster = cluster_name(spec.of_region, spec.region_stack, spec.cluster_key)
    for kind, found in (("services", spec.services), ("jobs", spec.jobs), ("ray_clusters", spec.ray_clusters)):
        for name, one in found.items():
            yield Thing(kind, name, "service", f"{cluster}/namespaces/{one.namespace}/{kind}/{name}", stack)


def cluster_name(spec: StackSpec, stack: str, name: str) -> str:
    """Full name of a cluster of a region's file, its own or one that was there."""
    existing = spec.clusters[name].existing
    return existing or f"projects/{spec.project}/locations/{spec.region}/clusters/{names.cluster(stack, name)}"


def find(word: str, every: Iterable[Thing], command: str) -> Thing:
    """
    The thing that a person means: `recommend`, `endpoints.recommend`, or its name in the cloud.

    Raises:
        SpecError: There is none, or there are several: each with how it is told apart.
    """
    things = list(every)
    found = [one for one in things if word in (one.path, f"{one.stack}/{one.path}")] or [
        one for one in things if word in (one.name, one.id)
    ]
    if len(found) == 1:
        return found[0]
    stacks = {one.stack for one in things}
    shown = {f"{one.stack}/{one.path}" if len(stacks) > 1 else one.path: one for one in things}
    if found:
        allowed = ", ".join(key for key, one in shown.items() if one in found)
        raise SpecError(command, [Problem("THING", f"{word!r} is the name of several", allowed, "write the kind with it")])
    by_name = {one.name for one in things}
    close = nearest(word, [*shown, *by_name])
    wanted = [key for key, one in shown.items() if key in close or one.name in close] or list(shown)
    allowed = ", ".join(wanted[:10]) or "these stacks have none that could be looked at"
    raise SpecError(command, [Problem("THING", f"{word!r} is nothing that these stacks have", allowed)])
