"""Secret Manager: who may read a secret."""

from __future__ import annotations

from infra.local.gcp.iam import IamMember
from infra.local.gcp.resource_type import Policy, ResourceType

URL = "projects/{project}/secrets/{secretId}"

SECRET_IAM_MEMBER = ResourceType(
    "gcp:secretmanager/secretIamMember:SecretIamMember",
    "secretManager",
    URL,
    policy=Policy(
        "secretId",
        URL,
        get=("GET", ":getIamPolicy"),
        set=("POST", ":setIamPolicy"),
        get_query={"options.requestedPolicyVersion": "3"},
    ),
    lifecycle=IamMember,
)

ROWS = (SECRET_IAM_MEMBER,)
