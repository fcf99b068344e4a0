"""What the provider is configured with. Every endpoint comes from there, and is on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.provider.server import ProviderError
from infra.sandbox.endpoints import is_local

SUFFIX = "CustomEndpoint"
FIX = (
    "  this provider stands in for the official one on machines without it, and speaks to the sandbox only\n"
    "  fix: `make up` for the sandbox; for Google Cloud install the official one: pulumi plugin install resource gcp 10.2.0"
)


@dataclass(frozen=True)
class Config:
    """The configuration of one provider."""

    project: str = ""
    region: str = ""
    zone: str = ""
    token: str = ""
    charged: str = ""
    """Project that is charged with the quota; empty: the one of the resource."""
    labels: Mapping[str, str] = field(default_factory=dict)
    endpoints: Mapping[str, str] = field(default_factory=dict)
    """Service -> URL, which ends with a slash."""

    def endpoint(self, service: str) -> str:
        """Where a service is."""
        if service not in self.endpoints:
            raise ProviderError(f"gcp:{service}{SUFFIX} is not set: where {service} is, is not known\n{FIX}")
        return self.endpoints[service]

    def default(self, name: str) -> str:
        """What stands where a resource does not say its project, region, zone or location."""
        region = self.region or self.zone.rpartition("-")[0]
        return {"project": self.project, "region": region, "zone": self.zone, "location": region}.get(name, "")


def read(values: Mapping[str, Any]) -> Config:
    """
    The configuration in *values*, as the engine has it: what is not a string is JSON.

    Raises:
        ProviderError: An endpoint is not on this machine.
    """
    endpoints = {key.removesuffix(SUFFIX): str(url) for key, url in values.items() if key.endswith(SUFFIX) and url}
    if elsewhere := {key: url for key, url in sorted(endpoints.items()) if not is_local(url)}:
        found = "\n".join(f"gcp:{key}{SUFFIX}: {url} is not on this machine" for key, url in elsewhere.items())
        raise ProviderError(f"{found}\n{FIX}")
    overrides = values.get("userProjectOverride") in (True, "true")
    labels = values.get("defaultLabels") or {}
    return Config(
        project=values.get("project", ""),
        region=values.get("region", ""),
        zone=values.get("zone", ""),
        token=values.get("accessToken", ""),
        charged=(values.get("billingProject") or values.get("project", "")) if overrides else "",
        labels=json.loads(labels) if isinstance(labels, str) else labels,
        endpoints={key: url if url.endswith("/") else f"{url}/" for key, url in endpoints.items()},
    )
