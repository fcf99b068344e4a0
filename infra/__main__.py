"""What the engine runs. It starts in this folder; the package is installed, so every import is absolute."""

from __future__ import annotations

import os

import pulumi
from pulumi.runtime import config

from infra.clouds import cloud_of, folder_of
from infra.errors import AccelformError
from infra.local.settled import check_settled
from infra.stack_kinds import declare, from_engine


def main() -> None:
    stack = pulumi.get_stack()
    try:
        cloud, settings = cloud_of(config.CONFIG.get(), os.environ)
        if cloud.name:
            check_settled(os.environ.get("PULUMI_BACKEND_URL", ""), pulumi.get_project(), stack)
        declare(from_engine(settings, f"stacks/Pulumi.{stack}.yaml", folder_of(config.CONFIG.get())), stack, cloud)
    except AccelformError as error:
        raise pulumi.RunError(str(error)) from None


main()
