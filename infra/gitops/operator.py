"""
Manifests for the Pulumi Kubernetes Operator 2: a `Stack` for each stack file, and who runs them.

The operator previews nothing: it runs `pulumi up --skip-preview` with the pack, so that a rule stops an update where the resource comes
that breaks it. What is to be refused before anything is made is refused in the pull request, by the preview workflow.

Sources: https://github.com/pulumi/pulumi-kubernetes-operator, v2.9.0 (the definition of `Stack`, examples/git-source, the workspace's
folder); `InstallDependencies` of Pulumi's Python toolchain, which reads `requirements.txt` beside the program and no other list; read
2026-11.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.check import StackFile
from infra.errors import Problem, SpecError
from infra.gitops.changed import BY_PEOPLE
from infra.refusals import NAMESPACE
from infra.stack_file import REGION
from infra.yaml_file import read

WORKSPACE = "/share/workspace"
"""Where the operator clones the repository."""
IMAGE = "pulumi/pulumi:3.274.1-nonroot"
"""The engine's version is that of the tests here."""
PROJECT = "accelform"
"""Name of the project in Pulumi.yaml."""
ACCESS = "access.yaml"
REQUIREMENTS = Path("infra", "requirements.txt")
HOURLY = 3600
"""Seconds between two looks at what stands, and at the branch."""
BACKOFF = 3600
"""Seconds that it waits at most before it tries again what failed. The operator's own default is a day."""

SHAPES = {
    "repository": (re.compile(r"(?:https://|ssh://|git@)[A-Za-z0-9._~:/@-]{3,300}"), "https://github.com/OWNER/NAME.git"),
    "branch": (re.compile(r"(?!/)(?!.*//)(?!.*\.\.)[A-Za-z0-9._/-]{1,100}(?<!/)"), "main"),
    "state-url": (re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"), "gs://BUCKET, the foundation's output state_url"),
    "account": (
        re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]@[a-z0-9.:-]+\.iam\.gserviceaccount\.com"),
        "the foundation's output pipeline_apply",
    ),
    "namespace": (re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"), "pulumi"),
    "image": (re.compile(r"[a-z0-9][A-Za-z0-9._:/-]{0,250}(?:@sha256:[0-9a-f]{64})?"), IMAGE),
    "secret": (re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"), "the name of a Secret with the key accessToken"),
}
REQUIRED = ("repository", "branch", "state-url", "account")
"""Options that have no default."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the manifests are written for."""

    repository: str
    """Address that the operator clones."""
    branch: str
    state_url: str
    account: str
    """Service account of Google Cloud that makes everything, by the workload identity of the cluster that the operator runs in."""
    namespace: str = "pulumi"
    image: str = IMAGE
    secret: str = ""
    """Secret of Kubernetes with the token of a private repository; empty for a public one."""


def problems(said: Mapping[str, str | None]) -> Iterator[Problem]:
    """What is wrong in options, by their names."""
    for option, value in said.items():
        shape, example = SHAPES[option]
        if value is not None and not shape.fullmatch(value):
            yield Problem(f"--{option}", f"{value[:60]!r} is not one", example)
        elif value is None and option in REQUIRED:
            yield Problem(f"--{option}", "is missing", example)


def manifests(asked: Asked, stacks: Sequence[StackFile]) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """
    Objects by the name of their file, and the stacks that are left out since people make them.

    Raises:
        SpecError: A file is no stack file, or a stack's secrets cannot be read without a person.
    """
    files: dict[str, list[dict[str, Any]]] = {ACCESS: _access(asked)}
    left, wrong = [], []
    for one in stacks:
        data = read(one.path).data
        said = data.get("config")
        config = said if isinstance(said, dict) else {}
        if config.get(f"{NAMESPACE}kind", REGION) in BY_PEOPLE:
            left.append(one.stack)
            continue
        provider = data.get("secretsprovider")
        if "encryptionsalt" in data and not provider:
            fix = f"pulumi stack change-secrets-provider KEY --stack {one.stack}, with the foundation's output secrets_provider"
            wrong.append(Problem(str(one.path), "its secrets are behind a passphrase, which no pipeline has", "a key of Cloud KMS", fix))
        files[f"{one.stack}.yaml"] = [_stack(asked, one.stack, config.get(f"{NAMESPACE}region_stack"), provider)]
    if wrong:
        raise SpecError("accelform gitops init operator", wrong)
    return files, left


def _access(asked: Asked) -> list[dict[str, Any]]:
    """Who the workspaces run as; and that the operator may ask for its tokens, as the operator's own examples have it."""
    name = {"name": PROJECT, "namespace": asked.namespace}
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": name | {"annotations": {"iam.gke.io/gcp-service-account": asked.account}},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{PROJECT}-auth-delegator"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
            "subjects": [{"kind": "ServiceAccount", **name}],
        },
    ]


def _stack(asked: Asked, stack: str, region_stack: object, secrets_provider: object) -> dict[str, Any]:
    env = {
        "PULUMI_OPTION_POLICY_PACK": f"{WORKSPACE}/infra/policy",
        "PYTHONPATH": WORKSPACE,  # the list of what is installed is by hashes, where nothing of a folder may stand
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    token = {"type": "Secret", "secret": {"name": asked.secret, "key": "accessToken"}}
    return {
        "apiVersion": "pulumi.com/v1",
        "kind": "Stack",
        "metadata": {"name": stack, "namespace": asked.namespace},
        "spec": {
            "stack": f"organization/{PROJECT}/{stack}",
            "backend": asked.state_url,
            **({"secretsProvider": str(secrets_provider)} if secrets_provider else {}),
            "projectRepo": asked.repository,
            "branch": asked.branch,
            "shallow": True,
            **({"gitAuth": {"accessToken": token}} if asked.secret else {}),
            "serviceAccountName": PROJECT,
            "envRefs": {key: {"type": "Literal", "literal": {"value": value}} for key, value in env.items()},
            # Every hour it looks at what stands, and makes it what the branch says.
            "refresh": True,
            "continueResyncOnCommitMatch": True,
            "resyncFrequencySeconds": HOURLY,
            "retryMaxBackoffDurationSeconds": BACKOFF,
            "useLocalStackOnly": True,  # a stack is begun by a person, with its key
            "destroyOnFinalize": False,  # who deletes this object deletes no accelerator
            **({"prerequisites": [{"name": region_stack}]} if isinstance(region_stack, str) else {}),
            "workspaceTemplate": {
                "spec": {
                    "image": asked.image,
                    "securityProfile": "restricted",
                    "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
                }
            },
        },
    }


def text(objects: Sequence[Mapping[str, Any]]) -> str:
    """YAML of several objects, with what a reader is to know first."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # the library's own hint says None only
    yaml.width = 4096
    parts = []
    for one in objects:
        out = io.StringIO()
        yaml.dump(dict(one), out)
        parts.append(out.getvalue())
    return "# Written by `accelform gitops init operator`, for the Pulumi Kubernetes Operator 2; yours from then on.\n" + "---\n".join(
        parts
    )


def requirements() -> str:
    """What `pulumi install` installs beside the program: the lock, by hashes."""
    return "# Written by `accelform gitops init operator`: `pulumi install` reads no other list.\n-r ../requirements/run.lock\n"
