"""What trains in a cluster, from its stack file: queues, jobs and Ray clusters, and the controllers that they need."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from infra.apps import AppsSpec
from infra.components.placement import Placement
from infra.in_cluster import controllers
from infra.in_cluster.cluster_job import ClusterJob
from infra.in_cluster.controllers import Controller, Controllers
from infra.in_cluster.priority import Priority
from infra.in_cluster.queue import Queues
from infra.in_cluster.ray_cluster import RayCluster
from infra.kubernetes import Object


def declare(
    spec: AppsSpec,
    stack: str,
    placement: Placement,
    project_number: pulumi.Input[str],
    namespaces: Mapping[str, Object],
    opts: pulumi.ResourceOptions,
) -> Controllers | None:
    """
    Declares it, and answers the controllers, which others may need too; None where the file needs none.

    Args:
        stack: Its name, which is a part of the folders of runs.
        opts: Say the provider of the cluster.
    """
    installed = Controllers("controllers", spec.controllers, opts=opts) if spec.controllers else None

    def after(namespace: str, *needed: Controller) -> list[pulumi.Resource]:
        """What must stand first: the namespace, and the controllers that are not there already."""
        return [namespaces[namespace], *(installed.after(*needed) if installed else [])]

    kueue = installed.after(controllers.QUEUES) if installed else []
    priorities = {
        name: Priority(name, one, placement=placement, queued=bool(spec.queues), after=kueue, opts=opts)
        for name, one in spec.priorities.items()
    }
    queues: dict[str, Object] = {}
    if spec.queues:
        first = [one for queue in spec.queues.values() for one in after(queue.namespace, controllers.QUEUES)]
        queues = Queues("queues", spec.queues, rooms=spec.rooms, placement=placement, after=first, opts=opts).queues
    for name, job in spec.jobs.items():
        kind: list[Controller] = [] if job.schedule else [controllers.JOB_SETS]
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
            opts=opts,
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
            opts=opts,
        )
    return installed
