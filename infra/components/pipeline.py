"""
The two identities of a pipeline: `preview`, which reads, and `apply`, which makes. GitHub says who comes, and no key exists.

A job shows GitHub's token, whose claims the provider's condition reads: the numeric ids of repository and owner, which nobody gets again,
and the exact subject. Each account is bound to its own subjects, word by word, never to the pool. A fork's pull request gets nothing:
GitHub gives its jobs no token to show, and who hands it one by `pull_request_target` is refused by the event.

Sources: https://docs.github.com/en/actions/reference/security/oidc (claims, subjects, immutable subjects since July 2026),
https://github.com/google-github-actions/auth/blob/main/docs/SECURITY_CONSIDERATIONS.md (numeric ids),
https://cloud.google.com/iam/docs/workload-identity-federation-with-deployment-pipelines, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Literal, Self

import pulumi
from pydantic import Field, StringConstraints, model_validator

from infra import gcp, names
from infra.components import identity, pipeline_roles
from infra.components.placement import Placement
from infra.components.state_bucket import STATES
from infra.errors import Problem, ProblemsError
from infra.spec import Spec, WholeNumber, pattern

ISSUER = "https://token.actions.githubusercontent.com"
SUBJECT_BYTES = 127
"""Longest `google.subject`. Source: discovery document iam v1, `WorkloadIdentityPoolProvider.attributeMapping`."""
ON_A_BRANCH = ("push", "schedule", "workflow_dispatch")
"""Events whose workflow is the branch's own."""

MAPPING = {
    "google.subject": "assertion.sub",
    "attribute.repository_id": "assertion.repository_id",
    "attribute.repository_owner_id": "assertion.repository_owner_id",
    # A claim that is not there fails the whole exchange, and only a job in an environment has one.
    "attribute.environment": "has(assertion.environment) ? assertion.environment : ''",
    "attribute.ref": "assertion.ref",
    "attribute.event_name": "assertion.event_name",
}
"""What Google's audit logs and conditions can read of a token."""

BRANCH = r"(?!/|refs/)(?!.*//)(?!.*\.\.)[A-Za-z0-9._/-]{1,100}(?<!/)"
ID_MAX = 10**15
Id = Annotated[WholeNumber, Field(ge=1, le=ID_MAX)]
Text = StringConstraints(strict=True)


class PipelineSpec(Spec):
    """A repository of GitHub whose workflows preview and apply the project's stacks, with an account of their own for each."""

    repository: Annotated[
        str,
        Text,
        pattern(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?/[A-Za-z0-9._-]{1,100}", "is not OWNER/NAME of a repository", "shop/ml"),
    ]
    """OWNER/NAME of the repository, in GitHub's own capitals."""
    repository_id: Id
    """Its number: `gh api repos/OWNER/NAME --jq .id`."""
    owner_id: Id
    """Its owner's number: `gh api repos/OWNER/NAME --jq .owner.id`."""
    environment: Annotated[
        str, Text, pattern(r"[A-Za-z0-9._-]{1,100}", "is not the name of an environment (letters, digits, ., _ and -)", "production")
    ]
    """Environment of the repository that a job must be in to apply. Its required reviewers are set in GitHub."""
    branch: Annotated[str, Text, pattern(BRANCH, "is not the name of a branch", "main")] = "main"
    """Branch that is applied."""
    subjects: Literal["ids", "names"] = "ids"
    """Form of the subjects in the repository's tokens: `ids` has the numbers in it, as repositories have that were made, renamed or moved
    since July 2026; `names` has not. `gh api repos/OWNER/NAME/actions/oidc/customization/sub --jq .sub_claim_prefix` shows which."""

    @model_validator(mode="after")
    def _short_enough(self) -> Self:
        if (longest := max(len(one) for one in (*self.previews, self.applies))) > SUBJECT_BYTES:
            words = f"the subject of its tokens would have {longest} letters, and Google reads {SUBJECT_BYTES}"
            raise ProblemsError([Problem("environment", words, fix="give the environment, the branch or the repository a shorter name")])
        return self

    @property
    def prefix(self) -> str:
        """What every subject of the repository begins with."""
        if self.subjects == "names":
            return f"repo:{self.repository}"
        owner, _, name = self.repository.partition("/")
        return f"repo:{owner}@{self.owner_id}/{name}@{self.repository_id}"

    @property
    def previews(self) -> tuple[str, str]:
        """Subjects that preview: those of pull requests, and of the branch, where drift is looked for."""
        return f"{self.prefix}:pull_request", f"{self.prefix}:ref:refs/heads/{self.branch}"

    @property
    def applies(self) -> str:
        """The subject that applies."""
        return f"{self.prefix}:environment:{self.environment}"

    @property
    def condition(self) -> str:
        """What must hold of a token, in Google's Common Expression Language."""
        request, branch = self.previews
        events = ", ".join(f"'{event}'" for event in ON_A_BRANCH)
        return (
            f"assertion.repository_id == '{self.repository_id}' && assertion.repository_owner_id == '{self.owner_id}' && ("
            f"(assertion.sub == '{request}' && assertion.event_name == 'pull_request') || "
            f"(assertion.sub in ['{branch}', '{self.applies}'] && assertion.ref == 'refs/heads/{self.branch}' && "
            f"assertion.event_name in [{events}]))"
        )


class Pipeline(pulumi.ComponentResource):
    """A pool with one provider, and the two accounts."""

    provider: gcp.iam.WorkloadIdentityPoolProvider
    """Its `name` is what google-github-actions/auth takes as `workload_identity_provider`."""
    preview: gcp.serviceaccount.Account
    apply: gcp.serviceaccount.Account

    def __init__(
        self,
        name: str,
        spec: PipelineSpec,
        *,
        services: Container[str],
        bucket: gcp.storage.Bucket,
        key: gcp.kms.CryptoKey,
        placement: Placement,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """
        Args:
            services: APIs that the project's stacks call.
            bucket: Where their states are.
            key: What their secrets are encrypted with.
        """
        super().__init__("accelform:pipeline:Pipeline", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        pool = gcp.iam.WorkloadIdentityPool(
            "github",
            project=placement.project,
            workload_identity_pool_id=names.identity_pool(placement.stack),
            display_name="pipelines",
            description=f"workflows of {spec.repository}",
            opts=child,
        )
        self.provider = gcp.iam.WorkloadIdentityPoolProvider(
            "github",
            project=placement.project,
            workload_identity_pool_id=pool.workload_identity_pool_id,
            workload_identity_pool_provider_id="github",
            display_name="GitHub",
            attribute_mapping=MAPPING,
            attribute_condition=spec.condition,
            oidc={"issuer_uri": ISSUER},
            opts=child,
        )
        self.preview = self._account("preview", pipeline_roles.PREVIEW, services, placement)
        self.apply = self._account("apply", pipeline_roles.APPLY, services, placement)
        for account, purpose, subjects in (
            (self.preview, "preview", dict(zip(("requests", "branch"), spec.previews, strict=True))),
            (self.apply, "apply", {"environment": spec.applies}),
        ):
            for words, subject in subjects.items():
                gcp.serviceaccount.IAMMember(
                    f"{purpose}-{words}",
                    service_account_id=account.name,
                    role="roles/iam.workloadIdentityUser",
                    member=pulumi.Output.concat("principal://iam.googleapis.com/", pool.name, "/subject/", subject),
                    opts=pulumi.ResourceOptions(parent=account),
                )
        for account, purpose, states, secrets in (
            (self.preview, "preview", "roles/storage.objectViewer", "roles/cloudkms.cryptoKeyDecrypter"),
            (self.apply, "apply", "roles/storage.objectUser", "roles/cloudkms.cryptoKeyEncrypterDecrypter"),
        ):
            inside = pulumi.ResourceOptions(parent=account)
            gcp.storage.BucketIAMMember(f"{purpose}-state", bucket=bucket.name, role=states, member=account.member, opts=inside)
            gcp.kms.CryptoKeyIAMMember(f"{purpose}-secrets", crypto_key_id=key.id, role=secrets, member=account.member, opts=inside)
        self.register_outputs({"provider": self.provider.name, "preview": self.preview.email, "apply": self.apply.email})

    def _account(
        self, purpose: str, table: dict[str, pipeline_roles.Role], services: Container[str], placement: Placement
    ) -> gcp.serviceaccount.Account:
        account = identity.account(purpose, placement=placement, parent=self)
        states = names.bucket(placement.project, placement.stack, STATES)
        for key, one in pipeline_roles.wanted(table, services):
            gcp.projects.IAMMember(
                f"{purpose}-{key}",
                project=placement.project,
                role=one.role,
                member=account.member,
                condition={"title": one.title, "expression": one.condition.replace("STATES", states)} if one.condition else None,
                opts=pulumi.ResourceOptions(parent=account),
            )
        return account
