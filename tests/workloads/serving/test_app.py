"""The routes of a server, asked without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.workloads.serving.program import Echo, Program
from workloads.contract import ServeSettings
from workloads.serving.app import App
from workloads.serving.clicks import ClickLog
from workloads.serving.metrics import Metrics
from workloads.serving.state import State

SETTINGS = ServeSettings(
    "/m", predict_route="/v1/x:predict", health_route="/up", variant="green", version="7", max_request_bytes=2000, max_instances=5
)


class Asked:
    """An app, and questions to it."""

    def __init__(self, settings: ServeSettings, folder: Path) -> None:
        self.settings, self.state, self.metrics = settings, State(Echo("1")), Metrics(settings.variant, settings.version)
        self.clicks = ClickLog(str(folder / "clicks"), Program.click)
        self.app = App(settings, self.state, self.metrics, self.clicks)

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://server") as client:
                return await client.request(method, path, **given)

        return asyncio.run(call())

    def predict(self, **given: Any) -> httpx.Response:
        return self.ask("POST", self.settings.predict_route, **given)

    def close(self) -> None:
        self.app.close()
        self.clicks.close()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    found = Asked(SETTINGS, tmp_path)
    yield found
    found.close()


def test_answers_in_order_and_number(asked: Asked) -> None:
    """Each instance has its answer in its place; one that is refused says so there, and no other is touched."""
    answer = asked.predict(json={"instances": ["a", "bad", {"b": 1}, None]})

    assert answer.status_code == 200
    assert answer.json() == {
        "predictions": [{"echo": "a"}, {"error": {"code": 400, "message": "it is bad"}}, {"echo": {"b": 1}}, {"echo": None}]
    }
    assert answer.headers["x-model-variant"] == "green"
    assert answer.headers["x-model-version"] == "7"


def test_no_instances_are_no_predictions(asked: Asked) -> None:
    """An empty list is answered by one."""
    assert asked.predict(json={"instances": [], "parameters": {}}).json() == {"predictions": []}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe", "no UTF-8"),
        (b"[" * 1999, "no JSON|nested too deeply"),
        (b'{"instances": [NaN]}', "NaN is no number of JSON"),
        (b'{"instances": [-Infinity]}', "Infinity is no number"),
        (b"[1]", "the body is a list; wanted is an object"),
        (b"null", "the body is null"),
        (b"true", "the body is a truth value"),
        (b'{"instance": [1]}', "`instances` is missing"),
        (b'{"instances": {"0": 1}}', "`instances` is an object, not a list"),
        (b'{"instances": "abc"}', "`instances` is a text, not a list"),
        (b'{"instances": [], "parameters": 3}', "`parameters` is a number, not an object"),
        (b'{"instances": [1], "parameters": {"k": 1}}', "`parameters`: none are known"),
    ],
)
def test_fails_for_malformed_bodies(asked: Asked, content: bytes, says: str) -> None:
    """What is malformed is refused with a sentence."""
    answer = asked.predict(content=content)

    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"code", "message"}
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(answer.json()["error"]["message"])


def test_fails_for_a_body_that_is_nested_without_end(tmp_path: Path) -> None:
    """It is refused, and the server lives."""
    asked = Asked(ServeSettings("/m"), tmp_path)
    try:
        assert asked.predict(content=b'{"instances":' + b"[" * 200_000 + b"]" * 200_000 + b"}").status_code == 400
        assert asked.predict(json={"instances": [1]}).status_code == 200
    finally:
        asked.close()


def test_fails_for_what_is_too_large(asked: Asked) -> None:
    """Too many bytes and too many instances are refused alike; just as many as allowed are not."""
    most = json.dumps({"instances": [""]}).encode()
    most = most.replace(b'""', b'"' + b"x" * (2000 - len(most)) + b'"')

    assert len(most) == 2000
    assert asked.predict(content=most).status_code == 200
    assert asked.predict(content=most + b" ").status_code == 413
    assert asked.predict(content=most * 100).json()["error"]["message"].startswith("the body is larger than 2000 bytes")
    assert asked.predict(json={"instances": [1] * 5}).status_code == 200
    assert asked.predict(json={"instances": [1] * 6}).status_code == 413


def test_fails_without_a_word_of_the_inside(asked: Asked) -> None:
    """A model's own failure is in the log, not in the answer."""
    answer = asked.predict(json={"instances": ["broken"]})

    assert answer.status_code == 500
    assert "secret" not in answer.text


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_fails_for_an_answer_that_json_cannot_carry(asked: Asked, monkeypatch: pytest.MonkeyPatch, number: float) -> None:
    """It is a prediction that failed, and is counted as one: no broken connection, no text that is no JSON."""
    monkeypatch.setattr(asked.state.engine, "predict", lambda instances, parameters: [{"score": number}])
    answer = asked.predict(json={"instances": [1]})

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, 500)
    assert 'wl_requests_total{code="500"' in asked.metrics.text().decode()
    assert asked.predict(content=b'{"instances": [1e400]}', headers={"content-type": "text/csv"}).status_code == 500


def test_health_is_of_the_model_and_life_of_the_process(asked: Asked) -> None:
    """Only a server with a model that stays is ready; it is alive all the time."""
    engine = asked.state.engine
    said = []
    for asked.state.engine, asked.state.draining in ((None, False), (engine, False), (engine, True)):
        said.append([asked.ask("GET", path).status_code for path in ("/healthz", "/readyz", "/up")])
        said[-1].append(asked.predict(json={"instances": [1]}).status_code)

    assert said == [[200, 503, 503, 503], [200, 200, 200, 200], [200, 503, 503, 200]]
    assert asked.predict(json={"instances": [1]}).headers["connection"] == "close"


def test_fails_for_other_paths_and_methods(asked: Asked) -> None:
    """The answer names the path or the method that is right."""
    assert "/v1/x:predict" in asked.ask("POST", "/predict").json()["error"]["message"]
    refused = asked.ask("GET", "/v1/x:predict")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert asked.ask("HEAD", "/up").status_code == 200
    assert asked.ask("GET", "/%ff").status_code == 404


def test_a_machine_may_name_any_path_for_its_own(tmp_path: Path) -> None:
    """Routes may be each other's, percent-encoded, or ours: then the machine's meaning holds."""
    asked = Asked(ServeSettings("/m", predict_route="/", health_route="/"), tmp_path)
    other = Asked(ServeSettings("/m", predict_route="/a%20b", health_route="/healthz"), tmp_path)
    other.state.engine = None
    try:
        assert asked.predict(json={"instances": [1]}).status_code == 200
        assert asked.ask("GET", "/").text == "ready\n"
        assert other.predict(json={"instances": [1]}).status_code == 503
        assert other.ask("GET", "/healthz").text == "loading\n"
    finally:
        asked.close()
        other.close()


def test_counts_with_variant_and_version(asked: Asked) -> None:
    """Requests by code, instances by result: each with both labels."""
    asked.predict(json={"instances": [1, 2, "bad"]})
    asked.predict(content=b"{")
    asked.ask("POST", "/clicks", json={"clicks": [{"item": "a"}, 3]})
    lines = asked.ask("GET", "/metrics").text.splitlines()

    for line in (
        'wl_requests_total{code="200",variant="green",version="7"} 1.0',
        'wl_requests_total{code="400",variant="green",version="7"} 1.0',
        'wl_instances_total{result="answered",variant="green",version="7"} 2.0',
        'wl_instances_total{result="refused",variant="green",version="7"} 1.0',
        'wl_request_seconds_count{variant="green",version="7"} 2.0',
        'wl_request_instances_sum{variant="green",version="7"} 3.0',
        'wl_clicks_total{result="logged",variant="green",version="7"} 1.0',
        'wl_clicks_total{result="refused",variant="green",version="7"} 1.0',
        "wl_ready 1.0",
        "wl_in_flight 0.0",
    ):
        assert line in lines


def test_clicks_come_by_their_own_route_and_among_instances(asked: Asked, tmp_path: Path) -> None:
    """Both ways log the same line. A report that is none is named by its place."""
    own = asked.ask("POST", "/clicks", json={"clicks": [{"item": "a"}, "none"]})
    among = asked.predict(json={"instances": ["x", {"click": {"item": "b"}}, {"click": 1}, {"click": 1, "more": 2}]})
    asked.clicks.close()
    (path,) = (tmp_path / "clicks").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert own.json() == {"logged": 1, "refused": [{"index": 1, "message": "no object"}]}
    assert among.json()["predictions"] == [
        {"echo": "x"},
        {"logged": True},
        {"error": {"code": 400, "message": "no object"}},
        {"echo": {"click": 1, "more": 2}},
    ]
    assert [(line["item"], line["variant"], line["version"]) for line in lines] == [("a", "green", "7"), ("b", "green", "7")]
    assert asked.ask("POST", "/clicks", json=[1]).status_code == 400
    assert asked.ask("POST", "/clicks", content=b"x" * 3000).status_code == 413


def test_more_than_it_can_take_are_sent_away(tmp_path: Path) -> None:
    """One more request than may be in flight is answered 429 at once, and none later."""
    asked = Asked(ServeSettings("/m", max_in_flight=2), tmp_path)

    async def crowd() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(asked.app), base_url="http://server") as client:
            hold = asyncio.Event()

            async def slow() -> Any:
                yield b'{"instances": '
                await hold.wait()
                yield b"[1]}"

            first = [asyncio.create_task(client.post("/predict", content=slow())) for _ in range(2)]
            while asked.metrics.in_flight._value.get() < 2:
                await asyncio.sleep(0)
            third = await client.post("/predict", json={"instances": [1]})
            hold.set()
            return [third.status_code, *[(await one).status_code for one in first]]

    try:
        assert asyncio.run(crowd()) == [429, 200, 200]
        assert asked.predict(json={"instances": [1]}).status_code == 200
    finally:
        asked.close()
