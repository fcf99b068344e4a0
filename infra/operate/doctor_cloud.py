"""Whether a real project is ready for a stack. Read-only; each check fails by itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from infra.findings import Found
from infra.operate.google import LOGIN, Connect, Google, NoCredentialsError, default_connect
from infra.operate.refused import each

WORKERS = 6
REPORT = "please report it, with what the API answered"


@dataclass(frozen=True, slots=True)
class TpuNeed:
    """A TPU slice that a stack wants."""

    name: str
    accelerator_type: str
    generation: str
    zone: str
    provisioning: str
    way: str
    """`compute-engine` or `tpu-api`."""
    machine_type: str
    chips: int
    """Of all its hosts."""
    runtime_version: str
    boot_disk_gib: int = 100
    """Of each host."""
    hosts: int = 1


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """A machine with GPUs that a stack wants."""

    name: str
    machine_type: str
    accelerator_type: str
    count: int
    attached: bool
    """Whether the GPUs are attached to a machine of N1; else they are built in."""
    zone: str
    provisioning: str
    boot_disk_type: str
    boot_disk_gib: int = 100


@dataclass(frozen=True, slots=True)
class CloudNeeds:
    """What a stack needs of its project."""

    project: str
    region: str
    currencies: tuple[str, ...]
    """Currencies that its budgets are written in."""
    tpus: tuple[TpuNeed, ...]
    services: tuple[str, ...]
    """APIs that must be enabled."""
    gpus: tuple[GpuNeed, ...] = ()

    @property
    def machines(self) -> bool:
        """Whether it has any, and so a network and accounts of its own."""
        return bool(self.tpus or self.gpus)


Check = Callable[[Google, CloudNeeds], Iterator[Found]]


def inspect(needs: CloudNeeds, *, connect: Connect | None = None, progress: Callable[[str], None] | None = None) -> list[Found]:
    """
    Looks at the project, its billing, permissions, APIs, quotas, policies and zones, side by side.

    Args:
        connect: Makes the transport of each check. (default: over application default credentials)
        progress: Is told what is looked at, from the thread that looks.
    """
    from infra.operate import account, capacity, policies, quotas, requests

    # Google's client tells every user of Python 3.11 of its end in 2027.
    warnings.filterwarnings("ignore", "You are using a Python version", FutureWarning)
    checks: dict[str, Check] = {
        "project": account.project,
        "billing": account.billing,
        "permissions": account.permissions,
        "APIs": account.services,
        "organisation policies": policies.policies,
        "quota": quotas.quota,
        "accelerator types": capacity.accelerator_types,
        "queue": requests.dead_requests,
    }
    found = [Found("credentials", "ok", "a transport of the caller")]
    if connect is None:
        try:
            connect, found = default_connect(needs.project)
        except NoCredentialsError as error:
            return [
                Found("credentials", "failed", f"there are no application default credentials: {error}", LOGIN),
                *(Found(name, "unknown", "not looked at, for want of credentials") for name in checks),
            ]

    def look(name: str) -> list[Found]:
        if progress:
            progress(f"{needs.project}: {name}")
        try:
            return list(each([(name, checks[name](Google(connect, needs.project), needs))]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # An answer in another shape than the reference's is a finding of its check, and spoils no other.
            return [Found(name, "unknown", f"an answer of Google's was not understood: {type(error).__name__}: {error}", REPORT)]

    with ThreadPoolExecutor(WORKERS) as pool:
        return found + [one for findings in pool.map(look, checks) for one in findings]
