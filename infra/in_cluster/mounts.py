"""
What pods see as folders: volumes and secrets, each by its name and the folder that it becomes.

A spec that has pods says `volumes: {models: /models}` and `secrets: {tokens: /etc/tokens}`; here is what that means for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints

from infra.components import pool_nodes
from infra.errors import Problem, nearest
from infra.in_cluster import volume
from infra.in_cluster.secret import DRIVER, SecretSpec
from infra.in_cluster.volume import VolumeSpec
from infra.spec import Name, pattern, problem

KERNEL = ("proc", "sys", "dev")
"""Folders that are the kernel's: a container with something mounted in /proc does not begin, and one without its own /dev has no chips.
Source: opencontainers/runc, `checkProcMount`, read 2026-11."""


def _free(value: str) -> str:
    if value.split("/")[1] in KERNEL:
        raise problem("is the kernel's, in a container too", allowed="for example /models")
    return value


Folder = Annotated[
    str,
    StringConstraints(strict=True, max_length=200),
    pattern(r"(?:/[A-Za-z0-9][A-Za-z0-9._-]*)+", "is no folder of a container", "/models"),
    AfterValidator(_free),
]
Folders = dict[Name, Folder]
"""Names of volumes or secrets, and where a container sees each."""


@dataclass(frozen=True, slots=True)
class Mountable:
    """What pods of a stack may mount."""

    volumes: Mapping[str, VolumeSpec] = field(default_factory=dict)
    secrets: Mapping[str, SecretSpec] = field(default_factory=dict)


def add(pod: Mapping[str, Any], volumes: Mapping[str, str], secrets: Mapping[str, str], of: Mountable) -> dict[str, Any]:
    """A pod's spec, with what all its containers mount. Who mounts a secret must be the pod's own account: see `Secret.readers`."""
    made = dict(pod)
    sources: list[dict[str, Any]] = []
    mounts: list[dict[str, Any]] = []
    for name, path in volumes.items():
        reads = of.volumes[name].mode == "read-only-many"
        sources.append({"name": f"volume-{name}", "persistentVolumeClaim": {"claimName": name, **({"readOnly": True} if reads else {})}})
        mounts.append({"name": f"volume-{name}", "mountPath": path, **({"readOnly": True} if reads else {})})
    for name, path in secrets.items():
        csi = {"driver": DRIVER, "readOnly": True, "volumeAttributes": {"secretProviderClass": name}}
        sources.append({"name": f"secret-{name}", "csi": csi})
        mounts.append({"name": f"secret-{name}", "mountPath": path, "readOnly": True})
    if sources:
        made["volumes"] = [*pod.get("volumes", []), *sources]
        made["containers"] = [{**one, "volumeMounts": [*one.get("volumeMounts", []), *mounts]} for one in pod["containers"]]
    return made


def problems(
    volumes: Mapping[str, str],
    secrets: Mapping[str, str],
    of: Mountable,
    *,
    namespace: str,
    copies: int = 1,
    host: pool_nodes.Host | None = None,
    zones: Sequence[str] = (),
) -> Iterator[Problem]:
    """
    What speaks against mounting these; each at `volumes.<name>` or `secrets.<name>`.

    Args:
        namespace: The pods' own.
        copies: Pods that mount them at once, at most.
        host: Machine of the nodes, where a pool or class is named.
        zones: Where they stand.
    """
    for key, said, known in (("volumes", volumes, of.volumes), ("secrets", secrets, of.secrets)):
        for name in said:
            path = f"{key}.{name}"
            one = known.get(name)
            if one is None:
                yield Problem(path, f"{name} is no key of {key}", ", ".join(nearest(name, known) or known), "" if known else "write one")
            elif one.namespace != namespace:
                yield Problem(path, f"{name} is in the namespace {one.namespace}, and the pods are in {namespace}", f"one of {namespace}")
    for name in volumes:
        one = of.volumes.get(name)
        if one is None:
            continue
        if one.mode == "read-write-once" and copies > 1:
            words = f"{name} is mounted by one node at a time, and there may be {copies} pods"
            yield Problem(f"volumes.{name}", words, "access read-only-many or read-write-many, or one pod")
        if host and (why := volume.against_host(name, one, host, list(zones))):
            yield Problem(f"volumes.{name}", why)
    paths = [*volumes.values(), *secrets.values()]
    if twice := sorted({path for path in paths if paths.count(path) > 1}):
        yield Problem("volumes", f"mounts two things at {', '.join(twice)}", fix="give each a folder of its own")
