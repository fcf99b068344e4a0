"""Which cloud a program runs against: Google's, or the sandbox on this machine, as its configuration says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.local.owner import CONFIG_KEY, SANDBOX, check_program
from infra.sandbox.endpoints import provider_config


@dataclass(frozen=True, slots=True)
class Cloud:
    """Where a stack's resources stand."""

    name: str
    """What the stack records; empty where that is the project's number."""
    provider: Mapping[str, str] = field(default_factory=dict)
    """Arguments of an explicit provider. The default provider has them from the configuration."""


GOOGLE = Cloud("")


def cloud_of(config: Mapping[str, str], env: Mapping[str, str]) -> tuple[Cloud, dict[str, str]]:
    """
    The cloud, and the configuration without what only says which.

    Raises:
        OwnerError: Configuration and environment lead to two clouds.
    """
    check_program(config, env)
    if config.get(CONFIG_KEY) != SANDBOX:
        return GOOGLE, dict(config)
    own = {f"gcp:{key}" for key in provider_config("")} | {CONFIG_KEY}
    provider = {_argument(key): value for key, value in config.items() if key in own and key != CONFIG_KEY}
    return Cloud(SANDBOX, provider), {key: value for key, value in config.items() if key not in own}


def _argument(key: str) -> str:
    """`gcp:tpuV2CustomEndpoint` -> `tpu_v2_custom_endpoint`."""
    return re.sub(r"(?=[A-Z])", "_", key.removeprefix("gcp:")).lower()
