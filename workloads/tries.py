"""
One try of a run, on whatever library: steps, checkpoints on the way, a curve, and an end when the machine is taken away.

`workloads.training` has what is JAX's, `workloads.train_tf` what is TensorFlow's. Nothing here imports either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from workloads.checkpoints import Checkpoint, Checkpoints
from workloads.contract import InputError, TrainSettings
from workloads.events import Events
from workloads.preemption import Notice
from workloads.say import say

LOG_EVERY = 10
"""Steps between two points of the curve."""
LOSS = "loss"
"""The curve's name."""


class Try:
    """Does the steps that earlier tries of its run did not."""

    def __init__(
        self, settings: TrainSettings, steps: int, checkpoints: Checkpoints, *, first: bool = True, identity: Mapping[str, Any]
    ) -> None:
        """
        Args:
            first: Whether this is the first host, which speaks for all.
            identity: What the checkpoints of a run go with, `of_input` among it. Those of another are refused.
        """
        self.settings = settings
        self.steps = steps
        self.checkpoints = checkpoints
        self.first = first
        self.events = Events(settings, writes=first)
        self.curve: list[tuple[int, float]] = []
        """Mean loss of the steps up to each."""
        self.resumed_from: list[int] = []
        self._identity: dict[str, Any] = json.loads(json.dumps(identity))  # as a checkpoint has it
        """What a checkpoint must be of, by name."""

    def _advance(self, step: int) -> Any:
        """Does the step after *step* steps, and answers its loss, which may still be computed."""
        raise NotImplementedError

    def _kept(self) -> Any:
        """What a checkpoint holds: a tree of arrays."""
        raise NotImplementedError

    def _take(self, state: Any) -> None:
        """Goes on from what a checkpoint held, arrays of this machine's memory."""
        raise NotImplementedError

    def _position(self) -> Any:
        """Where the input is, as JSON has it. Nothing where the number of the step says that."""
        return None

    def _seek(self, position: Any) -> None:
        """Takes the input there."""

    def _agree(self, step: int) -> None:
        """Sees to it that all hosts go on from the same step."""

    def _value(self, array: Any) -> Any:
        """An array in this machine's memory."""
        return array

    def _held(self, state: Any) -> Any:
        """A state in this machine's memory."""
        return state

    def train(self) -> bool:
        """Trains to the end, or until the machine is taken away: then what was done is saved, and the answer is no."""
        notice = Notice(self.settings.hosts)
        step, losses = self._resume()
        saved = step
        # Two are begun in an interval: one that is lost while it is written costs no more than the interval.
        interval = max(1, self.settings.save_every_steps // 2)
        while step < self.steps:
            losses.append(self._advance(step))
            step += 1
            if step % LOG_EVERY == 0 or step == self.steps:
                self.curve.append((step, float(np.mean(self._floats(losses)))))
                losses = []
                self.events.add(step, {LOSS: self.curve[-1][1]})
                if self.first:
                    say(f"step {step} of {self.steps}, loss {self.curve[-1][1]:.4f}")
            leaving = notice.at(step)
            if step < self.steps and (leaving or step - saved >= interval):
                meta = {
                    "input": self._position(),
                    "curve": list(self.curve),  # as it is now: a checkpoint is written while training goes on
                    "open": self._floats(losses),
                    "resumed_from": self.resumed_from,
                    "identity": self._identity,
                }
                self.checkpoints.save(Checkpoint(step, self._held(self._kept()), meta))
                saved = step
                if leaving:
                    self.checkpoints.close()
                    self.events.send()
                    say(f"this machine is taken away: step {step} is saved")
                    return False
                self.events.send()
        self.checkpoints.close()
        self.events.send()
        return True

    def tell(self, metrics: Mapping[str, float | None], settings: Mapping[str, str | float | bool]) -> None:
        """Tells what the trained model's metrics are, and what the run was told, where TensorBoard looks."""
        self.events.settings({"steps": self.steps, **settings})
        self.events.add(self.steps, metrics)
        self.events.send()

    def _resume(self) -> tuple[int, list[Any]]:
        """Goes on from the last whole checkpoint: steps that are done, and losses since the curve's last point."""
        last = self.checkpoints.last(self._kept(), self._suits)
        self._agree(last.step if last else 0)
        if last is None:
            return 0, []
        self._take(last.state)
        say(f"goes on after step {last.step}")
        self._seek(last.meta["input"])
        self.events.goes_on(last.step)
        self.curve = [(at, loss) for at, loss in last.meta["curve"]]
        self.resumed_from = [*last.meta["resumed_from"], last.step]
        return last.step, list(last.meta["open"])

    def _suits(self, meta: dict[str, Any]) -> None:
        found = meta["identity"]
        if other := [name for name, value in self._identity.items() if found.get(name) != value]:
            told = "; ".join(f"{name} was {_short(found.get(name))} and is {_short(self._identity[name])}" for name in other)
            raise InputError(f"{self.settings.checkpoints}: its checkpoints are of another model, other data or other settings: {told}")

    def _floats(self, losses: list[Any]) -> list[float]:
        return [loss if isinstance(loss, float) else float(self._value(loss)) for loss in losses]


def of_input(batches: Any) -> dict[str, Any]:
    """What the position of the input depends on: with another of these, rows would be left out and others come twice."""
    return {"steps": len(batches), "batch": batches.batch, "seed": batches.seed, "rows": len(batches.rows), "data": batches.fingerprint}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
