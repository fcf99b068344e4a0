"""
What controllers refuse of their own kinds beside the schemas: Kueue, JobSet, LeaderWorkerSet and Ray, by their webhooks; Pulumi's.

Sources: the repositories that the files of `data/crds` name, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from infra.catalog import manifest_gke
from infra.catalog.manifest_parts import (
    DNS_1035,
    Faults,
    KindRule,
    apart,
    as_map,
    entries,
    labels_faults,
    name_faults,
    share_faults,
    texts,
    whole,
)
from infra.catalog.manifest_words import ManifestFault, Path, place, quoted, short
from infra.catalog.quantities import BadQuantity, quantity

SPEC: Path = ("spec",)


def broken(kind: str, manifest: Mapping[str, Any]) -> Faults:
    """What the rules of a custom kind say against an object of it."""
    if rule := RULES.get(kind):
        yield from rule(manifest)


def _spec(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_map(manifest.get("spec"))


def _flavor(manifest: Mapping[str, Any]) -> Faults:
    spec = _spec(manifest)
    yield from labels_faults(spec.get("nodeLabels"), (*SPEC, "nodeLabels"))
    if spec.get("topologyName") and not spec.get("nodeLabels"):
        yield ManifestFault("spec.nodeLabels", "is missing beside topologyName", "a label of the nodes")


def _cluster_queue(manifest: Mapping[str, Any]) -> Faults:
    spec = _spec(manifest)
    flavors: dict[str, str] = {}
    covered: dict[str, str] = {}
    for index, group in entries(spec.get("resourceGroups")):
        at = (*SPEC, "resourceGroups", index)
        names = texts(group.get("coveredResources"))
        for number, name in enumerate(names):
            where = place((*at, "coveredResources", number))
            if name in covered:
                yield ManifestFault(where, f"is {quoted(name)}, as {covered[name]}", "each resource once")
            covered.setdefault(name, where)
        for number, flavor in entries(group.get("flavors")):
            spot = (*at, "flavors", number)
            if isinstance(own := flavor.get("name"), str):
                if own in flavors and not flavors[own].startswith(place((*at, "flavors"))):
                    yield ManifestFault(place((*spot, "name")), f"is {quoted(own)}, as that of {flavors[own]}", "each flavor once")
                flavors.setdefault(own, place(spot))
            yield from _quotas(flavor, spot, names, bool(spec.get("cohortName")))
    fungibility = as_map(spec.get("flavorFungibility"))
    tries = [fungibility.get("whenCanBorrow"), fungibility.get("whenCanPreempt") or "TryNextFlavor"]
    if fungibility.get("preference") and tries != ["TryNextFlavor"] * 2:
        message = "is said, and one of whenCanBorrow and whenCanPreempt stops at the first flavor"
        yield ManifestFault("spec.flavorFungibility.preference", message, "TryNextFlavor in both")
    preemption = as_map(spec.get("preemption"))
    borrow = as_map(preemption.get("borrowWithinCohort")).get("policy")
    if preemption.get("reclaimWithinCohort", "Never") == "Never" and borrow not in (None, "Never"):
        yield ManifestFault("spec.preemption.reclaimWithinCohort", "is Never, and borrowWithinCohort is not", "LowerPriority, Any")


def _quotas(flavor: Mapping[str, Any], path: Path, covered: list[str], in_cohort: bool) -> Faults:
    """A flavor's quotas are those of the group's resources, in their order."""
    resources = entries(flavor.get("resources"))
    names = [str(one.get("name")) for _, one in resources]
    if names != covered:
        said = f"are of {', '.join(names) or 'nothing'}, and the group covers {', '.join(covered) or 'nothing'}"
        yield ManifestFault(place((*path, "resources")), said, "one quota for each of coveredResources, in the same order")
    for index, one in resources:
        for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            at = place((*path, "resources", index, key))
            if one.get(key) is None:
                continue
            try:
                amount = quantity(one[key])
                nominal = quantity(one.get("nominalQuota"))
            except BadQuantity:
                continue
            if amount < 0:
                yield ManifestFault(at, f"is {short(one[key])}, less than nothing", "0 or more")
            elif key != "nominalQuota" and not in_cohort:
                yield ManifestFault(at, "does nothing without cohortName", "leave it out, or say cohortName")
            elif key == "lendingLimit" and amount > nominal:
                yield ManifestFault(at, f"is {short(one[key])}, above nominalQuota {short(one.get('nominalQuota'))}", "at most that")


def _topology(manifest: Mapping[str, Any]) -> Faults:
    levels = [one.get("nodeLabel") for _, one in entries(_spec(manifest).get("levels"))]
    if "kubernetes.io/hostname" in levels[:-1]:
        yield ManifestFault("spec.levels", "have kubernetes.io/hostname before the last", "that one last: nothing is smaller than a node")


def _local_queue(manifest: Mapping[str, Any]) -> Faults:
    if not _spec(manifest).get("clusterQueue"):
        yield ManifestFault("spec.clusterQueue", "is missing: the queue leads nowhere")


def _job_set(manifest: Mapping[str, Any]) -> Faults:
    spec = _spec(manifest)
    jobs = entries(spec.get("replicatedJobs"))
    names = [str(one.get("name")) for _, one in jobs]
    own = str(as_map(manifest.get("metadata")).get("name", ""))
    for index, job in jobs:
        at = (*SPEC, "replicatedJobs", index)
        yield from name_faults(job.get("name"), (*at, "name"), DNS_1035, "a-z, 0-9 and -, with a letter first", 63)
        yield from name_faults(job.get("groupName"), (*at, "groupName"), DNS_1035, "a-z, 0-9 and -, with a letter first", 63)
        made = f"{own}-{job.get('name')}-{max(whole(job.get('replicas'), 1) - 1, 0)}"
        template = as_map(as_map(job.get("template")).get("spec"))
        if template.get("completionMode") == "Indexed":
            made += f"-{max(whole(template.get('completions'), 1) - 1, 0)}-xxxxx"  # five letters that end every pod's name
        if len(made) > 63:
            message = f"makes names of {len(made)} characters, such as {made}"
            yield ManifestFault(place((*at, "name")), message, "63 together: a shorter name, here or in metadata")
        for number, other in entries(job.get("dependsOn")):
            spot = place((*at, "dependsOn", number, "name"))
            if index == 0:
                yield ManifestFault(place((*at, "dependsOn")), "is of the first job, before which is none", "leave it out")
            elif str(other.get("name")) not in names[:index]:
                yield ManifestFault(spot, f"is {quoted(other.get('name'))}, no job before this one", ", ".join(names[:index]))
    if as_map(spec.get("startupPolicy")).get("startupPolicyOrder") == "InOrder" and any(job.get("dependsOn") for _, job in jobs):
        yield ManifestFault("spec.startupPolicy.startupPolicyOrder", "is InOrder beside dependsOn", "one of both")
    said: list[tuple[Path, Any]] = [
        ((*SPEC, "successPolicy", "targetReplicatedJobs"), as_map(spec.get("successPolicy")).get("targetReplicatedJobs"))
    ]
    said += [
        ((*SPEC, "failurePolicy", "rules", index, "targetReplicatedJobs"), rule.get("targetReplicatedJobs"))
        for index, rule in entries(as_map(spec.get("failurePolicy")).get("rules"))
    ]
    for path, targets in said:
        for index, name in enumerate(texts(targets)):
            if name not in names:
                yield ManifestFault(place((*path, index)), f"is {quoted(name)}, no job of this set", ", ".join(names))
    coordinator = as_map(spec.get("coordinator")).get("replicatedJob")
    if coordinator is not None and coordinator not in names:
        yield ManifestFault("spec.coordinator.replicatedJob", f"is {quoted(coordinator)}, no job of this set", ", ".join(names))
    if subdomain := as_map(spec.get("network")).get("subdomain"):
        yield from name_faults(subdomain, (*SPEC, "network", "subdomain"), DNS_1035, "up to 63 of a-z, 0-9 and -, with a letter first", 63)


def _leader_worker_set(manifest: Mapping[str, Any]) -> Faults:
    spec = _spec(manifest)
    template = as_map(spec.get("leaderWorkerTemplate"))
    size = whole(template.get("size"), 1)
    rolling = as_map(as_map(spec.get("rolloutStrategy")).get("rollingUpdateConfiguration"))
    at = (*SPEC, "rolloutStrategy", "rollingUpdateConfiguration")
    yield from share_faults(rolling, at, "maxUnavailable", "maxSurge")
    if str(rolling.get("maxUnavailable", 1)) in ("0", "0%") and str(rolling.get("maxSurge", 0)) in ("0", "0%"):
        yield ManifestFault(place((*at, "maxUnavailable")), "is 0, and so is maxSurge", "one of both above 0")
    group = as_map(template.get("subGroupPolicy"))
    if group:
        part = whole(group.get("subGroupSize"), 0)
        where = "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"
        if part < 1:
            yield ManifestFault(where, "is missing", f"a number that divides {size} or {size - 1}")
        elif (size - 1) % part and (size % part or group.get("subGroupPolicyType") == "LeaderExcluded"):
            yield ManifestFault(
                where, f"is {part}, which does not divide the group of {size}", f"a number that divides {size - 1}, or {size}"
            )
        elif part > size:
            yield ManifestFault(where, f"is {part}, above size {size}", f"at most {size}")


def _ray_cluster(manifest: Mapping[str, Any]) -> Faults:
    yield from _ray(_spec(manifest), SPEC)
    yield from _ray_name(manifest)


def _ray_name(manifest: Mapping[str, Any], most: int = 53) -> Faults:
    """Names of a cluster's pods and services begin with it."""
    name = as_map(manifest.get("metadata")).get("name")
    if isinstance(name, str) and (len(name) > most or not DNS_1035.fullmatch(name)):
        yield ManifestFault("metadata.name", f"is {quoted(name)}, no name for Ray", f"up to {most} of a-z, 0-9 and -, with a letter first")


def _ray(cluster: Mapping[str, Any], path: Path) -> Faults:
    seen: dict[str, int] = {}
    for index, group in entries(cluster.get("workerGroupSpecs")):
        at = (*path, "workerGroupSpecs", index)
        name = str(group.get("groupName"))
        if name in seen:
            yield ManifestFault(place((*at, "groupName")), f"is {quoted(name)}, as that of entry {seen[name]}", "a name of its own")
        seen.setdefault(name, index)
        low, high = whole(group.get("minReplicas"), 0), whole(group.get("maxReplicas"), 1 << 31)
        if low > high:
            yield ManifestFault(place((*at, "minReplicas")), f"is {low}, above maxReplicas {high}", f"at most {high}")


def _ray_job(manifest: Mapping[str, Any]) -> Faults:
    spec = _spec(manifest)
    yield from _ray(as_map(spec.get("rayClusterSpec")), (*SPEC, "rayClusterSpec"))
    yield from _ray_name(manifest, 47)
    if spec.get("clusterSelector"):
        if spec.get("suspend"):
            yield ManifestFault("spec.suspend", "does not go with clusterSelector: a cluster of others goes on", "leave it out")
        if whole(spec.get("backoffLimit"), 0) > 0:
            yield ManifestFault("spec.backoffLimit", "does not go with clusterSelector", "leave it out")
        yield from apart(spec, SPEC, ("clusterSelector", "rayClusterSpec"))
    elif not spec.get("rayClusterSpec"):
        yield ManifestFault(
            "spec.rayClusterSpec", "is missing", "the cluster that is made for the job; or clusterSelector, for one that is there"
        )
    if spec.get("suspend") and not spec.get("shutdownAfterJobFinishes"):
        yield ManifestFault("spec.shutdownAfterJobFinishes", "is not true, and the job may be suspended: its cluster would stay", "true")


def _ray_service(manifest: Mapping[str, Any]) -> Faults:
    yield from _ray(as_map(_spec(manifest).get("rayClusterConfig")), (*SPEC, "rayClusterConfig"))
    yield from _ray_name(manifest, 47)


def _pulumi_stack(manifest: Mapping[str, Any]) -> Faults:
    """Of the Pulumi Kubernetes Operator: one source of the program, and of a repository one place in it."""
    spec = _spec(manifest)
    name = as_map(manifest.get("metadata")).get("name")
    if isinstance(name, str) and len(name) > 42:
        yield ManifestFault("metadata.name", f"has {len(name)} letters", "at most 42")
    if bool(spec.get("projectRepo")) == bool(spec.get("fluxSource")):
        yield ManifestFault("spec.projectRepo", "is the program's source, or fluxSource is", "one of both")
    elif spec.get("projectRepo") and bool(spec.get("branch")) == bool(spec.get("commit")):
        yield ManifestFault("spec.branch", "says what of the repository is deployed, or commit does", "one of both")


RULES: Mapping[str, KindRule] = MappingProxyType(
    {
        "ResourceFlavor": _flavor,
        "ClusterQueue": _cluster_queue,
        "LocalQueue": _local_queue,
        "Topology": _topology,
        "JobSet": _job_set,
        "LeaderWorkerSet": _leader_worker_set,
        "RayCluster": _ray_cluster,
        "RayJob": _ray_job,
        "RayService": _ray_service,
        "Stack": _pulumi_stack,
        **manifest_gke.RULES,
    }
)
