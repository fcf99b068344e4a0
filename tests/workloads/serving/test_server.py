"""A server as a process: its port, its health, its signals, its end."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.workloads.serving.processes import ECHO, Running, echo_model, running, waiting_model
from workloads.files import CHECKSUMS

ROUTES = {"AIP_HEALTH_ROUTE": "/v1/endpoints/9/deployedModels/8", "AIP_PREDICT_ROUTE": "/v1/endpoints/9/deployedModels/8:predict"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that is ready, told by Vertex AI's variables alone."""
    model = echo_model(tmp_path_factory.mktemp("echo"))
    with running(ECHO, ROUTES | {"AIP_STORAGE_URI": str(model), "AIP_DEPLOYED_MODEL_ID": "8"}) as found:
        found.until_health(ROUTES["AIP_HEALTH_ROUTE"], 200)
        yield found


def test_keeps_the_order_of_requests_that_come_at_once(server: Running) -> None:
    """Of forty requests at once, each gets its own answers in their order."""

    def ask(number: int) -> bool:
        instances = [f"{number}-{place}" for place in range(number)]
        answer = server.http.post(ROUTES["AIP_PREDICT_ROUTE"], json={"instances": instances})
        return answer.json() == {"predictions": [{"echo": one} for one in instances]}

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(40)))


def test_says_which_model_answered(server: Running) -> None:
    """The variant is the deployed model's id, the version what the artefact says of itself."""
    answer = server.http.post(ROUTES["AIP_PREDICT_ROUTE"], json={"instances": [1]})

    assert (answer.headers["x-model-variant"], answer.headers["x-model-version"]) == ("8", "11")
    assert 'variant="8",version="11"' in server.http.get("/metrics").text


def test_a_large_body_gets_its_answer(server: Running) -> None:
    """A client that still writes reads 413, and no broken connection; the next request is served."""
    assert server.http.post(ROUTES["AIP_PREDICT_ROUTE"], content=b"x" * 10_000_001).status_code == 413
    assert server.http.post(ROUTES["AIP_PREDICT_ROUTE"], json={"instances": [1]}).status_code == 200


def test_the_port_opens_before_the_model_is_loaded(tmp_path: Path) -> None:
    """While the model comes, life is 200 and health 503; then health is 200. What it waits for is a pipe that nobody has written to yet."""
    model = waiting_model(tmp_path)
    with running(ECHO, {"AIP_STORAGE_URI": str(model)}) as server:
        server.until_listening()
        assert [server.http.get(path).status_code for path in ("/healthz", "/health", "/readyz")] == [200, 503, 503]
        assert server.http.post("/predict", json={"instances": [1]}).status_code == 503
        (model / "version.txt").write_text("11")
        server.until_health("/health", 200)
        assert server.http.post("/predict", json={"instances": [1]}).json() == {"predictions": [{"echo": 1}]}


def test_a_signal_loses_no_request(tmp_path: Path) -> None:
    """
    At SIGTERM, five requests are half sent. New ones are served while health says 503, then refused. The five end well; so does the process.

    uvicorn alone refuses new ones at once, and ends with -15.
    """
    model = echo_model(tmp_path)
    with running(ECHO, {"WL_MODEL": str(model), "WL_LAMEDUCK_SECONDS": "1", "WL_DRAIN_SECONDS": "30"}) as server:
        server.until_health("/health", 200)
        body = json.dumps({"instances": ["late"]}).encode()
        halves = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
        for half in halves:
            half.sendall(b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body[:5]))
        while "wl_in_flight 5.0" not in server.http.get("/metrics").text:
            pass
        server.process.send_signal(signal.SIGTERM)
        server.until_health("/health", 503)
        assert server.http.post("/predict", json={"instances": ["new"]}).status_code == 200
        server.until_refusing()
        for half in halves:
            half.sendall(body[5:])
        answers = []
        for half in halves:
            with half, half.makefile("rb") as answer:
                answers.append(answer.read())
        assert all(answer.startswith(b"HTTP/1.1 200") and answer.endswith(b'{"predictions":[{"echo":"late"}]}') for answer in answers)
        assert server.ended()[0] == 0


def test_a_drain_has_an_end(tmp_path: Path) -> None:
    """A request that is never sent whole is given up after the drain's time: the process ends with 0 all the same."""
    with running(ECHO, {"WL_MODEL": str(echo_model(tmp_path)), "WL_LAMEDUCK_SECONDS": "0", "WL_DRAIN_SECONDS": "1"}) as server:
        server.until_health("/health", 200)
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
            while "wl_in_flight 1.0" not in server.http.get("/metrics").text:
                pass
            server.process.send_signal(signal.SIGTERM)
            assert server.ended()[0] == 0


def test_a_signal_while_the_model_is_loaded_ends_at_once(tmp_path: Path) -> None:
    """There is nothing to drain."""
    with running(ECHO, {"WL_MODEL": str(waiting_model(tmp_path)), "WL_LAMEDUCK_SECONDS": "500"}) as server:
        server.until_listening()
        server.process.send_signal(signal.SIGTERM)
        assert server.ended()[0] == 0


@pytest.mark.parametrize(
    ("spoil", "says", "code"),
    [
        (lambda model: (model / "version.txt").write_text("12"), "version.txt is not what its checksum says", 65),
        (lambda model: (model / "version.txt").unlink(), "version.txt is not there", 65),
        (lambda model: (model / CHECKSUMS).unlink(), "has no checksums.json: it is not whole, or not there", 65),
    ],
    ids=["changed", "missing", "unfinished"],
)
def test_fails_for_a_model_that_is_not_whole(tmp_path: Path, spoil: object, says: str, code: int) -> None:
    """Such a server never gets ready: it ends, and says why in a line."""
    model = echo_model(tmp_path)
    spoil(model)  # type: ignore[operator]
    with running(ECHO, {"WL_MODEL": str(model)}) as server:
        ended, _, err = server.ended()

    assert ended == code
    assert says in err
    assert "Traceback" not in err


def test_fails_for_a_port_that_is_taken(tmp_path: Path) -> None:
    """It says which port, and ends."""
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = other.getsockname()[1]
        with running(ECHO, {"WL_MODEL": str(echo_model(tmp_path))}, port=port) as server:
            ended, _, err = server.ended()

    assert ended == 2
    assert err.startswith(f"port {port} is not to be had")


def test_clicks_go_to_stdout_as_cloud_logging_reads_them(tmp_path: Path) -> None:
    """A line of JSON each, whose fields are under `click`; nothing else is on stdout."""
    with running(ECHO, {"WL_MODEL": str(echo_model(tmp_path)), "WL_VARIANT": "blue"}) as server:
        server.until_health("/health", 200)
        server.http.post("/clicks", json={"clicks": [{"item": "ü", "time": 1}]})
        server.process.send_signal(signal.SIGINT)
        ended, out, _ = server.ended()
    (line,) = [json.loads(line) for line in out.splitlines()]

    assert ended == 0
    assert line["severity"] == "INFO"
    assert line["click"]["item"] == "ü"
    assert (line["click"]["variant"], line["click"]["version"]) == ("blue", "11")
