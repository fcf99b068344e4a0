"""`accelform:vertex:DeployedModels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import pulumi


class DeployedModels(pulumi.CustomResource):
    """
    What is deployed on one Vertex AI endpoint, and each one's share of its traffic. There is one of these an endpoint.

    Args:
        endpoint: Full name of the endpoint. Immutable.
        location: Region of the endpoint. Immutable. It is known before the endpoint is, so that machines can be judged.
        deployed_models: Deployed models by name, as the provider's schema says: `model`, `machineType`, `minReplicas`, `traffic` and more.
            Their `traffic` makes 100.
        update: How something is deployed anew. (default: beside the old one, for which the quota of both is needed for a while)
        foreign: What is done with deployed models of others. (default: nothing is changed while there are some)
        held: What a controller decides for now, and is left as it is.
        awaits: Names whose model may not be there yet, and who brings it: nothing is deployed under them until then.
    """

    def __init__(
        self,
        resource_name: str,
        *,
        endpoint: pulumi.Input[str],
        location: pulumi.Input[str],
        deployed_models: pulumi.Input[Mapping[str, pulumi.Input[Mapping[str, object]]]],
        update: Literal["surge", "in-place"] = "surge",
        foreign: Literal["refuse", "keep", "undeploy"] = "refuse",
        held: Sequence[Literal["traffic", "model", "replicas"]] = (),
        awaits: Mapping[str, str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {
            "endpoint": endpoint,
            "location": location,
            "deployedModels": deployed_models,
            "update": update,
            "foreign": foreign,
            "held": list(held) or None,
            "awaits": dict(awaits or {}) or None,
            "deployed": None,
            "attachments": None,
            "others": None,
            "leftovers": None,
            "oneModel": None,
        }
        super().__init__("accelform:vertex:DeployedModels", resource_name, props, opts)

    @property
    def deployed(self) -> pulumi.Output[Mapping[str, Mapping[str, str]]]:
        """Id and version of what stands, by name."""
        return pulumi.Output.from_input(self.__dict__["deployed"])

    @property
    def attachments(self) -> pulumi.Output[Mapping[str, str]]:
        """Service attachment by name, where the endpoint is reached by Private Service Connect."""
        return pulumi.Output.from_input(self.__dict__["attachments"])

    @property
    def others(self) -> pulumi.Output[Mapping[str, str]]:
        """Deployed models that are not of this program: display name by id."""
        return pulumi.Output.from_input(self.__dict__["others"])

    @property
    def leftovers(self) -> pulumi.Output[Sequence[str]]:
        """Ids that a run which did not end left beside others of their name."""
        return pulumi.Output.from_input(self.__dict__["leftovers"])

    @property
    def one_model(self) -> pulumi.Output[bool]:
        """Whether the endpoint takes one model only."""
        return pulumi.Output.from_input(self.__dict__["oneModel"])
