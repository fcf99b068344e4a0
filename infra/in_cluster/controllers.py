"""
Controllers of what Kubernetes itself does not have, each by its official Helm chart at a pinned version, and only where the file needs it.

They stand on nodes without accelerators: they tolerate no taint. What each asks for is written here, since the charts ask for more than a
small system pool has (that of LeaderWorkerSet for a whole core); their limits stay as the charts have them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi

from infra.catalog.nodes import Node
from infra.catalog.pods import PodNeed, reasons, taken
from infra.findings import Found
from infra.kubernetes import Release

Controller = Literal["kueue", "jobset", "lws", "kuberay-operator"]
QUEUES: Controller = "kueue"
JOB_SETS: Controller = "jobset"
GROUPS: Controller = "lws"
RAY: Controller = "kuberay-operator"


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart, and what its pods ask for."""

    name: Controller
    place: str
    """`oci://` and its whole place, or the repository that it is in."""
    version: str
    """The newest release whose chart and API were read, 2026-11: kueue v0.19.2 of 2026-08-20 (0.19.3 and 0.20.0 are out), jobset v0.12.0 of
    2026-05-08, lws v0.10.0 of 2026-08-11, kuberay v1.7.0 of 2026-08-20; dates by the projects' own tags."""
    cpu: str
    memory: str
    resources: tuple[str, ...]
    """Where its values have the resources of its container."""

    @property
    def namespace(self) -> str:
        return "kuberay-system" if self.name == RAY else f"{self.name}-system"

    @property
    def amounts(self) -> dict[str, Any]:
        return {"requests": {"cpu": self.cpu, "memory": self.memory}}

    def values(self) -> dict[str, Any]:
        """What is not as the chart has it."""
        found: dict[str, Any] = {}
        inner = found
        for key in self.resources[:-1]:
            inner = inner.setdefault(key, {})
        inner[self.resources[-1]] = self.amounts
        if self.name == QUEUES:
            found["managerConfig"] = {"controllerManagerConfigYaml": kueue_config()}
        return found


CHARTS: dict[Controller, Chart] = {
    one.name: one
    for one in (
        Chart(QUEUES, "oci://registry.k8s.io/kueue/charts/kueue", "0.19.2", "250m", "512Mi", ("controllerManager", "manager", "resources")),
        Chart(JOB_SETS, "oci://registry.k8s.io/jobset/charts/jobset", "0.12.0", "100m", "256Mi", ("controller", "resources")),
        Chart(GROUPS, "oci://registry.k8s.io/lws/charts/lws", "0.10.0", "100m", "256Mi", ("resources",)),
        Chart(RAY, "https://ray-project.github.io/kuberay-helm/", "1.7.0", "100m", "512Mi", ("resources",)),
    )
}
"""Sources: charts/kueue/README.md and values.yaml of kubernetes-sigs/kueue, charts/jobset of kubernetes-sigs/jobset, the installation page
of kubernetes-sigs/lws (`CHART_VERSION=0.10.0`), helm-chart/kuberay-operator of ray-project/kuberay. All read 2026-11."""

FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")
"""What Kueue holds back: what jobs are made of. What serves does not wait in a queue, and a Ray cluster grows and shrinks by itself."""


def kueue_config() -> str:
    """
    Kueue's own configuration, whole: the chart takes it as one text, and JSON is YAML.

    Jobs without a queue are not touched.

    Source: apis/config/v1beta2 of kubernetes-sigs/kueue v0.19.2; all but the last two are as the chart has them.
    """
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
    return json.dumps(config, indent=2)


class Controllers(pulumi.ComponentResource):
    """The controllers that a file needs."""

    releases: dict[Controller, Release]

    def __init__(self, name: str, needed: Iterable[Controller], *, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:controllers:Controllers", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.releases = {}
        for one in needed:
            chart = CHARTS[one]
            is_whole = chart.place.startswith("oci://")
            self.releases[one] = Release(
                one,
                chart=chart.place if is_whole else one,
                repository="" if is_whole else chart.place,
                version_of_chart=chart.version,
                namespace=chart.namespace,
                values=chart.values(),
                opts=child,
            )
        self.register_outputs({})

    def after(self, *needed: Controller) -> list[pulumi.Resource]:
        """What must stand before objects of these controllers' kinds are made; nothing of one that is there already."""
        return [self.releases[one] for one in needed if one in self.releases]


def warnings(needed: Sequence[Controller], nodes: Sequence[Node]) -> Iterator[Found]:
    """
    Controllers that find no room on the system pool, although nothing else stood on it.

    Args:
        nodes: All that the pool may have; none where the cluster makes its nodes itself, or is of others.
    """
    left = list(nodes)
    for one in needed if nodes else ():
        need = PodNeed.of({"containers": [{"resources": CHARTS[one].amounts}]})
        at = next((index for index, node in enumerate(left) if not reasons(need, node)), None)
        if at is None:
            words = f"{one} asks for {CHARTS[one].cpu} of a CPU and {CHARTS[one].memory}, and {nodes[0].name} has no room for it"
            yield Found(
                "controllers", "warning", f"{words}, with {len(nodes)} nodes at most", "raise `system_pool` of the region's cluster"
            )
        else:
            left[at] = taken(left[at], [need])
