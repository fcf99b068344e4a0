"""Virtual time."""

from __future__ import annotations

from infra.sandbox.clock import Clock, pacific, rfc3339


def test_flows_with_time_and_jumps() -> None:
    moments = iter([100.0, 101.0, 101.0, 103.0])
    clock = Clock(real=lambda: next(moments))
    assert clock.now() == 101.0
    clock.advance(60)
    assert clock.now() == 161.0
    assert clock.now() == 163.0


def test_a_manual_clock_stands_until_it_is_moved() -> None:
    clock = Clock(manual=True, start=50.0)
    assert clock.now() == clock.now() == 50.0
    clock.advance(10)
    clock.advance(-5)
    assert clock.now() == 60.0


def test_goes_on_where_it_was() -> None:
    """Told how far it was ahead; and it tells that to whoever keeps it."""
    kept: list[float] = []
    for manual in (False, True):
        clock = Clock(manual=manual, ahead=3600.0, moved=kept.append, real=lambda: 100.0)
        assert clock.now() == 3700.0
        clock.advance(60)
        clock.advance(0)
    assert kept == [3660.0, 3660.0]


def test_moments_are_written_as_each_service_does() -> None:
    assert rfc3339(1_796_040_000.25) == "2026-11-30T12:00:00.250000Z"
    assert pacific(1_796_040_000.25) == "2026-11-30T04:00:00.250-08:00"
