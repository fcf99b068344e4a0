"""Where the provider's resources stand: which inputs say it, and which types stand nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

Kind = Literal["region", "zone", "location"]

OWN_PLACE = ("zone", "region", "location")
"""Top-level inputs that say where a resource itself stands."""

NO_PLACE = frozenset(
    {
        "allowchangingzone",  # whether a repair may change the zone
        "dnszone",
        "managedzone",
        "multiregionid",
        "noautomatednszone",
        "selectedregions",  # where an uptime check asks from
        "sourcelocation",  # of a build's source
        "sourceregions",  # where a health check asks from
        "timezone",
    }
)
"""Inputs of the provider's schema whose name ends like that of a place, and which hold none."""

GLOBAL_TYPES = {
    "accelform:billing:SpendCap": "budgets stand nowhere",
    "gcp:billing/accountIamMember:AccountIamMember": "billing accounts stand nowhere",
    "gcp:billing/budget:Budget": "budgets stand nowhere",
    "gcp:cloudquota/sQuotaPreference:SQuotaPreference": "quota requests belong to the project",
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
    "gcp:pubsub/subscription:Subscription": "its messages are kept where its topic says",
    "gcp:pubsub/topicIAMMember:TopicIAMMember": "stands with its topic",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "stands with its secret, whose owner says where it is kept",
    "gcp:secretmanager/secretVersion:SecretVersion": "is kept where its secret says",
    "gcp:serviceaccount/account:Account": "service accounts are global",
    "gcp:serviceaccount/iAMMember:IAMMember": "service accounts are global",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "stands with its bucket",
}
"""Types without a place of their own, and why. A type that is neither here nor says its place is a finding."""

WISHES = {"gcp:cloudquota/sQuotaPreference:SQuotaPreference": "dimensions"}
"""The input of a type that says what is asked for, in whatever place: nothing of the stack stands there, nor reads from there."""
SAID_DEEPER = {
    "gcp:pubsub/topic:Topic": "messageStoragePolicy.allowedPersistenceRegions",
    "gcp:secretmanager/secret:Secret": "replication.userManaged.replicas",
}
"""Types that are global by name, and keep what they hold where a list of theirs says; without one, anywhere."""

WORDS_OF_PEOPLE = frozenset({"labels", "userLabels", "description", "displayName"})
"""Inputs that refer to nothing, whatever they look like."""
FREE_KEYS = frozenset({"annotations", "env", "metadata", "metadataStartupScript"})
"""Inputs whose keys promise no place, but whose text counts: a startup script runs on the machine, a container reads its environment."""

_REFERENCE = re.compile(r"(?<![\w-])(region|zone|location)s/([A-Za-z0-9-]+)", re.IGNORECASE)
"""`projects/P/zones/Z/...`, and the same inside a URL, a list or a script."""
_REGISTRY = re.compile(r"(?<![\w.-])([a-z0-9-]+)-docker\.pkg\.dev(?![\w-])", re.IGNORECASE)
_OLD_REGISTRY = re.compile(r"(?<![\w.-])((?:[a-z0-9]+\.)?gcr\.io)(?![\w-])", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w.-])([a-z0-9-]+?)-(?:aiplatform|[a-z]+)\.googleapis\.com(?![\w-])", re.IGNORECASE)
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")


@lru_cache(maxsize=4096)
def kind_of(key: str) -> Kind | None:
    """What kind of place an input's name promises, whatever its case: `nodeLocations` and `zoneId` do, `timeZone` does not."""
    lowered = key.lower()
    if lowered in NO_PLACE:
        return None
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", key)
    last = [word.lower() for word in words if word.lower() not in ("id", "ids", "name", "names")][-1:]
    for kind in OWN_PLACE:
        if lowered.rstrip("s") == kind or last in ([kind], [f"{kind}s"]) or lowered in (f"node{kind}s", f"replica{kind}s"):
            return kind  # type: ignore[return-value]
    return None


def referred(text: str) -> Iterator[tuple[str, str]]:
    """Every place that a string refers to, with what it is called: `("region", "us-east5")`."""
    if "/" in text:  # most texts are words, and the expressions are slow
        for kind, place in _REFERENCE.findall(text):
            yield kind.lower(), place
    if "." not in text:
        return
    for place in _REGISTRY.findall(text):
        yield "registry", place
    for host in _OLD_REGISTRY.findall(text):
        yield "registry", host
    for match in _HOST.finditer(text):
        if "-aiplatform." in match[0].lower() or _REGION.fullmatch(match[1].lower()):
            yield "host", match[1]


def within(place: str, region: str) -> bool:
    """Whether a place, of any kind, is the region or a zone of it. AI zones (`us-central1-ai1a`) do not end in one letter."""
    lowered = place.lower()
    return lowered == region or is_zone(lowered, region)


def is_zone(place: str, region: str) -> bool:
    return place.lower().rpartition("-")[0] == region
