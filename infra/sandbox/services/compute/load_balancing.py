"""Load balancing: health checks, backends, URL maps, proxies, forwarding rules."""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Any

from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.fingerprints import renewed
from infra.sandbox.services.compute.networks import free_address
from infra.sandbox.services.compute.resources import both, kind, unused, wrong
from infra.sandbox.verbs import opened

NO_SECRET = hashlib.sha256(b"").hexdigest()
FRONT = ipaddress.IPv4Address("34.120.0.2")
"""Addresses of forwarding rules that chose none count up from here."""
CHECKS = ("httpHealthCheck", "httpsHealthCheck", "http2HealthCheck", "tcpHealthCheck", "sslHealthCheck")


def _health_defaults(call: Call, body: Body) -> None:
    body.setdefault("checkIntervalSec", 5)  # these four: the document's descriptions of HealthCheck
    body.setdefault("timeoutSec", 5)
    body.setdefault("healthyThreshold", 2)
    body.setdefault("unhealthyThreshold", 2)
    for field in CHECKS:
        if field in body:
            body[field].setdefault("proxyHeader", "NONE")
    if body["timeoutSec"] > body["checkIntervalSec"]:
        raise wrong("timeoutSec", body["timeoutSec"], "Must be less than or equal to checkIntervalSec.")


def _old_health_defaults(call: Call, body: Body) -> None:
    _health_defaults(call, body)
    body.setdefault("port", 443 if body.get("kind") == "compute#httpsHealthCheck" else 80)  # the document's descriptions
    body.setdefault("requestPath", "/")
    body.setdefault("proxyHeader", "NONE")  # source: recorded traffic


def _backend_defaults(call: Call, body: Body) -> None:
    """Source: recorded traffic."""
    body.setdefault("affinityCookieTtlSec", 0)
    body.setdefault("description", "")
    body.setdefault("sessionAffinity", "NONE")
    body.setdefault("timeoutSec", 30)
    body.setdefault("protocol", "HTTP")
    body.setdefault("loadBalancingScheme", "EXTERNAL")
    body.setdefault("connectionDraining", {}).setdefault("drainingTimeoutSec", 0)
    if body["protocol"] in ("HTTP", "HTTPS", "HTTP2") and body["loadBalancingScheme"] != "INTERNAL":
        body.setdefault("port", 80)
        body.setdefault("portName", "http")
    iap = body.setdefault("iap", {})
    iap.setdefault("enabled", False)
    iap.setdefault("oauth2ClientId", "")
    secret = iap.pop("oauth2ClientSecret", "")
    if secret or "oauth2ClientSecretSha256" not in iap:
        iap["oauth2ClientSecretSha256"] = hashlib.sha256(secret.encode()).hexdigest()


def add_signed_url_key(call: Call) -> Any:
    """Keeps the name of the key; its value is never answered."""
    body = opened(call)
    names = body.setdefault("cdnPolicy", {}).setdefault("signedUrlKeyNames", [])
    names.append(call.body.get("keyName", ""))
    return act(call, renewed(body))


def delete_signed_url_key(call: Call) -> Any:
    body = opened(call)
    policy = body.setdefault("cdnPolicy", {})
    policy["signedUrlKeyNames"] = [name for name in policy.get("signedUrlKeyNames", []) if name != call.query.get("keyName")]
    return act(call, renewed(body))


def get_health(call: Call) -> Any:
    """The sandbox's backends are well."""
    call.target = call.owner
    group = call.body.get("group", "")
    endpoints = call.cloud.store.get(links.HOST, f"{links.name_of(group)}/endpoints/all") or {}
    status = [
        {"ipAddress": item.get("ipAddress"), "port": item.get("port"), "healthState": "HEALTHY"} for item in endpoints.get("items", [])
    ]
    return {"kind": "compute#backendServiceGroupHealth"} | ({"healthStatus": status} if status else {})


def _bucket_defaults(call: Call, body: Body) -> None:
    body.setdefault("description", "")  # source: recorded traffic of Google
    body.setdefault("enableCdn", False)


def _map_defaults(call: Call, body: Body) -> None:
    _nanos(body)
    for test in body.get("tests", []):
        test.setdefault("description", "")  # source: recorded traffic


def _nanos(node: Any) -> None:
    """A route's timeouts are answered with their nanoseconds. Source: recorded traffic."""
    if isinstance(node, list):
        for item in node:
            _nanos(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("perTryTimeout", "timeout") and isinstance(value, dict):
                value.setdefault("nanos", 0)
            else:
                _nanos(value)


def _https_defaults(call: Call, body: Body) -> None:
    body.setdefault("quicOverride", "NONE")  # "default": the document's description
    body.setdefault("tlsEarlyData", "DISABLED")  # source: recorded traffic


def _stream_defaults(call: Call, body: Body) -> None:
    body.setdefault("proxyHeader", "NONE")  # "the default is NONE": the document's description


def set_field(field: str, sent: str = "") -> Any:
    """A verb that changes one field of a proxy or of a rule."""

    def change(call: Call) -> Any:
        body = opened(call)
        body[field] = call.body.get(sent or field)
        if body[field] is None:
            raise wrong(sent or field, "", "The value must be specified.")
        return act(call, renewed(body) if "fingerprint" in body else body)

    return change


def _rule_defaults(call: Call, body: Body) -> None:
    psc = "/" not in str(body.get("target", "/"))
    body.setdefault("IPProtocol", "TCP")
    if not psc:
        body.setdefault("loadBalancingScheme", "EXTERNAL")  # the default: the document's description
    if not str(body.get("loadBalancingScheme", "")).startswith("INTERNAL_MANAGED"):
        body.setdefault("networkTier", "PREMIUM")
    ports = str(body.get("portRange", ""))
    if ports and "-" not in ports:
        body["portRange"] = f"{ports}-{ports}"
    for field, collection in (("network", "global/networks"), ("subnetwork", f"regions/{call.word('regions')}/subnetworks")):
        if field in body:
            body[field] = links.place(call, collection, body[field])


def _fill_rule(call: Call, body: Body) -> None:
    """An address by name becomes its number; none is chosen."""
    wanted = body.get("IPAddress", "")
    reserved = links.stored(call, wanted)
    if reserved is not None:
        body["IPAddress"] = reserved["address"]
    elif links.name_of(wanted):
        raise wrong("IPAddress", wanted, "The referenced address resource cannot be found.")
    elif not wanted:
        inside = links.stored(call, body.get("subnetwork", ""))
        body["IPAddress"] = free_address(call, inside) if inside else str(FRONT + call.cloud.store.next("front"))
    target = body.get("target", "")
    if target and "/" not in target:
        body["pscConnectionId"] = str(int(FRONT) + call.cloud.store.next("front"))
    if "backendService" not in body and not target:
        raise wrong("target", "", "A forwarding rule needs a target or a backend service.")


KINDS = (
    *both("healthChecks", "regionHealthChecks", defaults=_health_defaults, release=unused("health_check")),
    kind("httpHealthChecks", defaults=_old_health_defaults, release=unused("http_health_check")),
    kind("httpsHealthChecks", defaults=_old_health_defaults, release=unused("https_health_check")),
    *both("backendServices", "regionBackendServices", defaults=_backend_defaults, release=unused("backend_service")),
    kind("backendBuckets", defaults=_bucket_defaults, release=unused("backend_bucket")),
    *both("urlMaps", "regionUrlMaps", defaults=_map_defaults, release=unused("url_map")),
    *both("targetHttpProxies", "regionTargetHttpProxies", release=unused("target_http_proxy")),
    *both("targetHttpsProxies", "regionTargetHttpsProxies", defaults=_https_defaults, release=unused("target_https_proxy")),
    *both("targetTcpProxies", "regionTargetTcpProxies", defaults=_stream_defaults, release=unused("target_tcp_proxy")),
    kind("targetSslProxies", defaults=_stream_defaults, release=unused("target_ssl_proxy")),
    *both("forwardingRules", "globalForwardingRules", defaults=_rule_defaults, fill=_fill_rule),
)
HANDLERS = {
    **{
        f"{resource}.{verb}": set_field(field)
        for resource, verb, field in (
            ("targetHttpProxies", "setUrlMap", "urlMap"),
            ("regionTargetHttpProxies", "setUrlMap", "urlMap"),
            ("targetHttpsProxies", "setUrlMap", "urlMap"),
            ("regionTargetHttpsProxies", "setUrlMap", "urlMap"),
            ("targetHttpsProxies", "setSslCertificates", "sslCertificates"),
            ("regionTargetHttpsProxies", "setSslCertificates", "sslCertificates"),
            ("targetHttpsProxies", "setSslPolicy", "sslPolicy"),
            ("targetHttpsProxies", "setQuicOverride", "quicOverride"),
            ("targetHttpsProxies", "setCertificateMap", "certificateMap"),
            ("targetTcpProxies", "setProxyHeader", "proxyHeader"),
            ("forwardingRules", "setTarget", "target"),
            ("globalForwardingRules", "setTarget", "target"),
            ("backendServices", "setSecurityPolicy", "securityPolicy"),
        )
    },
    "targetTcpProxies.setBackendService": set_field("service"),
    "backendServices.addSignedUrlKey": add_signed_url_key,
    "backendServices.deleteSignedUrlKey": delete_signed_url_key,
    "backendServices.getHealth": get_health,
    "regionBackendServices.getHealth": get_health,
}
