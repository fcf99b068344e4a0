"""
How fast the recommender is trained on this machine's processor, as ratios: our loop against the bare step of the libraries on the same
model and batch, the input alone, and how many collectives the compiled step has on 1, 2, 4 and 8 devices.

    python tools/bench_workloads.py [--json]

Virtual devices share the processor, so that more of them say nothing of speed: what they say is the collectives. Their number must not grow
with the devices.
"""

from __future__ import annotations

import collections
import contextlib
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DEVICES = (1, 2, 4, 8)
RUNS = 3
STEPS = 30
BATCH = 512
DIMENSION = 64
GOAL = 0.03
"""Share of the time that our loop may add to the bare one."""
COLLECTIVE = re.compile(r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")


def trainer(place: Path, devices: int) -> Any:
    """A try that never saves, on made-up clicks without pictures."""
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
    data = train._data(settings, train.parser("bench").parse_args([]), Folder(str(place)))
    return Trainer(
        settings=settings,
        clicks=data.clicks,
        products=data.products,
        features=data.features,
        rows=data.train,
        batch=BATCH,
        steps=STEPS,
        dimension=DIMENSION,
        learning_rate=0.001,
        bfloat16=False,
        model_parallel=1,
        seed=0,
    )


def speeds() -> dict[str, list[float]]:
    """Examples a second, several times: by our loop, by the bare step, and of the input alone."""
    import jax

    from workloads.recommender.batches import reader

    with tempfile.TemporaryDirectory() as name:
        ours = trainer(Path(name), 1)
        held = ours._placed(ours._batches[0])

        def bare() -> None:
            state = ours._state
            for _ in range(STEPS):
                state, loss = ours._step(state, held)
            jax.block_until_ready(loss)
            ours._state = state

        def fed() -> None:
            for batch in reader(ours._batches):
                jax.block_until_ready(ours._placed(batch))

        ways: dict[str, Callable[[], object]] = {"our loop": ours.train, "bare step": bare, "input alone": fed}
        with contextlib.redirect_stderr(io.StringIO()):
            for once in ways.values():  # compiled, and not counted
                once()
            found: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(RUNS):
                for way, once in ways.items():  # by turns: what else the machine does meets all alike
                    begun = time.perf_counter()
                    once()
                    found[way].append(STEPS * BATCH / (time.perf_counter() - begun))
    return found


def collectives(devices: int) -> dict[str, int]:
    """Collectives of the compiled step, by kind."""
    with tempfile.TemporaryDirectory() as name:
        ours = trainer(Path(name), devices)
        text = ours._step.lower(ours._state, ours._placed(ours._batches[0])).compile().as_text()
    return dict(sorted(collections.Counter(COLLECTIVE.findall(text)).items()))


def asked(*arguments: str) -> Any:
    """The answer of another process: devices of the processor are chosen once in each."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "KERAS_BACKEND": "jax", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, *arguments]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def main(as_json: bool) -> None:
    found = asked("--speeds")
    ratios = [bare / ours - 1 for ours, bare in zip(found["our loop"], found["bare step"], strict=True)]
    overhead = statistics.median(ratios)
    counts = {devices: asked("--collectives", str(devices)) for devices in DEVICES}
    if as_json:
        figures = {"examples_per_second": found, "overhead": overhead, "goal": GOAL, "collectives": counts}
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
        return
    for way, rates in found.items():
        sys.stdout.write(f"{way:12} {statistics.median(rates):9,.0f} examples/s ({min(rates):,.0f} to {max(rates):,.0f})\n")
    sys.stdout.write(
        f"our loop takes {overhead:+.1%} of the bare step's time ({min(ratios):+.1%} to {max(ratios):+.1%}), goal {GOAL:.0%}\n"
    )
    for devices, kinds in counts.items():
        said = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
        sys.stdout.write(f"collectives of a step on {devices} device{'s' * (devices > 1)}: {said}\n")


if __name__ == "__main__":
    if "--speeds" in sys.argv:
        sys.stdout.write(json.dumps(speeds()))
    elif "--collectives" in sys.argv:
        sys.stdout.write(json.dumps(collectives(int(sys.argv[-1]))))
    else:
        main("--json" in sys.argv)
