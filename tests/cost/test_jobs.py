"""What a job costs: its runs by the clock, their machine hours, and the runner; by hand, to the cent."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from costing import assuming, declared, estimated, lines, month, of, usd

from infra.catalog import prices, tpu
from infra.catalog.machine_prices import machine_hour
from infra.cost.jobs import at_most
from infra.declared import UNKNOWN, Declared
from infra.job_plan import JobPlan

NIGHTS = Decimal(365) / 12
VCPU, GIB = Decimal("0.000018"), Decimal("0.000002")


def plan(*ways: str, form: str = "instance", **change: Any) -> str:
    parts = {"instance": {"template": "projects/p/global/instanceTemplates/s-job-train-0"}, "node": {"node": {"acceleratorType": "v6e-4"}}}
    said = {
        "project": "p",
        "region": "us-east5",
        "stack": "s",
        "job": "train",
        "workload": "train_recommender",
        "accelerator_type": "v6e-4",
        "hosts": 1,
        "chips": 4,
        "zones": ["us-east5-a"],
        "machines": [{"provisioning": way, "form": form, **parts[form]} for way in ways],
        "machine_name": "s-job-train",
        "max_run_minutes": 120,
        "wait_minutes": 60,
        "restarts": 3,
        "state": "gs://b/s",
        "output": "gs://b/o",
        "holds": "gs://b/h",
    }
    return json.dumps(said | change)


def job(value: Any, variable: str = "ACCELFORM_JOB", name: str = "train") -> Declared:
    container = {"resources": {"limits": {"cpu": "1", "memory": "512Mi"}}, "envs": [{"name": variable, "value": value}]}
    task = {"timeout": "14400s", "containers": [container]}
    inputs = {"name": f"s-job-{name}", "location": "us-east5", "template": {"template": task}}
    return declared("gcp:cloudrunv2/job:Job", name, inputs)


def clock(cron: Any = "0 2 * * *", name: str = "train", **change: Any) -> Declared:
    uri = f"https://run.googleapis.com/v2/projects/p/locations/us-east5/jobs/s-job-{name}:run"
    inputs = {"region": "us-east5", "schedule": cron, "timeZone": "Asia/Taipei", "httpTarget": {"uri": uri}} | change
    return declared("gcp:cloudscheduler/job:Job", name, inputs)


def chip(way: str) -> Decimal:
    return prices.tpu_chip_hour(tpu.shape("v6e-4"), "us-east5", way).usd


def test_a_nightly_run_is_counted_with_all_it_may_use() -> None:
    """365 / 12 runs of two hours with four chips on demand; the runner as long, at most four hours: one vCPU and half a GiB."""
    found = of("train", job(plan("on-demand")), clock())
    hours = NIGHTS * 2
    assert month(found["v6e-4 on-demand"]) == usd(hours * 4 * chip("on-demand"))
    assert "30.4 runs of 120 min" in found["v6e-4 on-demand"].note
    waits, longest = hours * 3600 * VCPU, NIGHTS * 4 * 3600 * VCPU
    assert month(found["vCPU"]) == usd(waits, waits, longest)
    assert month(found["memory"]) == usd(waits / VCPU * GIB / 2, waits / VCPU * GIB / 2, longest / VCPU * GIB / 2)


def on_vertex(machine: dict[str, Any], *ways: str, **change: Any) -> str:
    body = {"jobSpec": {"workerPoolSpecs": [{"machineSpec": machine}]}}
    ways_of = [{"provisioning": way, "form": "custom-job", "custom_job": body} for way in ways]
    return plan("on-demand", machines=ways_of, zones=["us-central1"], region="us-central1", **change)


def test_a_custom_job_is_priced_as_vertex_ai_trains() -> None:
    """
    A3 High in us-central1: 88.4899999 USD an hour on Compute Engine, of which Vertex AI takes 1.141455. With Spot, Compute Engine's price and
    a fee of 0.148887 of the one on demand; at most the one on demand. What its disk costs no source says.
    """
    h100 = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}
    said = on_vertex(h100, "spot", "on-demand", machine_type="a3-highgpu-8g", accelerator_type="nvidia-h100-80gb", chips=8)
    found = of("train", job(said), clock())
    hours = NIGHTS * 2
    dear = Decimal("88.4899999") * Decimal("1.141455")
    spot = machine_hour("a3-highgpu-8g", "us-central1", "spot").usd + Decimal("88.4899999") * Decimal("0.148887")
    line = found["a3-highgpu-8g on Vertex AI spot, on-demand"]
    assert month(line) == usd(hours * spot, hours * spot, hours * dear)
    assert found["boot disk"].status == "unknown"
    most = at_most(JobPlan.model_validate_json(said))
    assert most is not None
    assert most.quantize(Decimal("0.01")) == (dear * 2).quantize(Decimal("0.01"))


def test_a_tpu_on_vertex_ai_has_no_price() -> None:
    """No source has one: it is unknown, and not that of Compute Engine."""
    said = on_vertex({"machineType": "ct6e-standard-4t", "tpuTopology": "2x2"}, "on-demand")
    line = of("train", job(said), clock())["ct6e-standard-4t on Vertex AI on-demand"]
    assert (line.status, line.usd_month) == ("unknown", None)
    assert at_most(JobPlan.model_validate_json(said)) is None


def test_of_several_ways_the_first_is_expected_and_the_dearest_may_be() -> None:
    """Spot, then on demand: low and expected are Spot's price, high the one on demand; the other way round expected is the dear one."""
    hours = NIGHTS * 2 * 4
    spot_first = of("train", job(plan("spot", "on-demand")), clock())["v6e-4 spot, on-demand"]
    dear_first = of("train", job(plan("on-demand", "spot")), clock())["v6e-4 on-demand, spot"]
    assert month(spot_first) == usd(hours * chip("spot"), hours * chip("spot"), hours * chip("on-demand"))
    assert month(dear_first) == usd(hours * chip("spot"), hours * chip("on-demand"), hours * chip("on-demand"))
    assert spot_first.status == "bounded"
    said = f"low: spot, {chip('spot').normalize():f}; high: on-demand, {chip('on-demand').normalize():f}"
    assert spot_first.note == f"30.4 runs of 120 min; Spot prices change monthly; {said}"
    assert dear_first.note.endswith(said)


def gpu_plan(*ways: str, **change: Any) -> str:
    zone = {"region": "asia-east1", "zones": ["asia-east1-a"]}
    return plan(*ways, **zone, machine_type="n1-standard-8", accelerator_type="nvidia-tesla-t4", chips=2, **change)


def test_a_machine_with_gpus_has_a_line_for_each() -> None:
    """In Taiwan n1-standard-8 is 0.439996 an hour and a T4 0.35; as Spot 0.08608 and 0.1664: two of them, two hours a night."""
    hours = NIGHTS * 2
    found = of("train", job(gpu_plan("spot", "on-demand")), clock())
    machine, gpus = found["n1-standard-8 spot, on-demand"], found["2 x nvidia-tesla-t4 spot, on-demand"]
    assert month(machine) == usd(hours * Decimal("0.08608"), hours * Decimal("0.08608"), hours * Decimal("0.439996"))
    assert month(gpus) == usd(hours * Decimal("0.3328"), hours * Decimal("0.3328"), hours * Decimal("0.7"))
    assert at_most(JobPlan.model_validate_json(gpu_plan("spot"))) == 2 * (Decimal("0.439996") + Decimal("0.7"))


def test_gpus_that_are_built_in_are_in_the_machine() -> None:
    """g2-standard-8 in Taiwan is 0.9884116 an hour, its L4 included."""
    said = {"machine_type": "g2-standard-8", "accelerator_type": "nvidia-l4", "chips": 1}
    found = of("train", job(plan("on-demand", region="asia-east1", zones=["asia-east1-a"], **said)), clock())
    assert month(found["g2-standard-8 on-demand"]) == usd(NIGHTS * 2 * Decimal("0.9884116"))
    assert not any("nvidia" in what for what in found)


def test_a_gpu_without_a_price_is_unknown() -> None:
    """Nobody has a price of a T4 in us-east5, though one of the machine: what a run costs at most is then unknown."""
    text = json.dumps(json.loads(gpu_plan("on-demand")) | {"region": "us-east5"})
    found = of("train", job(text), clock())
    assert found["2 x nvidia-tesla-t4 on-demand"].status == "unknown"
    assert at_most(JobPlan.model_validate_json(text)) is None


def test_a_reservation_is_more_than_its_runs() -> None:
    """Counted are the runs; that it is billed besides them is said."""
    found = of("train", job(plan("reservation")), clock())["v6e-4 reservation"]
    assert month(found) == usd(NIGHTS * 2 * 4 * chip("reservation"))
    assert "the reservation itself, which no stack makes, is billed for all of its hours" in found.note


def test_runs_that_would_overlap_are_no_second_machine() -> None:
    """Every minute, for two hours each: a run that finds another one at work ends, so the machine stands all month and no longer."""
    found = of("train", job(plan("on-demand")), clock("* * * * *"))
    assert month(found["v6e-4 on-demand"]) == usd(730 * 4 * chip("on-demand"))
    assert "never two at once: 730 h a month at most" in found["v6e-4 on-demand"].note
    assert month(found["vCPU"]) == usd(730 * 3600 * VCPU)


def test_an_assumption_of_the_run_is_expected_and_the_limit_stays_high() -> None:
    """An hour expected of two that it may take; and runs that somebody starts by hand."""
    usage = assuming({"train": {"run_minutes": 60, "runs_month": {"low": 0, "expected": 10, "high": 20}}})
    found = of("train", job(plan("on-demand")), usage=usage)["v6e-4 on-demand"]
    price = 4 * chip("on-demand")
    assert month(found) == usd(Decimal(0), 10 * price, 40 * price)


@pytest.mark.parametrize(
    ("clocks", "said"),
    [([], "no schedule: no run"), ([clock(paused=True)], "its schedule is paused: no run")],
    ids=["without a schedule", "paused"],
)
def test_a_job_that_nobody_starts_costs_nothing_and_says_why(clocks: list[Declared], said: str) -> None:
    """No run is counted that no clock starts; it is said, so that nobody takes it for a price."""
    found = of("train", job(plan("spot")), *clocks)["v6e-4 spot"]
    assert month(found) == usd(Decimal(0))
    assert said in found.note


def test_several_hosts_are_one_slice_with_a_disk_each() -> None:
    """v6e-16: 16 chips on four hosts; each host has its boot disk for the hours of the run."""
    disks = [{"diskType": "hyperdisk-balanced", "diskSizeGb": 100}]
    template = declared("gcp:compute/instanceTemplate:InstanceTemplate", "train-0", {"name": "s-job-train-0", "disks": disks})
    big = plan("on-demand", accelerator_type="v6e-16", hosts=4, chips=16)
    found = of("train", job(big), clock(), template)
    assert month(found["v6e-16 on-demand"]) == usd(NIGHTS * 2 * 16 * chip("on-demand"))
    price = prices.price("hyperdisk-balanced", "us-east5")
    disk = next(line for what, line in found.items() if what.startswith("boot disk"))
    assert month(disk) == usd(*(NIGHTS * 2 / 730 * 4 * 100 * gib for gib in (price.usd_low, price.usd, price.usd_high)))


def test_nodes_have_their_disks_in_the_price() -> None:
    """No line but that of the chips, whichever API makes them."""
    found = of("train", job(plan("spot", form="node")), clock())
    assert set(found) == {"v6e-4 spot", "vCPU", "memory", "schedule"}


def test_the_sweep_runs_every_hour() -> None:
    """730 runs of a minute, as is assumed and said; its plans cost nothing again."""
    sweep = job(f"[{plan('spot')}]", "ACCELFORM_JOBS", "sweep")
    found = estimated(sweep, clock("17 * * * *", "sweep"))
    by_what = {line.what: line for line in found.lines if line.resource == "sweep"}
    assert set(by_what) == {"vCPU", "memory", "schedule"}
    assert month(by_what["vCPU"]) == usd(*(730 * minutes * 60 * VCPU for minutes in (Decimal(1), Decimal(1), Decimal(5))))
    assert [(one.name, one.is_default) for one in found.assumptions if "sweep" in one.name] == [("resources.sweep.run_minutes", True)]


@pytest.mark.parametrize("value", [UNKNOWN, "", "{}", "[]", "no JSON", '{"version": 2}', "[" * 100_000], ids=range(7))
def test_a_plan_that_is_none_is_unknown_and_never_nothing(value: Any) -> None:
    """What cannot be read is said to be unknown."""
    result = estimated(job(value), clock())
    assert not result.complete
    assert any(line.what == "machines" and line.status == "unknown" for line in result.lines)


@pytest.mark.parametrize("change", [{"schedule": UNKNOWN}, {"schedule": "0 25 * * *"}, {"timeZone": UNKNOWN}], ids=str)
def test_a_clock_that_is_not_known_is_unknown(change: dict[str, Any]) -> None:
    """Neither are the runs then."""
    assert lines(job(plan("spot")), clock(**change))["machines"].status == "unknown"


def test_a_price_that_is_unknown_makes_the_machines_unknown() -> None:
    """There is no list price of v6e in that region."""
    found = of("train", job(plan("on-demand", "spot", region="me-central1")), clock())
    assert found["v6e-4 on-demand, spot"].status == "unknown"


def test_more_than_the_run_limit_is_no_assumption() -> None:
    """It could not run so long."""
    (problem,) = estimated(job(plan("spot")), clock(), usage=assuming({"train": {"run_minutes": 121}})).problems
    assert (problem.path, problem.allowed) == ("usage.resources.train.run_minutes", "0 to 120")


def test_a_run_costs_at_most_its_limit_at_the_dearest_price() -> None:
    """Spot may be gone to its on-demand price: two hours, four chips."""
    assert at_most(JobPlan.model_validate_json(plan("spot"))) == 2 * 4 * chip("on-demand")
    assert at_most(JobPlan.model_validate_json(plan("spot", region="me-central1"))) is None
