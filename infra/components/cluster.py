"""
A GKE cluster: Standard, whose nodes are pools of this file, or Autopilot, which makes its nodes itself; or one that others own.

It is regional and its nodes have no external address. Its control plane is reached by its DNS name, where IAM alone decides
(`container.clusters.connect`): who has no such permission gets 403, from whatever network. An address of its own it has only where
networks are said that may use it.
Sources: discovery document container v1, `DNSEndpointConfig` and `IPEndpointsConfig`; the permission: gravitational/teleport pull request
54923; 403, and nothing without `allowExternalTraffic`: gke-labs/kube-agents pull request 648. All read 2026-11.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from infra import gcp, names
from infra.catalog.machine_prices import machine_hour
from infra.catalog.prices import PriceUnknown
from infra.components import identity
from infra.components.existing import FullName, MayExist
from infra.components.maintenance import ExclusionSpec, WindowSpec
from infra.components.network import Network
from infra.components.placement import Placement, region_of_file
from infra.components.storage import Storage
from infra.errors import Problem, ProblemsError
from infra.spec import Name, Spec, WholeNumber, YesNo, distinct, pattern, problem

EXISTING = FullName(
    "a cluster",
    ("projects/{project}/locations/{location}/clusters/{name}",),
    "projects/tw-shop-ml/locations/asia-east1/clusters/shop",
    name=r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?",
)
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
NODE_ROLES = {"nodes": "roles/container.defaultNodeServiceAccount"}
"""What a node itself does: logs and metrics. Pods are somebody of their own, by workload identity.
Source: CIS Google Kubernetes Engine Benchmark 2.0.0, recommendation 5.2.1 (it names the reader's role of images too), read 2026-11."""
PULLS = "roles/artifactregistry.reader"
SYSTEM_SERIES = ("e2", "n2", "n2d", "n1")
"""Machines of the system pool: those that stand in every region and take Persistent Disk."""
NODES_MAX = 1024
"""Nodes of a Standard cluster: GKE takes a free range of 262,144 addresses for pods, and gives 256 of them to each node. The sizes are not
written: the provider would see what became of them as a change at every refresh.
Sources: recorded traffic of the real service, 2026-08 (a /14, and /24 for a node of 110 pods); elastic/cloud-on-k8s pull request 2473."""
RANGE_NAME = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
METRICS = ["SYSTEM_COMPONENTS", "DCGM", "JOBSET"]
"""What is measured beside pods' own metrics: DCGM reads the GPUs, JOBSET the jobs of several hosts.
Source: discovery document container v1, `MonitoringComponentConfig`."""
SHIELDED = {"enable_secure_boot": True, "enable_integrity_monitoring": True}
"""GKE's images carry signed drivers, so secure boot stays on. Source: GoogleCloudPlatform/cluster-toolkit, module gke-node-pool, whose
default it is for pools of GPUs and TPUs alike."""
WAITS = pulumi.CustomTimeouts(create="60m", update="60m")
"""How long a run waits for a pool. GKE tells after 35 minutes that a zone has no capacity, and the provider waits 30 by itself: users would
read of a timeout, and of no reason.
Sources: GoogleCloudPlatform/cluster-toolkit pull request 6278; NVIDIA/aicr issue 2065; the provider's page on
container_node_pool ("Timeouts"), in public copies. All read 2026-11."""
NODE_METADATA = {"disable-legacy-endpoints": "true"}
"""What the service writes on every node by itself."""
Addon = Literal["gcs-fuse", "filestore", "secret-manager"]


def network_range(value: str) -> str:
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        raise problem(f"is not an IPv4 range: {error}", allowed="for example 203.0.113.0/24") from None
    if str(network) != value:
        raise problem("is not written as a prefix", allowed=str(network))
    if network.prefixlen == 0:
        raise problem("is everybody", allowed="the ranges that you connect from", fix="leave it out: the DNS name asks IAM, from anywhere")
    return value


class SystemPoolSpec(Spec):
    """Nodes of a Standard cluster for what is not accelerated: its DNS, metrics, controllers. Without any, they would fill GPU nodes."""

    machine_type: Annotated[str, StringConstraints(strict=True)] = "e2-standard-4"
    """Machine type: of E2, N2, N2D or N1, and with 2 vCPUs or more."""
    min_nodes: Annotated[WholeNumber, Field(ge=1, le=100)] = 1
    """Nodes that always stand, in all zones together."""
    max_nodes: Annotated[WholeNumber, Field(ge=1, le=100)] = 3
    """Nodes at most, in all zones together."""
    disk_gib: Annotated[WholeNumber, Field(ge=30, le=2000)] = 50
    """Size of each node's boot disk."""

    @field_validator("machine_type")
    @classmethod
    def _a_machine(cls, value: str, info: ValidationInfo) -> str:
        series = value.partition("-")[0]
        if series not in SYSTEM_SERIES:
            raise problem("is no machine type for a system pool", allowed=f"one of {', '.join(SYSTEM_SERIES)}, such as e2-standard-4")
        if value in ("e2-micro", "e2-small", "e2-medium") or value.endswith("-1"):
            raise problem("is too small for what every cluster runs", allowed="2 vCPUs or more, such as e2-standard-2")
        if region := region_of_file(info):
            try:
                machine_hour(value, region, "on-demand")
            except PriceUnknown as error:
                raise problem(f"has no price in the catalogue: {error}", allowed="such as e2-standard-4") from None
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.max_nodes < self.min_nodes:
            raise ProblemsError([Problem("max_nodes", f"{self.max_nodes} is below min_nodes", f"{self.min_nodes} or more")])
        return self


class RangesSpec(Spec):
    """Secondary ranges of the subnet, by name: for one that others own, and have made them in."""

    pods: Annotated[str, pattern(RANGE_NAME, "is not the name of a range", "pods")]
    """Range that pods get addresses of: 256 for each node."""
    services: Annotated[str, pattern(RANGE_NAME, "is not the name of a range", "services")]
    """Range that services of the cluster get addresses of."""


class ClusterSpec(MayExist):
    """What one GKE cluster is; or the name of one that others own, of which nothing else is said."""

    beside: ClassVar[tuple[str, ...]] = ("image_streaming",)
    never: ClassVar[dict[str, str]] = {
        "autoprovisioning": "pools with `autoscale` come from none as pods ask, and have their drivers; `mode: autopilot` makes all nodes",
    }

    mode: Literal["standard", "autopilot"] | None = None
    """`standard`: its nodes are `node_pools` of this file. `autopilot`: Google makes nodes as pods ask, and bills pods. Required without
    `existing`. A change makes another cluster."""
    existing: Annotated[str, EXISTING.validator] | None = None
    """A Standard cluster that others own, by its full name: node pools are put in it. It must have workload identity, and is never
    changed or destroyed."""
    release_channel: Literal["rapid", "regular", "stable"] = "regular"
    """Which versions Google upgrades it to."""
    authorized_networks: dict[Name, Annotated[str, AfterValidator(network_range)]] = {}
    """Ranges that may reach its control plane by address too, by name. (default: none; by its DNS name only)"""
    addons: Annotated[list[Addon], AfterValidator(distinct)] = []
    """What pods may mount beside disks, Hyperdisk ML among them, which they always may: buckets (`gcs-fuse`), `filestore`, and secrets of
    Secret Manager (`secret-manager`). On Autopilot the last only: it has the others."""
    image_streaming: YesNo = True
    """Whether containers start before the whole of their image is there."""
    maintenance_window: WindowSpec | None = None
    """When Google may upgrade it. (default: at any time)"""
    maintenance_exclusions: dict[Name, ExclusionSpec] = {}
    """When Google may not, by name; beside a window only."""
    secondary_ranges: RangesSpec | None = None
    """Ranges for pods and services that a subnet of others has. (default: GKE takes free ones)"""
    deletion_protection: YesNo | None = None
    """Whether the provider refuses a destroy too, until it is taken back by an update. In staging and prod the engine refuses already.
    (default: true in prod)"""
    system_pool: SystemPoolSpec = SystemPoolSpec()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if found := [*self._which(), *self._of_autopilot(), *self._of_maintenance()]:
            raise ProblemsError(found)
        return self

    def _which(self) -> Iterator[Problem]:
        if self.mode is None:
            yield Problem("mode", "is missing", "standard, autopilot; or name a cluster under `existing`")

    def _of_autopilot(self) -> Iterator[Problem]:
        if self.mode != "autopilot":
            return
        if others := [one for one in self.addons if one != "secret-manager"]:
            yield Problem("addons", f"{', '.join(others)}: Autopilot has it already", "secret-manager", "remove it")
        for key, why in {
            "image_streaming": "Autopilot always streams images",
            "system_pool": "Autopilot makes its nodes itself",
        }.items():
            if key in self.model_fields_set:
                yield Problem(key, f"does nothing: {why}", fix="remove it")

    def _of_maintenance(self) -> Iterator[Problem]:
        if self.maintenance_exclusions and not self.maintenance_window:
            message = "does nothing without a window: the provider sends one only with the other"
            yield Problem("maintenance_exclusions", message, fix="say maintenance_window too")

    @property
    def own_nodes(self) -> bool:
        """Whether node pools can be put in it."""
        return self.mode != "autopilot"


class Cluster(pulumi.ComponentResource):
    """A cluster, the account of its nodes, and the pool for what is not accelerated."""

    cluster: gcp.container.Cluster
    account: gcp.serviceaccount.Account | None = None
    """Who its nodes are, those of pools too; None where all of them are others'."""
    endpoint: pulumi.Output[str]
    """DNS name of its control plane."""
    project: str
    location: str
    ready: list[pulumi.Resource]
    """What must stand before a pool with accelerators is made: GKE taints GPU nodes only where a pool without GPUs is there."""

    def __init__(
        self,
        name: str,
        spec: ClusterSpec,
        *,
        placement: Placement,
        network: Network | None,
        storage: Storage,
        own_pools: bool = True,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            network: Where it stands; None for one that others own.
            own_pools: Whether the stack has pools of its own in one that others own.
        """
        super().__init__("accelform:cluster:Cluster", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.ready = []
        if own_pools or not spec.existing:
            self.account = identity.account(f"gke-{name}", placement=placement, parent=self)
            self.ready += identity.on_the_project(f"gke-{name}", NODE_ROLES, self.account, placement=placement)
            self.ready.append(identity.on_the_images(f"gke-{name}-images", PULLS, self.account, storage=storage))
        self.project, self.location = placement.project, placement.region
        if spec.existing:
            self._read(name, spec.existing, child)
        else:
            assert network, "the program makes one for every cluster of its own"
            self.ready += network.egress
            self._declare(name, spec, placement, network)
            if spec.own_nodes:
                self.ready.append(self._system_pool(name, spec, placement))
        self.endpoint = self.cluster.control_plane_endpoints_config.apply(lambda found: found.dns_endpoint_config.endpoint)
        self.register_outputs({"cluster": self.cluster.id, "location": self.location})

    def _read(self, name: str, existing: str, child: pulumi.ResourceOptions) -> None:
        self.project, self.location, short = EXISTING.parts(existing).values()
        self.cluster = gcp.container.Cluster.get(name, existing, opts=child, project=self.project, location=self.location, name=short)
        self.cluster.workload_identity_config.apply(lambda config: check_identity(name, existing, config))

    def _declare(self, name: str, spec: ClusterSpec, placement: Placement, network: Network) -> None:
        autopilot = spec.mode == "autopilot"
        physical = names.cluster(placement.stack, name)
        only_dns = not spec.authorized_networks
        ranges: dict[str, Any] = {}
        if spec.secondary_ranges:
            ranges = {
                "cluster_secondary_range_name": spec.secondary_ranges.pods,
                "services_secondary_range_name": spec.secondary_ranges.services,
            }
        arguments: dict[str, Any] = self._of_autopilot() if autopilot else self._of_standard(spec, placement)
        self.cluster = gcp.container.Cluster(
            name,
            name=physical,
            project=placement.project,
            location=placement.region,
            network=network.subnetwork.network,
            subnetwork=network.subnetwork.id,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy={**ranges, "stack_type": "IPV4"},
            # Where only the DNS name is used, the service decides on the address of its endpoint: the provider leaves it alone.
            private_cluster_config={"enable_private_nodes": True} | ({} if only_dns else {"enable_private_endpoint": False}),
            control_plane_endpoints_config={
                "dns_endpoint_config": {"allow_external_traffic": True},
                "ip_endpoints_config": {"enabled": not only_dns},
            },
            master_authorized_networks_config=None
            if only_dns
            else {
                "cidr_blocks": [{"cidr_block": one, "display_name": whose} for whose, one in sorted(spec.authorized_networks.items())],
                "gcp_public_cidrs_access_enabled": False,
            },
            release_channel={"channel": spec.release_channel.upper()},
            gateway_api_config={"channel": "CHANNEL_STANDARD"},
            cost_management_config={"enabled": True},
            secret_manager_config={"enabled": True} if "secret-manager" in spec.addons else None,
            maintenance_policy=None
            if spec.maintenance_window is None
            else {
                "recurring_window": spec.maintenance_window.declared(),
                "maintenance_exclusions": [one.declared(key) for key, one in sorted(spec.maintenance_exclusions.items())],
            },
            deletion_protection=placement.decides.deletion_protection if spec.deletion_protection is None else spec.deletion_protection,
            resource_labels=placement.labels,
            **arguments,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=self.ready,
                delete_before_replace=True,
                protect=placement.protects_data,
                # Of the pool that is made and taken away at once: a change of it would replace the cluster.
                ignore_changes=None if autopilot else ["nodeConfig", "initialNodeCount"],
            ),
        )

    def _of_autopilot(self) -> dict[str, Any]:
        return {
            "enable_autopilot": True,
            "cluster_autoscaling": {
                "auto_provisioning_defaults": {"service_account": self.account.email if self.account else None, "oauth_scopes": SCOPES},
            },
        }

    def _of_standard(self, spec: ClusterSpec, placement: Placement) -> dict[str, Any]:
        return {
            "enable_shielded_nodes": True,
            "datapath_provider": "ADVANCED_DATAPATH",
            "workload_identity_config": {"workload_pool": f"{placement.project}.svc.id.goog"},
            # The pool that comes with every cluster is taken away at once: pools of their own can change without the cluster.
            "remove_default_node_pool": True,
            "initial_node_count": 1,
            "node_config": node_config(
                self.account,
                machine_type=spec.system_pool.machine_type,
                disk={"size_gb": spec.system_pool.disk_gib, "disk_type": "pd-balanced"},
                placement=placement,
                image_streaming=spec.image_streaming,
            ),
            "addons_config": {
                "http_load_balancing": {"disabled": False},
                "horizontal_pod_autoscaling": {"disabled": False},
                "gcs_fuse_csi_driver_config": {"enabled": "gcs-fuse" in spec.addons},
                "gcp_filestore_csi_driver_config": {"enabled": "filestore" in spec.addons},
                "gce_persistent_disk_csi_driver_config": {"enabled": True},
            },
            "monitoring_config": {"enable_components": METRICS, "managed_prometheus": {"enabled": True}},
            "logging_config": {"enable_components": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
        }

    def _system_pool(self, name: str, spec: ClusterSpec, placement: Placement) -> gcp.container.NodePool:
        pool = spec.system_pool
        return gcp.container.NodePool(
            system_pool(name),
            name=names.cluster(placement.stack, name, "system"),
            project=placement.project,
            location=placement.region,
            cluster=self.cluster.name,
            initial_node_count=1,
            autoscaling={
                "total_min_node_count": pool.min_nodes,
                "total_max_node_count": pool.max_nodes,
                "location_policy": "BALANCED",
            },
            management={"auto_repair": True, "auto_upgrade": True},
            upgrade_settings={"max_surge": 1, "max_unavailable": 0, "strategy": "SURGE"},
            network_config={"enable_private_nodes": True},
            node_config=node_config(
                self.account,
                machine_type=pool.machine_type,
                disk={"size_gb": pool.disk_gib, "disk_type": "pd-balanced"},
                placement=placement,
                image_streaming=spec.image_streaming,
            ),
            opts=pulumi.ResourceOptions(
                parent=self.cluster,
                delete_before_replace=True,
                custom_timeouts=WAITS,
                ignore_changes=["initialNodeCount"],  # the service's own once it is made, and a change would replace the pool
            ),
        )


def check_identity(name: str, existing: str, config: Any) -> None:
    """
    Whether pods of a cluster that others own are somebody of their own.

    Raises:
        RunError: They are not.
    """
    if not getattr(config, "workload_pool", None):
        _, project, _, location, _, short = existing.split("/")
        raise pulumi.RunError(
            f"clusters.{name}.existing: {existing} has no workload identity: its pods would act as its nodes\n"
            f"  fix: gcloud container clusters update {short} --project={project} --location={location} "
            f"--workload-pool={project}.svc.id.goog"
        )


def system_pool(cluster: str) -> str:
    """What the pool of a cluster for what is not accelerated is called in a stack."""
    return f"{cluster}-system"


def node_config(
    account: gcp.serviceaccount.Account | None,
    *,
    machine_type: str,
    disk: dict[str, Any],
    placement: Placement,
    image_streaming: bool,
) -> dict[str, Any]:
    """What every node is: an account of its own, shielded, and pods that are not it. What the service would fill in is written out."""
    assert account, "there is one wherever the stack has nodes of its own"
    return {
        "machine_type": machine_type,
        "image_type": "COS_CONTAINERD",
        "disk_size_gb": disk["size_gb"],
        "disk_type": disk["disk_type"],
        "service_account": account.email,
        "oauth_scopes": SCOPES,
        "resource_labels": placement.labels,
        "metadata": NODE_METADATA,
        "gvnic": {"enabled": True},
        "gcfs_config": {"enabled": image_streaming},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "shielded_instance_config": SHIELDED,
    }
