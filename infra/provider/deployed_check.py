"""What is wrong with the inputs of deployed models before anything is asked of Google."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.catalog import deployed_model
from infra.provider.resource import Failure
from infra.provider.server import ProviderError
from infra.provider.values import Path

ENDPOINT = re.compile(r"projects/[^/@\s]+/locations/[^/@\s]+/endpoints/[^/@\s]+")
NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def check_id(id: str) -> None:
    """
    Raises:
        ProviderError: It is no endpoint's full name, as an import may give it.
    """
    if not ENDPOINT.fullmatch(id):
        raise ProviderError(f"{id!r} is no endpoint\n  allowed: projects/P/locations/R/endpoints/E")


def failures(inputs: Mapping[str, Any]) -> Iterator[Failure]:
    """Everything, at once. What is not known yet is not judged."""
    endpoint, location = inputs.get("endpoint"), inputs.get("location")
    region = location if isinstance(location, str) else None
    if isinstance(endpoint, str) and not ENDPOINT.fullmatch(endpoint):
        yield Failure(("endpoint",), f"{endpoint!r} is no endpoint's full name\n  allowed: projects/P/locations/R/endpoints/E")
    elif isinstance(endpoint, str) and region not in (None, endpoint.split("/")[3]):
        yield Failure(("location",), f"{region!r} is not where the endpoint is\n  allowed: {endpoint.split('/')[3]}")
    models = inputs.get("deployedModels")
    if not isinstance(models, Mapping):
        return
    for name, one in models.items():
        path: Path = ("deployedModels", name)
        if not NAME.fullmatch(name):
            yield Failure(path, f"{name!r} is no name\n  allowed: 1 to 63 of a-z, 0-9 and -, a letter first, no - at the end")
        if isinstance(one, Mapping):
            for wrong in deployed_model.wrongs(one, region):
                lines = [f"\n  {word}: {said}" for word, said in (("allowed", wrong.allowed), ("fix", wrong.fix)) if said]
                yield Failure((*path, *wrong.path), wrong.message + "".join(lines))
    for name in inputs.get("awaits") or {}:
        if name not in models:
            allowed = ", ".join(models) or "a name of deployedModels"
            yield Failure(("awaits", name), f"{name!r} is none of the deployed models\n  allowed: {allowed}")
    given = [one.get("traffic") if isinstance(one, Mapping) else None for one in models.values()]
    shares = [share for share in given if isinstance(share, int) and 0 <= share <= 100]
    if shares and len(shares) == len(models) and sum(shares) != 100:
        listed = " + ".join(map(str, shares))
        yield Failure(("deployedModels",), f"traffic makes {listed} = {sum(shares)} percent\n  allowed: 100 together, or no model at all")
