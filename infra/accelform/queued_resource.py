"""`accelform:tpu:QueuedResource`."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi


class QueuedResource(pulumi.CustomResource):
    """
    A request for Cloud TPU nodes that waits in Google's queue until there is room for all of them at once.

    It stands while its nodes do. One that failed or was suspended is deleted and asked for again: in the same run up to `retries` times,
    and by the next update after a refresh saw it. Source: discovery document tpu v2, revision 20261001.

    Args:
        project: Id of the project. Immutable, as all but the last two.
        zone: Zone of the nodes.
        queued_resource_id: Its id. What stands under it with the same specification is adopted, another is refused.
        nodes: Nodes by id, as Google writes them: `acceleratorType` or `acceleratorConfig`, `runtimeVersion`, `networkConfig`,
            `serviceAccount.email`, `labels`, `metadata`, `tags`, `dataDisks`, `shieldedInstanceConfig`, `description`. (default: those of
            *multislice*)
        multislice: Several nodes of one kind: `node`, `nodeCount` and `nodeIdPrefix`. (default: those of *nodes*)
        tier: `standard`, `spot`, `guaranteed` or `reservation`.
        reservation_name: The reservation, with that tier: `projects/P/locations/Z/reservations/NAME`.
        min_duration: With the guaranteed tier: the nodes are made when they can be had for so long: `86400s`.
        valid_until: When the request ends unfulfilled: `21600s` after it was made, or a time.
        valid_after: When the nodes may be made at the earliest.
        wait_for: What a run waits for: `active` or `accepted`. The time is that of `custom_timeouts`. (default: active, for an hour)
        retries: How often a run asks again after the request failed or was suspended.
    """

    def __init__(
        self,
        resource_name: str,
        *,
        project: pulumi.Input[str],
        zone: pulumi.Input[str],
        queued_resource_id: pulumi.Input[str],
        tier: pulumi.Input[str],
        nodes: pulumi.Input[Mapping[str, object]] | None = None,
        multislice: pulumi.Input[Mapping[str, object]] | None = None,
        reservation_name: pulumi.Input[str] | None = None,
        min_duration: pulumi.Input[str] | None = None,
        valid_until: pulumi.Input[str] | None = None,
        valid_after: pulumi.Input[str] | None = None,
        wait_for: pulumi.Input[str] = "active",
        retries: pulumi.Input[int] = 2,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {
            "project": project,
            "zone": zone,
            "queuedResourceId": queued_resource_id,
            "nodes": nodes,
            "multislice": multislice,
            "tier": tier,
            "reservationName": reservation_name,
            "minDuration": min_duration,
            "validUntil": valid_until,
            "validAfter": valid_after,
            "waitFor": wait_for,
            "retries": retries,
            **dict.fromkeys(("name", "state", "stateInitiator", "createTime", "nodeStates")),
        }
        super().__init__("accelform:tpu:QueuedResource", resource_name, props, opts)

    @property
    def name(self) -> pulumi.Output[str]:
        """`projects/P/locations/Z/queuedResources/ID`."""
        return pulumi.Output.from_input(self.__dict__["name"])

    @property
    def state(self) -> pulumi.Output[str]:
        """Google's word for what became of it."""
        return pulumi.Output.from_input(self.__dict__["state"])

    @property
    def state_initiator(self) -> pulumi.Output[str]:
        """Who brought that state about: `USER` or `SERVICE`."""
        return pulumi.Output.from_input(self.__dict__["stateInitiator"])

    @property
    def create_time(self) -> pulumi.Output[str]:
        """When Google took the request."""
        return pulumi.Output.from_input(self.__dict__["createTime"])

    @property
    def node_states(self) -> pulumi.Output[Mapping[str, Mapping[str, object]]]:
        """Its nodes as they are, by id: `name`, `state`, `health`, `addresses`, `externalAddresses`."""
        return pulumi.Output.from_input(self.__dict__["nodeStates"])
