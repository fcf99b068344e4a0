"""The NAT of a router: Compute Engine has no such resource, only a list within the router."""

from __future__ import annotations

from typing import Any

from infra.local.gcp import body as bodies
from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import Field, ResourceType
from infra.provider.calls import GoogleError, OperationError
from infra.provider.server import ProviderError


class RouterNat(Lifecycle):
    """The router is read, its list changed and written back, one NAT at a time."""

    def create(self, inputs: dict[str, Any]) -> Made:
        inputs = self._plain(inputs)
        names = self.names(inputs)
        self._rewrite(names, self._nat(inputs, names), new=True)
        return self._is(names, inputs)

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        inputs = self._plain(new)
        names = self.names(inputs) | self.names_of(id, state)
        self._rewrite(names, self._nat(inputs, names))
        return self._is(names, state | inputs)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        try:
            self._rewrite(self.names_of(id, state), None)
        except GoogleError as error:
            if error.code != 404:
                raise

    def get(self, names: dict[str, Any]) -> dict[str, Any] | None:
        router = super().get(names)
        return next((nat for nat in (router or {}).get("nats", []) if nat.get("name") == names["name"]), None)

    def _is(self, names: dict[str, Any], written: dict[str, Any]) -> Made:
        made = self._there(names, written)
        if made is None:
            raise ProviderError(f"router {names['router']} has no NAT {names['name']} right after it was written")
        return made

    def _nat(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return bodies.body(self.row, inputs, names, bodies.in_body(self.row))

    def _rewrite(self, names: dict[str, Any], nat: dict[str, Any] | None, *, new: bool = False) -> None:
        url = self.fill(self.row.url, names)
        with self.client.alone(f"{self.row.service}/{url}"):
            nats = self.client.call("GET", self.row.service, url).get("nats", [])
            others = [other for other in nats if other.get("name") != names["name"]]
            if new and len(others) < len(nats):
                raise ProviderError(f"Error creating RouterNat: router {names['router']} has a NAT {names['name']} already")
            if nat is None and len(others) == len(nats):
                return
            body = {"nats": [*others, nat] if nat else others}
            try:
                self.client.finished(self.row.service, self.client.call("PATCH", self.row.service, url, body=body), names["project"])
            except OperationError as error:
                raise ProviderError(f"Error waiting for RouterNat to be written: {error}") from None


ROUTER_NAT = ResourceType(
    "gcp:compute/routerNat:RouterNat",
    "compute",
    "projects/{project}/regions/{region}/routers/{router}",
    id="{project}/{region}/{router}/{name}",
    imported_by=("projects/{project}/regions/{region}/routers/{router}/{name}", "{router}/{name}"),
    url_only=("router", "region"),
    defaults={
        "icmpIdleTimeoutSec": 30,
        "tcpEstablishedIdleTimeoutSec": 1200,
        "tcpTimeWaitTimeoutSec": 120,
        "tcpTransitoryIdleTimeoutSec": 30,
        "type": "PUBLIC",
        "udpIdleTimeoutSec": 30,
    },
    computed=("autoNetworkTier", "endpointTypes"),
    sets=("subnetworks", "natIps", "drainNatIps", "subnetworks.sourceIpRangesToNats"),
    fields=(
        Field("drainNatIps", always=True),
        Field("initialNatIps", always=True, unread=True, absent=None),
        Field("autoNetworkTier", absent=None),
        Field("nat64Subnetworks", always=True),
        Field("natIps", always=True),
        Field("rules", always=True),
        Field("subnetworks", always=True),
        Field("subnetworks.sourceIpRangesToNats", "sourceIpRangesToNat"),
        Field("logConfig.enable", always=True),
    ),
    lifecycle=RouterNat,
)
