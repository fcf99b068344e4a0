"""The machines of a job, one for each way of buying: what each is made of, and how its runner asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi

from infra import gcp, names
from infra.catalog.wish import Provisioning
from infra.components import gpu_host, tpu_host
from infra.components import host as hosts
from infra.components.network import Network
from infra.components.placement import Placement
from infra.job_plan import MachinePlan
from infra.labels import CONTAINER_KEY, JOB_LABEL

if TYPE_CHECKING:
    from infra.components.job import JobSpec

STARTUP = Path(__file__).with_name("startup.sh")
SCOPE = "https://www.googleapis.com/auth/cloud-platform"


@cache
def startup_script() -> str:
    return STARTUP.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Container:
    """What the start script runs."""

    image: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    env: Mapping[str, str]
    """What every run is told; the runner adds what is of one."""
    gpus: int = 0
    """GPUs of the machine, which the container is to see."""

    @property
    def metadata(self) -> dict[str, str]:
        said: dict[str, Any] = {"image": self.image, "command": self.command, "args": self.args, "env": dict(self.env)}
        driver = {gpu_host.DRIVER_KEY: gpu_host.driver_script()} if self.gpus else {}
        said |= {"gpus": self.gpus} if self.gpus else {}
        return {"startup-script": startup_script(), CONTAINER_KEY: json.dumps(said, sort_keys=True, ensure_ascii=False), **driver}


def labels(job: str) -> dict[str, str]:
    """Labels of what a job has, beside the stack's: the bill can be read by job."""
    return {JOB_LABEL: job}


def template_name(stack: str, job: str, provisioning: Provisioning) -> str:
    return names.resource(stack, "job", job, provisioning)


def machine_plan(
    name: str,
    spec: JobSpec,
    provisioning: Provisioning,
    container: Container,
    *,
    placement: Placement,
    network: Network,
    account: gcp.serviceaccount.Account,
    account_email: str,
    policy: str,
    opts: pulumi.ResourceOptions,
) -> tuple[MachinePlan, list[pulumi.Resource]]:
    """
    One way of getting the machine, and what is declared for it.

    Args:
        account: Who the machine is.
        account_email: Its address, known before it is made: so a preview shows the plan.
        policy: Full name of the workload policy; empty for one host.
    """
    if spec.chosen_way == "tpu-api":
        node = _node(name, spec, provisioning, container, placement, network, account_email)
        return MachinePlan(provisioning=provisioning, form="node", node=node), []
    host = _host(spec, provisioning)
    own = labels(name)
    made = hosts.template(
        f"{name}-{provisioning}",
        physical := template_name(placement.stack, name, provisioning),
        host,
        placement=placement,
        arguments=hosts.arguments(host, placement, network, account, metadata=container.metadata, labels=own),
        labels=own,
        opts=opts,
    )
    plan = MachinePlan(
        provisioning=provisioning,
        form="group" if policy else "instance",
        template=f"projects/{placement.project}/global/instanceTemplates/{physical}",
        workload_policy=policy,
        base_instance_name=names.group_base(placement.stack, "job", name) if policy else "",
    )
    return plan, [made]


def _host(spec: JobSpec, provisioning: Provisioning) -> hosts.Host:
    """One host of its machine. It is made for the run: whatever ends it deletes it."""
    reservation = spec.reservation if provisioning == "reservation" else None
    if spec.gpus:
        return gpu_host.host(spec.gpus, provisioning, spec.max_run_minutes, reservation, spec.boot_disk_gib)
    return tpu_host.host(spec.shape, provisioning, spec.max_run_minutes, reservation, spec.boot_disk_gib)


def _node(
    name: str,
    spec: JobSpec,
    provisioning: Provisioning,
    container: Container,
    placement: Placement,
    network: Network,
    account_email: str,
) -> dict[str, Any]:
    """A `Node` of the Cloud TPU API. Source: discovery document tpu v2, revision 20261001."""
    return {
        "acceleratorType": spec.accelerator_type,
        "runtimeVersion": spec.shape.runtime_version,
        "networkConfig": {"subnetwork": network.subnetwork_name, "enableExternalIps": False},
        "schedulingConfig": {"spot": provisioning == "spot", "reserved": provisioning == "reservation"},
        "serviceAccount": {"email": account_email, "scope": [SCOPE]},
        "shieldedInstanceConfig": {"enableSecureBoot": False},
        "metadata": {"enable-oslogin": "TRUE", **container.metadata},
        "labels": {**placement.labels, **labels(name)},
    }
