"""
A machine that is taken away costs no more than one interval, and changes nothing of what is learned.

Each try is held against one that nobody disturbed: losses and weights, bit by bit on the same hosts. All are stopped long before they have
converged, where a step lost or done twice would show. They take minutes:

    .venv/bin/python -m pytest -n 0 -m soak tests/workloads/recommender/test_preemption.py
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workloads.jobs import Job, finished
from workloads.contract import RESTART_EXIT
from workloads.files import CHECKSUMS, Folder
from workloads.recommender.data import write_example

pytestmark = pytest.mark.soak

STEPS = {1: 200, 2: 40}
"""Steps of a run, by hosts: many, so that a signal comes before the end; fewer where each waits for the other."""
SAVE_EVERY = {1: 40, 2: 8}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small shop."""
    place = tmp_path_factory.mktemp("shop")
    write_example(Folder(str(place)), users=60, items=60, rows=2000, pictures=False)
    return place


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, compiled: Path, data: Path) -> Any:
    """Makes jobs on the same data."""
    return lambda hosts: Job(tmp_path_factory.mktemp("job"), compiled, chips=2, save_every=SAVE_EVERY[hosts], data=data)


@pytest.fixture(scope="module")
def undisturbed(job: Any) -> Any:
    """A run that nobody stops, by its hosts."""

    @functools.cache
    def undisturbed(hosts: int) -> Job:
        one: Job = job(hosts)
        ended = one.run(*arguments(hosts), hosts=hosts)
        assert ended.returncode == 0, ended.stderr
        return one

    return undisturbed


def arguments(hosts: int) -> tuple[str, ...]:
    return ("--small", "--steps", str(STEPS[hosts]), "--batch", "32", "--dimension", "8")


def weights(job: Job) -> dict[str, Any]:
    import safetensors.numpy

    found: dict[str, Any] = safetensors.numpy.load(Folder(str(job.output)).child("model").read("weights.safetensors"))
    return found


def same(one: Job, other: Job) -> None:
    """Bit by bit."""
    assert one.report["loss"] == other.report["loss"]
    assert one.report["metrics"] == other.report["metrics"]
    left, right = weights(one), weights(other)
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name])


def stop(processes: list[subprocess.Popen[str]], host: int, number: signal.Signals, step: int) -> list[subprocess.CompletedProcess[str]]:
    """Sends a signal to one host when the first one says that it is at *step*."""
    said = processes[0].stderr
    assert said is not None
    try:
        read = list(itertools.takewhile(lambda line: not line.startswith(f"step {step} of"), said))
        processes[host].send_signal(number)
    finally:
        ended = finished(processes)
    # Of a program that failed before, this is all there is to say why.
    ended[0].stderr = "".join(read) + ended[0].stderr
    return ended


def saved(job: Job) -> list[int]:
    folder = Folder(str(job.place / "checkpoints"))
    return sorted(int(name) for name in folder.children() if folder.child(name).find(CHECKSUMS) is not None)


def test_a_notice_saves_the_step_and_a_later_try_goes_on(job: Any, undisturbed: Any) -> None:
    """One host: SIGTERM saves the step that is done, ends with 143, and the next try does exactly the rest."""
    one = job(1)
    (ended,) = stop(one.start(*arguments(1)), 0, signal.SIGTERM, 10)
    assert ended.returncode == RESTART_EXIT, ended.stderr
    told = re.search(r"taken away: step (\d+) is saved", ended.stderr)
    assert told
    assert saved(one)[-1] == int(told[1]) < STEPS[1]

    assert one.run(*arguments(1)).returncode == 0
    assert one.report["resumed_from"] == [int(told[1])]
    same(one, undisturbed(1))


def test_a_half_and_a_damaged_checkpoint_are_skipped(job: Any, undisturbed: Any) -> None:
    """The one before them is used: SIGKILL, then one without its last file, and one whose state is changed."""
    one = job(1)
    (ended,) = stop(one.start(*arguments(1)), 0, signal.SIGKILL, 50)
    assert ended.returncode == -signal.SIGKILL
    last = saved(one)[-1]
    assert last >= 50 - SAVE_EVERY[1]
    folder = Folder(str(one.place / "checkpoints"))
    good = folder.child(str(last))
    for step in (last + 1, last + 2):
        for name in good.names():
            folder.child(str(step)).write(name, good.read(name))
    folder.child(str(last + 1)).delete(CHECKSUMS)
    folder.child(str(last + 2)).write("meta.json", b"{}")

    assert one.run(*arguments(1)).returncode == 0
    assert one.report["resumed_from"] == [last]
    assert len(one.report["checkpoints_skipped"]) == 2
    same(one, undisturbed(1))


def test_a_notice_to_one_of_two_hosts_stops_both_at_the_same_step(job: Any, undisturbed: Any) -> None:
    """And a later try on one host goes on: the same learning, but for the order in which numbers are added."""
    two = job(2)
    ended = stop(two.start(*arguments(2), hosts=2), 1, signal.SIGTERM, 10)
    assert [one.returncode for one in ended] == [RESTART_EXIT] * 2, ended[1].stderr
    steps = [re.search(r"taken away: step (\d+) is saved", one.stderr) for one in ended]
    assert steps[0]
    assert steps[1]
    assert steps[0][1] == steps[1][1] == str(saved(two)[-1])

    assert two.run(*arguments(2), hosts=1).returncode == 0
    assert two.report["resumed_from"] == [int(steps[0][1])]
    np.testing.assert_allclose(np.array(two.report["loss"]), np.array(undisturbed(2).report["loss"]), rtol=1e-4)
    for name, array in weights(undisturbed(2)).items():
        np.testing.assert_allclose(weights(two)[name], array, atol=2e-3)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_ends_it_wherever(job: Any, undisturbed: Any, seed: int) -> None:
    """Two hosts, one of them killed or told at a random step, one or two times: never more than an interval is lost."""
    chance = random.Random(seed)
    two = job(2)
    for _ in range(chance.randint(1, 2)):
        at = chance.choice([10, 20, 30])
        before = (saved(two) or [0])[-1]
        if before >= at:
            continue
        number = chance.choice([signal.SIGTERM, signal.SIGKILL])
        ended = stop(two.start(*arguments(2), hosts=2), chance.randint(0, 1), number, at)
        assert all(one.returncode != 0 for one in ended)
        assert at - (saved(two) or [0])[-1] <= SAVE_EVERY[2]
    assert two.run(*arguments(2), hosts=2).returncode == 0
    same(two, undisturbed(2))
