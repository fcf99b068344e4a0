"""What is kept of a preview: no value."""

from __future__ import annotations

import json

import pytest

from infra.errors import SpecError
from infra.gitops.plan import LINE_MAX, SAID_MAX, Change, Plan
from tests.gitops.conftest import POOL, begun, lines, summary

SECRET = "s3cret-hunter2"


def test_keeps_operations_names_and_causes_and_no_value() -> None:
    """Of a replacement its whole, of components nothing, of inputs no trace."""
    inputs = {"custom": True, "inputs": {"password": SECRET}}
    plan = Plan.of(
        lines(
            begun("same", name="other"),
            begun("same", "accelform:storage:Storage", "storage"),
            begun("read", name="theirs"),
            begun("create", "accelform:storage:Storage", "storage"),
            begun("create", "accelform:vertex:Model", "recommender", new=inputs),
            begun("update", new=inputs, old=inputs, detailedDiff={"labels.team": {"diffKind": "update"}}),
            begun("create-replacement", POOL, "gpu"),
            begun("replace", POOL, "gpu", keys=["nodeConfig"], detailedDiff={"nodeConfig.machineType": {"diffKind": "update-replace"}}),
            begun("delete-replaced", POOL, "gpu"),
            begun("delete", "pulumi:providers:gcp", "old"),
            summary(create=1, update=1, replace=1, same=7),
        )
    )
    assert plan.changes == [
        Change("create", "accelform:vertex:Model", "recommender"),
        Change("replace", POOL, "gpu", ("nodeConfig.machineType",)),
        Change("update", "gcp:storage/bucket:Bucket", "data", ("labels.team",)),
    ]
    assert (plan.same, plan.failed, SECRET in json.dumps(plan.as_json())) == (1, False, False)
    assert Plan.parse(json.dumps(plan.as_json()), "plan.json") == plan


def test_broken_rules_are_no_failure() -> None:
    """Advice is no broken rule."""
    policy = {"resourceUrn": "", "policyName": "same-region", "message": "no", "enforcementLevel": "mandatory"}
    plan = Plan.of(lines({"policyEvent": policy}, {"policyEvent": policy | {"enforcementLevel": "advisory"}}, "error: preview failed"))
    assert (len(plan.violations), plan.failed) == (1, False)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["error: no stack named 'x' found"], "no stack named"),
        ([{"diagnosticEvent": {"severity": "error", "message": "googleapi: Error 403"}}, summary(same=1)], "Error 403"),
        ([], "said nothing"),
        (["", "[]", "null", "{}"], "said nothing"),
    ],
)
def test_a_preview_that_did_not_end_has_failed(said: list[str], why: str) -> None:
    """Even one that says nothing: no change seen is not no change."""
    plan = Plan.of(lines(*said))
    assert plan.failed
    assert why in " ".join(plan.errors)


def test_what_went_wrong_is_told_once_and_not_without_end() -> None:
    errors = [{"diagnosticEvent": {"severity": "error", "message": f"{number % 90}" + "x" * 2 * LINE_MAX}} for number in range(180)]
    plan = Plan.of(lines(*errors))
    assert len(plan.errors) == SAID_MAX + 1
    assert max(map(len, plan.errors)) < LINE_MAX + 10
    assert plan.errors[-1] == f"... and {90 - SAID_MAX} more lines: see the log"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "1", '{"changes": [1]}', "[" * 100_000, '{"changes": [], "same": "x"}', '{"changes": [], "same": 1}']
)
def test_fails_on_a_file_that_is_no_plan(text: str) -> None:
    with pytest.raises(SpecError, match="gitops plan"):
        Plan.parse(text, "plan.json")
