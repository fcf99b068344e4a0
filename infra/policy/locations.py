"""Where the provider's resources stand: which inputs say it, and which types stand nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

REGION_KEYS = frozenset({"region", "regions", "originRegion", "serviceDirectoryRegion"})
ZONE_KEYS = frozenset({"zone", "zones", "replicaZones", "distributionPolicyZones"})
LOCATION_KEYS = frozenset(
    {
        "location",
        "locations",
        "nodeLocations",
        "autoProvisioningLocations",
        "dataLocations",
        "storageLocations",
        "membershipLocation",
        "allowedPersistenceRegions",
        "multiRegionId",
    }
)
PLACE_KEYS = REGION_KEYS | ZONE_KEYS | LOCATION_KEYS
"""Inputs, at any depth, that hold a place. Found by reading every input of the provider's schema whose name speaks of a region,
a zone or a location; the others (`timeZone`, `managedZone`, `locationPolicy`, `sourceRegions` of a health check ...) hold none."""

OWN_PLACE = frozenset({"region", "zone", "location"})
"""Top-level inputs that say where a resource itself stands."""

GLOBAL_TYPES = {
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": "stands with its repository",
    "gcp:billing/accountIamMember:AccountIamMember": "billing accounts stand nowhere",
    "gcp:billing/budget:Budget": "budgets stand nowhere",
    "gcp:compute/firewall:Firewall": "firewall rules belong to a global network",
    "gcp:compute/network:Network": "VPC networks are global; their subnets are not",
    "gcp:compute/networkPeering:NetworkPeering": "belongs to a global network",
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": "identity pools are global",
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": "identity pools are global",
    "gcp:kms/cryptoKey:CryptoKey": "stands with its key ring, which its `keyRing` names",
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "stands with its key, which its `cryptoKeyId` names",
    "gcp:logging/metric:Metric": "log metrics belong to the project",
    "gcp:monitoring/alertPolicy:AlertPolicy": "monitoring belongs to the project",
    "gcp:monitoring/dashboard:Dashboard": "monitoring belongs to the project",
    "gcp:monitoring/notificationChannel:NotificationChannel": "monitoring belongs to the project",
    "gcp:projects/iAMMember:IAMMember": "project IAM is global",
    "gcp:projects/service:Service": "APIs are enabled for the project",
    "gcp:serviceaccount/account:Account": "service accounts are global",
    "gcp:serviceaccount/iAMMember:IAMMember": "service accounts are global",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "stands with its bucket",
}
"""Types without a place of their own, and why. A type that is neither here nor says its place is a finding."""

REFERENCE = re.compile(r"(?:^|/)(regions|zones|locations)/([A-Za-z0-9-]+)(?=/|$)")
"""`projects/P/zones/Z/...`, and the same inside a URL."""
REGISTRY = re.compile(r"(?:^|[\s\"'/,])([a-z0-9-]+)-docker\.pkg\.dev/")
OLD_REGISTRY = re.compile(r"(?:^|[\s\"'/,])((?:[a-z]+\.)?gcr\.io)/")
REGIONAL_HOST = re.compile(r"(?:^|[\s\"'/,])([a-z]+-[a-z]+[0-9]+)-[a-z]+\.googleapis\.com")

FREE_TEXT = frozenset({"labels", "userLabels", "metadata", "metadataStartupScript", "description", "displayName", "annotations"})
"""Inputs that hold words of people: what looks like a reference there refers to nothing."""


def referred(text: str) -> Iterator[tuple[str, str]]:
    """Every place that a string refers to, with what it is called: `("region", "us-east5")`."""
    for kind, place in REFERENCE.findall(text):
        yield kind.removesuffix("s"), place
    for place in REGISTRY.findall(text):
        yield "registry", place
    for host in OLD_REGISTRY.findall(text):
        yield "registry", host
    for place in REGIONAL_HOST.findall(text):
        yield "region", place


def within(place: str, region: str) -> bool:
    """Whether a place, of any kind, is the region or a zone of it. AI zones (`us-central1-ai1a`) do not end in one letter."""
    lowered = place.lower()
    return lowered == region or lowered.rpartition("-")[0] == region
