"""Errors of Google's APIs and of the engine, as they are told to people. The texts are those that people reported, shortened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.translated import told, translated
from infra.translations import KNOWN

CASES = Path(__file__).parents[2] / "shared" / "cases" / "cases.jsonl"

QUOTA_PROJECT = (
    "Error creating Budget: googleapi: Error 403: Your application is authenticating by using local Application Default Credentials. The "
    "billingbudgets.googleapis.com API requires a quota project, which is not set by default. To learn how to set your quota project, see "
    "https://cloud.google.com/docs/authentication/adc-troubleshooting/user-creds .\nDetails:\n"
    '[ { "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED" } ]'
)
OLD_QUOTA_PROJECT = (
    "Error creating Budget: googleapi: Error 403: Your application has authenticated using end user credentials from the Google Cloud SDK "
    "or Google Cloud Shell which are not supported by the billingbudgets.googleapis.com. We recommend configuring the billing/quota_project"
)
BARE_400 = "1 error occurred:\n\t* Error creating Budget: googleapi: Error 400: Request contains an invalid argument.\n\n"
API_OFF = (
    "Error when reading or editing BillingBudget: googleapi: Error 403: Cloud Billing Budget API has not been used in project 618104708054 "
    "before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/billingbudgets.googleapis.com/overview?"
    'project=618104708054 then retry.\nDetails:\n[ { "reason": "SERVICE_DISABLED", "metadata": { "consumer": "projects/618104708054", '
    '"service": "billingbudgets.googleapis.com" } } ]'
)
LOCK = (
    "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with "
    "`pulumi cancel`.\n  gs://shop-state/.pulumi/locks/organization/accelform/us-east5/22d8693a-7bae-4563-bc98-27045e703b9f.json: created "
    "by root@6d33034d-39d7 (pid 285) at 2026-11-30T10:00:00Z"
)
STOCKOUT = (
    "Error waiting for instance to create: The zone 'projects/shop/zones/us-central1-a' does not have enough resources available to fulfill "
    "the request. Try a different zone, or try again later."
)
MACHINE_OUT = (
    "ZONE_RESOURCE_POOL_EXHAUSTED: A g2-standard-4 VM instance is currently unavailable in the europe-west4-a zone. Alternatively, you can "
    "try your request again with a different VM hardware configuration or at a later time."
)
TPU_OUT = (
    'Error code 8, message: There is no more capacity in the zone "us-central1-c"; you can try in another zone where Cloud TPU Nodes are '
    "offered (see https://cloud.google.com/tpu/docs/regions) [EID: 0x9f48947a7d57c8d]"
)
ORG = (
    "googleapi: Error 412: Constraint constraints/compute.requireShieldedVm violated for project projects/shop. The boot disk's "
    "'initialize_params.source_image' field specifies a non-Shielded image., conditionNotMet"
)

TEXTS: list[tuple[str, str, str]] = [
    ("quota-project", QUOTA_PROJECT, "set-quota-project"),
    ("quota-project", OLD_QUOTA_PROJECT, "billingbudgets.googleapis.com answers only where one is charged"),
    ("budget", BARE_400, "a currency that is not the account's"),
    (
        "budget-topic",
        "Error creating Budget: googleapi: Error 403: pubsub.topics.setIamPolicy denied on projects/p/topics/t",
        "pubsub.admin",
    ),
    ("api-off", API_OFF, "gcloud services enable billingbudgets.googleapis.com --project=618104708054"),
    ("wrong-project", "googleapi: Error 403: Project 'My First Project' not found or deleted.: CONSUMER_INVALID", "My First Project"),
    ("wrong-project", "googleapi: Error 403: Permission denied on resource project shop-2., forbidden", "project shop-2 is not there"),
    (
        "quota",
        "Error: Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 1.0 in region us-central1.",
        "NVIDIA_L4_GPUS is used up: limit 1.0, in us-central1",
    ),
    ("quota", "Quota 'GPUS_ALL_REGIONS' exceeded. Limit: 0.0 globally.", "limit 0.0, in all regions together"),
    (
        "quota",
        "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 in region us-east5.",
        "TPUV6EPreemptiblePerProjectPerRegionForTPUAPI is used up: limit 0, in us-east5",
    ),
    (
        "quota",
        "429 The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_tpu_v2",
        "aiplatform.googleapis.com/custom_model_training_tpu_v2",
    ),
    (
        "quota",
        "Insufficient project quota to satisfy request: resource \"CPUS_ALL_REGIONS\": request requires '16.0' and is short '4.0'.",
        "CPUS_ALL_REGIONS",
    ),
    (
        "too-fast",
        "Error 429: Quota exceeded for quota metric 'Mutate requests' and limit 'Mutate requests per minute' of service 'serviceusage'",
        "wait a minute",
    ),
    ("stockout", STOCKOUT, "us-central1-a has no capacity"),
    ("stockout", MACHINE_OUT, "zones with g2-standard-4, by the catalogue: europe-west4-"),
    ("stockout", TPU_OUT, "us-central1-c has no capacity"),
    ("stockout", "Resources are insufficient in region: us-central1. Please try a different region.", "us-central1 has no capacity"),
    (
        "reserved-words",
        "code 8: Insufficient reserved capacity. Contact customer support to increase your reservation. [EID: 0x7adf6d58c08b0aa4]",
        "none was asked for",
    ),
    (
        "not-sold-there",
        "Cloud TPU received a bad request. the accelerator v4-128 was not found in zone us-east5-b [EID: 0x9]",
        "zones with v4-128",
    ),
    ("no-reservation", "Specified reservations [r1] do not exist., invalid", "no reservation r1"),
    ("org-policy", ORG, "secure boot"),
    ("org-policy", "denied by org policy: constraints/gcp.resourceLocations for 'us-east5'", "take a region that is allowed"),
    (
        "org-policy",
        "googleapi: Error 412: Constraint constraints/compute.vmExternalIpAccess violated for project 346696193484. Add instance",
        "compute.vmExternalIpAccess forbids an external address",
    ),
    ("login-expired", 'oauth2: "invalid_grant" "Token has been expired or revoked."', "gcloud auth application-default login"),
    (
        "no-login",
        "google: could not find default credentials. See https://cloud.google.com/docs/authentication",
        "application-default login",
    ),
    ("scopes", "Error 403: Request had insufficient authentication scopes.", "login"),
    (
        "charged-project",
        "Caller does not have required permission to use project shop-2. Grant the caller the roles/serviceusage.serviceUsageConsumer role",
        "charge quota to shop-2",
    ),
    (
        "vpc-sc",
        "googleapi: Error 403: Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: -ZWUwU96cNc6",
        "vpcServiceControlsUniqueId=-ZWUwU96cNc6",
    ),
    (
        "billing-off",
        "Error 403: This API method requires billing to be enabled. Please enable billing on project #618104708054",
        "link 618104708054",
    ),
    (
        "agent-not-there",
        "400 FAILED_PRECONDITION: Service agents are being provisioned (https://cloud.google.com/vertex-ai/docs). Please try again in a few minutes.",
        "wait some minutes",
    ),
    (
        "agent-not-there",
        "Error 400: Service account service-12@gcp-sa-pubsub.iam.gserviceaccount.com does not exist., badRequest",
        "identity create",
    ),
    ("account-not-there", "Error 400: Service account tpu@shop.iam.gserviceaccount.com does not exist., badRequest", "in a minute"),
    ("act-as", "Error 403: Permission 'iam.serviceAccounts.actAs' denied on service account x@p.iam", "serviceAccountUser"),
    (
        "permission",
        "Error 403: Permission 'tpu.nodes.create' denied on resource '//tpu.googleapis.com/projects/p'",
        "you lack tpu.nodes.create on //tpu",
    ),
    (
        "permission",
        "Error 403: Required 'compute.networks.create' permission for 'projects/shop/global/networks/n', forbidden",
        "you lack compute.networks.create on projects/shop/global/networks/n",
    ),
    (
        "permission",
        "a@b.c does not have storage.buckets.get access to the Google Cloud Storage bucket.",
        "you lack storage.buckets.get",
    ),
    ("exists", "googleapi: Error 409: The resource 'projects/p/global/networks/n' already exists, alreadyExists", "pulumi import"),
    ("exists", "Error 409: Your previous request to create the named bucket succeeded and you already own it., conflict", "killed run"),
    (
        "bucket-name",
        "Error 409: The requested bucket name is not available. The bucket namespace is shared by all users",
        "somebody else's",
    ),
    (
        "name-reserved",
        "Error 400: You can't create a role with role_id (x) where there is an existing role with that role_id in a deleted state.",
        "keeps the name",
    ),
    (
        "policy-changed",
        "Error 409: There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff., aborted",
        "run the same again",
    ),
    ("deletion-protection", "Cannot destroy cluster because deletion_protection is set to true. Set it to false", "environment: dev"),
    (
        "in-use",
        "googleapi: Error 400: The subnetwork resource 'projects/p/regions/r/subnetworks/s' is already being used by "
        "'projects/p/zones/z/instances/i', resourceInUseByAnotherResource",
        "projects/p/regions/r/subnetworks/s is still used by projects/p/zones/z/instances/i",
    ),
    (
        "referenced",
        'googleapi: Error 400: Could not delete "projects/p/notificationChannels/1" because it is still being referenced by: '
        '"projects/p/alertPolicies/78910"',
        "alert policy",
    ),
    ("referenced", "googleapi: Error 400: Cannot delete metric m. That metric is still used in an alerting policy.", "alert policy"),
    ("not-empty", "googleapi: Error 409: The bucket you tried to delete is not empty., conflict", "empty it"),
    ("models-deployed", "HTTP 400 Endpoint has deployed or being-deployed DeployedModel(s)", "undeploy"),
    ("traffic-split", "The following DeployedModel ID(s) [0] do not exist.", "100 in all"),
    ("traffic-split", "Undeploying deployed model 'm1' from endpoint would leave the remaining traffic split at 65%.", "100 in all"),
    ("request-in-use", "Queued resource q has active nodes; use force to delete", "--force"),
    (
        "gone",
        "Error updating Instance: googleapi: Error 404: The resource 'projects/p/zones/z/instances/i' was not found, notFound",
        "another account",
    ),
    ("forbidden", "googleapi: Error 403: The caller does not have permission, PERMISSION_DENIED", "doctor --cloud"),
    ("passing", "googleapi: Error 503: The service is currently unavailable.", "run the same again"),
    ("precondition", "googleapi: Error 412: Precondition Failed, conditionNotMet", "run the same again"),
    ("locked", LOCK, "stack us-east5 is locked by root at 6d33034d-39d7 since 2026-11-30 10:00:00 UTC ("),
    ("busy", "error: [409] Conflict: Another update is currently in progress.", "gitops init github"),
    (
        "pending",
        "warning: Attempting to deploy or update resources with 2 pending operations from previous deployment.",
        "of 2 resources nobody knows",
    ),
    (
        "passphrase",
        "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables",
        "secretsprovider",
    ),
    ("passphrase", "error: getting secrets manager: incorrect passphrase", "the stack was made with"),
    ("not-logged-in", "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions", "pulumi login gs://BUCKET"),
    ("no-stack", "error: no stack named 'shop' found", "pulumi stack init shop"),
    (
        "no-plugin",
        "no resource plugin 'pulumi-resource-gcp' found in the workspace at version v10.2.0 or on your $PATH, install the plugin using",
        "pulumi plugin install resource gcp 10.2.0",
    ),
    (
        "protected",
        'Preview failed: unable to delete resource "urn:pulumi:x" as it is currently marked for protection. To unprotect',
        "pulumi state unprotect",
    ),
    (
        "unreachable-cluster",
        "error: configured Kubernetes cluster is unreachable: unable to load schema information from the API server",
        "PULUMI_K8S_DELETE_UNREACHABLE",
    ),
    (
        "kms",
        "Permission 'cloudkms.cryptoKeyVersions.useToDecrypt' denied on resource 'projects/p/locations/l/keyRings/r'",
        "EncrypterDecrypter",
    ),
]

OF_CASES = {
    "T09": STOCKOUT,
    "T10": "Insufficient reserved capacity. Contact customer support to increase your reservation.",
    "T20": "Queued resource q has active nodes; use force to delete",
    "T21": "queuedResource q is in state PROVISIONING and cannot be deleted",
    "G27": "Node scale up in zones us-central1-c associated with this pod failed: GCE quota exceeded. Pod is at risk of not being scheduled.",
    "G29": MACHINE_OUT,
    "V03": "Undeploying deployed model 'm1' from endpoint would leave the remaining traffic split at 65%.",
    "V04": "The following DeployedModel ID(s) [0] do not exist.",
    "V05": "Endpoint has deployed or being-deployed DeployedModel(s)",
    "V18": "400 The Model version projects/p/locations/l/models/m@2 is still deployed",
    "V20": "Project 'My First Project' not found or deleted.: CONSUMER_INVALID",
    "B01": OLD_QUOTA_PROJECT,
    "B02": QUOTA_PROJECT,
    "B03": API_OFF,
    "B06": BARE_400,
    "B07": "updating Budget: googleapi: Error 400: Request contains an invalid argument.",
    "B12": BARE_400,
    "B14": BARE_400,
    "P03": "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables",
    "P06": "googleapi: Error 409: The resource 'projects/p/global/networks/n' already exists, alreadyExists",
    "P07": LOCK,
    "P08": "Attempting to deploy or update resources with 1 pending operations from previous deployment.",
    "P11": "Error updating Instance: googleapi: Error 404: The resource 'projects/p/zones/z/instances/i' was not found, notFound",
    "P17": "error: configured Kubernetes cluster is unreachable: unable to load schema information from the API server",
    "O01": "error: [409] Conflict: Another update is currently in progress.",
    "O04": "googleapi: Error 403: Cloud Resource Manager API has not been used in project 123 before or it is disabled.",
    "N06": "The network resource 'projects/p/global/networks/n' is already being used by 'projects/p/zones/z/networkEndpointGroups/k8s1'",
    "M02": 'Error 400: Could not delete "projects/p/notificationChannels/1" because it is still being referenced by: "projects/p/alertPolicies/7"',
    "M03": "Error 400: Cannot delete metric m. That metric is still used in an alerting policy.",
}
"""What was said in the cases that are of an error, by case."""


@pytest.mark.parametrize(("key", "text", "words"), TEXTS, ids=[f"{number}-{one[0]}" for number, one in enumerate(TEXTS)])
def test_what_was_said_is_told_in_words_with_the_original_below(key: str, text: str, words: str) -> None:
    found = translated(text, where="gcp:x/y:Y one")
    assert found is not None
    assert found.key == key
    shown = str(found)
    assert words in shown
    assert shown.startswith(f"gcp:x/y:Y one: {found.what}")
    assert "\n  fix: " in shown
    assert "\n  source: " in shown
    assert shown.index("  fix: ") < shown.index("  said: ")
    assert [line.strip() for line in shown.partition("  said: ")[2].splitlines()] == [line.strip() for line in text.strip().splitlines()]
    assert "{" not in shown.partition("  said: ")[0], "a part was not filled in"


def test_every_kind_is_tried() -> None:
    assert {one.key for one in KNOWN} == {key for key, _, _ in TEXTS}
    assert len({one.key for one in KNOWN}) == len(KNOWN)


@pytest.mark.skipif(not CASES.is_file(), reason="the collected cases are not beside this checkout")
def test_the_collected_cases_of_errors_are_known() -> None:
    cases = {one["id"]: one for one in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())}
    assert set(OF_CASES) <= set(cases)
    for id, text in OF_CASES.items():
        assert translated(text) is not None, (id, cases[id]["symptom"])


@pytest.mark.parametrize("text", ["", "   ", "hello", "\x00", "Error 4", "9" * 5000, "東京 {brace} %s"])
def test_what_is_not_known_stays_as_it_is(text: str) -> None:
    assert translated(text) is None
    assert told(text) == text
    assert told(text, where="there") == f"there: {text}"


def test_what_is_in_our_own_words_already_is_left() -> None:
    ours = "stack x: googleapi: Error 403: no\n  fix: accelform doctor"
    assert translated(ours) is None
    assert told(ours) == ours


def test_the_zones_are_those_of_the_machine_that_was_asked_for() -> None:
    found = translated(TPU_OUT, machine="v6e-8")
    assert found is not None
    assert "us-east5-" in found.allowed
    assert found.allowed.startswith("zones with v6e-8, by the catalogue: ")
    assert "us-central1-c" not in found.allowed
    assert "accelform catalog zones v6e-8 --near us-central1-c" in found.fix


def test_a_machine_that_no_table_knows_names_the_command() -> None:
    found = translated(STOCKOUT, machine="z9-mega")
    assert found is not None
    assert not found.allowed
    assert "accelform catalog zones NAME --near us-central1-a" in found.fix


def test_a_long_original_is_cut_and_said_to_be_there() -> None:
    found = translated(f"Error 503: The service is currently unavailable. {'x' * 10_000}")
    assert found is not None
    assert len(found.said) == 4000


def test_several_locks_are_all_told() -> None:
    two = LOCK + "\n" + LOCK.splitlines()[1].replace("root@", "ann@").replace("us-east5", "us-east5")
    found = translated(two)
    assert found is not None
    assert "locked by root at" in found.what
    assert "locked by ann at" in found.what
    assert "pulumi cancel --stack us-east5" in found.fix
