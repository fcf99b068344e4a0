"""Models on Vertex AI: replicas by the hour, at what Vertex AI adds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, month, of, usd

from infra.cost.context import Context
from infra.cost.line import LineItem
from infra.cost.usage import Usage
from infra.cost.vertex import ENDPOINT, LINES, deployed_model_lines
from infra.declared import UNKNOWN, Declared, Secret

REGION = "us-central1"
PRIVATE = {"privateServiceConnectConfig": {"enablePrivateServiceConnect": True, "projectAllowlists": ["shop-web"]}}


def garden(spec: dict[str, Any] | None = None, **change: Any) -> Declared:
    machine = {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1} | (spec or {})
    dedicated = {"machineSpec": machine, "minReplicaCount": 1, "maxReplicaCount": 3} | change
    return declared(
        "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment",
        "recommend",
        {"location": REGION, "deployConfig": {"dedicatedResources": dedicated}},
    )


def deployed(machine_type: Any = "n1-standard-4", accelerator: Any = None, count: Any = None, **change: Any) -> list[LineItem]:
    arguments = {
        "machine_type": machine_type,
        "accelerator_type": accelerator,
        "accelerator_count": count,
        "min_replicas": 2,
        "max_replicas": None,
        "provisioning": "on-demand",
        "region": REGION,
        "context": Context([], Usage(), REGION),
    } | change
    return list(deployed_model_lines("model", **arguments))


@pytest.mark.parametrize(("inputs", "status"), [({}, "free"), (PRIVATE, "unknown"), ({"privateServiceConnectConfig": UNKNOWN}, "unknown")])
def test_an_endpoint_is_free_unless_it_is_private(inputs: dict[str, Any], status: str) -> None:
    """No source says what Private Service Connect costs on the endpoint's side: it is no 0."""
    (line,) = LINES[ENDPOINT](declared(ENDPOINT, "recommend", inputs), Context([], Usage(), REGION))
    assert line.status == status


def test_replicas_cost_what_compute_engine_asks_and_what_vertex_ai_adds() -> None:
    """Two n1-standard-4 in us-central1: 0.189999 an hour, times 1.15 to 1.153."""
    (line,) = deployed()
    hours = 2 * 730 * Decimal("0.189999")
    assert month(line) == usd(hours * Decimal("1.15"), hours * Decimal("1.15"), hours * Decimal("1.153"))


def test_spot_pays_a_fee_on_top_and_is_bounded_by_on_demand() -> None:
    """An A3 High as Spot: 50.6095408 and 0.148887 of 88.4899999; at most 1.141455 times the latter."""
    (line,) = deployed("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, provisioning="spot", min_replicas=1)
    spot = Decimal("50.6095408") + Decimal("0.148887") * Decimal("88.4899999")
    assert month(line) == usd(730 * spot, 730 * spot, 730 * Decimal("1.141455") * Decimal("88.4899999"))
    assert line.status == "bounded"


def test_model_garden_says_its_replicas_and_the_stack_file_what_is_expected() -> None:
    """One to three replicas of a g2-standard-8, whose rate no source says for this region: it is bounded."""
    one = 730 * Decimal("0.8536243")
    asked = of("recommend", garden(), usage=assuming({"recommend": {"replicas": 2}}), region=REGION)["g2-standard-8 on-demand"]
    assert month(asked) == usd(one * Decimal("1.15"), 2 * one * Decimal("1.204865"), 3 * one * Decimal("1.206"))
    bare = estimated(garden(), region=REGION)
    assert next((one.name, one.is_default) for one in bare.assumptions) == ("resources.recommend.replicas", True)


def test_fails_where_the_stack_file_says_more_replicas_than_declared() -> None:
    """Four of one to three."""
    problems = estimated(garden(), usage=assuming({"recommend": {"replicas": 4}}), region=REGION).problems
    assert [one.path for one in problems] == ["usage.resources.recommend.replicas"]


@pytest.mark.parametrize(
    "lines",
    [
        deployed("n1-standard-4", "NVIDIA_TESLA_T4", 1),
        deployed("ct5lp-hightpu-4t"),
        deployed("e2-standard-4"),
        deployed("g2-standard-8", "NVIDIA_L4", 2),
        deployed("g2-standard-8", "nvidia-l4", 1),
        deployed("g9-standard-8"),
        deployed(region="us-central9"),
        deployed(UNKNOWN),
        deployed(Secret("n1-standard-4")),
        deployed(min_replicas=UNKNOWN),
        deployed(min_replicas=3, max_replicas=2),
        deployed(provisioning=None),
    ],
    ids=lambda lines: lines[0].note[:60],
)
def test_what_no_source_prices_is_unknown(lines: list[LineItem]) -> None:
    """Attached GPUs, TPUs, machines without a known rate, and what is not known yet."""
    assert [line.status for line in lines] == ["unknown"]
    assert lines[0].note


@pytest.mark.parametrize(
    "change", [{"machineSpec": UNKNOWN}, {"machineSpec": {}}, {"spot": UNKNOWN}, {"minReplicaCount": Secret(1)}], ids=str
)
def test_what_is_not_known_of_a_model_garden_deployment_is_unknown(change: dict[str, Any]) -> None:
    """Without a machine, Model Garden chooses one."""
    assert not estimated(garden(**change), region=REGION).complete


DEPLOYED = "accelform:vertex:DeployedModels"


def test_models_of_one_endpoint_are_priced_each() -> None:
    """Two champions of n1-standard-4, at 1.15 to 1.153 of Compute Engine; one to three challengers as the file says."""
    models = {
        "champion": {"machineType": "n1-standard-4", "minReplicas": 2, "maxReplicas": 2, "traffic": 90},
        "challenger": {"machineType": "n1-standard-4", "minReplicas": 1, "maxReplicas": 3, "traffic": 10},
    }
    endpoint = declared(DEPLOYED, "recommend", {"location": REGION, "deployedModels": models})
    found = of("recommend", endpoint, usage=assuming({"recommend/challenger": {"replicas": 2}}), region=REGION)
    hour, most = Decimal("0.189999") * Decimal("1.15"), Decimal("0.189999") * Decimal("1.153")
    assert month(found["champion: n1-standard-4 on-demand"]) == usd(1460 * hour, 1460 * hour, 1460 * most)
    assert month(found["challenger: n1-standard-4 on-demand"]) == usd(730 * hour, 1460 * hour, 2190 * most)


@pytest.mark.parametrize(
    "change", [{"machineType": UNKNOWN}, {"spot": UNKNOWN}, {"minReplicas": UNKNOWN}, {"flexStart": {"maxRunSeconds": 3600}}], ids=str
)
def test_what_is_not_known_of_a_deployed_model_is_unknown(change: dict[str, Any]) -> None:
    """Flex-start too: no source says what Vertex AI adds to it for N1."""
    model = {"machineType": "n1-standard-4", "minReplicas": 1, "maxReplicas": 1} | change
    assert not estimated(
        declared(DEPLOYED, "recommend", {"location": REGION, "deployedModels": {"champion": model}}), region=REGION
    ).complete


@pytest.mark.parametrize("inputs", [{"location": UNKNOWN, "deployedModels": {}}, {"location": REGION, "deployedModels": UNKNOWN}], ids=str)
def test_deployed_models_that_are_not_known_yet_are_unknown(inputs: dict[str, Any]) -> None:
    assert not estimated(declared(DEPLOYED, "recommend", inputs), region=REGION).complete


def test_a_part_of_a_machine_is_an_unknown_price() -> None:
    """Two of eight GPUs for a replica: Vertex AI has it, and no source tells how many replicas share a machine; nine of eight it has not."""
    (line,) = deployed("a3-highgpu-8g", "NVIDIA_H100_80GB", 2)
    assert (line.status, line.note) == ("unknown", "how many replicas share a machine is not known")
    (line,) = deployed("a3-highgpu-8g", "NVIDIA_H100_80GB", 9)
    assert "has no a3-highgpu-8g with 9" in line.note
