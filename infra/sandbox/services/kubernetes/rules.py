"""
What of an object may not change.

Source of rules and words: `pkg/apis/*/validation` of k8s.io/kubernetes, release 1.35; of JobSet: its webhook's validation. What an object
may not be at all is the catalogue's (`infra.catalog.manifests`).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import at
from infra.sandbox.services.kubernetes.statuses import Cause, Failure, forbids, invalid, value

IMMUTABLE = "field is immutable"
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
SAID = {
    LABEL: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    rf"'{LABEL}')",
    LABEL_1035: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    rf"with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{LABEL_1035}')",
    SUBDOMAIN: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    rf"an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')",
}
RULED_NAMES = {("", "Namespace"): (LABEL, 63), ("", "Service"): (LABEL_1035, 63)}
FREE_NAMES = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
"""Kinds whose names are any part of a path."""
STATEFUL = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
STATEFUL_MAY = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
POD = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
CLAIM = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
DIRECTIVES = ("nodeSelector", "tolerations", "affinity", "schedulingGates")
"""Of a suspended job's template these may change. Source: `JobSpecValidationOptions.AllowMutableSchedulingDirectives`."""


def name(kind: Kind, text: str) -> list[Cause]:
    """What is wrong with a name."""
    if kind.name in FREE_NAMES and kind.group.startswith("rbac."):
        return [value("metadata.name", text, f"may not contain '{one}'") for one in "/%" if one in text]
    rule, most = RULED_NAMES.get((kind.group, kind.name), (SUBDOMAIN, 253))
    found = [value("metadata.name", text, SAID[rule])] if not re.fullmatch(rule, text) else []
    return found + ([value("metadata.name", text, f"must be no more than {most} characters")] if len(text) > most else [])


def check(kind: Kind, before: Body, after: Body) -> None:
    """
    Raises:
        Failure: It may not become so.
    """
    changes = MAY_BECOME.get((kind.group, kind.name))
    causes = changes(before, after) if changes else []
    if not causes:
        return
    if kind.name == "JobSet":
        words = "; ".join(f"{field}: {message}" for _, message, field in causes)
        raise Failure(403, "Forbidden", f'admission webhook "vjobset.kb.io" denied the request: {words}')
    raise invalid(kind, after["metadata"]["name"], causes)


def _same(before: Body, after: Body, *paths: str) -> list[Cause]:
    found = []
    for path in paths:
        old, new = at(before, *path.split(".")), at(after, *path.split("."))
        if old != new:
            found.append(value(path, new, IMMUTABLE))
    return found


def _stateful(before: Body, after: Body) -> list[Cause]:
    old, new = ({key: one for key, one in body["spec"].items() if key not in STATEFUL_MAY} for body in (before, after))
    return [forbids("spec", STATEFUL)] if old != new else []


def _job_change(before: Body, after: Body) -> list[Cause]:
    found = _same(
        before,
        after,
        "spec.selector",
        "spec.completionMode",
        "spec.podFailurePolicy",
        "spec.successPolicy",
        "spec.backoffLimitPerIndex",
        "spec.managedBy",
    )
    old, new = before["spec"], after["spec"]
    elastic = new.get("completionMode") == "Indexed" and new.get("completions") == new.get("parallelism")
    if old.get("completions") != new.get("completions") and not elastic:
        found += _same(before, after, "spec.completions")
    if not _same_template(old["template"], new["template"], free=bool(old.get("suspend")) and "startTime" not in before.get("status", {})):
        found.append(value("spec.template", new["template"], IMMUTABLE))
    return found


def _same_template(old: Body, new: Body, *, free: bool) -> bool:
    if not free:
        return old == new
    both = []
    for one in (old, new):
        one = copy.deepcopy(one)
        one.pop("metadata", None)
        for field in DIRECTIVES:
            one["spec"].pop(field, None)
        both.append(one)
    return bool(both[0] == both[1])


def _job_set_change(before: Body, after: Body) -> list[Cause]:
    """While it is suspended, what its pods may be scheduled on may change: Kueue does that."""
    found = _same(
        before,
        after,
        *(f"spec.{field}" for field in ("network", "successPolicy", "failurePolicy", "startupPolicy", "managedBy", "coordinator")),
    )
    old, new = copy.deepcopy(before["spec"].get("replicatedJobs")), copy.deepcopy(after["spec"].get("replicatedJobs"))
    if before["spec"].get("suspend"):
        for one in [*(old or []), *(new or [])]:
            template = at(one, "template", "spec", "template") or {}
            template.pop("metadata", None)
            for field in DIRECTIVES:
                template.get("spec", {}).pop(field, None)
    if old != new:
        found.append(value("spec.replicatedJobs", after["spec"].get("replicatedJobs"), IMMUTABLE))
    return found


def _service(before: Body, after: Body) -> list[Cause]:
    old, new = before["spec"].get("clusterIP"), after["spec"].get("clusterIP")
    if old and new != old and after["spec"].get("type") != "ExternalName" and before["spec"].get("type") != "ExternalName":
        return [value("spec.clusterIPs[0]", [new], "may not change once set")]
    return []


def _claim(before: Body, after: Body) -> list[Cause]:
    old, new = copy.deepcopy(before["spec"]), copy.deepcopy(after["spec"])
    was, wanted = (bytes_of(at(spec, "resources", "requests", "storage")) for spec in (old, new))
    for spec in (old, new):
        (spec.get("resources") or {}).pop("requests", None)
        spec.pop("volumeAttributesClassName", None)
    old.setdefault("volumeName", new.get("volumeName"))
    if old != {**new, "volumeName": new.get("volumeName")}:
        return [forbids("spec", CLAIM)]
    if was is not None and wanted is not None and wanted < was:
        return [forbids("spec.resources.requests.storage", "field can not be less than status.capacity")]
    return []


def _frozen(before: Body, after: Body) -> list[Cause]:
    """A ConfigMap or a Secret that said that it stays."""
    if not before.get("immutable"):
        return []
    found = [] if after.get("immutable") else [forbids("immutable", "field is immutable when `immutable` is set")]
    for field in ("data", "binaryData"):
        if before.get(field) != after.get(field):
            found.append(forbids(field, "field is immutable when `immutable` is set"))
    return found


def _pod_change(before: Body, after: Body) -> list[Cause]:
    both = []
    for body in (before, after):
        spec = copy.deepcopy(body["spec"])
        for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
            if isinstance(container, dict):
                container.pop("image", None)
        for field in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"):
            spec.pop(field, None)
        both.append(spec)
    return [forbids("spec", POD)] if both[0] != both[1] else []


def _storage_class(before: Body, after: Body) -> list[Cause]:
    found = [forbids("parameters", "updates to parameters are forbidden.")] if before.get("parameters") != after.get("parameters") else []
    if before.get("provisioner") != after.get("provisioner"):
        found.append(forbids("provisioner", "updates to provisioner are forbidden."))
    if before.get("reclaimPolicy") != after.get("reclaimPolicy"):
        found.append(forbids("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
    return found + _same(before, after, "volumeBindingMode")


def _priority(before: Body, after: Body) -> list[Cause]:
    found = [] if before.get("value") == after.get("value") else [forbids("value", "may not be changed in an update.")]
    return found + _same(before, after, "preemptionPolicy")


def _role_ref(before: Body, after: Body) -> list[Cause]:
    return [] if before.get("roleRef") == after.get("roleRef") else [value("roleRef", after.get("roleRef"), "cannot change roleRef")]


def _selector(before: Body, after: Body) -> list[Cause]:
    return _same(before, after, "spec.selector")


def matches(selector: Any, labels: Any) -> bool:
    """Whether a label selector of an object picks what has *labels*. One that is null picks nothing, an empty one everything."""
    if not isinstance(selector, dict):
        return False
    labels = labels if isinstance(labels, dict) else {}
    if any(labels.get(key) != one for key, one in (selector.get("matchLabels") or {}).items()):
        return False
    for one in selector.get("matchExpressions") or []:
        key, values = one.get("key"), one.get("values") or []
        held = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not held.get(one.get("operator"), False):
            return False
    return True


UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18, "m": 1e-3}
UNITS |= {f"{letter}i": 1024 ** (index + 1) for index, letter in enumerate("KMGTPE")}


def bytes_of(quantity: Any) -> float | None:
    """A quantity as a number; None where it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(m|[kKMGTPE]i?)?", str(quantity))
    return float(found[1]) * UNITS[found[2] or ""] if found and (found[2] or "") in UNITS else None


APPS = "apps"
MAY_BECOME: dict[tuple[str, str], Callable[[Body, Body], list[Cause]]] = {
    ("", "ConfigMap"): _frozen,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod_change,
    ("", "Secret"): lambda before, after: _frozen(before, after) + _same(before, after, "type"),
    ("", "Service"): _service,
    (APPS, "DaemonSet"): _selector,
    (APPS, "Deployment"): _selector,
    (APPS, "ReplicaSet"): _selector,
    (APPS, "StatefulSet"): _stateful,
    ("batch", "Job"): _job_change,
    ("jobset.x-k8s.io", "JobSet"): _job_set_change,
    ("kueue.x-k8s.io", "LocalQueue"): lambda before, after: _same(before, after, "spec.clusterQueue"),
    ("node.k8s.io", "RuntimeClass"): lambda before, after: _same(before, after, "handler"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _role_ref,
    ("rbac.authorization.k8s.io", "RoleBinding"): _role_ref,
    ("scheduling.k8s.io", "PriorityClass"): _priority,
    ("storage.k8s.io", "StorageClass"): _storage_class,
}
