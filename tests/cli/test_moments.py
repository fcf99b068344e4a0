"""What a night waits for: the sandbox's clock is moved there, and it is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.cli.moments import Moments
from infra.operate.jobs.__main__ import say
from infra.operate.rollout import Event
from infra.sandbox.clock import Clock, rfc3339
from tests.operate.jobs.test_handover import NEXT, ROLLOUT, second

EVENING = 1_800_000_000.0
"""2027-01-15 16:00 in Taipei."""
NINE = EVENING + 17 * 3600


class Sandbox:
    """Its clock, which somebody may hold."""

    def __init__(self) -> None:
        self.clock = Clock(start=EVENING, real=lambda: 0.0)
        self.held = False
        self.said: list[str] = []

    def own(self, http: str, what: str, body: Any) -> Any:
        assert (http, what) == ("POST", "clock")
        if not self.held:
            self.clock.advance(body["seconds"])
        return {"time": rfc3339(self.clock.now())} | ({"held": True} if self.held else {})


def moments(sandbox: Sandbox, timezone: str = "Asia/Taipei") -> Moments:
    return Moments(sandbox.own, sandbox.said.append, timezone)


@pytest.mark.parametrize("key", ["begins", "until"])
def test_the_clock_is_moved_to_what_is_waited_for_and_it_is_said(key: str) -> None:
    """Once, in the job's time zone."""
    sandbox = Sandbox()
    night = moments(sandbox)
    night.heard({"event": "rolling", key: NINE})
    night.step()
    night.step()
    assert sandbox.clock.now() == NINE
    assert night.moved == [{"from": "2027-01-15T16:00:00+08:00", "to": "2027-01-16T09:00:00+08:00"}]
    assert sandbox.said == [
        "it is 16:00 on the sandbox's clock (Asia/Taipei); moved to 09:00: what a night waits for, nobody does here",
    ]


def test_a_clock_that_is_held_is_moved_later() -> None:
    """While a server starts, time is real; what was waited for is not forgotten."""
    sandbox = Sandbox()
    sandbox.held = True
    night = moments(sandbox, "")
    night.heard({"until": NINE})
    night.step()
    assert (sandbox.clock.now(), sandbox.said) == (EVENING, [])
    sandbox.held = False
    night.step()
    assert sandbox.clock.now() == NINE
    assert "it is 08:00 on the sandbox's clock (UTC); moved to 01:00" in sandbox.said[0]


@pytest.mark.parametrize("first", [EVENING + 30, NINE])
def test_what_is_heard_while_the_clock_is_moved_is_not_forgotten(first: float) -> None:
    """The runner goes on at once: what it waits for next would else be waited for in real time."""
    sandbox = Sandbox()
    ten = NINE + 3600

    def own(http: str, what: str, body: Any) -> Any:
        answer = sandbox.own(http, what, body)
        if (body["seconds"] == 0 and first < NINE) or sandbox.clock.now() == NINE:
            night.heard({"begins": ten})
        return answer

    night = Moments(own, sandbox.said.append, "")
    night.heard({"until": first})
    night.step()
    night.step()
    assert sandbox.clock.now() == ten


@pytest.mark.parametrize(
    "event", [{}, {"event": "moving"}, {"until": None}, {"until": EVENING - 5}, {"until": EVENING + 30}, {"until": "9"}]
)
def test_nothing_is_moved_where_nothing_is_waited_for(event: dict[str, Any]) -> None:
    """Another event ends the wait for the moment before it; what is past or a minute away is left to the runner."""
    sandbox = Sandbox()
    night = moments(sandbox)
    night.heard({"until": NINE})
    night.heard(event)
    night.step()
    assert (sandbox.clock.now(), sandbox.said) == (EVENING, [])


def test_a_second_night_waits_for_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """
    Nine o'clock and each of three steps of an hour are moved to, by what the runner says of them; the guards are read all the same, over
    the whole of each step. By itself the runner makes a look a minute, and a thousand calls.
    """
    rollout = ROLLOUT["rollout"] | {"begin": "09:00", "traffic_percent": [10, 50, 100], "hold_minutes": 60}
    shop = second(rollouts=[ROLLOUT | {"rollout": rollout}], timezone="Asia/Taipei")
    told: list[str] = []

    def own(http: str, what: str, body: Any) -> Any:
        shop.wait(body["seconds"])
        return {"time": rfc3339(shop.now())}

    night = Moments(own, told.append, "Asia/Taipei")

    class Heard(list[Event]):
        def append(self, event: Event) -> None:
            super().append(event)
            say(event)
            night.heard(json.loads(capsys.readouterr().out))
            night.step()

    shop.events, before = Heard(), shop.sent
    assert shop.hand_over(NEXT)["outcome"] == "promoted"
    assert [line.partition(":")[0] for line in told] == ["it is 16", "it is 09", "it is 10", "it is 11"]
    assert ["moved to 09:00" in told[0], len(told)] == [True, 4]
    assert shop.sent - before < 150
