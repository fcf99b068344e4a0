"""What follows from measured steps."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from workloads.tuning import ENDED_BY_GAIN, DoesNotFitError, Measured, Tuned, lines, sweep


def one(batch: int, loop: float, step: float | None = None, fed: float = 0.0, memory: int | None = None) -> Measured:
    return Measured(batch, loop, loop if step is None else step, fed, memory, None)


def measured(times: dict[int, float]) -> Tuned:
    """A sweep over steps of so many milliseconds; other batches do not fit."""

    def measure(batch: int) -> Measured:
        if batch not in times:
            raise DoesNotFitError
        return one(batch, times[batch] / 1000)

    return sweep(measure, 256, 10**6)


def test_the_batch_is_where_the_time_per_example_stops_falling() -> None:
    """Halved, halved, then hardly less: the last that gained is chosen, and nothing is tried after it."""
    found = measured({256: 10.0, 512: 10.0, 1024: 11.0, 2048: 21.5, 4096: 1.0})

    assert [each.batch for each in found.measured] == [256, 512, 1024, 2048]
    assert found.chosen.batch == 1024
    assert found.ended == ENDED_BY_GAIN


def test_what_does_not_fit_ends_it() -> None:
    """The last that fits is chosen, and it is said why no larger one is."""
    found = measured({256: 10.0, 512: 11.0})

    assert found.chosen.batch == 512
    assert found.ended == "a batch of 1024 does not fit into a chip's memory"


def test_there_may_be_no_more_examples() -> None:
    found = sweep(lambda batch: one(batch, 0.01), 256, 600)

    assert [each.batch for each in found.measured] == [256, 512]
    assert found.ended == "600 examples are all that there are"


def test_fails_where_nothing_fits() -> None:
    with pytest.raises(DoesNotFitError):
        measured({})


@pytest.mark.parametrize(
    ("loop", "step", "fed", "chips", "ended", "busy", "bound", "advice"),
    [
        (10.0, 9.0, 5.0, 4, ENDED_BY_GAIN, 0.9, False, []),
        (10.0, 7.0, 12.0, 4, ENDED_BY_GAIN, 0.7, True, []),
        (10.0, 5.0, 10.0, 4, ENDED_BY_GAIN, 0.5, True, ["faster input", "a smaller slice"]),
        (10.0, 5.0, 1.0, 4, ENDED_BY_GAIN, 0.5, False, ["a smaller slice"]),
        (10.0, 5.0, 1.0, 1, "600 examples are all that there are", 0.5, False, ["a larger batch"]),
        (10.0, 5.0, 1.0, 1, ENDED_BY_GAIN, 0.5, False, ["a larger model"]),
        (10.0, 12.0, 1.0, 1, ENDED_BY_GAIN, 1.0, False, []),
    ],
)
def test_under_seventy_percent_it_says_what_to_change(
    loop: float, step: float, fed: float, chips: int, ended: str, busy: float, bound: bool, advice: list[str]
) -> None:
    """The chips' own time against the loop's; waiting is the input's where the input takes longer than the chips."""
    figures = one(1024, loop, step, fed)
    tuned = Tuned((figures,), figures, ended)

    assert figures.utilisation == pytest.approx(busy)
    assert figures.input_bound is bound
    assert [words.split(":")[0] for words in tuned.advice(chips)] == advice


def test_an_epoch_costs_its_time() -> None:
    """7,200,000 examples at 1 ms each are two hours: at 4.80 USD an hour 9.60 USD. Without a price it is unknown, not nothing."""
    figures = one(100, 0.1)
    tuned = Tuned((figures,), figures, ENDED_BY_GAIN)

    assert tuned.cost(7_200_000, Decimal("4.80")) == Decimal("9.60")
    assert tuned.cost(7_200_000, None) is None
    assert "unknown (say --usd-per-hour)" in "\n".join(lines(tuned, 1, 1, None))
    shown = json.loads(json.dumps(tuned.shown(7_200_000, 1, Decimal("4.80"))))
    assert shown["epoch"] == {"examples": 7_200_000, "seconds": 7200.0, "usd": "9.6000", "usd_per_hour": "4.80"}


def test_memory_that_nobody_tells_is_unknown() -> None:
    """The table says so; a figure is in MiB."""
    tuned = Tuned((one(1, 1.0), one(2, 1.0, memory=3 * 2**20)), one(1, 1.0), ENDED_BY_GAIN)

    assert [line.split()[-1] for line in lines(tuned, 1, 1, None)[1:3]] == ["unknown", "MiB"]
