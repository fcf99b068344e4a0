"""
Objects of Kubernetes as resources: a manifest, as the API has it, by the official provider.

The provider's SDK has a class for each kind, with each field in snake case. Here a manifest stays a manifest: what is declared is what
`kubectl get -o yaml` shows, and what the schemas of Kubernetes are held against.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import pulumi
from pulumi_kubernetes import Provider

LOGIN = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "gke-gcloud-auth-plugin",
    "installHint": "install gke-gcloud-auth-plugin: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl",
    "interactiveMode": "Never",
    "provideClusterInfo": True,
}
"""How a client shows who it is: by Google's own plugin, with the credentials of whoever runs it.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl, read 2026-11."""


def kubeconfig(endpoint: str, sandbox: str = "") -> str:
    """
    How a cluster's API is reached.

    Args:
        endpoint: DNS name of the control plane.
        sandbox: Address of a local Google Cloud, which has the API below that name.
    """
    server = f"{sandbox}/{endpoint}" if sandbox else f"https://{endpoint}"
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": {"server": server}}],
            "users": [{"name": "user", "user": {} if sandbox else {"exec": LOGIN}}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
            "current-context": "cluster",
        }
    )


def provider(name: str, endpoint: pulumi.Input[str], *, sandbox: str, identifier: str) -> Provider:
    """
    The provider of one cluster.

    Args:
        endpoint: DNS name of its control plane.
        sandbox: Address of a local Google Cloud; empty for Google's own.
        identifier: What makes it another cluster: while it stays, nothing in the cluster is made anew because of how it is reached.
    """
    reached = pulumi.Output.from_input(endpoint).apply(lambda found: kubeconfig(found, sandbox))
    return Provider(name, kubeconfig=reached, cluster_identifier=identifier)


class Object(pulumi.CustomResource):
    """One object of Kubernetes."""

    def __init__(self, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        """
        Args:
            manifest: With `apiVersion`, `kind` and `metadata.name`, and a namespace where its kind has one.
        """
        metadata = manifest["metadata"]
        name = "-".join([manifest["kind"].lower(), *([metadata["namespace"]] if "namespace" in metadata else []), metadata["name"]])
        api = manifest["apiVersion"]
        group = api if "/" in api else f"core/{api}"
        plugin = pulumi.ResourceOptions(version=version("pulumi-kubernetes"))
        super().__init__(f"kubernetes:{group}:{manifest['kind']}", name, dict(manifest), pulumi.ResourceOptions.merge(plugin, opts))


class Release(pulumi.CustomResource):
    """One release of a Helm chart, under its own name."""

    def __init__(
        self,
        name: str,
        *,
        chart: str,
        version_of_chart: str,
        namespace: str,
        values: Mapping[str, Any],
        repository: str = "",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            chart: `oci://` and its whole place, or its name in *repository*.
            namespace: Made with it.
        """
        inputs = {
            "name": name,
            "chart": chart,
            "version": version_of_chart,
            "namespace": namespace,
            "createNamespace": True,
            "values": dict(values),
        }
        if repository:
            inputs["repositoryOpts"] = {"repo": repository}
        plugin = pulumi.ResourceOptions(version=version("pulumi-kubernetes"))
        super().__init__("kubernetes:helm.sh/v3:Release", f"release-{name}", inputs, pulumi.ResourceOptions.merge(plugin, opts))
