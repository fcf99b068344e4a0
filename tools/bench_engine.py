"""
How fast a region comes up on this machine, and how far that is from the floor: the same program by the same engine, over a provider that
only echoes. And how fast the sandbox is.

    python tools/bench_engine.py [--runs N] [--json]
"""

from __future__ import annotations

import http.client
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from ruamel.yaml import YAML  # noqa: E402

from infra.sandbox import process  # noqa: E402
from tests.engine.region import STACK, Region  # noqa: E402

CONFIG = YAML(typ="safe", pure=True).load((ROOT / "stacks" / "Pulumi.us-east5.yaml").read_text(encoding="utf-8"))["config"]
REQUESTS = 4000
BUCKETS = "/storage.googleapis.com/storage/v1/b"


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ok(here: Region, shell: dict[str, str], *arguments: str) -> None:
    done = here._run(["pulumi", *arguments, "--stack", STACK, "--non-interactive"], shell)
    if done.code:
        raise SystemExit(done.out + done.err)


def echoing(here: Region, shell: dict[str, str]) -> dict[str, str]:
    """The same shell with the echo provider and a backend of its own."""
    home = here.folder / "echo-home"
    version = next((here.home.pulumi_home / "plugins").glob("resource-gcp-v*")).name
    shutil.copytree(ROOT / "tests" / "engine" / "provider", home / "plugins" / version)
    (here.folder / "echo-state").mkdir()
    echo = shell | {"PULUMI_HOME": str(home), "PULUMI_BACKEND_URL": (here.folder / "echo-state").as_uri()}
    here._run(["pulumi", "stack", "init", STACK], echo)
    return echo


def engine_figures(runs: int) -> dict[str, list[float]]:
    """Seconds of preview and up by both providers, turn by turn in one run, and of our own commands."""
    names = ("preview", "preview over the echo", "up", "up over the echo", "accelform up, warm", "accelform up, nothing to do")
    found: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as name:
        here = Region(Path(name), CONFIG)
        try:
            shell = here.shell()
            shells = {"": shell, " over the echo": echoing(here, shell)}
            for run in range(runs + 1):  # the first turn warms up and does not count
                for suffix, variables in shells.items():
                    preview = timed(lambda variables=variables: ok(here, variables, "preview"))
                    up = timed(lambda variables=variables: ok(here, variables, "up", "--yes", "--skip-preview"))
                    ok(here, variables, "destroy", "--yes", "--skip-preview")
                    if run:
                        found[f"preview{suffix}"].append(preview)
                        found[f"up{suffix}"].append(up)
            for _ in range(runs):
                found["accelform up, warm"].append(timed(lambda: here.accelform("up")))
                found["accelform up, nothing to do"].append(timed(lambda: here.accelform("up")))
                ok(here, shell, "destroy", "--yes", "--skip-preview")
        finally:
            process.stop(here.home.sandbox)
    return found


def sandbox_figures() -> dict[str, float]:
    """Seconds to its first answer, and requests a second of its simplest call: one connection, and eight at once."""
    with tempfile.TemporaryDirectory() as name:
        started = time.perf_counter()
        sandbox = process.start(Path(name), ["shop-prod"])
        start = time.perf_counter() - started
        try:
            asked(sandbox.port, "POST", "?project=shop-prod", b'{"name": "shop-prod-data", "location": "US-EAST5"}')

            def alone(count: int) -> None:
                connection = http.client.HTTPConnection("127.0.0.1", sandbox.port)
                for _ in range(count):
                    connection.request("GET", f"{BUCKETS}/shop-prod-data")
                    connection.getresponse().read()
                connection.close()

            one = timed(lambda: alone(REQUESTS))
            with ThreadPoolExecutor(8) as pool:
                eight = timed(lambda: list(pool.map(alone, [REQUESTS // 8] * 8)))
        finally:
            process.stop(Path(name))
    return {"start_s": start, "requests_per_s": REQUESTS / one, "requests_per_s_of_eight": REQUESTS / eight}


def asked(port: int, method: str, query: str, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, BUCKETS + query, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(answer.read().decode())
    connection.close()


def main(runs: int, as_json: bool) -> None:
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "infra")], check=True)
    engine = {what: statistics.median(values) for what, values in engine_figures(runs).items()}
    ratios = {what: engine[what] / engine[f"{what} over the echo"] for what in ("preview", "up")}
    sandbox = sandbox_figures()
    if as_json:
        sys.stdout.write(json.dumps({"median_s": engine, "ratio_to_floor": ratios, "sandbox": sandbox}, indent=2) + "\n")
        return
    for what, seconds in engine.items():
        ratio = f", {ratios[what]:.2f} times the floor (goal 1.3)" if what in ratios else ""
        sys.stdout.write(f"{what:28} {seconds:.2f} s{ratio}\n")
    sys.stdout.write(f"{'sandbox, first answer':28} {sandbox['start_s']:.2f} s\n")
    sys.stdout.write(
        f"{'sandbox, requests a second':28} {sandbox['requests_per_s']:.0f}; eight clients {sandbox['requests_per_s_of_eight']:.0f}\n"
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[arguments.index("--runs") + 1]) if "--runs" in arguments else 3, "--json" in arguments)
