"""The provider's resources, one file each, beside it the part of the schema that says what it takes and gives."""

from __future__ import annotations

from infra.provider.resource import Resource
from infra.provider.resources.deployed_models import DeployedModels
from infra.provider.resources.model import Model
from infra.provider.resources.queued_resource import QueuedResource
from infra.provider.resources.spend_cap import SpendCap

RESOURCES: dict[str, type[Resource]] = {kind.token: kind for kind in (DeployedModels, Model, QueuedResource, SpendCap)}
