"""The provider against the sandbox itself, without a process between them: what a region declares comes, stays and goes."""

from __future__ import annotations

import threading
from concurrent import futures
from typing import Any

import echo
import httpx
import pytest
from pulumi.runtime.proto import provider_pb2

from infra.local.gcp.values import Decoded, encode
from infra.sandbox.cloud import Cloud, Request
from infra.sandbox.endpoints import ENDPOINTS
from infra.sandbox.faults import Fault, LostError

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


@pytest.fixture
def cloud() -> Cloud:
    """A sandbox with one project."""
    cloud = Cloud()
    cloud.projects.make(P)
    return cloud


@pytest.fixture
def drivers(cloud: Cloud) -> list[echo.Driver]:
    """Two providers before the sandbox, which answers one call at a time."""
    alone = threading.Lock()

    def handle(request: httpx.Request) -> httpx.Response:
        host, _, path = request.url.raw_path.decode().partition("?")[0].lstrip("/").partition("/")
        try:
            with alone:
                answer = cloud.handle(Request(request.method, host, f"/{path}", dict(request.url.params), request.content))
        except LostError:
            raise httpx.ReadError("cut") from None
        return httpx.Response(answer.status, json=answer.body)

    at = {f"{name}CustomEndpoint": f"{echo.BASE}/{path}" for name, path in ENDPOINTS.items()}
    return [echo.Driver(handle, **at) for _ in range(2)]


@pytest.fixture
def driver(drivers: list[echo.Driver]) -> echo.Driver:
    """The provider before the sandbox."""
    return drivers[0]


def test_a_region_comes_stays_and_goes(driver: echo.Driver) -> None:
    """No refresh finds drift, an import finds what was written, and nothing is left in the end."""
    made = []
    for token, declared in REGION:
        inputs = driver.checked(token, declared)
        answer = driver.create(token, inputs)
        made.append((token, answer.id, Decoded(answer.properties).values))
        read = driver.read(token, answer.id, Decoded(answer.properties).values, inputs)
        assert (token, Decoded(read.inputs).values) == (token, inputs)
        imported = driver.read(token, answer.id)
        request = provider_pb2.DiffRequest(urn=driver.urn(token), olds=imported.properties, old_inputs=imported.inputs, news=encode(inputs))
        found = driver.provider.Diff(request, echo.Context())
        assert (token, set(found.diffs) - {"forceDestroy"}) == (token, set())  # which Google does not know
    for token, id, state in reversed(made):
        driver.delete(token, id, state)
        assert (token, driver.read(token, id, state).id) == (token, "")


def test_waits_are_short(driver: echo.Driver) -> None:
    """The sandbox moves its own clock when it is asked: nobody waits for the hours that it plays."""
    driver.create("gcp:compute/network:Network", {"name": "net"})
    assert sum(driver.waits) < 1


@pytest.mark.parametrize("of", ["gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:projects/iAMMember:IAMMember"])
def test_two_providers_write_one_policy(of: str, drivers: list[echo.Driver]) -> None:
    """As when two stacks come up at once: no member is lost, and none of the other's is taken away."""
    bucket = dict(REGION)["gcp:storage/bucket:Bucket"]
    drivers[0].create("gcp:storage/bucket:Bucket", drivers[0].checked("gcp:storage/bucket:Bucket", bucket))
    grants = [dict(REGION)[of] | {"member": f"user:{number}@shop.example"} for number in range(24)]
    with futures.ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda number: drivers[number % 2].create(of, grants[number]).id, range(24)))
        assert [drivers[0].read(of, id, grant).id for id, grant in zip(ids, grants, strict=True)] == ids
        list(pool.map(lambda number: drivers[number % 2].delete(of, ids[number], grants[number]), range(0, 24, 2)))
    assert [drivers[0].read(of, id, grant).id for id, grant in zip(ids, grants, strict=True)] == [
        id if number % 2 else "" for number, id in enumerate(ids)
    ]


def bring_up(driver: echo.Driver, until: str) -> dict[str, Any]:
    """Makes what stands before the first of a type in the region; that one's checked inputs."""
    for token, declared in REGION:
        inputs = driver.checked(token, declared)
        if token == until:
            return inputs
        driver.create(token, inputs)
    raise AssertionError(until)


MADE = [
    token for token, _ in REGION if "IAMMember" not in token and "IamMember" not in token and token != "gcp:compute/routerNat:RouterNat"
]


@pytest.mark.parametrize("token", MADE)
def test_a_create_whose_answer_is_lost_is_not_lost(token: str, cloud: Cloud, driver: echo.Driver) -> None:
    """The state keeps what was made; the next run finds it as it should be, and makes no second one."""
    inputs = bring_up(driver, token)
    cloud.faults.add(Fault(do="lost", at=1, method="POST"))
    with pytest.raises(echo.AbortedError, match="it was made all the same") as error:
        driver.create(token, inputs)
    kept = error.value.detail
    assert Decoded(kept.inputs).values == inputs
    updated = driver.update(token, kept.id, Decoded(kept.properties).values, inputs, inputs)
    read = driver.read(token, kept.id, Decoded(updated.properties).values, inputs)
    assert Decoded(read.inputs).values == inputs
    assert Decoded(read.properties).values == Decoded(updated.properties).values


@pytest.mark.parametrize("token", MADE)
@pytest.mark.parametrize("fault", [Fault(do="drop", at=1, method="POST"), Fault(do="error", at=1, method="POST")])
def test_a_create_that_did_not_arrive_is_sent_again(token: str, fault: Fault, cloud: Cloud, driver: echo.Driver) -> None:
    """After a cut connection, or a 503, the thing is looked for, and made when it is not there."""
    inputs = bring_up(driver, token)
    cloud.faults.add(fault)
    made = driver.create(token, inputs)
    assert Decoded(driver.read(token, made.id, Decoded(made.properties).values, inputs).inputs).values == inputs
    assert cloud.faults.shown()[0]["done"] == 1


def test_what_was_there_before_is_not_taken_for_ours(cloud: Cloud, driver: echo.Driver) -> None:
    """A lost answer, and a network of that name with another MTU: it stays somebody else's."""
    token, declared = REGION[0]
    driver.create(token, driver.checked(token, declared | {"mtu": 1500}))
    cloud.faults.add(Fault(do="drop", at=1, method="POST"))
    with pytest.raises(echo.AbortedError, match=r"^Error creating Network: googleapi: Error 409: .*already exists") as error:
        driver.create(token, driver.checked(token, declared))
    assert error.value.detail is None
