"""What guides name is there, and what they say to type is taken."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from infra import names
from infra.apps import AppsSpec
from infra.catalog.accelerator import accelerator
from infra.catalog.tpu import TpuShape
from infra.check import StackFile, check
from infra.cost.usage import HOURS
from infra.in_cluster import controllers, job_objects, metrics_adapter, ray_cluster, volume
from infra.in_cluster.seat import SPOT_SECONDS
from infra.stack import StackSpec
from workloads import embed_images, events, vision
from workloads.contract import ABORTED_EXIT, DATA_PREFIX, RESTART_EXIT, ServeSettings, TrainSettings
from workloads.files import Folder
from workloads.job import PROGRAMS
from workloads.recommender import data, metrics
from workloads.recommender.data import Clicks
from workloads.serving import app
from workloads.serving.metrics import Metrics

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (GUIDES / "serve.md").read_text(encoding="utf-8")
OURS = {name: (GUIDES / f"{name}.md").read_text(encoding="utf-8") for name in ("embed-images", "train-the-recommender")}


def test_variables_of_the_guide_are_the_contracts() -> None:
    """Each is a field, and the defaults in the table are those of the code."""
    named = set(re.findall(r"\bWL_[A-Z_]+\b", GUIDE)) - {"WL_"}
    defaults = dict(re.findall(r"^\| `(WL_[A-Z_]+)` \|.*\| `?([^|`]*?)`? \|$", GUIDE, re.MULTILINE))
    settings = ServeSettings("/m")

    served, trained = ({f"WL_{name.upper()}" for name in one.__slots__} for one in (ServeSettings, TrainSettings))
    assert served <= named <= served | trained
    for name in ("lameduck_seconds", "drain_seconds", "threads"):
        assert float(defaults[f"WL_{name.upper()}"]) == getattr(settings, name)
    assert defaults["WL_CLICKS"] == settings.clicks


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bwl_[a-z_]+\b", GUIDE))))
def test_figures_of_the_guide_are_counted(name: str) -> None:
    """Under that name."""
    metrics = Metrics("", "")
    metrics.answered(200, 0.1)
    metrics.predicted(1, 1)
    metrics.clicked(1, 1)

    assert f"# HELP {name} " in metrics.text().decode()


def test_routes_of_the_guide_are_answered() -> None:
    for route in (app.LIVE_ROUTE, app.READY_ROUTE, app.METRICS_ROUTE, app.CLICKS_ROUTE, app.VARIANT_HEADER, app.VERSION_HEADER):
        assert f"`{route}`" in GUIDE or f" {route}`" in GUIDE


def block(name: str) -> dict[str, Any]:
    """The part of a stack file that a guide has."""
    [text] = re.findall(r"^```yaml\n(.*?)^```", (GUIDES / f"{name}.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return dict(YAML(typ="safe", pure=True).load(text))


def test_the_block_of_gpus_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """It is loaded as it stands: a machine that stands, and a job's, each with the GPUs that the text says."""
    spec = StackSpec.load(stack_file(base | block("gpu")))
    lab, nightly = spec.gpu_vms["lab"].gpus, spec.jobs["nightly"].gpus

    assert lab.words() == "n1-standard-8 with 1 x nvidia-tesla-t4"
    assert nightly is not None
    assert nightly.words() == "g2-standard-8 with 1 x nvidia-l4"


def test_the_block_of_gke_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """It is loaded as it stands, with the line of usage beside it: both pools come from none, and pods select what they are made of."""
    text = (GUIDES / "gke.md").read_text(encoding="utf-8")
    [usage] = re.findall(r"^`(accelform:usage: .*)`$", text, re.MULTILINE)
    spec = StackSpec.load(stack_file(base | block("gke") | YAML(typ="safe", pure=True).load(usage)))
    answers, pool = spec.node_pools["answers"], spec.node_pools["slice"]
    host = pool.host

    assert (answers.bounds(), pool.bounds()) == ((0, 4), (0, 4))
    assert answers.zones_in(spec.region) == ["us-central1-a", "us-central1-b", "us-central1-c"]
    assert isinstance(host, TpuShape)
    for label in (answers.host.accelerator_type, accelerator(f"tpu-{host.generation}").gke_label, host.topology):
        assert f": {label}`" in text
    assert f"get-credentials {names.cluster('gke', 'shop')} --location {spec.region} " in text
    assert set(spec.usage.resources) == set(spec.node_pools)


def test_what_the_guide_of_services_says_is_so() -> None:
    """Of the example that it shows: what a copy does when it ends, by which gauge it scales, and where its adapter's image comes from."""
    text = (GUIDES / "serve-on-gke.md").read_text(encoding="utf-8")
    spec = AppsSpec.load(GUIDES.parent / "examples" / "Pulumi.gke-apps.yaml")
    chat, scaled = spec.services["chat"], spec.services["recommend-a"].scale_on

    assert [chat.leave(spot) for spot in (True, False)] == [(3, 8), (10, 30)]
    assert "3 and 8 on Spot, 10 and 30 elsewhere" in text
    assert spec.around.held("chat", chat) == chat.most == 4
    assert scaled is not None
    assert f"`{scaled.metric}`" in text
    assert f"gcrane cp {metrics_adapter.PUBLISHED} {spec.around.images[metrics_adapter.KEY].partition('@')[0]}" in text
    assert f"`{app.VARIANT_HEADER}`" in text


def test_what_the_guide_of_jobs_in_a_cluster_says_is_so() -> None:
    """Of the example that it shows: how long a pod may save, which ends count, what a run is called, and what comes by which chart."""
    text = (GUIDES / "train-on-gke.md").read_text(encoding="utf-8")
    spec = AppsSpec.load(GUIDES.parent / "examples" / "Pulumi.gke-apps.yaml")
    where = spec.where("gke-apps", {}, spec.jobs["recommender"])
    night = job_objects.job("recommender", spec.jobs["recommender"], where)
    final, _, again = (rule.get("onExitCodes", {}).get("values") for rule in night["podFailurePolicy"]["rules"])

    assert f"it has {SPOT_SECONDS} seconds to save one, elsewhere {job_objects.LEAVE_SECONDS}" in text
    assert f"exit codes {', '.join(map(str, final))} |" in text
    assert again == [ABORTED_EXIT, RESTART_EXIT]
    assert f"exit code {RESTART_EXIT} |" in text
    assert f"the last {job_objects.KEPT} that ended well stay, and the last {job_objects.KEPT} that did not" in text
    told = {one["name"]: one.get("value") for one in job_objects.environment("recommender", spec.jobs["recommender"], where)}
    assert told["WL_OUTPUT"] == "gs://tw-shop-ml-gke-models/jobs/gke-apps/recommender/$(WL_RUN_ID)"
    assert "`gs://MODELS/jobs/STACK/JOB/RUN/`" in text
    assert (spec.controllers, spec.jobs["finetune"].run) == (("kueue", "jobset", "kuberay-operator"), "first")
    assert "Ray before {}.{} knows none".format(*ray_cluster.OLDEST) in text
    assert f"on port {json.loads(controllers.kueue_config())['webhook']['port']}" in text


def test_the_block_of_the_ladder_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """It is loaded as it stands, beside a region that has what the text asks for: its rungs, its limit and its lines are what it says."""
    stack_file(base | {"accelform:clusters": {"main": {"mode": "standard", "addons": ["secret-manager"]}}}, "there")
    own = {key: value for key, value in base.items() if key != "accelform:budgets"}
    kind = {"accelform:kind": "apps", "accelform:region_stack": "there"}
    checked = check(StackFile("try", stack_file(own | kind | block("capacity-ladder"))))
    assert isinstance(checked.spec, AppsSpec)
    ladder = checked.spec.compute_classes["v6e"]
    zones = [(rung.way, *rung.zones) for rung in ladder.rungs("us-east5")]

    assert zones[:2] == [("reservation", "us-east5-a"), ("flex-start", "us-east5-b")]
    assert (checked.findings, checked.warnings) == ([], [])
    [nodes] = [line for line in checked.estimate.lines if "flex-start" in line.what]
    assert nodes.quantity == (0, 2 * HOURS, 8 * HOURS)
    assert not volume.against_host("scratch", checked.spec.volumes["scratch"], ladder.host, [])


def test_the_block_of_maxtext_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """It is loaded as it stands; the variables that its command reads, and those that the guide explains, are what a run is told."""
    text = (GUIDES / "maxtext.md").read_text(encoding="utf-8")
    job = StackSpec.load(stack_file(base | block("maxtext"))).jobs["sft"]
    told = {f"WL_{name.upper()}" for name in TrainSettings.__slots__} | {f"{DATA_PREFIX}{name.upper()}" for name in job.data}

    assert (job.command, job.program) == (["bash", "-c"], None)
    assert set(re.findall(r"\$(\w+)", job.args[0])) == {"WL_OUTPUT", "WL_DATA_CHECKPOINT", "WL_DATA_CHAT"}
    assert set(re.findall(r"\bWL_[A-Z_]+\b", text)) <= told


@pytest.mark.parametrize("name", OURS)
def test_what_a_guide_says_to_type_is_taken(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One command after the other, in an empty folder: data is made up; a job's arguments and its variables are those that it takes."""
    monkeypatch.chdir(tmp_path)
    said, begun = {}, []
    for line in re.findall(r"^(export .*|python -m workloads.*)$", OURS[name], re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            said |= dict(word.split("=") for word in words[1:])
        elif words[2] == "workloads.recommender.data":
            assert data.main([*words[3:], "--rows", "300"]) == 0
        else:
            program = PROGRAMS[words[3]]
            options = importlib.import_module(program.module).parser(program.name).parse_args(words[4:])
            settings = TrainSettings.read(said)
            assert program.lacks(words[4:], settings.data) == ()
            if not getattr(options, "example", False):
                assert all(Folder(folder).names() for folder in settings.data.values())
            begun.append(program.name)
    assert begun


def test_variables_of_a_custom_job_are_the_contracts() -> None:
    """Its environment is read, and each replica is another worker; as many as there are hosts."""
    (text,) = re.findall(r"^(serviceAccount:.*?)^```$", OURS["embed-images"], re.MULTILINE | re.DOTALL)
    first, others = YAML(typ="safe", pure=True).load(text)["workerPoolSpecs"]
    settings = TrainSettings.read({one["name"]: one["value"] for one in first["containerSpec"]["env"]})
    count = first["replicaCount"] + others["replicaCount"]

    assert others["containerSpec"] == first["containerSpec"]
    assert (first["replicaCount"], count, settings.chips) == (1, settings.hosts, settings.hosts)
    program, *arguments = first["containerSpec"]["args"]
    embed_images.parser(program).parse_args(arguments)
    assert PROGRAMS[program].lacks(arguments, settings.data) == ()
    assert set(settings.data) == {"pictures", vision.MODEL}


def test_metrics_of_the_guide_are_those_that_are_reported() -> None:
    """All of them, by name."""
    nobody = np.zeros(0, np.int64)
    empty = Clicks(*(np.zeros(0, np.int32) for _ in range(5)), np.zeros((0, 8), np.int32), ("",))
    reported = metrics.retrieval(lambda some: some.item[:, None], empty, 100, nobody, nobody, 50)
    named = set(re.findall(r"`([a-z]+_(?:recall_at|ndcg_at|at)_[0-9]+)`", OURS["train-the-recommender"]))

    assert {name for name in reported if name.endswith("_50")} <= named <= set(reported)
    for variable in (events.VARIABLE, f"`{events.LOGS}/`"):
        assert variable in OURS["train-the-recommender"]


def test_the_block_of_serving_is_accepted(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """The endpoint serves the model that the command before it uploads."""
    spec = StackSpec.load(stack_file(base | block("serve")))
    uploaded = re.search(r"--model-id=(\S+)", GUIDE)

    assert uploaded
    assert spec.endpoints["older"].model == f"projects/{spec.project}/locations/{spec.region}/models/{uploaded[1]}@default"
