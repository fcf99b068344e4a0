"""`cost-allocation`: the bill of a cluster can be split by namespace and label, and that of a job can be told from the others."""

from __future__ import annotations

from collections.abc import Iterator

from infra.declared import Declared
from infra.labels import JOB_LABEL, STACK_LABEL
from infra.planned_jobs import CONTAINER, PATH, own_plan
from infra.policy.rule import Broken, Rule

CLUSTER = "gcp:container/cluster:Cluster"
KEY = "costManagementConfig.enabled"
LABELS = (STACK_LABEL, JOB_LABEL)


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """
    Clusters without cost allocation, or that cannot be shown to have it, and parts of a job without the labels of stack and job. What
    others own is theirs to decide.
    """
    if resource.type == CLUSTER and not resource.existing and resource.get(KEY) is not True:
        yield Broken(KEY, "must be stated as true, and known at preview: else its bill has nodes, and no namespaces")
    plan = own_plan(resource)
    if plan or resource.get(CONTAINER) is not None:
        for label in LABELS:
            if not isinstance(resource.get(f"labels.{label}"), str):
                yield Broken(f"labels.{label}", "must be stated, and known at preview: else the bill does not tell the job from the others")
    for machine in plan.machines if plan else ():
        asked = {"node": machine.node, "custom-job": machine.custom_job}.get(machine.form)
        if asked is not None and not set(LABELS) <= set(asked.get("labels") or {}):
            yield Broken(PATH, f"the {machine.form} as {machine.provisioning} has not the labels {' and '.join(LABELS)}")


RULE = Rule(
    name="cost-allocation",
    description="The bill of every GKE cluster can be split by namespace and label, and that of every job by its own label.",
    remediation="set costManagementConfig: {enabled: true}, and a job's labels; the bill of the days before stays as it is",
    severity="low",
    find=find,
)
