"""APIs of a project: switched on for all of its stacks, and never off again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import pulumi
from pydantic import StringConstraints

from infra import gcp
from infra.components.placement import Placement
from infra.spec import pattern

SUFFIX = ".googleapis.com"

Api = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[a-z][a-z0-9-]{1,60}[a-z0-9]\.googleapis\.com", "is not the name of an API", f"tpu{SUFFIX}"),
]


class Apis(pulumi.ComponentResource):
    """
    An API each. What others began to use meanwhile would stop with it, so that a destroy leaves every API on, and those that need it.

    Source: discovery document serviceusage v1, `services.disable`.
    """

    after: pulumi.ResourceOptions
    """Options of a component that calls the APIs: all its parts come after them. Its own `depends_on` would reach none of its parts."""

    def __init__(self, name: str, services: Iterable[str], *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:apis:Apis", name, None, opts)
        on = [
            gcp.projects.Service(
                service.removesuffix(SUFFIX),
                project=placement.project,
                service=service,
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for service in services
        ]

        def later(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
            return pulumi.ResourceTransformationResult(
                args.props, pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(depends_on=on))
            )

        self.after = pulumi.ResourceOptions(transformations=[later])
        self.register_outputs({})
