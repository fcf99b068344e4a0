"""Cloud Run by request, by instance and by task; schedules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, month, of, usd

from infra.cost.line import LineItem
from infra.cost.serverless import gib, vcpus
from infra.declared import UNKNOWN, Declared, Secret

REGION = "us-central1"
SECONDS = 730 * 3600


def service(resources: Any = None, least: Any = None, most: Any = 4, **change: Any) -> Declared:
    container = {"image": "x"} | ({"resources": resources} if resources is not None else {})
    template = {"containers": [container], "scaling": {"minInstanceCount": least, "maxInstanceCount": most}}
    return declared("gcp:cloudrunv2/service:Service", "api", {"location": REGION, "template": template} | change)


def job(limits: Any = None, tasks: Any = None) -> Declared:
    template = {"taskCount": tasks, "template": {"containers": [{"resources": {"limits": limits}}]}}
    return declared("gcp:cloudrunv2/job:Job", "nightly", {"location": REGION, "template": template})


def found(resource: Declared, **usage: Any) -> dict[str, LineItem]:
    return of(resource.name, resource, usage=assuming({resource.name: usage} if usage else None), region=REGION)


def test_by_request_costs_busy_seconds_and_requests() -> None:
    """Half an instance busy on average, of 1 vCPU and 512 MiB, less what is free; and 5 million requests, 2 million of them free."""
    lines = found(service(), instances=Decimal("0.5"), requests_thousands=5000)
    assert list(lines) == ["vCPU, busy", "memory, busy", "requests"]
    busy = Decimal("0.5") * SECONDS
    high = 4 * SECONDS
    assert month(lines["vCPU, busy"]) == usd(Decimal(0), (busy - 180_000) * Decimal("0.000024"), (high - 180_000) * Decimal("0.000024"))
    assert month(lines["memory, busy"]) == usd(
        Decimal(0), (busy / 2 - 360_000) * Decimal("0.0000025"), (Decimal(high) / 2 - 360_000) * Decimal("0.0000025")
    )
    assert month(lines["requests"]) == usd(3 * Decimal("0.4"))


def test_instances_that_are_kept_warm_cost_while_they_idle() -> None:
    """Two of 1 vCPU and 512 MiB all month; no source tells what idle memory costs, so it lies between nothing and the busy rate."""
    lines = found(service(least=2))
    assert month(lines["vCPU, idle"]) == usd(2 * SECONDS * Decimal("0.0000025"))
    assert month(lines["memory, idle"]) == usd(Decimal(0), SECONDS * Decimal("0.0000025"), SECONDS * Decimal("0.0000025"))


def test_by_instance_costs_every_second_that_an_instance_stands() -> None:
    """One to four of 2 vCPUs and 1 GiB, three as the stack file says; `resources` without `cpuIdle` is by instance."""
    for resources in ({"limits": {"cpu": "2", "memory": "1Gi"}}, {"limits": {"cpu": "2000m", "memory": "1024Mi"}, "cpuIdle": False}):
        lines = found(service(resources, least=1), instances=3)
        assert list(lines) == ["vCPU", "memory"]
        cpu = 2 * SECONDS * Decimal("0.000018")
        memory = SECONDS * Decimal("0.000002")
        assert month(lines["vCPU"]) == usd(cpu, 3 * cpu, 4 * cpu)
        assert month(lines["memory"]) == usd(memory, 3 * memory, 4 * memory)


def test_a_service_scaled_by_hand_stands_as_declared() -> None:
    """Three instances, no more and no less."""
    by_hand = service({"limits": {"cpu": "1", "memory": "1Gi"}}, scaling={"scalingMode": "MANUAL", "manualInstanceCount": 3})
    assert month(found(by_hand)["vCPU"]) == usd(3 * SECONDS * Decimal("0.000018"))


def test_a_job_costs_what_its_tasks_run() -> None:
    """Ten tasks of 4 vCPUs and 2 GiB that run six hours a month each."""
    lines = found(job({"cpu": "4", "memory": "2Gi"}, 10), hours_month=6)
    seconds = 10 * 6 * 3600
    assert month(lines["vCPU"]) == usd(4 * seconds * Decimal("0.000018"))
    assert month(lines["memory"]) == usd(2 * seconds * Decimal("0.000002"))
    assert "hours_month" in found(job({"cpu": "1"}))["Cloud Run job"].note


def test_what_is_free_of_an_account_is_taken_off_once() -> None:
    """Five schedules, of which three are free; which three does not matter."""
    five = [declared("gcp:cloudscheduler/job:Job", f"nightly-{number}", {"region": REGION}) for number in range(5)]
    for order in (five, five[::-1]):
        result = estimated(*order, region=REGION)
        assert sorted(month(line)[1] for line in result.lines if line.what == "schedule") == ["0", "0", "0", "0.1", "0.1"]


@pytest.mark.parametrize(
    "resource",
    [
        service(location="us-east1"),
        service(location=UNKNOWN),
        service(most=None),
        service(most=UNKNOWN),
        service(least=UNKNOWN),
        service(least=Secret(1)),
        service({"limits": {"cpu": "1", "nvidia.com/gpu": "1"}}),
        service({"limits": {"cpu": "much"}}),
        service({"limits": {"memory": "1Ti"}}),
        service({"limits": UNKNOWN}),
        service(UNKNOWN),
        service(template={"containers": UNKNOWN, "scaling": {"maxInstanceCount": 1}}),
        job(UNKNOWN),
        job({}, UNKNOWN),
    ],
    ids=lambda one: one.type.rpartition(":")[2] + str(dict(one.inputs))[-60:],
)
def test_what_is_not_known_of_a_service_is_unknown(resource: Declared) -> None:
    """GPUs, other regions, no maximum, and what is not known yet."""
    assert not estimated(resource, region=REGION).complete


def test_without_a_declared_maximum_the_stack_file_bounds_it() -> None:
    """A range says both ends."""
    asked = {"low": 0, "expected": 1, "high": 2}
    assert found(service(most=None), instances=asked)["vCPU, busy"].quantity == (0, SECONDS - 180_000, 2 * SECONDS - 180_000)


@pytest.mark.parametrize(
    ("text", "expected"), [("1", 1), ("500m", Decimal("0.5")), ("0.5", Decimal("0.5")), ("1 ", None), ("", None), (1, None), ("-1", None)]
)
def test_vcpus_are_read_as_kubernetes_writes_them(text: Any, expected: Any) -> None:
    """Whole, in parts, or in thousandths."""
    assert vcpus(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("512Mi", Decimal("0.5")), ("2Gi", 2), ("1G", Decimal(10**9) / 2**30), ("1073741824", 1), ("1Pi", None), ("Gi", None)],
)
def test_memory_is_read_as_kubernetes_writes_it(text: Any, expected: Any) -> None:
    """Powers of two and of ten are told apart."""
    assert gib(text) == expected
