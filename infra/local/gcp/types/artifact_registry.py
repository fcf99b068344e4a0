"""Artifact Registry."""

from __future__ import annotations

from infra.local.gcp.iam import IamMember
from infra.local.gcp.resource_type import LAST, Codec, Field, Policy, ResourceType, Update

URL = "projects/{project}/locations/{location}/repositories/{repositoryId}"

BY_ID = Codec(
    lambda policies, _: {policy["id"]: {key: value for key, value in policy.items() if key != "id"} for policy in policies},
    lambda policies: [policy | {"id": id} for id, policy in policies.items()],
)
"""Google has a map of what the provider has as a list."""

REPOSITORY = ResourceType(
    "gcp:artifactregistry/repository:Repository",
    "artifactRegistry",
    URL,
    create_query={"repository_id": "{repositoryId}"},
    url_only=("repositoryId", "location"),
    defaults={"mode": "STANDARD_REPOSITORY"},
    computed=("dockerConfig", "vulnerabilityScanningConfig"),
    sets=("cleanupPolicies",),
    fields=(Field("cleanupPolicies", codec=BY_ID), Field("name", codec=LAST)),
    updates=(Update(mask=True),),
)

REPOSITORY_IAM_MEMBER = ResourceType(
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
    "artifactRegistry",
    "projects/{project}/locations/{location}/repositories/{repository}",
    policy=Policy(
        "repository",
        "projects/{project}/locations/{location}/repositories/{repository}",
        get=("GET", ":getIamPolicy"),
        set=("POST", ":setIamPolicy"),
    ),
    lifecycle=IamMember,
)

ROWS = (REPOSITORY, REPOSITORY_IAM_MEMBER)
