"""
What each kind of object may hold: Kubernetes' own by the schemas of the library kubernetes-validate, custom ones by those of `data/crds`.

All schemas of a version are one document, read when first asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from infra.catalog.tables import DATA

Schema = Mapping[str, Any]

VERSION = "1.35"
"""Kubernetes' version where a caller names none: that of GKE's regular channel, as the sandbox has it (`container/versions.py`)."""

_REF = "#/$defs/"
_PREFIX = "io.k8s."
_META = f"{_REF}apimachinery.pkg.apis.meta.v1.ObjectMeta"
_KEPT = frozenset(
    {"type", "required", "properties", "additionalProperties", "items", "enum", "oneOf", "format", "x-kubernetes-list-map-keys"}
)
"""What of Kubernetes' own schemas means something here; all else is for readers, or for the tools that made them."""

_FILLED_IN = {"api.rbac.v1.RoleRef": "apiGroup"}
"""Fields that the schemas require, and that the server fills in first. Source: kubernetes/kubernetes, pkg/apis/rbac/v1/defaults.go."""

CLUSTER_WIDE = frozenset(
    {
        "APIService",
        "CSIDriver",
        "CSINode",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterTrustBundle",
        "CertificateSigningRequest",
        "CustomResourceDefinition",
        "DeviceClass",
        "FlowSchema",
        "IPAddress",
        "IngressClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourceSlice",
        "RuntimeClass",
        "ServiceCIDR",
        "StorageClass",
        "StorageVersion",
        "StorageVersionMigration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    }
)
"""Kubernetes' own kinds that stand in no namespace. Source: https://kubernetes.io/docs/reference/kubernetes-api/, read 2026-11."""


class UnknownVersion(ValueError):  # noqa: N818 - reads as the finding it is
    """A version of Kubernetes that the library has no schemas of, and no older ones."""


@dataclass(frozen=True, slots=True)
class CustomKind:
    """One kind of custom resource."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    brought_by: str
    """The chart that brings it, such as `kueue`; or what of GKE does."""
    source: str
    as_of: str
    schema: Schema
    """Of all but `apiVersion`, `kind` and `metadata`."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


@dataclass(frozen=True, slots=True)
class Schemas:
    """All kinds of one version of Kubernetes, with the custom ones."""

    version: str
    """That of the schemas: the newest that is not newer than what was asked for."""
    document: Mapping[str, Any]
    """`$defs` by name, such as `api.core.v1.PodSpec`."""
    kinds: Mapping[tuple[str, str], str]
    """The definition of each (`apiVersion`, `kind`)."""

    def definition(self, name: str) -> Schema:
        found: Schema = self.document["$defs"][name]
        return found

    def parts(self, value: object, schema: Schema, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, tuple[str | int, ...], Any]]:
        """
        Everything in *value* that has a definition: its name, where it is, and itself. Parents come before what is in them.
        """
        if ref := schema.get("$ref"):
            name = str(ref).removeprefix(_REF)
            yield name, path, value
            schema = self.definition(name)
        if type(value) is dict or isinstance(value, Mapping):  # the second look is a slow one
            fields, others = schema.get("properties", {}), schema.get("additionalProperties")
            for key, one in value.items():
                inner = fields.get(key, others)
                if type(inner) is dict or isinstance(inner, Mapping):
                    yield from self.parts(one, inner, (*path, str(key)))
        elif isinstance(value, list) and isinstance(inner := schema.get("items"), Mapping):
            for index, one in enumerate(value):
                yield from self.parts(one, inner, (*path, index))


@cache
def custom_kinds() -> Mapping[tuple[str, str], CustomKind]:
    """Each kind of custom resource by (`apiVersion`, `kind`)."""
    found: dict[tuple[str, str], CustomKind] = {}
    for path in sorted((DATA / "crds").glob("*.json")):
        one = json.loads(path.read_text(encoding="utf-8"))
        group, version = one["apiVersion"].split("/")
        found[one["apiVersion"], one["kind"]] = CustomKind(
            group=group,
            version=version,
            kind=one["kind"],
            plural=one["plural"],
            namespaced=one["scope"] == "Namespaced",
            brought_by=one["brought_by"],
            source=one["source"],
            as_of=one["as_of"],
            schema=MappingProxyType(_strict(one["schema"])),
        )
    return MappingProxyType(found)


def schemas(version: str = VERSION) -> Schemas:
    """
    All kinds of a version such as `1.35` or `1.35.6-gke.1250000`.

    Raises:
        UnknownVersion: It is none, or older than all that the library has.
    """
    match = re.fullmatch(r"v?(\d{1,3})\.(\d{1,3})(?:[.-].*)?", version, re.ASCII)
    if match is None:
        raise UnknownVersion(f"{version!r} is not a version of Kubernetes, such as {VERSION}")
    asked = int(match[1]), int(match[2])
    able = [one for one in _versions() if one <= asked]
    if not able:
        raise UnknownVersion(f"there are no schemas of Kubernetes {version}: {'.'.join(map(str, _versions()[0]))} is the oldest")
    return _schemas(*able[-1])


@cache
def _versions() -> list[tuple[int, int]]:
    names = (one.name for one in _folder().iterdir())
    matches = (re.fullmatch(r"v(\d+)\.(\d+)\.\d+-local-strict", name, re.ASCII) for name in names)
    return sorted((int(one[1]), int(one[2])) for one in matches if one)


def _folder() -> Any:
    """Where the library keeps its files. It is looked for, not imported: that would take longer than all that is done here."""
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("kubernetes_validate")
    assert spec is not None, "it is a dependency"
    assert spec.origin is not None, "it is a package with files"
    return Path(spec.origin).parent / "kubernetes-json-schema"


@cache
def _schemas(major: int, minor: int) -> Schemas:
    path = next(_folder().glob(f"v{major}.{minor}.*-local-strict")) / "_definitions.json"
    raw = json.loads(path.read_text(encoding="utf-8"))["$defs"]
    definitions = {name.removeprefix(_PREFIX): _own(one) for name, one in raw.items()}
    for name, field in _FILLED_IN.items():
        definitions[name]["required"] = [one for one in definitions[name]["required"] if one != field]
    kinds: dict[tuple[str, str], str] = {}
    for name, one in raw.items():
        if "metadata" not in one.get("properties", {}) or _own(one["properties"]["metadata"]).get("$ref") != _META:
            continue  # lists and options are said to the API, and are no objects
        for which in one.get("x-kubernetes-group-version-kind", ()):
            kinds["/".join(filter(None, (which["group"], which["version"]))), which["kind"]] = name.removeprefix(_PREFIX)
    for (api_version, kind), custom in custom_kinds().items():
        name = f"{api_version}.{kind}".replace("/", ".")
        kinds[api_version, kind] = name
        text = {"type": "string"}
        # What a controller says of an object may stand in it; nobody reads what a user writes there.
        around = {"apiVersion": text, "kind": text, "metadata": {"$ref": _META}, "status": {"type": ["object", "null"]}}
        definitions[name] = {**custom.schema, "properties": {**around, **custom.schema["properties"]}}
    return Schemas(f"{major}.{minor}", MappingProxyType({"$defs": definitions}), MappingProxyType(kinds))


def _own(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of Kubernetes' without what is for readers, its references within one document."""
    if ref := schema.get("$ref"):
        return {"$ref": _REF + str(ref).rpartition("/")[2].removeprefix(_PREFIX)}
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key not in _KEPT:
            continue
        if key == "properties":
            found[key] = {name: _own(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            found[key] = _own(value)
        else:
            found[key] = value
    return found


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of ours: what is no field is refused, what need not be there may be null, and `$k8s` names a definition of Kubernetes."""
    found = dict(schema)
    if name := found.pop("$k8s", None):
        return {"$ref": _REF + name}
    if "properties" in found:
        required = found.get("required", ())
        fields = {key: _strict(one) for key, one in found["properties"].items()}
        found["properties"] = {key: one if key in required else _nullable(one) for key, one in fields.items()}
        found["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(inner := found.get(key), Mapping):
            found[key] = _strict(inner)
    return found


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return schema
    return {**schema, "type": [schema["type"], "null"]} | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})
