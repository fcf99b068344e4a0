"""A pipeline's identities: whose token is taken, word by word, and what nobody gets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from infra.components import pipeline_roles
from infra.components.pipeline import SUBJECT_BYTES, PipelineSpec
from infra.in_cluster import metrics_adapter

SAID: dict[str, Any] = {"repository": "shop/ml", "repository_id": 123, "owner_id": 45, "environment": "production"}
IDS = PipelineSpec(**SAID)
NAMES = PipelineSpec(**SAID, subjects="names")

HOW = {"pull_request": "refs/pull/7/merge", "pull_request_target": "refs/heads/main"}


def token(subject: str, event: str, ref: str = "", **other: str) -> dict[str, str]:
    """Claims of a job's token."""
    return {
        "sub": subject,
        "event_name": event,
        "ref": ref or HOW.get(event, "refs/heads/main"),
        "repository_id": "123",
        "repository_owner_id": "45",
    } | other


def taken(spec: PipelineSpec, claims: dict[str, str]) -> bool:
    """Whether the condition holds. What it is written in reads like Python, but for three signs."""
    python = spec.condition.replace("&&", "and").replace("||", "or")
    python = re.sub(r"assertion\.(\w+)", r"assertion['\1']", python)
    return bool(eval(python, {"__builtins__": {}}, {"assertion": claims}))


def test_subjects_have_the_numbers_of_a_repository_of_today() -> None:
    """Both forms, as GitHub's reference writes them."""
    assert IDS.previews == ("repo:shop@45/ml@123:pull_request", "repo:shop@45/ml@123:ref:refs/heads/main")
    assert IDS.applies == "repo:shop@45/ml@123:environment:production"
    assert (*NAMES.previews, NAMES.applies) == (
        "repo:shop/ml:pull_request",
        "repo:shop/ml:ref:refs/heads/main",
        "repo:shop/ml:environment:production",
    )


@pytest.mark.parametrize("spec", [IDS, NAMES], ids=["ids", "names"])
def test_takes_tokens_of_its_own_jobs_only(spec: PipelineSpec) -> None:
    """Those of a namesake, a fork's workflow, another branch, another environment, or of an event that strangers cause are refused."""
    request, branch = spec.previews
    assert taken(spec, token(request, "pull_request"))
    assert taken(spec, token(branch, "schedule"))
    assert taken(spec, token(spec.applies, "push"))
    assert taken(spec, token(spec.applies, "workflow_dispatch"))
    refused = [
        token(spec.applies, "push", repository_id="124"),
        token(spec.applies, "push", repository_owner_id="46"),
        token(spec.applies, "push", "refs/heads/feature"),
        token(spec.applies, "pull_request"),
        token(spec.applies, "pull_request_target"),
        token(spec.applies, "issue_comment"),
        token(spec.applies.replace("production", "staging"), "push"),
        token(f"{spec.applies}-2", "push"),
        token(request, "pull_request_target"),
        token(request, "push"),
        token(branch.replace("main", "feature"), "push", "refs/heads/feature"),
        token(f"{spec.prefix}x:pull_request", "pull_request"),
        token((NAMES if spec is IDS else IDS).applies, "push"),
    ]
    assert [claims for claims in refused if taken(spec, claims)] == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"repository": "shop"}, "is not OWNER/NAME"),
        ({"repository": "shop/ml' || true || '"}, "is not OWNER/NAME"),
        ({"repository": "-shop/ml"}, "is not OWNER/NAME"),
        ({"repository_id": "123"}, "valid integer"),
        ({"repository_id": 0}, "greater than or equal to 1"),
        ({"owner_id": True}, "valid integer"),
        ({"environment": "pro'd"}, "is not the name of an environment"),
        ({"environment": "*"}, "is not the name of an environment"),
        ({"branch": "a..b"}, "is not the name of a branch"),
        ({"branch": "*"}, "is not the name of a branch"),
        ({"branch": "main/"}, "is not the name of a branch"),
        ({"branch": "refs/heads/main"}, "is not the name of a branch"),
        ({"subjects": "name"}, "'ids' or 'names'"),
    ],
    ids=str,
)
def test_fails_on_what_is_no_repository(change: dict[str, Any], words: str) -> None:
    """Nothing that is written can end a quote of the condition, or stand for more than one subject."""
    with pytest.raises(ValidationError, match=words):
        PipelineSpec(**SAID | change)


def test_fails_on_a_subject_that_google_does_not_read() -> None:
    longest = SUBJECT_BYTES - len(IDS.applies.removesuffix("production"))
    assert PipelineSpec(**SAID | {"environment": "e" * longest})
    with pytest.raises(ValidationError) as caught:
        PipelineSpec(**SAID | {"environment": "e" * (longest + 1)})
    assert "would have 128 letters" in str(caught.value.errors()[0]["ctx"]["error"].problems[0].message)


def test_no_role_is_primitive_and_none_of_the_readers_writes() -> None:
    every = [*pipeline_roles.PREVIEW.values(), *pipeline_roles.APPLY.values()]
    assert not {"roles/owner", "roles/editor", "roles/viewer"} & {one.role for one in every}
    assert all(one.why for one in every)
    reads = ("viewer", "Viewer", "reader", "Reviewer", "browser", "Consumer")
    assert [one.role for one in pipeline_roles.PREVIEW.values() if not one.role.endswith(reads)] == []


def test_who_applies_may_grant_what_is_granted_to_machines_and_pods() -> None:
    """Of what lives in a cluster, only the adapter of metrics has a role in the project. Google takes ten roles in one list."""
    assert metrics_adapter.ROLE in pipeline_roles.GRANTED
    assert len(pipeline_roles.GRANTED) <= 10
    assert str(list(pipeline_roles.GRANTED)) in pipeline_roles.GRANTS_THESE


def test_roles_of_apis_that_nobody_calls_are_not_granted() -> None:
    assert dict(pipeline_roles.wanted(pipeline_roles.PREVIEW, {"tpu.googleapis.com"})).keys() == {"project", "charge", "policies", "tpus"}
