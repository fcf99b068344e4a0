"""
What every write of an object goes through: it is read, held against its schema and rules, filled in, kept, and those who wrote it noted.

Source of the order and the words: `registry/generic/registry/store.go` and `endpoints/handlers` of k8s.io/apiserver, release 1.35.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infra.sandbox.service import Body
from infra.sandbox.services.kubernetes import admission, defaults, fields, kinds, patches, rules, statuses
from infra.sandbox.services.kubernetes.kinds import Kind
from infra.sandbox.services.kubernetes.objects import NAMESPACE, Cluster, at, seconds, stamp

DRAWN = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of names that are drawn. Source: k8s.io/apimachinery, `pkg/util/rand`."""
STOP_SECONDS = 2.0
"""Virtual seconds that a container takes to end when it is told to. Ours; no longer than its grace period."""
SYSTEM = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of metadata that no client sets but once."""
RETURNED = frozenset({"Pod", "Namespace", "Service", "PersistentVolumeClaim", "PersistentVolume", "ServiceAccount", "PodTemplate"})
"""Kinds of which a delete answers the object. Source: `ReturnDeletedObject` in `pkg/registry` of k8s.io/kubernetes."""
ORPHANS, FOREGROUND = "orphan", "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and how."""

    manager: str
    version: str
    """Group and version as the request has it."""
    strict: bool = True
    """Whether unknown fields are refused."""
    force: bool = False
    trusted: bool = False
    """Whether what is written was held against its schema already."""


def create(cluster: Cluster, kind: Kind, namespace: str, sent: Body, writer: Writer) -> Body:
    """
    Raises:
        Failure: It cannot be.
    """
    body = _read(kind, namespace, sent, writer)
    body["metadata"].pop("managedFields", None)
    return _make(cluster, kind, body, writer, lambda body: fields.written(None, body, writer.manager, writer.version, cluster.now))


def _make(cluster: Cluster, kind: Kind, body: Body, writer: Writer, note: Callable[[Body], None]) -> Body:
    meta = body["metadata"]
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = f"{meta['generateName']}{drawn(cluster, 5)}"
    if not meta.get("name"):
        raise statuses.invalid(kind, "", [statuses.required("metadata.name", "name or generateName is required")])
    if meta.get("resourceVersion"):
        raise statuses.bad_request("resourceVersion should not be set on objects to be created")
    if causes := rules.name(kind, meta["name"]):
        raise statuses.invalid(kind, meta["name"], causes)
    _check_namespace(cluster, kind, body)
    if cluster.get(kind, meta.get("namespace", ""), meta["name"]) is not None:
        raise statuses.exists(kind, meta["name"])
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        meta.pop(field, None)
    meta |= {"uid": cluster.new_id(), "creationTimestamp": cluster.now}
    if kinds.counts(kind):
        meta["generation"] = 1
    if kind.status:
        body.pop("status", None)
    if not writer.trusted:
        admission.schema(cluster, kind, body, None, strict=writer.strict)
    defaults.fill(kind, body)
    admission.admit(cluster, kind, body, None)
    note(body)
    return cluster.keep(kind, body)


def drawn(cluster: Cluster, size: int) -> str:
    """Letters that a server would draw."""
    digest = hashlib.sha256(f"{cluster.name}{cluster.cloud.store.next('kubernetes/drawn')}".encode()).digest()
    return "".join(DRAWN[byte % len(DRAWN)] for byte in digest[:size])


def _read(kind: Kind, namespace: str, sent: Any, writer: Writer, name: str = "") -> Body:
    """
    An object as it was sent, with what its address says.

    Raises:
        Failure: It is another one than its address says, or none.
    """
    if not isinstance(sent, dict):
        raise statuses.bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct")
    if (said := sent.get("kind")) not in (None, kind.name):
        raise statuses.bad_request(f'{said} in version "{writer.version}" cannot be handled as a {kind.name}')
    if (version := sent.get("apiVersion")) not in (None, writer.version):
        raise statuses.bad_request(f"the API version in the data ({version}) does not match the expected API version ({writer.version})")
    sent = without_nulls(sent)
    body = {"kind": kind.name, "apiVersion": writer.version} | {key: one for key, one in sent.items() if key not in ("kind", "apiVersion")}
    meta = body.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        raise statuses.bad_request(f'{kind.name} in version "{writer.version}" cannot be handled as a {kind.name}: metadata is no object')
    meta = body["metadata"] = copy.deepcopy(meta or {})
    for field in ("name", "generateName", "namespace", "resourceVersion", "uid"):
        if not isinstance(meta.get(field, ""), str | None):
            raise statuses.bad_request(
                f"json: cannot unmarshal {_go(meta[field])} into Go struct field ObjectMeta.metadata.{field} of type string"
            )
    for field in ("labels", "annotations"):
        if field in meta and not meta[field]:
            del meta[field]
        said = meta.get(field, {})
        if not isinstance(said, dict) or not all(isinstance(one, str) for one in said.values()):
            wrong = next((one for one in said.values() if not isinstance(one, str)), None) if isinstance(said, dict) else said
            raise statuses.bad_request(
                f"json: cannot unmarshal {_go(wrong)} into Go struct field ObjectMeta.metadata.{field} of type string"
            )
    if kind.namespaced:
        if meta.get("namespace") not in (None, "", namespace):
            raise statuses.bad_request("the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    if name:
        if meta.get("name") not in (None, "", name):
            raise statuses.bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")
        meta["name"] = name
    return body


def without_nulls(value: Any) -> Any:
    """A body as Go reads it: what is null is not there."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def _go(value: Any) -> str:
    """What Go calls a value of JSON."""
    names = {bool: "bool", int: "number", float: "number", list: "array", dict: "object", str: "string"}
    return names.get(type(value), "null")


def _check_namespace(cluster: Cluster, kind: Kind, body: Body) -> None:
    if not kind.namespaced:
        return
    namespace = body["metadata"]["namespace"]
    found = cluster.get(NAMESPACE, "", namespace)
    if found is None:
        raise statuses.not_found(NAMESPACE, namespace)
    if "deletionTimestamp" in found["metadata"]:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = ("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        raise statuses.forbidden(kind, body["metadata"]["name"], why, [cause])


def replace(cluster: Cluster, kind: Kind, before: Body, sent: Any, writer: Writer, subresource: str = "") -> Body:
    """
    PUT.

    Raises:
        Failure: It cannot become so.
    """
    meta = before["metadata"]
    body = _read(kind, meta.get("namespace", ""), sent, writer, meta["name"])
    return _change(cluster, kind, before, body, writer, subresource)


def patch(cluster: Cluster, kind: Kind, before: Body, form: str, sent: Any, writer: Writer, subresource: str = "") -> Body:
    """
    PATCH but for server-side apply.

    Raises:
        Failure: The patch is none, or does not fit, or it cannot become so.
    """
    name = before["metadata"]["name"]
    shown = {**before, "apiVersion": writer.version}
    if form == patches.JSON:
        after = patches.operations(kind, name, shown, sent)
    elif not isinstance(sent, dict):
        raise statuses.bad_request("error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}")
    else:
        after = patches.strategic(shown, sent) if form == patches.STRATEGIC else patches.merge(shown, sent)
    body = _read(kind, before["metadata"].get("namespace", ""), after, writer, name)
    return _change(cluster, kind, before, body, writer, subresource)


def _change(cluster: Cluster, kind: Kind, before: Body, body: Body, writer: Writer, subresource: str) -> Body:
    """What a PUT or a PATCH makes of an object."""
    _check_version(kind, before, body)
    after = _with_kept(kind, before, body, subresource)
    if not subresource:
        admission.schema(cluster, kind, after, before, strict=writer.strict)
        defaults.fill(kind, after)
        admission.admit(cluster, kind, after, before)
        rules.check(kind, before, after)
    if sent := body["metadata"].get("managedFields"):
        after["metadata"]["managedFields"] = sent
    base = before if sent is None else {**before, "metadata": {**before["metadata"], "managedFields": sent}}
    fields.written(base, after, writer.manager, writer.version, cluster.now, subresource)
    return keep(cluster, kind, before, after)


def _check_version(kind: Kind, before: Body, body: Body) -> None:
    meta, sent = before["metadata"], body["metadata"]
    if sent.get("uid") not in (None, "", meta["uid"]):
        why = f"Precondition failed: UID in precondition: {sent['uid']}, UID in object meta: {meta['uid']}"
        raise statuses.conflict(kind, meta["name"], why)
    if sent.get("resourceVersion") not in (None, "", meta["resourceVersion"]):
        raise statuses.conflict(kind, meta["name"], statuses.MODIFIED)


def _with_kept(kind: Kind, before: Body, body: Body, subresource: str) -> Body:
    """What is written, with what that address does not write."""
    kept = {field: before["metadata"][field] for field in SYSTEM if field in before["metadata"]}
    if subresource == "status":
        meta = before["metadata"]
        return {**copy.deepcopy(before), "apiVersion": body["apiVersion"], "metadata": dict(meta)} | (
            {"status": body["status"]} if "status" in body else {}
        )
    meta = {key: one for key, one in body["metadata"].items() if key not in SYSTEM} | kept
    after = {**body, "metadata": meta}
    if kind.status:
        after.pop("status", None)
        if "status" in before:
            after["status"] = before["status"]
    if kind.name == "Namespace":
        after["spec"] = before.get("spec", {})
    return after


def apply(cluster: Cluster, kind: Kind, namespace: str, name: str, sent: Any, writer: Writer, subresource: str = "") -> tuple[Body, bool]:
    """
    Server-side apply. Answers the object, and whether it is new.

    Raises:
        Failure: It cannot be, or others manage what would change.
    """
    wanted = _read(kind, namespace, sent, writer, name)
    if wanted["metadata"].get("managedFields"):
        raise statuses.bad_request("metadata.managedFields must be nil")
    before = cluster.get(kind, namespace, name)
    if not isinstance(sent.get("apiVersion"), str) or not isinstance(sent.get("kind"), str):
        raise statuses.bad_request("apiVersion and kind must be set in an applied object")
    if subresource != "status":
        wanted = {key: one for key, one in wanted.items() if key != "status" or not kind.status}
    if before is None:
        if subresource:
            raise statuses.not_found(kind, name)
        if wanted["metadata"].get("uid"):
            why = "uid mismatch: the provided object specified uid " + f"{wanted['metadata']['uid']}, and no existing object was found"
            raise statuses.conflict(kind, name, why)
        wanted["metadata"].pop("resourceVersion", None)
        applied = fields.applied(kind, None, wanted, writer.manager, writer.version, force=writer.force, now=cluster.now)
        entries = applied["metadata"].pop("managedFields")
        return _make(cluster, kind, applied, writer, lambda body: body["metadata"].update(managedFields=entries)), True
    _check_version(kind, before, wanted)
    live = {**before, "apiVersion": writer.version}
    merged = fields.applied(
        kind, live, wanted, writer.manager, writer.version, force=writer.force, now=cluster.now, subresource=subresource
    )
    after = _with_kept(kind, before, merged, subresource)
    after["metadata"]["managedFields"] = merged["metadata"]["managedFields"]
    if not subresource:
        admission.schema(cluster, kind, after, before, strict=writer.strict)
        defaults.fill(kind, after)
        admission.admit(cluster, kind, after, before)
        rules.check(kind, before, after)
    return keep(cluster, kind, before, after), False


def keep(cluster: Cluster, kind: Kind, before: Body, after: Body) -> Body:
    """Keeps a changed object: with its next generation where what is wanted of it changed, and gone where that was waited for."""
    if _bare(before) == _bare(after):
        return before
    if kinds.counts(kind) and _wanted(before) != _wanted(after):
        after["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
    if "deletionTimestamp" in after["metadata"] and not _holds(kind, after) and _is_over(cluster, kind, after):
        cluster.drop(kind, after)
        return after
    return cluster.keep(kind, after)


def _bare(body: Body) -> Body:
    """An object without what a write that changes nothing leaves as it was."""
    meta = {key: one for key, one in body["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    owned = [{key: one for key, one in entry.items() if key != "time"} for entry in fields.managers(body)]
    return {**body, "apiVersion": "", "metadata": {**meta, "managedFields": owned}}


def _wanted(body: Body) -> Body:
    return {key: one for key, one in body.items() if key not in ("metadata", "status", "apiVersion", "kind")}


def _holds(kind: Kind, body: Body) -> bool:
    """Whether something still holds what is to go."""
    spec = body.get("spec") if kind.name == "Namespace" else None
    return bool(body["metadata"].get("finalizers")) or bool(isinstance(spec, dict) and spec.get("finalizers"))


def _is_over(cluster: Cluster, kind: Kind, body: Body) -> bool:
    """Whether a pod that is to go has ended."""
    return kind.name != "Pod" or ends(body) <= cluster.cloud.moment


def ends(pod: Body) -> float:
    """When a pod that is to go has gone."""
    meta = pod["metadata"]
    grace = float(meta.get("deletionGracePeriodSeconds", 0))
    return seconds(meta["deletionTimestamp"]) - grace + min(grace, STOP_SECONDS)


def delete(cluster: Cluster, kind: Kind, body: Body, policy: str = "Background", grace: float | None = None) -> Body | None:
    """
    Deletes an object, or begins to. Answers it where it still stands.

    Args:
        policy: `Background`, `Foreground` or `Orphan`.
        grace: Seconds that a pod gets. (default: its own)
    """
    after = copy.deepcopy(body)
    meta = after["metadata"]
    finalizers = list(meta.get("finalizers") or [])
    added = {"Foreground": FOREGROUND, "Orphan": ORPHANS}.get(policy)
    if added and "deletionTimestamp" not in meta:
        finalizers.append(added)
    meta.pop("finalizers", None)
    if finalizers:
        meta["finalizers"] = finalizers
    runs = (
        kind.name == "Pod"
        and bool((after.get("spec") or {}).get("nodeName"))
        and after.get("status", {}).get("phase") in (None, "Pending", "Running")
    )
    own = float((after.get("spec") or {}).get("terminationGracePeriodSeconds") or 0) if kind.name == "Pod" else 0.0
    wait = (own if grace is None else grace) if runs else 0.0
    if kind.name == "Namespace":
        after["status"] = {**after.get("status", {}), "phase": "Terminating"}
    if wait <= 0 and not _holds(kind, after):
        cluster.drop(kind, after)
        return None
    if "deletionTimestamp" not in meta or (grace is not None and wait < float(meta.get("deletionGracePeriodSeconds", 0))):
        meta |= {"deletionTimestamp": stamp(cluster.cloud.moment + wait), "deletionGracePeriodSeconds": int(wait)}
        if kinds.counts(kind):
            meta["generation"] = meta.get("generation", 0) + 1
    return cluster.keep(kind, after) if after != body else body


def scale_of(kind: Kind, body: Body) -> Body:
    """The `scale` of what has replicas."""
    meta = body["metadata"]
    chosen = (body.get("spec") or {}).get("selector") or {}
    words = ",".join(f"{key}={one}" for key, one in sorted((chosen.get("matchLabels") or {}).items()))
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in kept if field in meta},
        "spec": {"replicas": body["spec"].get("replicas", 0)},
        "status": {"replicas": body.get("status", {}).get("replicas", 0)} | ({"selector": words} if words else {}),
    }


def rescale(cluster: Cluster, kind: Kind, before: Body, scale: Any, writer: Writer) -> Body:
    """
    Writes replicas by the `scale` of an object.

    Raises:
        Failure: It is no such number.
    """
    name = before["metadata"]["name"]
    wanted = (scale.get("spec") or {}).get("replicas") if isinstance(scale, dict) and isinstance(scale.get("spec"), dict) else None
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        raise statuses.bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas is no whole number')
    if wanted < 0:
        said = statuses.value("spec.replicas", wanted, "must be greater than or equal to 0")
        raise statuses.invalid(kind, name, [said])
    sent = at(scale, "metadata", "resourceVersion")
    if sent not in (None, "", before["metadata"]["resourceVersion"]):
        raise statuses.conflict(kind, name, statuses.MODIFIED)
    after = copy.deepcopy(before)
    after["spec"]["replicas"] = wanted
    fields.written(before, after, writer.manager, kind.api_version, cluster.now, "scale")
    return keep(cluster, kind, before, after)


def default_manager(agent: str) -> str:
    """Who writes where nobody says it: the first word of the client. Source: `managerOrUserAgent` of k8s.io/apiserver."""
    return re.split(r"[/ ]", agent)[0][:128] or "unknown"
