"""`own-service-account`: a machine is somebody of its own, and IAM alone decides what it may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from infra.declared import UNKNOWN, Declared, Secret
from infra.planned_jobs import PATH, RUN_JOB, custom_jobs
from infra.policy.queued import with_queued
from infra.policy.rule import Broken, Rule

MACHINE_TYPES = (
    "gcp:compute/instance:Instance",
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
    "gcp:tpu/v2Vm:V2Vm",
)
RUNNERS = {RUN_JOB: "template.template.serviceAccount", "gcp:cloudrunv2/service:Service": "template.serviceAccount"}
"""What runs in Cloud Run, and where it says who it is."""
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
MADE_NODES = "clusterAutoscaling.autoProvisioningDefaults"
"""What the nodes are that a cluster makes by itself: all of them in Autopilot."""
CLOCK = "gcp:cloudscheduler/job:Job"
DEFAULT_ACCOUNT = re.compile(r"default|[0-9]+-compute@developer\.gserviceaccount\.com|.+@appspot\.gserviceaccount\.com", re.IGNORECASE)
SCOPES = ("cloud-platform", "https://www.googleapis.com/auth/cloud-platform")


def find(resource: Declared, region: str) -> Iterator[Broken]:
    """Machines, nodes of GKE, and what runs in Cloud Run, under a default account; OAuth scopes that only seem to restrict them."""
    if resource.type in RUNNERS:
        yield from _email(RUNNERS[resource.type], resource.get(RUNNERS[resource.type]), "it would run")
        for way, job in custom_jobs(resource):
            for broken in _email("jobSpec.serviceAccount", job.get("jobSpec.serviceAccount"), "it would run"):
                yield Broken(PATH, f"the custom job as {way}: {broken}")
    elif resource.type == CLOCK:
        for kind in ("oauthToken", "oidcToken"):
            if resource.get(f"httpTarget.{kind}") is not None:
                path = f"httpTarget.{kind}.serviceAccountEmail"
                yield from _email(path, resource.get(path), "it would call")
    elif resource.type in (POOL, CLUSTER) and not resource.existing:
        for path in ["nodeConfig"] if resource.type == POOL else _of_cluster(resource):
            yield from _email(f"{path}.serviceAccount", resource.get(f"{path}.serviceAccount"), "its nodes would run")
            yield from _scopes(f"{path}.oauthScopes", resource.get(f"{path}.oauthScopes"))
    if resource.type not in MACHINE_TYPES:
        return
    account = resource.get("serviceAccount")
    if not isinstance(account, dict):
        yield Broken("serviceAccount", "is not stated: the machine would run as the project's default account")
        return
    yield from _email("serviceAccount.email", account.get("email"), "the machine would run")
    yield from _scopes("serviceAccount.scopes", account.get("scopes"))


def _of_cluster(resource: Declared) -> Iterator[str]:
    """Where a cluster says who its nodes are: of the pool that it begins with, and of those that it makes by itself."""
    autopilot, automatic = resource.get("enableAutopilot"), resource.get("clusterAutoscaling.enabled")
    if autopilot is not True:
        yield "nodeConfig"
    if autopilot not in (None, False) or automatic not in (None, False):
        yield MADE_NODES


def _email(path: str, email: Any, would: str) -> Iterator[Broken]:
    # An e-mail that is not known yet is that of an account which is being made: a default one is always known.
    if isinstance(email, Secret):
        yield Broken(path, "is a secret: who a machine is must be seen")
    elif email is None or email == "":
        yield Broken(path, f"is not stated: {would} as the project's default account")
    elif isinstance(email, str) and DEFAULT_ACCOUNT.fullmatch(email):
        yield Broken(path, f"{email} is a default account, which half the project shares")


def _scopes(path: str, scopes: Any) -> Iterator[Broken]:
    if scopes is UNKNOWN or not isinstance(scopes, list) or any(scope not in SCOPES for scope in scopes) or not scopes:
        yield Broken(path, "must be cloud-platform alone: the service adds to any other list, and IAM decides anyway")


RULE = Rule(
    name="own-service-account",
    description="Machines, nodes of GKE, and all that Cloud Run and custom jobs run, have accounts of their own, with cloud-platform.",
    remediation="give it an account of its own with the roles it needs, and scopes: [cloud-platform]",
    severity="high",
    find=with_queued(find),
)
