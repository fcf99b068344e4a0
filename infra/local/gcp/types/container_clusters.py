"""Clusters of GKE."""

from __future__ import annotations

from typing import Any

from infra.local.gcp import body as bodies
from infra.local.gcp import diff
from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import INT64, Codec, Field, ResourceType
from infra.local.gcp.types import container_nodes as nodes
from infra.provider.calls import GoogleError, OperationError
from infra.provider.server import ProviderError

SCOPES = [
    f"https://www.googleapis.com/auth/{scope}"
    for scope in (
        "devstorage.read_only",
        "logging.write",
        "monitoring",
        "service.management.readonly",
        "servicecontrol",
        "trace.append",
    )
]
"""Scopes of the first pool's machines, which the provider sends where the program says none."""
DEFAULT_POOL = "default-pool"
ADDONS_ON = (
    "configConnectorConfig",
    "dnsCacheConfig",
    "gcePersistentDiskCsiDriverConfig",
    "gcpFilestoreCsiDriverConfig",
    "gcsFuseCsiDriverConfig",
    "gkeBackupAgentConfig",
    "highScaleCheckpointingConfig",
    "lustreCsiDriverConfig",
    "parallelstoreCsiDriverConfig",
    "rayOperatorConfigs",
    "statefulHaConfig",
)
ADDONS_OFF = ("cloudrunConfig", "horizontalPodAutoscaling", "httpLoadBalancing", "networkPolicyConfig")
"""Addons whose switch is called `enabled`, and those whose is `disabled`: it is sent in any case."""
OF_NETWORK = {
    "datapathProvider": "datapathProvider",
    "dnsConfig": "dnsConfig",
    "enableCiliumClusterwideNetworkPolicy": "enableCiliumClusterwideNetworkPolicy",
    "enableFqdnNetworkPolicy": "enableFqdnNetworkPolicy",
    "enableIntranodeVisibility": "enableIntraNodeVisibility",
    "enableL4IlbSubsetting": "enableL4ilbSubsetting",
    "enableMultiNetworking": "enableMultiNetworking",
    "gatewayApiConfig": "gatewayApiConfig",
    "inTransitEncryptionConfig": "inTransitEncryptionConfig",
    "privateIpv6GoogleAccess": "privateIpv6GoogleAccess",
}
"""Inputs that Google has within the cluster's network configuration -> their names there."""
DESIRED = {
    "addonsConfig": ("desiredAddonsConfig", "addonsConfig"),
    "binaryAuthorization": ("desiredBinaryAuthorization", "binaryAuthorization"),
    "clusterAutoscaling": ("desiredClusterAutoscaling", "autoscaling"),
    "costManagementConfig": ("desiredCostManagementConfig", "costManagementConfig"),
    "dnsConfig": ("desiredDnsConfig", "networkConfig.dnsConfig"),
    "enableCiliumClusterwideNetworkPolicy": (
        "desiredEnableCiliumClusterwideNetworkPolicy",
        "networkConfig.enableCiliumClusterwideNetworkPolicy",
    ),
    "enableFqdnNetworkPolicy": ("desiredEnableFqdnNetworkPolicy", "networkConfig.enableFqdnNetworkPolicy"),
    "enableShieldedNodes": ("desiredShieldedNodes", "shieldedNodes"),
    "gatewayApiConfig": ("desiredGatewayApiConfig", "networkConfig.gatewayApiConfig"),
    "inTransitEncryptionConfig": ("desiredInTransitEncryptionConfig", "networkConfig.inTransitEncryptionConfig"),
    "loggingConfig": ("desiredLoggingConfig", "loggingConfig"),
    "minMasterVersion": ("desiredMasterVersion", "initialClusterVersion"),
    "monitoringConfig": ("desiredMonitoringConfig", "monitoringConfig"),
    "nodeLocations": ("desiredLocations", "locations"),
    "notificationConfig": ("desiredNotificationConfig", "notificationConfig"),
    "releaseChannel": ("desiredReleaseChannel", "releaseChannel"),
    "secretManagerConfig": ("desiredSecretManagerConfig", "secretManagerConfig"),
    "securityPostureConfig": ("desiredSecurityPostureConfig", "securityPostureConfig"),
    "verticalPodAutoscaling": ("desiredVerticalPodAutoscaling", "verticalPodAutoscaling"),
    "workloadIdentityConfig": ("desiredWorkloadIdentityConfig", "workloadIdentityConfig"),
}
"""Input -> the field of an update that changes it, and where its value is in a create's body."""
SWITCHES = {"enableIntranodeVisibility": "desiredIntraNodeVisibilityConfig", "enableL4IlbSubsetting": "desiredL4ilbSubsettingConfig"}
ENDPOINTS = ("masterAuthorizedNetworksConfig", "controlPlaneEndpointsConfig", "privateClusterConfig")
UNSUPPORTED = (
    *("allowNetAdmin", "anonymousAuthenticationConfig", "authenticatorGroupsConfig", "autopilotClusterPolicyConfig"),
    *("autopilotPrivilegedAdmissions", "clusterTelemetry", "confidentialNodes", "databaseEncryption", "dataplaneOptimizationMode"),
    *("defaultSnatStatus", "desiredEmulatedVersion", "disableL4LbFirewallReconciliation", "enableK8sBetaApis", "enableTpu"),
    *("enterpriseConfig", "fleet", "gkeAutoUpgradeConfig", "identityServiceConfig", "ignoreNodeCountChanges", "loggingService"),
    *("managedMachineLearningDiagnosticsConfig", "managedOpentelemetryConfig", "masterAuth", "meshCertificates", "monitoringService"),
    *("networkPerformanceConfig", "networkPolicy", "nodeCreationConfig", "nodePoolAutoConfig", "nodePoolDefaults", "nodeVersion"),
    *("podAutoscaling", "podSecurityPolicyConfig", "protectConfig", "rbacBindingConfig", "resourceUsageExportConfig"),
    *("rollbackSafeUpgrade", "secretSyncConfig", "serviceExternalIpsConfig", "skipNodePoolRefresh", "tpuConfig"),
    *("userManagedKeysConfig", "workloadAltsConfig"),
)
"""Inputs that only the official provider acts upon."""


class Cluster(Lifecycle):
    """Changes each thing by a call of its own; what protects it is the provider's."""

    # What the provider calls

    def create(self, inputs: dict[str, Any]) -> Made:
        names = self.names(inputs)
        if self.get(names) is not None:
            raise ProviderError(f"resource - {self.fill(self.row.id_template, names)} - already exists")
        return super().create(inputs)

    def created(self, names: dict[str, Any], inputs: dict[str, Any]) -> None:
        if inputs.get("removeDefaultNodePool"):
            self._without_default_pool(names)

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        inputs = self._plain(new)
        names = self.names(inputs) | self.names_of(id, state)
        found = self.get(names) or {}
        changed = {str(change.path[0]) for change in diff.changes(self.row, old, new, state)}
        body = self.create_body(self._sent(inputs), names)["cluster"]
        url = self.fill(self.row.url, names)
        for name in sorted(changed & DESIRED.keys()):
            field, where = DESIRED[name]
            value = bodies.dig(body, where)
            self._send("PUT", url, {"update": {field: value if value is not None else {}}}, names)
        for name in sorted(changed & SWITCHES.keys()):
            self._send("PUT", url, {"update": {SWITCHES[name]: {"enabled": bool(inputs.get(name))}}}, names)
        if changed & set(ENDPOINTS):
            update = {"desiredControlPlaneEndpointsConfig": body["controlPlaneEndpointsConfig"]}
            if "privateClusterConfig" in changed:
                update["desiredDefaultEnablePrivateNodes"] = body["networkConfig"].get("defaultEnablePrivateNodes", False)
            self._send("PUT", url, {"update": update}, names)
        if "maintenancePolicy" in changed:
            version = (found.get("maintenancePolicy") or {}).get("resourceVersion", "")
            policy = body["maintenancePolicy"] | ({"resourceVersion": version} if version else {})
            self._send("POST", f"{url}:setMaintenancePolicy", {"maintenancePolicy": policy}, names)
        if "enableLegacyAbac" in changed:
            self._send("POST", f"{url}:setLegacyAbac", {"enabled": bool(inputs.get("enableLegacyAbac"))}, names)
        if self.row.labels in changed:
            labels = self._sent(self._with_others(inputs, state))[self.row.labels]
            fingerprint = found.get("labelFingerprint", "")
            self._send("POST", f"{url}:setResourceLabels", {"labelFingerprint": fingerprint, "resourceLabels": labels}, names)
        if "removeDefaultNodePool" in changed and inputs.get("removeDefaultNodePool"):
            self._without_default_pool(names)
        return self._now(id, names, state | inputs)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        if state.get("deletionProtection"):
            raise ProviderError(
                "Cannot destroy cluster because deletion_protection is set to true. Set it to false to proceed with cluster deletion.\n"
                "  fix: set deletionProtection to false, `pulumi up`, then destroy"
            )
        if self.get(self.names_of(id, state)) is not None:
            super().delete(id, state)

    # What subclasses change

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        cluster: dict[str, Any] = super().create_body(inputs, names)["cluster"]
        private, autopilot = inputs.get("privateClusterConfig") or {}, bool(inputs.get("enableAutopilot"))
        network = cluster.setdefault("networkConfig", {})
        cluster |= {key: network.pop(key) for key in ("network", "subnetwork") if key in network}
        if private.get("enablePrivateNodes"):
            network["defaultEnablePrivateNodes"] = True
        if autopilot:
            network["enableIntraNodeVisibility"] = True
        cluster["controlPlaneEndpointsConfig"] = _endpoints(inputs, private)
        if said := {key: private[key] for key in ("enablePrivateNodes", "masterIpv4CidrBlock") if private.get(key)}:
            cluster["privateClusterConfig"] = said
        policy = inputs.get("ipAllocationPolicy")
        cluster["ipAllocationPolicy"] = cluster.get("ipAllocationPolicy", {"stackType": "IPV4"}) | {"useIpAliases": policy is not None}
        cluster["maintenancePolicy"] = _maintenance(inputs.get("maintenancePolicy") or {})
        cluster["networkPolicy"] = {}
        cluster["shieldedNodes"] = {"enabled": inputs.get("enableShieldedNodes", True)}
        cluster.setdefault("nodeConfig", {}).setdefault("oauthScopes", SCOPES)
        if "autoscaling" in cluster:
            cluster["autoscaling"].setdefault("defaultComputeClassConfig", {})
        return {"cluster": cluster}

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        network, endpoints = answer.get("networkConfig") or {}, answer.get("controlPlaneEndpointsConfig") or {}
        by_address = endpoints.get("ipEndpointsConfig") or {}
        allowed = by_address.get("authorizedNetworksConfig") or {}
        private = answer.get("privateClusterConfig") or {}
        window = (answer.get("maintenancePolicy") or {}).get("window") or {}
        channel = (answer.get("releaseChannel") or {}).get("channel")
        always = ("binaryAuthorization", "networkPolicy", "podSecurityPolicyConfig", "secretManagerConfig", "secretSyncConfig")
        hollow: dict[str, Any] = {name: {} for name in always}
        seen = (
            hollow
            | {"autoscaling": {}, "notificationConfig": {"pubsub": {}}}
            | answer
            | {
                "masterAuth": {"clientCertificateConfig": {}} | answer.get("masterAuth", {}),
                "locations": [zone for zone in answer.get("locations", []) if zone != answer.get("zone")],
                "maintenancePolicy": _window(window) if window else None,
                "masterAuthorizedNetworksConfig": allowed if allowed.get("enabled") else None,
                "networkingMode": "VPC_NATIVE" if (answer.get("ipAllocationPolicy") or {}).get("useIpAliases") else "ROUTES",
                "nodePools": [_pool(pool) for pool in answer.get("nodePools", [])],
                "privateClusterConfig": {
                    "enablePrivateEndpoint": by_address.get("enabled", False) and not by_address.get("enablePublicEndpoint", False),
                    "enablePrivateNodes": network.get("defaultEnablePrivateNodes", False),
                    "masterGlobalAccessConfig": {"enabled": by_address.get("globalAccess", False)},
                    "masterIpv4CidrBlock": private.get("masterIpv4CidrBlock", ""),
                    "privateEndpoint": by_address.get("privateEndpoint", ""),
                    "privateEndpointSubnetwork": by_address.get("privateEndpointSubnetwork", ""),
                    "publicEndpoint": by_address.get("publicEndpoint", ""),
                },
                "releaseChannel": {"channel": channel or "UNSPECIFIED"},
                "controlPlaneEndpointsConfig": {
                    "dnsEndpointConfig": endpoints.get("dnsEndpointConfig") or {},
                    "ipEndpointsConfig": {"enabled": by_address.get("enabled", False)},
                },
            }
        )
        config = nodes.seen(answer.get("nodeConfig"), written.get("nodeConfig"))
        return super().outputs(seen | ({"nodeConfig": config} if config is not None else {}), names, written)

    # What is its own

    def _without_default_pool(self, names: dict[str, Any]) -> None:
        try:
            answer = self.call("DELETE", f"{self.fill(self.row.url, names)}/nodePools/{DEFAULT_POOL}", {}, None, names)
            self.client.finished(self.row.service, answer, names["project"])
        except OperationError as error:
            raise ProviderError(f"Error deleting default node pool: {error}") from None
        except GoogleError as error:
            if error.code != 404:
                raise

    def _send(self, method: str, path: str, body: dict[str, Any], names: dict[str, Any]) -> None:
        answer = self.client.call(method, self.row.service, path, {}, body)
        try:
            self.client.finished(self.row.service, answer, names["project"])
        except OperationError as error:
            raise ProviderError(f"Error waiting for {self.row.noun} to update: {error}") from None


def _endpoints(inputs: dict[str, Any], private: dict[str, Any]) -> dict[str, Any]:
    """Who reaches the control plane, and how: several inputs say it together."""
    said = inputs.get("controlPlaneEndpointsConfig") or {}
    allowed = inputs.get("masterAuthorizedNetworksConfig")
    networks: dict[str, Any] = {}
    if allowed is not None:
        networks = {"enabled": True} | {key: value for key, value in allowed.items() if value}
    dns = {"allowExternalTraffic": False, "enableK8sCertsViaDns": False, "enableK8sTokensViaDns": False}
    return {
        "dnsEndpointConfig": dns | {key: value for key, value in (said.get("dnsEndpointConfig") or {}).items() if key in dns},
        "ipEndpointsConfig": {
            "authorizedNetworksConfig": networks,
            "enablePublicEndpoint": not private.get("enablePrivateEndpoint", False),
            "enabled": (said.get("ipEndpointsConfig") or {}).get("enabled", True),
            "globalAccess": (private.get("masterGlobalAccessConfig") or {}).get("enabled", False),
            "privateEndpointSubnetwork": private.get("privateEndpointSubnetwork", ""),
        },
    }


def _maintenance(policy: dict[str, Any]) -> dict[str, Any]:
    """When Google may work on a cluster."""
    window: dict[str, Any] = {}
    if daily := policy.get("dailyMaintenanceWindow"):
        window["dailyMaintenanceWindow"] = {"startTime": daily["startTime"]}
    if recurring := policy.get("recurringWindow"):
        window["recurringWindow"] = {
            "window": {"startTime": recurring["startTime"], "endTime": recurring["endTime"]},
            "recurrence": recurring["recurrence"],
        }
    exclusions = {}
    for one in policy.get("maintenanceExclusions") or []:
        options = one.get("exclusionOptions")
        span = {"startTime": one["startTime"]} | ({"endTime": one["endTime"]} if one.get("endTime") else {})
        exclusions[one["exclusionName"]] = span | ({"maintenanceExclusionOptions": options} if options else {})
    return {"window": window | ({"maintenanceExclusions": exclusions} if exclusions else {})}


def _window(window: dict[str, Any]) -> dict[str, Any]:
    """The same as the program says it."""
    found: dict[str, Any] = {}
    if daily := window.get("dailyMaintenanceWindow"):
        found["dailyMaintenanceWindow"] = daily
    if recurring := window.get("recurringWindow"):
        found["recurringWindow"] = recurring.get("window", {}) | {"recurrence": recurring.get("recurrence", "")}
    if exclusions := window.get("maintenanceExclusions"):
        found["maintenanceExclusions"] = [
            {key: value for key, value in span.items() if key in ("startTime", "endTime")}
            | {"exclusionName": name}
            | ({"exclusionOptions": span["maintenanceExclusionOptions"]} if "maintenanceExclusionOptions" in span else {})
            for name, span in sorted(exclusions.items())
        ]
    return found


def _pool(pool: dict[str, Any]) -> dict[str, Any]:
    """A pool in short: what it is made of is the pool's own state."""
    kept = {key: pool[key] for key in ("name", "initialNodeCount", "instanceGroupUrls", "management", "version") if key in pool}
    return kept | {"nodeLocations": pool.get("locations", [])}


AUTOSCALING = "clusterAutoscaling"
DEFAULTS = f"{AUTOSCALING}.autoProvisioningDefaults"

CLUSTER = ResourceType(
    "gcp:container/cluster:Cluster",
    "container",
    "projects/{project}/locations/{location}/clusters/{name}",
    create_wrap="cluster",
    labels="resourceLabels",
    url_only=("location", "networkingMode", *ENDPOINTS, "enableShieldedNodes", "maintenancePolicy", "nodePools"),
    virtual={
        "allowNetAdmin": None,
        "deletionProtection": True,
        "ignoreNodeCountChanges": None,
        "minMasterVersion": None,
        "removeDefaultNodePool": None,
        "skipNodePoolRefresh": None,
    },
    defaults={
        "deletionProtection": True,
        "enableShieldedNodes": True,
        "ipAllocationPolicy.stackType": "IPV4",
        f"{DEFAULTS}.diskSize": 100,
        f"{DEFAULTS}.diskType": "pd-standard",
        f"{DEFAULTS}.imageType": "COS_CONTAINERD",
    },
    unless={"enableShieldedNodes": "enableAutopilot"},
    unsupported=UNSUPPORTED,
    fields=(
        *(Field(f"addonsConfig.{name}.enabled", always=True) for name in ADDONS_ON),
        *(Field(f"addonsConfig.{name}.disabled", always=True) for name in ADDONS_OFF),
        Field("addonsConfig.cloudrunConfig", "cloudRunConfig"),
        Field("addonsConfig.rayOperatorConfigs", "rayOperatorConfig", codec=Codec(lambda value, _: value[0], lambda value: [value])),
        Field("autopilotPrivilegedAdmissions", absent=[]),
        Field("binaryAuthorization", always=True, zero={"enabled": False}),
        Field(AUTOSCALING, "autoscaling"),
        Field(f"{AUTOSCALING}.enabled", "enableNodeAutoprovisioning", always=True),
        Field(f"{AUTOSCALING}.autoProvisioningLocations", "autoprovisioningLocations"),
        Field(f"{AUTOSCALING}.defaultComputeClassEnabled", "defaultComputeClassConfig.enabled"),
        Field(DEFAULTS, "autoprovisioningNodePoolDefaults"),
        Field(f"{DEFAULTS}.diskSize", "diskSizeGb"),
        Field(f"{DEFAULTS}.minCpuPlatform", always=True, zero="automatic"),
        Field(f"{DEFAULTS}.upgradeSettings", always=True, zero={}),
        Field(f"{AUTOSCALING}.resourceLimits.maximum", codec=INT64),
        Field(f"{AUTOSCALING}.resourceLimits.minimum", codec=INT64),
        Field("costManagementConfig.enabled", always=True),
        Field("dataplaneOptimizationMode", absent=None),
        Field("defaultMaxPodsPerNode", "defaultMaxPodsConstraint.maxPodsPerNode", codec=INT64, absent=None),
        Field("desiredEmulatedVersion", absent=None),
        Field("disableL4LbFirewallReconciliation", "networkConfig.disableL4LbFirewallReconciliation"),
        Field("emulatedVersion", "currentEmulatedVersion"),
        Field("enableAutopilot", "autopilot.enabled", always=True),
        Field("enableLegacyAbac", "legacyAbac.enabled", always=True),
        Field("enableShieldedNodes", "shieldedNodes.enabled"),
        *(Field(name, f"networkConfig.{rest}") for name, rest in OF_NETWORK.items()),
        Field("loggingConfig.enableComponents", "componentConfig.enableComponents"),
        Field("masterVersion", "currentMasterVersion"),
        Field("minMasterVersion", "initialClusterVersion"),
        Field("monitoringConfig.enableComponents", "componentConfig.enableComponents"),
        Field("monitoringConfig.managedPrometheus", "managedPrometheusConfig"),
        Field("monitoringConfig.managedPrometheus.enabled", always=True),
        Field("name"),
        Field("network", "networkConfig.network"),
        Field("nodeLocations", "locations"),
        Field("nodePools", absent=[]),
        Field("nodeVersion", "currentNodeVersion"),
        Field("notificationConfig", always=True, zero={"pubsub": {}}),
        Field("operation", absent=None),
        Field("secretManagerConfig.enabled", always=True),
        Field("subnetwork", "networkConfig.subnetwork"),
        Field("verticalPodAutoscaling.enabled", always=True),
        *nodes.fields("nodeConfig", nothing=False),
    ),
    computed=(
        *("addonsConfig", "clusterAutoscaling", "clusterIpv4Cidr", "controlPlaneEndpointsConfig", "databaseEncryption", "datapathProvider"),
        *("defaultMaxPodsPerNode", "defaultSnatStatus", "enableIntranodeVisibility", "enterpriseConfig", "ipAllocationPolicy"),
        *("loggingConfig", "loggingService", "masterAuth", "masterAuthorizedNetworksConfig", "monitoringConfig", "monitoringService"),
        *("network", "networkingMode", "networkPolicy", "nodeLocations", "nodePools", "nodePoolAutoConfig", "nodePoolDefaults"),
        *("nodeVersion", "notificationConfig", "podAutoscaling", "privateClusterConfig", "protectConfig", "rbacBindingConfig"),
        *("releaseChannel", "secretManagerConfig", "secretSyncConfig", "securityPostureConfig", "serviceExternalIpsConfig", "subnetwork"),
        *("anonymousAuthenticationConfig", "binaryAuthorization", "clusterTelemetry", "nodeCreationConfig", "userManagedKeysConfig"),
        *("verticalPodAutoscaling", "workloadIdentityConfig", "podSecurityPolicyConfig", "maintenancePolicy"),
        "addonsConfig.dnsCacheConfig",
        "addonsConfig.gcePersistentDiskCsiDriverConfig",
        "addonsConfig.networkPolicyConfig",
        "addonsConfig.nodeReadinessConfig",
        "controlPlaneEndpointsConfig.dnsEndpointConfig",
        "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint",
        "controlPlaneEndpointsConfig.ipEndpointsConfig",
        "ipAllocationPolicy.clusterIpv4CidrBlock",
        "ipAllocationPolicy.clusterSecondaryRangeName",
        "ipAllocationPolicy.networkTierConfig",
        "ipAllocationPolicy.podCidrOverprovisionConfig",
        "ipAllocationPolicy.servicesIpv4CidrBlock",
        "ipAllocationPolicy.servicesSecondaryRangeName",
        DEFAULTS,
        f"{DEFAULTS}.management",
        f"{DEFAULTS}.minCpuPlatform",
        f"{DEFAULTS}.upgradeSettings",
        "clusterAutoscaling.autoscalingProfile",
        "monitoringConfig.advancedDatapathObservabilityConfig",
        "monitoringConfig.enableComponents",
        "monitoringConfig.managedPrometheus",
        "privateClusterConfig.masterGlobalAccessConfig",
        "privateClusterConfig.masterIpv4CidrBlock",
        "privateClusterConfig.privateEndpoint",
        "privateClusterConfig.publicEndpoint",
        *nodes.computed("nodeConfig"),
    ),
    sets=("nodeLocations", "masterAuthorizedNetworksConfig.cidrBlocks"),
    lifecycle=Cluster,
)
