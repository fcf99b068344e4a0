"""
How large a batch should be, and whether the chips are worth what they cost: figures of measured steps, and what follows from them.

Nothing here runs a step: a workload measures (`workloads.recommender.tuning`), and this reads the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

GAIN = 0.05
"""A batch twice as large whose time per example is not less by this part is not worth it."""
BUSY = 0.7
"""Utilisation under which something should be changed."""
WAITING = 0.1
"""Part of the time that the chips wait from which on the input is what they wait for."""


class DoesNotFitError(Exception):
    """A batch needs more memory than a chip has."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Steps with one batch size. All times are seconds of a step, over all chips together."""

    batch: int
    """Examples of a step, over all chips."""
    loop: float
    """As training runs it: the input is read ahead, and the chips compute meanwhile."""
    step: float
    """The chips alone, with an input that is there already."""
    input: float
    """The input alone."""
    memory: int | None
    """Bytes of a chip that the step takes at most, as the compiler says; None where it does not say."""
    flops: float | None
    """Floating point operations of a step, as the compiler counts them; None where it does not."""

    @property
    def per_example(self) -> float:
        return self.loop / self.batch

    @property
    def utilisation(self) -> float:
        """Part of the time that the chips compute."""
        return min(1.0, self.step / self.loop)

    @property
    def input_bound(self) -> bool:
        """Whether the chips wait for the input."""
        return 1 - self.utilisation > WAITING and self.input > self.step


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of it."""

    measured: tuple[Measured, ...]
    chosen: Measured
    """The smallest batch whose time per example is within `GAIN` of the best."""
    ended: str
    """Why no larger batch was tried."""

    def advice(self, chips: int) -> list[str]:
        """What to change, most useful first; nothing where the chips are busy."""
        one = self.chosen
        if one.utilisation >= BUSY:
            return []
        found = []
        if one.input_bound:
            took = f"a step's input takes {_ms(one.input)}, the chips {_ms(one.step)}"
            found.append(f"faster input: {took}: files nearer, fewer columns, more cores")
        if self.ended != ENDED_BY_GAIN:
            found.append("a larger batch: the time per example was still falling at the last one")
        if chips > 1:
            found.append(f"a smaller slice: {chips} chips compute {one.utilisation:.0%} of the time, and all of it is paid for")
        return found or ["a larger model: one chip has too little to do; or a machine without an accelerator"]

    def cost(self, examples: int, usd_per_hour: Decimal | None) -> Decimal | None:
        """USD that one run through *examples* costs with the chosen batch; None where the price is not known."""
        if usd_per_hour is None:
            return None
        seconds = Decimal(str(self.chosen.per_example)) * examples
        return (seconds / 3600 * usd_per_hour).quantize(Decimal("0.0001"))

    def shown(self, examples: int, chips: int, usd_per_hour: Decimal | None) -> dict[str, Any]:
        """All of it for machines. Amounts are text."""
        cost = self.cost(examples, usd_per_hour)
        rows = [{**asdict(one), "utilisation": round(one.utilisation, 3), "input_bound": one.input_bound} for one in self.measured]
        return {
            "batch": self.chosen.batch,
            "utilisation": round(self.chosen.utilisation, 3),
            "input_bound": self.chosen.input_bound,
            "epoch": {
                "examples": examples,
                "seconds": round(self.chosen.per_example * examples, 2),
                "usd": None if cost is None else str(cost),
                "usd_per_hour": None if usd_per_hour is None else str(usd_per_hour),
            },
            "ended": self.ended,
            "advice": self.advice(chips),
            "measured": rows,
        }


ENDED_BY_GAIN = "the time per example no longer falls"


def sweep(measure: Callable[[int], Measured], first: int, most: int) -> Tuned:
    """
    Doubles the batch from *first* until the time per example stops falling, it does not fit, or *most* is reached.

    Raises:
        DoesNotFitError: Not even the first one fits.
    """
    found = [measure(first)]
    ended = f"{most} examples are all that there are"
    while found[-1].batch * 2 <= most:
        try:
            found.append(measure(found[-1].batch * 2))
        except DoesNotFitError:
            ended = f"a batch of {found[-1].batch * 2} does not fit into a chip's memory"
            break
        if found[-1].per_example > found[-2].per_example * (1 - GAIN):
            ended = ENDED_BY_GAIN
            break
    best = min(one.per_example for one in found)
    chosen = next(one for one in found if one.per_example <= best * (1 + GAIN))
    return Tuned(tuple(found), chosen, ended)


def table(tuned: Tuned) -> list[str]:
    """The same for people."""
    head = ("batch", "step", "chips", "input", "per 1000", "busy", "memory")
    rows = [head, *(_row(one) for one in tuned.measured)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True)) for row in rows]


def _row(one: Measured) -> tuple[str, ...]:
    memory = "unknown" if one.memory is None else f"{one.memory / 2**20:.0f} MiB"
    return (str(one.batch), _ms(one.loop), _ms(one.step), _ms(one.input), _ms(one.per_example * 1000), f"{one.utilisation:.0%}", memory)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def lines(tuned: Tuned, examples: int, chips: int, usd_per_hour: Decimal | None) -> Sequence[str]:
    """What is said at the end."""
    one = tuned.chosen
    cost = tuned.cost(examples, usd_per_hour)
    money = "unknown (say --usd-per-hour)" if cost is None else f"{cost} USD at {usd_per_hour} USD an hour"
    bound = "the input is what it waits for" if one.input_bound else "the input keeps up"
    said = [
        *table(tuned),
        "",
        f"batch: {one.batch}; {tuned.ended}",
        f"chips busy: {one.utilisation:.0%}; {bound}",
        f"one run through {examples} examples: {one.per_example * examples:.1f} s; {money}",
    ]
    return [*said, *(f"change: {words}" for words in tuned.advice(chips))]
