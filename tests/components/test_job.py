"""A job: what its stack file refuses, and that plan, environment and names fit what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from infra.collect import collect
from infra.components.job import warnings
from infra.components.runner import VARIABLE_BYTES
from infra.declared import Declared
from infra.errors import Problem, SpecError
from infra.job_plan import PLANS_VARIABLE, VARIABLE, JobPlan
from infra.program import declare
from infra.stack import StackSpec
from workloads.contract import TrainSettings
from workloads.job import PROGRAMS

Write = Callable[..., Path]
IMAGES = {
    name: f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/{name}@sha256:{digit * 64}" for name, digit in (("runner", "0"), ("train", "1"))
}
JOB = {
    "workload": "train_recommender",
    "accelerator_type": "v6e-4",
    "zones": ["us-east5-a", "us-east5-b"],
    "provisioning": ["spot", "on-demand"],
    "max_run_minutes": 180,
    "data": {"clicks": "clicks/", "pictures": "pictures/"},
}


@pytest.fixture
def with_job(base: dict[str, Any], stack_file: Write) -> Callable[..., Path]:
    """Writes a stack file with one job; what is None is left out."""

    def write(change: Mapping[str, Any] = MappingProxyType({}), **top: Any) -> Path:
        job = {key: value for key, value in {**JOB, **change}.items() if value is not None}
        stack = {"images": IMAGES, "jobs": {"train": job}} | top
        return stack_file(base | {("accelform:" + key): value for key, value in stack.items() if value is not None})

    return write


def problems(path: Path) -> list[Problem]:
    with pytest.raises(SpecError) as caught:
        StackSpec.load(path, "Pulumi.try.yaml")
    return caught.value.problems


def declared(path: Path) -> dict[tuple[str, str], Declared]:
    spec = StackSpec.load(path)
    return {(one.type, one.name): one for one in collect(lambda: declare(spec, "try"), "try")}


def environment(job: Declared) -> dict[str, str]:
    return {one["name"]: one["value"] for one in job.get("template.template.containers.0.envs")}


RUN_JOB = "gcp:cloudrunv2/job:Job"
MODEL = {"image": IMAGES["train"], "port": 8080, "predict_route": "/predict", "health_route": "/health"}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "T01 a zone that has none of that generation": (
        {"zones": ["us-east5-a", "us-east5-c"], "accelerator_type": "v5litepod-4", "provisioning": ["spot"]},
        "jobs.train.zones.0",
        "us-east5-a",
    ),
    "T02 an AI zone of another region, by its whole name": (
        {"zones": ["us-central1-ai1a"]},
        "jobs.train.zones.0",
        "not in the stack's region",
    ),
    "T05 no zone, and none is guessed": ({"zones": None}, "jobs.train.zones", "is missing"),
    "T05 a generation in the place of a type": (
        {"accelerator_type": "v6e"},
        "jobs.train.accelerator_type",
        "is not a TPU accelerator type",
    ),
    "T09 a list of zones without one": ({"zones": []}, "jobs.train.zones", "is too little"),
    "T09 a zone twice": ({"zones": ["us-east5-a", "us-east5-a"]}, "jobs.train.zones", "names somebody twice"),
    "T09 a way of buying twice": ({"provisioning": ["spot", "spot"]}, "jobs.train.provisioning", "names somebody twice"),
    "T12 a way of buying that is no such word": ({"provisioning": ["preemptible"]}, "jobs.train.provisioning.0", "is not one of the words"),
    "a zone without its list": ({"zones": "us-east5-a"}, "jobs.train.zones", '"us-east5-a" is not a list'),
    "a schedule without a letter": ({"schedule": "", "timezone": "Asia/Taipei"}, "jobs.train.schedule", "is too short"),
    "T22 a way that the API does not sell": (
        {"way": "tpu-api", "provisioning": ["flex-start"]},
        "jobs.train.provisioning.0",
        "cannot be flex-start",
    ),
    "T22 a disk that the API makes itself": ({"way": "tpu-api", "boot_disk_gib": 200}, "jobs.train.boot_disk_gib", "makes its own"),
    "T23 no type": ({"accelerator_type": None}, "jobs.train.accelerator_type", "is missing"),
    "T24 no service account can be named": ({"service_account": "default"}, "jobs.train.service_account", "is not a key here"),
    "T27 no runtime can be named": ({"runtime_version": "tpu-ubuntu2204-base"}, "jobs.train.runtime_version", "is not a key here"),
    "T34 no scopes can be named": ({"scopes": ["devstorage.read_only"]}, "jobs.train.scopes", "is not a key here"),
    "no run limit": ({"max_run_minutes": None}, "jobs.train.max_run_minutes", "is missing"),
    "an unlimited run": ({"max_run_minutes": "unlimited"}, "jobs.train.max_run_minutes", "is no run limit"),
    "a run of eight days": ({"max_run_minutes": 8 * 24 * 60}, "jobs.train.max_run_minutes", "is no run limit"),
    "a flex-start run of five minutes": (
        {"provisioning": ["flex-start"], "max_run_minutes": 5},
        "jobs.train.max_run_minutes",
        "runs for a limited time",
    ),
    "a reservation without a name": ({"provisioning": ["reservation"]}, "jobs.train.reservation", "is missing"),
    "a reservation that nothing consumes": ({"reservation": "nightly"}, "jobs.train.reservation", "cannot consume"),
    "a workload that serves": ({"workload": "serve_recommender"}, "jobs.train.workload", "would never end"),
    "a workload that is none": ({"workload": "train_recomender"}, "jobs.train.workload", "is no workload"),
    "an image of another region": (
        {"image": IMAGES["train"].replace("us-east5", "asia-east1")},
        "jobs.train.image",
        "stands in another region",
    ),
    "an image by its tag": ({"image": "us-east5-docker.pkg.dev/p/r/train:latest"}, "jobs.train.image", "by its digest"),
    "a variable of the contract": ({"env": {"wl_chips": "8"}}, "jobs.train.env", "told by itself"),
    "a schedule without a time zone": ({"schedule": "0 2 * * *"}, "jobs.train.timezone", "is missing"),
    "a time zone without a schedule": ({"timezone": "Asia/Taipei"}, "jobs.train.schedule", "is missing"),
    "a schedule of six fields": (
        {"schedule": "0 0 2 * * *", "timezone": "Asia/Taipei"},
        "jobs.train.schedule",
        "is no schedule",
    ),
    "an hour that no day has": ({"schedule": "0 25 * * *", "timezone": "Asia/Taipei"}, "jobs.train.schedule", "is no hour"),
    "a time zone that is none": ({"schedule": "0 2 * * *", "timezone": "Asia/Tapei"}, "jobs.train.timezone", "is no time zone"),
    "paused without a schedule": ({"paused": True}, "jobs.train.paused", "does nothing"),
    "data outside of the bucket": ({"data": {"clicks": "../clicks"}}, "jobs.train.data.clicks", "is no folder"),
    "data by its whole address": ({"data": {"clicks": "gs://other/clicks"}}, "jobs.train.data.clicks", "is no folder"),
    "data that climbs out": ({"data": {"clicks": "a/../../b"}}, "jobs.train.data.clicks", "is no folder"),
    "two names of one variable": ({"data": {"a-b": "x", "a_b": "y"}}, "jobs.train.data", "two names of one variable"),
    "no data": ({"data": None}, "jobs.train.data", "lacks clicks and pictures: train_recommender reads them"),
    "data under another name": ({"data": {"clicks": "c/", "products": "p/"}}, "jobs.train.data", "lacks pictures"),
    "an argument that only another program takes": (
        {"workload": "finetune", "data": {"model": "m/"}, "args": ["--example"]},
        "jobs.train.data",
        "lacks examples: finetune",
    ),
    "nothing to run": ({"workload": None}, "jobs.train.workload", "is missing"),
    "a program and a command": ({"command": ["python3"]}, "jobs.train.command", "is said besides workload"),
    "a command without its image": ({"workload": None, "command": ["python3"]}, "jobs.train.image", "a command runs in an image"),
    "a command without a word": ({"workload": None, "command": [" "], "image": IMAGES["train"]}, "jobs.train.command.0", "is no word"),
    "a command in one text": ({"workload": None, "command": "python3 x", "image": IMAGES["train"]}, "jobs.train.command", "is not a list"),
    "a command with a zero byte": (
        {"workload": None, "command": ["a\0b"], "image": IMAGES["train"]},
        "jobs.train.command.0",
        "has a zero byte",
    ),
    "a model that is not there": ({"registers": "recommender"}, "jobs.train.registers", "is no key of models"),
}


GPU_JOB = JOB | {"accelerator_type": None, "machine_type": "a2-ultragpu-1g", "zones": ["us-east5-a", "us-east5-b"]}
T4 = {"machine_type": "n1-standard-8", "accelerator_type": "nvidia-tesla-t4", "accelerator_count": 1}
NOT_ON_GPUS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a GPU without a machine": ({"machine_type": None, "accelerator_type": "nvidia-l4"}, "machine_type", "a GPU stands in a machine"),
    "a machine without its GPU": ({"machine_type": "n1-standard-8"}, "accelerator_type", "has no GPU of its own"),
    "no number": (T4 | {"accelerator_count": None}, "accelerator_count", "is missing"),
    "three T4": (T4 | {"accelerator_count": 3}, "accelerator_count", "is not a number of nvidia-tesla-t4 that one machine takes"),
    "too large a machine": (T4 | {"machine_type": "n1-standard-64"}, "machine_type", "is too large for 1 x nvidia-tesla-t4"),
    "a machine with another GPU": ({"accelerator_type": "nvidia-l4"}, "accelerator_type", "is not what a2-ultragpu-1g has built in"),
    "a TPU with a machine": ({"accelerator_type": "v6e-4"}, "machine_type", "is not said of a TPU"),
    "a TPU with a number": (
        {"machine_type": None, "accelerator_type": "v6e-4", "accelerator_count": 4},
        "accelerator_count",
        "not said of a TPU",
    ),
    "the Cloud TPU API": ({"way": "tpu-api"}, "way", "makes TPUs only"),
    "a zone of another region": ({"zones": ["us-central1-a"]}, "zones.0", "is not in the stack's region"),
    "a zone that no source knows": ({"zones": ["us-east5-c"]}, "zones.0", "us-east5-c is not known to have nvidia-a100-80gb"),
    "flex-start of five minutes": ({"provisioning": ["flex-start"], "max_run_minutes": 5}, "max_run_minutes", "runs for a limited time"),
    "a name of Vertex AI": ({"accelerator_type": "NVIDIA_TESLA_T4"}, "accelerator_type", '"NVIDIA_TESLA_T4" is no accelerator type'),
    "a part of a GPU": ({"machine_type": "g4-standard-6"}, "machine_type", "which driver serves a part of a GPU"),
    "an Arm machine": ({"machine_type": "a4x-highgpu-4g"}, "machine_type", "has Arm's processors"),
    "a machine of a TPU": ({"machine_type": "ct6e-standard-4t"}, "machine_type", "its accelerator type says it"),
    "a machine that is none": ({"machine_type": "g2-standard-7"}, "machine_type", "is not a machine type with GPUs"),
}


@pytest.mark.parametrize("name", NOT_ON_GPUS)
def test_fails_on_gpus_that_cannot_be(name: str, with_job: Callable[..., Path]) -> None:
    """Machine, GPU, number, zone and way go together, or what does not is named."""
    change, path, words = NOT_ON_GPUS[name]
    found = {one.path: one.message for one in problems(with_job(GPU_JOB | change))}
    assert words in found[f"jobs.train.{path}"]


def in_us_east4(change: Mapping[str, Any]) -> dict[str, Any]:
    """A stack file's keys, of a region that has T4."""
    images = {name: text.replace("us-east5", "us-east4") for name, text in IMAGES.items()}
    return {"region": "us-east4", "images": images, "jobs": {"train": JOB | T4 | {"zones": ["us-east4-a"]} | change}}


def test_flex_start_is_for_gpus_that_are_built_in(with_job: Callable[..., Path]) -> None:
    """N1 is not sold so: the way is named, and what would do."""
    (found,) = problems(with_job(**in_us_east4({"provisioning": ["spot", "flex-start"]})))
    assert (found.path, found.allowed) == ("jobs.train.provisioning.1", "on-demand, spot, reservation")


def test_a_plan_says_the_machine_of_its_gpus(with_job: Callable[..., Path]) -> None:
    """What the runner makes is an instance; GPUs are counted as chips, and an older plan without the key is a TPU's."""
    found = declared(with_job(**in_us_east4({"accelerator_count": 2})))
    plan = JobPlan.model_validate_json(environment(found[RUN_JOB, "train"])[VARIABLE])
    assert (plan.machine_type, plan.accelerator_type, plan.chips, plan.hosts, plan.gpus) == ("n1-standard-8", "nvidia-tesla-t4", 2, 1, 2)
    assert {machine.form for machine in plan.machines} == {"instance"}
    older = JobPlan.model_validate(plan.model_dump(exclude={"machine_type"}))
    assert (older.machine_type, older.gpus) == ("", None)


def test_warns_of_an_image_without_cuda(with_job: Callable[..., Path]) -> None:
    """The project's own images have JAX for TPUs; an image that the job names is its owner's to know. A TPU job is told nothing."""
    for change, many in ((GPU_JOB, 1), (GPU_JOB | {"image": IMAGES["train"]}, 0), (JOB, 0)):
        found = list(warnings(StackSpec.load(with_job(change)).jobs))
        assert [one.check for one in found] == ["jobs.train.image"] * many


def test_no_job_stands_where_nothing_could_run_or_start_it(base: dict[str, Any], stack_file: Write) -> None:
    """v4 is in a region alone that has neither Cloud Run nor Cloud Scheduler: an update would end half way. The way out is said."""
    images = {name: one.replace("us-east5", "us-central2") for name, one in IMAGES.items()}
    job = JOB | {"accelerator_type": "v4-8", "zones": ["us-central2-b"], "provisioning": ["on-demand"]}
    (found,) = problems(
        stack_file(base | {"accelform:region": "us-central2", "accelform:images": images, "accelform:jobs": {"train": job}})
    )
    assert (found.path, "has no Cloud Run (https://" in found.message, "and Cloud Scheduler (https://" in found.message) == (
        "jobs",
        True,
        True,
    )
    assert "us-central1" in found.allowed
    assert "us-east5" not in found.allowed
    assert "tpu_slices" in found.fix


@pytest.mark.parametrize(("change", "path", "said"), REFUSED.values(), ids=REFUSED)
def test_refuses(change: dict[str, Any], path: str, said: str, with_job: Callable[..., Path]) -> None:
    """Each is refused where it stands, in words, with what it may be or what to do."""
    found = {one.path: one for one in problems(with_job(change))}
    assert said in found[path].message
    assert found[path].allowed or found[path].fix
    assert found[path].line


def test_accepts_ai_zones_and_several_hosts(base: dict[str, Any], stack_file: Write) -> None:
    """T02: a zone of the newer kind is one of its region."""
    images = {name: one.replace("us-east5", "us-central1") for name, one in IMAGES.items()}
    job = JOB | {"accelerator_type": "v6e-16", "zones": ["us-central1-ai1a"], "provisioning": ["on-demand"]}
    top = {"accelform:region": "us-central1", "accelform:images": images, "accelform:jobs": {"train": job}}
    assert StackSpec.load(stack_file(base | top)).jobs["train"].shape.hosts == 4


def test_names_every_pair_that_cannot_be(base: dict[str, Any], stack_file: Write) -> None:
    """Each zone is judged with each way of buying; the refusal says which do sell it, and what the zone does sell."""
    images = {name: one.replace("us-east5", "asia-east1") for name, one in IMAGES.items()}
    job = JOB | {"accelerator_type": "v5litepod-4", "zones": ["asia-east1-c", "asia-east1-b"], "provisioning": ["flex-start", "spot"]}
    top = {"accelform:region": "asia-east1", "accelform:images": images, "accelform:jobs": {"train": job}}
    found = problems(stack_file(base | top))
    assert [one.path for one in found] == ["jobs.train.provisioning.0"] * 2
    assert [one.message.partition(":")[0] for one in found] == ["flex-start in asia-east1-c", "flex-start in asia-east1-b"]
    assert found[0].allowed == "reservation, on-demand, spot in asia-east1-c"


def test_says_the_words_of_a_list_and_how_one_is_written(with_job: Callable[..., Path]) -> None:
    """As it does of a key that is one word."""
    found = {one.path: one for one in problems(with_job({"provisioning": ["SPOT"], "zones": "us-east5-a"}))}
    assert found["jobs.train.provisioning.0"].allowed == "on-demand, spot, flex-start, reservation"
    assert found["jobs.train.zones"].fix == 'write ["us-east5-a"]'


def test_names_every_zone_outside_of_the_region(with_job: Callable[..., Path]) -> None:
    """Each by its own number, odd ones too; the one that is in the region is none of them."""
    found = problems(with_job({"zones": ["us-east5-a", "us-east5", "", "US-EAST5-A", "\u4e9a\u6d32"]}))
    assert [one.path for one in found] == [f"jobs.train.zones.{number}" for number in (1, 2, 3, 4)]
    assert found[2].message == '"US-EAST5-A" is not in the stack\'s region'
    assert all(one.allowed for one in found)


def test_a_way_that_no_source_denies_may_be_confirmed(base: dict[str, Any], stack_file: Write) -> None:
    """The refusal says how; what is written so passes."""
    images = {name: one.replace("us-east5", "asia-east1") for name, one in IMAGES.items()}
    job = JOB | {"accelerator_type": "v5litepod-4", "zones": ["asia-east1-c"], "provisioning": ["flex-start"]}
    top = base | {"accelform:region": "asia-east1", "accelform:images": images, "accelform:jobs": {"train": job}}
    (found,) = problems(stack_file(top))
    assert found.fix.endswith("write `accelform:confirmed: [{what: v5litepod-4, zone: asia-east1-c, because: how you know}]`")
    sure = {"what": "v5litepod-4", "zone": "asia-east1-c", "because": "how you know"}
    assert StackSpec.load(stack_file(top | {"accelform:confirmed": [sure]})).jobs["train"].provisioning == ["flex-start"]


@pytest.mark.parametrize(("name", "whose"), [("night", "a slice"), ("sweep", "what looks after all jobs")])
def test_a_job_is_called_as_nothing_else_that_costs(name: str, whose: str, base: dict[str, Any], stack_file: Write) -> None:
    """Lines of cost and `usage.resources` go by the name alone."""
    standing = {"accelerator_type": "v6e-4", "zone": "us-east5-a", "provisioning": "spot", "max_run_minutes": 60}
    top = {"accelform:images": IMAGES, "accelform:jobs": {name: JOB}, "accelform:tpu_slices": {"night": standing}}
    (found,) = problems(stack_file(base | top))
    assert found.path == f"jobs.{name}"
    assert f"is the name of {whose}" in found.message


def test_what_is_confirmed_by_name_is_not_refused(with_job: Callable[..., Path]) -> None:
    """A pair that only the user vouches for passes, and the entry is of use."""
    sure = [{"what": "v6e-4", "zone": "us-east5-c", "because": "our representative said so in November"}]
    change = {"zones": ["us-east5-c"], "provisioning": ["on-demand"]}
    assert [one.path for one in problems(with_job(change))] == ["jobs.train.zones.0"]
    assert StackSpec.load(with_job(change, confirmed=sure)).jobs["train"].zones == ["us-east5-c"]


@pytest.mark.parametrize(
    ("images", "missing"),
    [(None, ["images.runner", "jobs.train.image"]), ({"runner": IMAGES["runner"]}, ["jobs.train.image"])],
    ids=["none", "the runner's only"],
)
def test_images_that_are_not_built_yet_are_refused_with_how(images: Any, missing: list[str], with_job: Callable[..., Path]) -> None:
    """A job runs in an image by its digest, and so does its runner."""
    found = problems(with_job(images=images))
    assert [one.path for one in found] == missing
    assert all("accelform image build" in one.fix for one in found)


def test_a_job_that_makes_no_model_registers_none(base: dict[str, Any], stack_file: Write) -> None:
    """Its runs leave a report, and so each would be accepted as a version without files, and served."""
    job = JOB | {"workload": "embed_images", "image": IMAGES["train"], "registers": "pictures"}
    top = {"accelform:images": IMAGES, "accelform:jobs": {"embed": job}, "accelform:models": {"pictures": MODEL}}
    (found,) = problems(stack_file(base | top))
    assert (found.path, found.fix) == ("jobs.embed.registers", "remove it")
    assert "embed_images makes no model" in found.message
    assert "train_recommender" in found.allowed


def test_a_program_that_makes_its_data_up_needs_none(with_job: Callable[..., Path]) -> None:
    """The refusal says so, and it is so."""
    (found,) = problems(with_job({"data": None}))
    assert found.allowed == "clicks, pictures"
    assert found.fix.startswith("write {clicks: clicks/, pictures: pictures/} with")
    assert "`args: [--example]`" in found.fix
    assert StackSpec.load(with_job({"data": None, "args": ["--example", "--small"]})).jobs["train"].data == {}


def test_a_model_is_of_one_job(base: dict[str, Any], stack_file: Write) -> None:
    """Of two jobs that make its versions nobody could say which is the newest."""
    jobs = {name: JOB | {"registers": "recommender"} for name in ("one", "two")}
    top = {"accelform:images": IMAGES, "accelform:jobs": jobs, "accelform:models": {"recommender": MODEL}}
    found = problems(stack_file(base | top))
    assert [(one.path, one.message) for one in found] == [("jobs.two.registers", "recommender is registered by one already")]


def test_the_runner_is_told_its_plan(with_job: Callable[..., Path]) -> None:
    """The plan in the environment is known at a preview, and names what is declared beside it."""
    found = declared(with_job({"provisioning": ["flex-start", "spot"], "wait_minutes": 0, "restarts": 0}))
    plan = JobPlan.model_validate_json(environment(found[RUN_JOB, "train"])[VARIABLE])
    assert (plan.job, plan.stack, plan.zones, plan.hosts, plan.chips) == ("train", "try", ("us-east5-a", "us-east5-b"), 1, 4)
    assert (plan.wait_minutes, plan.restarts, plan.max_run_minutes, plan.sandbox) == (0, 0, 180, "")
    assert plan.machine_name == "try-job-train"
    templates = {one.inputs["name"] for (kind, _), one in found.items() if kind.endswith(":InstanceTemplate")}
    assert {one.template.rpartition("/")[2] for one in plan.machines} == templates
    assert [one.provisioning for one in plan.machines] == ["flex-start", "spot"]
    assert plan.state == "gs://tw-shop-ml-try-models/.accelform/jobs/try/train"
    assert plan.output == "gs://tw-shop-ml-try-models/jobs/train"
    assert [plan.model_dump(mode="json")] == json.loads(environment(found[RUN_JOB, "sweep"])[PLANS_VARIABLE])


def test_the_container_reads_what_it_is_told(with_job: Callable[..., Path]) -> None:
    """What the template says and what the runner adds are together the whole contract, and no more."""
    found = declared(with_job({"data": {"clicks": "clicks/", "pictures": "p/"}, "save_every_steps": 50, "env": {"LEVEL": "debug"}}))
    metadata = found["gcp:compute/instanceTemplate:InstanceTemplate", "train-spot"].get("metadata")
    container = json.loads(metadata["accelform-container"])
    run = {"WL_RUN_ID": "r", "WL_OUTPUT": "gs://o", "WL_CHECKPOINTS": "gs://c", "WL_ATTEMPT": "2"}
    settings = TrainSettings.read(container["env"] | run)
    assert settings.data == {"clicks": "gs://tw-shop-ml-try-data/clicks", "pictures": "gs://tw-shop-ml-try-data/p"}
    assert (settings.accelerator_type, settings.chips, settings.hosts, settings.save_every_steps) == ("v6e-4", 4, 1, 50)
    assert container["image"] == IMAGES["train"]
    assert metadata["startup-script"].startswith("#!/bin/bash\n")


def test_a_node_is_told_the_same(base: dict[str, Any], stack_file: Write) -> None:
    """T22, T24, T34: the body that the runner sends has the way of buying, an account of its own, the one scope and no address."""
    images = {name: one.replace("us-east5", "europe-west4") for name, one in IMAGES.items()}
    job = JOB | {"accelerator_type": "v3-8", "zones": ["europe-west4-a"], "provisioning": ["spot", "on-demand"]}
    top = {"accelform:region": "europe-west4", "accelform:images": images, "accelform:jobs": {"train": job}}
    plan = JobPlan.model_validate_json(environment(declared(stack_file(base | top))[RUN_JOB, "train"])[VARIABLE])
    spot, on_demand = (one.node for one in plan.machines)
    assert (spot["schedulingConfig"], on_demand["schedulingConfig"]["spot"]) == ({"spot": True, "reserved": False}, False)
    assert spot["serviceAccount"] == {
        "email": "try-job-train@tw-shop-ml.iam.gserviceaccount.com",
        "scope": ["https://www.googleapis.com/auth/cloud-platform"],
    }
    assert spot["networkConfig"] == {
        "subnetwork": "projects/tw-shop-ml/regions/europe-west4/subnetworks/try-subnet",
        "enableExternalIps": False,
    }
    assert json.loads(spot["metadata"]["accelform-container"])["image"] == images["train"]
    assert spot["labels"]["accelform-job"] == "train"


def test_the_account_has_the_address_that_the_plan_says(with_job: Callable[..., Path]) -> None:
    """The address is written out before the account is made: both are made of the same id."""
    found = declared(with_job())
    account = found["gcp:serviceaccount/account:Account", "job-train"]
    assert account.inputs["accountId"] == "try-job-train"


def test_a_command_runs_in_its_own_image(with_job: Callable[..., Path]) -> None:
    """No image of this project's programs is needed, nor data; it is told the same variables; the plan says that it is no program."""
    image = "us-east5-docker.pkg.dev/tw-shop-ml/try-images/maxtext@sha256:" + "2" * 64
    change = {"workload": None, "command": ["bash", "-c"], "args": ["exec train $WL_OUTPUT"], "image": image, "data": {"text": "text/"}}
    found = declared(with_job(change, images={"runner": IMAGES["runner"]}))
    template = found["gcp:compute/instanceTemplate:InstanceTemplate", "train-spot"]
    said = json.loads(template.get("metadata.accelform-container"))
    assert (said["image"], said["command"], said["args"]) == (image, ["bash", "-c"], ["exec train $WL_OUTPUT"])
    assert said["env"]["WL_DATA_TEXT"] == "gs://tw-shop-ml-try-data/text"
    plan = JobPlan.model_validate_json(environment(found[RUN_JOB, "train"])[VARIABLE])
    assert plan.workload == "command"


def test_a_run_waits_for_what_it_needs(with_job: Callable[..., Path]) -> None:
    """No run begins before its templates, its way out and all grants, its machine's and its own, are there; the clock waits for the job."""
    found = declared(with_job({"schedule": "0 2 * * *", "timezone": "Asia/Taipei"}))
    job = found[RUN_JOB, "train"]
    grants = {
        one.urn
        for (kind, name), one in found.items()
        if kind.lower().endswith("iammember") and "train" in name and name.split("-")[0] in ("job", "runner")
    }
    needed = grants | {found["gcp:compute/routerNat:RouterNat", "network"].urn}
    needed |= {one.urn for (kind, _), one in found.items() if kind.endswith(":InstanceTemplate")}
    assert len(grants) == 9
    assert needed <= set(job.dependencies)
    clock = found["gcp:cloudscheduler/job:Job", "train"]
    assert {job.urn, found["gcp:cloudrunv2/jobIamMember:JobIamMember", "clock-train-starts"].urn} <= set(clock.dependencies)


def test_a_plan_that_cloud_run_would_not_take_is_refused(with_job: Callable[..., Path]) -> None:
    """A node's plan holds the container: what is too long is said before the service says it, with what to do."""
    import pulumi

    spec = StackSpec.load(with_job({"way": "tpu-api", "args": ["x" * VARIABLE_BYTES]}))
    with pytest.raises(pulumi.RunError, match=rf"jobs: ACCELFORM_JOB of try-job-train .* Cloud Run takes {VARIABLE_BYTES}\n  fix: "):
        collect(lambda: declare(spec, "try"), "try")


def test_every_program_has_an_image_that_can_be_named() -> None:
    """T30: no example types a runtime or an image by hand: workloads name theirs."""
    assert {one.image for one in PROGRAMS.values()} == {"train", "serve", "tf"}
    assert all(name == one.name for name, one in PROGRAMS.items())
