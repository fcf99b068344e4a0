"""The provider itself. A program declares it: by default it would be given the whole stack file as its configuration."""

from __future__ import annotations

import pulumi


class Provider(pulumi.ProviderResource):
    """
    Google Cloud, with the credentials of the machine that runs the engine.

    Args:
        sandbox: Address of a local Google Cloud; without it, Google's own.
        billing_project: Project that is charged with the quota of calls.
        holds: Where the stack's holds are: `gs://BUCKET/NAME`. (default: it has none)
    """

    def __init__(
        self,
        resource_name: str,
        *,
        sandbox: pulumi.Input[str] | None = None,
        billing_project: pulumi.Input[str] | None = None,
        holds: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("accelform", resource_name, {"sandbox": sandbox, "billingProject": billing_project, "holds": holds}, opts)
