"""
What Kubernetes' API server refuses beside its schemas: names, labels, values of a few words, and what must be there together or apart.

Each rule is of one definition of Kubernetes, so that it holds wherever that stands.
Source: kubernetes/kubernetes, pkg/apis/*/validation and k8s.io/apimachinery/pkg/util/validation, in public copies, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from infra.catalog import manifest_pods
from infra.catalog.manifest_parts import (
    DNS_LABEL,
    DNS_LABEL_WORDS,
    Faults,
    Rule,
    as_list,
    as_map,
    at_least,
    entries,
    is_int,
    key_faults,
    labels_faults,
    name_faults,
    port_faults,
    share_faults,
)
from infra.catalog.manifest_words import ManifestFault, Path, place, quoted, short
from infra.catalog.quantities import BadQuantity, quantity

FILE_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII)

WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "PodSpec": {
            "restartPolicy": ("Always", "OnFailure", "Never"),
            "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
            "preemptionPolicy": ("PreemptLowerPriority", "Never"),
        },
        "Container": {
            "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
            "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
            "restartPolicy": ("Always", "OnFailure", "Never"),
        },
        "ContainerPort": {"protocol": ("TCP", "UDP", "SCTP")},
        "ServicePort": {"protocol": ("TCP", "UDP", "SCTP")},
        "NetworkPolicyPort": {"protocol": ("TCP", "UDP", "SCTP")},
        "ServiceSpec": {
            "type": ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
            "sessionAffinity": ("None", "ClientIP"),
            "externalTrafficPolicy": ("Cluster", "Local"),
            "internalTrafficPolicy": ("Cluster", "Local"),
            "ipFamilyPolicy": ("SingleStack", "PreferDualStack", "RequireDualStack"),
        },
        "Toleration": {"operator": ("Exists", "Equal"), "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute")},
        "Taint": {"effect": ("NoSchedule", "PreferNoSchedule", "NoExecute")},
        "NodeSelectorRequirement": {"operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")},
        "LabelSelectorRequirement": {"operator": ("In", "NotIn", "Exists", "DoesNotExist")},
        "TopologySpreadConstraint": {"whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway")},
        "HTTPGetAction": {"scheme": ("HTTP", "HTTPS")},
        "DeploymentStrategy": {"type": ("Recreate", "RollingUpdate")},
        "StatefulSetUpdateStrategy": {"type": ("RollingUpdate", "OnDelete")},
        "DaemonSetUpdateStrategy": {"type": ("RollingUpdate", "OnDelete")},
        "StatefulSetSpec": {"podManagementPolicy": ("OrderedReady", "Parallel")},
        "JobSpec": {"completionMode": ("NonIndexed", "Indexed"), "podReplacementPolicy": ("TerminatingOrFailed", "Failed")},
        "PodFailurePolicyRule": {"action": ("FailJob", "FailIndex", "Ignore", "Count")},
        "CronJobSpec": {"concurrencyPolicy": ("Allow", "Forbid", "Replace")},
        "PersistentVolumeClaimSpec": {"volumeMode": ("Filesystem", "Block")},
        "StorageClass": {"reclaimPolicy": ("Delete", "Retain"), "volumeBindingMode": ("Immediate", "WaitForFirstConsumer")},
        "MetricSpec": {"type": ("Resource", "ContainerResource", "Pods", "Object", "External")},
        "Subject": {"kind": ("ServiceAccount", "User", "Group")},
        "RoleRef": {"kind": ("Role", "ClusterRole")},
    }
)
"""Fields of a few words, by definition; the schemas have them as any text."""


def broken(name: str, value: Any, path: Path) -> Faults:
    """What the rules of one definition, such as `api.core.v1.Container`, say against a value of it."""
    short_name = name.rpartition(".")[2]
    if short_name == "Quantity" and isinstance(value, str | int | float):
        try:
            quantity(value)
        except BadQuantity as bad:
            yield ManifestFault(place(path), str(bad), bad.allowed)
    if not isinstance(value, Mapping):
        return
    for key, allowed in WORDS.get(short_name, {}).items():
        got = value.get(key)
        if isinstance(got, str) and got and got not in allowed:
            yield ManifestFault(place((*path, key)), f"is {quoted(got)}", ", ".join(allowed))
    for rule in RULES.get(short_name, ()):
        yield from rule(value, path)


def _meta(meta: Mapping[str, Any], path: Path) -> Faults:
    yield from labels_faults(meta.get("labels"), (*path, "labels"))
    notes = meta.get("annotations")
    if isinstance(notes, Mapping):
        for key in notes:
            yield from key_faults(key.lower(), (*path, "annotations", key), "an annotation")
        size = sum(len(key) + len(one.encode(errors="replace")) for key, one in notes.items() if isinstance(one, str))
        if size > 256 << 10:
            yield ManifestFault(place((*path, "annotations")), f"has {size} bytes", "256 KiB together")
    if namespace := meta.get("namespace"):
        yield from name_faults(namespace, (*path, "namespace"), DNS_LABEL, DNS_LABEL_WORDS, 63)


def _selector(selector: Mapping[str, Any], path: Path) -> Faults:
    yield from labels_faults(selector.get("matchLabels"), (*path, "matchLabels"))


def _requirement(one: Mapping[str, Any], path: Path) -> Faults:
    operator, values = one.get("operator"), as_list(one.get("values"))
    if isinstance(key := one.get("key"), str) and key != "metadata.name":
        yield from key_faults(key, (*path, "key"), "a label")
    at = place((*path, "values"))
    if operator in ("In", "NotIn") and not values:
        yield ManifestFault(at, f"is missing beside {operator}")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield ManifestFault(at, f"does nothing beside {operator}", "leave it out")
    elif operator in ("Gt", "Lt") and not (len(values) == 1 and re.fullmatch(r"-?\d{1,18}", str(values[0]), re.ASCII)):
        yield ManifestFault(at, f"is not one whole number, beside {operator}", '["8"]')


def _selects(spec: Mapping[str, Any], path: Path) -> Faults:
    """The pods that a workload makes must be those that it looks after."""
    selector, template = spec.get("selector"), as_map(spec.get("template"))
    if not isinstance(selector, Mapping):
        return
    wanted, expressions = as_map(selector.get("matchLabels")), entries(selector.get("matchExpressions"))
    if not wanted and not expressions:
        yield ManifestFault(place((*path, "selector")), "selects nothing", "matchLabels, with labels of the template")
        return
    labels = as_map(as_map(template.get("metadata")).get("labels"))
    for key, value in wanted.items():
        if labels.get(key) != value:
            has = f"has {quoted(labels[key])}" if key in labels else "has no such label"
            yield ManifestFault(
                place((*path, "selector", "matchLabels", key)), f"is {quoted(value)}, and the template {has}", "the same in both"
            )
    for index, one in expressions:
        label, values = str(one.get("key")), as_list(one.get("values"))
        there, listed = label in labels, labels.get(label) in values
        met = {"In": there and listed, "NotIn": not (there and listed), "Exists": there, "DoesNotExist": not there}
        if not met.get(str(one.get("operator")), True):
            at = place((*path, "selector", "matchExpressions", index))
            yield ManifestFault(at, f"does not hold of the template's label {label}", "an expression that holds of it")


def _always(spec: Mapping[str, Any], path: Path) -> Faults:
    pod = as_map(as_map(spec.get("template")).get("spec"))
    if pod.get("restartPolicy") not in (None, "", "Always"):
        at = place((*path, "template", "spec", "restartPolicy"))
        yield ManifestFault(at, f"is {quoted(pod['restartPolicy'])}, and these pods never end", "Always, or leave it out")
    if pod.get("activeDeadlineSeconds") is not None:
        yield ManifestFault(place((*path, "template", "spec", "activeDeadlineSeconds")), "is for pods that end", "leave it out")
    yield from at_least(spec, path, replicas=0, minReadySeconds=0, revisionHistoryLimit=0, progressDeadlineSeconds=1)


def _rollout(one: Mapping[str, Any], path: Path) -> Faults:
    rolling = one.get("rollingUpdate")
    if one.get("type") == "Recreate" and rolling is not None:
        yield ManifestFault(place((*path, "rollingUpdate")), "does not go with Recreate", "leave it out")
    if isinstance(rolling, Mapping):
        yield from share_faults(rolling, (*path, "rollingUpdate"), "maxUnavailable", "maxSurge")
        if all(str(rolling.get(key)) in ("0", "0%") for key in ("maxUnavailable", "maxSurge")):
            yield ManifestFault(place((*path, "rollingUpdate", "maxUnavailable")), "is 0, and so is maxSurge", "one of both above 0")


def _job(spec: Mapping[str, Any], path: Path) -> Faults:
    pod = as_map(as_map(spec.get("template")).get("spec"))
    at = place((*path, "template", "spec", "restartPolicy"))
    policy = pod.get("restartPolicy")
    defaulted = "replicatedJobs" in path and not policy  # a JobSet's webhook says OnFailure there
    if pod and policy not in ("Never", "OnFailure") and not defaulted:
        got = f"is {quoted(policy)}" if policy else "is missing"
        yield ManifestFault(at, f"{got}: the pods of a job end", "Never, OnFailure")
    if spec.get("podFailurePolicy") and policy == "OnFailure":
        yield ManifestFault(at, 'is "OnFailure" beside podFailurePolicy', "Never")
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        yield ManifestFault(place((*path, "completions")), "is missing beside completionMode: Indexed")
    if spec.get("backoffLimitPerIndex") is not None and spec.get("completionMode") != "Indexed":
        yield ManifestFault(place((*path, "backoffLimitPerIndex")), "is of indexed jobs", "say completionMode: Indexed")
    if spec.get("selector") and not spec.get("manualSelector"):
        yield ManifestFault(place((*path, "selector")), "is made by the server", "leave it out")
    yield from at_least(spec, path, parallelism=0, completions=0, backoffLimit=0, activeDeadlineSeconds=0, ttlSecondsAfterFinished=0)


def _cron(spec: Mapping[str, Any], path: Path) -> Faults:
    when = spec.get("schedule")
    if isinstance(when, str) and not (
        len(when.split()) == 5 or re.fullmatch(r"@(yearly|annually|monthly|weekly|daily|midnight|hourly|every .+)", when)
    ):
        yield ManifestFault(place((*path, "schedule")), f"is {quoted(when)}, no schedule", "five fields such as 0 3 * * *, or @daily")
    if isinstance(when, str) and "TZ=" in when:
        yield ManifestFault(place((*path, "schedule")), "names a time zone", "say timeZone beside it")
    yield from at_least(spec, path, startingDeadlineSeconds=0, successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)


def _service(spec: Mapping[str, Any], path: Path) -> Faults:
    ports, kind = entries(spec.get("ports")), spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        if not spec.get("externalName"):
            yield ManifestFault(place((*path, "externalName")), "is missing beside type: ExternalName")
    elif not ports and spec.get("clusterIP") != "None":
        yield ManifestFault(place((*path, "ports")), "is missing", "a port; or clusterIP: None, of a service that only gives names")
    yield from labels_faults(spec.get("selector"), (*path, "selector"))
    names: dict[str, int] = {}
    for index, one in ports:
        at = (*path, "ports", index)
        name = one.get("name")
        if len(ports) > 1 and not name:
            yield ManifestFault(place((*at, "name")), "is missing: a service with several ports names them")
        if isinstance(name, str) and name:
            yield from name_faults(name, (*at, "name"), DNS_LABEL, DNS_LABEL_WORDS, 63)
            if name in names:
                yield ManifestFault(place((*at, "name")), f"is {quoted(name)}, as that of entry {names[name]}", "a name of its own")
            names.setdefault(name, index)
        if is_int(one.get("port")) and not 1 <= one["port"] <= 65535:
            yield ManifestFault(place((*at, "port")), f"is {short(one['port'])}, no port", "1 to 65535")
        yield from port_faults(one.get("targetPort"), (*at, "targetPort"))


def _claim(spec: Mapping[str, Any], path: Path) -> Faults:
    modes = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
    given = spec.get("accessModes")
    if not given:
        yield ManifestFault(place((*path, "accessModes")), "is missing", ", ".join(modes))
    for index, mode in enumerate(given if isinstance(given, list) else ()):
        if isinstance(mode, str) and mode not in modes:
            yield ManifestFault(place((*path, "accessModes", index)), f"is {quoted(mode)}", ", ".join(modes))
    size = as_map(as_map(spec.get("resources")).get("requests")).get("storage")
    at = place((*path, "resources", "requests", "storage"))
    if size is None:
        yield ManifestFault(at, "is missing", "its size, such as 100Gi")
    else:
        try:
            small = quantity(size) <= 0
        except BadQuantity:
            return
        if small:
            yield ManifestFault(at, f"is {short(size)}", "above 0")


def _config(kind: str, most: int) -> Rule:
    def rule(one: Mapping[str, Any], path: Path) -> Faults:
        total = 0
        for field in ("data", "binaryData", "stringData"):
            for key, value in as_map(one.get(field)).items():
                total += len(str(value))
                if not FILE_KEY.fullmatch(key) or key in (".", ".."):
                    yield ManifestFault(place((*path, field, key)), f"is no key of a {kind}", "a-z, A-Z, 0-9, -, _ and .")
        if total > most:
            yield ManifestFault(place((*path, "data")), f"has {total} bytes", f"{most >> 20} MiB together")

    return rule


def _scaler(spec: Mapping[str, Any], path: Path) -> Faults:
    low, high = spec.get("minReplicas"), spec.get("maxReplicas")
    yield from at_least(spec, path, minReplicas=0, maxReplicas=1)
    if is_int(low) and is_int(high) and low > high:
        yield ManifestFault(place((*path, "maxReplicas")), f"is {high}, below minReplicas {low}", f"{low} or more")
    for index, metric in entries(spec.get("metrics")):
        kind = metric.get("type")
        field = kind[:1].lower() + kind[1:] if isinstance(kind, str) else ""
        if kind in WORDS["MetricSpec"]["type"] and not metric.get(field):
            yield ManifestFault(place((*path, "metrics", index, field)), f"is missing beside type: {kind}")


def _disruption(spec: Mapping[str, Any], path: Path) -> Faults:
    yield from share_faults(spec, path, "minAvailable", "maxUnavailable")
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield ManifestFault(place((*path, "maxUnavailable")), "does not go with minAvailable", "one of both")


RULES: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        **{name: (rule,) for name, rule in manifest_pods.RULES.items()},
        "ObjectMeta": (_meta,),
        "LabelSelector": (_selector,),
        "LabelSelectorRequirement": (_requirement,),
        "NodeSelectorRequirement": (_requirement,),
        "DeploymentSpec": (_selects, _always),
        "StatefulSetSpec": (_selects, _always),
        "DaemonSetSpec": (_selects, _always),
        "ReplicaSetSpec": (_selects, _always),
        "DeploymentStrategy": (_rollout,),
        "JobSpec": (_job,),
        "CronJobSpec": (_cron,),
        "ServiceSpec": (_service,),
        "PersistentVolumeClaimSpec": (_claim,),
        "ConfigMap": (_config("ConfigMap", 1 << 20),),
        "Secret": (_config("Secret", 1 << 20),),
        "HorizontalPodAutoscalerSpec": (_scaler,),
        "PodDisruptionBudgetSpec": (_disruption,),
    }
)
"""By the last part of a definition's name."""
