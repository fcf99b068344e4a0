"""Readings of an endpoint, by Monitoring and by requests of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.errors import SpecError
from infra.operate import readings
from infra.operate.probe import MOST, Probe
from infra.operate.readings import Monitoring
from infra.operate.side_by_side import side_by_side
from infra.provider.google import Google, Settings
from infra.provider.server import ProviderError
from tests.operate.shop import BASE, ENDPOINT, GOOD, Shop

FAILING = {"p50_ms": 60, "p95_ms": 60, "error_rate": 0.1}
DNS = "123456789.us-central1-1.prediction.vertexai.goog"


@pytest.fixture
def shop() -> Shop:
    """Version 1 has 75 % of the traffic, version 2 the rest."""
    found = Shop()
    found.vertex("POST", f"{ENDPOINT}:deployModel", {"deployedModel": found.new.body()})
    found.vertex("PATCH", ENDPOINT, {"trafficSplit": {found.old.id: 75, found.new.id: 25}}, updateMask="trafficSplit")
    found.wait(60 - found.now() % 60)
    return found


def test_reads_what_callers_got(shop: Shop) -> None:
    """4 a second for 10 minutes: requests by version, errors by code, latencies of the whole answer."""
    shop.callers(4, v2=FAILING)
    start = shop.now()
    shop.wait(600)
    moments = Monitoring(shop.google(), ENDPOINT).moments(start, shop.now())
    old, new = (readings.total(moments, id) for id in (shop.old.id, shop.new.id))
    assert (old.requests, old.errors, old.latencies.count) == (1800, 0, 1800)
    assert (new.requests, new.errors, new.latencies.count) == (600, 60, 600)
    median = new.latencies.percentile(50)
    assert median is not None
    assert median.value == pytest.approx(60, rel=0.1)
    assert readings.total(moments, "9").requests == 0
    assert readings.total(moments, shop.old.id, shop.now() - 60).requests == 180


def test_a_minute_that_began_before_is_left_out(shop: Shop) -> None:
    """A part of it is of another step: its requests prove nothing of this one."""
    shop.callers(4)
    shop.wait(90)
    start = shop.now()
    shop.wait(90)
    moments = Monitoring(shop.google(), ENDPOINT).moments(start, shop.now())
    assert {one.start - start for one in moments} == {30.0}


def test_two_versions_side_by_side(shop: Shop) -> None:
    """Older first; what differs by more than chance is said; an n1-standard-2 costs some 0.109 USD an hour: a third of it for 1,200 answers."""
    shop.callers(4, v2=FAILING)
    start = shop.now()
    shop.wait(1200)
    found = side_by_side(shop.google(), ENDPOINT, Monitoring(shop.google(), ENDPOINT), start, shop.now())
    assert (found.old.version, found.new.version) == ("1", "2")
    assert "fails more" in found.verdict()
    assert "slower" in found.verdict()
    assert found.new.usd_per_thousand is not None
    assert found.new.usd_per_thousand * Decimal("1.2") * 3 == pytest.approx(Decimal("0.109"), rel=Decimal("0.01"))


def test_one_version_is_not_compared(shop: Shop) -> None:
    """It says what is there."""
    shop.vertex("POST", f"{ENDPOINT}:undeployModel", {"deployedModelId": shop.new.id, "trafficSplit": {shop.old.id: 100}})
    with pytest.raises(ProviderError, match=rf"there are: {shop.old.id} \(version 1\)"):
        side_by_side(shop.google(), ENDPOINT, Monitoring(shop.google(), ENDPOINT), 0, 1)


# Requests of ours


def google(shop: Shop, answer: Callable[[httpx.Request], httpx.Response]) -> Google:
    """The sandbox, where the endpoint has an address of its own that answers predictions."""

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.host == DNS:
            return answer(request)
        found = shop(request)
        if request.method == "GET" and request.url.path.endswith("/endpoints/123456789"):
            return httpx.Response(200, json=found.json() | {"dedicatedEndpointDns": DNS})
        return found

    return Google(Settings(BASE), lambda seconds: False, http=httpx.Client(transport=httpx.MockTransport(handle)), time=shop.now)


def test_a_probe_times_each_version(shop: Shop) -> None:
    """Three requests a reading, to the endpoint's own address: the answer says whose it is, and the watch how long it took."""
    ids = [shop.old.id, shop.new.id, shop.old.id] * 3
    asked: list[Any] = []
    ticks = iter(range(100))

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, str(request.url), json.loads(request.content)))
        return httpx.Response(200, json={"predictions": [], "deployedModelId": ids[len(asked) - 1]})

    probe = Probe(google(shop, answer), ENDPOINT, [{"instances": [1]}] * 3, shop.now, lambda: next(ticks) / 100)
    start = shop.now()
    probe.moments(start, shop.now())
    shop.wait(60)
    moments = probe.moments(start, shop.now())
    assert asked[0] == ("POST", f"https://{DNS}/v1/{ENDPOINT}:predict", {"instances": [1]})
    old, new = (readings.total(moments, id, start) for id in (shop.old.id, shop.new.id))
    assert (old.requests, old.errors, new.requests, new.errors) == (4, 0, 2, 0)
    median = new.latencies.percentile(50)
    assert median is not None
    assert median.value == pytest.approx(10, rel=0.011)
    shop.wait(60)
    assert readings.total(probe.moments(shop.now(), shop.now()), shop.old.id).requests == 2  # what was before the step is not of it


@pytest.mark.parametrize("answer", [httpx.Response(500, json={}), httpx.ReadError("cut")], ids=["refused", "cut"])
def test_an_error_counts_against_every_version(shop: Shop, answer: Any) -> None:
    """Nobody says whose it is."""

    def fails(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, content=answer.content)

    probe = Probe(google(shop, fails), ENDPOINT, [{"instances": [1]}], shop.now)
    moments = probe.moments(shop.now(), shop.now())
    for id in (shop.old.id, shop.new.id):
        found = readings.total(moments, id)
        assert (found.requests, found.errors, found.latencies.count) == (1, 1, 0)


def test_a_rollout_by_a_probe(shop: Shop) -> None:
    """The same guards, other readings: a version whose answers take long goes back."""
    shop.vertex("PATCH", ENDPOINT, {"trafficSplit": {shop.old.id: 100}}, updateMask="trafficSplit")
    shop.vertex("POST", f"{ENDPOINT}:undeployModel", {"deployedModelId": shop.new.id, "trafficSplit": {shop.old.id: 100}})
    ticks = iter(range(100_000))

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"deployedModelId": shop.new.id})

    client = google(shop, answer)
    probe = Probe(client, ENDPOINT, [{"instances": [1]}] * 10, shop.now, lambda: next(ticks) / 5)
    ended = shop.rollout(probe).start(shop.plan(guards=["p95_ms<80", "requests>=20"]))
    assert ended.phase == "returned"
    assert "p95_ms<80 does not hold: p95_ms is 2" in ended.why


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", '"x"', "[5]", '{"instances": []}', '{"instances": 5}', '[{"instances": [1]}, {}]', "[" * 100_000],
)
def test_a_file_without_requests_is_refused(tmp_path: Path, text: str) -> None:
    """In words, whatever it holds."""
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="allowed: a JSON list of predict requests"):
        Probe.read(tmp_path / "x.json")


def test_a_file_of_requests(tmp_path: Path) -> None:
    """A list, or one; not too many; one that is not there is told."""
    path = tmp_path / "x.json"
    path.write_text('{"instances": [1]}', encoding="utf-8")
    assert Probe.read(path) == [{"instances": [1]}]
    path.write_text(json.dumps([{"instances": [1]}] * (MOST + 1)), encoding="utf-8")
    with pytest.raises(SpecError, match="1000 at most"):
        Probe.read(path)
    with pytest.raises(SpecError, match="cannot be read"):
        Probe.read(tmp_path / "none.json")


def test_good_callers_are_no_errors(shop: Shop) -> None:
    """2xx is none; 4xx and 5xx are."""
    shop.callers(4, v1=GOOD, v2=GOOD)
    start = shop.now()
    shop.wait(120)
    assert readings.total(Monitoring(shop.google(), ENDPOINT).moments(start, shop.now()), shop.new.id).errors == 0
