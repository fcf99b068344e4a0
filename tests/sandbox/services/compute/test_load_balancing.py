"""Health checks, backends, URL maps, proxies, rules, certificates, endpoint groups."""

from __future__ import annotations

from typing import Any

import pytest

LINK = "https://www.googleapis.com/compute/v1/projects/shop-prod/"


@pytest.fixture
def front(network: Any) -> Any:
    """With a backend service, a URL map and an HTTP proxy."""
    network.make("global/healthChecks", {"name": "hc", "type": "HTTP", "httpHealthCheck": {"port": 8080}})
    network.make("global/backendServices", {"name": "backend", "healthChecks": ["global/healthChecks/hc"]})
    network.make("global/urlMaps", {"name": "map", "defaultService": "global/backendServices/backend"})
    network.make("global/targetHttpProxies", {"name": "http", "urlMap": "global/urlMaps/map"})
    return network


def test_health_check_has_the_documents_defaults(front: Any) -> None:
    found = front.get("global/healthChecks/hc")

    assert [found[key] for key in ("checkIntervalSec", "timeoutSec", "healthyThreshold", "unhealthyThreshold")] == [5, 5, 2, 2]
    assert found["httpHealthCheck"] == {"port": 8080, "proxyHeader": "NONE"}


def test_health_check_times_out_before_the_next(compute: Any) -> None:
    status, said, _ = compute.refused("POST", "global/healthChecks", {"name": "hc", "checkIntervalSec": 5, "timeoutSec": 9})

    assert (status, "resource.timeoutSec" in said) == (400, True)


def test_backend_service_is_filled_in(front: Any) -> None:
    """Source: recorded traffic."""
    found = front.get("global/backendServices/backend")

    expected = {
        "affinityCookieTtlSec": 0,
        "connectionDraining": {"drainingTimeoutSec": 0},
        "description": "",
        "loadBalancingScheme": "EXTERNAL",
        "port": 80,
        "portName": "http",
        "protocol": "HTTP",
        "sessionAffinity": "NONE",
        "timeoutSec": 30,
        "healthChecks": [LINK + "global/healthChecks/hc"],
    }
    assert expected == {key: found[key] for key in expected}
    assert found["iap"]["oauth2ClientSecretSha256"].startswith("e3b0c442")


def test_put_replaces_and_keeps_what_the_server_says(front: Any) -> None:
    """Fields that are left out get their defaults again; the fingerprint must be the current one."""
    where = "global/backendServices/backend"
    before = front.get(where)
    body = {"name": "backend", "healthChecks": ["global/healthChecks/hc"], "timeoutSec": 60, "fingerprint": before["fingerprint"]}

    assert front.refused("PUT", where, body | {"fingerprint": "AAAAAAAAAAA="})[::2] == (412, "conditionNotMet")
    operation = front.do("PUT", where, body)
    after = front.get(where)
    assert operation["operationType"] == "update"
    assert (after["timeoutSec"], after["id"], after["protocol"]) == (60, before["id"], "HTTP")
    assert after["fingerprint"] != before["fingerprint"]


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("global/healthChecks/hc", "health_check"),
        ("global/backendServices/backend", "backend_service"),
        ("global/urlMaps/map", "url_map"),
    ],
)
def test_what_is_used_is_not_deleted(front: Any, path: str, word: str) -> None:
    """Source of the words: Google's answers in public issue threads."""
    status, said, reason = front.refused("DELETE", path)

    assert (status, reason) == (400, "resourceInUseByAnotherResource")
    assert said.startswith(f"The {word} resource 'projects/shop-prod/{path}' is already being used by 'projects/shop-prod/global/")


@pytest.mark.parametrize(
    ("collection", "body", "gone"),
    [
        ("global/backendServices", {"healthChecks": ["global/healthChecks/gone"]}, "global/healthChecks/gone"),
        ("global/backendServices", {"backends": [{"group": "zones/us-east5-a/networkEndpointGroups/gone"}]}, "networkEndpointGroups/gone"),
        ("global/urlMaps", {"defaultService": "global/backendServices/gone"}, "global/backendServices/gone"),
        ("global/targetHttpProxies", {"urlMap": "global/urlMaps/gone"}, "global/urlMaps/gone"),
        ("global/forwardingRules", {"target": "global/targetHttpProxies/gone"}, "global/targetHttpProxies/gone"),
    ],
)
def test_what_is_referred_to_must_be_there(compute: Any, collection: str, body: dict[str, Any], gone: str) -> None:
    status, said, reason = compute.refused("POST", collection, {"name": "x"} | body)

    assert (status, reason) == (404, "notFound")
    assert said.startswith("The resource 'projects/shop-prod/")
    assert said.endswith(f"{gone}' was not found")


def test_proxy_changes_its_url_map(front: Any) -> None:
    front.make("global/urlMaps", {"name": "other", "defaultService": "global/backendServices/backend"})

    operation = front.do("POST", "targetHttpProxies/http/setUrlMap", {"urlMap": "global/urlMaps/other"})

    assert operation["operationType"] == "setUrlMap"
    assert front.get("global/targetHttpProxies/http")["urlMap"] == LINK + "global/urlMaps/other"
    front.do("DELETE", "global/urlMaps/map")


def test_forwarding_rule_takes_a_reserved_address(front: Any) -> None:
    """By its name; one port is a range of one; the address is in use from then on."""
    address = front.make("global/addresses", {"name": "front"})["address"]
    body = {"name": "rule", "target": "global/targetHttpProxies/http", "portRange": "80", "IPAddress": "global/addresses/front"}

    rule = front.make("global/forwardingRules", body)

    assert (rule["IPAddress"], rule["portRange"], rule["IPProtocol"]) == (address, "80-80", "TCP")
    assert (rule["loadBalancingScheme"], rule["networkTier"]) == ("EXTERNAL", "PREMIUM")
    assert front.get("global/addresses/front")["status"] == "IN_USE"
    assert front.refused("DELETE", "global/addresses/front")[::2] == (400, "resourceInUseByAnotherResource")
    assert front.refused("DELETE", "global/targetHttpProxies/http")[0] == 400
    front.make("global/targetHttpProxies", {"name": "second", "urlMap": "global/urlMaps/map"})
    moved = front.do("POST", "global/forwardingRules/rule/setTarget", {"target": "global/targetHttpProxies/second"})
    assert moved["operationType"] == "SetTarget"
    front.do("DELETE", "global/forwardingRules/rule")
    assert front.get("global/addresses/front")["status"] == "RESERVED"


def test_managed_certificate_becomes_active_by_time(compute: Any) -> None:
    made = compute.make("global/sslCertificates", {"name": "cert", "type": "MANAGED", "managed": {"domains": ["api.shop.example"]}})
    assert made["managed"]["status"] == "PROVISIONING"
    assert made["managed"]["domainStatus"] == {"api.shop.example": "PROVISIONING"}

    compute.cloud.clock.advance(1800)

    found = compute.get("global/sslCertificates/cert")
    assert found["managed"]["status"] == "ACTIVE"
    assert "madeAt" not in found


def test_private_key_of_a_certificate_is_not_kept(compute: Any) -> None:
    body = {"name": "cert", "certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "privateKey": "secret"}

    found = compute.make("global/sslCertificates", body)

    assert (found["type"], found["selfManaged"]) == ("SELF_MANAGED", {"certificate": body["certificate"]})
    assert "privateKey" not in found


def test_endpoints_of_a_group(network: Any) -> None:
    where = "zones/us-east5-a/networkEndpointGroups"
    body = {"name": "neg", "network": "global/networks/net", "subnetwork": "regions/us-east5/subnetworks/sub", "defaultPort": 8080}
    assert network.make(where, body)["size"] == 0
    endpoint = {"ipAddress": "10.0.0.9", "port": 8080}

    network.do("POST", f"{where}/neg/attachNetworkEndpoints", {"networkEndpoints": [endpoint]})

    assert network.get(f"{where}/neg")["size"] == 1
    listed = network.ask("POST", f"{where}/neg/listNetworkEndpoints", {}).body
    assert [item["networkEndpoint"] for item in listed["items"]] == [endpoint]
    network.do("POST", f"{where}/neg/detachNetworkEndpoints", {"networkEndpoints": [endpoint]})
    assert network.get(f"{where}/neg")["size"] == 0
    assert [item["name"] for item in network.get(where)["items"]] == ["neg"]


def test_fields_of_the_beta_are_taken_by_v1(compute: Any) -> None:
    """The provider of the beta sends them to the address it is given."""
    body = {"name": "neg", "networkEndpointType": "SERVERLESS", "cloudRun": {"service": "front"}, "serverlessDeployment": None}

    found = compute.make("regions/asia-east1/networkEndpointGroups", body)

    assert (found["networkEndpointType"], found["cloudRun"]) == ("SERVERLESS", {"service": "front"})
    assert "serverlessDeployment" not in found


def test_unknown_field_is_refused(compute: Any) -> None:
    said = 'Invalid JSON payload received. Unknown name "colour": Cannot find field.'

    assert compute.refused("POST", "global/addresses", {"name": "a", "colour": "red"})[:2] == (400, said)


def test_signed_url_keys_are_named_but_never_shown(front: Any) -> None:
    where = "global/backendServices/backend"

    front.do("POST", f"{where}/addSignedUrlKey", {"keyName": "key", "keyValue": "c2VjcmV0"})

    assert front.get(where)["cdnPolicy"] == {"signedUrlKeyNames": ["key"]}
    front.do("POST", f"{where}/deleteSignedUrlKey", keyName="key")
    assert front.get(where)["cdnPolicy"] == {}
