"""
The kinds of objects that a cluster's API server knows, and what brings those that are not Kubernetes' own.

Sources: the API reference of Kubernetes 1.35; for GKE's own kinds https://docs.cloud.google.com/kubernetes-engine/docs/reference, read
2026-11; for the others the CustomResourceDefinitions of Kueue, JobSet, LeaderWorkerSet and KubeRay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CORE = "core"
"""What stands for the group without a name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object."""

    group: str
    versions: tuple[str, ...]
    """Those that are served, the preferred one first: all of one shape."""
    name: str
    plural: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    status: bool = False
    """Whether the status is written at an address of its own."""
    scale: bool = False
    """Whether `spec.replicas` is written at an address of its own."""
    brought: str = ""
    """What it comes with; empty: every cluster has it."""
    custom: bool = False
    """Whether it is defined by a CustomResourceDefinition."""

    @property
    def words(self) -> str:
        """Group and plural, as the store has them."""
        return f"{self.group or CORE}/{self.plural}"

    @property
    def api_version(self) -> str:
        """The preferred one."""
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]


def _own(group: str, version: str, *rows: str) -> tuple[Kind, ...]:
    """
    Kinds of Kubernetes itself.

    Args:
        rows: Name, plural, short names with commas or `-`, and flags or `-`: `c` cluster-wide, `s` status, `r` replicas.
    """
    return tuple(_kind(row, group, version) for row in rows)


def _brought(by: str, group: str, versions: str, *rows: str) -> tuple[Kind, ...]:
    """Kinds that something brings, by CustomResourceDefinitions."""
    return tuple(_kind(row, group, versions, by) for row in rows)


def _kind(row: str, group: str, versions: str, by: str = "") -> Kind:
    name, plural, short, flags = row.split()
    return Kind(
        group=group,
        versions=tuple(versions.split()),
        name=name,
        plural=plural,
        namespaced="c" not in flags,
        short=() if short == "-" else tuple(short.split(",")),
        status="s" in flags,
        scale="r" in flags,
        brought=by,
        custom=bool(by),
    )


GKE, GATEWAY, PROMETHEUS, SECRETS, VPA, KUEUE, JOBSET, LWS, RAY = (
    "gke",
    "gateway",
    "prometheus",
    "secrets",
    "vpa",
    "kueue",
    "jobset",
    "lws",
    "ray",
)
"""What brings kinds: GKE itself, a field of the cluster, or a chart."""

KINDS: tuple[Kind, ...] = (
    *_own(
        "",
        "v1",
        "Namespace namespaces ns cs",
        "Node nodes no cs",
        "Pod pods po s",
        "Service services svc s",
        "ConfigMap configmaps cm -",
        "Secret secrets - -",
        "ServiceAccount serviceaccounts sa -",
        "PersistentVolumeClaim persistentvolumeclaims pvc s",
        "PersistentVolume persistentvolumes pv cs",
        "Endpoints endpoints ep -",
        "Event events ev -",
        "LimitRange limitranges limits -",
        "ResourceQuota resourcequotas quota s",
        "PodTemplate podtemplates - -",
    ),
    *_own(
        "apps",
        "v1",
        "Deployment deployments deploy sr",
        "ReplicaSet replicasets rs sr",
        "StatefulSet statefulsets sts sr",
        "DaemonSet daemonsets ds s",
        "ControllerRevision controllerrevisions - -",
    ),
    *_own("batch", "v1", "Job jobs - s", "CronJob cronjobs cj s"),
    *_own("apiregistration.k8s.io", "v1", "APIService apiservices - c"),
    *_own("autoscaling", "v2", "HorizontalPodAutoscaler horizontalpodautoscalers hpa s"),
    *_own("policy", "v1", "PodDisruptionBudget poddisruptionbudgets pdb s"),
    *_own(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy networkpolicies netpol -",
        "Ingress ingresses ing s",
        "IngressClass ingressclasses - c",
    ),
    *_own(
        "rbac.authorization.k8s.io",
        "v1",
        "Role roles - -",
        "RoleBinding rolebindings - -",
        "ClusterRole clusterroles - c",
        "ClusterRoleBinding clusterrolebindings - c",
    ),
    *_own("storage.k8s.io", "v1", "StorageClass storageclasses sc c", "CSIDriver csidrivers - c"),
    *_own("scheduling.k8s.io", "v1", "PriorityClass priorityclasses pc c"),
    *_own("node.k8s.io", "v1", "RuntimeClass runtimeclasses - c"),
    *_own("coordination.k8s.io", "v1", "Lease leases - -"),
    *_own("discovery.k8s.io", "v1", "EndpointSlice endpointslices - -"),
    *_own("apiextensions.k8s.io", "v1", "CustomResourceDefinition customresourcedefinitions crd,crds cs"),
    *_own(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration mutatingwebhookconfigurations - c",
        "ValidatingWebhookConfiguration validatingwebhookconfigurations - c",
        "ValidatingAdmissionPolicy validatingadmissionpolicies - cs",
        "ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - c",
    ),
    *_own(
        "resource.k8s.io",
        "v1",
        "DeviceClass deviceclasses - c",
        "ResourceClaim resourceclaims - s",
        "ResourceClaimTemplate resourceclaimtemplates - -",
    ),
    *_brought(GKE, "cloud.google.com", "v1", "ComputeClass computeclasses cc,ccs cs", "BackendConfig backendconfigs bc -"),
    *_brought(GKE, "networking.gke.io", "v1", "ManagedCertificate managedcertificates mcrt s"),
    *_brought(GKE, "autoscaling.x-k8s.io", "v1", "ProvisioningRequest provisioningrequests provreq,provreqs s"),
    *_brought(GKE, "autoscaling.x-k8s.io", "v1beta1", "CapacityQuota capacityquotas cq cs"),
    *_brought(
        GATEWAY,
        "gateway.networking.k8s.io",
        "v1",
        "GatewayClass gatewayclasses gc cs",
        "Gateway gateways gtw s",
        "HTTPRoute httproutes - s",
    ),
    *_brought(GATEWAY, "gateway.networking.k8s.io", "v1beta1", "ReferenceGrant referencegrants refgrant -"),
    *_brought(
        GATEWAY,
        "networking.gke.io",
        "v1",
        "GCPBackendPolicy gcpbackendpolicies - s",
        "GCPGatewayPolicy gcpgatewaypolicies - s",
        "HealthCheckPolicy healthcheckpolicies - s",
    ),
    *_brought(GATEWAY, "inference.networking.k8s.io", "v1", "InferencePool inferencepools infpool s"),
    *_brought(
        PROMETHEUS,
        "monitoring.googleapis.com",
        "v1",
        "PodMonitoring podmonitorings - s",
        "ClusterPodMonitoring clusterpodmonitorings - cs",
        "Rules rules - s",
        "ClusterRules clusterrules - cs",
        "GlobalRules globalrules - cs",
        "OperatorConfig operatorconfigs - -",
    ),
    *_brought(SECRETS, "secrets-store.csi.x-k8s.io", "v1", "SecretProviderClass secretproviderclasses - -"),
    *_brought(VPA, "autoscaling.k8s.io", "v1", "VerticalPodAutoscaler verticalpodautoscalers vpa s"),
    *_brought(
        KUEUE,
        "kueue.x-k8s.io",
        "v1beta2",
        "ClusterQueue clusterqueues cq cs",
        "LocalQueue localqueues queue,queues,lq s",
        "ResourceFlavor resourceflavors flavor,flavors,rf c",
        "Workload workloads wl s",
        "WorkloadPriorityClass workloadpriorityclasses - c",
        "AdmissionCheck admissionchecks - cs",
        "ProvisioningRequestConfig provisioningrequestconfigs - c",
        "Topology topologies - c",
        "Cohort cohorts - cs",
    ),
    *_brought(JOBSET, "jobset.x-k8s.io", "v1alpha2", "JobSet jobsets - s"),
    *_brought(LWS, "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet leaderworkersets lws sr"),
    *_brought(
        RAY,
        "ray.io",
        "v1",
        "RayCluster rayclusters - s",
        "RayJob rayjobs - s",
        "RayService rayservices - s",
    ),
)
BY_WORDS = {kind.words: kind for kind in KINDS}
COUNTED = frozenset({"apps", "batch", "policy", "networking.k8s.io", "scheduling.k8s.io", "admissionregistration.k8s.io"})
"""Groups whose objects have a `metadata.generation`; so have pods and what is custom. Source: `pkg/registry` of k8s.io/kubernetes."""


def counts(kind: Kind) -> bool:
    """Whether its objects count their generations."""
    return kind.custom or kind.group in COUNTED or kind.name == "Pod"


def named(group: str, name: str) -> Kind:
    """The kind of a group and a name, such as `apps` and `Deployment`."""
    return next(kind for kind in KINDS if (kind.group, kind.name) == (group, name))


def defined(definition: dict[str, object]) -> Iterable[Kind]:
    """The kind that a CustomResourceDefinition of a user defines."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    names, versions = spec.get("names"), spec.get("versions")
    if not isinstance(names, dict) or not isinstance(versions, list):
        return
    served = tuple(str(one["name"]) for one in versions if isinstance(one, dict) and one.get("served") and "name" in one)
    if served and names.get("kind") and names.get("plural") and spec.get("group"):
        has = [one.get("subresources") or {} for one in versions if isinstance(one, dict)]
        yield Kind(
            group=str(spec["group"]),
            versions=served,
            name=str(names["kind"]),
            plural=str(names["plural"]),
            namespaced=spec.get("scope") != "Cluster",
            short=tuple(map(str, names.get("shortNames") or [])),
            status=any("status" in one for one in has),
            custom=True,
        )
