"""What a project has once, by the provider before the sandbox: it comes and stays, and some of it stays when it goes."""

from __future__ import annotations

from typing import Any

import echo
import pytest
from region import ACCOUNT, P, Region
from test_sandbox import promised

from infra.components.pipeline import MAPPING
from infra.provider.values import Decoded

RING = f"projects/{P}/locations/us-east5/keyRings/once-state"
KEY = f"{RING}/cryptoKeys/secrets"
RINGS, KEYS, PREFERENCES = "gcp:kms/keyRing:KeyRing", "gcp:kms/cryptoKey:CryptoKey", "gcp:cloudquota/sQuotaPreference:SQuotaPreference"
POOLS = "gcp:iam/workloadIdentityPool:WorkloadIdentityPool"
KMS, IAM, QUOTAS = "cloudkms.googleapis.com", "iam.googleapis.com", "cloudquotas.googleapis.com"
DAY = 86400

ONCE: list[tuple[str, dict[str, Any]]] = [
    ("gcp:serviceaccount/account:Account", {"accountId": ACCOUNT.partition("@")[0]}),
    (RINGS, {"name": "once-state", "location": "us-east5"}),
    (
        KEYS,
        {
            "name": "secrets",
            "keyRing": RING,
            "rotationPeriod": "7776000s",
            "destroyScheduledDuration": "2592000s",
            "versionTemplate": {"algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"},
            "labels": {"owner": "ml-team"},
        },
    ),
    (
        "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
        {"cryptoKeyId": KEY, "role": "roles/cloudkms.cryptoKeyDecrypter", "member": f"serviceAccount:{ACCOUNT}"},
    ),
    (POOLS, {"workloadIdentityPoolId": "pipeline-once", "displayName": "pipelines"}),
    (
        "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",
        {
            "workloadIdentityPoolId": "pipeline-once",
            "workloadIdentityPoolProviderId": "github",
            "attributeMapping": MAPPING,
            "attributeCondition": "assertion.repository_id == '1'",
            "oidc": {"issuerUri": "https://token.actions.githubusercontent.com"},
        },
    ),
    (
        "gcp:serviceaccount/iAMMember:IAMMember",
        {
            "serviceAccountId": f"projects/{P}/serviceAccounts/{ACCOUNT}",
            "role": "roles/iam.workloadIdentityUser",
            "member": "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pipeline-once/subject/repo:Shop/ML:x",
        },
    ),
    (
        PREFERENCES,
        {
            "name": "once-h100",
            "parent": f"projects/{P}",
            "service": "compute.googleapis.com",
            "quotaId": "GPUS-PER-GPU-FAMILY-per-project-region",
            "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
            "quotaConfig": {"preferredValue": "8"},
            "contactEmail": "ml@shop.example",
            "justification": "One machine",
        },
    ),
]
"""What a foundation declares that no region does."""


@pytest.fixture
def made(driver: echo.Driver) -> dict[str, tuple[dict[str, Any], str, dict[str, Any]]]:
    """By type: checked inputs, id and state."""
    found = {}
    for token, declared in ONCE:
        inputs = driver.checked(token, declared)
        answer = driver.create(token, inputs)
        found[token] = (inputs, answer.id, Decoded(answer.properties).values)
    return found


def test_it_comes_and_stays(driver: echo.Driver, made: dict[str, Any]) -> None:
    """No refresh finds drift, an import finds what was written, and every output is of the type that the SDK promises."""
    unread = {"contactEmail"}  # Google takes it, and never says it
    for token, (inputs, id, state) in made.items():
        read = driver.read(token, id, state, inputs)
        assert (token, Decoded(read.inputs).values) == (token, inputs)
        imported = Decoded(driver.read(token, id).inputs).values
        assert (token, set(driver.diff(token, imported, inputs).diffs) - unread) == (token, set())
        wrong = {name for name, wanted in promised(token).items() if type(state.get(name)) not in (wanted, type(None))}
        assert (token, wrong) == (token, set())
    assert made[KEYS][1] == KEY
    assert made[PREFERENCES][1] == f"projects/{P}/locations/global/quotaPreferences/once-h100"
    assert made[POOLS][2]["name"].startswith("projects/")
    assert P not in made[POOLS][2]["name"]  # but its number


def test_a_request_is_pending_then_granted_and_is_no_drift(driver: echo.Driver, region: Region, made: dict[str, Any]) -> None:
    inputs, id, state = made[PREFERENCES]
    assert (state["reconciling"], state["quotaConfig"]["grantedValue"]) == (True, "")
    region.cloud.clock.advance(DAY + 1)
    read = driver.read(PREFERENCES, id, state, inputs)
    now = Decoded(read.properties).values
    assert (now["reconciling"], now["quotaConfig"]["grantedValue"]) == (False, "8")
    assert Decoded(read.inputs).values == inputs


def test_updates_change_what_differs_and_replace_nothing(driver: echo.Driver, made: dict[str, Any]) -> None:
    """A rotation comes with its first moment; a request keeps what was granted until it is decided anew."""
    for token, change in (
        (KEYS, {"rotationPeriod": "8640000s", "labels": {"owner": "other"}}),
        (PREFERENCES, {"quotaConfig": {"preferredValue": "16"}}),
        (POOLS, {"displayName": "of GitHub"}),
        ("gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider", {"attributeCondition": "assertion.repository_id == '2'"}),
    ):
        inputs, id, state = made[token]
        new = driver.checked(token, dict(ONCE)[token] | change)
        assert list(driver.diff(token, inputs, new, state).replaces) == []
        after = Decoded(driver.update(token, id, state, inputs, new).properties).values
        assert (token, Decoded(driver.read(token, id, after, new).inputs).values) == (token, new)


def test_what_cannot_be_deleted_leaves_the_state_only(driver: echo.Driver, region: Region, made: dict[str, Any]) -> None:
    """A key's versions are destroyed and it rotates no more; a ring and a request stay as they are; a deleted pool is gone."""
    for token, (_, id, state) in reversed(made.items()):
        driver.delete(token, id, state)
    kept = region.cloud.store.get
    assert kept(KMS, RING)
    key = kept(KMS, KEY)
    assert key is not None
    assert "rotationPeriod" not in key
    assert [body["state"] for _, body in region.cloud.store.items(KMS, f"{KEY}/cryptoKeyVersions")] == ["DESTROY_SCHEDULED"]
    preference = kept(QUOTAS, made[PREFERENCES][1])
    assert preference is not None
    assert preference["quotaConfig"]["preferredValue"] == "8"
    assert driver.read(POOLS, made[POOLS][1], made[POOLS][2]).id == ""
    standing = {(one["service"], one["name"]) for one in region.cloud.resources() if not one["own"]}
    assert standing == set()
