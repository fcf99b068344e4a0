"""The recommender's server as its image starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workloads import recommender_model
from tests.workloads.serving.processes import running
from workloads import serve
from workloads.contract import ServeSettings
from workloads.files import DeniedError, Folder
from workloads.recommender import online
from workloads.serving.metrics import Metrics
from workloads.serving.state import State

PROGRAM = str(Path(__file__).with_name("only_locked.py"))


def test_serves_what_training_exported_without_its_libraries(tmp_path: Path) -> None:
    """With nothing but what its image has, it answers by names, and logs a click. Neither Keras nor TensorFlow is imported."""
    clicks = tmp_path / "clicks"
    given = {"AIP_STORAGE_URI": str(recommender_model.write(tmp_path)), "WL_CLICKS": str(clicks), "WL_LAMEDUCK_SECONDS": "0"}
    with running([PROGRAM, "serve_recommender"], given) as server:
        server.until_health("/health", 200)
        answer = server.http.post("/predict", json={"instances": [{"user": "bob"}, {"user": 1}], "parameters": {"k": 1}})
        report = {"user": "bob", "item": "kettle", "clicked": 1}
        logged = server.http.post("/clicks", json={"clicks": [report, {"item": "cup"}]})
        server.process.send_signal(signal.SIGTERM)
        ended, out, _ = server.ended()

    best, refused = answer.json()["predictions"]
    assert best["item"] == ["kettle"]
    assert refused == {"error": {"code": 400, "message": "user is no text: 1"}}
    assert answer.headers["x-model-version"] == "20261201T180000Z"
    assert logged.json() == {"logged": 1, "refused": [{"index": 1, "message": "clicked is missing"}]}
    (path,) = clicks.iterdir()
    line = json.loads(path.read_text())
    assert line | report | {"ad": 0, "purchased": 0, "variant": "", "version": "20261201T180000Z"} == line
    assert ended == 0
    told = json.loads(out.splitlines()[-1])
    assert {"keras", "tensorflow", "torch", "pulumi", "infra"} <= set(told["absent"]) | {"torch"}
    assert "jax" in told["imported"]
    assert not {"keras", "tensorflow", "torch", "infra", "pulumi", "google.cloud.storage"} & set(told["imported"])


def test_a_model_that_may_not_be_read_is_not_said_to_be_spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """To begin again helps once its account may: so the code is another one."""

    def denied(folder: Folder, target: Path) -> None:
        raise DeniedError(f"{folder.location}: checksums.json may not be read")

    class Ends:
        ended = False

        def end(self) -> None:
            self.ended = True

    monkeypatch.setattr(Folder, "download", denied)
    state, server = State(), Ends()
    serve._load(online, ServeSettings(model="gs://shop-models/m"), state, Metrics("", ""), server)  # type: ignore[arg-type]
    assert (state.exit_code, state.failure) == (1, "the model could not be had: gs://shop-models/m: checksums.json may not be read")
    assert server.ended


@pytest.mark.parametrize("arguments", [[], ["serve_everything"], ["serve_recommender", "--port=1"]])
def test_fails_for_another_program(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It names those that there are."""
    assert serve.main(arguments) == 2
    assert capsys.readouterr().err.startswith("wanted is one of: serve_recommender; got: ")


def test_fails_for_a_wrong_environment() -> None:
    """As a process: exit code 2, and a line for each problem."""
    command = [sys.executable, "-m", "workloads.serve", "serve_recommender"]
    ended = subprocess.run(
        command, env={"AIP_HTTP_PORT": "x", "PYTHONPATH": str(Path(serve.__file__).parents[1])}, capture_output=True, text=True
    )

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[1:] == [
        "AIP_HTTP_PORT='x' is no whole number of 1 to 65535",
        "AIP_STORAGE_URI is missing, and WL_MODEL too: one of them names the folder of the model's files",
    ]
