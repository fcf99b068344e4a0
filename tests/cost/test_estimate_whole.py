"""What holds of every estimate, whatever is in it; and that it knows what this project declares."""

from __future__ import annotations

import ast
import inspect
import random
import re
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from costing import assuming, declared, estimated
from hypothesis import given
from hypothesis import strategies as st

import infra
from infra import gcp
from infra.check import check, stack_files
from infra.cost.estimate import IAM, LINES, estimate
from infra.cost.free import FREE, NO_PRICE
from infra.cost.line import LineItem
from infra.declared import Declared

ROOT = Path(infra.__file__).parent
STACKS = stack_files([], ROOT.parent / "stacks")
REGION = "us-central1"
FASTEST_OF, MILLISECONDS_MAX = 5, 20


def machine(name: str, machine_type: str, model: str, gib: int) -> Declared:
    inputs = {
        "zone": "us-central1-a",
        "machineType": machine_type,
        "scheduling": {"provisioningModel": model},
        "bootDisk": {"initializeParams": {"size": gib, "type": "pd-balanced"}},
    }
    return declared("gcp:compute/instance:Instance", name, inputs)


def pool(name: str, least: int, more: int, machine_type: str) -> Declared:
    inputs = {
        "location": REGION,
        "nodeLocations": ["us-central1-a"],
        "autoscaling": {"minNodeCount": least, "maxNodeCount": least + more},
        "nodeConfig": {"machineType": machine_type, "diskSizeGb": 100},
        "networkConfig": {"enablePrivateNodes": True},
    }
    return declared("gcp:container/nodePool:NodePool", name, inputs)


NAME = st.integers(0, 10**9).map(str)
MACHINE_TYPE = st.sampled_from(["e2-medium", "g2-standard-8", "n1-standard-4", "ct5lp-hightpu-4t", "a3-highgpu-8g", "novel-1"])
RESOURCE = st.one_of(
    st.builds(machine, NAME, MACHINE_TYPE, st.sampled_from(["STANDARD", "SPOT", "FLEX_START"]), st.integers(10, 5000)),
    st.builds(pool, NAME, st.integers(0, 9), st.integers(0, 9), MACHINE_TYPE),
    NAME.map(lambda name: declared("gcp:cloudscheduler/job:Job", name, {})),
    NAME.map(lambda name: declared("gcp:secretmanager/secret:Secret", name, {})),
    NAME.map(lambda name: declared("gcp:compute/forwardingRule:ForwardingRule", name, {"region": REGION})),
    NAME.map(lambda name: declared("gcp:pubsub/topic:Topic", name, {})),
    NAME.map(lambda name: declared("gcp:compute/routerNat:RouterNat", name, {"region": REGION})),
    st.just(declared("gcp:storage/bucket:Bucket", "data", {"location": REGION})),
    st.just(declared("gcp:artifactregistry/repository:Repository", "images", {"location": REGION})),
)
SOME = st.lists(RESOURCE, max_size=8, unique_by=lambda one: (one.type, one.name))
USAGE = assuming(
    data_gib={"low": 1, "expected": 10, "high": 100}, images_gib=3, logs_gib={"low": 40, "expected": 60, "high": 90}, nat_data_gib=7
)


@given(SOME)
def test_every_line_rises_and_the_total_is_their_sum(resources: list[Declared]) -> None:
    """Low, expected, high; and nothing is added or lost on the way."""
    result = estimated(*resources, usage=USAGE, region=REGION)
    months = [line.usd_month for line in result.lines if line.usd_month is not None]
    assert all(0 <= low <= expected <= high for low, expected, high in months)
    assert result.total == tuple(sum((month[column] for month in months), Decimal(0)) for column in range(3))
    assert result.complete == all(line.usd_month is not None for line in result.lines)


@given(SOME, RESOURCE)
def test_one_resource_more_never_lowers_a_total(resources: list[Declared], one: Declared) -> None:
    """Nothing pays for something else. A gateway is not tried: behind it, a machine of no known hours takes its price away."""
    kept = [other for other in resources if (other.type, other.name) != (one.type, one.name) and "Nat" not in other.type]
    before, after = (estimated(*some, usage=USAGE, region=REGION).total for some in (kept, [*kept, one]))
    assert all(less <= more for less, more in zip(before, after, strict=True))


@given(SOME, st.randoms(use_true_random=False))
def test_the_order_of_resources_means_nothing(resources: list[Declared], dice: random.Random) -> None:
    """The same lines, the same total, the same assumptions."""
    shuffled = dice.sample(resources, len(resources))
    one, other = (estimated(*some, usage=USAGE, region=REGION) for some in (resources, shuffled))
    assert Counter(map(repr, one.lines)) == Counter(map(repr, other.lines))
    assert one.total == other.total
    assert set(one.assumptions) == set(other.assumptions)


def declared_types() -> dict[str, str]:
    """Type token of each class of the provider that a component of this project makes, and the file that makes it."""
    found = {}
    for path in sorted((ROOT / "components").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            match = re.fullmatch(r"gcp\.(\w+)\.([A-Z]\w+)", ast.unparse(node.func))
            if match is None or match[2].endswith("Args"):
                continue
            made = getattr(getattr(gcp, match[1]), match[2])
            token = re.search(r"""['"](gcp:\w+/\w+:\w+)['"]""", inspect.getsource(made))
            assert token is not None, match[0]
            found[token[1]] = path.name
    return found


def test_every_type_that_a_component_declares_is_known() -> None:
    """No stack of this project has a line that says `is in no price table`: what has no price says what is known of it."""
    kinds = declared_types()
    assert len(kinds) > 10
    known = FREE.keys() | LINES.keys() | NO_PRICE.keys()
    assert {kind: file for kind, file in kinds.items() if kind not in known and not IAM.fullmatch(kind)} == {}


def test_no_type_is_both_billed_and_free() -> None:
    """One answer for each."""
    assert not set(FREE) & set(LINES)
    assert not set(NO_PRICE) & (set(FREE) | set(LINES))


@pytest.mark.parametrize(
    "kind", ["projects/iAMCustomRole:IAMCustomRole", "kms/cryptoKeyIAMBinding:CryptoKeyIAMBinding", "x/y:SecretIamPolicy"]
)
def test_iam_is_free_in_every_form(kind: str) -> None:
    """Grants of any service, authoritative ones too: whether they may be is a rule's business."""
    (line, *_) = estimated(declared(f"gcp:{kind}", "grant", {})).lines
    assert (line.status, line.note) == ("free", "IAM is free")


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stack)
def test_every_example_is_complete(file: object) -> None:
    """Nothing that a newcomer sees has an unknown price."""
    result = check(file)  # type: ignore[arg-type]
    assert result.estimate.unknown == []
    assert all(isinstance(line, LineItem) for line in result.estimate.lines)


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stack)
def test_an_estimate_takes_no_time_once_the_tables_are_there(file: object) -> None:
    """The fastest of five: a busy machine is no reason to fail."""
    result = check(file)  # type: ignore[arg-type]

    def run() -> float:
        started = time.perf_counter()
        assert estimate(result.resources, result.spec.usage, region=result.spec.region).total
        return (time.perf_counter() - started) * 1000

    assert min(run() for _ in range(FASTEST_OF)) < MILLISECONDS_MAX
