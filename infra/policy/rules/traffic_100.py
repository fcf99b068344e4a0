"""`traffic-100`: the shares of a service's traffic are percent, so that what a file says is what a caller gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from infra.declared import Declared, Secret
from infra.policy.rule import Broken, Rule

DEPLOYED = "accelform:vertex:DeployedModels"
ENDPOINT = "gcp:vertex/aiEndpoint:AiEndpoint"
SERVICE = "gcp:cloudrunv2/service:Service"
ROUTE = "HTTPRoute"
ALL = 100


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Shares of one whole that are not 100 together, or that are not known."""
    if resource.type == DEPLOYED:
        models = resource.get("deployedModels")
        if isinstance(models, Mapping):
            models = {name: one.get("traffic") if isinstance(one, Mapping) else None for name, one in models.items()}
        yield from _shares("deployedModels", models)
    elif resource.type == ENDPOINT:
        yield from _shares("trafficSplit", _split(resource.get("trafficSplit")))
    elif resource.type == SERVICE:
        targets = resource.get("traffics")
        if isinstance(targets, list):
            targets = {str(index): one.get("percent", 0) if isinstance(one, Mapping) else None for index, one in enumerate(targets)}
        yield from _shares("traffics", targets)
    elif resource.type.startswith("kubernetes:gateway.networking.k8s.io/") and resource.type.endswith(f":{ROUTE}"):
        yield from _route(resource.get("spec.rules"))


def _route(rules: Any) -> Iterator[Broken]:
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        backends = rule.get("backendRefs") if isinstance(rule, Mapping) else None
        if not isinstance(backends, list) or len(backends) < 2:  # one alone gets everything, whatever its weight
            continue
        weights = {str(at): one.get("weight", 1) if isinstance(one, Mapping) else None for at, one in enumerate(backends)}
        yield from _shares(f"spec.rules[{index}].backendRefs", weights)


def _split(said: Any) -> Any:
    """An endpoint's split, which is a text of JSON: share by deployed model. One that is no such text is not known."""
    if not isinstance(said, str):
        return said
    try:
        read = json.loads(said)
    except (ValueError, RecursionError):
        return said
    return read if isinstance(read, Mapping) else said


def _shares(path: str, shares: Any) -> Iterator[Broken]:
    """Findings of one whole; nothing said at all is nothing served, or everything to the newest, and no split."""
    if shares is None or (isinstance(shares, Mapping) and not shares):
        return
    if isinstance(shares, Secret) or not isinstance(shares, Mapping):
        yield Broken(path, "must be known at preview, and no secret")
        return
    said = [share for _, share in sorted(shares.items())]  # the engine has its own order
    numbers = [one for one in said if isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= ALL]
    if len(numbers) < len(shares):
        yield Broken(path, f"every share must be a whole number from 0 to {ALL}, and known at preview")
    elif sum(numbers) != ALL:
        yield Broken(path, f"{' + '.join(map(str, numbers))} is {sum(numbers)} percent of the traffic, and not {ALL}")


RULE = Rule(
    name="traffic-100",
    description="The shares of the traffic of every endpoint, service and route are 100 percent together.",
    remediation="give each share in percent, 100 together; 0 is one that only stands by",
    severity="medium",
    find=find,
)
