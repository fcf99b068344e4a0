"""The objects of a cluster, as the store keeps them: each as it is answered, by cluster, group, plural, namespace and name."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.sandbox.service import Body
from infra.sandbox.services.container import parts
from infra.sandbox.services.kubernetes import kinds
from infra.sandbox.services.kubernetes.kinds import Kind

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

STORED = "kubernetes"
"""The name that the store has them under, beside its services."""
DOMAIN = ".gke.goog"
NOWHERE = "-"
"""In the place of a namespace, of what is in none."""
CHARTS = {"kueue": kinds.KUEUE, "jobset": kinds.JOBSET, "lws": kinds.LWS, "kuberay-operator": kinds.RAY}
"""Helm chart -> what it brings. Source: the charts' own `Chart.yaml`."""
GROUPS = {"kueue.x-k8s.io": kinds.KUEUE, "jobset.x-k8s.io": kinds.JOBSET, "leaderworkerset.x-k8s.io": kinds.LWS, "ray.io": kinds.RAY}
"""Group -> what its definitions bring, where somebody applies them without a chart."""
RELEASE = "helm.sh/release.v1"
ANSWERS = ("RUNNING", "RECONCILING", "DEGRADED", "STOPPING")
"""States of a cluster whose API server answers. Source: `Cluster.status` in the discovery document: the others are not usable."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster's objects."""

    cloud: Cloud
    name: str
    """`projects/P/locations/L/clusters/C`."""

    @property
    def body(self) -> Body:
        """The cluster as GKE keeps it."""
        return self.cloud.store.get(parts.HOST, self.name) or {}

    @property
    def now(self) -> str:
        return stamp(self.cloud.moment)

    def key(self, kind: Kind, namespace: str, name: str) -> str:
        return f"{self.name}/{kind.words}/{namespace or NOWHERE}/{name}"

    def get(self, kind: Kind, namespace: str, name: str) -> Body | None:
        return self.cloud.store.get(STORED, self.key(kind, namespace if kind.namespaced else "", name))

    def all(self, kind: Kind, namespace: str = "") -> list[Body]:
        """In the order of namespaces and names, as an API server lists."""
        items = self.cloud.store.items(STORED, f"{self.name}/{kind.words}")
        found = [body for _, body in items if not namespace or body["metadata"].get("namespace") == namespace]
        return sorted(found, key=lambda body: (body["metadata"].get("namespace", ""), body["metadata"]["name"]))

    def every(self) -> Iterator[tuple[Kind, Body]]:
        """All, oldest first."""
        for _, name, body in self.cloud.store.every(STORED, f"{self.name}/"):
            group, plural = name[len(self.name) + 1 :].split("/")[:2]
            kind = kinds.BY_WORDS.get(f"{group}/{plural}") or self.defined(f"{group}/{plural}")
            if kind is not None:
                yield kind, body

    def keep(self, kind: Kind, body: Body) -> Body:
        """Makes or changes one: it gets the next version."""
        meta = body["metadata"]
        meta["resourceVersion"] = self.next_version()
        key = self.key(kind, meta.get("namespace", ""), meta["name"])
        self.cloud.store.put(STORED, key, body, f"{self.name}/{kind.words}")
        return body

    def drop(self, kind: Kind, body: Body) -> None:
        meta = body["metadata"]
        self.cloud.store.delete(STORED, self.key(kind, meta.get("namespace", ""), meta["name"]))

    def next_version(self) -> str:
        return str(FIRST_VERSION + self.cloud.store.next(f"{STORED}/version/{self.name}"))

    def version(self) -> str:
        """The newest of all, as a list has it."""
        return str(FIRST_VERSION + int(self.cloud.store.fact(f"{STORED}/version/{self.name}") or 0))

    def new_id(self) -> str:
        return self.cloud.uuid(self.cloud.store.next("ids"))

    # What there is.

    def brought(self) -> frozenset[str]:
        """What brings kinds here: the fields of the cluster, charts that are released, definitions that somebody applied."""
        cluster = self.body
        autopilot = bool(cluster.get("autopilot", {}).get("enabled"))
        found = {"", kinds.GKE}
        # Sources: the discovery document's descriptions; Autopilot's: the comparison of Autopilot and Standard in GKE's documentation.
        if cluster.get("networkConfig", {}).get("gatewayApiConfig", {}).get("channel", "") == "CHANNEL_STANDARD" or autopilot:
            found.add(kinds.GATEWAY)
        if cluster.get("monitoringConfig", {}).get("managedPrometheusConfig", {}).get("enabled") or autopilot:
            found.add(kinds.PROMETHEUS)
        if cluster.get("secretManagerConfig", {}).get("enabled"):
            found.add(kinds.SECRETS)
        if cluster.get("verticalPodAutoscaling", {}).get("enabled") or autopilot:
            found.add(kinds.VPA)
        if cluster.get("addonsConfig", {}).get("rayOperatorConfig", {}).get("enabled"):
            found.add(kinds.RAY)
        found |= {CHARTS[chart] for chart in self.charts() if chart in CHARTS}
        return frozenset(found | {GROUPS[group] for one in self.all(DEFINITION) if (group := one["spec"].get("group")) in GROUPS})

    def charts(self) -> set[str]:
        """Helm charts that are released here."""
        return {chart for secret in self.all(SECRET) if (chart := chart_of(secret))}

    def defined(self, words: str) -> Kind | None:
        """The kind that a user's definition has at `GROUP/PLURAL`."""
        definition = self.get(DEFINITION, "", ".".join(reversed(words.split("/"))))
        return next(iter(kinds.defined(definition)), None) if definition else None

    def kinds(self) -> list[Kind]:
        """All that the API server has."""
        has = self.brought()
        known = [kind for kind in kinds.KINDS if kind.brought in has]
        words = {kind.words for kind in known}
        own = [kind for one in self.all(DEFINITION) for kind in kinds.defined(one)]
        return known + [kind for kind in own if kind.words not in words]


FIRST_VERSION = 1000
"""A real cluster has written some objects before anybody reads its first one."""
SECRET, DEFINITION = kinds.named("", "Secret"), kinds.named("apiextensions.k8s.io", "CustomResourceDefinition")
NAMESPACE = kinds.named("", "Namespace")


def chart_of(secret: Body) -> str:
    """The chart of a release that Helm keeps in a secret; empty for any other one, and for one that is not deployed."""
    labels = secret["metadata"].get("labels") or {}
    if secret.get("type") != RELEASE or labels.get("owner") != "helm" or labels.get("status", "deployed") != "deployed":
        return ""
    try:
        text = gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"])))
        return str(json.loads(text)["chart"]["metadata"]["name"])
    except (KeyError, TypeError, ValueError, OSError, EOFError, zlib.error):
        return ""


def stamp(moment: float) -> str:
    """A moment as Kubernetes writes it: whole seconds."""
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    """The moment that was written so."""
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def find(cloud: Cloud, host: str) -> Cluster | None:
    """The cluster whose API server answers at a DNS name."""
    for name, body in cloud.store.of_kind(parts.HOST, "clusters"):
        endpoint = body.get("controlPlaneEndpointsConfig", {}).get("dnsEndpointConfig", {}).get("endpoint", "")
        if endpoint == host and body.get("status") in ANSWERS:
            return Cluster(cloud, name)
    return None


def clusters(cloud: Cloud) -> list[Cluster]:
    """Those whose API servers answer."""
    found = cloud.store.of_kind(parts.HOST, "clusters")
    return [Cluster(cloud, name) for name, body in found if body.get("status") in ANSWERS]


def label(body: Body, key: str) -> str:
    """A label's value; empty where there is none."""
    return str((body["metadata"].get("labels") or {}).get(key, ""))


def at(body: Any, *words: str) -> Any:
    """What a body has at a path; None where it has nothing."""
    for word in words:
        if not isinstance(body, dict):
            return None
        body = body.get(word)
    return body
