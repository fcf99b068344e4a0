"""The stack file of what a project has once: what it reads of the regions beside it, what they read of it, and what both refuse."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from infra import stack_kinds
from infra.check import Checked, StackFile, check
from infra.collect import collect
from infra.components import pipeline_roles
from infra.errors import SpecError
from infra.foundation import EVERY, FoundationSpec
from infra.program import CHANNELS
from infra.stack import StackSpec

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "Pulumi.foundation.yaml"
Write = Callable[..., Path]

PIPELINE = {"repository": "shop/ml", "repository_id": 123, "owner_id": 45, "environment": "production"}
REQUEST = {
    "service": "compute.googleapis.com",
    "quota_id": "GPUS-PER-GPU-FAMILY-per-project-region",
    "dimensions": {"region": "us-central1", "gpu_family": "NVIDIA_H100"},
    "value": 8,
    "contact": "email:ml@shop.example",
    "justification": "One machine, every night",
}


@pytest.fixture
def foundation(base: dict[str, Any]) -> dict[str, Any]:
    """The least foundation."""
    return base | {"accelform:kind": "foundation"}


@pytest.fixture
def region(base: dict[str, Any]) -> dict[str, Any]:
    """The least region that names it: it has no budget."""
    return {key: value for key, value in base.items() if key != "accelform:budgets"} | {"accelform:foundation": "once"}


@cache
def example() -> Checked:
    """The example, which is judged once."""
    return check(StackFile("foundation", EXAMPLE))


def refused(path: Path) -> dict[str, str]:
    """Path -> message of every problem of a file."""
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(path)
    return {problem.path: problem.message for problem in caught.value.problems}


def the_foundation(path: Path) -> FoundationSpec:
    spec = stack_kinds.load(path)
    assert isinstance(spec, FoundationSpec)
    return spec


def test_apis_are_those_of_the_regions_beside_it_its_own_and_those_said(
    foundation: dict[str, Any], region: dict[str, Any], a_slice: dict[str, Any], stack_file: Write
) -> None:
    """A region of another project, and what lives in a cluster, need none of it."""
    alone = set(the_foundation(stack_file(foundation, "once")).services())
    assert alone == {f"{one}.googleapis.com" for one in EVERY}
    stack_file(region | {"accelform:tpu_slices": {"eval": a_slice}}, "here")
    stack_file(region | {"gcp:project": "tw-shop-web", "accelform:clusters": {"main": {"mode": "autopilot"}}}, "elsewhere")
    spec = the_foundation(stack_file(foundation | {"accelform:apis": ["redis.googleapis.com"]}, "once"))
    assert set(spec.services()) - alone == {f"{one}.googleapis.com" for one in ("artifactregistry", "compute", "iam", "redis")}


def test_the_engine_hands_over_the_same(foundation: dict[str, Any], stack_file: Write) -> None:
    """Numbers of a repository come as numbers, not as text."""
    said = {"accelform:pipeline": PIPELINE, "accelform:quota_requests": {"h100": REQUEST}}
    path = stack_file(foundation | said, "once")
    config = {key: value if isinstance(value, str) else json.dumps(value) for key, value in (foundation | said).items()}
    assert stack_kinds.from_engine(config, "the engine", path.parent) == stack_kinds.load(path)


def test_a_region_with_a_foundation_holds_nothing_of_the_projects(
    foundation: dict[str, Any], region: dict[str, Any], a_slice: dict[str, Any], stack_file: Write
) -> None:
    """It needs no budget; its alerts reach those whom the foundation names, by the channels that stand there."""
    stack_file(foundation | {"accelform:notify": ["email:ml@shop.example"]}, "once")
    said = region | {"accelform:monitoring": {}, "accelform:tpu_slices": {"eval": a_slice}}
    said |= {"accelform:notify": ["email:region@shop.example"]}
    spec = stack_kinds.load(stack_file(said, "here"))
    assert isinstance(spec, StackSpec)
    assert (spec.budgets, spec.hears, spec.refers_to) == ({}, True, ("once",))
    declared = collect(lambda: stack_kinds.declare(spec, "here"), "here")
    kinds = [one.type.rpartition(":")[2] for one in declared]
    assert (kinds.count("Budget"), kinds.count("NotificationChannel"), kinds.count("StackReference")) == (0, 1, 1)
    granted = {one.inputs["role"] for one in declared if one.type == "gcp:projects/iAMMember:IAMMember"}
    assert granted
    assert granted <= set(pipeline_roles.GRANTED)  # or who applies could not make it
    alerts = [one for one in declared if one.type.endswith(":AlertPolicy")]
    assert {len(one.inputs["notificationChannels"]) for one in alerts} == {2}


def test_a_region_is_shown_beside_the_projects_budget(foundation: dict[str, Any], region: dict[str, Any], stack_file: Write) -> None:
    stack_file(foundation, "once")
    found: Checked = check(
        StackFile("here", stack_file(region | {"accelform:budgets": {"own": {"amount": "9 USD", "scope": "stack"}}}, "here"))
    )
    assert [one.budget for one in found.headroom] == ["once/monthly", "own"]


def test_the_projects_budget_counts_all_stacks_of_the_project(
    foundation: dict[str, Any], region: dict[str, Any], a_slice: dict[str, Any], stack_file: Write
) -> None:
    """
    Two regions with a v6e-1 as spot are more than 1,500 USD together, and each is less. A stack of another project is not counted; a file
    that is wrong makes it unknown, and never fits.
    """
    with_one = region | {"accelform:tpu_slices": {"eval": a_slice}}
    once = StackFile("once", stack_file(foundation | {"accelform:budgets": {"monthly": {"amount": "1500 USD"}}}, "once"))
    here = StackFile("here", stack_file(with_one, "here"))
    other = {key: value for key, value in with_one.items() if key != "accelform:foundation"}
    budgets = {"accelform:budgets": {"monthly": {"amount": "9000 USD"}}}
    stack_file(other | budgets | {"gcp:project": "tw-shop-web"}, "elsewhere")
    assert (check(once).findings, check(here).findings) == ([], [])
    stack_file(with_one, "there")
    for file, name in ((once, "monthly"), (here, "once/monthly")):
        (found,) = check(file).findings
        assert (found.rule, found.resource, found.path) == ("within-budget", name, "budgets.monthly.amount")
    stack_file(region | {"accelform:owner": ""}, "there")
    assert [(one.over, one.complete) for one in check(here).headroom] == [("may be", False)]
    until = {"rule": "within-budget", "resource": "once/monthly", "until": dt.date(9999, 12, 31), "because": "the board knows"}
    stack_file(with_one, "there")
    excepted = check(StackFile("here", stack_file(with_one | {"accelform:exceptions": [until]}, "here")))
    assert (excepted.findings, [one.rule for one in excepted.excepted]) == ([], ["within-budget"])


def test_what_a_region_says_otherwise_than_its_foundation_is_refused_at_once(
    foundation: dict[str, Any], region: dict[str, Any], stack_file: Write
) -> None:
    """The project is one; a budget of the project, and mail to the same people, come once."""
    stack_file(foundation | {"accelform:notify": ["email:ml@shop.example"]}, "once")
    wrong = {
        "gcp:project": "tw-shop-web",
        "accelform:budgets": {"monthly": {"amount": "350 USD"}},
        "accelform:notify": ["email:ml@shop.example", *(f"email:{letter}@shop.example" for letter in "abcd")],
    }
    assert refused(stack_file(region | wrong, "here")) == {
        "gcp:project": "tw-shop-web is not that of stack once, its foundation",
        "notify.0": "has the mail already, from stack once",
        "budgets.monthly.scope": "counts the project, which is what stack once does",
    }
    many = {"accelform:notify": [f"email:{letter}@shop.example" for letter in "abcde"]}
    assert refused(stack_file(region | many, "here")) == {"notify": "6 with those of stack once: a budget takes 5"}


def test_a_region_without_a_foundation_is_as_before(region: dict[str, Any], stack_file: Write) -> None:
    del region["accelform:foundation"]
    assert refused(stack_file(region, "here")) == {"budgets": "is missing"}


def test_a_foundation_that_is_not_there_or_wrong_is_told_by_its_name(
    foundation: dict[str, Any], region: dict[str, Any], stack_file: Write
) -> None:
    path = stack_file(region, "here")
    assert "cannot be read" in refused(path)["foundation"]
    stack_file(foundation | {"accelform:owner": ""}, "once")
    assert "owner:" in refused(path)["foundation"]
    assert list(refused(path)) == ["foundation"]  # not its budgets too
    stack_file(region, "once")
    assert "is of kind region" in refused(path)["foundation"]
    assert "is not the name of a stack" in refused(stack_file(region | {"accelform:foundation": "../once"}, "here"))["foundation"]


def test_what_is_wrong_beside_a_foundation_is_told(foundation: dict[str, Any], region: dict[str, Any], stack_file: Write) -> None:
    """A region that cannot be read, whose APIs nobody knows; one of another environment in the same project."""
    stack_file(region | {"accelform:owner": ""}, "wrong")
    path = stack_file(foundation, "once")
    assert refused(path) == {"apis": "which APIs are needed is not known: the file of stack wrong is wrong"}
    stack_file(region | {"accelform:environment": "prod"}, "wrong")
    assert list(refused(path)) == ["environment"]
    (path.parent / "Pulumi.wrong.yaml").write_text("config: [", encoding="utf-8")
    assert list(refused(path)) == ["apis"]
    (path.parent / "Pulumi.wrong.yaml").write_text("config: 3\n", encoding="utf-8")  # of no project that is known
    assert the_foundation(path)


@pytest.mark.parametrize(
    ("said", "problems"),
    [
        ({"budgets": {}}, {"budgets": "{} is too little"}),
        ({"budgets": {"m": {"amount": "9 USD", "scope": "stack"}}}, {"budgets.m.scope": "a foundation's budget counts the project"}),
        (
            {"budgets": {"m": {"amount": "9 USD", "spend": "after-credits", "period": {"from": "2026-12-01", "until": "2026-12-31"}}}},
            {"budgets": "none counts the whole project, every month"},
        ),
        (
            {"budgets": {"m": {"amount": "9 USD", "mail_billing_admins": False}}},
            {"budgets.m.mail_billing_admins": "nobody would get the mail"},
        ),
        ({"pipeline": None}, {"pipeline": "says nothing"}),
        ({"apis": ["redis"]}, {"apis.0": '"redis" is not the name of an API'}),
        (
            {"apis": ["redis.googleapis.com"] * 2},
            {"apis": '["redis.googleapis.com", "redis.googleapis.com"] names an API twice: redis.googleapis.com'},
        ),
        ({"tpu_slices": {}}, {"tpu_slices": "is not a key here"}),
        ({"state": {"soft_delete_days": 6}}, {"state.soft_delete_days": "6 is too small"}),
        ({"quota_requests": {"a": REQUEST, "b": REQUEST | {"value": 9}}}, {"quota_requests.b": "asks for what a asks for"}),
    ],
    ids=str,
)
def test_fails_on_what_a_foundation_cannot_have(
    said: dict[str, Any], problems: dict[str, str], foundation: dict[str, Any], stack_file: Write
) -> None:
    found = refused(stack_file(foundation | {f"accelform:{key}": value for key, value in said.items()}))
    assert {path: message[: len(problems.get(path, ""))] for path, message in found.items()} == problems


def test_foundations_are_made_first(foundation: dict[str, Any], region: dict[str, Any], stack_file: Write) -> None:
    files = [StackFile("here", stack_file(region, "here")), StackFile("once", stack_file(foundation, "once"))]
    assert [one.stack for one in stack_kinds.in_order(files)] == ["once", "here"]


def test_the_guide_is_so(foundation: dict[str, Any], region: dict[str, Any], stack_file: Write) -> None:
    """Its parts of files are taken as they stand, its outputs are those of the program, and its APIs and rights are those that are needed."""
    text = (ROOT / "docs" / "guides" / "foundation.md").read_text(encoding="utf-8")
    whole, named = (YAML(typ="safe", pure=True).load(part) for part in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    spec = the_foundation(stack_file(foundation | whole, "foundation"))
    stack_kinds.load(stack_file(region | named, "here"))
    assert spec.pipeline
    assert spec.pipeline.applies == "repo:shop@987654/ml@123456789:environment:production"

    program = (ROOT / "infra" / "foundation_program.py").read_text(encoding="utf-8")
    told = {name for row in re.findall(r"^\| (`[a-z_`, ]+`) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    made = {*re.findall(r'pulumi\.export\("(\w+)"', program), CHANNELS}
    assert told == made - {"cloud", "project", "project_number", "region"}
    first = set(re.findall(r"(\w+)\.googleapis\.com", text.partition("enable ")[2].partition("`")[0]))
    assert first == {"cloudresourcemanager", "serviceusage", "cloudbilling", "billingbudgets"}
    assert first <= set(EVERY)


def test_an_editor_takes_the_example_and_no_key_of_another_kind() -> None:
    schema = json.loads((ROOT / "stacks" / "stack.schema.json").read_text(encoding="utf-8"))
    document = YAML(typ="safe", pure=True).load(EXAMPLE.read_text(encoding="utf-8"))
    editor = jsonschema.Draft202012Validator(schema)
    assert editor.is_valid(document)
    document["config"]["accelform:tpu_slices"] = {}
    assert not editor.is_valid(document)


def test_the_example_costs_what_is_counted_by_hand() -> None:
    """
    A key version 0.06 and 100,000 operations with it, ten times 0.03; 1 GiB of states at 0.02; 10,000 writes at 0.05, 100,000 reads at
    0.04; 1 GiB to the internet at 0.12. A low month has a thousand of each operation, and nothing else but the key.
    """
    checked = example()
    low, expected, high = checked.estimate.total
    assert checked.estimate.complete
    assert expected == Decimal("0.06") + 10 * Decimal("0.03") + Decimal("0.02") + Decimal("0.05") + Decimal("0.04") + Decimal("0.12")
    assert low == Decimal("0.06") + Decimal("0.1") * Decimal("0.03") + Decimal("0.005") + Decimal("0.0004")
    assert high == Decimal("0.06") + 100 * Decimal("0.03") + 10 * Decimal("0.02") + Decimal("0.5") + Decimal("0.4") + 20 * Decimal("0.12")
    assert checked.findings == []
    assert [(one.budget, one.over) for one in checked.headroom] == [("monthly", "no")]


def test_everything_comes_after_the_apis() -> None:
    """Each part of each component: what calls an API that is not on is refused."""
    resources = example().resources
    apis = {one.urn for one in resources if one.type == "gcp:projects/service:Service"}
    assert len(apis) == 13
    others = [one for one in resources if one.type != "gcp:projects/service:Service" and not one.is_component]
    assert len(others) > 40
    assert [one.name for one in others if not apis <= set(one.dependencies)] == []
