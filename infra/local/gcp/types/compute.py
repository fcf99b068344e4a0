"""Compute Engine: networks, disks, policies. Machines are in `instances`, what balances load is in `load_balancing`."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import INT64, REGION, ZONE, Codec, Field, Names, Policy, ResourceType, Update, last
from infra.local.gcp.types.router_nat import ROUTER_NAT
from infra.provider.calls import GoogleError

GLOBAL = "projects/{project}/global"
REGIONAL = "projects/{project}/regions/{region}"
ZONAL = "projects/{project}/zones/{zone}"

SET_LABELS = Update(("labels",), "POST", "/setLabels", kept=("labelFingerprint",))

LOGGED = Codec(lambda value, _: value | {"enable": True}, lambda value: value if value.get("enable") else None)
"""A log configuration that is there is one that is on."""

NETWORK = ResourceType(
    "gcp:compute/network:Network",
    "compute",
    f"{GLOBAL}/networks/{{name}}",
    defaults={"autoCreateSubnetworks": True, "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL"},
    virtual={"deleteDefaultRoutesOnCreate": False},
    unsupported=("deleteDefaultRoutesOnCreate",),
    fields=(
        Field("autoCreateSubnetworks", always=True),
        Field("routingMode", "routingConfig.routingMode"),
        Field("bgpAlwaysCompareMed", "routingConfig.bgpAlwaysCompareMed"),
        Field("bgpBestPathSelectionMode", "routingConfig.bgpBestPathSelectionMode"),
        Field("bgpInterRegionCost", "routingConfig.bgpInterRegionCost"),
        Field("deleteBgpAlwaysCompareMed", "routingConfig.deleteBgpAlwaysCompareMed", always=True),
        Field("gatewayIpv4", "gatewayIPv4"),
        Field("networkId", "id"),
        Field("numericId", "id"),
        Field("params", unread=True),
    ),
    computed=("bgpBestPathSelectionMode", "bgpInterRegionCost", "internalIpv6Range", "mtu", "routingMode"),
    updates=(Update(("mtu",)), Update()),
)

SUBNETWORK = ResourceType(
    "gcp:compute/subnetwork:Subnetwork",
    "compute",
    f"{REGIONAL}/subnetworks/{{name}}",
    virtual={"sendSecondaryIpRangeIfEmpty": None},
    unsupported=("sendSecondaryIpRangeIfEmpty",),
    computed=("ipv6AccessType", "privateIpv6GoogleAccess", "purpose", "secondaryIpRanges", "stackType"),
    defaults={"logConfig.filterExpr": "true"},
    fields=(
        Field("region", codec=REGION),
        Field("logConfig", always=True, zero={"enable": False}, codec=LOGGED),
        Field("logConfig.metadataFields", always=True, absent=None),
        Field("subnetworkId", "id", codec=INT64),
        Field("fingerprint", codec=Codec(decode=lambda _: None), absent=None),
        Field("params", unread=True),
    ),
    updates=(
        Update(("ipCidrRange",), "POST", "/expandIpCidrRange"),
        Update(("privateIpGoogleAccess",), "POST", "/setPrivateIpGoogleAccess"),
        Update(reads_first=True, kept=("fingerprint",)),
    ),
)

SUBNETWORK_IAM_MEMBER = ResourceType(
    "gcp:compute/subnetworkIAMMember:SubnetworkIAMMember",
    "compute",
    f"{REGIONAL}/subnetworks/{{subnetwork}}",
    policy=Policy(
        "subnetwork",
        f"{REGIONAL}/subnetworks/{{subnetwork}}",
        get=("GET", "/getIamPolicy"),
        set=("POST", "/setIamPolicy"),
        get_query={"optionsRequestedPolicyVersion": "3"},
    ),
    fields=(Field("region", codec=REGION),),
    lifecycle=IamMember,
)

ROUTER = ResourceType(
    "gcp:compute/router:Router",
    "compute",
    f"{REGIONAL}/routers/{{name}}",
    fields=(Field("bgp", always=True), Field("region", codec=REGION), Field("params", unread=True)),
    updates=(Update(),),
)

FIREWALL = ResourceType(
    "gcp:compute/firewall:Firewall",
    "compute",
    f"{GLOBAL}/firewalls/{{name}}",
    defaults={"priority": 1000},
    virtual={"enableLogging": None},
    unsupported=("enableLogging",),
    sets=(
        "allows",
        "denies",
        "destinationRanges",
        "sourceRanges",
        "sourceServiceAccounts",
        "sourceTags",
        "targetServiceAccounts",
        "targetTags",
    ),
    fields=(
        Field("allows", "allowed"),
        Field("allows.protocol", "IPProtocol"),
        Field("denies", "denied"),
        Field("denies.protocol", "IPProtocol"),
        *(Field(name, absent=None) for name in ("sourceServiceAccounts", "sourceTags", "targetServiceAccounts", "targetTags")),
        Field("logConfig", always=True, zero={"enable": False}, codec=LOGGED),
        Field("params", unread=True),
    ),
    updates=(
        Update(
            zeros={
                "allowed": [],
                "denied": [],
                "description": "",
                "destinationRanges": [],
                "disabled": False,
                "sourceRanges": [],
                "sourceServiceAccounts": [],
                "sourceTags": [],
                "targetServiceAccounts": [],
                "targetTags": [],
            }
        ),
    ),
)

RESOURCE_POLICY = ResourceType(
    "gcp:compute/resourcePolicy:ResourcePolicy",
    "compute",
    f"{REGIONAL}/resourcePolicies/{{name}}",
    fields=(Field("diskConsistencyGroupPolicy", always=True), Field("region", codec=REGION)),
    updates=(Update(),),
)


class GlobalAddress(Lifecycle):
    """An external address is said by its tier, and not by its type."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        made = super().create_body(inputs, names)
        if made.get("addressType") == "EXTERNAL":
            del made["addressType"]
            made["networkTier"] = "PREMIUM"
        return made


GLOBAL_ADDRESS = ResourceType(
    "gcp:compute/globalAddress:GlobalAddress",
    "compute",
    f"{GLOBAL}/addresses/{{name}}",
    defaults={"addressType": "EXTERNAL"},
    computed=("address", "prefixLength"),
    fields=(Field("addressType", unread=True),),
    updates=(SET_LABELS,),
    lifecycle=GlobalAddress,
)


ADDRESS = ResourceType(
    "gcp:compute/address:Address",
    "compute",
    f"{REGIONAL}/addresses/{{name}}",
    defaults={"addressType": "EXTERNAL"},
    computed=("address", "network", "networkTier", "prefixLength", "purpose", "subnetwork"),
    fields=(Field("region", codec=REGION),),
    updates=(SET_LABELS,),
)


def disk_type(value: Any, names: Names) -> str:
    """The link of a disk type in the zone."""
    return f"projects/{names['project']}/zones/{names['zone']}/diskTypes/{last(value)}"


class Disk(Lifecycle):
    """A disk is looked at before it is deleted: what uses it would have to let go first."""

    def delete(self, id: str, state: dict[str, Any]) -> None:
        if self.get(self.names_of(id, state)) is not None:
            super().delete(id, state)


DISK = ResourceType(
    "gcp:compute/disk:Disk",
    "compute",
    f"{ZONAL}/disks/{{name}}",
    defaults={"eraseWindowsVssSignature": False},
    virtual={
        "createSnapshotBeforeDestroy": False,
        "createSnapshotBeforeDestroyPrefix": None,
        "eraseWindowsVssSignature": False,
        "interface": None,
    },
    unsupported=("createSnapshotBeforeDestroy", "createSnapshotBeforeDestroyPrefix", "interface"),
    computed=(
        "accessMode",
        "physicalBlockSizeBytes",
        "provisionedIops",
        "provisionedThroughput",
        "size",
        "type",
        "guestOsFeatures",
        "licenses",
    ),
    fields=(
        Field("type", codec=Codec(disk_type, last)),
        Field("zone", codec=ZONE),
        Field("size", "sizeGb", codec=Codec(decode=int)),
        Field("image", "sourceImage"),
        Field("snapshot", "sourceSnapshot"),
        Field("diskId", "id"),
        Field("architecture", absent=None),
        Field("sourceStorageObject", absent=None),
        Field("params", unread=True),
        Field("physicalBlockSizeBytes", codec=INT64),
        Field("users", absent=[]),
    ),
    updates=(
        SET_LABELS,
        Update(("size",), "POST", "/resize"),
        Update(("accessMode",), query={"paths": "accessMode"}),
        Update(("provisionedIops",), query={"paths": "provisionedIops"}),
        Update(("provisionedThroughput",), query={"paths": "provisionedThroughput"}),
    ),
    lifecycle=Disk,
)


class ResizeRequest(Lifecycle):
    """Only a request that waits no more can be deleted: so it is cancelled first."""

    def delete(self, id: str, state: dict[str, Any]) -> None:
        names = self.names_of(id, state)
        try:
            answer = self.call("POST", self.fill(self.row.url, names) + "/cancel", {}, None, names)
            self.client.finished(self.row.service, answer, names["project"])
        except GoogleError as error:
            if error.code not in (400, 404):
                raise
        super().delete(id, state)


RESIZE_REQUEST = ResourceType(
    "gcp:compute/resizeRequest:ResizeRequest",
    "compute",
    f"{ZONAL}/instanceGroupManagers/{{instanceGroupManager}}/resizeRequests/{{name}}",
    url_only=("instanceGroupManager",),
    fields=(Field("zone", codec=ZONE), Field("statuses", "status", codec=Codec(decode=lambda value: [value] if value else []), absent=[])),
    lifecycle=ResizeRequest,
)

ROWS = (
    NETWORK,
    SUBNETWORK,
    SUBNETWORK_IAM_MEMBER,
    ROUTER,
    ROUTER_NAT,
    FIREWALL,
    RESOURCE_POLICY,
    ADDRESS,
    GLOBAL_ADDRESS,
    DISK,
    RESIZE_REQUEST,
)
