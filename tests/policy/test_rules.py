"""Each rule against what passes and what fails; and that nothing else gets through."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cases
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra import documents
from infra.check import check as check_stack
from infra.check import stack_files
from infra.declared import UNKNOWN, Declared, Secret
from infra.policy.locations import GLOBAL_TYPES, OWN_PLACE
from infra.policy.rule import Broken, Rule, check
from infra.policy.rules import RULES, labels, same_region
from infra.policy.said import Said
from infra.policy.stack_rules import every
from infra.provider import schema

CASES = cases.load()
ELSEWHERE = st.sampled_from(
    ["us-east1", "asia-east1", "us-east5x", "us-east55", "europe-west4-a", "us", "EU", "nam4", "asia1", "us-east1-ai1a"]
)


@pytest.mark.parametrize(("rule", "name", "case"), CASES, ids=[f"{rule}-{name}" for rule, name, _ in CASES])
def test_finds_what_its_fixture_says(rule: str, name: str, case: dict[str, Any]) -> None:
    """A fixture that passes has no finding of its rule; one that fails has one at each path named, and no other."""
    found = [finding for finding in check([cases.declared(case)], cases.REGION) if finding.rule == rule]
    assert [finding.path for finding in found] == case["paths"]
    assert name.startswith("passes") == (not found)


PAIRS = {
    "accelerator": ("accelerator", "accelerator-elsewhere"),
    "bucket": ("bucket", "elsewhere"),
    "registry": ("registry", "registry-elsewhere"),
    "image reference": ("own-registry", "image-elsewhere"),
    "endpoint": ("endpoint", "endpoint-elsewhere"),
    "model artefact": ("model", "deployed-model-of-elsewhere"),
    "subnet": ("machine", "subnet-elsewhere"),
    "disk": ("machine", "machine-with-a-disk-elsewhere"),
    "Filestore": ("filestore", "filestore-elsewhere"),
    "key": ("key", "key-of-a-ring-elsewhere"),
    "secret replica": ("secret-replica", "secret-replica-elsewhere"),
    "topic": ("topic", "topic-elsewhere"),
    "state bucket": ("state-bucket", "state-bucket-elsewhere"),
}
"""What must stand where the stack does, each with a fixture of it here and one elsewhere."""


def test_same_region_is_tried_on_every_pair() -> None:
    names = {name for rule, name, _ in CASES if rule == "same-region"}
    missing = [what for what, (here, away) in PAIRS.items() if not {f"passes-{here}", f"fails-{away}"} <= names]
    assert missing == []


def test_each_message_begins_with_its_property_path() -> None:
    """Of every fixture that fails: there is no field for the path in what the engine shows."""
    by_name = {rule.name: rule for rule in RULES}
    for rule, name, case in CASES:
        for broken in by_name[rule].find(cases.declared(case), cases.REGION):
            assert re.match(r"[A-Za-z]\S*: \S", str(broken)), (rule, name, str(broken))
            assert str(broken).startswith(f"{broken.path}: ")


def test_every_rule_says_what_it_is_in_one_sentence() -> None:
    """And what to do; names are words with hyphens, each once."""
    for rule in every():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        assert re.fullmatch(r"[A-Z][^\n]*[a-z]\.", rule.description), rule.description
        assert rule.remediation
    assert len({rule.name for rule in every()}) == len(every())


def test_every_rule_has_fixtures_of_both_kinds() -> None:
    """A rule without a failing fixture could never fail."""
    kinds = {(rule, name.split("-")[0]) for rule, name, _ in CASES}
    assert kinds == {(rule.name, kind) for rule in RULES for kind in ("passes", "fails")}


@pytest.mark.parametrize("file", stack_files([], Path(__file__).parents[2] / "stacks"), ids=lambda file: file.stack)
def test_every_stack_keeps_every_rule(file: Any) -> None:
    """The project's own stacks have no finding, and declare something to look at."""
    checked = check_stack(file)
    assert checked.findings == []
    assert len(checked.resources) > 5


@given(
    place=ELSEWHERE,
    depth=st.integers(0, 4),
    upper=st.booleans(),
    key=st.sampled_from(["region", "zone", "location", "nodeLocations", "kmsLocation"]),
)
def test_a_place_elsewhere_is_found_at_any_depth(place: str, depth: int, upper: bool, key: str) -> None:
    """However deep it is nested and however it is spelt, a place that is elsewhere is found."""
    inputs: Any = {key: place.upper() if upper else place}
    for level in range(depth):
        inputs = {f"level{level}": [inputs] if level % 2 else inputs}
    found = same_region.find(Declared("gcp:storage/bucket:Bucket", "x", {"location": "us-east5"} | {"deep": inputs}), "us-east5")
    assert len(list(found)) == 1


@given(
    place=ELSEWHERE, before=st.sampled_from(["", "https://h/v1/", "x=", '["', "a, "]), after=st.sampled_from(["", "/x", '"]', "?q", ", b"])
)
def test_a_reference_elsewhere_is_found_in_any_text(place: str, before: str, after: str) -> None:
    """A reference is found inside URLs, lists, JSON and assignments."""
    text = f"{before}projects/p/locations/{place}{after}"
    found = same_region.find(Declared("gcp:storage/bucket:Bucket", "x", {"location": "us-east5", "ref": text}), "us-east5")
    assert [broken.path for broken in found] == ["ref"]


def inputs_of(tokens: Iterable[str]) -> dict[str, list[str]]:
    """Inputs of types of the official provider, in the SDK's own words, and of the own one. To import the SDK would take ten times as long."""
    found = importlib.util.find_spec("pulumi_gcp")
    assert found is not None
    assert found.origin is not None
    ours, inputs = schema.package()["resources"], {}
    for token in tokens:
        if token in ours:
            inputs[token] = list(ours[token]["inputProperties"])
            continue
        package, name = token.removeprefix("gcp:").partition(":")[0].split("/")
        (file,) = (one for one in (Path(found.origin).parent / package).glob("*.py") if one.stem.replace("_", "") == name.lower())
        text = file.read_text(encoding="utf-8")
        assert f'type_token("{token}")' in text
        signature = text.split("def _internal_init(")[1].split("__props__=None")[0]
        inputs[token] = re.findall(r"^ +(\w+): ", signature, re.MULTILINE)
        assert "opts" in inputs[token]  # else the SDK declares its inputs elsewhere
    return inputs


def test_each_table_of_types_is_what_the_provider_says() -> None:
    """No type without a place says where it stands, none without labels has any, and those of the others are where the table says."""
    inputs = inputs_of({*GLOBAL_TYPES, *labels.NONE, *labels.ELSEWHERE})
    assert [token for token in GLOBAL_TYPES if set(OWN_PLACE) & set(inputs[token])] == []
    assert [token for token in labels.NONE if {"labels", "user_labels", "resource_labels"} & set(inputs[token])] == []
    words = {"resourceLabels": "resource_labels", "userLabels": "user_labels", "nodeConfig.resourceLabels": "node_config"}
    assert [token for token, path in labels.ELSEWHERE.items() if words[path] not in inputs[token]] == []


def test_no_message_shows_a_secret() -> None:
    """What is secret is found without being shown."""
    hidden = {"location": Secret("us-east1"), "key": Secret("projects/p/locations/us-west4/keyRings/r"), "member": Secret("allUsers")}
    found = check([Declared("gcp:storage/bucketIAMMember:BucketIAMMember", "x", hidden)], "us-east5")
    assert len(found) == 4
    assert not any(word in finding.message for finding in found for word in ("us-east1", "us-west4", "allUsers"))


def test_a_thousand_resources_take_less_than_two_seconds() -> None:
    """The rules are never what a preview waits for."""
    inputs = {"zone": "us-east5-a", "machineType": "ct6e-standard-1t", "networkInterfaces": [{"subnetwork": "s"}], "labels": {"a": "b"}}
    many = [Declared("gcp:compute/instance:Instance", str(number), inputs) for number in range(1000)]
    started = time.process_time()
    check(many, "us-east5")
    assert time.process_time() - started < 2


def test_a_thousand_objects_take_less_than_two_seconds() -> None:
    """Schemas are read once, whatever is held against them."""
    passing = [cases.declared(case) for rule, name, case in CASES if rule == "manifest-valid" and name.startswith("passes")]
    check(passing, cases.REGION)
    many = [passing[number % len(passing)] for number in range(1000)]
    started = time.process_time()
    check(many, cases.REGION)
    assert time.process_time() - started < 2


@pytest.mark.soak
def test_a_thousand_deployments_take_less_than_two_seconds() -> None:
    """The heaviest that there is: of the project's own stacks, some hundred values each."""
    (file,) = stack_files(["us-central1-apps"], Path(__file__).parents[2] / "stacks")
    heavy = [one for one in check_stack(file).resources if one.type.endswith(":Deployment")]
    many = [heavy[number % len(heavy)] for number in range(1000)]
    check(heavy, "us-central1")
    started = time.process_time()
    check(many, "us-central1")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("type_", "section", "inputs"),
    [
        ("gcp:compute/instance:Instance", "tpu_slices", {"zone": "us-east5-a", "machineType": "ct6e-standard-1t"}),
        ("gcp:compute/instance:Instance", "gpu_vms", {"zone": "us-east5-a", "machineType": "a3-highgpu-8g"}),
        ("gcp:container/nodePool:NodePool", "node_pools", {"nodeConfig": {"machineType": "ct6e-standard-8t"}, "nodeCount": 1}),
    ],
)
def test_a_reason_is_one_of_what_it_stands_beside(type_: str, section: str, inputs: dict[str, Any]) -> None:
    """It is enough for both rules, and for nothing else of the same name."""
    one = [Declared(type_, "try", inputs)]

    def asked(*at: str) -> list[str]:
        found = check(one, cases.REGION, Said(reasons=dict.fromkeys(at, "it is tried on")))
        return [finding.rule for finding in found if finding.reason_at]

    assert asked() == ["spot-or-reason", "asleep-or-reason"]
    assert asked("endpoints.try", f"{section}.other") == ["spot-or-reason", "asleep-or-reason"]
    assert asked(f"{section}.try") == []


def test_importing_the_rules_loads_no_sdk() -> None:
    """Rules read the neutral form alone."""
    program = "import sys, infra.policy.rules; print('pulumi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip() == "False"


def test_a_cluster_that_is_only_read_need_not_split_its_bill() -> None:
    """Others own it, and a read says no inputs but its name."""
    cluster = Declared("gcp:container/cluster:Cluster", "theirs", {"location": cases.REGION}, existing=True)
    assert [one.rule for one in check([cluster], cases.REGION)] == []


@pytest.mark.parametrize("type_", ["gcp:storage/bucket:Bucket", "gcp:artifactregistry/repository:Repository"])
def test_what_others_own_keeps_their_rules(type_: str) -> None:
    """Who reads it, what protects it, and what it is called: the stack only reads it."""
    theirs = Declared(type_, "theirs", {"location": cases.REGION, "name": "theirs"}, existing=True)
    assert check([theirs], cases.REGION) == []


SCHEMAS = {
    "gcp:billing/budget:Budget": ("billingbudgets.v1", "GoogleCloudBillingBudgetsV1Budget"),
    "gcp:cloudquota/sQuotaPreference:SQuotaPreference": ("cloudquotas.v1", "QuotaPreference"),
    "gcp:cloudscheduler/job:Job": ("cloudscheduler.v1", "Job"),
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": ("iam.v1", "WorkloadIdentityPool"),
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": ("iam.v1", "WorkloadIdentityPoolProvider"),
    "gcp:logging/metric:Metric": ("logging.v2", "LogMetric"),
    "gcp:logging/projectBucketConfig:ProjectBucketConfig": ("logging.v2", "LogBucket"),
    "gcp:logging/projectSink:ProjectSink": ("logging.v2", "LogSink"),
    "gcp:projects/service:Service": ("serviceusage.v1", "GoogleApiServiceusageV1Service"),
    "gcp:serviceaccount/account:Account": ("iam.v1", "ServiceAccount"),
}
"""Where Google's documents describe a type, where that is not Compute Engine's schema of its own name. A spend cap is a budget."""


@cache
def schemas(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["schemas"]
    return found


@pytest.mark.parametrize("token", [one for one, why in labels.NONE.items() if why == labels.NO_FIELD and one.startswith("gcp:")])
def test_google_has_no_field_for_labels(token: str) -> None:
    """By the packaged discovery documents: a new revision that has one is a label that we owe."""
    api, schema = SCHEMAS.get(token, ("compute.v1", token.rpartition(":")[2]))
    packaged = importlib.util.find_spec("googleapiclient")
    assert packaged is not None
    assert packaged.origin is not None
    path = documents.find(api) or Path(packaged.origin).parent / "discovery_cache" / "documents" / f"{api}.json"
    assert "labels" not in schemas(path)[schema]["properties"]


def test_every_type_that_is_declared_has_labels_or_a_reason() -> None:
    """By the source: whatever it declares carries labels, is a grant, or is in the table of those that cannot."""
    found = importlib.util.spec_from_file_location("docs_tool", Path(__file__).parents[2] / "tools" / "docs.py")
    assert found is not None
    assert found.loader is not None
    tool = importlib.util.module_from_spec(found)
    found.loader.exec_module(tool)
    declared = {one for one in tool.declared_types() if not labels.GRANT.fullmatch(one)}
    assert len(declared) > 25
    words = {"labels", "user_labels", "resource_labels", "node_config"}
    inputs = inputs_of(declared - set(labels.NONE))
    assert {token for token, one in inputs.items() if not words & set(one)} == set()


def test_a_rule_that_raises_is_a_finding_of_that_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it never thought of ends neither the other rules nor a preview; which resource it was is said."""

    def find(resource: Declared, region: str) -> Iterator[Broken]:
        yield Broken("first", "was found before")
        raise TypeError("of a value")

    monkeypatch.setattr("infra.policy.rules.RULES", (replace(labels.RULE, find=find), same_region.RULE))
    found = check([Declared("gcp:storage/bucket:Bucket", "clicks", {"location": "US"})], cases.REGION)
    assert [(one.rule, one.path, one.resource) for one in found] == [
        ("labels", "first", "clicks"),
        ("labels", "inputs", "clicks"),
        ("same-region", "location", "clicks"),
    ]
    assert "TypeError" in found[1].message


ODD: tuple[Any, ...] = (
    None,
    "",
    "x",
    UNKNOWN,
    Secret(UNKNOWN),
    Secret({"a": [None]}),
    [],
    {},
    [None],
    [UNKNOWN],
    [{}],
    True,
    -1,
    math.nan,
    10**30,
)


def test_no_value_of_any_type_makes_a_rule_raise() -> None:
    """At every place of the fixtures of those rules that read accelerators, and of what they are found on."""
    raised = set()
    of_accelerators = {
        one.name: one for one in RULES if one.name in {"offered-in-zone", "valid-combination", "spot-or-reason", "workload-identity"}
    }
    seen = set()
    for name, _, case in CASES:
        for path in _places(case["inputs"]) if name in of_accelerators else ():
            place = (case["type"], *(step if isinstance(step, str) else 0 for step in path))
            for odd in ODD if place not in seen else ():
                resource = Declared(case["type"], "x", _with(cases.values(case["inputs"]), path, odd))
                raised |= {
                    (rule.name, place)
                    for rule in of_accelerators.values()
                    if any("cannot be judged" in one for one in _words(rule, resource))
                }
            seen.add(place)
    assert raised == set()


def _words(rule: Rule, resource: Declared) -> list[str]:
    try:
        return [one.message for one in rule.find(resource, cases.REGION)]
    except Exception:  # whatever it is: which place it is at is what the test says
        return ["cannot be judged"]


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        if not (isinstance(inner, dict) and set(inner) == {"secret"}):
            yield from _places(inner, (*path, key))


def _with(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = _with(value[path[0]], path[1:], new)
    return changed


def test_what_is_secret_is_asked_and_not_shown() -> None:
    """A value that is not shown makes what it makes: every fixture fails as before, in words that do not show it."""
    machine = {"zone": "us-east5-a", "machineType": Secret("ct6e-standard-1t"), "networkInterfaces": Secret([{"accessConfigs": [{}]}])}
    found = check([Declared("gcp:compute/instance:Instance", "x", machine)], cases.REGION)
    assert {"spot-or-reason", "asleep-or-reason", "no-external-address"} <= {one.rule for one in found}
    assert "ct6e" not in str(found)
    for rule, name, case in CASES:
        if name.startswith("fails"):
            hidden = {key: Secret(cases.values(value)) for key, value in case["inputs"].items()}
            resource = Declared(case["type"], "x", hidden, protect=case.get("protect", False), existing=case.get("existing", False))
            assert rule in {one.rule for one in check([resource], cases.REGION)}, (rule, name)
