"""Which cloud a program runs against: Google's, or the sandbox on this machine, as its configuration says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.local.owner import CONFIG_KEY, SANDBOX, OwnerError, check_program
from infra.sandbox.endpoints import provider_config

COPY_KEY = "accelform:copy_of"
"""In generated configuration: the stack file it is a copy of, and that file's digest."""


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
        OwnerError: Configuration and environment lead to two clouds, or the configuration is a copy of what has changed since.
    """
    check_program(config, env)
    if config.get(CONFIG_KEY) != SANDBOX:
        return GOOGLE, dict(config)
    check_copy(config.get(COPY_KEY, ""))
    endpoints = {f"gcp:{key}" for key in provider_config("")}
    own = endpoints | {CONFIG_KEY, COPY_KEY}
    provider = {_argument(key): value for key, value in config.items() if key in endpoints}
    return Cloud(SANDBOX, provider), {key: value for key, value in config.items() if key not in own}


def copy_of(path: Path) -> str:
    """Says which file, and as it is now."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.resolve()}"


def check_copy(copied: str) -> None:
    """
    Raises:
        OwnerError: The stack file is not what it was when it was copied.
    """
    path = Path(copied.partition(" ")[2])
    if copied and (not path.is_file() or copy_of(path) != copied):
        raise OwnerError(
            f"{path} has changed since this shell was prepared, and plain pulumi runs on a copy of it\n"
            '  fix: eval "$(accelform env)"; or accelform up, which copies it each time'
        )


def _argument(key: str) -> str:
    """`gcp:tpuV2CustomEndpoint` -> `tpu_v2_custom_endpoint`."""
    return re.sub(r"(?=[A-Z])", "_", key.removeprefix("gcp:")).lower()
