"""One file a service: what is its own. `SERVICES` is all that the sandbox has."""

from infra.sandbox.service import Service
from infra.sandbox.services import (
    aiplatform,
    artifactregistry,
    billingbudgets,
    cloudbilling,
    cloudbuild,
    cloudlogging,
    cloudresourcemanager,
    cloudscheduler,
    compute,
    container,
    iam,
    monitoring,
    pubsub,
    run,
    secretmanager,
    serviceusage,
    storage,
    tpu,
)

SERVICES: tuple[Service, ...] = (
    aiplatform.SERVICE,
    artifactregistry.SERVICE,
    billingbudgets.SERVICE,
    cloudbilling.SERVICE,
    cloudbuild.SERVICE,
    cloudlogging.SERVICE,
    cloudresourcemanager.SERVICE,
    cloudscheduler.SERVICE,
    compute.SERVICE,
    container.SERVICE,
    iam.SERVICE,
    monitoring.SERVICE,
    pubsub.SERVICE,
    run.SERVICE,
    secretmanager.SERVICE,
    serviceusage.SERVICE,
    storage.SERVICE,
    tpu.SERVICE,
)
