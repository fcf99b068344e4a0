"""Whether a real project is ready for a stack. Read-only; each check fails by itself."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from infra.findings import Found
from infra.operate.google import LOGIN, Connect, Google, NoCredentialsError, default_connect
from infra.operate.refused import each

WORKERS = 6
REPORT = "please report it, with what the API answered"


@dataclass(frozen=True, slots=True)
class TpuNeed:
    """
    A TPU slice that a stack wants, in one zone and one way. What may stand in several, or be bought in several ways, is one need for each,
    under one name: it is there once.
    """

    name: str
    accelerator_type: str
    generation: str
    zone: str
    provisioning: str
    way: str
    """`compute-engine`, `tpu-api`, or `gke`, whose nodes are machines of Compute Engine that GKE makes and boots."""
    machine_type: str
    chips: int
    """Of all its hosts."""
    runtime_version: str
    boot_disk_gib: int = 100
    """Of each host."""
    hosts: int = 1
    key: str = "tpu_slices.zone"
    """Key of the stack file that says where it stands."""
    stands: bool = True
    """False of a job's machine, which is there for a run."""


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """A machine with GPUs that a stack wants, in one zone and one way, as `TpuNeed`."""

    name: str
    machine_type: str
    accelerator_type: str
    count: int
    """GPUs of one machine."""
    attached: bool
    """Whether the GPUs are attached to a machine of N1; else they are built in."""
    zone: str
    provisioning: str
    boot_disk_type: str
    boot_disk_gib: int = 100
    way: str = "compute-engine"
    """Or `gke`."""
    machines: int = 1
    key: str = "gpu_vms.zone"
    stands: bool = True


Need = TpuNeed | GpuNeed
Metric = TypeVar("Metric", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SharedSubnet:
    """A subnet that others own, most often of a Shared VPC's host project, and what of the stack uses it."""

    name: str
    """`projects/P/regions/R/subnetworks/S`."""
    accounts: tuple[str, ...] = ()
    """Email addresses of the stack's accounts that make machines in it."""
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Secondary ranges for pods and services, by cluster."""
    clusters: tuple[str, ...] = ()
    """Clusters that are made in it."""
    groups: tuple[str, ...] = ()
    """What is made by Google APIs' service agent: managed groups of machines."""
    nodes: tuple[str, ...] = ()
    """What the Cloud TPU API makes in it."""
    granted: bool = False
    """Whether the stack makes the grants on the subnet itself."""

    @property
    def host(self) -> str:
        """Project of the subnet."""
        return self.name.split("/")[1]


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
    vertex_jobs: tuple[str, ...] = ()
    """Jobs whose machines Vertex AI makes."""
    own_clusters: bool = False
    """Whether it makes a cluster of GKE, whose nodes are more than its pools."""
    quota_requests: Mapping[str, str] = field(default_factory=dict)
    """Id of each quota preference, by its name in the stack file."""
    is_foundation: bool = False
    """Whether it is what the project has once, and no region."""
    callers: tuple[str, ...] = ()
    """IAM members who are granted something, and are no accounts of the project."""
    issuers: tuple[str, ...] = ()
    """Whose tokens a workload identity pool takes."""
    balancers: tuple[str, ...] = ()
    """Load balancers that routes into a cluster make, as `compute.restrictLoadBalancerCreationForTypes` calls them."""
    peered: tuple[str, ...] = ()
    """What needs a peering of the network with Google's."""
    shared: SharedSubnet | None = None
    """The subnet of others that its machines stand in; None where the network is its own."""

    @property
    def machines(self) -> bool:
        """Whether it has any, and so a network and accounts of its own."""
        return bool(self.tpus or self.gpus or self.own_clusters)


def together(needs: Iterable[Need], of: Callable[[Need], Counter[Metric]]) -> Counter[Metric]:
    """
    How much a stack wants of each metric at one time: all that stands, and the largest job. Jobs that run at once wait for each other.

    Args:
        of: What one need wants of each.
    """
    standing: dict[str, Counter[Metric]] = {}
    wanted: Counter[Metric] = Counter()
    for need in needs:
        if need.stands:
            standing[need.name] = standing.get(need.name, Counter()) | of(need)
        else:
            wanted |= of(need)
    for one in standing.values():
        wanted += one
    return wanted


Check = Callable[[Google, CloudNeeds], Iterator[Found]]


def inspect(needs: CloudNeeds, *, connect: Connect | None = None, progress: Callable[[str], None] | None = None) -> list[Found]:
    """
    Looks at the project, its billing, permissions, APIs, quotas, policies and zones, side by side.

    Args:
        connect: Makes the transport of each check. (default: over application default credentials)
        progress: Is told what is looked at, from the thread that looks.
    """
    from infra.operate import account, capacity, policies, quota_requests, quotas, requests, shared_vpc

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
    if needs.shared:
        checks["shared VPC"] = shared_vpc.shared_vpc
    if needs.quota_requests:
        checks["quota requests"] = quota_requests.quota_requests
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
