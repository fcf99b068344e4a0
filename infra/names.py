"""
Physical names, written out: `<stack>-<purpose>`, stable, without randomness, within each service's length.

Autonaming without randomness would force delete-before-replace on everything, and names with it could not be known before a run.
"""

from __future__ import annotations

import hashlib


def shortened(name: str, limit: int) -> str:
    """*name* itself where it fits; else its head and eight hexadecimal digits of its SHA-256, together *limit* long."""
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: limit - 9].rstrip('-')}-{digest}"


def resource(stack: str, *purpose: str) -> str:
    """Name of a Compute Engine, Cloud TPU or Artifact Registry resource: at most 63 characters (RFC 1035)."""
    return shortened("-".join((stack, *purpose)), 63)


def cluster(stack: str, *purpose: str) -> str:
    """
    Name of a GKE cluster or of a node pool: at most 40 characters.

    Source: discovery document container v1, `Cluster.name`: "can be up to 40 characters"; of a pool it says nothing, and the same is held.
    """
    return shortened("-".join((stack, *purpose)), 40)


def run_job(stack: str, *purpose: str) -> str:
    """
    Name of a Cloud Run job: at most 49 characters, so that its executions have room for a suffix of their own.

    Source: https://cloud.google.com/run/docs/create-jobs, read 2026-11.
    """
    return shortened("-".join((stack, *purpose)), 49)


def group_base(stack: str, *purpose: str) -> str:
    """
    What the names of a managed group's machines begin with: at most 58 characters, since the group adds a hyphen and four more.

    Source: discovery document compute v1, `InstanceGroupManager.baseInstanceName`: "The maximum character length is 58".
    """
    return shortened("-".join((stack, *purpose)), 58)


def bucket(project: str, stack: str, purpose: str) -> str:
    """Name of a bucket: at most 63 characters; bucket names are one namespace for all of Google Cloud, so it carries the project id."""
    return shortened(f"{project}-{stack}-{purpose}", 63)


def holds(project: str, stack: str) -> str:
    """
    Object in which controllers say what they hold of a stack: in its models bucket, which goes with it, and whose writers may write no
    state.
    """
    return f"gs://{bucket(project, stack, 'models')}/.accelform/holds/{stack}.json"


def journal(project: str, stack: str, endpoint: str) -> str:
    """Object in which a rollout on the stack's endpoint of that name keeps how far it is."""
    return f"gs://{bucket(project, stack, 'models')}/.accelform/rollouts/{stack}/{endpoint}.json"


def job_state(models_bucket: str, stack: str, job: str) -> str:
    """Folder in which a job's runner keeps how far it is."""
    return f"gs://{models_bucket}/.accelform/jobs/{stack}/{job}"


def job_output(models_bucket: str, job: str) -> str:
    """Folder in which each run of a job has its own folder."""
    return f"gs://{models_bucket}/jobs/{job}"


def service_account_id(stack: str, purpose: str) -> str:
    """Account id of a service account: 6 to 30 characters."""
    return shortened(f"{stack}-{purpose}", 30)


BUILDER = "builder"
"""Purpose of the account that builds a stack's images."""


def service_account_email(project: str, stack: str, purpose: str) -> str:
    """
    Address of a service account, known before it is made.

    Source: https://cloud.google.com/iam/docs/service-accounts-create, read 2026-11. A project of a domain (`example.com:shop`) has
    another; no stack may be in one.
    """
    return f"{service_account_id(stack, purpose)}@{project}.iam.gserviceaccount.com"


def endpoint_id(project: str, stack: str, name: str) -> str:
    """
    Id of a Vertex AI endpoint: nine digits made from its name; a word is refused with 400 (the display name is free).

    Source: discovery document aiplatform v1, `projects.locations.endpoints.create`, `endpointId`: "If the first character is a number,
    this value may be up to 9 characters", no leading zero (the provider's own page says ten); read 2026-11.
    """
    number = int(hashlib.sha256(f"{project}/{stack}/{name}".encode()).hexdigest(), 16)
    return str(100_000_000 + number % 900_000_000)


def identity_pool(stack: str) -> str:
    """
    Id of the workload identity pool of a stack's pipelines: 4 to 32 characters, and none may begin with `gcp-`, so the stack comes last.

    Source: discovery document iam v1, `workloadIdentityPools.create`.
    """
    return shortened(f"pipeline-{stack}", 32)
