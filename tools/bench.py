"""
How fast the commands are: each as a whole process, several runs after a warm-up; how much of a check is imports; and how fast the
catalogue judges whether things go together.

    python tools/bench.py [--runs N] [--json]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMAND = str(Path(sys.executable).parent / "accelform")
MANY = 40
JUDGED = 10_000
COSTED = (1, 10, MANY)
GOALS_SECONDS = {
    "accelform --help": 0.3,
    "check of one stack": 2.0,
    f"check of {MANY} stacks, each": 0.3,
    "every table of the catalogue": 0.05,
    f"{JUDGED:,} validations": 5.0,
    "cost of 1 stack": 2.0,
    "cost of 10 stacks": 4.0,
    f"cost of {MANY} stacks": 12.0,
}


def seconds(command: list[str], runs: int) -> list[float]:
    """Wall seconds of each run, after one that is not counted."""
    measured = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        measured.append(time.perf_counter() - started)
    return measured[1:]


def many_stacks(folder: Path) -> None:
    """Forty stacks like the example with a machine, under names of their own."""
    text = (ROOT / "stacks" / "Pulumi.us-east5.yaml").read_text(encoding="utf-8")
    for number in range(MANY):
        (folder / f"Pulumi.shop-{number}.yaml").write_text(text, encoding="utf-8")


def import_seconds() -> float:
    """What a check spends on imports: a process that only imports what the program uses."""
    imports = (
        "import gc; gc.disable(); import infra.cli.app, infra.program, infra.collect, infra.cost.report, infra.policy.rules, rich.table;"
        "from infra import gcp;"
        "gcp.compute.Instance, gcp.compute.Network, gcp.storage.Bucket, gcp.billing.Budget, gcp.monitoring.NotificationChannel; gc.freeze()"
    )
    return statistics.median(seconds([sys.executable, "-c", imports], 3))


def loading_seconds(runs: int) -> list[float]:
    """Seconds of reading every table of the catalogue, each in a process of its own, without that process's start."""
    program = (
        "import sys, time; from typing import get_args; from infra.catalog.tables import Table, rows; started = time.perf_counter();"
        "[rows(table) for table in get_args(Table)]; sys.stdout.write(str(time.perf_counter() - started))"
    )
    command = [sys.executable, "-c", program]
    return [float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout) for _ in range(runs)]


def judging_seconds(runs: int) -> list[float]:
    """Seconds of many judgements, each of another wish: every machine and slice of one host, in every zone, got in every way."""
    sys.path.insert(0, str(ROOT))
    from infra.catalog import fits, gpu_zones, zones
    from infra.catalog.gpu_machines import machines
    from infra.catalog.tpu import shapes
    from infra.catalog.wish import APIS, WAYS, Wish

    things = [(name, "") for name, one in shapes().items() if one.single_host] + [("", name) for name in machines()]
    places = sorted({one.zone for one in zones.every()} | {one.zone for one in gpu_zones.every()})
    every = [
        Wish(api, accelerator, machine, zone=zone, provisioning=way)
        for zone in places
        for way in WAYS
        for api in APIS
        for accelerator, machine in things
    ]
    step = len(every) // JUDGED
    measured = []
    for number in range(min(runs, step)):  # what was judged before is remembered
        wishes = every[number::step][:JUDGED]
        started = time.perf_counter()
        for wish in wishes:
            fits.judge(wish)
        measured.append(time.perf_counter() - started)
    return measured


def main(runs: int, as_json: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        many_stacks(Path(name))
        one = seconds([COMMAND, "check", "us-east5"], runs)
        names = [path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in sorted(Path(name).iterdir())]
        measured = {
            "accelform --help": seconds([COMMAND, "--help"], runs),
            "check of one stack": one,
            f"check of {MANY} stacks, each": [value / MANY for value in seconds([COMMAND, "check", "--stacks", name], max(1, runs // 2))],
            "every table of the catalogue": loading_seconds(runs),
            f"{JUDGED:,} validations": judging_seconds(runs),
        }
        for count in COSTED:
            command = [COMMAND, "cost", "--stacks", name, *names[:count]]
            measured[f"cost of {count} stack{'s' * (count > 1)}"] = seconds(command, max(1, runs // 2))
    share = import_seconds() / statistics.median(one)
    figures = {
        what: {"median_s": statistics.median(values), "min_s": min(values), "max_s": max(values)} for what, values in measured.items()
    }
    if as_json:
        sys.stdout.write(json.dumps({"figures": figures, "goals_s": GOALS_SECONDS, "import_share_of_check": share}, indent=2) + "\n")
        return
    for what, one_figure in figures.items():
        goal = GOALS_SECONDS[what]
        sys.stdout.write(
            f"{what:28} {one_figure['median_s']:.3f} s ({one_figure['min_s']:.3f} to {one_figure['max_s']:.3f}), goal {goal} s: "
            f"{one_figure['median_s'] / goal:.0%} of it\n"
        )
    sys.stdout.write(f"imports' share of a check     {share:.0%}\n")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[arguments.index("--runs") + 1]) if "--runs" in arguments else 5, "--json" in arguments)
