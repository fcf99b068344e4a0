"""Deployed models, served by local processes: predictions go by the traffic split."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest

from infra.components.model import ModelSpec
from infra.local.attach import commands
from infra.local.attach.models import Answers
from tests.local.attach.conftest import PROJECT, Shop
from workloads.job import PROGRAMS

VERTEX = "aiplatform.googleapis.com/v1"
PARENT = f"projects/{PROJECT}/locations/us-east5"
ENDPOINT = f"{PARENT}/endpoints/shop"


def deploy(shop: Shop, id: str, split: dict[str, int], command: list[str]) -> None:
    spec = {"imageUri": "serve:1", "command": command, "predictRoute": "/guess", "healthRoute": "/well", "ports": [{"containerPort": 8080}]}
    model = {"displayName": "m", "containerSpec": spec, "artifactUri": f"gs://shop-models/m/{id}"}
    upload = shop.ask("POST", f"{VERTEX}/{PARENT}/models:upload", {"model": model})
    while not upload.get("done"):
        upload = shop.ask("GET", f"{VERTEX}/{upload['name']}")
    deployed = {"id": id, "model": upload["response"]["model"], "dedicatedResources": {"machineSpec": {}, "minReplicaCount": 1}}
    operation = shop.ask("POST", f"{VERTEX}/{ENDPOINT}:deployModel", {"deployedModel": deployed, "trafficSplit": split})
    while not operation.get("done"):
        operation = shop.ask("GET", f"{VERTEX}/{operation['name']}")


@pytest.fixture
def served(shop: Shop) -> Any:
    shop.ask("POST", f"{VERTEX}/{PARENT}/endpoints", {"displayName": "shop"}, endpointId="shop")
    return shop


def ask(shop: Shop, verb: str, **more: Any) -> httpx.Response:
    return shop.http.post(f"{shop.base}/{VERTEX}/{ENDPOINT}:{verb}", **more)


def test_predictions_go_by_the_traffic_split(served: Shop) -> None:
    """To the container's routes, with who answered; errors of the container are the answer's."""
    ours = ["python", "-m", "workloads.serve", "serve_recommender"]
    deploy(served, "1", {"0": 100}, ours)
    deploy(served, "2", {"1": 75, "0": 25}, ours)
    assert ask(served, "predict", json={"instances": [7]}).status_code == 501
    with served.attached() as attached:
        attached.run(until=lambda: sum("answers" in one for one in served.said) == 2)

        answers = [ask(served, "predict", json={"instances": [7]}).json() for _ in range(20)]
        raw = ask(served, "rawPredict", content=b'{"instances": [1]}', headers={"Content-Type": "application/json"})
        bad = ask(served, "predict", json={"instances": ["bad"]})

    count = Counter(answer["deployedModelId"] for answer in answers)
    assert (count["1"], count["2"]) == (15, 5)
    one = next(answer for answer in answers if answer["deployedModelId"] == "2")
    assert one["predictions"] == [["gs://shop-models/m/2", 7]]
    assert (one["modelDisplayName"], one["modelVersionId"]) == ("m", "1")
    assert raw.json()["predictions"][0][1] == 1
    assert raw.headers["x-vertex-ai-endpoint-id"] == "shop"
    assert (bad.status_code, bad.json()["error"]["message"]) == (400, "bad instance")


def test_clock_is_held_until_a_servers_speed_is_known(served: Shop) -> None:
    """A rollout's hour would else be over before its version answers. What is met is told before the sandbox knows of it."""
    deploy(served, "1", {"0": 100}, ["python", "-m", "workloads.serve", "serve_recommender"])
    met: list[Answers] = []
    known: list[Any] = []

    def meet(answers: Answers) -> None:
        met.append(answers)
        known.append(served.ask("GET", "sandbox/servers")["servers"])
        assert served.cloud.machines.held
        assert httpx.post(answers.url, json={"instances": [7]}, trust_env=False).status_code == 200

    with served.attached(met=meet) as attached:
        attached.run(until=lambda: any("answers" in one for one in served.said))
        assert not served.cloud.machines.held

    assert [(one.endpoint, one.id) for one in met] == [(ENDPOINT, "1")]
    assert known == [[]]
    assert served.ask("GET", "sandbox/servers") == {"servers": []}
    assert not served.cloud.machines.held


def test_every_program_that_serves_is_let_in() -> None:
    """What the stack file's models are started with is what is started here."""
    for name, program in PROGRAMS.items():
        if program.kind == "serve":
            container = ModelSpec(workload=name).container("image")
            assert tuple(container["command"]) == program.command
            assert commands.local(container, commands.MODELS)[-1] == name
        else:
            assert commands.local({"command": list(program.command)}, commands.MACHINES)[-1] == name


def test_foreign_model_is_not_served_and_a_dead_server_is_forgotten(served: Shop) -> None:
    deploy(served, "1", {"0": 100}, ["nginx"])
    with served.attached() as attached:
        attached.run(once=True)
        attached.step()

        assert served.ask("GET", "sandbox/servers") == {"servers": []}
        assert not served.cloud.machines.held
    assert served.said == ["deployed model 1 is not served here: the container 'serve:1' runs 'nginx'; allowed: python -m workloads.serve"]


@pytest.mark.parametrize("base", ["http://10.0.0.1:80", "https://127.0.0.1:80", "http://127.0.0.1:80/x", "http://u:p@127.0.0.1:80", 7])
def test_server_elsewhere_is_refused(shop: Shop, base: Any) -> None:
    answer = shop.http.post(f"{shop.base}/sandbox/servers", json={"endpoint": ENDPOINT, "deployed_model": "1", "base": base})

    assert answer.status_code == 400


def test_server_that_is_gone_is_unavailable(served: Shop) -> None:
    deploy(served, "1", {"0": 100}, ["nginx"])
    served.ask("POST", "sandbox/servers", {"endpoint": ENDPOINT, "deployed_model": "1", "base": "http://127.0.0.1:1"})

    answer = ask(served, "predict", json={"instances": [7]})

    assert (answer.status_code, answer.json()["error"]["status"]) == (503, "UNAVAILABLE")
