"""Check refuses by path, fills in defaults, and lets through what is not known yet."""

from __future__ import annotations

from typing import Any

import echo
import pytest

from infra.provider.values import UNKNOWN, Decoded

BUCKET = "gcp:storage/bucket:Bucket"
NETWORK = "gcp:compute/network:Network"
NODE = "gcp:tpu/v2Vm:V2Vm"


@pytest.fixture
def driver() -> echo.Driver:
    return echo.Driver(echo.Echo())


def reasons(driver: echo.Driver, token: str, inputs: dict[str, Any]) -> list[str]:
    return [failure.reason for failure in driver.check(token, inputs).failures]


def test_fails_on_a_name_that_does_not_exist(driver: echo.Driver) -> None:
    """The path and the nearest names are said."""
    found = reasons(driver, BUCKET, {"name": "b", "location": "us", "lifecycleRules": [{"action": {"typ": "Delete"}, "condition": {}}]})
    assert found == [
        "lifecycleRules[0].action.typ: there is no such property; nearest: type",
        "lifecycleRules[0].action.type: is missing",
    ]


def test_fails_on_everything_at_once(driver: echo.Driver) -> None:
    """Every problem of a resource is said in one run."""
    found = reasons(driver, NODE, {"zone": "us-east5-a", "tags": "tpu", "networkConfig": {"enableExternalIps": "maybe", "queueCount": "x"}})
    assert sorted(found) == [
        "name: is missing: it has no default here, and names are not made up",
        "networkConfig.enableExternalIps: is not true or false; got 'maybe'",
        "networkConfig.queueCount: is not a whole number; got 'x'",
        "runtimeVersion: is missing",
        "tags: is not a list; got 'tpu'",
    ]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"mtu": "1500"}, 1500),
        ({"mtu": "15e2"}, 1500),
        ({"mtu": 1500.0}, 1500),
        ({"description": 5}, "5"),
        ({"autoCreateSubnetworks": "true"}, True),
    ],
)
def test_takes_what_only_looks_different(driver: echo.Driver, given: dict[str, Any], kept: Any) -> None:
    """A number as a string is the number, as with the official provider."""
    (name,) = given
    assert driver.checked(NETWORK, {"name": "n"} | given)[name] == kept


@pytest.mark.parametrize("mtu", [True, "1e999", "many", 1.5, [1], {"a": 1}])
def test_fails_on_another_type(driver: echo.Driver, mtu: Any) -> None:
    """What cannot be a whole number is refused."""
    assert reasons(driver, NETWORK, {"name": "n", "mtu": mtu}) == [f"mtu: is not a whole number; got {mtu!r}"]


def test_fills_in_defaults_and_says_which(driver: echo.Driver) -> None:
    """An object's defaults are listed in it; the resource's are not."""
    checked = driver.checked(
        "gcp:compute/backendService:BackendService", {"name": "b", "backends": [{"group": "g"}, {"group": "h", "capacityScaler": 0.5}]}
    )
    assert checked["connectionDrainingTimeoutSec"] == 300
    assert checked["backends"] == [
        {"__defaults": ["capacityScaler"], "capacityScaler": 1, "group": "g"},
        {"__defaults": [], "capacityScaler": 0.5, "group": "h"},
    ]


def test_keeps_unknowns(driver: echo.Driver) -> None:
    """What other resources only make is neither missing nor of a wrong type."""
    checked = driver.checked(NODE, {"name": "n", "zone": UNKNOWN, "runtimeVersion": UNKNOWN, "networkConfig": UNKNOWN, "tags": [UNKNOWN]})
    assert checked == {"name": "n", "zone": UNKNOWN, "runtimeVersion": UNKNOWN, "networkConfig": UNKNOWN, "tags": [UNKNOWN]}


def test_keeps_secrets_and_drops_nulls(driver: echo.Driver) -> None:
    """A secret stays one; null is as if it were not written."""
    answer = driver.check(NODE, {"name": "n", "runtimeVersion": "r", "metadata": {"key": "s3"}, "description": None}, {("metadata", "key")})
    checked = Decoded(answer.inputs)
    assert checked.secrets == {("metadata", "key")}
    assert checked.values == {"name": "n", "runtimeVersion": "r", "metadata": {"key": "s3"}}


def test_fails_on_a_null_in_a_list(driver: echo.Driver) -> None:
    """Only a property can be left out; in a list it would stand for some element."""
    assert reasons(driver, NODE, {"name": "n", "runtimeVersion": "r", "tags": ["a", None]}) == ["tags[1]: is not a string; got None"]


def test_fails_without_telling_secrets(driver: echo.Driver) -> None:
    """What is secret is not printed, whether the program or the schema says so."""
    found = driver.check(NODE, {"name": "n", "runtimeVersion": "r", "tags": "s3"}, {("tags",)})
    assert [failure.reason for failure in found.failures] == ["tags: is not a list; got a secret"]
    found = driver.check(NODE, {"name": "n", "runtimeVersion": "r", "tags": {"a": {"b": "s3"}}}, {("tags", "a", "b")})
    assert [failure.reason for failure in found.failures] == ["tags: is not a list; got a secret"]
    channel = "gcp:monitoring/notificationChannel:NotificationChannel"
    assert reasons(driver, channel, {"type": "slack", "sensitiveLabels": {"authToken": ["s3"]}}) == [
        "sensitiveLabels.authToken: is not a string; got a secret"
    ]


def test_fails_on_what_only_the_official_provider_does(driver: echo.Driver) -> None:
    """Nothing is taken and then left undone."""
    assert reasons(driver, NETWORK, {"name": "n", "deleteDefaultRoutesOnCreate": False}) == []
    assert reasons(driver, NETWORK, {"name": "n", "deleteDefaultRoutesOnCreate": True}) == [
        "deleteDefaultRoutesOnCreate: the stand-in provider does not do this; the official one does"
    ]


def test_fails_on_an_unknown_type(driver: echo.Driver) -> None:
    """A type that the table lacks is refused with what to do."""
    with pytest.raises(
        echo.AbortedError, match=r"gcp:storage/buckets:Buckets: .* nearest: gcp:storage/bucket:Bucket(?s:.)*pulumi plugin install"
    ):
        driver.check("gcp:storage/buckets:Buckets", {})
