"""Load balancing: health checks, backends, URL maps, proxies, forwarding rules, certificates."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import ipaddress
import re
from typing import Any

from infra.sandbox.clock import pacific
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute import links
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.fingerprints import renewed
from infra.sandbox.services.compute.networks import free_address
from infra.sandbox.services.compute.resources import kind, unused, wrong
from infra.sandbox.verbs import opened

NO_SECRET = hashlib.sha256(b"").hexdigest()
FRONT = ipaddress.IPv4Address("34.120.0.2")
"""Addresses of forwarding rules that chose none count up from here."""
CHECKS = ("httpHealthCheck", "httpsHealthCheck", "http2HealthCheck", "tcpHealthCheck", "sslHealthCheck")
ACTIVE_AFTER = 1800
"""Virtual seconds until a managed certificate is ACTIVE: Google says up to 60 minutes.
Source: https://docs.cloud.google.com/load-balancing/docs/ssl-certificates/google-managed-certs."""
LIFETIME = 90 * 86400
"""Seconds that a managed certificate is valid. Source: the same page."""
UTC_TIME = re.compile(rb"\x17\x0d(\d{12})Z")


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


def _certificate_defaults(call: Call, body: Body) -> None:
    body.pop("privateKey", None)
    if "certificate" in body or "selfManaged" in body:
        body.setdefault("type", "SELF_MANAGED")
        own = body.setdefault("selfManaged", {"certificate": body.get("certificate", "")})
        own.pop("privateKey", None)
        body.setdefault("certificate", own.get("certificate", ""))
        if ends := _valid_until(body["certificate"]):
            body["expireTime"] = pacific(ends)


def _fill_certificate(call: Call, body: Body) -> None:
    if body.get("type") == "MANAGED":
        if not body.get("managed", {}).get("domains"):
            raise wrong("managed.domains", "", "At least one domain must be specified.")
        body["expireTime"] = pacific(call.now + LIFETIME)
        body["madeAt"] = call.now


def _show_certificate(call: Call, body: Body) -> Body:
    """A managed certificate is PROVISIONING until its domains were seen."""
    shown = {key: value for key, value in body.items() if key != "madeAt"}
    if "managed" in body and "madeAt" in body:
        status = "ACTIVE" if call.now >= body["madeAt"] + ACTIVE_AFTER else "PROVISIONING"
        domains = dict.fromkeys(body["managed"]["domains"], status)
        shown["managed"] = {**body["managed"], "status": status, "domainStatus": domains}
    return shown


def _valid_until(certificate: str) -> float | None:
    """The end of a certificate's validity, read from its encoding; None where it has none of this century."""
    inner = "".join(line for line in certificate.splitlines() if "-" not in line)
    try:
        times = UTC_TIME.findall(base64.b64decode(inner))
    except ValueError:
        return None
    if len(times) < 2:
        return None
    return dt.datetime.strptime(times[1].decode(), "%y%m%d%H%M%S").replace(tzinfo=dt.UTC).timestamp()


def _group_defaults(call: Call, body: Body) -> None:
    body.setdefault("size", 0)
    body.setdefault("networkEndpointType", "GCE_VM_IP_PORT")
    if body["networkEndpointType"] in ("GCE_VM_IP_PORT", "GCE_VM_IP"):
        body["network"] = links.place(call, "global/networks", body.get("network") or "default")
    if "subnetwork" in body:
        body["subnetwork"] = links.place(call, f"regions/{call.word('zones').rpartition('-')[0]}/subnetworks", body["subnetwork"])


def attach_endpoints(call: Call) -> Any:
    return _endpoints(call, lambda now, sent: now + [item for item in sent if item not in now])


def detach_endpoints(call: Call) -> Any:
    return _endpoints(call, lambda now, sent: [item for item in now if not any(_same(item, other) for other in sent)])


def _same(item: Body, other: Body) -> bool:
    return all(item.get(field) == value for field, value in other.items())


def _endpoints(call: Call, change: Any) -> Any:
    body = opened(call)
    name = f"{call.target}/endpoints/all"
    items = (call.cloud.store.get(links.HOST, name) or {}).get("items", [])
    items = change(items, call.body.get("networkEndpoints", []))
    call.cloud.store.put(links.HOST, name, {"items": items})
    return act(call, {**body, "size": len(items)})


def list_endpoints(call: Call) -> Any:
    items = (call.cloud.store.get(links.HOST, f"{call.owner}/endpoints/all") or {}).get("items", [])
    shown = [{"networkEndpoint": item} for item in items]
    return {"kind": "compute#networkEndpointGroupsListNetworkEndpoints", "id": call.owner} | ({"items": shown} if shown else {})


def _both(resource: str, region: str, **more: Any) -> tuple[Any, Any]:
    return kind(resource, **more), kind(region, **more)


KINDS = (
    *_both("healthChecks", "regionHealthChecks", defaults=_health_defaults, release=unused("health_check")),
    kind("httpHealthChecks", defaults=_old_health_defaults, release=unused("http_health_check")),
    kind("httpsHealthChecks", defaults=_old_health_defaults, release=unused("https_health_check")),
    *_both("backendServices", "regionBackendServices", defaults=_backend_defaults, release=unused("backend_service")),
    kind("backendBuckets", defaults=_bucket_defaults, release=unused("backend_bucket")),
    *_both("urlMaps", "regionUrlMaps", defaults=_map_defaults, release=unused("url_map")),
    *_both("targetHttpProxies", "regionTargetHttpProxies", release=unused("target_http_proxy")),
    *_both("targetHttpsProxies", "regionTargetHttpsProxies", defaults=_https_defaults, release=unused("target_https_proxy")),
    *_both("targetTcpProxies", "regionTargetTcpProxies", defaults=_stream_defaults, release=unused("target_tcp_proxy")),
    kind("targetSslProxies", defaults=_stream_defaults, release=unused("target_ssl_proxy")),
    *_both("forwardingRules", "globalForwardingRules", defaults=_rule_defaults, fill=_fill_rule),
    *_both(
        "sslCertificates",
        "regionSslCertificates",
        defaults=_certificate_defaults,
        fill=_fill_certificate,
        show=_show_certificate,
        release=unused("ssl_certificate"),
    ),
    *_both("networkEndpointGroups", "regionNetworkEndpointGroups", defaults=_group_defaults, release=unused("network_endpoint_group")),
    kind("globalNetworkEndpointGroups", defaults=_group_defaults, release=unused("network_endpoint_group")),
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
    "networkEndpointGroups.attachNetworkEndpoints": attach_endpoints,
    "networkEndpointGroups.detachNetworkEndpoints": detach_endpoints,
    "networkEndpointGroups.listNetworkEndpoints": list_endpoints,
}
