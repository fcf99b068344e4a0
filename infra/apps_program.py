"""What lives in a region's cluster, from its stack file."""

from __future__ import annotations

from dataclasses import replace

import pulumi

from infra import apps_training, kubernetes, names
from infra.apps import AppsSpec
from infra.clouds import GOOGLE_CLOUD, Cloud
from infra.in_cluster import metrics_adapter, service_checks
from infra.in_cluster.compute_class import ComputeClass
from infra.in_cluster.controllers import GROUPS
from infra.in_cluster.metrics_adapter import MetricsAdapter
from infra.in_cluster.namespace import Namespace
from infra.in_cluster.route import Route
from infra.in_cluster.secret import Secret
from infra.in_cluster.service import Service
from infra.in_cluster.volume import Volume

ENDPOINTS = "cluster_endpoints"
"""Output of a region's stack: DNS names of the control planes of its clusters."""


def declare(spec: AppsSpec, stack: str, cloud: Cloud = GOOGLE_CLOUD) -> None:
    """Declares everything that *spec* says, named after *stack*, in *cloud*."""
    placement = replace(spec.placement(stack), provider=cloud.provider)
    region = pulumi.StackReference(f"{pulumi.get_organization()}/{pulumi.get_project()}/{spec.region_stack}")
    project_number = region.require_output("project_number")
    key = spec.cluster_key
    endpoint = region.require_output(ENDPOINTS).apply(lambda found: found[key])
    cluster = kubernetes.provider("cluster", endpoint, sandbox=cloud.address, identifier=f"{spec.region_stack}/{key}")
    inside = pulumi.ResourceOptions(providers=[cluster])

    led = {name for route in spec.routes.values() for name in route.services}
    proxied = {spec.services[name].namespace for name in led}
    proxies = spec.of_region.network.proxy_cidr or ""
    namespaces = {
        name: Namespace(name, one, placement=placement, proxies=proxies if name in proxied else "", opts=inside).namespace
        for name, one in spec.namespaces.items()
    }
    installed = apps_training.declare(spec, stack, placement, project_number, namespaces, inside)

    around = spec.around
    groups = service_checks.groups(spec.services, around)
    if spec.needs_adapter:
        MetricsAdapter(around.images[metrics_adapter.KEY], placement=placement, project_number=project_number, opts=inside)
    for name, service in spec.services.items():
        Service(
            name,
            service,
            place=replace(around.place(name, service), labels=placement.labels),
            routed=name in led,
            placement=placement,
            buckets=spec.buckets,
            project_number=project_number,
            after=[namespaces[service.namespace], *(installed.after(GROUPS) if installed and name in groups else [])],
            opts=inside,
        )
    reached = {}
    for name, route in spec.routes.items():
        within = {route.namespace, *(spec.services[one].namespace for one in route.services)}
        reached[name] = Route(
            name,
            route,
            services=spec.services,
            groups=groups,
            placement=placement,
            after=[namespaces[one] for one in sorted(within)],
            opts=inside,
        ).address

    if addresses := {name: address for name, address in reached.items() if address is not None}:
        pulumi.export("route_addresses", addresses)
    for name, ladder in spec.compute_classes.items():
        ComputeClass(
            name,
            ladder,
            placement=placement,
            region_stack=spec.region_stack,
            cluster=key,
            cluster_spec=spec.cluster_spec,
            sure=spec.confirmations,
            pools={pool: one.physical(spec.region_stack, pool) for pool, one in spec.node_pools.items()},
            opts=inside,
        )
    network = names.resource(spec.region_stack, "net")
    for name, volume in spec.volumes.items():
        Volume(name, volume, placement=placement, network=network, after=[namespaces[volume.namespace]], opts=inside)
    for name, secret in spec.secrets.items():
        Secret(
            name,
            secret,
            readers=sorted({*secret.readers, *spec.mounting(name)}),
            placement=placement,
            project_number=project_number,
            after=[namespaces[secret.namespace]],
            opts=inside,
        )

    pulumi.export("cloud", cloud.name or region.require_output("cloud"))
    pulumi.export("project", spec.project)
    pulumi.export("region", spec.region)
    pulumi.export("region_stack", spec.region_stack)
    pulumi.export("cluster", key)
