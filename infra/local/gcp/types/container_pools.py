"""Node pools of GKE."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from infra.local.gcp import body as bodies
from infra.local.gcp import diff
from infra.local.gcp.lifecycle import FailedAfterMadeError, Lifecycle, Made
from infra.local.gcp.resource_type import INT64, Codec, Field, ResourceType
from infra.local.gcp.types import container_nodes as nodes
from infra.provider.calls import GoogleError, OperationError
from infra.provider.server import ProviderError

CLUSTER_URL = "projects/{project}/locations/{location}/clusters/{cluster}"
CLUSTER_ID = re.compile(r"projects/([^/]+)/locations/([^/]+)/clusters/([^/]+)$")
MANAGER = re.compile(r"projects/.+/instanceGroupManagers/[^/]+$")
IN_ERROR = ("ERROR", "RUNNING_WITH_ERROR")
BY_NAME = ("taints", "tags", "resourceManagerTags", "resourceLabels", "labels", "containerdConfig", "confidentialNodes")
"""Node settings whose update names the pool by `name`; the others do by `nodePoolId`. Source: what Config Connector, which holds the
official provider, was recorded to send, and that provider's public source."""
WRAPPED = {"labels": "labels", "tags": "tags", "taints": "taints", "resourceLabels": "labels"}
DISKS = ("diskSizeGb", "diskType", "machineType")
"""Settings that go in one update."""


class Pool(Lifecycle):
    """Reads pools by their cluster's list, waits for a pool to rest, and changes each thing by a call of its own."""

    # What the provider calls

    def create(self, inputs: dict[str, Any]) -> Made:
        names = self.names(inputs)
        if self.one(names) is not None:
            raise ProviderError(f"resource - {self.fill(self.row.id_template, names)} - already exists")
        made = super().create(inputs)
        found = self.one(names) or {}
        if found.get("status") in IN_ERROR:
            said = f"NodePool {names['name']} was created in the error state {found['status']!r}: {found.get('statusMessage', '')}"
            raise FailedAfterMadeError(said, made)
        return made

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        inputs = self._plain(new)
        names = self.names(inputs) | self.names_of(id, state)
        self.one(names)
        changed = {tuple(str(step) for step in change.path[:2]) for change in diff.changes(self.row, old, new, state)}
        self._scale(names, inputs, changed)
        self._configure(names, inputs, {path[1] for path in changed if path[0] == "nodeConfig" and len(path) > 1})
        self._rest(names, inputs, {path[0] for path in changed})
        self.call("GET", self.fill(CLUSTER_URL, names), {}, None, names)
        self.one(names)
        return self._now(id, names, state | inputs)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        if self.one(self.names_of(id, state)) is not None:
            super().delete(id, state)

    # What subclasses change

    def names(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A cluster may be named in full: then it says the place, too."""
        found = super().names(inputs)
        if match := CLUSTER_ID.search(str(found.get("cluster", ""))):
            found |= dict(zip(("project", "location", "cluster"), match.groups(), strict=True))
        return found

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        pool = super().create_body(inputs, names)["nodePool"]
        if pool.get("autoscaling"):
            pool["autoscaling"] = {"enabled": True} | pool["autoscaling"]
        if "config" in pool:
            pool["config"].setdefault("loggingConfig", {"variantConfig": {}})
        size = inputs.get("initialNodeCount") or inputs.get("nodeCount")
        return {"nodePool": pool | ({"initialNodeCount": size} if size else {})}

    def get(self, names: dict[str, Any]) -> dict[str, Any] | None:
        try:
            found = self.call("GET", f"{self.fill(CLUSTER_URL, names)}/nodePools", {}, None, names)
        except GoogleError as error:
            if error.code == 404:
                return None
            raise
        return next((pool for pool in found.get("nodePools", []) if pool.get("name") == names["name"]), None)

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        managers = [self._manager(url) for url in answer.get("instanceGroupUrls", [])]
        there = [one for one in managers if one]
        config = nodes.seen(answer.get("config"), written.get("nodeConfig"))
        seen = answer | ({"config": config} if config is not None else {})
        network = written.get("networkConfig") or {}
        found = super().outputs(seen, names, written) | {
            "nodeCount": sum(one.get("targetSize", 0) for one in there) // len(there) if there else 0,
            "managedInstanceGroupUrls": [one.get("instanceGroup", "") for one in there],
        }
        if found.get("networkConfig"):
            found["networkConfig"]["createPodRange"] = network.get("createPodRange", False)
        return found

    # What is its own

    def one(self, names: dict[str, Any]) -> dict[str, Any] | None:
        """The pool as it is asked for by itself: whether it rests."""
        return super().get(names)

    def _manager(self, url: str) -> dict[str, Any] | None:
        match = MANAGER.search(url)
        try:
            return self.client.call("GET", "compute", match[0]) if match else None
        except GoogleError as error:
            if error.code == 404:
                return None
            raise

    def _sent_to(self, method: str, path: str, body: dict[str, Any], names: dict[str, Any]) -> None:
        answer = self.client.call(method, self.row.service, path, {}, body, idempotent=True)
        try:
            self.client.finished(self.row.service, answer, names["project"])
        except OperationError as error:
            raise ProviderError(f"Error waiting for {self.row.noun} to update: {error}") from None

    def _scale(self, names: dict[str, Any], inputs: dict[str, Any], changed: set[tuple[str, ...]]) -> None:
        """Limits go by the cluster."""
        if not any(path[0] == "autoscaling" for path in changed):
            return
        scaling = inputs.get("autoscaling")
        wanted: dict[str, Any] = {"enabled": False}
        if scaling:
            sent = {key: value for key, value in scaling.items() if value}
            wanted = {"enabled": True, "minNodeCount": 0, "totalMinNodeCount": 0} | sent
        update = {
            "desiredNodePoolId": names["name"],
            "desiredNodePoolAutoscaling": {k: v for k, v in wanted.items() if k != "enabled" or v},
        }
        self._sent_to("PUT", self.fill(CLUSTER_URL, names), {"update": update}, names)

    def _configure(self, names: dict[str, Any], inputs: dict[str, Any], changed: set[str]) -> None:
        """Each setting of the machines has an update of its own."""
        config = bodies.body(self.row, inputs, names, ["nodeConfig"]).get("config", {})
        url, left = self.fill(self.row.url, names), sorted(changed)
        if any(name in DISKS for name in left):
            self._sent_to("PUT", url, {"name": names["name"]} | {name: config[name] for name in DISKS if config.get(name)}, names)
        for name in left:
            if name in DISKS:
                continue
            if name == "imageType":
                update = {"desiredNodePoolId": names["name"], "desiredImageType": config.get(name, "")}
                self._sent_to("PUT", self.fill(CLUSTER_URL, names), {"update": update}, names)
                continue
            field = "loggingConfig" if name == "loggingVariant" else name
            value = config.get(field)
            if name in WRAPPED:
                value = {WRAPPED[name]: value if value is not None else ([] if name in ("tags", "taints") else {})}
            key = "name" if name in BY_NAME or name == "loggingVariant" else "nodePoolId"
            self._sent_to("PUT", url, {key: names["name"], field: value if value is not None else {}}, names)

    def _rest(self, names: dict[str, Any], inputs: dict[str, Any], changed: set[str]) -> None:
        url = self.fill(self.row.url, names)
        if "nodeCount" in changed:
            self._sent_to("POST", f"{url}:setSize", {"nodeCount": inputs.get("nodeCount", 0)}, names)
        if "management" in changed:
            management = {"autoRepair": False, "autoUpgrade": False} | (inputs.get("management") or {})
            self._sent_to("POST", f"{url}:setManagement", {"management": management}, names)
        if "version" in changed:
            self._sent_to("PUT", url, {"nodePoolId": names["name"], "nodeVersion": inputs.get("version", "")}, names)
        if "nodeLocations" in changed:
            self._sent_to("PUT", url, {"locations": inputs.get("nodeLocations", [])}, names)
        if "upgradeSettings" in changed:
            settings = {key: value for key, value in (inputs.get("upgradeSettings") or {}).items() if value}
            self._sent_to("PUT", url, {"upgradeSettings": settings}, names)
        if "networkConfig" in changed:
            network = bodies.body(self.row, inputs, names, ["networkConfig"])["networkConfig"]
            self._sent_to("PUT", url, {"nodePoolId": names["name"], "nodeNetworkConfig": network}, names)


def _scaling(found: dict[str, Any]) -> dict[str, Any] | None:
    """Limits; none where it is not scaled by itself."""
    return {key: value for key, value in found.items() if key != "enabled"} if found.get("enabled") else None


POOL = ResourceType(
    "gcp:container/nodePool:NodePool",
    "container",
    f"{CLUSTER_URL}/nodePools/{{name}}",
    create_wrap="nodePool",
    url_only=("cluster", "location", "namePrefix", "nodeCount"),
    unsupported=("namePrefix", "maintenancePolicies", "nodeDrainConfigs", "ignoreNodeCountChanges"),
    virtual={"namePrefix": "", "ignoreNodeCountChanges": False},
    defaults={"upgradeSettings.strategy": "SURGE", "management.autoRepair": True, "management.autoUpgrade": True},
    fields=(
        Field("autoscaling", codec=Codec(decode=_scaling)),
        *(
            Field(f"autoscaling.{name}", always=True, zero=0)
            for name in ("minNodeCount", "maxNodeCount", "totalMinNodeCount", "totalMaxNodeCount")
        ),
        Field("instanceGroupUrls", absent=[]),
        Field("maintenancePolicies", "maintenancePolicies"),
        Field("managedInstanceGroupUrls", absent=[]),
        Field("maxPodsPerNode", "maxPodsConstraint.maxPodsPerNode", codec=INT64, absent=None),
        Field("name"),
        Field("networkConfig", always=True, zero={}),
        Field("networkConfig.enablePrivateNodes", always=True),
        Field("nodeConfig", "config"),
        Field("nodeDrainConfigs", "nodeDrainConfigs", absent=None),
        Field("nodeLocations", "locations"),
        Field("operation", absent=None),
        Field("queuedProvisioning.enabled", always=True),
        *nodes.fields("nodeConfig", nothing=True),
    ),
    computed=(
        "autoscaling.locationPolicy",
        "initialNodeCount",
        "management",
        "maxPodsPerNode",
        "networkConfig",
        "networkConfig.enablePrivateNodes",
        "networkConfig.podIpv4CidrBlock",
        "networkConfig.podRange",
        "networkConfig.subnetwork",
        "nodeCount",
        "nodeLocations",
        "placementPolicy.tpuTopology",
        "upgradeSettings",
        "upgradeSettings.maxSurge",
        "upgradeSettings.maxUnavailable",
        "version",
        *nodes.computed("nodeConfig"),
    ),
    sets=("nodeLocations", "nodeConfig.oauthScopes"),
    lifecycle=Pool,
)
