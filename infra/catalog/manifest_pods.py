"""What the API server refuses of pods beside their schemas, wherever a pod stands: in a Deployment, or in a custom resource.

Source: kubernetes/kubernetes, pkg/apis/core/validation, in public copies, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from infra.catalog.manifest_parts import (
    DNS_LABEL,
    DNS_LABEL_WORDS,
    PORT_NAME,
    Faults,
    Rule,
    at_least,
    entries,
    is_int,
    key_faults,
    labels_faults,
    name_faults,
    one_of,
    port_faults,
)
from infra.catalog.manifest_words import ManifestFault, Path, place, quoted, short
from infra.catalog.pods import is_extended
from infra.catalog.quantities import BadQuantity, quantity, shown

NATIVE = ("cpu", "memory", "ephemeral-storage")
ACCELERATORS = ("nvidia.com/gpu", "google.com/tpu")


def _pod(spec: Mapping[str, Any], path: Path) -> Faults:
    groups = {key: entries(spec.get(key)) for key in ("containers", "initContainers", "ephemeralContainers")}
    if not groups["containers"] and isinstance(spec.get("containers"), list):
        yield ManifestFault(place((*path, "containers")), "has no entry", "a container")
    first: dict[str, str] = {}
    for key, some in groups.items():
        for index, one in some:
            at = (*path, key, index)
            name = one.get("name")
            if isinstance(name, str):
                if name in first and not first[name].startswith(place((*path, key))):
                    yield ManifestFault(place((*at, "name")), f"is {quoted(name)}, as that of {first[name]}", "a name of its own")
                first.setdefault(name, place(at))
            if key == "initContainers" and one.get("restartPolicy") != "Always":
                for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                    if one.get(probe):
                        yield ManifestFault(place((*at, probe)), "is for containers that stay", "remove it, or say restartPolicy: Always")
    yield from labels_faults(spec.get("nodeSelector"), (*path, "nodeSelector"))
    for key in ("serviceAccountName", "priorityClassName", "runtimeClassName"):
        if spec.get(key):
            yield from name_faults(spec[key], (*path, key))
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            yield from name_faults(spec[key], (*path, key), DNS_LABEL, DNS_LABEL_WORDS, 63)
    yield from at_least(spec, path, terminationGracePeriodSeconds=0, activeDeadlineSeconds=1)


def mounts(spec: Mapping[str, Any], path: Path, claims: frozenset[str]) -> Faults:
    """Mounts of volumes that the pod does not have; *claims* are those that its owner makes for it."""
    named = {str(one.get("name")) for _, one in entries(spec.get("volumes"))} | claims
    for key in ("containers", "initContainers"):
        for index, one in entries(spec.get(key)):
            for field in ("volumeMounts", "volumeDevices"):
                for number, mount in entries(one.get(field)):
                    name = mount.get("name")
                    if isinstance(name, str) and name not in named:
                        known = ", ".join(sorted(named)) or "add it under volumes"
                        yield ManifestFault(
                            place((*path, key, index, field, number, "name")), f"is {quoted(name)}, no volume of the pod", known
                        )


def _container(one: Mapping[str, Any], path: Path) -> Faults:
    yield from name_faults(one.get("name"), (*path, "name"), DNS_LABEL, DNS_LABEL_WORDS, 63)
    image = one.get("image")
    if not image:
        yield ManifestFault(place((*path, "image")), "is empty" if image == "" else "is missing")
    elif isinstance(image, str) and (image.split() != [image]):
        yield ManifestFault(place((*path, "image")), f"is {quoted(image)}, with a space in it", "".join(image.split()))
    for index, mount in entries(one.get("volumeMounts")):
        if mount.get("mountPath") == "":
            yield ManifestFault(place((*path, "volumeMounts", index, "mountPath")), "is empty", "a path in the container, such as /data")
    names: dict[str, int] = {}
    for index, port in entries(one.get("ports")):
        if isinstance(name := port.get("name"), str) and name:
            if name in names:
                message = f"is {quoted(name)}, as that of entry {names[name]}"
                yield ManifestFault(place((*path, "ports", index, "name")), message, "a name of its own")
            names.setdefault(name, index)


def _port(one: Mapping[str, Any], path: Path) -> Faults:
    for key in ("containerPort", "hostPort"):
        number = one.get(key)
        least = 0 if key == "hostPort" else 1
        if is_int(number) and not least <= number <= 65535:
            yield ManifestFault(place((*path, key)), f"is {short(number)}, no port", "1 to 65535")
    if one.get("name"):
        yield from name_faults(one["name"], (*path, "name"), PORT_NAME, "up to 15 of a-z, 0-9 and -, with a letter in it", 15)


def _env(one: Mapping[str, Any], path: Path) -> Faults:
    name = one.get("name")
    if isinstance(name, str) and (not name or "=" in name or not name.isprintable()):
        yield ManifestFault(
            place((*path, "name")), "is empty" if not name else f"is {quoted(name)}, no name of a variable", "such as HF_HOME"
        )
    if one.get("value") and one.get("valueFrom"):
        yield ManifestFault(place((*path, "valueFrom")), "does not go with value", "one of both")


def _env_from(one: Mapping[str, Any], path: Path) -> Faults:
    yield from one_of(one, path, ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"))


def _probe(one: Mapping[str, Any], path: Path) -> Faults:
    yield from one_of(one, path, ("exec", "httpGet", "tcpSocket", "grpc"))
    bounds = {"periodSeconds": 1, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 1, "initialDelaySeconds": 0}
    # 0 stands for a default in all of them.
    yield from at_least({key: value for key, value in one.items() if value != 0}, path, **bounds)
    if path and path[-1] in ("livenessProbe", "startupProbe") and is_int(one.get("successThreshold")) and one["successThreshold"] > 1:
        yield ManifestFault(place((*path, "successThreshold")), f"is {one['successThreshold']}", f"1, of a {path[-1]}")


def _handler(one: Mapping[str, Any], path: Path) -> Faults:
    yield from one_of(one, path, ("exec", "httpGet", "tcpSocket", "sleep"))


def _to_port(one: Mapping[str, Any], path: Path) -> Faults:
    yield from port_faults(one.get("port"), (*path, "port"))


def _resources(one: Mapping[str, Any], path: Path) -> Faults:
    """Requests and limits of a container: kinds of resources, and that what is asked for is within what is allowed."""
    amounts: dict[str, dict[str, Decimal]] = {"limits": {}, "requests": {}}
    for key in amounts:
        for name, value in one[key].items() if isinstance(one.get(key), Mapping) else ():
            at = place((*path, key, name))
            if not (name in NATIVE or name.startswith("hugepages-") or "/" in name):
                near = [other for other in (*NATIVE, *ACCELERATORS) if name.lower() in other]
                yield ManifestFault(at, "is no resource of a container", ", ".join(near or (*NATIVE, *ACCELERATORS)))
                continue
            try:
                amount = quantity(value)
            except BadQuantity:
                continue  # that of the quantity itself says it
            if amount < 0:
                yield ManifestFault(at, f"is {short(value)}, less than nothing", "0 or more")
                continue
            if is_extended(name) and amount != int(amount):
                yield ManifestFault(at, f"is {short(value)}: a {name} is had whole", "a whole number")
            amounts[key][name] = amount
    for name, asked in amounts["requests"].items():
        at, limit = place((*path, "requests", name)), amounts["limits"].get(name)
        if is_extended(name) and limit is None:
            yield ManifestFault(place((*path, "limits", name)), f"is missing: {name} is limited to what is requested", shown(name, asked))
        elif is_extended(name) and limit != asked:
            yield ManifestFault(at, f"is {shown(name, asked)}, and its limit {shown(name, limit or 0)}", "the same, of what is had whole")
        elif limit is not None and asked > limit:
            yield ManifestFault(
                at, f"is {shown(name, asked, up=True)}, above its limit {shown(name, limit)}", f"at most {shown(name, limit)}"
            )


def _toleration(one: Mapping[str, Any], path: Path) -> Faults:
    key, operator = one.get("key"), one.get("operator") or "Equal"
    if isinstance(key, str) and key:
        yield from key_faults(key, (*path, "key"), "a taint")
    elif operator != "Exists":
        yield ManifestFault(place((*path, "operator")), f"is {operator} without a key", "Exists, which tolerates every taint")
    if operator == "Exists" and one.get("value"):
        yield ManifestFault(place((*path, "value")), "does nothing beside Exists", "leave it out, or say operator: Equal")
    if one.get("tolerationSeconds") is not None and one.get("effect") != "NoExecute":
        yield ManifestFault(place((*path, "effect")), "is not NoExecute, and tolerationSeconds is of that alone", "NoExecute")


def _spread(one: Mapping[str, Any], path: Path) -> Faults:
    yield from at_least(one, path, maxSkew=1, minDomains=1)


def _volume(one: Mapping[str, Any], path: Path) -> Faults:
    yield from name_faults(one.get("name"), (*path, "name"), DNS_LABEL, DNS_LABEL_WORDS, 63)
    sources = sorted(key for key, value in one.items() if key != "name" and value is not None)
    if not sources:
        yield ManifestFault(place(path), "says no source", "emptyDir: {}, configMap, secret, persistentVolumeClaim, csi, or another")
    elif len(sources) > 1:
        yield ManifestFault(place(path), f"has several sources: {', '.join(sources)}", "one of them")


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "PodSpec": _pod,
        "Container": _container,
        "ContainerPort": _port,
        "EnvVar": _env,
        "EnvVarSource": _env_from,
        "Probe": _probe,
        "LifecycleHandler": _handler,
        "HTTPGetAction": _to_port,
        "TCPSocketAction": _to_port,
        "ResourceRequirements": _resources,
        "Toleration": _toleration,
        "TopologySpreadConstraint": _spread,
        "Volume": _volume,
    }
)
"""By the last part of a definition's name."""
