"""Steps of the recommender's training, measured."""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from workloads.contract import InputError, TrainSettings
from workloads.files import Folder
from workloads.recommender import train
from workloads.tuning import DoesNotFitError, Measured, lines, sweep

REPORT = "tune.json"
SECONDS = 0.5
"""How long each figure is measured for, about; three times three steps at least."""
MOST_STEPS = 50
EXHAUSTED = "RESOURCE_EXHAUSTED"
"""What JAX says where a chip's memory is not enough."""


def parser(program: str) -> argparse.ArgumentParser:
    """Training's command line, and what a machine costs."""
    found = train.parser(program)
    found.description = "Finds the batch from which on a step's time per example no longer falls, and says what an epoch costs."
    found.add_argument("--first", type=_count, default=256, help="batch to begin with; default 256. It is doubled from there")
    found.add_argument("--most", type=_count, default=65536, help="largest batch that is tried; default 65536")
    found.add_argument("--usd-per-hour", type=_money, help="what the machine costs, such as the estimate of `accelform cost` says")
    return found


def run(settings: TrainSettings, options: argparse.Namespace) -> int:
    """Measures, says it, and writes `tune.json` into the run's folder. Answers the exit code."""
    import jax

    with tempfile.TemporaryDirectory(prefix="accelform-data-") as place, tempfile.TemporaryDirectory(prefix="accelform-tune-") as scratch:
        data = train.read_data(settings, options, Folder(place))
        first = _divisible(options.first, jax.device_count() // options.model_parallel)
        try:
            tuned = sweep(_measure(settings, options, data, scratch), first, max(first, min(options.most, len(data.train))))
        except DoesNotFitError as error:
            raise InputError(f"--first {first}: not even that batch fits into a chip's memory, begin with a smaller one: {error}") from None
    examples = int(data.clicks.clicked[data.train].sum())
    if jax.process_index() == 0:
        for line in lines(tuned, examples, settings.chips, options.usd_per_hour):
            print(line, flush=True)  # noqa: T201
        Folder(settings.output).write_json(REPORT, tuned.shown(examples, settings.chips, options.usd_per_hour))
    return 0


def _measure(settings: TrainSettings, options: argparse.Namespace, data: Any, scratch: str) -> Callable[[int], Measured]:
    from dataclasses import replace

    import jax

    from workloads.recommender.loop import Trainer

    def measure(batch: int) -> Measured:
        try:
            trainer = Trainer(
                settings=replace(settings, checkpoints=str(Path(scratch) / str(batch))),
                clicks=data.clicks,
                products=data.products,
                features=data.features,
                rows=data.train,
                batch=batch,
                steps=10**6,
                dimension=options.dimension or (32 if options.small else 128),
                learning_rate=0.001,
                bfloat16=options.bfloat16,
                model_parallel=options.model_parallel,
                seed=options.seed,
            )
            return _measured(trainer, trainer._input, batch)
        except jax.errors.JaxRuntimeError as error:
            if EXHAUSTED not in str(error):
                raise
            raise DoesNotFitError(str(error).splitlines()[0]) from None

    return measure


def _measured(trainer: Any, iterator: Any, batch: int) -> Measured:
    import jax

    held = trainer._placed(next(iterator))
    compiled = trainer._step.lower(trainer._state, held).compile()
    state, loss = compiled(trainer._state, held)
    jax.block_until_ready(loss)

    def timed(once: Callable[[], Any], count: int) -> float:
        # The best of three: whatever else the machine does only adds.
        return min(_seconds(once, count) for _ in range(3))

    def step(inputs: Any) -> Any:
        nonlocal state
        state, loss = compiled(state, inputs)
        return loss

    alone = timed(lambda: step(held), 1)
    count = max(3, min(MOST_STEPS, math.ceil(SECONDS / 3 / max(alone, 1e-6))))
    return Measured(
        batch=batch,
        loop=timed(lambda: step(trainer._placed(next(iterator))), count),
        step=timed(lambda: step(held), count),
        input=timed(lambda: trainer._placed(next(iterator)), count),
        memory=_memory(compiled),
        flops=_flops(compiled),
    )


def _seconds(once: Callable[[], Any], count: int) -> float:
    import jax

    begun = time.perf_counter()
    for _ in range(count):
        last = once()
    jax.block_until_ready(last)
    return (time.perf_counter() - begun) / count


def _memory(compiled: Any) -> int | None:
    """Arguments, results and what lies between them; what is given back as a result counts once."""
    found = compiled.memory_analysis()
    if found is None:
        return None
    sizes = (found.argument_size_in_bytes, found.output_size_in_bytes, found.temp_size_in_bytes)
    return int(sum(sizes) - found.alias_size_in_bytes)


def _flops(compiled: Any) -> float | None:
    found = compiled.cost_analysis()
    flops = found.get("flops") if isinstance(found, dict) else None
    return float(flops) if flops and flops > 0 else None


def _divisible(batch: int, parts: int) -> int:
    """The next batch that can be cut into so many parts."""
    if parts < 1:
        raise InputError("--model-parallel: more than there are devices")
    return -(-batch // parts) * parts


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: a whole number of at least 1")
    return int(text)


def _money(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not (found.is_finite() and 0 < found < 10**6 and text.isascii()):
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: an amount in USD above 0, such as 4.80")
    return found
