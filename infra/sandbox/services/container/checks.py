"""
Node pools that there cannot be: what Google refuses when it is asked, and what only fails when it is made.

Words in a comment's source are Google's; all others are ours.
"""

from __future__ import annotations

from infra.catalog.gpu import UnknownGpu, gpu
from infra.catalog.gpu_machines import N1, NotAttachable, by_machine_type, check_attachable, n1_size, series_of
from infra.sandbox.refused import rpc_error
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.zones import check_machine_type
from infra.sandbox.services.container import ways
from infra.sandbox.services.container.defaults import MACHINE
from infra.sandbox.services.container.parts import region, wrong

MOST_NODES = 1000
"""Of a pool in a zone. Source: https://docs.cloud.google.com/kubernetes-engine/quotas, read 2026-11."""
WORKLOAD_POLICY_ONLY = "tpu7x"
"""Generation whose slices are placed by a workload policy. Source: vllm-project/ci-infra pull request 547."""


def pool(call: Call, cluster: Body, body: Body) -> None:
    """
    Everything that a pool is held against before it is made or changed. *body* is in full.

    Raises:
        Refused: It cannot be.
    """
    config, locations = body["config"], body["locations"]
    _scaling(body)
    _buying(body)
    _management(cluster, body)
    _machine(config["machineType"], locations)
    _gpus(config, locations)
    _slice(call, cluster, body)


def _scaling(body: Body) -> None:
    """Limits and counts: the document's descriptions of NodePoolAutoscaling and UpgradeSettings."""
    scaling = body.get("autoscaling", {})
    total = scaling.get("totalMinNodeCount", 0), scaling.get("totalMaxNodeCount", 0)
    each = scaling.get("minNodeCount", 0), scaling.get("maxNodeCount", 0)
    if any(total) and any(each):
        raise wrong("The total_*_node_count fields are mutually exclusive with the *_node_count fields.")
    for least, most in (total, each):
        if not 0 <= least <= most <= MOST_NODES * len(body["locations"]):
            raise wrong(f"Autoscaling limits must be 0 <= minimum <= maximum; got {least} and {most}.")
    if not 0 <= body.get("initialNodeCount", 0) <= MOST_NODES:
        raise wrong(f"Initial node count must be between 0 and {MOST_NODES}; got {body.get('initialNodeCount')}.")
    upgrades = body["upgradeSettings"]
    if upgrades.get("strategy", "SURGE") == "SURGE" and upgrades.get("maxSurge", 0) + upgrades.get("maxUnavailable", 0) < 1:
        raise wrong("Surge upgrades need max_surge or max_unavailable above 0.")


def _buying(body: Body) -> None:
    """
    Ways to buy that exclude each other.

    Sources of the words on flex-start: a public guide that quotes gcloud's errors, 2026; on queued provisioning:
    terraform-provider-google issue 18341. That Spot takes no reservation: cluster-toolkit pull request 4531.
    """
    config, scaling = body["config"], body.get("autoscaling", {})
    spot = bool(config.get("spot") or config.get("preemptible"))
    affinity = config.get("reservationAffinity", {}).get("consumeReservationType", "")
    if config.get("flexStart"):
        if spot:
            raise wrong("Flex start node pools cannot be Spot.")
        if not scaling.get("enabled"):
            raise wrong("Flex start node pools require autoscaling enabled.")
        if body.get("initialNodeCount", 0):
            raise wrong("Flex start node pools require initial node count to be set to 0.")
    if spot and affinity in ("ANY_RESERVATION", "SPECIFIC_RESERVATION"):
        raise wrong("Spot node pools cannot consume reservations.")
    if body.get("queuedProvisioning", {}).get("enabled"):
        if affinity != "NO_RESERVATION":
            raise wrong("Queued_provisioning requires reservation affinity to be set to none")
        if spot:
            raise wrong("Queued_provisioning cannot be Spot.")
        if not scaling.get("enabled"):
            raise wrong("Queued_provisioning requires autoscaling enabled.")
        if scaling.get("minNodeCount") or scaling.get("totalMinNodeCount") or body.get("initialNodeCount"):
            raise wrong("Queued_provisioning requires a minimum and an initial node count of 0.")


def _management(cluster: Body, body: Body) -> None:
    """Source of the words: hivemq-mqtt-tensorflow issue 47. Nodes that run for a limited time are not repaired (Google's page on them)."""
    channel = cluster.get("releaseChannel", {}).get("channel", "")
    repaired = body["management"].get("autoRepair") or body["config"].get("flexStart") or body.get("queuedProvisioning", {}).get("enabled")
    if channel and not (body["management"].get("autoUpgrade") and repaired):
        raise wrong(f"Auto_upgrade and auto_repair cannot be false when release_channel {channel} is set.")


def _machine(machine: str, locations: list[str]) -> None:
    """
    A machine that a zone is known not to have. Of GPUs no list is complete: an absence proves nothing.

    Sources of the words: keras-team/kinetic issue 305; nkoson/gke-tutorial issue 7.
    """
    if machine == "f1-micro":
        raise wrong("Node pools of f1-micro machines are not supported due to insufficient memory.")
    for zone in locations:
        if not check_machine_type(zone, machine, node=True):
            raise wrong(f'Invalid machine type "{machine}" in zone "{zone}": GCE_NOT_FOUND')


def _gpus(config: Body, locations: list[str]) -> None:
    """
    GPUs that there are not, or that the machine does not go with.

    Sources of the words: terraform-provider-google issue 8387 (the default machine), k8s-config-connector pull request 1902 (no such type),
    skypilot issue 212 (the machine). A part of a GPU counts as one, and is neither cut nor shared:
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus, read 2026-11.
    """
    machine = config["machineType"]
    for one in config.get("accelerators", []):
        name, count = one.get("acceleratorType", ""), int(one.get("acceleratorCount", "0") or 0)
        try:
            card = gpu(name)
        except UnknownGpu:
            raise wrong(f'Accelerator type "{name}" does not exist in zone {locations[0]}.') from None
        if machine == MACHINE:
            raise wrong(f"Cannot use default machine type ({MACHINE}) with GPUs; choose a different machine type.")
        host = by_machine_type(machine)
        if host is not None and (host.accelerator_type != name or host.counted != count):
            said = f"it has {host.gpus:f} x {host.accelerator_type}, not {count} x {name}"
            raise wrong(f"[{name}, {machine}] features are not compatible for creating instance: {said}.")
        if host is None:
            _attached(name, count, machine, locations)
        _parts(one, {} if host is not None and host.gpus < 1 else card.partitions, name)
        if host is not None and host.gpus < 1 and one.get("gpuSharingConfig", {}).get("gpuSharingStrategy"):
            raise wrong(f"GPU sharing is not supported on {machine}, which has a part of a GPU.")


def _attached(name: str, count: int, machine: str, locations: list[str]) -> None:
    size = n1_size(machine)
    custom = size is None and series_of(machine) == N1
    if size is None and not custom:
        raise wrong(f"[{name}, {machine}] features are not compatible for creating instance.")
    for zone in locations if size is not None else ():
        assert size is not None
        try:
            check_attachable(name, count, vcpus=size[0], memory_gib=size[1], zone=zone)
        except NotAttachable as error:
            raise wrong(f"[{name}, {machine}] features are not compatible for creating instance: {error}.") from None


def _parts(one: Body, partitions: object, name: str) -> None:
    """A GPU is cut into parts of a size that it has. Source: the catalogue's, which is that of GKE's own device plugin."""
    size = one.get("gpuPartitionSize", "")
    if size and size not in dict(partitions):  # type: ignore[call-overload]
        known = ", ".join(dict(partitions)) or "none"  # type: ignore[call-overload]
        raise wrong(f'Invalid GPU partition size "{size}" for accelerator type "{name}"; allowed: {known}.')
    sharing = one.get("gpuSharingConfig", {})
    if sharing.get("gpuSharingStrategy") and int(sharing.get("maxSharedClientsPerGpu", "0") or 0) < 2:
        raise wrong("GPU sharing needs max_shared_clients_per_gpu of 2 or more.")


def _slice(call: Call, cluster: Body, body: Body) -> None:
    """
    A TPU slice: a topology that its machines make, of all its nodes or none, in one zone.

    Sources: the words on the maximum: vllm-project/ci-infra pull request 545; a policy that is not there: `PlacementPolicy.policyName` in
    the discovery document; single hosts have no policy: AI-Hypercomputer/xpk pull requests 595 and 822.
    """
    machine, topology = body["config"]["machineType"], body.get("placementPolicy", {}).get("tpuTopology", "")
    known = ways.topologies(machine)
    if not topology:
        return
    if not known:
        raise wrong(f"TPU topology {topology} needs a TPU machine type; {machine} is none.")
    if topology not in known:
        first = f"{', '.join(list(known)[:12])}{', ...' if len(known) > 12 else ''}"
        raise wrong(f'Invalid TPU topology "{topology}" for machine type {machine}; allowed: {first}.')
    shape = ways.slice_of(body)
    if shape is None:
        raise wrong(f'TPU topology "{topology}" is one host of {machine}; a single-host pool has no placement policy.')
    if len(body["locations"]) > 1:
        raise wrong(f'A TPU pod slice with topology "{topology}" is in one zone; got {", ".join(body["locations"])}.')
    scaling = body.get("autoscaling", {})
    if scaling.get("enabled") and scaling.get("maxNodeCount", 0) != shape.hosts:
        raise wrong(f'Maximum node count {scaling.get("maxNodeCount", 0)} is not a valid size of TPU pod slice with topology "{topology}"')
    check_size(body, shape, body.get("initialNodeCount", 0))


def check_size(body: Body, shape: ways.Slice | None, size: int) -> None:
    """
    Raises:
        Refused: A slice would have neither none nor all of its nodes. A slice that a workload policy places fails only when it is made.
    """
    if shape is None or size in (0, shape.hosts) or body.get("placementPolicy", {}).get("policyName"):
        return
    raise wrong(f'Node count {size} is not a valid size of TPU pod slice with topology "{shape.topology}"; it has {shape.hosts} nodes.')


def policy(call: Call, cluster_name: str, body: Body) -> None:
    """
    Reads the topology off a workload policy: the API keeps both, and no type (vllm-project/ci-infra pull request 547).

    Raises:
        Refused: There is no such policy in the cluster's project and region.
    """
    placement = body.get("placementPolicy", {})
    if not placement.get("policyName"):
        return
    words = cluster_name.split("/")
    name = f"projects/{words[1]}/regions/{region(words[3])}/resourcePolicies/{links.last(placement['policyName'])}"
    found = call.cloud.store.get(links.HOST, name)
    if found is None:
        raise wrong(f"The resource '{name}' was not found")
    topology = found.get("workloadPolicy", {}).get("acceleratorTopology", "")
    if topology:
        placement.setdefault("tpuTopology", topology)


def doom(body: Body, size: int) -> Body | None:
    """
    Error that the operation of a create or a resize ends with, of what is not refused when it is asked.

    Sources of the words: vllm-project/ci-infra pull request 547; AI-Hypercomputer/xpk issue 751.
    """
    shape, placement, machine = ways.slice_of(body), body.get("placementPolicy", {}), body["config"]["machineType"]
    if shape is None:
        return None
    if shape.generation == WORKLOAD_POLICY_ONLY and placement.get("type") == "COMPACT":
        said = f"Creation of a managed instance group with {machine} machine type with placement policy is not supported."
        return rpc_error("INVALID_ARGUMENT", f"{said} Use workload policy instead.")
    if size not in (0, shape.hosts):
        said = (
            f"Google Compute Engine: Invalid value for field 'resource.resizeBy': '{size}'. Requested invalid target size '{size}' for a "
            f"Managed Instance Group in the gang mode of size '{shape.hosts}'. Should be equal to the gang size."
        )
        return rpc_error("INVALID_ARGUMENT", said)
    return None
