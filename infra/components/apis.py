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

    def __init__(self, name: str, services: Iterable[str], *, placement: Placement, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("accelform:apis:Apis", name, None, opts)
        for service in services:
            gcp.projects.Service(
                service.removesuffix(SUFFIX),
                project=placement.project,
                service=service,
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
