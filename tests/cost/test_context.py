"""What the stack file says of one resource: used where it means something, refused where it does not."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from costing import assuming, declared, estimated

from infra.check import check, stack_files
from infra.cost.context import Context
from infra.cost.usage import Range, Usage
from infra.declared import UNKNOWN
from infra.errors import SpecError

MACHINE = declared(
    "gcp:compute/instance:Instance",
    "try",
    {"zone": "us-east5-a", "machineType": "e2-medium", "bootDisk": {"initializeParams": {"size": 10, "type": "pd-balanced"}}},
)
BUCKET = declared("gcp:storage/bucket:Bucket", "data", {"location": "us-east5"})
STACK = """config:
  gcp:project: tw-shop-ml
  accelform:schema: 1
  accelform:region: us-east5
  accelform:environment: dev
  accelform:owner: ml-team
  accelform:tpu_slices:
    try: {accelerator_type: v6e-1, zone: us-east5-a, provisioning: spot, max_run_minutes: unlimited}
  accelform:budgets:
    monthly: {amount: 1200 USD}
  accelform:usage:
    resources:
"""


def problems(resources: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = estimated(MACHINE, BUCKET, usage=assuming(resources)).problems
    return [(one.path, one.message, one.allowed) for one in found]


def test_what_means_something_is_no_problem() -> None:
    """A machine has hours."""
    assert problems({"try": {"hours_month": 100}}) == []
    assert problems({"try": {}}) == []


def test_fails_on_a_name_that_no_resource_has() -> None:
    """The nearest name is offered."""
    assert problems({"trie": {"hours_month": 1}}) == [("usage.resources.trie", "no declared resource has this name", "try")]


def test_fails_on_the_name_that_a_resource_has_in_google_cloud() -> None:
    """What `accelform check` lists under `makes` is turned into the name that is meant."""
    made = replace(MACHINE, inputs={**MACHINE.inputs, "name": "us-east5-tpu-try"})
    [problem] = estimated(made, BUCKET, usage=assuming({"us-east5-tpu-try": {"hours_month": 1}})).problems
    assert problem.fix == "write try: us-east5-tpu-try is its name in Google Cloud"
    [problem] = estimated(made, BUCKET, usage=assuming({"us-east5-tpu-two": {"hours_month": 1}})).problems
    assert problem.fix == ""


def test_fails_on_a_field_that_does_nothing() -> None:
    """A machine has no replicas; what it has is offered."""
    assert problems({"try": {"replicas": 1, "hours_month": 1}}) == [("usage.resources.try.replicas", "does nothing for try", "hours_month")]


def test_fails_on_what_is_assumed_for_the_whole_stack() -> None:
    """The component's buckets have assumptions of their own, and the fix names them."""
    (problem,) = estimated(MACHINE, BUCKET, usage=assuming({"data": {"gib": 1}})).problems
    assert problem.fix == "remove it, and say usage.data_gib"


@pytest.mark.parametrize(
    ("kind", "inputs", "field"),
    [
        ("gcp:compute/instance:Instance", {"zone": UNKNOWN, "machineType": UNKNOWN}, "hours_month"),
        ("gcp:compute/instanceGroupManager:InstanceGroupManager", {"zone": UNKNOWN}, "hours_month"),
        ("gcp:compute/resizeRequest:ResizeRequest", {"zone": UNKNOWN}, "hours_month"),
        ("gcp:container/nodePool:NodePool", {"autoscaling": UNKNOWN}, "nodes"),
        ("gcp:container/nodePool:NodePool", {"autoscaling": {"maxNodeCount": UNKNOWN}}, "nodes"),
        ("gcp:cloudrunv2/service:Service", {"location": UNKNOWN}, "instances"),
        ("gcp:cloudrunv2/job:Job", {"location": UNKNOWN}, "hours_month"),
        ("gcp:bigquery/table:Table", {"datasetId": UNKNOWN}, "gib"),
        ("gcp:storage/bucket:Bucket", {"location": UNKNOWN}, "gib"),
        ("gcp:artifactregistry/repository:Repository", {"location": UNKNOWN}, "gib"),
        ("gcp:compute/securityPolicy:SecurityPolicy", {"rules": UNKNOWN}, "requests_thousands"),
        ("gcp:compute/forwardingRule:ForwardingRule", {"region": UNKNOWN}, "traffic_gib"),
        ("gcp:container/cluster:Cluster", {"location": UNKNOWN}, "pod_vcpus"),
    ],
)
def test_a_resource_that_is_not_known_yet_keeps_what_is_said_of_it(kind: str, inputs: dict[str, Any], field: str) -> None:
    """What is known after apply is no reason to refuse the file."""
    result = estimated(declared(kind, "try", inputs), usage=assuming({"try": {field: 1}}))
    assert result.problems == []
    assert not result.complete


def test_fails_in_the_file_with_every_place(tmp_path: Path) -> None:
    """All at once, each with its line; a name may hold dots."""
    path = tmp_path / "Pulumi.odd.yaml"
    lines = ["try: {nodes: 3}", "trie: {gib: 1}", "a.b.c: {gib: 1}", '"": {gib: 1}', "ü: {gib: 1}"]
    path.write_text(STACK + "".join(f"      {line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(SpecError) as error:
        check(stack_files([str(path)], tmp_path)[0])
    assert [(one.path, one.line) for one in error.value.problems] == [
        ("usage.resources.try.nodes", 13),
        ("usage.resources.trie", 14),
        ("usage.resources.a.b.c", 15),
        ("usage.resources.", 16),
        ("usage.resources.ü", 17),
    ]


def test_a_file_whose_assumptions_fit_is_checked(tmp_path: Path) -> None:
    """A third of the month, as an assumption of the file's own."""
    path = tmp_path / "Pulumi.fit.yaml"
    path.write_text(STACK + "      try: {hours_month: 243}\n", encoding="utf-8")
    result = check(stack_files([str(path)], tmp_path)[0])
    line = next(one for one in result.estimate.lines if one.what == "v6e-1 spot")
    assert line.quantity == (243, 243, 243)
    assert ("resources.try.hours_month", False) in {(one.name, one.is_default) for one in result.estimate.assumptions}


@pytest.mark.parametrize("hours", [731, -1, {"low": 1, "expected": 2, "high": 731}, "all", None, float("nan")])
def test_fails_on_hours_that_no_month_has(hours: Any) -> None:
    """730 are all there are; nothing at all is said by leaving the field out."""
    if hours is None:
        assert Usage.model_validate({"resources": {"try": {"hours_month": None}}}).resources["try"].hours_month is None
        return
    with pytest.raises(ValueError, match=r"is more than a month has|is not a quantity"):
        Usage.model_validate({"resources": {"try": {"hours_month": hours}}})


def test_fails_on_a_field_that_there_is_not() -> None:
    """A slip of the name is no assumption."""
    with pytest.raises(ValueError, match="Extra inputs"):
        Usage.model_validate({"resources": {"try": {"hours": 1}}})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, (1, 1, 5)),
        (3, (1, 3, 5)),
        ({"low": 2, "expected": 3, "high": 4}, (2, 3, 4)),
        (7, (1, 7, 7)),
        (Decimal("0.5"), (Decimal("0.5"), Decimal("0.5"), 5)),
    ],
)
def test_between_two_bounds_low_and_high_stay_unless_a_range_is_said(said: Any, expected: tuple[Any, ...]) -> None:
    """One number moves what is expected. What is outside still rises from low to high, beside its problem."""
    usage = assuming({"pool": {"nodes": said}} if said is not None else None)
    assert Context([], usage, "us-east5").between("pool", "nodes", Decimal(1), Decimal(5)) == expected


def test_a_default_is_said_to_be_one() -> None:
    """What nobody said is never hidden."""
    context = Context([], Usage(), "us-east5")
    context.between("pool", "nodes", Decimal(1), Decimal(5))
    context.per_resource("front", "traffic_gib")
    assert [(one.name, one.value, one.is_default) for one in context.assumptions] == [
        ("resources.pool.nodes", Range(Decimal(1), Decimal(1), Decimal(5)), True),
        ("resources.front.traffic_gib", Range(Decimal(1), Decimal(10), Decimal(100)), True),
    ]


def test_a_reference_is_followed_by_name_or_by_what_it_depends_on() -> None:
    """By the end of its path, or by the dependency that the program said; never by guessing among two."""
    one = declared("gcp:container/cluster:Cluster", "one", {"name": "gke"})
    two = declared("gcp:container/cluster:Cluster", "two", {"name": "other"})
    context = Context([one, two], Usage(), "us-east5")
    kinds = [one.type]
    assert context.referred(declared("t", "x", {"cluster": "projects/p/locations/l/clusters/other"}), "cluster", kinds) is two
    assert context.referred(declared("t", "x", {"cluster": UNKNOWN}, one), "cluster", kinds) is one
    assert context.referred(declared("t", "x", {"cluster": UNKNOWN}, one, two), "cluster", kinds) is None
    assert context.referred(declared("t", "x", {"cluster": UNKNOWN}), "cluster", kinds) is None
    assert context.referred(declared("t", "x", {"cluster": "novel"}), "cluster", kinds) is None
