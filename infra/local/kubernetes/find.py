"""Under which id an object whose create was cut off would be: its inputs name it, and a refresh asks the cluster whether it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.local.kubernetes.kinds import RELEASE, of_token
from infra.local.kubernetes.manifest import dig
from infra.provider.server import ProviderError


def id_of(token: str, inputs: Mapping[str, Any]) -> str | None:
    """
    `namespace/name`, or the name alone of what is in no namespace; None where the inputs do not say it.

    Args:
        token: The type.
        inputs: As Check left them.
    """
    named: Any = inputs if token == RELEASE else inputs.get("metadata")
    name, namespace = dig(named, "name"), dig(named, "namespace")
    if not isinstance(name, str) or not name:
        return None
    try:
        in_none = token != RELEASE and of_token(token).of_cluster
    except ProviderError:
        return None
    return name if in_none or not namespace else f"{namespace}/{name}"
