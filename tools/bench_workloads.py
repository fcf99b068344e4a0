"""
How fast the recommender is trained on this machine's processor: our loop against a bare one, which calls the same compiled step with the
same batches from the same reader; the input alone; and how many collectives the compiled step has on 1, 2, 4 and 8 devices.

    python tools/bench_workloads.py [--json]

Speeds are measured and shown beside their goals: another machine has others. Virtual devices share the processor, so that more of them say
nothing of speed: what they say is the collectives. Those are the compiler's and always the same; where there are more, the exit code is 1.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

IMPORTS = ("workloads.recommender.loop", "workloads.recommender.train", "orbax.checkpoint", "grain")
WAYS = {"data parallel": 1, "tables shared by 2": 2}
"""Devices that share the tables, by what is shown."""
MOST = {"data parallel": 5, "tables shared by 2": 70}
"""Collectives of a step at most, on any number of devices: what JAX 0.10.2 makes of it. Where all share a batch, as many on 8 as on 2."""
DEVICES = (1, 2, 4, 8)
RUNS, STEPS, BATCH, DIMENSION = 7, 16, 1024, 128
GOAL = 0.03
"""Share of the bare loop's time that ours may take more."""
COLLECTIVE = re.compile(r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter|collective-broadcast)(?:-start)?\(")
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""For XLA where nothing is run: collectives are there before LLVM is."""

Counts = Mapping[int, Mapping[str, int]]
"""Collectives of a step by kind, by devices."""


def trainer(place: Path, devices: int, model_parallel: int, *, batch: int, dimension: int) -> Any:
    """A try that never saves, on made-up clicks without pictures. It chooses this process's devices, once for all."""
    from workloads.contract import TrainSettings
    from workloads.devices import start
    from workloads.files import Folder
    from workloads.recommender import train
    from workloads.recommender.data import write_example

    folders = {name: str(place / name) for name in ("clicks", "pictures")}
    settings = TrainSettings("bench", str(place / "out"), str(place / "saved"), "cpu", devices, save_every_steps=10**9, data=folders)
    start(settings)
    from workloads.recommender.loop import Trainer

    write_example(Folder(str(place)), users=1500, items=600, rows=40_000, pictures=False)
    data = train.read_data(settings, train.parser("bench").parse_args([]), Folder(str(place)))
    return Trainer(
        settings=settings,
        clicks=data.clicks,
        products=data.products,
        features=data.features,
        rows=data.train,
        batch=batch,
        steps=STEPS,
        dimension=dimension,
        learning_rate=0.001,
        bfloat16=False,
        model_parallel=model_parallel,
        seed=0,
    )


def speeds() -> dict[str, list[tuple[float, float]]]:
    """Seconds of each run, and those of the processor: by our loop, by the bare one, and of the input alone."""
    import jax

    from workloads.reading import reader

    with tempfile.TemporaryDirectory() as name:
        ours = trainer(Path(name), 1, 1, batch=BATCH, dimension=DIMENSION)

        def loop() -> None:
            ours._input = reader(ours._batches)
            ours.train()

        def bare() -> None:
            state = ours._state
            for batch in reader(ours._batches):
                state, loss = ours._step(state, ours._placed(batch))
            jax.block_until_ready(loss)
            ours._state = state

        def fed() -> None:
            for batch in reader(ours._batches):
                jax.block_until_ready(ours._placed(batch))

        ways: dict[str, Callable[[], object]] = {"our loop": loop, "bare loop": bare, "input": fed}
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        with contextlib.redirect_stderr(io.StringIO()):
            for run in range(RUNS + 1):
                # By turns, and each first once: what else the machine does meets all alike. The first run compiles, and is not counted.
                for way in list(ways)[:: 1 if run % 2 else -1]:
                    begun = time.perf_counter(), time.process_time()
                    ways[way]()
                    if run:
                        found[way].append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    return found


def collectives(devices: int, model_parallel: int) -> dict[str, int]:
    """Collectives of the compiled step, by kind."""
    os.environ["XLA_FLAGS"] = QUICK
    with tempfile.TemporaryDirectory() as name:
        ours = trainer(Path(name), devices, model_parallel, batch=64, dimension=16)
        text = ours._step.lower(ours._state, ours._placed(ours._batches[0])).compile().as_text()
    return dict(sorted(collections.Counter(COLLECTIVE.findall(text)).items()))


def counted() -> dict[str, Counts]:
    """Collectives of each way, on as many devices as it can be of."""
    cases = [(way, devices) for way, shared in WAYS.items() for devices in DEVICES if devices % shared == 0]
    with processes(os.cpu_count() or 1) as pool:
        results = list(pool.map(collectives, [devices for _, devices in cases], [WAYS[way] for way, _ in cases]))
    return {way: {devices: found for (one, devices), found in zip(cases, results, strict=True) if one == way} for way in WAYS}


def processes(count: int) -> ProcessPoolExecutor:
    """Each call gets a process of its own, as devices are chosen once in each; what it needs has been imported."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTS))
    return ProcessPoolExecutor(count, mp_context=context, max_tasks_per_child=1)


def broken(counts: Mapping[str, Counts]) -> list[str]:
    """What of the collectives should not be."""
    found = []
    for way, by_devices in counts.items():
        totals = {devices: sum(kinds.values()) for devices, kinds in by_devices.items()}
        if totals.get(1):
            found.append(f"{way}: {totals[1]} collectives on 1 device, which has nobody to speak to")
        several = {devices: total for devices, total in totals.items() if devices > 1}
        if min(several.values()) < 1:
            found.append(f"{way}: no collective on several devices: each would learn alone")
        worst = max(several, key=several.__getitem__)
        if several[worst] > MOST[way]:
            found.append(f"{way}: {several[worst]} collectives on {worst} devices, and {MOST[way]} were enough")
    return found


def main(as_json: bool) -> int:
    with processes(1) as pool:
        seconds = pool.submit(speeds).result()
    found = {way: [STEPS * BATCH / wall for wall, _ in runs] for way, runs in seconds.items()}
    pairs = list(zip(seconds["our loop"], seconds["bare loop"], strict=True))
    ratios = [ours[0] / bare[0] - 1 for ours, bare in pairs]
    overhead = statistics.median(ratios)
    # Where others use the machine too, this is the figure to look at.
    of_processor = statistics.median(ours[1] / bare[1] - 1 for ours, bare in pairs)
    feed = statistics.median(fed / ours for ours, fed in zip(found["our loop"], found["input"], strict=True))
    counts = counted()
    wrong = broken(counts)
    if as_json:
        figures = {
            "examples_per_second": found,
            "overhead": overhead,
            "overhead_of_processor": of_processor,
            "goal": GOAL,
            "input_to_training": feed,
            "collectives": counts,
            "broken": wrong,
        }
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    else:
        show(found, ratios, of_processor, feed, counts)
    for text in wrong:
        sys.stderr.write(f"{text}\n")
    return 1 if wrong else 0


def show(found: Mapping[str, list[float]], ratios: list[float], of_processor: float, feed: float, counts: Mapping[str, Counts]) -> None:
    from rich.console import Console
    from rich.table import Table

    console, overhead = Console(), statistics.median(ratios)
    speed = Table(title=f"training on this processor, batch {BATCH}, dimension {DIMENSION}", title_justify="left")
    for head in ("", "examples/s", "slowest", "fastest"):
        speed.add_column(head, justify="right" if head else "left")
    for way, rates in found.items():
        speed.add_row(way, *(f"{rate:,.0f}" for rate in (statistics.median(rates), min(rates), max(rates))))
    console.print(speed)
    bar = "#" * min(40, max(0, round(overhead / GOAL * 20)))
    console.print(f"our loop's time beside the bare one's: {overhead:+.1%} ({min(ratios):+.1%} to {max(ratios):+.1%}), goal {GOAL:.0%}")
    console.print(f"of the processor's time: {of_processor:+.1%}")
    console.print(f"  |{bar:<20.20}|{bar[20:]}  | is the goal", markup=False)
    console.print(f"the input alone is {feed:,.1f} times as fast as training takes it")
    table = Table(title="collectives of a step", title_justify="left")
    for head in ("", "devices", "all", "of which"):
        table.add_column(head, justify="right" if head in ("devices", "all") else "left")
    for way, by_devices in counts.items():
        for devices, kinds in by_devices.items():
            words = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
            table.add_row(way, str(devices), str(sum(kinds.values())), words)
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="all figures, for machines")
    sys.exit(main(parser.parse_args().json))
