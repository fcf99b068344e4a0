"""What lives in a region's cluster, from its stack file."""

from __future__ import annotations

from dataclasses import replace

import pulumi

from infra import kubernetes, names
from infra.apps import AppsSpec
from infra.clouds import GOOGLE_CLOUD, Cloud
from infra.in_cluster import controllers, metrics_adapter, service_checks
from infra.in_cluster.cluster_job import ClusterJob
from infra.in_cluster.compute_class import ComputeClass
from infra.in_cluster.controllers import Controllers
from infra.in_cluster.metrics_adapter import MetricsAdapter
from infra.in_cluster.namespace import Namespace
from infra.in_cluster.priority import Priority
from infra.in_cluster.queue import Queues
from infra.in_cluster.ray_cluster import RayCluster
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
        name: Namespace(name, one, placement=placement, proxies=proxies if name in proxied else "", opts=inside)
        for name, one in spec.namespaces.items()
    }
    installed = Controllers("controllers", spec.controllers, opts=inside) if spec.controllers else None

    def after(namespace: str, *needed: controllers.Controller) -> list[pulumi.Resource]:
        """What must stand first: the namespace, and the controllers that are not there already."""
        return [namespaces[namespace].namespace, *(installed.after(*needed) if installed else [])]

    priorities = {
        name: Priority(
            name,
            one,
            placement=placement,
            queued=bool(spec.queues),
            after=installed.after(controllers.QUEUES) if installed else [],
            opts=inside,
        )
        for name, one in spec.priorities.items()
    }
    queues: dict[str, kubernetes.Object] = {}
    if spec.queues:
        first = [one for queue in spec.queues.values() for one in after(queue.namespace, controllers.QUEUES)]
        queues = Queues("queues", spec.queues, rooms=spec.rooms, placement=placement, after=first, opts=inside).queues
    for name, job in spec.jobs.items():
        kind: list[controllers.Controller] = [] if job.schedule else [controllers.JOB_SETS]
        ClusterJob(
            name,
            job,
            where=spec.where(stack, placement.labels, job),
            placement=placement,
            project_number=project_number,
            after=[
                *after(job.namespace, *kind),
                *([queues[job.queue]] if job.queue else []),
                *([priorities[job.priority]] if job.priority else []),
            ],
            opts=inside,
        )
    for name, ray in spec.ray_clusters.items():
        RayCluster(
            name,
            ray,
            made=spec.made(placement.labels, ray),
            placement=placement,
            buckets=spec.buckets,
            project_number=project_number,
            after=after(ray.namespace, controllers.RAY),
            opts=inside,
        )

    around = spec.around
    if spec.needs_adapter:
        MetricsAdapter(around.images[metrics_adapter.KEY], placement=placement, project_number=project_number, opts=inside)
    groups = service_checks.groups(spec.services, around)
    for name, service in spec.services.items():
        Service(
            name,
            service,
            place=replace(around.place(name, service), labels=placement.labels),
            routed=name in led,
            placement=placement,
            buckets=spec.buckets,
            project_number=project_number,
            after=after(service.namespace, *([controllers.GROUPS] if name in groups else [])),
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
            after=[namespaces[one].namespace for one in sorted(within)],
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
            opts=inside,
        )
    network = names.resource(spec.region_stack, "net")
    for name, volume in spec.volumes.items():
        Volume(name, volume, placement=placement, network=network, after=after(volume.namespace), opts=inside)
    for name, secret in spec.secrets.items():
        Secret(
            name,
            secret,
            readers=secret.readers,
            placement=placement,
            project_number=project_number,
            after=after(secret.namespace),
            opts=inside,
        )

    pulumi.export("cloud", cloud.name or region.require_output("cloud"))
    pulumi.export("project", spec.project)
    pulumi.export("region", spec.region)
    pulumi.export("region_stack", spec.region_stack)
    pulumi.export("cluster", key)
