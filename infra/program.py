"""A region, from its stack file: what `pulumi up` makes and `accelform check` looks at."""

from __future__ import annotations

from dataclasses import replace

import pulumi

from infra import accelform, names
from infra.clouds import GOOGLE_CLOUD, Cloud
from infra.components import registered
from infra.components.budget import CHANNEL, Budgets
from infra.components.builder import Builder
from infra.components.cluster import Cluster
from infra.components.endpoint import Endpoint
from infra.components.gpu_vm import GpuVm
from infra.components.identity import Identity
from infra.components.images import RUNNER
from infra.components.job import Job, purpose
from infra.components.model import Model
from infra.components.monitoring import Monitoring
from infra.components.network import Network
from infra.components.node_pool import NodePool
from infra.components.spend_cap import SpendCap
from infra.components.storage import Storage
from infra.components.sweep import Sweep
from infra.components.tpu_slice import TpuSlice
from infra.stack import SWEEP, StackSpec

CHANNELS = "channels"
"""Output of a foundation's stack: the notification channel of each address."""


def declare(spec: StackSpec, stack: str, cloud: Cloud = GOOGLE_CLOUD) -> None:
    """Declares everything that *spec* says, named after *stack*, in *cloud*."""
    placement = replace(spec.placement(stack), provider=cloud.provider)
    budgets = Budgets("budgets", spec.budgets, notify=spec.notify, placement=placement, channels=_channels(spec))
    storage = Storage("storage", spec.storage, placement=placement)
    if spec.images:
        Builder("builder", placement=placement, storage=storage)
    served = [endpoint for endpoint in spec.endpoints.values() if endpoint.served]
    queued = any(one.queued for one in spec.own_slices.values())
    if spec.spend_caps or spec.models or served or queued:
        held = names.holds(spec.project, stack)
        own = accelform.Provider("accelform", sandbox=cloud.address or None, billing_project=spec.project, holds=held)
    for name, cap in spec.spend_caps.items():
        SpendCap(name, cap, placement=placement, budgets=budgets, opts=pulumi.ResourceOptions(providers=[own]))
    trains = spec.registered
    models = {
        name: Model(
            name,
            model,
            placement=placement,
            storage=storage,
            image="" if model.existing else registered.image_of(model, spec.images),
            job=trains.get(name, ""),
            opts=pulumi.ResourceOptions(providers=[own]),
        )
        for name, model in spec.models.items()
    }

    slices = {name: f"tpu-{name}" for name in spec.own_slices}
    vms = {name: f"gpu-{name}" for name in spec.own_vms}
    machines = [*slices.values(), *vms.values(), *map(purpose, spec.jobs)]
    network = None
    if spec.needs_network:
        network = Network("network", spec.network, placement=placement, users=_users(spec, budgets.project_number))
    if machines:
        identity = Identity("identity", machines, placement=placement, storage=storage)
    for name, tpu_slice in spec.tpu_slices.items():
        TpuSlice(
            name,
            tpu_slice,
            placement=placement,
            network=network,
            account=identity.accounts[slices[name]] if name in slices else None,
            after=identity.grants[slices[name]] if name in slices else [],
            opts=pulumi.ResourceOptions(providers=[own]) if tpu_slice.queued else None,
        )

    for name, gpu_vm in spec.gpu_vms.items():
        account, after = (identity.accounts[vms[name]], identity.grants[vms[name]]) if name in vms else (None, [])
        GpuVm(name, gpu_vm, placement=placement, network=network, account=account, after=after)

    clusters = {
        name: Cluster(
            name,
            cluster,
            placement=placement,
            network=None if cluster.existing else network,
            storage=storage,
            own_pools=any(pool.cluster == name and not pool.existing for pool in spec.node_pools.values()),
        )
        for name, cluster in spec.clusters.items()
    }
    for name, pool in spec.node_pools.items():
        NodePool(
            name,
            pool,
            placement=placement,
            cluster=clusters[pool.cluster],
            cluster_spec=spec.clusters[pool.cluster],
            may_replace=name in spec.allow_replace,
        )

    jobs = {}
    for name, job in spec.jobs.items():
        registers = None
        if job.registers:
            model = spec.models[job.registers]
            registers = registered.plan(
                job.registers, model, registered.image_of(model, spec.images), spec.endpoints, placement, job.timezone
            )
        jobs[name] = Job(
            name,
            job,
            image=spec.image_of(job),
            runner_image=spec.images[RUNNER],
            placement=placement,
            storage=storage,
            network=None if job.on_vertex else network,
            account=identity.accounts[purpose(name)],
            after=identity.grants[purpose(name)],
            sandbox=cloud.address,
            registers=registers,
            rollout_minutes=registered.rollout_minutes(registers) if registers else 0,
        )
        if network is not None and not job.on_vertex:
            network.let_in(f"runner-{name}", jobs[name].runner.account.member)
    if jobs:
        Sweep(
            SWEEP,
            {name: one.plan for name, one in jobs.items()},
            image=spec.images[RUNNER],
            seconds=max(one.runner.seconds for one in jobs.values()),
            machine_accounts={name: identity.accounts[purpose(name)] for name in jobs},
            placement=placement,
            storage=storage,
        )

    endpoints = {}
    for name, endpoint in spec.endpoints.items():
        opts = pulumi.ResourceOptions(providers=[own]) if endpoint.served else None
        endpoints[name] = Endpoint(
            name, endpoint, placement=placement, models=models, awaits=registered.awaited(endpoint, trains), opts=opts
        )

    if spec.monitoring:
        watched = spec.watched(stack)
        Monitoring("monitoring", spec.monitoring, watched=watched, channels=budgets.channels.values(), placement=placement)

    pulumi.export("cloud", cloud.name or budgets.project_number)
    pulumi.export("project", spec.project)
    pulumi.export("project_number", budgets.project_number)
    pulumi.export("region", spec.region)
    pulumi.export("data_bucket", pulumi.Output.concat("gs://", storage.data.name))
    pulumi.export("models_bucket", pulumi.Output.concat("gs://", storage.models.name))
    pulumi.export("image_repository", storage.image_prefix)
    pulumi.export("models", {name: model.model.name for name, model in models.items()})
    pulumi.export("endpoints", {name: made.endpoint.id for name, made in endpoints.items()})
    if clusters:
        pulumi.export("clusters", {name: one.cluster.id for name, one in clusters.items()})
        pulumi.export("cluster_endpoints", {name: one.endpoint for name, one in clusters.items()})
    dns = {name: endpoints[name].endpoint.dedicated_endpoint_dns for name, one in spec.endpoints.items() if one.has_dns}
    pulumi.export("endpoint_dns", dns)
    private: dict[str, object] = {
        name: endpoints[name].attachments or {} for name, one in spec.endpoints.items() if one.private_service_connect
    }
    pulumi.export("endpoint_attachments", private)


def _users(spec: StackSpec, number: pulumi.Input[str]) -> dict[str, pulumi.Input[str]]:
    """Google's agents that make machines in a subnet of others. They are there as soon as their API is on."""
    found: dict[str, pulumi.Input[str]] = {}
    if spec.grouped:
        found["google-apis"] = pulumi.Output.concat("serviceAccount:", number, "@cloudservices.gserviceaccount.com")
    if spec.own_clusters:
        found["gke"] = pulumi.Output.concat("serviceAccount:service-", number, "@container-engine-robot.iam.gserviceaccount.com")
    return found


def _channels(spec: StackSpec) -> dict[str, pulumi.Input[str]]:
    """Channels that the foundation has, by address."""
    if spec.of_foundation is None:
        return {}
    found = pulumi.StackReference(f"{pulumi.get_organization()}/{pulumi.get_project()}/{spec.foundation}").require_output(CHANNELS)

    def of(address: str) -> pulumi.Output[str]:
        return found.apply(lambda channels: str(channels[address]))

    return {address: of(address) for address in (entry.removeprefix("email:").removeprefix(CHANNEL) for entry in spec.of_foundation.notify)}
