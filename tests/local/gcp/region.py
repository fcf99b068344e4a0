"""What a region declares, and the provider before a sandbox, without a process between them."""

from __future__ import annotations

from typing import Any

import echo

from infra.sandbox.endpoints import ENDPOINTS
from tests.in_process import InProcess

P = echo.PROJECT
NETWORK = f"projects/{P}/global/networks/net"
SUBNETWORK = f"projects/{P}/regions/us-east5/subnetworks/subnet"
ACCOUNT = f"try-tpu@{P}.iam.gserviceaccount.com"
MEMBER = {"member": f"serviceAccount:{ACCOUNT}"}
LABELS = {"owner": "ml"}
ACCOUNT_ID = "billingAccounts/0A5A4D-B0C5E0-5A4DB0"

REGION: list[tuple[str, dict[str, Any]]] = [
    ("gcp:compute/network:Network", {"name": "net", "autoCreateSubnetworks": False, "routingMode": "REGIONAL", "mtu": 8896}),
    (
        "gcp:compute/subnetwork:Subnetwork",
        {"name": "subnet", "region": "us-east5", "network": NETWORK, "ipCidrRange": "10.0.0.0/20", "privateIpGoogleAccess": True},
    ),
    ("gcp:compute/router:Router", {"name": "router", "region": "us-east5", "network": NETWORK}),
    (
        "gcp:compute/routerNat:RouterNat",
        {
            "name": "nat",
            "region": "us-east5",
            "router": "router",
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [{"name": SUBNETWORK, "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
            "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
        },
    ),
    (
        "gcp:compute/address:Address",
        {"name": "route-out", "region": "us-east5", "addressType": "EXTERNAL", "networkTier": "PREMIUM", "labels": {"owner": "ml-team"}},
    ),
    (
        "gcp:compute/firewall:Firewall",
        {
            "name": "iap-ssh",
            "network": NETWORK,
            "direction": "INGRESS",
            "sourceRanges": ["35.235.240.0/20"],
            "allows": [{"protocol": "tcp", "ports": ["22"]}],
        },
    ),
    ("gcp:serviceaccount/account:Account", {"accountId": "try-tpu", "displayName": "try tpu"}),
    (
        "gcp:storage/bucket:Bucket",
        {
            "name": f"{P}-data",
            "location": "us-east5",
            "storageClass": "STANDARD",
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
            "forceDestroy": True,
            "versioning": {"enabled": True},
            "softDeletePolicy": {"retentionDurationSeconds": 604800},
            "lifecycleRules": [
                {"action": {"type": "Delete"}, "condition": {"daysSinceNoncurrentTime": 30}},
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
            ],
            "labels": LABELS,
        },
    ),
    (
        "gcp:artifactregistry/repository:Repository",
        {
            "repositoryId": "images",
            "location": "us-east5",
            "format": "DOCKER",
            "cleanupPolicies": [
                {"id": "keep", "action": "KEEP", "mostRecentVersions": {"keepCount": 10}},
                {"id": "drop", "action": "DELETE", "condition": {"tagState": "UNTAGGED", "olderThan": "2592000s"}},
            ],
            "labels": LABELS,
        },
    ),
    ("gcp:projects/iAMMember:IAMMember", {"project": P, "role": "roles/logging.logWriter"} | MEMBER),
    ("gcp:storage/bucketIAMMember:BucketIAMMember", {"bucket": f"{P}-data", "role": "roles/storage.objectViewer"} | MEMBER),
    (
        "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
        {"location": "us-east5", "repository": "images", "role": "roles/artifactregistry.reader"} | MEMBER,
    ),
    (
        "gcp:cloudrunv2/job:Job",
        {
            "name": "nightly",
            "location": "us-east5",
            "deletionProtection": False,
            "template": {
                "template": {
                    "containers": [
                        {
                            "image": f"us-east5-docker.pkg.dev/{P}/images/runner:1",
                            "commands": ["python", "-m", "infra.operate.jobs"],
                            "args": ["run"],
                            "envs": [{"name": "ACCELFORM_JOB", "value": '{"version": 1}'}],
                            "resources": {"limits": {"cpu": "1000m", "memory": "512Mi"}},
                        }
                    ],
                    "maxRetries": 0,
                    "serviceAccount": ACCOUNT,
                    "timeout": "21600s",
                }
            },
            "labels": LABELS,
        },
    ),
    ("gcp:cloudrunv2/jobIamMember:JobIamMember", {"name": "nightly", "location": "us-east5", "role": "roles/run.invoker"} | MEMBER),
    (
        "gcp:serviceaccount/iAMMember:IAMMember",
        {"serviceAccountId": f"projects/{P}/serviceAccounts/{ACCOUNT}", "role": "roles/iam.serviceAccountUser"} | MEMBER,
    ),
    (
        "gcp:cloudscheduler/job:Job",
        {
            "name": "nightly",
            "region": "us-east5",
            "description": "Begins the job",
            "schedule": "0 2 * * *",
            "timeZone": "Asia/Taipei",
            "attemptDeadline": "180s",
            "httpTarget": {
                "httpMethod": "POST",
                "uri": f"https://run.googleapis.com/v2/projects/{P}/locations/us-east5/jobs/nightly:run",
                "headers": {"Content-Type": "application/json"},
                "body": "e30=",
                "oauthToken": {"serviceAccountEmail": ACCOUNT, "scope": "https://www.googleapis.com/auth/cloud-platform"},
            },
            "retryConfig": {"retryCount": 3},
        },
    ),
    (
        "gcp:vertex/aiEndpoint:AiEndpoint",
        {"name": "77", "location": "us-east5", "displayName": "recommend", "description": "What next", "labels": LABELS},
    ),
    (
        "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember",
        {"endpoint": "77", "location": "us-east5", "role": "roles/aiplatform.user"} | MEMBER,
    ),
    (
        "gcp:monitoring/notificationChannel:NotificationChannel",
        {"type": "email", "displayName": "ml", "labels": {"email_address": "ml@shop.example"}, "userLabels": LABELS},
    ),
    (
        "gcp:billing/budget:Budget",
        {
            "billingAccount": ACCOUNT_ID.rpartition("/")[2],
            "displayName": "monthly",
            "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "350", "nanos": 500000000}},
            "budgetFilter": {"creditTypesTreatment": "INCLUDE_ALL_CREDITS", "calendarPeriod": "MONTH", "labels": {"stack": "try"}},
            "thresholdRules": [{"thresholdPercent": 0.5}, {"thresholdPercent": 1, "spendBasis": "FORECASTED_SPEND"}],
        },
    ),
    (
        "gcp:compute/instance:Instance",
        {
            "name": "vm",
            "zone": "us-east5-a",
            "machineType": "ct6e-standard-1t",
            "bootDisk": {
                "autoDelete": True,
                "initializeParams": {
                    "image": "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e",
                    "size": 100,
                    "type": "hyperdisk-balanced",
                    "labels": LABELS,
                },
            },
            "networkInterfaces": [{"subnetwork": SUBNETWORK, "nicType": "GVNIC"}],
            "serviceAccount": {"email": ACCOUNT, "scopes": ["cloud-platform"]},
            "shieldedInstanceConfig": {"enableSecureBoot": False, "enableVtpm": True, "enableIntegrityMonitoring": True},
            "metadata": {"enable-oslogin": "TRUE"},
            "scheduling": {
                "provisioningModel": "SPOT",
                "preemptible": True,
                "onHostMaintenance": "TERMINATE",
                "automaticRestart": False,
                "instanceTerminationAction": "DELETE",
                "maxRunDuration": {"seconds": 3600},
            },
            "reservationAffinity": {"type": "NO_RESERVATION"},
            "labels": LABELS,
        },
    ),
    (
        "gcp:tpu/v2Vm:V2Vm",
        {
            "name": "node",
            "zone": "us-east5-a",
            "acceleratorType": "v6e-1",
            "runtimeVersion": "v2-alpha-tpuv6e",
            "networkConfig": {"subnetwork": SUBNETWORK, "enableExternalIps": False},
            "schedulingConfig": {"preemptible": False, "spot": True, "reserved": False},
            "serviceAccount": {"email": ACCOUNT, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]},
            "shieldedInstanceConfig": {"enableSecureBoot": False},
            "metadata": {"enable-oslogin": "TRUE"},
            "labels": LABELS,
        },
    ),
]
"""What a region with both kinds of machine declares."""


class Region(InProcess):
    """A sandbox with one project."""

    def __init__(self) -> None:
        super().__init__(P)

    def driver(self, **config: Any) -> echo.Driver:
        """A provider before it."""
        return echo.Driver(self, **{f"{name}CustomEndpoint": f"{echo.BASE}/{path}" for name, path in ENDPOINTS.items()}, **config)

    def bring_up(self, until: str) -> dict[str, Any]:
        """Makes what stands before the first of a type in the region. Answers that one's checked inputs."""
        driver = self.driver()
        for token, declared in REGION:
            inputs = driver.checked(token, declared)
            if token == until:
                return inputs
            driver.create(token, inputs)
        raise AssertionError(until)
