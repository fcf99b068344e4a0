"""Spend caps: a project's month of one service, and no more: Google pauses it at the amount. None is announced for TPU machines."""

from __future__ import annotations

from typing import Annotated

import pulumi

from infra import accelform
from infra.components.budget import Budgets, amount_of
from infra.components.placement import Placement
from infra.spec import Money, Spec, YesNo, pattern

Service = Annotated[
    str,
    pattern(r"services/[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}", "is not a service of the Cloud Billing Catalog", "services/ABCD-1234-EF56"),
]


class SpendCapSpec(Spec):
    """
    One spend cap. A preview of July 2026: gross cost of a calendar month of the whole project, for one service that Google made eligible;
    as far as announced none of Compute Engine, GKE and Cloud TPU.
    """

    service: Service
    """
    The service whose use is paused, by its id in the Cloud Billing Catalog; as far as announced (2026-07) none of Compute Engine, GKE
    and Cloud TPU. Immutable.
    """
    amount: Money
    """What a month may cost, before credits, in the billing account's currency."""
    lifted: YesNo = False
    """
    Lifts a cap that is enforced, until the next month begins. While it is enforced, nothing else of it can be changed. It lifts once: for
    another month's cap, say no, bring it up, then say yes.
    """


class SpendCap(pulumi.ComponentResource):
    """A cap on the project's month of one service."""

    def __init__(
        self, name: str, spec: SpendCapSpec, *, placement: Placement, budgets: Budgets, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("accelform:spend_cap:SpendCap", name, None, opts)
        cap = accelform.SpendCap(
            name,
            billing_account=budgets.billing_account,
            project=budgets.project_number.apply(lambda number: f"projects/{number}"),
            service=spec.service,
            display_name=f"{placement.stack} {name}",
            amount=budgets.currency_code.apply(lambda actual: amount_of(f"spend_caps.{name}", spec.amount, actual)),
            lifted=spec.lifted,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"budget": cap.name, "state": cap.state})
