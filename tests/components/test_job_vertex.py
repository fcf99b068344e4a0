"""A job on Vertex AI: what its stack file refuses, and that nothing of a machine is declared for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from infra.declared import Declared
from infra.job_plan import VARIABLE, JobPlan
from infra.policy.rules import RULES
from infra.sandbox.cloud import Cloud, Request
from tests.components.test_job import IMAGES, JOB, declared, environment, problems

Write = Callable[..., Path]
RUN_JOB = "gcp:cloudrunv2/job:Job"
H100 = {"accelerator_type": None, "machine_type": "a3-highgpu-8g"}


@pytest.fixture
def with_job(base: dict[str, Any], stack_file: Write) -> Callable[..., Path]:
    """Writes a stack file with one job on Vertex AI; what is None is left out."""

    def write(change: Mapping[str, Any] = MappingProxyType({}), **top: Any) -> Path:
        job = {key: value for key, value in {**JOB, "way": "vertex", "zones": None, **change}.items() if value is not None}
        stack = {"images": IMAGES, "jobs": {"train": job}} | top
        return stack_file(base | {("accelform:" + key): value for key, value in stack.items() if value is not None})

    return write


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a zone": ({"zones": ["us-east5-a"]}, "jobs.train.zones", "cannot be chosen: Vertex AI chooses one"),
    "a slice of four hosts": ({"accelerator_type": "v6e-16"}, "jobs.train.accelerator_type", "has 4 hosts, and no source"),
    "a generation that it does not train on": ({"accelerator_type": "v4-8"}, "jobs.train.accelerator_type", "is not run by Vertex AI"),
    "a generation whose machine is in no table": ({"accelerator_type": "v2-8"}, "jobs.train.accelerator_type", "is not in a table"),
    "a TPU that the region has not": (
        {"accelerator_type": "v5litepod-4"},
        "jobs.train.way",
        "us-east5 has no v5litepod-4 for training on Vertex AI",
    ),
    "a GPU that the region has not": (
        {"accelerator_type": None, "machine_type": "g2-standard-8"},
        "jobs.train.way",
        "us-east5 has no NVIDIA_L4 for training on Vertex AI",
    ),
    "fewer GPUs than the machine has": (
        H100 | {"accelerator_count": 4},
        "jobs.train.accelerator_count",
        "is not a number of NVIDIA_H100_80GB that a3-highgpu-8g has",
    ),
    "other GPUs than the machine has": (
        H100 | {"accelerator_type": "nvidia-tesla-t4"},
        "jobs.train.accelerator_type",
        "is not what a3-highgpu-8g has on Vertex AI",
    ),
    "a machine of N1 without its GPU": (
        {"accelerator_type": None, "machine_type": "n1-standard-8"},
        "jobs.train.accelerator_type",
        "is missing",
    ),
    "a machine of N1 without their number": (
        {"accelerator_type": "nvidia-tesla-t4", "machine_type": "n1-standard-8"},
        "jobs.train.accelerator_count",
        "is missing",
    ),
    "a TPU by flex-start": ({"provisioning": ["spot", "flex-start"]}, "jobs.train.provisioning.1", "is for L4, A100, H100, H200 and B200"),
    "a reservation without a name": ({"provisioning": ["reservation"]}, "jobs.train.reservation", "is missing"),
    "a reservation without its zone": (
        {"provisioning": ["reservation"], "reservation": "nightly"},
        "jobs.train.reservation",
        "does not say its zone",
    ),
    "a reservation elsewhere": (
        {"provisioning": ["reservation"], "reservation": "projects/shop/zones/us-east1-d/reservations/r"},
        "jobs.train.reservation",
        "us-east1-d is not in the stack's region",
    ),
    "a reservation that nothing consumes": (
        {"reservation": "projects/shop/zones/us-east5-a/reservations/r"},
        "jobs.train.reservation",
        "cannot consume",
    ),
    "its name of a reservation for a machine": (
        {"way": "auto", "zones": ["us-east5-a"], "provisioning": ["reservation"], "reservation": "projects/p/zones/z/reservations/r"},
        "jobs.train.reservation",
        "is its name for Vertex AI",
    ),
    "a small disk": ({"boot_disk_gib": 50}, "jobs.train.boot_disk_gib", "no size that Vertex AI makes"),
    "a hundred variables": ({"env": {f"A{number}": "" for number in range(90)}}, "jobs.train.env", "a custom job takes 100"),
    "another word for it": ({"way": "Vertex AI"}, "jobs.train.way", "is not one of the words"),
}


@pytest.mark.parametrize(("change", "path", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_fails_what_cannot_be(with_job: Callable[..., Path], change: dict[str, Any], path: str, said: str) -> None:
    """At its key."""
    found, *_ = problems(with_job(change))
    assert (found.path, said in found.message) == (path, True), found


def test_gpus_are_named_as_a_stack_file_names_them(with_job: Callable[..., Path]) -> None:
    """Vertex AI has names of its own, which a stack file refuses."""
    (found,) = problems(with_job({"accelerator_type": None, "machine_type": "n1-standard-8"}))
    assert "nvidia-tesla-t4" in found.allowed.split(", ")
    assert "NVIDIA" not in found.allowed


def test_fails_all_at_once(with_job: Callable[..., Path]) -> None:
    """Every key that is wrong is told of."""
    found = problems(with_job({"accelerator_type": "v5litepod-4", "provisioning": ["flex-start"], "boot_disk_gib": 99, "paused": True}))
    assert {one.path.rpartition("jobs.train.")[2] for one in found} == {"provisioning.0", "way", "boot_disk_gib", "paused"}


def test_fails_a_network_that_nothing_is_in(with_job: Callable[..., Path]) -> None:
    """A custom job runs in a network of Google's."""
    (found,) = problems(with_job(network={}))
    assert (found.path, found.message) == ("network", "does nothing: the stack has no machine")


def test_nothing_of_a_machine_is_declared(with_job: Callable[..., Path]) -> None:
    """No network, template or policy: accounts, grants, the runner, its clock and the sweep."""
    kinds = {kind for kind, _ in declared(with_job())}
    assert not any(kind.startswith("gcp:compute/") for kind in kinds)
    assert RUN_JOB in kinds


def test_its_runner_may_make_custom_jobs_as_its_account_and_no_machine(with_job: Callable[..., Path]) -> None:
    """The least predefined role that makes, cancels and deletes them; the sweep looks after them too."""
    found = declared(with_job())
    roles = {name: one.get("role") for (kind, name), one in found.items() if kind == "gcp:projects/iAMMember:IAMMember"}
    assert {name: role for name, role in roles.items() if name.startswith("runner-")} == {
        "runner-train-logs": "roles/logging.viewer",
        "runner-train-models": "roles/aiplatform.user",
    }
    assert roles["sweep-models"] == "roles/aiplatform.user"
    assert found["gcp:serviceaccount/iAMMember:IAMMember", "runner-train-acts-train"].get("role") == "roles/iam.serviceAccountUser"


def test_its_plan_says_the_custom_job(with_job: Callable[..., Path]) -> None:
    """Machine and topology of a TPU without an accelerator, the container with its variables, and an end of its own."""
    found = declared(with_job({"env": {"NOTE": "costs $(USD)"}}))
    plan = JobPlan.model_validate_json(environment(found[RUN_JOB, "train"])[VARIABLE])
    assert (plan.zones, [one.form for one in plan.machines]) == (("us-east5",), ["custom-job", "custom-job"])
    spot = plan.machines[0].custom_job
    assert spot["labels"].items() >= {"accelform-stack": "try", "accelform-job": "train"}.items()
    spec = spot["jobSpec"]
    assert spec["scheduling"] == {"strategy": "SPOT", "timeout": "10800s", "disableRetries": True}
    assert spec["serviceAccount"] == "try-job-train@tw-shop-ml.iam.gserviceaccount.com"
    (pool,) = spec["workerPoolSpecs"]
    assert pool["machineSpec"] == {"machineType": "ct6e-standard-4t", "tpuTopology": "2x2"}
    assert pool["diskSpec"] == {"bootDiskSizeGb": 100, "bootDiskType": "hyperdisk-balanced"}
    assert pool["containerSpec"]["command"] == ["python", "-m", "workloads.entry", "train_recommender"]
    env = {one["name"]: one["value"] for one in pool["containerSpec"]["env"]}
    assert (env["NOTE"], env["WL_CHIPS"], env["WL_HOSTS"]) == ("costs $$(USD)", "4", "1")


def test_gpus_are_called_as_vertex_ai_calls_them(with_job: Callable[..., Path]) -> None:
    """With their number, and the reservation by its full name."""
    reservation = "projects/tw-shop-ml/zones/us-east5-a/reservations/nightly"
    found = declared(with_job(H100 | {"provisioning": ["reservation", "flex-start"], "reservation": reservation}))
    plan = JobPlan.model_validate_json(environment(found[RUN_JOB, "train"])[VARIABLE])
    first, second = (one.custom_job["jobSpec"] for one in plan.machines)
    machine = {"machineType": "a3-highgpu-8g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 8}
    assert second["workerPoolSpecs"][0]["machineSpec"] == machine
    assert (first["scheduling"]["strategy"], second["scheduling"]["strategy"]) == ("STANDARD", "FLEX_START")
    assert first["workerPoolSpecs"][0]["machineSpec"]["reservationAffinity"]["values"] == [reservation]
    assert (plan.chips, plan.hosts) == (8, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "/usr/local/nvidia/lib64"),
        ({"env": {"LD_LIBRARY_PATH": "/own"}}, "/own"),
        ({"workload": None, "command": ["python3"], "image": IMAGES["train"]}, None),
        ({"machine_type": None, "accelerator_type": "v6e-8"}, None),
    ],
    ids=["ours", "said", "a command", "a TPU"],
)
def test_an_image_of_ours_finds_the_gpus_driver(with_job: Callable[..., Path], change: dict[str, Any], said: str | None) -> None:
    """It has no base of CUDA's, which would look there; what the job says goes first, and an image of somebody else's knows best."""
    plan = JobPlan.model_validate_json(environment(declared(with_job(H100 | change))[RUN_JOB, "train"])[VARIABLE])
    env = plan.machines[0].custom_job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"]
    assert [one["value"] for one in env if one["name"] == "LD_LIBRARY_PATH"] == ([said] if said else [])


@pytest.mark.parametrize(
    "change",
    [
        {"accelerator_type": "v6e-8"},
        H100 | {"provisioning": ["reservation"], "reservation": "projects/tw-shop-ml/zones/us-east5-a/reservations/nightly"},
    ],
)
def test_the_api_takes_what_the_plan_says(with_job: Callable[..., Path], change: dict[str, Any]) -> None:
    """Every field is one of the API's, and the machine is one that is trained on there."""
    plan = JobPlan.model_validate_json(environment(declared(with_job(change))[RUN_JOB, "train"])[VARIABLE])
    cloud = Cloud()
    cloud.projects.make("tw-shop-ml")
    body = json.dumps(plan.machines[0].custom_job | {"displayName": plan.machine_name}).encode()
    where = "/v1/projects/tw-shop-ml/locations/us-east5/customJobs"
    answer = cloud.handle(Request("POST", "us-east5-aiplatform.googleapis.com", where, {}, body))
    cloud.store.close()
    assert answer.status == 200, answer.body


def broken(plan: dict[str, Any]) -> dict[str, list[str]]:
    """What the rules say of a runner with that plan, by rule."""
    env = [{"name": VARIABLE, "value": json.dumps(plan)}]
    labels = {"accelform-stack": "try", "accelform-job": "train"}
    template = {"template": {"serviceAccount": "runner@p.iam.gserviceaccount.com", "containers": [{"envs": env}]}}
    runner = Declared(RUN_JOB, "train", {"labels": labels, "location": "us-east5", "template": template})
    names = ("offered-in-zone", "run-limit", "own-service-account", "cost-allocation")
    return {rule.name: [one.message for one in rule.find(runner, "us-east5")] for rule in RULES if rule.name in names}


@pytest.mark.parametrize("change", [{}, H100 | {"provisioning": ["spot"]}])
def test_rules_hold_for_what_its_runner_asks_for(with_job: Callable[..., Path], change: dict[str, Any]) -> None:
    """As if the custom job were declared: its region, its end, its account and its labels."""
    plan = json.loads(environment(declared(with_job(change))[RUN_JOB, "train"])[VARIABLE])
    assert broken(plan) == {"offered-in-zone": [], "run-limit": [], "own-service-account": [], "cost-allocation": []}
    for machine in plan["machines"]:
        job = machine["custom_job"]
        del job["labels"]["accelform-job"], job["jobSpec"]["scheduling"]["timeout"], job["jobSpec"]["serviceAccount"]
    said = broken(plan | {"zones": ["asia-east1"]})
    assert all(said.values()), said
    assert "the custom job as spot: jobSpec.scheduling.timeout must be stated" in said["run-limit"][0]
    assert "asia-east1 as spot: region has no" in said["offered-in-zone"][0]
