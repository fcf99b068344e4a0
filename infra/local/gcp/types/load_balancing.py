"""Compute Engine's load balancing: from the address to the backends."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import INT64, ONE_OF_LIST, REGION, ZONE, Codec, Field, ResourceType, Update

GLOBAL = "projects/{project}/global"
SET_LABELS = Update(("labels",), "POST", "/setLabels", kept=("labelFingerprint",))


class HealthCheck(Lifecycle):
    """Its type is the one of its checks that is there."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return super().create_body(inputs, names) | self._type(inputs)

    def update_extra(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return self._type(inputs)

    def _type(self, inputs: dict[str, Any]) -> dict[str, Any]:
        found = [key.removesuffix("HealthCheck") for key, value in inputs.items() if key.endswith("HealthCheck") and value is not None]
        return {"type": {"grpcTls": "GRPC_WITH_TLS"}.get(found[0], found[0].upper())} if found else {}


HEALTH_CHECK = ResourceType(
    "gcp:compute/healthCheck:HealthCheck",
    "compute",
    f"{GLOBAL}/healthChecks/{{name}}",
    defaults={
        "checkIntervalSec": 5,
        "healthyThreshold": 2,
        "timeoutSec": 5,
        "unhealthyThreshold": 2,
        "http2HealthCheck.proxyHeader": "NONE",
        "httpHealthCheck.proxyHeader": "NONE",
        "httpsHealthCheck.proxyHeader": "NONE",
        "sslHealthCheck.proxyHeader": "NONE",
        "tcpHealthCheck.proxyHeader": "NONE",
        "http2HealthCheck.requestPath": "/",
        "httpHealthCheck.requestPath": "/",
        "httpsHealthCheck.requestPath": "/",
    },
    fields=(Field("logConfig", absent={"enable": False}), Field("sourceRegions", absent=None)),
    updates=(Update(method="PUT"),),
    lifecycle=HealthCheck,
)

BACKEND_SERVICE = ResourceType(
    "gcp:compute/backendService:BackendService",
    "compute",
    f"{GLOBAL}/backendServices/{{name}}",
    defaults={"backends.capacityScaler": 1, "connectionDrainingTimeoutSec": 300},
    fields=(
        Field("customRequestHeaders", absent=None),
        Field("customResponseHeaders", absent=None),
        Field("logConfig.optionalFields", absent=None),
        Field("connectionDrainingTimeoutSec", "connectionDraining.drainingTimeoutSec"),
        Field("enableCdn", "enableCDN"),
        Field("generatedId", "id", codec=INT64),
        Field("healthChecks", codec=ONE_OF_LIST),
        Field("iap", always=True, codec=Codec(decode=lambda value: value or None)),
        Field("params", unread=True),
    ),
    computed=("iap", "portName", "sessionAffinity", "logConfig", "backends.description", "backends.maxUtilization"),
    sets=("backends",),
    updates=(
        Update(("securityPolicy",), "POST", "/setSecurityPolicy"),
        Update(method="PUT", kept=("fingerprint", "name"), zeros={"customRequestHeaders": [], "customResponseHeaders": []}),
    ),
)

ONE_PORT = Codec(decode=lambda value: value.partition("-")[0] if len({*value.split("-")}) == 1 else value)
"""Google answers a single port as a range of one."""

IN_FULL = Codec(lambda value, names: value if "://" in value or "/" not in value else names["endpoint"] + value)
"""A backend is sent as a full link."""


class UrlMap(Lifecycle):
    """Its links are full ones."""

    def names(self, inputs: Any) -> dict[str, Any]:
        return super().names(inputs) | {"endpoint": self.client.config.endpoint("compute")}


URL_MAP = ResourceType(
    "gcp:compute/uRLMap:URLMap",
    "compute",
    f"{GLOBAL}/urlMaps/{{name}}",
    fields=(
        Field("mapId", "id", codec=INT64),
        *(
            Field(path, codec=IN_FULL)
            for path in (
                "defaultService",
                "defaultRouteAction.weightedBackendServices.backendService",
                "pathMatchers.defaultService",
                "pathMatchers.pathRules.service",
                "pathMatchers.routeRules.service",
                "pathMatchers.routeRules.routeAction.weightedBackendServices.backendService",
                "pathMatchers.pathRules.routeAction.weightedBackendServices.backendService",
                "tests.service",
            )
        ),
    ),
    updates=(Update(method="PUT", kept=("fingerprint", "name")),),
    lifecycle=UrlMap,
)

HTTP_PROXY = ResourceType(
    "gcp:compute/targetHttpProxy:TargetHttpProxy",
    "compute",
    f"{GLOBAL}/targetHttpProxies/{{name}}",
    fields=(Field("proxyId", "id", codec=INT64),),
    updates=(Update(("urlMap",), "POST", "/setUrlMap"),),
)

HTTPS_PROXY = ResourceType(
    "gcp:compute/targetHttpsProxy:TargetHttpsProxy",
    "compute",
    f"{GLOBAL}/targetHttpsProxies/{{name}}",
    defaults={"quicOverride": "NONE"},
    virtual={"certificateManagerCertificates": None},
    unsupported=("certificateManagerCertificates",),
    computed=("tlsEarlyData",),
    fields=(Field("proxyId", "id", codec=INT64), Field("serverTlsPolicy", always=True, zero=None)),
    updates=(
        Update(("urlMap",), "POST", "/setUrlMap"),
        Update(("sslCertificates",), "POST", "/setSslCertificates"),
        Update(("quicOverride",), "POST", "/setQuicOverride"),
        Update(("sslPolicy",), "POST", "/setSslPolicy"),
        Update(("certificateMap",), "POST", "/setCertificateMap"),
    ),
)

CERTIFICATE = ResourceType(
    "gcp:compute/managedSslCertificate:ManagedSslCertificate",
    "compute",
    f"{GLOBAL}/sslCertificates/{{name}}",
    defaults={"type": "MANAGED"},
    fields=(Field("certificateId", "id", codec=INT64), Field("subjectAlternativeNames", absent=[])),
)

FORWARDING_RULE = ResourceType(
    "gcp:compute/globalForwardingRule:GlobalForwardingRule",
    "compute",
    f"{GLOBAL}/forwardingRules/{{name}}",
    virtual={"noAutomateDnsZone": None},
    unsupported=("noAutomateDnsZone",),
    fields=(
        Field("forwardingRuleId", "id", codec=INT64),
        Field("ipAddress", "IPAddress"),
        Field("ipProtocol", "IPProtocol"),
        Field("portRange", codec=ONE_PORT),
        Field("sourceIpRanges", absent=None),
    ),
    computed=("ipAddress", "ipProtocol", "network", "networkTier"),
    updates=(SET_LABELS, Update(("target",), "POST", "/setTarget"), Update()),
)


class SecurityPolicy(Lifecycle):
    """Labels are a call of their own, always."""

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        made = super().create_body(inputs, names)
        made.pop("labels", None)
        return made

    def created(self, names: dict[str, Any], inputs: dict[str, Any]) -> None:
        now = self.get(names) or {}
        body = {"labelFingerprint": now.get("labelFingerprint", ""), "labels": self._labels(inputs)}
        answer = self.call("POST", self.fill(self.row.url, names) + "/setLabels", {}, body, names)
        self.client.finished(self.row.service, answer, names["project"])


SECURITY_POLICY = ResourceType(
    "gcp:compute/securityPolicy:SecurityPolicy",
    "compute",
    f"{GLOBAL}/securityPolicies/{{name}}",
    fields=(
        Field("description", always=True),
        Field("rules.description", always=True),
        Field("rules.preview", always=True),
        Field("rules.rateLimitOptions.enforceOnKey", always=True),
        Field("rules.rateLimitOptions.enforceOnKeyConfigs", always=True),
        Field("rules.rateLimitOptions.enforceOnKeyName", always=True),
    ),
    computed=("type", "adaptiveProtectionConfig", "advancedOptionsConfig"),
    sets=("rules",),
    updates=(SET_LABELS, Update(kept=("fingerprint",))),
    lifecycle=SecurityPolicy,
)

ENDPOINT_GROUP = ResourceType(
    "gcp:compute/networkEndpointGroup:NetworkEndpointGroup",
    "compute",
    "projects/{project}/zones/{zone}/networkEndpointGroups/{name}",
    fields=(Field("zone", codec=ZONE), Field("generatedId", "id", codec=INT64), Field("size", absent=0)),
)

SERVERLESS_GROUP = ResourceType(
    "gcp:compute/regionNetworkEndpointGroup:RegionNetworkEndpointGroup",
    "compute",
    "projects/{project}/regions/{region}/networkEndpointGroups/{name}",
    fields=(
        Field("appEngine", always=True),
        Field("serverlessDeployment", always=True),
        Field("region", codec=Codec(REGION.encode)),
    ),
)

ROWS = (
    HEALTH_CHECK,
    BACKEND_SERVICE,
    URL_MAP,
    HTTP_PROXY,
    HTTPS_PROXY,
    CERTIFICATE,
    FORWARDING_RULE,
    SECURITY_POLICY,
    ENDPOINT_GROUP,
    SERVERLESS_GROUP,
)
