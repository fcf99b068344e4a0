"""Kinds of objects: what a type token says, and what is no object of the stand-in."""

from __future__ import annotations

from typing import NamedTuple

from infra.catalog.manifest_schemas import CLUSTER_WIDE
from infra.local.kubernetes.kubeconfig import FIX
from infra.provider.server import ProviderError

PACKAGE = "kubernetes"
CORE = "core"
RELEASE = "kubernetes:helm.sh/v3:Release"
RENDERED = ("yaml", "kustomize", "helm.sh/v4", "helm.sh/v3:Chart", "helm.sh/v2")
"""Beginnings of what makes objects out of files or charts."""
OWN_GROUPS = frozenset(
    {
        "",
        "apps",
        "autoscaling",
        "batch",
        "policy",
        *(
            f"{name}.k8s.io"
            for name in (
                "admissionregistration",
                "apiextensions",
                "apiregistration",
                "certificates",
                "coordination",
                "discovery",
                "events",
                "flowcontrol.apiserver",
                "networking",
                "node",
                "rbac.authorization",
                "resource",
                "scheduling",
                "storage",
            )
        ),
    }
)
"""Groups of Kubernetes itself. Source: the API reference of Kubernetes 1.36. Others of its domain are custom: the Gateway API's."""


class Kind(NamedTuple):
    """Group, version and kind of an object."""

    group: str
    """Empty for the core group."""
    version: str
    name: str

    @property
    def api_version(self) -> str:
        """As a manifest has it: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where its group's version is served."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def own(self) -> bool:
        """Whether Kubernetes itself has it, and not a custom resource definition."""
        return self.group in OWN_GROUPS

    @property
    def of_cluster(self) -> bool:
        """Whether it is known to be in no namespace."""
        return self.own and self.name in CLUSTER_WIDE

    def __str__(self) -> str:
        return f"{self.api_version}/{self.name}"


def of_manifest(api_version: object, name: object) -> Kind:
    """The kind of a manifest's `apiVersion` and `kind`."""
    group, _, version = str(api_version).rpartition("/")
    return Kind("" if group == CORE else group, version, str(name))


def token_of(urn: str) -> str:
    """The type token of a resource: of the last type in its URN."""
    return urn.split("::")[2].rpartition("$")[2]


def of_token(token: str) -> Kind:
    """
    The kind of a type token, such as `kubernetes:apps/v1:Deployment`.

    Raises:
        ProviderError: It is no kind of object, or none of the stand-in's.
    """
    package, _, rest = token.partition(":")
    module, _, name = rest.rpartition(":")
    if package == PACKAGE and rest.startswith(RENDERED):
        raise ProviderError(f"{token}: the stand-in provider makes no objects out of files or charts\n{FIX}")
    group, slash, version = module.partition("/")
    if package != PACKAGE or not slash or not group or not version or not name:
        raise ProviderError(
            f"{token}: is no kind of object\n  allowed: kubernetes:GROUP/VERSION:KIND, such as kubernetes:apps/v1:Deployment"
        )
    kind = Kind("" if group == CORE else group, version, name)
    if kind.own and name.endswith("Patch"):
        raise ProviderError(f"{token}: the stand-in provider has no Patch resources; the official one does\n{FIX}")
    if kind.own and name.endswith("List"):
        raise ProviderError(f"{token}: lists are made by nobody: declare what is in them, each by itself")
    return kind
