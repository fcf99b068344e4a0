"""`accelform:billing:SpendCap`."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi


class SpendCap(pulumi.CustomResource):
    """
    A budget that stops: when a project's month for one service reaches the amount, Google pauses the service's use.

    A preview of July 2026: one project, one eligible service, gross cost, a calendar month; as far as announced none of Compute Engine, GKE
    and Cloud TPU. Source: discovery document billingbudgets v1, revision 20261011.

    Args:
        billing_account: Id of the billing account. Immutable.
        project: Number of the project: `projects/123456789012`. Immutable.
        service: The one service: `services/ABCD-1234-EF56`. Immutable.
        display_name: Name of the budget, at most 60 characters.
        amount: What a month may cost, before credits, as Google writes it: `currencyCode`, `units` as text, `nanos`.
        lifted: Lifts a cap that is enforced, until the next month begins. To lift it again, say false, then true.
    """

    def __init__(
        self,
        resource_name: str,
        *,
        billing_account: pulumi.Input[str],
        project: pulumi.Input[str],
        service: pulumi.Input[str],
        display_name: pulumi.Input[str],
        amount: pulumi.Input[Mapping[str, object]],
        lifted: pulumi.Input[bool] = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {
            "billingAccount": billing_account,
            "project": project,
            "service": service,
            "displayName": display_name,
            "amount": amount,
            "lifted": lifted,
            "name": None,
            "state": None,
        }
        super().__init__("accelform:billing:SpendCap", resource_name, props, opts)

    @property
    def name(self) -> pulumi.Output[str]:
        """Name of the budget, which Google gives it."""
        return pulumi.Output.from_input(self.__dict__["name"])

    @property
    def state(self) -> pulumi.Output[str]:
        """`CONFIGURED`, `ENFORCED` or `AWAITING_NEXT_PERIOD`."""
        return pulumi.Output.from_input(self.__dict__["state"])
