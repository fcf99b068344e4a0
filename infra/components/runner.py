"""
What runs a job: a Cloud Run job that makes the machine, waits for it and takes it away; and the clock that starts it.

Its environment holds the plan. See docs/decisions/0013-jobs.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from infra import gcp, names
from infra.components import identity
from infra.components.job_machine import SCOPE
from infra.components.job_machine import labels as job_labels
from infra.components.placement import Placement
from infra.components.storage import Storage
from infra.job_plan import VARIABLE, JobPlan
from infra.schedule import Schedule

COMMAND = ("python", "-m", "infra.operate.jobs")
LIMITS = {"cpu": "1", "memory": "512Mi"}
"""The least that a task of Cloud Run has with its CPU always there. It waits nearly all of the time.
Source: https://cloud.google.com/run/docs/configuring/jobs/memory-limits, read 2026-11."""
RETRIES = 3
"""How often Cloud Run begins a runner again that ended badly: it goes on from its journal."""
LONGEST_SECONDS = 168 * 60 * 60
"""Longest task of Cloud Run. Source: https://cloud.google.com/run/docs/configuring/task-timeout, read 2026-11."""
VARIABLE_BYTES = 32 * 1024
"""Longest variable of a container. Source: https://cloud.google.com/run/quotas, read 2026-11."""
SPARE_MINUTES = 60
"""For what is neither looking for capacity nor machine time: boots, deletions that are waited for, the registering of a version."""
ATTEMPT_SECONDS = 60
"""Within which Cloud Run must take a start: it answers with an operation, and does not wait for the run.
Source of the bounds, 15 s to 30 min: discovery document cloudscheduler v1, `Job.attemptDeadline`."""

MACHINE_ROLES = {"machines": "roles/compute.instanceAdmin.v1"}
"""
Machines, groups of them, their disks; and the use of templates, policies and subnets. On the project: a machine that is not there yet has
no policy of its own, and a condition on its name would refuse groups, which are not among the resources that have such a name.
Sources, read 2026-11: https://cloud.google.com/compute/docs/access/iam and
https://cloud.google.com/iam/docs/conditions-resource-attributes.
"""
NODE_ROLES = {"nodes": "roles/tpu.admin"}
"""The one predefined role that makes nodes. Source: https://cloud.google.com/iam/docs/roles-permissions/tpu, read 2026-11."""
LOG_ROLES = {"logs": "roles/logging.viewer"}
"""Why a machine ended is read from there."""
VERTEX_ROLES = {"models": "roles/aiplatform.user"}
"""Uploads versions, moves aliases, and deploys; makes, cancels and deletes custom jobs: the least predefined role that does.
Source: https://cloud.google.com/vertex-ai/docs/general/access-control, read 2026-11."""
ROLLOUT_ROLES = {"metrics": "roles/monitoring.viewer"}
"""The guards of a rollout are read from Cloud Monitoring."""
ACT_ROLE = "roles/iam.serviceAccountUser"
"""Makes machines that are the account that it is granted on.
Source: https://cloud.google.com/iam/docs/service-account-permissions, read 2026-11."""
BUCKET_ROLE = "roles/storage.objectUser"
INVOKER_ROLE = "roles/run.invoker"
"""Starts the one job that it is granted on. Source: https://cloud.google.com/run/docs/execute/jobs-on-schedule, read 2026-11."""


def making(plan: JobPlan) -> dict[str, str]:
    """What makes the machines of a job, and takes them away."""
    if all(one.form == "custom-job" for one in plan.machines):
        return VERTEX_ROLES
    return NODE_ROLES if any(one.form == "node" for one in plan.machines) else MACHINE_ROLES


def roles(plan: JobPlan) -> dict[str, str]:
    """What the runner of a job must be allowed in the project."""
    found = LOG_ROLES | making(plan)
    if plan.registers:
        found |= VERTEX_ROLES | (ROLLOUT_ROLES if plan.registers.rollouts else {})
    return found


def task_seconds(plan: JobPlan, rollout_minutes: int) -> int:
    """Seconds that one start of the runner may take: after them Cloud Run ends it, and begins it again."""
    return min(LONGEST_SECONDS, (plan.max_run_minutes + plan.wait_minutes + rollout_minutes + SPARE_MINUTES) * 60)


class Runner(pulumi.ComponentResource):
    """A Cloud Run job with an account of its own, and what starts it where it has a schedule."""

    job: gcp.cloudrunv2.Job
    account: gcp.serviceaccount.Account
    """Who it is."""
    seconds: int
    """How long one start of it may take."""

    def __init__(
        self,
        name: str,
        plan: JobPlan,
        *,
        image: str,
        clock: Schedule | None,
        paused: bool,
        rollout_minutes: int,
        placement: Placement,
        storage: Storage,
        machine_account: gcp.serviceaccount.Account,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            machine_account: Who the machines are that it makes: it may make such, and no others.
            after: What it needs before its first run.
        """
        super().__init__("accelform:runner:Runner", name, None, opts)
        account = task_account(f"runner-{name}", roles(plan), {name: machine_account}, placement=placement, storage=storage, parent=self)
        self.account = account.account
        self.seconds = task_seconds(plan, rollout_minutes)
        self.job = task(
            name,
            task_name := names.run_job(placement.stack, "job", name),
            {VARIABLE: plan.model_dump_json()},
            image=image,
            arguments=(),
            account=account.account,
            seconds=self.seconds,
            labels={**placement.labels, **job_labels(name)},
            placement=placement,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*account.grants, *after]),
        )
        if clock:
            physical = names.resource(placement.stack, "job", name)
            start(name, physical, self.job, task_name, f"clock-{name}", clock, paused=paused, placement=placement, parent=self)
        self.register_outputs({"job": self.job.name})


@dataclass(frozen=True, slots=True)
class TaskAccount:
    """Who a Cloud Run job is, and the grants that say what it may."""

    account: gcp.serviceaccount.Account
    grants: list[pulumi.Resource]


def task_account(
    purpose: str,
    project_roles: Mapping[str, str],
    machines: Mapping[str, gcp.serviceaccount.Account],
    *,
    placement: Placement,
    storage: Storage,
    parent: pulumi.Resource,
) -> TaskAccount:
    """
    An account with roles in the project, and with the models bucket: journals are there.

    Args:
        machines: By job, who the machines are that it makes: it may make such, and no others.
    """
    account = identity.account(purpose, placement=placement, parent=parent)
    child = pulumi.ResourceOptions(parent=account)
    grants = identity.on_the_project(purpose, project_roles, account, placement=placement)
    bucket = gcp.storage.BucketIAMMember(
        f"{purpose}-journal", bucket=storage.models.name, role=BUCKET_ROLE, member=account.member, opts=child
    )
    acts = [
        gcp.serviceaccount.IAMMember(
            f"{purpose}-acts-{job}",
            service_account_id=machine.name,
            role=ACT_ROLE,
            member=account.member,
            opts=child,
        )
        for job, machine in machines.items()
    ]
    return TaskAccount(account, [*grants, bucket, *acts])


def task(
    name: str,
    physical: str,
    env: Mapping[str, str],
    *,
    image: str,
    arguments: Sequence[str],
    account: gcp.serviceaccount.Account,
    seconds: int,
    labels: Mapping[str, str],
    placement: Placement,
    opts: pulumi.ResourceOptions,
) -> gcp.cloudrunv2.Job:
    """
    A Cloud Run job of one task. It keeps nothing that a destroy could lose: journals are in the bucket.

    Raises:
        RunError: A variable is longer than Cloud Run takes.
    """
    for key, value in env.items():
        if (size := len(value.encode())) > VARIABLE_BYTES:
            raise pulumi.RunError(
                f"jobs: {key} of {physical} would have {size} bytes, and Cloud Run takes {VARIABLE_BYTES}\n"
                "  fix: spread the jobs over the stack files of more stacks, or shorten what `args` and `env` say"
            )
    return gcp.cloudrunv2.Job(
        name,
        name=physical,
        project=placement.project,
        location=placement.region,
        deletion_protection=False,
        labels=dict(labels),
        template={
            "task_count": 1,
            "labels": dict(labels),
            "template": {
                "service_account": account.email,
                "max_retries": RETRIES,
                "timeout": f"{seconds}s",
                "containers": [
                    {
                        "image": image,
                        "commands": list(COMMAND),
                        "args": list(arguments) or None,
                        "resources": {"limits": LIMITS},
                        "envs": [{"name": key, "value": value} for key, value in env.items()],
                    }
                ],
            },
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def start(
    name: str,
    physical: str,
    job: gcp.cloudrunv2.Job,
    job_name: str,
    purpose: str,
    clock: Schedule,
    *,
    paused: bool,
    placement: Placement,
    parent: pulumi.Resource,
) -> None:
    """
    What starts a Cloud Run job by the clock, as an account that may start this one and nothing else.

    Args:
        job_name: Its name, known before it is made: so rules and prices see at a preview what is started.
    """
    account = identity.account(purpose, placement=placement, parent=parent)
    may = gcp.cloudrunv2.JobIamMember(
        f"{purpose}-starts",
        project=placement.project,
        location=placement.region,
        name=job.name,
        role=INVOKER_ROLE,
        member=account.member,
        opts=pulumi.ResourceOptions(parent=account),
    )
    gcp.cloudscheduler.Job(
        name,
        name=physical,
        project=placement.project,
        region=placement.region,
        description=f"Starts {job_name}",
        schedule=clock.cron,
        time_zone=clock.timezone,
        paused=paused,
        attempt_deadline=f"{ATTEMPT_SECONDS}s",
        # A start whose answer was lost is sent again: of two runs the second finds the first one's lease, and ends.
        retry_config={"retry_count": 3, "min_backoff_duration": "30s", "max_backoff_duration": "300s"},
        http_target={
            "http_method": "POST",
            "uri": f"https://run.googleapis.com/v2/projects/{placement.project}/locations/{placement.region}/jobs/{job_name}:run",
            "oauth_token": {"service_account_email": account.email, "scope": SCOPE},
        },
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[job, may], delete_before_replace=True),
    )
