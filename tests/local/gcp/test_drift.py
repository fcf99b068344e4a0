"""Drift, over the sandbox: what somebody changed is found by a refresh, and the next update puts it right."""

from __future__ import annotations

from typing import Any

import echo
import pytest
from region import ACCOUNT, REGION, P, Region

from infra.provider.values import Decoded

DECLARED = dict(REGION)
CHANGES: dict[str, list[dict[str, Any]]] = {
    "gcp:compute/network:Network": [{"routingMode": "GLOBAL"}, {"mtu": 1460}],
    "gcp:compute/subnetwork:Subnetwork": [
        {"privateIpGoogleAccess": False},
        {"logConfig": {"aggregationInterval": "INTERVAL_10_MIN", "flowSampling": 0.5, "metadata": "INCLUDE_ALL_METADATA"}},
    ],
    "gcp:compute/routerNat:RouterNat": [
        {"logConfig": {"enable": True, "filter": "ALL"}},
        {"logConfig": {"enable": False, "filter": "ERRORS_ONLY"}},
        {"minPortsPerVm": 128},
        {"udpIdleTimeoutSec": 60},
        {"sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES", "subnetworks": None},
    ],
    "gcp:compute/firewall:Firewall": [
        {"sourceRanges": ["35.235.240.0/20", "10.0.0.0/8"]},
        {"allows": [{"protocol": "tcp", "ports": ["22", "80"]}]},
        {"disabled": True},
        {"description": "{x"},
        {"priority": 900},
        {"targetTags": ["a"]},
        {"logConfig": {"metadata": "INCLUDE_ALL_METADATA"}},
    ],
    "gcp:serviceaccount/account:Account": [{"displayName": "ünïcode 機械"}, {"description": "x"}, {"disabled": True}],
    "gcp:storage/bucket:Bucket": [
        {"versioning": {"enabled": False}},
        {"softDeletePolicy": {"retentionDurationSeconds": 0}},
        {"lifecycleRules": None},
        {"lifecycleRules": DECLARED["gcp:storage/bucket:Bucket"]["lifecycleRules"][:1]},
        {"labels": {"owner": "x"}},
        {"labels": None},
        {"publicAccessPrevention": "inherited"},
        {"uniformBucketLevelAccess": False},
        {"storageClass": "NEARLINE"},
        {"cors": [{"methods": ["GET"], "origins": ["*"], "maxAgeSeconds": 60}]},
        {"website": {"mainPageSuffix": "i.html"}},
        {"defaultEventBasedHold": True},
        {"requesterPays": True},
        {"retentionPolicy": {"retentionPeriod": "3600"}},
        {"autoclass": {"enabled": True}},
        {"logging": {"logBucket": "b"}},
    ],
    "gcp:cloudrunv2/job:Job": [
        {"labels": {"owner": "x"}},
        {"annotations": {"a": "b"}},
        *(
            {"template": {"template": DECLARED["gcp:cloudrunv2/job:Job"]["template"]["template"] | change}}
            for change in ({"maxRetries": 2}, {"timeout": "60s"}, {"containers": [{"image": "job:2"}]})
        ),
    ],
    "gcp:cloudscheduler/job:Job": [
        {"schedule": "0 3 * * *"},
        {"timeZone": "Etc/UTC"},
        {"description": "ünïcode"},
        {"description": None},
        {"attemptDeadline": "60s"},
        {"retryConfig": {"retryCount": 1}},
        {
            "httpTarget": DECLARED["gcp:cloudscheduler/job:Job"]["httpTarget"]
            | {"headers": {"Content-Type": "application/json", "X-A": "b"}}
        },
        {"httpTarget": DECLARED["gcp:cloudscheduler/job:Job"]["httpTarget"] | {"body": "e30K"}},
    ],
    "gcp:artifactregistry/repository:Repository": [
        {"description": "x"},
        {"labels": {"owner": "x"}},
        {"cleanupPolicies": None},
        {"cleanupPolicyDryRun": True},
    ],
    "gcp:vertex/aiEndpoint:AiEndpoint": [{"description": "x"}, {"description": None}, {"displayName": "x"}, {"labels": {"owner": "x"}}],
    "gcp:monitoring/notificationChannel:NotificationChannel": [
        {"enabled": False},
        {"displayName": "x"},
        {"labels": {"email_address": "x@shop.example"}},
        {"userLabels": None},
        {"description": "x"},
    ],
    "gcp:billing/budget:Budget": [
        {"displayName": "x"},
        {"amount": {"specifiedAmount": {"currencyCode": "USD", "units": "351"}}},
        {"thresholdRules": [{"thresholdPercent": 0.6}]},
        {
            "allUpdatesRule": {
                "disableDefaultIamRecipients": True,
                "monitoringNotificationChannels": [f"projects/{P}/notificationChannels/1"],
            }
        },
    ],
    "gcp:compute/instance:Instance": [
        {"labels": {"owner": "x"}},
        {"metadata": {"enable-oslogin": "FALSE"}},
        {"metadata": None},
        {"tags": ["a"]},
        {"deletionProtection": True},
        {"shieldedInstanceConfig": {"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True}},
        {"serviceAccount": {"email": ACCOUNT, "scopes": ["storage-ro"]}},
        {"machineType": "ct6e-standard-4t"},
    ],
    "gcp:tpu/v2Vm:V2Vm": [{"labels": {"owner": "x"}}, {"metadata": {"enable-oslogin": "FALSE"}}, {"tags": ["a"]}, {"description": "x"}],
}

CHANGES_BY_ITSELF = {
    "etag",
    "fingerprint",
    "generation",
    "labelFingerprint",
    "metadataFingerprint",
    "observedGeneration",
    "softDeletePolicy",
    "tagsFingerprint",
    "terminalConditions",
    "updateTime",
    "updated",
}


@pytest.mark.parametrize("token", CHANGES)
def test_what_somebody_changed_is_found_and_put_right(token: str, region: Region) -> None:
    """Also what the program does not write. Before that, another program's update is made, and is nothing new to its own refresh."""
    more = {"allowStoppingForUpdate": True} if token == "gcp:compute/instance:Instance" else {}
    region.bring_up(token)
    driver = region.driver()
    inputs = driver.checked(token, DECLARED[token] | more)
    made = driver.create(token, inputs)
    id, state = made.id, Decoded(made.properties).values
    for change in CHANGES[token]:
        declared = {name: value for name, value in (DECLARED[token] | more | change).items() if value is not None}
        others = driver.checked(token, declared)
        updated = Decoded(driver.update(token, id, state, inputs, others).properties).values
        assert (change, Decoded(driver.read(token, id, updated, others).inputs).values) == (change, others)

        read = driver.read(token, id, state, inputs)
        drifted, found = Decoded(read.properties).values, Decoded(read.inputs).values
        assert (change, differs(driver, token, found, inputs, drifted)) == (change, set(change))
        state = Decoded(driver.update(token, id, drifted, found, inputs).properties).values
        again = driver.read(token, id, state, inputs)
        assert (change, Decoded(again.inputs).values) == (change, inputs)
        left = {name for name, value in Decoded(made.properties).values.items() if state[name] != value}
        assert (change, left - CHANGES_BY_ITSELF) == (change, set())


def differs(driver: echo.Driver, token: str, old: dict[str, Any], new: dict[str, Any], state: dict[str, Any]) -> set[str]:
    return set(driver.diff(token, old, new, state).diffs)


@pytest.mark.parametrize(
    "token",
    ["gcp:storage/bucket:Bucket", "gcp:artifactregistry/repository:Repository", "gcp:compute/instance:Instance", "gcp:tpu/v2Vm:V2Vm"],
)
def test_labels_of_others_stay(token: str, region: Region, driver: echo.Driver) -> None:
    """A label that somebody gave is none of the program's: a change of its own labels, or their end, leaves it."""
    inputs = region.bring_up(token)
    made = driver.create(token, inputs)
    state = Decoded(made.properties).values
    both = driver.checked(token, DECLARED[token] | {"labels": {"owner": "ml", "theirs": "x"}})
    driver.update(token, made.id, state, inputs, both)
    read = driver.read(token, made.id, state, inputs)
    state = Decoded(read.properties).values
    assert Decoded(read.inputs).values == inputs
    assert (state["labels"], state["effectiveLabels"]) == ({"owner": "ml"}, {"owner": "ml", "theirs": "x"})
    for labels in ({"owner": "me"}, {}):
        new = driver.checked(token, DECLARED[token] | {"labels": labels})
        state = Decoded(driver.update(token, made.id, state, inputs, new).properties).values
        assert (labels, state["effectiveLabels"]) == (labels, {"theirs": "x"} | labels)
        inputs = new
