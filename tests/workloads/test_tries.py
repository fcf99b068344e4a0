"""One try of a run, without a library."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workloads.checkpoints import Checkpoints
from workloads.contract import InputError, TrainSettings
from workloads.tries import Try, of_input

BATCHES = {"batch": 4, "seed": 0, "rows": range(40), "fingerprint": "abc"}


class Batches(SimpleNamespace):
    def __len__(self) -> int:
        return 30


class Adding(Try):
    """Learns a number: that of the steps. It is told to leave after some of them."""

    def __init__(self, place: Path, leaves: int = 0, **other: Any) -> None:
        settings = TrainSettings("r", str(place / "out"), str(place / "saved"), "cpu", 1, save_every_steps=16)
        checkpoints = Checkpoints(settings.checkpoints, writes=True, write=_write, read=_read)
        super().__init__(settings, 30, checkpoints, identity={"sizes": (2, 3), **of_input(Batches(**(BATCHES | other)))})
        self.learned, self._leaves = 0, leaves

    def _advance(self, step: int) -> float:
        assert step == self.learned
        self.learned += 1
        if self.learned == self._leaves:
            signal.raise_signal(signal.SIGTERM)
        return float(self.learned)

    def _kept(self) -> Any:
        return self.learned

    def _take(self, state: Any) -> None:
        self.learned = state


def _write(place: Path, state: Any) -> None:
    place.write_text(str(state))


def _read(place: Path, like: Any) -> int:
    return int(place.read_text())


@pytest.fixture(autouse=True)
def deaf() -> Any:
    """A try listens for SIGTERM: afterwards the tests' process does not."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_notice_saves_the_step_and_the_next_try_does_the_rest(tmp_path: Path) -> None:
    """With the curve of one that nobody stopped, of which a point's losses may be of both."""
    first = Adding(tmp_path, leaves=13)
    assert not first.train()
    second = Adding(tmp_path)

    assert second.train()
    assert second.resumed_from == [13]
    assert second.learned == 30
    assert second.curve == [(10, 5.5), (20, 15.5), (30, 25.5)]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"batch": 8}, "batch was 4 and is 8"),
        ({"seed": 1, "rows": range(41)}, "seed was 0 and is 1; rows was 40 and is 41"),
        ({"fingerprint": "x" * 100}, f'data was "abc" and is "{"x" * 76}...'),
    ],
)
def test_refuses_checkpoints_of_another_input(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    """With what is other: from the same position, other rows would follow."""
    assert not Adding(tmp_path, leaves=9).train()

    with pytest.raises(InputError, match="its checkpoints are of another model, other data or other settings: ") as refused:
        Adding(tmp_path, **other).train()
    assert str(refused.value).endswith(f": {said}")


def test_points_of_the_curve_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every tenth step."""
    assert Adding(tmp_path).train()
    assert capsys.readouterr().err.splitlines() == [f"step {step} of 30, loss {step - 4.5:.4f}" for step in (10, 20, 30)]
