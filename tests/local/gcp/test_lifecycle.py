"""What becomes of resources: made, found, changed, gone, and half made."""

from __future__ import annotations

from typing import Any

import echo
import httpx
import pytest
import region
from pulumi.runtime.proto import provider_pb2

from infra.provider.values import Decoded, encode
from infra.sandbox.faults import Fault

NETWORK = "gcp:compute/network:Network"
INSTANCE = "gcp:compute/instance:Instance"
NODE = "gcp:tpu/v2Vm:V2Vm"
BUCKET = "gcp:storage/bucket:Bucket"
ENDPOINT = "gcp:vertex/aiEndpoint:AiEndpoint"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
NETWORKS = f"compute/v1/projects/{echo.PROJECT}/global/networks"
NODES = f"v2/projects/{echo.PROJECT}/locations/us-east5-a/nodes"

A_NODE = {"name": "n", "zone": "us-east5-a", "runtimeVersion": "r"}
AN_INSTANCE = {
    "name": "vm",
    "zone": "us-east5-a",
    "machineType": "ct6e-standard-1t",
    "bootDisk": {"initializeParams": {"image": "projects/images/global/images/family/tpu", "size": 100}},
    "networkInterfaces": [{"subnetwork": "projects/p/regions/us-east5/subnetworks/s"}],
}


def refused(status: int, message: str, reason: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": status, "message": message, "errors": [{"reason": reason}]}})


def test_fails_with_googles_words() -> None:
    """A refused create says what Google said."""
    cloud = echo.Echo()
    cloud.before = lambda call: refused(409, "The resource 'n' already exists", "alreadyExists")
    with pytest.raises(
        echo.AbortedError, match=r"^Error creating Network: googleapi: Error 409: The resource 'n' already exists, alreadyExists$"
    ):
        echo.Driver(cloud).create(NETWORK, {"name": "n"})


def test_an_endpoints_private_service_connect_is_sent_by_googles_name_and_read_by_the_providers() -> None:
    """Google has one `projectAllowlist`, the SDK many `projectAllowlists`: what was written is what is read."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    config = {"enablePrivateServiceConnect": True, "projectAllowlists": ["shop-app", "shop-web"]}
    inputs = driver.checked(ENDPOINT, {"name": "77", "location": "us-east5", "displayName": "e", "privateServiceConnectConfig": config})
    made = driver.create(ENDPOINT, inputs)
    sent = next(call.body for call in cloud.calls if call.method == "POST")
    assert sent["privateServiceConnectConfig"] == {"enablePrivateServiceConnect": True, "projectAllowlist": ["shop-app", "shop-web"]}
    state = Decoded(made.properties).values
    assert state["privateServiceConnectConfig"].items() >= config.items()
    assert Decoded(driver.read(ENDPOINT, made.id, state, inputs).inputs).values == inputs
    off = inputs | {"privateServiceConnectConfig": config | {"enablePrivateServiceConnect": False}}
    assert list(driver.diff(ENDPOINT, inputs, off, state).replaces)


def test_fails_without_repeating_secrets() -> None:
    """Google's refusals hold what was sent; what is secret of it is not told, at a create or at an update."""
    cloud = echo.Echo()
    cloud.before = lambda call: (
        refused(400, "Invalid value 'hunter2' for 'metadata', not 'none'", "invalid") if call.method != "GET" else None
    )
    driver = echo.Driver(cloud)
    inputs = A_NODE | {"metadata": {"key": "hunter2"}, "description": "no"}
    told = r"googleapi: Error 400: Invalid value '\[secret\]' for 'metadata', not 'none', invalid$"
    with pytest.raises(echo.AbortedError, match=rf"^Error creating V2Vm: {told}"):
        driver.create(NODE, encode(inputs, {("metadata",), ("description",)}))
    request = provider_pb2.UpdateRequest(
        id=f"projects/p/locations/us-east5-a/nodes/{A_NODE['name']}",
        urn=driver.urn(NODE),
        olds=encode(A_NODE),
        old_inputs=encode(A_NODE),
        news=encode(inputs, {("metadata", "key")}),
    )
    with pytest.raises(echo.AbortedError, match=rf"^Error updating V2Vm .*: {told}"):
        driver.provider.Update(request, echo.Context())


def failing(cloud: echo.Echo, *, made: bool) -> None:
    """Has a node's create begin an operation that fails, with the node left there or not."""
    operation = {"name": f"{NODES.removeprefix('v2/')}/operations/1", "done": True, "error": {"code": 8, "message": "no capacity"}}

    def answer(call: echo.Call) -> httpx.Response | None:
        if call.method != "POST":
            return None
        if made:
            cloud.kept[f"{NODES}/n"] = call.body | {"state": "CREATING"}
        return httpx.Response(200, json=operation)

    cloud.before = answer


def test_what_exists_after_a_failed_create_is_kept() -> None:
    """The engine is told its id and its state, so that the next run can take it away."""
    cloud = echo.Echo()
    failing(cloud, made=True)
    with pytest.raises(echo.AbortedError, match="Error waiting for V2Vm to create: 8: no capacity") as error:
        echo.Driver(cloud).create(NODE, A_NODE)
    detail = error.value.detail
    assert detail.id == f"projects/{echo.PROJECT}/locations/us-east5-a/nodes/n"
    assert Decoded(detail.properties).values["state"] == "CREATING"
    assert Decoded(detail.inputs).values == A_NODE


def test_what_does_not_exist_after_a_failed_create_is_not_kept() -> None:
    """Without a thing there is no state, and the next run creates again."""
    cloud = echo.Echo()
    failing(cloud, made=False)
    with pytest.raises(echo.AbortedError, match="no capacity") as error:
        echo.Driver(cloud).create(NODE, A_NODE)
    assert error.value.detail is None


def test_what_was_begun_before_a_cancel_is_kept() -> None:
    """^C while Google makes the thing loses nothing: its id is in the state."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)

    def answer(call: echo.Call) -> httpx.Response:
        driver.provider.cancelled.set()
        return httpx.Response(200, json={"name": "projects/p/operations/1", "metadata": {}})

    cloud.before = answer
    with pytest.raises(echo.AbortedError, match="cancelled") as error:
        driver.create(NODE, A_NODE)
    assert error.value.detail.id == f"projects/{echo.PROJECT}/locations/us-east5-a/nodes/n"
    assert len(cloud.calls) == 1


def test_what_is_gone_is_gone() -> None:
    """A read of what is not there has no id; to delete it is well."""
    driver = echo.Driver(echo.Echo(statuses={("DELETE", f"{NETWORKS}/n"): 404}))
    assert driver.read(NETWORK, f"projects/{echo.PROJECT}/global/networks/n").id == ""
    driver.delete(NETWORK, f"projects/{echo.PROJECT}/global/networks/n", {"name": "n"})


def test_fails_to_delete_with_googles_words() -> None:
    """Any other refusal of a delete is told."""
    cloud = echo.Echo()
    cloud.before = lambda call: refused(400, "The network resource 'n' is already being used", "resourceInUseByAnotherResource")
    with pytest.raises(echo.AbortedError, match="already being used, resourceInUseByAnotherResource"):
        echo.Driver(cloud).delete(NETWORK, f"projects/{echo.PROJECT}/global/networks/n", {})


@pytest.mark.parametrize(("policy", "calls"), [("DELETE", 1), ("ABANDON", 0)])
def test_deletion_policy(policy: str, calls: int) -> None:
    """What is abandoned stays at Google."""
    cloud = echo.Echo()
    echo.Driver(cloud).delete(NETWORK, f"projects/{echo.PROJECT}/global/networks/n", {"deletionPolicy": policy})
    assert len(cloud.calls) == calls


def test_fails_to_delete_what_is_kept_by_its_policy() -> None:
    """PREVENT forbids a delete."""
    with pytest.raises(echo.AbortedError, match="deletionPolicy is PREVENT"):
        echo.Driver(echo.Echo()).delete(NETWORK, f"projects/{echo.PROJECT}/global/networks/n", {"deletionPolicy": "PREVENT"})


@pytest.mark.parametrize(
    "id",
    [
        "projects/host/regions/us-east5/subnetworks/s",
        "https://www.googleapis.com/compute/v1/projects/host/regions/us-east5/subnetworks/s",
        "host/us-east5/s",
        "us-east5/s",
        "s",
    ],
)
def test_is_imported_by_every_form_of_its_id(id: str) -> None:
    """What an id leaves out, the provider's configuration says."""
    cloud = echo.Echo()
    path = "projects/host/regions/us-east5/subnetworks/s"
    cloud.kept[f"compute/v1/{path}"] = {
        "name": "s",
        "ipCidrRange": "10.0.0.0/20",
        "privateIpGoogleAccess": True,
        "region": "https://www.googleapis.com/compute/v1/projects/host/regions/us-east5",
        "logConfig": {"enable": False},
    }
    found = echo.Driver(cloud, project="host", region="us-east5").read(SUBNETWORK, id)
    assert found.id == path
    inputs = Decoded(found.inputs).values
    assert inputs == {"ipCidrRange": "10.0.0.0/20", "name": "s", "privateIpGoogleAccess": True, "project": "host", "region": "us-east5"}


def test_fails_on_an_id_of_another_form() -> None:
    """An id that is none is refused with the forms that are taken."""
    with pytest.raises(echo.AbortedError, match=r"allowed: projects/\{project\}/regions/\{region\}/subnetworks/\{name\}"):
        echo.Driver(echo.Echo()).read(SUBNETWORK, "a/b/c/d/e")


def test_fails_without_a_project() -> None:
    """A place that nobody says is asked for."""
    with pytest.raises(echo.AbortedError, match=r"project: is missing, and the provider has no default for it(?s:.)*gcp:project"):
        echo.Driver(echo.Echo(), project="").create(NETWORK, {"name": "n"})


def test_a_refresh_finds_what_somebody_changed() -> None:
    """Drift is in the inputs, so that the next run mends it; what only looks different is not."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    made = driver.create(NODE, A_NODE | {"description": "ours", "labels": {"a": "b"}})
    cloud.kept[f"{NODES}/n"] |= {"description": "theirs", "labels": {"a": "c", "other": "x"}}
    found = driver.read(NODE, made.id, Decoded(made.properties).values, A_NODE | {"description": "ours", "labels": {"a": "b"}})
    assert Decoded(found.inputs).values == A_NODE | {"description": "theirs", "labels": {"a": "c"}}
    assert Decoded(found.properties).values["effectiveLabels"] == {"a": "c", "other": "x"}


def test_a_refresh_takes_other_words_for_the_same() -> None:
    """Capitals of a place, a full link, and nothing for what holds nothing are no drift; capitals elsewhere are."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    inputs = driver.checked(BUCKET, {"name": "b", "location": "us-east5", "versioning": {"enabled": False}, "storageClass": "STANDARD"})
    state = Decoded(driver.create(BUCKET, inputs).properties).values
    cloud.kept["storage/v1/b/b"]["location"] = "US-EAST5"
    del cloud.kept["storage/v1/b/b"]["versioning"]
    assert Decoded(driver.read(BUCKET, "b", state, inputs).inputs).values == inputs
    cloud.kept["storage/v1/b/b"]["storageClass"] = "standard"
    assert Decoded(driver.read(BUCKET, "b", state, inputs).inputs).values == inputs | {"storageClass": "standard"}


def test_secrets_stay_secret() -> None:
    """What was secret in the inputs is so in the outputs, and so is what the schema calls secret."""
    driver = echo.Driver(echo.Echo())
    checked = driver.check(NODE, A_NODE | {"labels": {"a": "b"}, "metadata": {"key": "s3"}}, {("metadata", "key"), ("labels",)})
    state = Decoded(driver.create(NODE, checked.inputs).properties)
    assert {("metadata", "key"), ("labels",), ("pulumiLabels",), ("effectiveLabels",)} == state.secrets
    channel = driver.create(
        "gcp:monitoring/notificationChannel:NotificationChannel", {"type": "slack", "sensitiveLabels": {"authToken": "s3"}}, preview=True
    )
    assert Decoded(channel.properties).secrets == {("sensitiveLabels", "authToken")}


def test_sensitive_labels_of_a_channel_reach_google_only() -> None:
    """They are sent among the labels, are secret in the state, and a change of one is sent."""
    cloud = echo.Echo()
    cloud.named = f"projects/{echo.PROJECT}/notificationChannels/1"
    driver = echo.Driver(cloud)
    token = "gcp:monitoring/notificationChannel:NotificationChannel"
    old = driver.checked(token, {"type": "slack", "labels": {"channel_name": "#ml"}, "sensitiveLabels": {"authToken": "s3"}})
    made = driver.create(token, old)
    assert cloud.calls[0].body["labels"] == {"channel_name": "#ml", "auth_token": "s3"}
    assert "sensitiveLabels" not in cloud.calls[0].body
    state = Decoded(made.properties)
    assert state.values["labels"] == {"channel_name": "#ml"}
    assert state.secrets == {("sensitiveLabels", "authToken")}
    cloud.taken()
    driver.update(token, made.id, state.values, old, old | {"sensitiveLabels": {"authToken": "s4"}})
    assert cloud.calls[0].body["labels"] == {"channel_name": "#ml", "auth_token": "s4"}


def made(cloud: echo.Echo, driver: echo.Driver, **more: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    inputs = driver.checked(INSTANCE, AN_INSTANCE | more)
    answer = driver.create(INSTANCE, inputs)
    cloud.kept[f"compute/v1/projects/{echo.PROJECT}/zones/us-east5-a/instances/vm"] |= {"status": "RUNNING"}
    cloud.taken()
    return answer.id, Decoded(answer.properties).values, inputs


def test_an_instance_changes_by_a_call_for_each_concern() -> None:
    """Labels, metadata and tags change while it runs."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    id, state, old = made(cloud, driver)
    new = driver.checked(INSTANCE, AN_INSTANCE | {"metadata": {"a": "b"}, "tags": ["t"], "deletionProtection": True})
    driver.update(INSTANCE, id, state, old, new)
    posts = [(call.path.rpartition("/")[2], call.query, call.body) for call in cloud.calls if call.method == "POST"]
    assert posts == [
        ("setMetadata", {}, {"items": [{"key": "a", "value": "b"}], "fingerprint": ""}),
        ("setTags", {}, {"items": ["t"], "fingerprint": ""}),
        ("setDeletionProtection", {"deletionProtection": "true"}, None),
    ]


def test_an_instance_is_stopped_for_what_needs_it() -> None:
    """Only if the program allows it."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    id, state, old = made(cloud, driver)
    bigger = AN_INSTANCE | {"machineType": "ct6e-standard-4t"}
    with pytest.raises(
        echo.AbortedError, match=r"Changing machineType on a started instance requires stopping it(?s:.)*allowStoppingForUpdate"
    ):
        driver.update(INSTANCE, id, state, old, driver.checked(INSTANCE, bigger))
    cloud.taken()
    driver.update(INSTANCE, id, state, old, driver.checked(INSTANCE, bigger | {"allowStoppingForUpdate": True}))
    posts = [(call.path.rpartition("/")[2], call.body) for call in cloud.calls if call.method == "POST"]
    link = f"projects/{echo.PROJECT}/zones/us-east5-a/machineTypes/ct6e-standard-4t"
    assert posts == [("stop", None), ("setMachineType", {"machineType": link}), ("start", None)]


def test_an_image_family_is_not_drift() -> None:
    """Google answers with the family's image of the day."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    id, state, inputs = made(cloud, driver)
    cloud.kept[f"compute/v1/projects/{echo.PROJECT}/zones/us-east5-a/disks/vm"]["sourceImage"] = (
        "projects/images/global/images/tpu-v20261101"
    )
    assert Decoded(driver.read(INSTANCE, id, state, inputs).inputs).values == inputs


def test_an_update_of_what_is_gone_says_so() -> None:
    """An update does not make anew what somebody took away."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    id, state, old = made(cloud, driver)
    cloud.kept.clear()
    with pytest.raises(echo.AbortedError, match="is gone: `pulumi refresh`"):
        driver.update(INSTANCE, id, state, old, old | {"labels": {"a": "b"}})


def test_a_bucket_with_something_in_it_stays() -> None:
    """Unless the program says otherwise; then every version is deleted first."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    cloud.kept["storage/v1/b/b/o"] = {"items": [{"name": "x/y", "generation": "7"}]}
    with pytest.raises(echo.AbortedError, match="containing objects without `force_destroy`"):
        driver.delete(BUCKET, "b", {"forceDestroy": False})
    cloud.taken()

    def empties(call: echo.Call) -> None:
        if call.method == "DELETE":
            cloud.kept.pop("storage/v1/b/b/o", None)

    cloud.before = empties
    driver.delete(BUCKET, "b", {"forceDestroy": True})
    deleted = [(call.path, call.query) for call in cloud.calls if call.method == "DELETE"]
    assert deleted == [("storage/v1/b/b/o/x/y", {"generation": "7"}), ("storage/v1/b/b", {})]


def test_a_label_that_is_left_out_is_removed() -> None:
    """A bucket's patch must say null for it."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    old = driver.checked(BUCKET, {"name": "b", "location": "us", "labels": {"a": "1", "b": "2"}})
    state = Decoded(driver.create(BUCKET, old).properties).values
    cloud.taken()
    driver.update(BUCKET, "b", state, old, driver.checked(BUCKET, {"name": "b", "location": "us", "labels": {"a": "1"}}))
    assert cloud.calls[0].body == {"labels": {"a": "1", "b": None}}


def test_a_nat_leaves_its_neighbours_alone() -> None:
    """The router's list is changed in one place, and a second one of the name is refused."""
    cloud = echo.Echo()
    driver = echo.Driver(cloud)
    router = f"compute/v1/projects/{echo.PROJECT}/regions/us-east5/routers/r"
    cloud.kept[router] = {"nats": [{"name": "other"}]}
    token = "gcp:compute/routerNat:RouterNat"
    inputs = driver.checked(
        token, {"name": "n", "router": "r", "region": "us-east5", "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"}
    )
    answer = driver.create(token, inputs)
    assert [nat["name"] for nat in cloud.kept[router]["nats"]] == ["other", "n"]
    with pytest.raises(echo.AbortedError, match="has a NAT n already"):
        driver.create(token, inputs)
    driver.delete(token, answer.id, Decoded(answer.properties).values)
    assert cloud.kept[router]["nats"] == [{"name": "other"}]
    assert driver.read(token, answer.id, Decoded(answer.properties).values).id == ""


def test_a_machine_without_capacity_leaves_nothing_that_costs() -> None:
    """
    Its boot disk comes with it, and it has no address: after a stock-out there is no disk and no address to pay or to block a destroy
    (bacalhau-project/bacalhau issue 919), and the next run makes it.
    """
    here = region.Region()
    driver = here.driver()
    subnet = {"name": "subnet", "region": "us-east5", "network": region.NETWORK, "ipCidrRange": "10.0.0.0/20"}
    for token, inputs in ((NETWORK, {"name": "net", "autoCreateSubnetworks": False}), (SUBNETWORK, subnet)):
        driver.create(token, driver.checked(token, inputs))
    image = "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e"
    wanted = {"bootDisk": {"initializeParams": {"image": image, "size": 100}}, "networkInterfaces": [{"subnetwork": region.SUBNETWORK}]}
    inputs = driver.checked(INSTANCE, AN_INSTANCE | wanted)
    here.cloud.faults.add(Fault(do="stockout"))
    with pytest.raises(echo.AbortedError, match="enough resources") as error:
        driver.create(INSTANCE, inputs)
    assert error.value.detail is None
    words = {one["name"].split("/")[-2] for one in here.cloud.resources() if not one["own"]}
    assert not words & {"instances", "disks", "addresses"}
    here.cloud.faults.clear()
    assert driver.create(INSTANCE, inputs).id
    here.cloud.store.close()
