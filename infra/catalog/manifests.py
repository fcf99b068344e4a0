"""
Whether an object may be given to a cluster: everything that its API server would refuse of a manifest, at once and in words.

Kubernetes' own kinds are held against its published schemas, custom ones against ours, pods in either against the same; then come the
rules that no schema tells. Of pods in a custom resource a cluster would tell only later, when a controller makes them. What depends on
other objects (whether a ConfigMap is there, whether a pod fits a node) is not known here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infra.catalog import manifest_custom, manifest_rules
from infra.catalog.manifest_parts import DNS_1035, DNS_LABEL, DNS_LABEL_WORDS, doubled, name_faults
from infra.catalog.manifest_pods import mounts
from infra.catalog.manifest_schemas import CLUSTER_WIDE, VERSION, Schemas, custom_kinds, schemas
from infra.catalog.manifest_words import ManifestFault, Path, is_json, is_what, not_json, place, quoted, refused
from infra.errors import nearest

__all__ = ["VERSION", "ManifestFault", "faults", "namespaced", "pods_in"]

MOVED = {
    "kueue.x-k8s.io/v1beta1": "Kueue serves it no more, from 0.20 on",
    "leaderworkerset.x-k8s.io/v1alpha1": "it came before v1",
    "ray.io/v1alpha1": "it came before v1",
    "gateway.networking.k8s.io/v1beta1": "it came before v1",
}
"""API versions that guides still show. Source: https://github.com/kubernetes-sigs/kueue/releases/tag/v0.20.0, and the definitions."""
ROLES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def namespaced(api_version: str, kind: str) -> bool:
    """Whether objects of a known kind stand in a namespace."""
    custom = custom_kinds().get((api_version, kind))
    return custom.namespaced if custom else kind not in CLUSTER_WIDE


def faults(manifest: Mapping[str, Any], version: str = VERSION) -> list[ManifestFault]:
    """
    Everything wrong in a manifest, in the order of its paths; empty where a cluster takes it.

    Args:
        version: That of the cluster, such as `1.35` or `1.35.6-gke.1250000`.

    Raises:
        UnknownVersion: There are no schemas of it.
    """
    known = schemas(version)
    if not isinstance(manifest, Mapping):
        return [ManifestFault("", f"is {is_what(manifest)}, not a map", "apiVersion, kind, metadata, and what the kind has")]
    manifest = dict(manifest)
    if not is_json(manifest) and (found := list(not_json(manifest))):
        return found
    if found := list(_no_kind(manifest, known)):
        return found
    definition = known.kinds[manifest["apiVersion"], manifest["kind"]]
    every = [
        *refused(manifest, definition, known),
        *_named(manifest),
        *_ruled(manifest, definition, known),
        *manifest_custom.broken(manifest["kind"], manifest),
    ]
    return sorted(dict.fromkeys(every), key=lambda one: one.path)


def pods_in(manifest: Mapping[str, Any], version: str = VERSION) -> list[tuple[str, Mapping[str, Any]]]:
    """
    The pod specs that an object has in it, each with its path, such as `spec.template.spec`; none of what is no known kind.

    Raises:
        UnknownVersion: There are no schemas of that version.
    """
    known = schemas(version)
    definition = known.kinds.get((str(manifest.get("apiVersion")), str(manifest.get("kind"))))
    if definition is None or any(not_json(manifest)):
        return []
    parts = known.parts(manifest, {"$ref": f"#/$defs/{definition}"})
    return [(place(path), one) for name, path, one in parts if name == "api.core.v1.PodSpec" and isinstance(one, Mapping)]


def _no_kind(manifest: Mapping[str, Any], known: Schemas) -> Iterator[ManifestFault]:
    """What keeps a manifest from being any kind of object."""
    for key, example in (("apiVersion", "apps/v1"), ("kind", "Deployment")):
        if key not in manifest or manifest[key] in (None, ""):
            yield ManifestFault(key, "is missing", f"such as {example}")
        elif not isinstance(manifest[key], str):
            yield ManifestFault(key, f"is {is_what(manifest[key])}, not a text", f"such as {example}")
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind or (api_version, kind) in known.kinds:
        return
    same = sorted(api for api, one in known.kinds if one == kind)
    if same:
        why = f": {MOVED[api_version]}" if api_version in MOVED else ""
        yield ManifestFault(
            "apiVersion", f"is {quoted(api_version)}, which has no {kind} in Kubernetes {known.version}{why}", ", ".join(same)
        )
        return
    kinds = sorted({one for api, one in known.kinds if api == api_version})
    if kinds:
        close = nearest(kind, kinds) or kinds[:20]
        yield ManifestFault("kind", f"is {quoted(kind)}, a kind that {api_version} has not", ", ".join(close))
        return
    close = difflib.get_close_matches(kind, sorted({one for _, one in known.kinds}), n=3, cutoff=0.8)
    where = (f"{one} of {', '.join(sorted(api for api, other in known.kinds if other == one))}" for one in close)
    yield ManifestFault("kind", f"is {quoted(kind)} of {quoted(api_version)}, a kind that is not known here", "; ".join(where))


def _named(manifest: Mapping[str, Any]) -> Iterator[ManifestFault]:
    """The object's own name: it must be said, and what is allowed in it depends on the kind."""
    meta, kind = manifest.get("metadata"), manifest["kind"]
    if not isinstance(meta, Mapping):
        if meta is None:
            yield ManifestFault("metadata.name", "is missing")
        return
    name, path = meta.get("name"), ("metadata", "name")
    if name is None and not meta.get("generateName"):
        yield ManifestFault("metadata.name", "is missing")
    elif kind == "Namespace":
        yield from name_faults(name, path, DNS_LABEL, DNS_LABEL_WORDS, 63)
    elif kind == "Service":
        yield from name_faults(name, path, DNS_1035, "up to 63 of a-z, 0-9 and -, with a letter first", 63)
    elif kind not in ROLES:
        yield from name_faults(name, path)
        if kind in ("Job", "CronJob") and isinstance(name, str) and len(name) > (52 if kind == "CronJob" else 63):
            yield ManifestFault("metadata.name", f"has {len(name)} characters", f"at most {52 if kind == 'CronJob' else 63}, of a {kind}")
    elif isinstance(name, str) and (name in ("", ".", "..") or "/" in name or "%" in name):
        yield ManifestFault("metadata.name", f"is {quoted(name)}, which is no name", "anything without / and %")


def _ruled(manifest: Mapping[str, Any], definition: str, known: Schemas) -> Iterator[ManifestFault]:
    """What the rules of every part of the object say."""
    claims = frozenset(_claims(manifest))
    for name, path, value in known.parts(manifest, {"$ref": f"#/$defs/{definition}"}):
        yield from manifest_rules.broken(name, value, path)
        if isinstance(value, Mapping):
            if name == "api.core.v1.PodSpec":
                yield from mounts(value, path, claims)
            yield from _doubled(value, known.definition(name), path)


def _doubled(value: Mapping[str, Any], schema: Mapping[str, Any], path: Path) -> Iterator[ManifestFault]:
    """Lists that are kept by a key, in one definition and what it says inline."""
    fields = schema.get("properties", {})
    for key in value:
        inner = fields.get(key)
        if inner is None or "$ref" in inner:
            continue
        if keys := inner.get("x-kubernetes-list-map-keys"):
            yield from doubled(value[key], keys, (*path, key))
        if isinstance(value[key], Mapping):
            yield from _doubled(value[key], inner, (*path, key))
        elif isinstance(value[key], list) and "$ref" not in (items := inner.get("items", {})):
            for index, one in enumerate(value[key]):
                if isinstance(one, Mapping):
                    yield from _doubled(one, items, (*path, key, index))


def _claims(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Volumes that are made for pods, by the names of their claims: of a StatefulSet, a LeaderWorkerSet, a JobSet."""
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping):
        return
    inner = spec.get("leaderWorkerTemplate")
    lists: list[Any] = [spec.get("volumeClaimTemplates"), inner.get("volumeClaimTemplates") if isinstance(inner, Mapping) else None]
    policies = spec.get("volumeClaimPolicies")
    lists += [one.get("templates") for one in policies if isinstance(one, Mapping)] if isinstance(policies, list) else []
    for some in lists:
        for one in some if isinstance(some, Sequence) and not isinstance(some, str) else ():
            meta = one.get("metadata") if isinstance(one, Mapping) else None
            if isinstance(meta, Mapping):
                yield str(meta.get("name"))
