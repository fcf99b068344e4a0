"""Cloud KMS of the sandbox: rings, keys and their versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "cloudkms.googleapis.com"
RINGS = "v1/projects/{project}/locations/us-east5/keyRings"
KEYS = f"{RINGS}/state/cryptoKeys"
KEY = f"{KEYS}/secrets"
NAME = "projects/shop-prod/locations/us-east5/keyRings/state/cryptoKeys/secrets"
ROTATES = {"purpose": "ENCRYPT_DECRYPT", "rotationPeriod": "7776000s", "nextRotationTime": "2027-02-28T12:00:00Z"}
DAYS = 30 * 86400

Ask = Callable[..., Answer]


@pytest.fixture
def key(ask: Ask) -> Any:
    """A key in its ring, as its create answers it."""
    ask("POST", HOST, RINGS, {}, keyRingId="state")
    return ask("POST", HOST, KEYS, ROTATES, cryptoKeyId="secrets").body


def test_a_key_comes_with_its_first_version(ask: Ask, key: Any) -> None:
    assert key["name"] == NAME
    assert key["destroyScheduledDuration"] == "2592000s"
    assert key["versionTemplate"] == {"algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION", "protectionLevel": "SOFTWARE"}
    assert (key["primary"]["name"], key["primary"]["state"]) == (f"{NAME}/cryptoKeyVersions/1", "ENABLED")
    assert ask("GET", HOST, KEY).body == key
    assert ask("GET", HOST, KEYS).body["totalSize"] == 1


@pytest.mark.parametrize(
    ("change", "query", "message"),
    [
        ({"rotationPeriod": "3600s"}, {}, "at least 24 hours"),
        ({"purpose": "MAC"}, {}, "Only keys of purpose ENCRYPT_DECRYPT rotate"),
        ({"purpose": ""}, {}, "purpose"),
        ({}, {"cryptoKeyId": ""}, "cryptoKeyId"),
    ],
    ids=str,
)
def test_fails_on_a_key_that_cannot_be(ask: Ask, change: dict[str, Any], query: dict[str, str], message: str) -> None:
    ask("POST", HOST, RINGS, {}, keyRingId="state")
    answer = ask("POST", HOST, KEYS, ROTATES | change, **{"cryptoKeyId": "secrets"} | query)
    assert (answer.status, message in answer.body["error"]["message"]) == (400, True)


def test_names_are_taken_and_missing_in_googles_words(ask: Ask, key: Any) -> None:
    assert ask("POST", HOST, RINGS, {}, keyRingId="state").status == 409
    assert ask("POST", HOST, KEYS, ROTATES, cryptoKeyId="secrets").status == 409
    ring = NAME.partition("/cryptoKeys/")[0].replace("/state", "/other")
    assert ask("GET", HOST, f"{RINGS}/other").body["error"]["message"] == f"KeyRing {ring} not found."
    missing = ask("POST", HOST, f"{RINGS}/other/cryptoKeys", ROTATES, cryptoKeyId="secrets")
    assert (missing.status, missing.body["error"]["message"]) == (404, f"KeyRing {ring} not found.")


def test_a_destroyed_version_can_be_restored_for_its_days(ask: Ask, cloud: Cloud, key: Any) -> None:
    """Then it is disabled. After them it is destroyed, and only then it can be deleted, then the key, then the ring."""
    first = f"{KEY}/cryptoKeyVersions/1"
    assert ask("POST", HOST, f"{first}:destroy", {}).body["state"] == "DESTROY_SCHEDULED"
    assert ask("POST", HOST, f"{first}:restore", {}).body["state"] == "DISABLED"
    ask("POST", HOST, f"{first}:destroy", {})
    assert ask("DELETE", HOST, first).status == 400
    cloud.clock.advance(DAYS + 1)
    assert ask("GET", HOST, first).body["state"] == "DESTROYED"
    assert ask("GET", HOST, KEY).body["primary"]["state"] == "DESTROYED"
    assert ask("POST", HOST, f"{first}:restore", {}).status == 400
    assert ask("DELETE", HOST, KEY).status == 400
    assert ask("DELETE", HOST, f"{RINGS}/state").status == 400
    for path in (first, KEY, f"{RINGS}/state"):
        assert ask("DELETE", HOST, path).status == 200
    assert ask("GET", HOST, RINGS).body == {}


def test_a_second_version_is_made_primary_by_name(ask: Ask, key: Any) -> None:
    made = ask("POST", HOST, f"{KEY}/cryptoKeyVersions", {}).body
    assert made["name"] == f"{NAME}/cryptoKeyVersions/2"
    assert ask("GET", HOST, KEY).body["primary"]["name"].endswith("/1")
    changed = ask("POST", HOST, f"{KEY}:updatePrimaryVersion", {"cryptoKeyVersionId": "2"})
    assert changed.body["primary"]["name"].endswith("/2")
    assert ask("POST", HOST, f"{KEY}:updatePrimaryVersion", {"cryptoKeyVersionId": "9"}).status == 404


def test_what_a_destroy_leaves_is_not_left_over(ask: Ask, cloud: Cloud, key: Any) -> None:
    """A key that still has material is."""

    def left() -> set[str]:
        return {one["name"].rpartition("/")[2] for one in cloud.resources() if one["service"] == HOST and not one["own"]}

    assert left() == {"secrets", "1"}
    ask("POST", HOST, f"{KEY}/cryptoKeyVersions/1:destroy", {})
    assert left() == set()
