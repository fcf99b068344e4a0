"""`pods-not-privileged`: a pod does not reach its node, where the account of all pods' nodes and the containers of others are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infra.declared import UNKNOWN, Declared
from infra.policy.objects import containers, pods
from infra.policy.rule import Broken, Rule

NODE = ("hostNetwork", "hostPID")
"""Whose pods see the node's metadata server, or its processes. `hostIPC` is not among them: GPUs that are shared by MPS want it."""
CAPABILITIES = frozenset(
    {"ALL", "BPF", "DAC_READ_SEARCH", "NET_ADMIN", "NET_RAW", "PERFMON", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO"}
)
"""That reach the node. Source: those that the standard `baseline` leaves out,
https://kubernetes.io/docs/concepts/security/pod-security-standards/, read 2026-11."""


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Pods that share what is the node's, mount its files, or have containers that may do all that the node may."""
    for path, pod in pods(resource):
        before = f"{path}." if path else ""
        for key in NODE:
            if pod.get(key) not in (None, False):
                yield Broken(f"{before}{key}", "must not be true, and known at preview")
        volumes = pod.get("volumes")
        for index, volume in enumerate(volumes if isinstance(volumes, list) else []):
            if isinstance(volume, Mapping) and volume.get("hostPath") is not None:
                yield Broken(f"{before}volumes[{index}].hostPath", "shows files of the node")
        for at, one in containers(path, pod):
            yield from _container(f"{at}.securityContext", one.get("securityContext"))


def _container(path: str, context: Any) -> Iterator[Broken]:
    if context is UNKNOWN:
        yield Broken(path, "must be known at preview")
    if not isinstance(context, Mapping):
        return
    if context.get("privileged") not in (None, False):
        yield Broken(f"{path}.privileged", "must not be true, and known at preview")
    capabilities = context.get("capabilities")
    added = capabilities.get("add") if isinstance(capabilities, Mapping) else capabilities
    if added is UNKNOWN:
        yield Broken(f"{path}.capabilities", "must be known at preview")
    for one in added if isinstance(added, list) else []:
        if one is UNKNOWN or str(one).upper().removeprefix("CAP_") in CAPABILITIES:
            yield Broken(f"{path}.capabilities.add", f"{one} reaches the node")


RULE = Rule(
    name="pods-not-privileged",
    description="No pod reaches its node.",
    remediation="leave out privileged, hostNetwork, hostPID, hostPath and such capabilities: TPUs and GPUs need none of them on GKE",
    severity="high",
    find=find,
)
