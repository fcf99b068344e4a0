"""What the engine runs. It starts in this folder; the package is installed, so every import is absolute."""

from __future__ import annotations

import pulumi
from pulumi.runtime import config

from infra.errors import SpecError
from infra.program import declare
from infra.stack import StackSpec


def main() -> None:
    stack = pulumi.get_stack()
    try:
        declare(StackSpec.from_engine(config.CONFIG.get(), f"stacks/Pulumi.{stack}.yaml"), stack)
    except SpecError as error:
        raise pulumi.RunError(str(error)) from None


main()
