"""Resources of the `accelform` provider, as programs declare them: what the official Google Cloud resources lack."""

from __future__ import annotations

from infra.accelform.deployed_models import DeployedModels
from infra.accelform.model import Model
from infra.accelform.provider import Provider
from infra.accelform.queued_resource import QueuedResource
from infra.accelform.spend_cap import SpendCap

__all__ = ["DeployedModels", "Model", "Provider", "QueuedResource", "SpendCap"]
