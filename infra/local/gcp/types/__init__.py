"""The table: one row a resource type, one file a service."""

from __future__ import annotations

from infra.local.gcp.resource_type import ResourceType
from infra.local.gcp.types import (
    artifact_registry,
    billing,
    cloud_quotas,
    cloud_run,
    cloud_scheduler,
    compute,
    container,
    iam,
    instance_groups,
    instances,
    kms,
    load_balancing,
    monitoring,
    projects,
    pubsub,
    secret_manager,
    storage,
    tpu,
    vertex,
)

TABLE: dict[str, ResourceType] = {
    row.token: row
    for service in (
        artifact_registry,
        billing,
        cloud_quotas,
        cloud_run,
        cloud_scheduler,
        compute,
        container,
        iam,
        instance_groups,
        instances,
        kms,
        load_balancing,
        monitoring,
        projects,
        pubsub,
        secret_manager,
        storage,
        tpu,
        vertex,
    )
    for row in service.ROWS
}
