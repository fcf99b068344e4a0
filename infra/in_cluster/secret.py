"""
Secrets of Secret Manager that pods see as files, by GKE's add-on: their contents are in no manifest, and in no state of the engine.

Whoever mounts one may read it, and nobody else: its account is granted that on each secret. Secrets themselves are made and filled by their
owners. The file is what the version was when the pod began.

Sources: https://docs.cloud.google.com/secret-manager/docs/secret-manager-managed-csi-component, read 2026-11: provider `gke`, driver
`secrets-store-gke.csi.k8s.io`, GKE 1.27.14-gke.1042001; it does not make Kubernetes' own secrets (`secretObjects`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

import pulumi
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from infra import gcp
from infra.components.cluster import ClusterSpec
from infra.components.placement import Placement
from infra.errors import Problem, ProblemsError
from infra.kubernetes import Object
from infra.spec import Name, Spec, WholeNumber, distinct, pattern

READS = "roles/secretmanager.secretAccessor"
DRIVER = "secrets-store-gke.csi.k8s.io"
SECRET = re.compile(r"(?:projects/([a-z][a-z0-9-]{2,28}[a-z0-9])/secrets/)?([A-Za-z0-9_-]{1,255})")
FileName = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,252}", "is no name of a file (letters, digits, . _ and -, no . first)", "hf-token"),
]


class SecretFileSpec(Spec):
    """One secret, as one file."""

    secret: Annotated[str, pattern(SECRET.pattern, "is no name of a secret", "hf-token, or projects/shop-secrets/secrets/hf-token")]
    """Its name in Secret Manager, in the stack's project; or its full one in another."""
    version: Annotated[WholeNumber, Field(ge=1, le=10**9)] | Literal["latest"] = "latest"
    """Number of the version: then the same deployment always sees the same; or whatever is the latest when a pod begins."""


class SecretSpec(Spec):
    """Files with secrets, that pods mount as one folder."""

    namespace: Name
    """Where it is: a key of `namespaces:`. Pods of the same namespace mount it."""
    files: Annotated[dict[FileName, SecretFileSpec], Field(min_length=1, max_length=100)]
    """Secrets, by the name of the file that each becomes."""
    readers: Annotated[list[Name], AfterValidator(distinct)] = []
    """Accounts of Kubernetes of that namespace that may read them besides those of the services and jobs that mount them."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        lower = [name.lower() for name in self.files]
        if twice := sorted({name for name in lower if lower.count(name) > 1}):
            raise ProblemsError([Problem("files", f"{', '.join(twice)} is there twice, but for the case of its letters", fix="rename one")])
        return self


class Secret(pulumi.ComponentResource):
    """What is mounted, and who may read it."""

    provider_class: Object

    def __init__(
        self,
        name: str,
        spec: SecretSpec,
        *,
        readers: Sequence[str],
        placement: Placement,
        project_number: pulumi.Input[str],
        after: list[pulumi.Resource] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            readers: Accounts of Kubernetes whose pods mount it.
            after: What must stand before: its namespace.
        """
        super().__init__("accelform:secret:Secret", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        inside = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=after or []))
        self.provider_class = Object(_class(name, spec, placement), inside)
        pool = f"locations/global/workloadIdentityPools/{placement.project}.svc.id.goog"
        for reader in readers:
            subject = f"{pool}/subject/ns/{spec.namespace}/sa/{reader}"
            for project, secret in sorted({_of(one, placement.project) for one in spec.files.values()}):
                gcp.secretmanager.SecretIamMember(
                    f"{name}-{reader}-{secret}" if project == placement.project else f"{name}-{reader}-{project}-{secret}",
                    project=project,
                    secret_id=secret,
                    role=READS,
                    member=pulumi.Output.concat("principal://iam.googleapis.com/projects/", project_number, "/", subject),
                    opts=child,
                )
        self.register_outputs({})


def _of(one: SecretFileSpec, project: str) -> tuple[str, str]:
    """Project and name of a secret."""
    match = SECRET.fullmatch(one.secret)
    assert match, "it was checked"
    return match[1] or project, match[2]


def _class(name: str, spec: SecretSpec, placement: Placement) -> dict[str, object]:
    """The files are told as a text of YAML, which JSON is."""
    files = []
    for path, one in sorted(spec.files.items()):
        project, secret = _of(one, placement.project)
        files.append({"resourceName": f"projects/{project}/secrets/{secret}/versions/{one.version}", "path": path})
    return {
        "apiVersion": "secrets-store.csi.x-k8s.io/v1",
        "kind": "SecretProviderClass",
        "metadata": {
            "name": name,
            "namespace": spec.namespace,
            "labels": {**placement.labels, "app.kubernetes.io/name": name},
        },
        "spec": {"provider": "gke", "parameters": {"secrets": json.dumps(files)}},
    }


def against_cluster(cluster: ClusterSpec) -> Iterator[Problem]:
    """What the cluster lacks for them: of one that others own nobody knows."""
    if not cluster.existing and "secret-manager" not in cluster.addons:
        fix = "add secret-manager to `addons` of the cluster in the region's file"
        yield Problem("", "needs the add-on secret-manager, which the cluster does not have", fix=fix)
