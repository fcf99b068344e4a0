"""
What a thing of a stack said, from Cloud Logging: by the filter of what it is in the cloud.

Sources of resource types and labels: https://cloud.google.com/logging/docs/api/v2/resource-list, read 2026-11; of `tpu_worker`
https://docs.cloud.google.com/tpu/docs/troubleshooting/tpu-vm-logs, read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from infra.errors import Problem, SpecError
from infra.operate.things import Thing
from infra.provider.google import Google

LOGGING = "logging.v2"
PAGE = 1000
MOST = 5000
"""Entries that are read at once: more than anybody reads."""
FORMS = {
    "instance": "serial port, startup script and agents of a machine",
    "group": "the same of every host",
    "node": "what the hosts of a TPU node say",
    "cluster": "what GKE says of a cluster",
    "pool": "what GKE says of a node pool",
    "endpoint": "what the containers of deployed models say",
    "job": "what Cloud Run runs",
    "service": "what the containers in a cluster say",
}
"""What has logs."""


def filters(google: Google, thing: Thing) -> list[str]:
    """
    The filters that find what it said; each is a call, since the sandbox reads comparisons that AND joins.

    Raises:
        SpecError: It says nothing, or is not there.
    """
    if thing.form not in FORMS:
        words = f"{thing.kind} say nothing: a {thing.form} has no logs of its own"
        raise SpecError("logs", [Problem(thing.path, words, "; ".join(FORMS.values()), f"accelform open {thing.path}")])
    if thing.form in ("instance", "group"):
        return [f'resource.type="gce_instance" AND resource.labels.instance_id="{id}"' for id in _ids(google, thing)]
    at = thing.part("locations")
    cluster = f'resource.labels.cluster_name="{thing.part("clusters")}" AND resource.labels.location="{at}"'
    found = {
        "node": f'resource.type="tpu_worker" AND resource.labels.node_id="{thing.id}" AND resource.labels.zone="{at}"',
        "cluster": f'resource.type="k8s_cluster" AND {cluster}',
        "pool": f'resource.type="gke_nodepool" AND resource.labels.nodepool_name="{thing.id}" AND {cluster}',
        "endpoint": f'resource.type="aiplatform.googleapis.com/Endpoint" AND resource.labels.endpoint_id="{thing.id}"',
        "job": f'resource.type="cloud_run_job" AND resource.labels.job_name="{thing.id}" AND resource.labels.location="{at}"',
        "service": f'resource.type="k8s_container" AND resource.labels.namespace_name="{thing.part("namespaces")}" AND '
        f'resource.labels.pod_name:"{thing.id}" AND {cluster}',
    }
    return [found[thing.form]]


def read(google: Google, project: str, every: list[str], since: str, most: int = MOST) -> list[dict[str, str]]:
    """
    Entries since a moment, oldest first, each once.

    Args:
        since: RFC 3339.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for chosen in every:
        body: dict[str, Any] = {
            "resourceNames": [f"projects/{project}"],
            "filter": f'{chosen} AND timestamp>="{since}"',
            "orderBy": "timestamp asc",
            "pageSize": PAGE,
        }
        while len(found) < most:
            answer = google.call(LOGGING, "entries.list", safe=True, body=body)
            for one in answer.get("entries", []):
                found[str(one.get("timestamp", "")), str(one.get("insertId", ""))] = _entry(one)
            if not answer.get("nextPageToken"):
                break
            body = body | {"pageToken": answer["nextPageToken"]}
    return [found[key] for key in sorted(found)][:most]


def _entry(entry: Mapping[str, Any]) -> dict[str, str]:
    """Moment, weight, who said it and what."""
    payload = entry.get("jsonPayload") or entry.get("protoPayload") or {}
    text = (
        entry["textPayload"]
        if "textPayload" in entry
        else payload.get("message") or payload.get("MESSAGE") or json.dumps(payload, sort_keys=True)
    )
    labels = entry.get("resource", {}).get("labels", {})
    who = next((str(labels[key]) for key in WHO if labels.get(key)), "")
    return {
        "at": str(entry.get("timestamp", "")),
        "id": str(entry.get("insertId", "")),
        "severity": str(entry.get("severity", "DEFAULT")),
        "who": str(payload.get("instance", {}).get("name") or who) if isinstance(payload.get("instance", {}), dict) else who,
        "text": str(text).rstrip("\n"),
    }


WHO = ("pod_name", "job_name", "worker_id", "node_name", "instance_id", "endpoint_id", "nodepool_name", "cluster_name")
"""Labels that say who spoke, the nearest first."""


def _ids(google: Google, thing: Thing) -> list[str]:
    """Numbers of machines: an instance is known by that in its logs."""
    at = {"project": thing.part("projects"), "zone": thing.part("zones")}
    if thing.form == "instance":
        body = google.found("compute.v1", "instances.get", **at, instance=thing.id)
        found = [str(body["id"])] if body else []
    else:
        group = google.found("compute.v1", "instanceGroupManagers.get", **at, instanceGroupManager=thing.id)
        listed = "instanceGroupManagers.listManagedInstances"
        hosts = google.pages("compute.v1", listed, "managedInstances", **at, instanceGroupManager=thing.id) if group else []
        found = [str(one["id"]) for one in hosts if one.get("id")]
    if not found:
        fix = "accelform status says what became of it; the console keeps what it said for 30 days: accelform open"
        raise SpecError("logs", [Problem(thing.path, f"there is no machine {thing.id} in {at['zone']} now", fix=fix)])
    return found
