"""Whether a real project is ready for a stack. Read-only; each check fails by itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from infra.findings import Found
from infra.operate.google import Connect, Google, NoCredentialsError, RefusedError, default_connect

WORKERS = 6


@dataclass(frozen=True, slots=True)
class TpuNeed:
    """A TPU machine that a stack wants."""

    name: str
    accelerator_type: str
    generation: str
    zone: str
    provisioning: str
    way: str
    """`compute-engine` or `tpu-api`."""
    machine_type: str
    chips: int
    runtime_version: str


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


Check = Callable[[Google, CloudNeeds], Iterator[Found]]


def inspect(needs: CloudNeeds, *, connect: Connect | None = None, progress: Callable[[str], None] | None = None) -> list[Found]:
    """Looks at the project, its billing, permissions, APIs, quotas, policies and zones, side by side."""
    from infra.operate import account, capacity, policies

    # Google's client tells every user of Python 3.11 of its end in 2027.
    warnings.filterwarnings("ignore", "You are using a Python version", FutureWarning)
    checks: dict[str, Check] = {
        "project": account.project,
        "billing": account.billing,
        "permissions": account.permissions,
        "APIs": account.services,
        "organisation policies": policies.policies,
        "quota": capacity.quota,
        "accelerator types": capacity.accelerator_types,
    }
    who = "a transport of the caller"
    if connect is None:
        try:
            connect, who = default_connect(needs.project)
        except NoCredentialsError:
            return [
                Found("credentials", "failed", "there are no application default credentials", "gcloud auth application-default login"),
                *(Found(name, "unknown", "not looked at, for want of credentials") for name in checks),
            ]

    def look(name: str) -> list[Found]:
        if progress:
            progress(f"{needs.project}: {name}")
        try:
            return list(checks[name](Google(connect, needs.project), needs))
        except RefusedError as refused:
            return [refused.found(name)]

    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(look, checks))
    return [Found("credentials", "ok", who), *(one for findings in found for one in findings)]
