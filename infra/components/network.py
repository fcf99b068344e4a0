"""The network of a region's machines: own VPC, one subnet, NAT, private access to Google's services, ssh through IAP only."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Annotated, ClassVar

import pulumi
from pydantic import AfterValidator, model_validator

from infra import gcp, names
from infra.components.existing import FullName, MayExist
from infra.components.placement import Placement
from infra.errors import Problem, ProblemsError
from infra.spec import YesNo, problem

IAP_SSH_RANGE = "35.235.240.0/20"
"""Addresses that IAP's TCP forwarding comes from. Source: https://cloud.google.com/iap/docs/using-tcp-forwarding, read 2026-11."""

MTU_BYTES = 8896
"""Largest frame of a VPC, which Google advises for TPUs.
Source: https://cloud.google.com/tpu/docs/multislice-introduction, read 2026-11."""

USES = "roles/compute.networkUser"
"""Role on a subnet of others with which machines are made in it. Source: https://cloud.google.com/vpc/docs/shared-vpc, read 2026-11."""
SUBNETWORK = FullName(
    "a subnet", ("projects/{project}/regions/{region}/subnetworks/{name}",), "projects/host/regions/asia-east1/subnetworks/ml"
)
PROXY_PREFIX = 26
PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""RFC 1918."""


def _private_range(value: str) -> str:
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        raise problem(f"is not an IPv4 range: {error}", allowed="for example 10.0.0.0/20") from None
    if str(network) != value:
        raise problem("is not written as a prefix", allowed=str(network))
    if not any(network.subnet_of(private) for private in PRIVATE) or network.prefixlen > 29:
        raise problem("is not a private range of at most /29", allowed="within 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16")
    return value


def _proxy_range(value: str) -> str:
    """Source of its least size: https://cloud.google.com/load-balancing/docs/proxy-only-subnets, read 2026-11 (/23 is advised)."""
    found = _private_range(value)
    if ipaddress.IPv4Network(found).prefixlen > PROXY_PREFIX:
        raise problem(f"is smaller than load balancers need: /{PROXY_PREFIX}", allowed="such as 10.0.16.0/23")
    return found


class NetworkSpec(MayExist):
    """The network of the stack's machines. Declared only where the stack has machines."""

    beside: ClassVar[tuple[str, ...]] = ("proxy_cidr", "grants")

    cidr: Annotated[str, AfterValidator(_private_range)] = "10.0.0.0/20"
    """IPv4 range of the subnet."""
    proxy_cidr: Annotated[str, AfterValidator(_proxy_range)] | None = None
    """IPv4 range of the region's load balancers, from which their requests come: routes into a cluster need it. Of an existing subnet, the
    range that its network has for them in the region. (default: none)"""
    existing: Annotated[str, SUBNETWORK.validator] | None = None
    """A subnet that others own, by its full name, instead of an own network: of this project, or of the host project of a Shared VPC.
    It must have NAT and private access, and is never destroyed. `accelform doctor --cloud` says what it lacks."""
    grants: YesNo = False
    """Whether this stack makes the grants on that subnet, of a Shared VPC, that its accounts and Google's service agents need: who
    updates it must then be allowed to grant there. Else the subnet's owner makes them."""

    @model_validator(mode="after")
    def _apart(self) -> NetworkSpec:
        if self.grants and not self.existing:
            raise ProblemsError([Problem("grants", "does nothing: the network is the stack's own", fix="remove it, or name `existing`")])
        if self.proxy_cidr and ipaddress.IPv4Network(self.proxy_cidr).overlaps(ipaddress.IPv4Network(self.cidr)):
            message = f"shares addresses with the subnet of machines, {self.cidr}"
            raise ProblemsError([Problem("proxy_cidr", message, "a range beside it, such as 10.0.16.0/23")])
        return self


def shared(spec: NetworkSpec, project: str) -> bool:
    """Whether the subnet is of another project's: of a Shared VPC."""
    return spec.existing is not None and spec.existing.split("/")[1] != project


class Network(pulumi.ComponentResource):
    """A network of its own, or an existing subnet that is only read."""

    subnetwork: gcp.compute.Subnetwork
    subnetwork_name: str
    """Full name of the subnet, known before it is made."""
    own: gcp.compute.Network | None = None
    """The network, where it is the stack's; None where the subnet is others'."""
    egress: list[pulumi.Resource]
    """What must stand before a machine without an external address boots: its startup script needs a way out, and whoever makes it the
    subnet."""

    def __init__(
        self,
        name: str,
        spec: NetworkSpec,
        *,
        placement: Placement,
        users: Mapping[str, pulumi.Input[str]] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            users: Who makes machines in it, as IAM members by name: granted on a subnet of another project, where *spec* says so.
        """
        super().__init__("accelform:network:Network", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        own = f"projects/{placement.project}/regions/{placement.region}/subnetworks/{names.resource(placement.stack, 'subnet')}"
        self.subnetwork_name = spec.existing or own
        if spec.existing:
            self.subnetwork = self._read(name, spec.existing, child)
            self._granted = spec.existing if spec.grants and shared(spec, placement.project) else ""
            self.egress = [made for one, member in (users or {}).items() if (made := self.let_in(one, member))]
        else:
            self._granted = ""
            self._declare(name, spec, placement, child)
        self.register_outputs({"subnetwork": self.subnetwork.id})

    def _read(self, name: str, existing: str, child: pulumi.ResourceOptions) -> gcp.compute.Subnetwork:
        project, region, short = SUBNETWORK.parts(existing).values()
        subnetwork = gcp.compute.Subnetwork.get(
            name, existing, opts=child, project=project, region=region, name=short, private_ip_google_access=True
        )

        def reaches_google(access: bool | None) -> bool:
            if not access:
                raise pulumi.RunError(
                    f"network.existing: {existing} has no Private Google Access: its machines could not reach Google's services\n"
                    f"  fix: gcloud compute networks subnets update {short} --project={project} --region={region} "
                    "--enable-private-ip-google-access"
                )
            return access

        subnetwork.private_ip_google_access.apply(reaches_google)
        return subnetwork

    def let_in(self, name: str, member: pulumi.Input[str]) -> pulumi.Resource | None:
        """Grants *member* the use of the subnet, where it is of another project and the file says so; else nothing is needed, or asked."""
        if not self._granted:
            return None
        _, project, _, region, _, short = self._granted.split("/")
        made: pulumi.Resource = gcp.compute.SubnetworkIAMMember(
            f"network-{name}",
            project=project,
            region=region,
            subnetwork=short,
            role=USES,
            member=member,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return made

    def _declare(self, name: str, spec: NetworkSpec, placement: Placement, child: pulumi.ResourceOptions) -> None:
        network = gcp.compute.Network(
            name,
            name=names.resource(placement.stack, "net"),
            project=placement.project,
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=MTU_BYTES,
            opts=child,
        )
        self.subnetwork = gcp.compute.Subnetwork(
            name,
            name=names.resource(placement.stack, "subnet"),
            project=placement.project,
            region=placement.region,
            network=network.id,
            ip_cidr_range=spec.cidr,
            private_ip_google_access=True,
            opts=child,
        )
        if spec.proxy_cidr:
            gcp.compute.Subnetwork(
                f"{name}-proxies",
                name=names.resource(placement.stack, "proxies"),
                project=placement.project,
                region=placement.region,
                network=network.id,
                ip_cidr_range=spec.proxy_cidr,
                purpose="REGIONAL_MANAGED_PROXY",
                role="ACTIVE",
                opts=child,
            )
        router = gcp.compute.Router(
            name,
            name=names.resource(placement.stack, "router"),
            project=placement.project,
            region=placement.region,
            network=network.id,
            opts=child,
        )
        nat = gcp.compute.RouterNat(
            name,
            name=names.resource(placement.stack, "nat"),
            project=placement.project,
            region=placement.region,
            router=router.name,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
            subnetworks=[{"name": self.subnetwork.id, "source_ip_ranges_to_nats": ["ALL_IP_RANGES"]}],
            log_config={"enable": True, "filter": "ERRORS_ONLY"},
            opts=child,
        )
        gcp.compute.Firewall(
            f"{name}-iap-ssh",
            name=names.resource(placement.stack, "iap-ssh"),
            project=placement.project,
            network=network.id,
            direction="INGRESS",
            source_ranges=[IAP_SSH_RANGE],
            allows=[{"protocol": "tcp", "ports": ["22"]}],
            opts=child,
        )
        self.own = network
        self.egress = [nat]
