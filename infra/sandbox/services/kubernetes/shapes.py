"""
What of an object is one value, and which lists are lists of things with keys.

Source: `x-kubernetes-list-type`, `-list-map-keys` and `-map-type` of Kubernetes' OpenAPI, release 1.35; of custom resources: those of their
definitions. A list that is not here is one value, and is replaced as a whole.
"""

from __future__ import annotations

from typing import Any

Path = tuple[str, ...]
"""Names of fields from the root, without what tells the items of a list apart."""

KEYS: dict[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "flavors": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "listeners": ("name",),
    "ownerReferences": ("uid",),
    "replicatedJobs": ("name",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}
"""Field of a list -> the fields by which its items are told apart."""
PORTS = {"containerPort": ("containerPort", "protocol"), "port": ("port", "protocol")}
"""Ports of a container, and of a service."""
SETS = frozenset({"finalizers"})
"""Lists whose values are the items."""
WHOLE = frozenset(
    {
        "configMapKeyRef",
        "fieldRef",
        "labelSelector",
        "namespaceSelector",
        "nodeSelector",
        "objectSelector",
        "podSelector",
        "resourceFieldRef",
        "secretKeyRef",
        "selector",
    }
)
"""Objects that are one value."""
DEFAULTS = {"protocol": "TCP"}
"""Keys that may be left out."""


def keys(field: str, items: list[Any]) -> tuple[str, ...]:
    """The keys of a list's items; none where it is one value."""
    if not items or not all(isinstance(one, dict) for one in items):
        return ()
    if field == "ports":
        found: tuple[str, ...] = next((names for key, names in PORTS.items() if all(key in one for one in items)), ())
    else:
        found = KEYS.get(field, ())
    return found if all(name in one or name in DEFAULTS for one in items for name in found) else ()


def is_whole(field: str, value: Any) -> bool:
    """Whether a value of a field is one value, whatever is in it."""
    return not isinstance(value, dict) or not value or field in WHOLE


def key_of(item: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(item.get(name, DEFAULTS.get(name)) for name in names)
