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
from infra.components import tpu_host
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

    @property
    def metadata(self) -> dict[str, str]:
        said = {"image": self.image, "command": self.command, "args": self.args, "env": dict(self.env)}
        return {"startup-script": startup_script(), CONTAINER_KEY: json.dumps(said, sort_keys=True, ensure_ascii=False)}


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
    reservation = spec.reservation if provisioning == "reservation" else None
    host = tpu_host.Host(spec.shape, provisioning, spec.max_run_minutes, reservation, spec.boot_disk_gib)
    own = labels(name)
    made = tpu_host.template(
        f"{name}-{provisioning}",
        physical := template_name(placement.stack, name, provisioning),
        host,
        placement=placement,
        arguments=tpu_host.arguments(host, placement, network, account, metadata=container.metadata, labels=own),
        labels=own,
        opts=opts,
    )
    plan = MachinePlan(
        provisioning=provisioning,
        form="instance" if spec.shape.single_host else "group",
        template=f"projects/{placement.project}/global/instanceTemplates/{physical}",
        workload_policy=policy,
        base_instance_name="" if spec.shape.single_host else names.group_base(placement.stack, "job", name),
    )
    return plan, [made]


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
