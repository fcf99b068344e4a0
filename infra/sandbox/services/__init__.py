"""One file a service: what is its own. `SERVICES` is all that the sandbox has."""

from infra.sandbox.service import Service
from infra.sandbox.services import artifactregistry, compute, pubsub, storage, tpu

SERVICES: tuple[Service, ...] = (artifactregistry.SERVICE, compute.SERVICE, pubsub.SERVICE, storage.SERVICE, tpu.SERVICE)
