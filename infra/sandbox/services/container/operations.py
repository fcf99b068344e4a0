"""Operations of GKE's own form: no response inside, a status instead of done, links with the project's number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from infra.sandbox import operations
from infra.sandbox.clock import rfc3339
from infra.sandbox.service import Body, Call, Operations, Service
from infra.sandbox.services.container.parts import CLUSTERS, POOLS, is_zone, link

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

TYPES = {
    (CLUSTERS, "create"): "CREATE_CLUSTER",
    (CLUSTERS, "delete"): "DELETE_CLUSTER",
    (CLUSTERS, "upgradeMaster"): "UPGRADE_MASTER",
    (POOLS, "create"): "CREATE_NODE_POOL",
    (POOLS, "delete"): "DELETE_NODE_POOL",
    (POOLS, "update"): "UPGRADE_NODES",
    (POOLS, "rollback"): "UPGRADE_NODES",
    (POOLS, "setManagement"): "SET_NODE_POOL_MANAGEMENT",
    (POOLS, "setSize"): "SET_NODE_POOL_SIZE",
}
"""Resource and verb -> `operationType`; every other one is UPDATE_CLUSTER, as the document says of the types that it no longer wants.
Sources: recorded traffic; `Operation.operationType` in the discovery document."""
PENDING_SECONDS = 1.0
"""Until an operation on a pool is RUNNING: it begins as PENDING, one on a cluster as RUNNING (recorded)."""
CREATED = {"CLUSTER_CONFIGURING": (8, 8), "CLUSTER_DEPLOYING": (10, 10), "CLUSTER_HEALTHCHECKING": (1, 2)}
"""What a create that is done says of its steps: done, and of how many. Recorded; of a regional cluster 9 are configured, and some deploy
12, by no rule that shows."""


class ContainerOperations(Operations):
    """Those of clusters and node pools."""

    def name(self, call: Call, verb: str) -> str:
        location = "/".join(call.target.split("/")[:4])
        return f"{location}/operations/{operations.new_id(call)}"

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        name, target, version = operation["name"], operation["target"], operation["version"]
        kind = TYPES.get((operation["resource"], operation["verb"]), "UPDATE_CLUSTER")
        done = operation["done"]
        answer: Body = {
            "name": name.rpartition("/")[2],
            "operationType": kind,
            "selfLink": link(version, cloud.projects.by_number(name)),
            "startTime": rfc3339(operation["starts"]),
            "status": "DONE" if done else _running(cloud, operation),
            "targetLink": link(version, cloud.projects.by_number(target)),
            "zone": name.split("/")[3],
        }
        if not done:
            return answer
        answer["endTime"] = rfc3339(operation["ends"])
        if error := operation.get("error"):
            said = {"code": error["code"], "message": error["message"]}
            conditions = "clusterConditions" if operation["resource"] == CLUSTERS else "nodepoolConditions"
            reason = re.search(r"GCE_[A-Z_]+", error["message"])
            answer |= {
                "error": said,
                "statusMessage": error["message"],
                conditions: [{"canonicalCode": error["status"], "message": error["message"]} | ({"code": reason[0]} if reason else {})],
            }
        elif metrics := _metrics(kind, operation, regional=not is_zone(name.split("/")[3])):
            answer["progress"] = {"metrics": [{"name": key, "intValue": str(value)} for key, value in metrics.items()]}
        return answer


def _running(cloud: Cloud, operation: Body) -> str:
    is_new = operation["resource"] == POOLS and cloud.moment < operation["starts"] + PENDING_SECONDS
    return "PENDING" if is_new else "RUNNING"


def _metrics(kind: str, operation: Body, *, regional: bool) -> dict[str, int]:
    """Steps of what is done. Source: recorded traffic."""
    if kind == "CREATE_CLUSTER":
        steps = CREATED | ({"CLUSTER_CONFIGURING": (9, 9)} if regional else {})
        return {f"{step}{word}": value for step, both in steps.items() for word, value in zip(("", "_TOTAL"), both, strict=True)}
    if kind == "UPGRADE_NODES":
        nodes = operation.get("nodes", 0)
        return {"NODES_TOTAL": nodes, "NODES_FAILED": 0, "NODES_COMPLETE": nodes, "NODES_DONE": nodes, "NODE_PDB_DELAY_SECONDS": 0}
    return {}
