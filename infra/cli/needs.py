"""What a stack needs of its project, by its file: for `accelform doctor --cloud`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from infra import names
from infra.catalog.gpu_machines import boot_disk_type
from infra.catalog.tpu import TpuShape
from infra.components import pool_nodes
from infra.components.pipeline import ISSUER as GITHUB
from infra.components.pool_nodes import QUEUED
from infra.operate.doctor_cloud import CloudNeeds, GpuNeed, Need, SharedSubnet, TpuNeed

if TYPE_CHECKING:
    from infra.apps import AppsSpec
    from infra.components.gpu_vm import GpuVmSpec
    from infra.components.job import JobSpec
    from infra.components.node_pool import NodePoolSpec
    from infra.components.tpu_slice import TpuSliceSpec
    from infra.foundation import FoundationSpec
    from infra.stack import StackSpec


BALANCERS = {"external": "EXTERNAL_MANAGED_HTTP_HTTPS", "internal": "INTERNAL_HTTP_HTTPS"}
"""What organisation policies call the load balancers of a region that routes make.
Source: https://cloud.google.com/load-balancing/docs/org-policy-constraints, read 2026-11."""


def needs(spec: StackSpec, stack: str) -> CloudNeeds:
    """All that it wants at most: a pool of nodes its maximum, a job each of its tries."""
    every = [
        *(_slice(name, one) for name, one in spec.own_slices.items()),
        *(_gpus(name, one) for name, one in spec.own_vms.items()),
        *(need for name, pool in spec.node_pools.items() if not pool.existing for need in _pool(name, pool, spec.region)),
        *(need for name, job in spec.jobs.items() if not job.on_vertex for need in _job(name, job)),
    ]
    return CloudNeeds(
        spec.project,
        spec.region,
        tuple(sorted({budget.amount.currency for budget in spec.budgets.values()})),
        tuple(one for one in every if isinstance(one, TpuNeed)),
        spec.services(),
        tuple(one for one in every if isinstance(one, GpuNeed)),
        tuple(name for name, job in spec.jobs.items() if job.on_vertex),
        spec.own_clusters,
        callers=tuple(dict.fromkeys(one for endpoint in spec.endpoints.values() for one in endpoint.callers)),
        peered=tuple(f"clusters.{name}.addons: filestore" for name, one in spec.clusters.items() if "filestore" in one.addons),
        shared=_shared(spec, stack),
    )


def needs_of_apps(spec: AppsSpec) -> CloudNeeds:
    """What its region does, whose nodes its pods are on; and the load balancers of its routes."""
    kinds = {BALANCERS[one.exposure] for one in spec.routes.values()}
    return replace(needs(spec.of_region, spec.region_stack), balancers=tuple(sorted(kinds)))


def _shared(spec: StackSpec, stack: str) -> SharedSubnet | None:
    if not spec.network.existing or not spec.needs_network:
        return None
    own = {name: one for name, one in spec.clusters.items() if not one.existing}
    ways = {name: one.chosen_way for name, one in spec.jobs.items() if not one.on_vertex}
    return SharedSubnet(
        spec.network.existing,
        tuple(names.service_account_email(spec.project, stack, f"runner-{name}") for name in ways),
        {name: (one.secondary_ranges.pods, one.secondary_ranges.services) for name, one in own.items() if one.secondary_ranges},
        tuple(own),
        tuple(one for one in spec.grouped if one not in own),
        tuple(name for name, one in spec.own_slices.items() if one.chosen_way == "tpu-api")
        + tuple(name for name, way in ways.items() if way == "tpu-api"),
        spec.network.grants,
    )


def needs_of_foundation(spec: FoundationSpec, stack: str) -> CloudNeeds:
    """APIs, rights, budgets, and the quota that is asked for."""
    return CloudNeeds(
        spec.project,
        spec.region,
        tuple(sorted({budget.amount.currency for budget in spec.budgets.values()})),
        (),
        spec.services(),
        quota_requests={name: names.resource(stack, name) for name in spec.quota_requests},
        issuers=(GITHUB,) if spec.pipeline else (),
        is_foundation=True,
    )


def _slice(name: str, one: TpuSliceSpec) -> Need:
    return TpuNeed(
        name=name,
        accelerator_type=one.accelerator_type,
        generation=one.shape.generation,
        zone=one.zone,
        provisioning=one.provisioning,
        way=one.chosen_way,
        machine_type=one.shape.machine_type,
        chips=one.shape.chips * one.slices,
        runtime_version=one.shape.runtime_version,
        boot_disk_gib=one.boot_disk_gib,
        hosts=one.hosts,
    )


def _gpus(name: str, one: GpuVmSpec) -> Need:
    return GpuNeed(
        name=name,
        machine_type=one.machine_type,
        accelerator_type=one.gpus.accelerator_type,
        count=one.gpus.count,
        attached=one.gpus.attached,
        zone=one.zone,
        provisioning=one.provisioning,
        boot_disk_type=boot_disk_type(one.machine_type),
        boot_disk_gib=one.boot_disk_gib,
    )


def _pool(name: str, pool: NodePoolSpec, region: str) -> Iterator[Need]:
    """Its nodes at most, and those that an upgrade makes beside them, in each zone that they may come in."""
    host, nodes = pool.host, pool.bounds()[1]
    if not pool.several_hosts and pool.provisioning not in QUEUED:
        nodes += pool.upgrade.max_surge
    for zone in pool.zones_in(region):
        if isinstance(host, TpuShape):
            chips = host.chips if pool.several_hosts else host.chips * nodes
            yield TpuNeed(
                name=name,
                accelerator_type=host.accelerator_type,
                generation=host.generation,
                zone=zone,
                provisioning=pool.way,
                way="gke",
                machine_type=host.machine_type,
                chips=chips,
                runtime_version="",
                boot_disk_gib=pool.disk_gib,
                hosts=nodes,
                key="node_pools.zones",
            )
        else:
            yield GpuNeed(
                name=name,
                machine_type=host.machine_type,
                accelerator_type=host.accelerator_type,
                count=pool_nodes.gpus_of(host),
                attached=host.series == "n1",
                zone=zone,
                provisioning=pool.way,
                boot_disk_type=pool_nodes.boot_disk(host),
                boot_disk_gib=pool.disk_gib,
                way="gke",
                machines=nodes,
                key="node_pools.zones",
            )


def _job(name: str, job: JobSpec) -> Iterator[Need]:
    """Each try: its machine in every zone, in every way."""
    for wish in job.wishes:
        if job.gpus:
            yield GpuNeed(
                name=name,
                machine_type=job.gpus.machine_type,
                accelerator_type=job.gpus.accelerator_type,
                count=job.gpus.count,
                attached=job.gpus.attached,
                zone=wish.zone,
                provisioning=wish.provisioning,
                boot_disk_type=boot_disk_type(job.gpus.machine_type),
                boot_disk_gib=job.boot_disk_gib,
                key="jobs.zones",
                stands=False,
            )
        else:
            yield TpuNeed(
                name=name,
                accelerator_type=job.accelerator,
                generation=job.shape.generation,
                zone=wish.zone,
                provisioning=wish.provisioning,
                way=job.chosen_way,
                machine_type=job.shape.machine_type,
                chips=job.chips,
                runtime_version=job.shape.runtime_version,
                boot_disk_gib=job.boot_disk_gib,
                hosts=job.hosts,
                key="jobs.zones",
                stands=False,
            )
