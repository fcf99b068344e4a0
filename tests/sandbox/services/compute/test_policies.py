"""Policies and reservations."""

from __future__ import annotations

from typing import Any

import pytest

REGION = "regions/us-east5"
ZONE = "zones/us-east5-a"


@pytest.mark.parametrize(
    "policy",
    [
        {"groupPlacementPolicy": {"collocation": "COLLOCATED", "vmCount": 4}},
        {"workloadPolicy": {"acceleratorTopology": "4x4", "type": "HIGH_THROUGHPUT"}},
    ],
)
def test_policy_is_kept_as_it_was_sent(compute: Any, policy: dict[str, Any]) -> None:
    found = compute.make(f"{REGION}/resourcePolicies", {"name": "policy"} | policy)

    assert policy.items() <= found.items()
    assert (found["status"], found["region"].rpartition("/")[2]) == ("READY", "us-east5")


def test_policy_is_one_policy(compute: Any) -> None:
    body = {"name": "two", "groupPlacementPolicy": {"vmCount": 2}, "workloadPolicy": {"type": "HIGH_THROUGHPUT"}}

    assert compute.refused("POST", f"{REGION}/resourcePolicies", body)[0] == 400


def test_security_policy_has_a_last_rule(compute: Any) -> None:
    """Source: recorded traffic."""
    found = compute.make("global/securityPolicies", {"name": "armor"})

    assert found["type"] == "CLOUD_ARMOR"
    assert [(rule["priority"], rule["action"], rule["preview"]) for rule in found["rules"]] == [(2147483647, "allow", False)]
    assert found["rules"][0]["match"]["config"]["srcIpRanges"] == ["*"]


def test_rules_are_added_patched_and_removed(compute: Any) -> None:
    compute.make("global/securityPolicies", {"name": "armor"})
    where = "global/securityPolicies/armor"
    rule = {"priority": 100, "action": "deny(403)", "match": {"versionedExpr": "SRC_IPS_V1", "config": {"srcIpRanges": ["10.0.0.0/8"]}}}

    compute.do("POST", f"{where}/addRule", rule)
    assert compute.refused("POST", f"{where}/addRule", rule)[0] == 400
    compute.do("POST", f"{where}/patchRule", {"action": "allow"}, priority="100")
    assert compute.get(f"{where}/getRule", priority="100")["action"] == "allow"
    compute.do("POST", f"{where}/removeRule", priority="100")
    assert compute.refused("GET", f"{where}/getRule", priority="100")[0] == 400
    assert compute.refused("POST", f"{where}/removeRule", priority="2147483647")[0] == 400


def test_ssl_policy_lists_what_its_profile_allows(compute: Any) -> None:
    """Source: recorded traffic."""
    found = compute.make("global/sslPolicies", {"name": "tls", "profile": "RESTRICTED", "minTlsVersion": "TLS_1_2"})
    assert len(found["enabledFeatures"]) == 6

    compute.do("PATCH", "global/sslPolicies/tls", {"profile": "MODERN", "fingerprint": found["fingerprint"]})

    after = compute.get("global/sslPolicies/tls")
    assert (len(after["enabledFeatures"]), after["minTlsVersion"]) == (10, "TLS_1_2")


def test_reservation_counts(compute: Any) -> None:
    """Source: recorded traffic of Google."""
    properties = {"machineType": "ct6e-standard-4t"}
    found = compute.make(
        f"{ZONE}/reservations", {"name": "nightly", "specificReservation": {"count": "2", "instanceProperties": properties}}
    )

    assert found["specificReservation"] == {"count": "2", "inUseCount": "0", "assuredCount": "2", "instanceProperties": properties}
    assert (found["status"], found["shareSettings"]["shareType"]) == ("READY", "LOCAL")
    assert found["reservationSharingPolicy"] == {"serviceShareType": "DISALLOW_ALL"}
    compute.do("POST", f"{ZONE}/reservations/nightly/resize", {"specificSkuCount": "3"})
    assert compute.get(f"{ZONE}/reservations/nightly")["specificReservation"]["count"] == "3"


def test_future_reservation_answers_with_moments(compute: Any) -> None:
    """A duration comes back as an end. Source: recorded traffic."""
    window = {"startTime": "2027-01-10T00:00:00Z", "duration": {"seconds": "86400"}}

    found = compute.make(f"{ZONE}/futureReservations", {"name": "later", "timeWindow": window})

    assert found["timeWindow"] == {"startTime": "2027-01-10T00:00:00Z", "endTime": "2027-01-11T00:00:00Z"}
    assert (found["planningStatus"], found["status"]["procurementStatus"]) == ("DRAFT", "DRAFTING")
    changed = {"timeWindow": {"duration": {"seconds": "86401"}}, "description": "not in the mask"}
    compute.do("PATCH", f"{ZONE}/futureReservations/later", changed, updateMask="time_window.duration")
    after = compute.get(f"{ZONE}/futureReservations/later")
    assert (after["timeWindow"]["endTime"], after["description"]) == ("2027-01-11T00:00:01Z", "")


def test_resource_without_a_kind_of_its_own_is_kept_as_sent(network: Any) -> None:
    """With what every resource of Compute Engine has."""
    body = {"name": "gateway", "network": "global/networks/net", "stackType": "IPV4_ONLY"}

    found = network.make(f"{REGION}/vpnGateways", body)

    assert (found["kind"], found["stackType"]) == ("compute#vpnGateway", "IPV4_ONLY")
    assert found["network"].startswith("https://www.googleapis.com/compute/v1/projects/shop-prod/global/networks/net")
    assert found["labelFingerprint"]
    network.do("DELETE", f"{REGION}/vpnGateways/gateway")
    assert network.ask("GET", f"{REGION}/vpnGateways/gateway").status == 404
