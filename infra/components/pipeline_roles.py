"""
What the two accounts of a pipeline may do in the project: the least that its stacks need, role by role, with the reason.

A role comes with the API that it is about: where no stack calls that, nobody gets it. What no role of the project gives is in the guide:
budgets are made on the billing account. Source of the roles: https://cloud.google.com/iam/docs/roles-permissions, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from infra.components import builder, cluster, identity, runner


@dataclass(frozen=True, slots=True)
class Role:
    """A role in the project."""

    role: str
    api: str
    """Without `.googleapis.com`; empty for what every stack needs."""
    why: str
    condition: str = ""
    """Expression of an IAM condition. `STATES` stands for the name of the states' bucket."""
    title: str = ""
    """Of the condition."""


GRANTED = tuple(
    sorted(
        {
            role
            for roles in (
                identity.PROJECT_ROLES,
                builder.PROJECT_ROLES,
                cluster.NODE_ROLES,
                runner.MACHINE_ROLES,
                runner.NODE_ROLES,
                runner.LOG_ROLES,
                runner.VERTEX_ROLES,
                runner.ROLLOUT_ROLES,
            )
            for role in roles.values()
        }
    )
)
"""All that stacks grant on the project, to accounts of machines and runners."""

GRANTS_THESE = f"api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly({list(GRANTED)})"
"""Who may write the project's policy could else make himself its owner. Source:
https://cloud.google.com/iam/docs/setting-limits-on-granting-roles, read 2026-11."""
OF_CONTROLLERS = "resource.type == 'storage.googleapis.com/Object' && resource.name.extract('/objects/{name}').startsWith('.accelform/')"
"""What controllers wrote in a stack's bucket, and nothing of its data. Source:
https://cloud.google.com/iam/docs/conditions-attribute-reference, read 2026-11."""
NOT_THE_STATES = "resource.name != 'projects/_/buckets/STATES' && !resource.name.startsWith('projects/_/buckets/STATES/')"
"""All buckets but that of the states, where the account reads and writes objects by a grant of its own."""

PREVIEW = {
    "project": Role("roles/browser", "", "reads the project's number and billing account"),
    "charge": Role("roles/serviceusage.serviceUsageConsumer", "", "its calls are charged to the project; reads which APIs are on"),
    "policies": Role("roles/iam.securityReviewer", "", "reads who is granted what"),
    "accounts": Role("roles/iam.serviceAccountViewer", "iam", "reads service accounts"),
    "pools": Role("roles/iam.workloadIdentityPoolViewer", "iam", "reads the pool that it comes by"),
    "buckets": Role("roles/storage.bucketViewer", "storage", "reads buckets, not what is in them"),
    "holds": Role("roles/storage.objectViewer", "storage", "reads what controllers hold", OF_CONTROLLERS, "what controllers wrote"),
    "keys": Role("roles/cloudkms.viewer", "cloudkms", "reads keys, not their material"),
    "images": Role("roles/artifactregistry.reader", "artifactregistry", "reads repositories"),
    "monitoring": Role("roles/monitoring.viewer", "monitoring", "reads channels, alerts and dashboards"),
    "machines": Role("roles/compute.viewer", "compute", "reads networks and machines"),
    "clusters": Role("roles/container.viewer", "container", "reads clusters, and what is in them except secrets"),
    "tpus": Role("roles/tpu.viewer", "tpu", "reads nodes and queued resources"),
    "vertex": Role("roles/aiplatform.viewer", "aiplatform", "reads models and endpoints"),
    "runners": Role("roles/run.viewer", "run", "reads the runners of jobs"),
    "schedules": Role("roles/cloudscheduler.viewer", "cloudscheduler", "reads when jobs begin"),
    "secrets": Role("roles/secretmanager.viewer", "secretmanager", "reads who may read secrets, not what is in them"),
    "quotas": Role("roles/cloudquotas.viewer", "cloudquotas", "reads what became of quota requests"),
}
"""Reads. No primitive role: `roles/viewer` reads everything there is."""

APPLY = {
    "project": Role("roles/browser", "", "reads the project's number and billing account"),
    "charge": Role("roles/serviceusage.serviceUsageConsumer", "", "its calls are charged to the project"),
    "grants": Role(
        "roles/resourcemanager.projectIamAdmin", "", "grants accounts of machines their roles", GRANTS_THESE, "roles of machines only"
    ),
    "accounts": Role("roles/iam.serviceAccountAdmin", "iam", "makes accounts of machines, and says who may use them"),
    "act": Role("roles/iam.serviceAccountUser", "iam", "gives machines and jobs their accounts"),
    "buckets": Role(
        "roles/storage.admin", "storage", "makes buckets, grants on them, writes what is held", NOT_THE_STATES, "not the states"
    ),
    "images": Role("roles/artifactregistry.admin", "artifactregistry", "makes the repository, and grants on it"),
    "channels": Role("roles/monitoring.notificationChannelEditor", "monitoring", "makes channels"),
    "alerts": Role("roles/monitoring.alertPolicyEditor", "monitoring", "makes alerts"),
    "dashboards": Role("roles/monitoring.dashboardEditor", "monitoring", "makes the dashboard"),
    "networks": Role("roles/compute.networkAdmin", "compute", "makes networks, subnets, routers and NAT"),
    "firewalls": Role("roles/compute.securityAdmin", "compute", "makes firewall rules"),
    "machines": Role("roles/compute.instanceAdmin.v1", "compute", "makes machines, groups of them and their policies"),
    "clusters": Role("roles/container.admin", "container", "makes clusters and pools, and what is in them"),
    "tpus": Role("roles/tpu.admin", "tpu", "makes nodes and queued resources"),
    "vertex": Role("roles/aiplatform.admin", "aiplatform", "makes models and endpoints, and grants on them"),
    "runners": Role("roles/run.admin", "run", "makes the runners of jobs, and says who may start them"),
    "schedules": Role("roles/cloudscheduler.admin", "cloudscheduler", "says when jobs begin"),
    "secrets": Role("roles/secretmanager.admin", "secretmanager", "lets pods read their secrets: no smaller role writes a secret's policy"),
}
"""Makes what regions and what is in their clusters declare. It may change nothing of the foundation: people do that."""


def wanted(table: dict[str, Role], services: Container[str]) -> Iterator[tuple[str, Role]]:
    """The roles of a table whose API is among *services*."""
    for key, role in table.items():
        if not role.api or f"{role.api}.googleapis.com" in services:
            yield key, role
