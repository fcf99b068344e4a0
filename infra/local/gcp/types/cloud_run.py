"""Cloud Run: jobs, and who may run them."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import LAST, Codec, Field, Policy, ResourceType, Update
from infra.provider.server import ProviderError

URL = "projects/{project}/locations/{location}/jobs/{name}"
TASK = "template.template"
CONTAINERS = f"{TASK}.containers"

AS_LIST = Codec(decode=lambda value: [value] if value else [])
"""A message that the provider's schema shows as a list of one."""


class Job(Lifecycle):
    """One that is protected is not deleted."""

    def delete(self, id: str, state: dict[str, Any]) -> None:
        if state.get("deletionProtection"):
            raise ProviderError(
                f"cannot destroy job {id} without setting deletion_protection=false\n"
                "  fix: set deletionProtection to false, `pulumi up`, then destroy"
            )
        super().delete(id, state)


JOB = ResourceType(
    "gcp:cloudrunv2/job:Job",
    "cloudRunV2",
    URL,
    create_query={"jobId": "{name}"},
    url_only=("name", "location"),
    virtual={"deletionProtection": True},
    defaults={"deletionProtection": True, f"{TASK}.maxRetries": 3},
    unsupported=("runExecutionToken", "startExecutionToken", "tags"),
    fields=(
        Field("name", codec=LAST),
        Field("effectiveAnnotations", "annotations", absent={}),
        Field("conditions", absent=[]),
        Field("executionCount", absent=0),
        Field("latestCreatedExecutions", "latestCreatedExecution", absent=[], codec=AS_LIST),
        Field("terminalConditions", "terminalCondition", absent=[], codec=AS_LIST),
        Field("reconciling", absent=False),
        Field(f"{TASK}.maxRetries", always=True),
        Field(f"{CONTAINERS}.args", absent=None),
        Field(f"{CONTAINERS}.commands", "command", absent=None),
        Field(f"{CONTAINERS}.dependsOns", "dependsOn", absent=None),
        Field(f"{CONTAINERS}.envs", "env"),
        Field(f"{TASK}.vpcAccess.networkInterfaces.tags", absent=None),
    ),
    computed=(
        "launchStage",
        "template.taskCount",
        "template.parallelism",
        f"{TASK}.executionEnvironment",
        f"{TASK}.serviceAccount",
        f"{TASK}.timeout",
        f"{CONTAINERS}.resources",
        f"{CONTAINERS}.resources.limits",
        f"{CONTAINERS}.startupProbe",
    ),
    updates=(Update(),),
    lifecycle=Job,
)

JOB_IAM_MEMBER = ResourceType(
    "gcp:cloudrunv2/jobIamMember:JobIamMember",
    "cloudRunV2",
    URL,
    policy=Policy("name", URL, get=("GET", ":getIamPolicy"), set=("POST", ":setIamPolicy")),
    lifecycle=IamMember,
)

ROWS = (JOB, JOB_IAM_MEMBER)
