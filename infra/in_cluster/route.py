"""
A way in: a load balancer of the region that sends requests to services of the cluster by shares.

It is always one of the region. Google's global one ends TLS wherever the caller is, and has an address that is in no region. Both kinds
that are used send from the range of the region's proxies, so that the network must have one.
Source: https://cloud.google.com/kubernetes-engine/docs/concepts/gateway-api ("GatewayClass"), read 2026-11.

From outside it has an address that is reserved, and outlives its gateway: names of hosts lead there. Inside, where no source says what a
reserved one costs, GKE takes one for as long as the gateway is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from infra import gcp, names
from infra.components.placement import Placement
from infra.errors import Problem, ProblemsError, nearest
from infra.in_cluster.service import ServiceSpec
from infra.in_cluster.service_objects import SERVICE_PORT, service_name
from infra.kubernetes import Object
from infra.spec import Name, Spec, WholeNumber, distinct, pattern

API = "gateway.networking.k8s.io/v1"
GRANTS_API = "gateway.networking.k8s.io/v1beta1"
CLASSES = {"external": "gke-l7-regional-external-managed", "internal": "gke-l7-rilb"}
"""Source: https://cloud.google.com/kubernetes-engine/docs/how-to/gatewayclass-capabilities, read 2026-11."""
CERTIFICATES = "networking.gke.io/cert-manager-certs"
"""Option of a listener that names certificates of Certificate Manager, in the region of the gateway. Maps of certificates are for global
gateways only. Source: https://cloud.google.com/kubernetes-engine/docs/how-to/secure-gateway, read 2026-11."""
ALL = 100
BACKENDS_MAX = 16
"""Services of one beginning. Source: `HTTPRouteRule.backendRefs` of kubernetes-sigs/gateway-api, v1, read 2026-11."""

Host = Annotated[
    str,
    StringConstraints(strict=True, max_length=253),
    pattern(
        r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?",
        "is no name of a host, in small letters",
        "answers.shop.example",
    ),
]
Prefix = Annotated[
    str,
    StringConstraints(strict=True, max_length=1024),
    pattern(r"/|(?:/[A-Za-z0-9._~-]+)+", "is no beginning of a path (without / at the end)", "/ or /v1"),
]
CertificateName = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", "is not the name of a certificate", "answers"),
]
Percent = Annotated[WholeNumber, Field(ge=0, le=ALL)]


class RouteSpec(Spec):
    """What one way in is: who reaches it, and which services answer."""

    namespace: Name
    """Where its gateway is: a key of `namespaces:`."""
    exposure: Literal["external", "internal"]
    """Who reaches it: anybody on the internet, or machines of the region's network and what is connected to it. A change makes another
    address."""
    hosts: Annotated[list[Host], AfterValidator(distinct), Field(max_length=16)] = []
    """Names that callers ask for. (default: any)"""
    certificate: CertificateName | None = None
    """A certificate of Certificate Manager in the project and region, by its name, which callers see. (default: none, and requests are not
    encrypted on their way: only inside)"""
    paths: Annotated[dict[Prefix, Annotated[dict[Name, Percent], Field(max_length=BACKENDS_MAX)]], Field(min_length=1, max_length=16)]
    """Services by the beginnings of paths, each with its share of the requests in percent, together 100. The longest beginning counts."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        found = []
        for path, shares in self.paths.items():
            if sum(shares.values()) != ALL:
                found.append(Problem(f"paths.{path}", f"makes {sum(shares.values())} percent", f"services with {ALL} together"))
        if self.exposure == "external" and self.certificate is None:
            fix = "make one: gcloud certificate-manager certificates create"
            found.append(Problem("certificate", "is missing: what comes over the internet is encrypted", "its name", fix))
        if found:
            raise ProblemsError(found)
        return self

    @property
    def services(self) -> set[str]:
        """Keys of the services that it leads to."""
        return {name for shares in self.paths.values() for name in shares}


def problems(
    routes: Mapping[str, RouteSpec],
    services: Mapping[str, ServiceSpec],
    namespaces: Mapping[str, object],
    *,
    proxies: str | None,
    region_stack: str,
) -> Iterator[Problem]:
    """
    What routes say of the cluster that is not so.

    Args:
        proxies: Range of the load balancers of the region's network.
    """
    for name, spec in routes.items():
        found = []
        if spec.namespace not in namespaces:
            allowed = ", ".join(nearest(spec.namespace, namespaces) or namespaces) or "there is none"
            found.append(Problem("namespace", f"{spec.namespace} is no key of the namespaces", allowed))
        for path, shares in spec.paths.items():
            for key in shares:
                if key not in services:
                    allowed = ", ".join(nearest(key, services) or services) or "there is none"
                    found.append(Problem(f"paths.{path}.{key}", "is no key of the services", allowed))
        if proxies is None:
            fix = f"write `accelform:network: {{ proxy_cidr: 10.0.16.0/23 }}` in the file of stack {region_stack}"
            found.append(Problem("exposure", "needs a range for the region's load balancers, and its network has none", "", fix))
        yield from (replace(one, path=f"routes.{name}.{one.path}") for one in found)
    led = {name for spec in routes.values() for name in spec.services}
    for name, service in services.items():
        if service.security_policy and name not in led:
            yield Problem(f"services.{name}.security_policy", "does nothing: no route leads here", fix="write one under `routes`")


class Route(pulumi.ComponentResource):
    """A load balancer's address, its listener, and where requests go."""

    address: pulumi.Output[str] | None = None
    """The reserved one, from outside."""

    def __init__(
        self,
        name: str,
        spec: RouteSpec,
        *,
        services: Mapping[str, ServiceSpec],
        groups: set[str],
        placement: Placement,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            services: All of the file.
            groups: Those of them whose copies are several pods.
            after: What must stand before.
        """
        super().__init__("accelform:route:Route", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        if spec.exposure == "external":
            address = gcp.compute.Address(
                f"route-{name}",
                name=address_name(name, placement),
                project=placement.project,
                region=placement.region,
                address_type="EXTERNAL",
                network_tier="PREMIUM",
                labels=placement.labels,
                opts=child,
            )
            self.address = address.address
            after = [*after, address]
        inside = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=after))
        for manifest in manifests(name, spec, services, groups, placement):
            Object(manifest, inside)
        self.register_outputs({})


def address_name(route: str, placement: Placement) -> str:
    return names.resource(placement.stack, "route", route)


def manifests(
    name: str, spec: RouteSpec, services: Mapping[str, ServiceSpec], groups: set[str], placement: Placement
) -> Iterator[dict[str, Any]]:
    """The gateway, its routes, and the leave of other namespaces."""
    metadata = {"name": name, "namespace": spec.namespace, "labels": placement.labels}
    listener: dict[str, Any] = {"name": "http", "protocol": "HTTP", "port": 80}
    if spec.certificate:
        options = {CERTIFICATES: spec.certificate}
        listener = {"name": "https", "protocol": "HTTPS", "port": 443, "tls": {"mode": "Terminate", "options": options}}
    reserved = {"type": "NamedAddress", "value": address_name(name, placement)}
    yield {
        "apiVersion": API,
        "kind": "Gateway",
        "metadata": metadata,
        "spec": {
            "gatewayClassName": CLASSES[spec.exposure],
            **({"addresses": [reserved]} if spec.exposure == "external" else {}),
            "listeners": [{**listener, "allowedRoutes": {"namespaces": {"from": "Same"}}}],
        },
    }

    def backend(service: str, percent: int) -> dict[str, Any]:
        where = services[service].namespace
        elsewhere = {"namespace": where} if where != spec.namespace else {}
        return {"name": service_name(service, service in groups), **elsewhere, "port": SERVICE_PORT, "weight": percent}

    yield {
        "apiVersion": API,
        "kind": "HTTPRoute",
        "metadata": metadata,
        "spec": {
            "parentRefs": [{"name": name}],
            **({"hostnames": spec.hosts} if spec.hosts else {}),
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": path}}],
                    "backendRefs": [backend(service, percent) for service, percent in shares.items()],
                }
                for path, shares in spec.paths.items()
            ],
        },
    }
    for where in sorted({services[service].namespace for service in spec.services} - {spec.namespace}):
        led = sorted(service for service in spec.services if services[service].namespace == where)
        yield {
            "apiVersion": GRANTS_API,
            "kind": "ReferenceGrant",
            "metadata": {"name": f"{spec.namespace}-{name}", "namespace": where, "labels": placement.labels},
            "spec": {
                "from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": spec.namespace}],
                "to": [{"group": "", "kind": "Service", "name": service_name(service, service in groups)} for service in led],
            },
        }
