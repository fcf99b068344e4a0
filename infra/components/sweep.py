"""
The sweep of a stack with jobs: every hour it goes on with a run whose runner died, and takes away machines that belong to none.

It is the third of four ends of a machine, see docs/decisions/0013-jobs.md: it hangs on no job's schedule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pulumi

from infra import gcp, names
from infra.components import runner
from infra.components.placement import Placement
from infra.components.storage import Storage
from infra.job_plan import PLANS_VARIABLE, JobPlan
from infra.schedule import Schedule

CLOCK = Schedule("17 * * * *")
"""Not at the full hour, when everybody's jobs begin."""
ARGUMENTS = ("--sweep",)


class Sweep(pulumi.ComponentResource):
    """A Cloud Run job that looks after all jobs of the stack, and the clock that starts it."""

    job: gcp.cloudrunv2.Job

    def __init__(
        self,
        name: str,
        plans: Mapping[str, JobPlan],
        *,
        image: str,
        seconds: int,
        machine_accounts: Mapping[str, gcp.serviceaccount.Account],
        placement: Placement,
        storage: Storage,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            plans: By job.
            seconds: How long the longest of their runs may take: one that is gone on with may need all of it.
            machine_accounts: By job, who its machines are.
        """
        super().__init__("accelform:sweep:Sweep", name, None, opts)
        # Machines of every kind: a job that the stack file has lost may have left one of another kind than those of the jobs that are left.
        of_jobs = {key: role for plan in plans.values() for key, role in runner.roles(plan).items()}
        roles = of_jobs | runner.MACHINE_ROLES | runner.NODE_ROLES | runner.VERTEX_ROLES
        account = runner.task_account(name, roles, machine_accounts, placement=placement, storage=storage, parent=self)
        physical = names.run_job(placement.stack, name)
        self.job = runner.task(
            name,
            physical,
            {PLANS_VARIABLE: json.dumps([plan.model_dump(mode="json") for plan in plans.values()])},
            image=image,
            arguments=ARGUMENTS,
            account=account.account,
            seconds=seconds,
            labels=placement.labels,
            placement=placement,
            opts=pulumi.ResourceOptions(parent=self, depends_on=account.grants),
        )
        clock = names.resource(placement.stack, name)
        runner.start(name, clock, self.job, physical, f"{name}-clock", CLOCK, paused=False, placement=placement, parent=self)
        self.register_outputs({"job": self.job.name})
