"""
A machine that is taken away costs no more than one interval, and changes nothing of what is learned.

A run is killed ten times, by SIGTERM or SIGKILL, at a random step of one or two hosts, and begun again on as many or others; some
checkpoints are damaged in between. In the end, all losses and weights are those of a run that nobody disturbed, bit by bit. All kills come
long before it has converged, where a step lost or done twice would show. They take minutes:

    .venv/bin/python -m pytest -n 0 -m soak -rP tests/workloads/recommender/test_preemption.py
"""

from __future__ import annotations

import contextlib
import functools
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workloads import lives
from tests.workloads.jobs import Job
from workloads.contract import CONTRACT_EXIT, RESTART_EXIT
from workloads.files import CHECKSUMS, FilesError, Folder
from workloads.recommender.data import write_example

pytestmark = pytest.mark.soak

STEPS, SAVE_EVERY, KILLS = 360, 16, 10
FARTHEST = 20
"""Steps that a try does at most before it is killed."""
NOTICE_SECONDS = 15
"""What a Pod on a spot machine has."""
ARGUMENTS = ("--small", "--steps", str(STEPS), "--batch", "32", "--dimension", "8", "--learning-rate", "0.001")
RESTARTS = (RESTART_EXIT, -signal.SIGABRT)
"""How a host may end whose other one is gone: by itself, or by JAX."""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Any:
    """Makes runs of one small shop."""
    data = tmp_path_factory.mktemp("shop")
    write_example(Folder(str(data)), users=60, items=60, rows=2000, pictures=False)
    lives.prepare()
    return lambda: Job(tmp_path_factory.mktemp("job"), compiled, chips=2, save_every=SAVE_EVERY, data=data)


@pytest.fixture(scope="module")
def undisturbed(job: Any) -> Job:
    """A run that nobody stops."""
    one: Job = job()
    to_its_end(one, 2)
    assert one.report["resumed_from"] == []
    return one


def to_its_end(job: Job, hosts: int) -> None:
    with lives.begun(job, *ARGUMENTS, hosts=hosts) as (first, *_):
        assert first.until(STEPS), first.text
        first.go()
        first.end()
        assert first.code == 0, first.text


def saved(job: Job) -> int:
    """Step of the newest checkpoint that is whole, which those that are damaged are not."""
    folder = Folder(str(job.place / "checkpoints"))
    for step in sorted((int(name) for name in folder.children()), reverse=True):
        with tempfile.TemporaryDirectory() as place, contextlib.suppress(FilesError):
            folder.child(str(step)).download(Path(place))
            return step
    return 0


def weights(job: Job) -> dict[str, Any]:
    import safetensors.numpy

    found: dict[str, Any] = safetensors.numpy.load(Folder(str(job.output)).child("model").read("weights.safetensors"))
    return found


def damage(job: Job, chance: random.Random) -> None:
    """Makes two newer ones up of the last: one without its last file, and one of which a bit is another."""
    folder = Folder(str(job.place / "checkpoints"))
    last = saved(job)
    good = folder.child(str(last))
    for step in (last + 1, last + 2):
        for name in good.names():
            folder.child(str(step)).write(name, good.read(name))
    folder.child(str(last + 1)).delete(CHECKSUMS)
    name = chance.choice([name for name in good.names() if name != CHECKSUMS and good.read(name)])
    content = bytearray(good.read(name))
    content[chance.randrange(len(content))] ^= 1
    folder.child(str(last + 2)).write(name, bytes(content))


@pytest.mark.parametrize("seed", range(3))
def test_whatever_ends_it_wherever(job: Any, undisturbed: Job, seed: int) -> None:
    """Ten kills: each costs one interval at most, and a notice costs nothing; the tries together do exactly the steps of one."""
    chance = random.Random(seed)
    one = job()
    for kill in range(KILLS):
        last, hosts = saved(one), chance.choice((1, 2, 2))
        at, number, host = last + chance.randint(1, FARTHEST), chance.choice((signal.SIGTERM, signal.SIGKILL)), chance.randrange(hosts)
        with lives.begun(one, *ARGUMENTS, hosts=hosts) as running:
            assert running[0].until(at), running[0].text
            begun = time.monotonic()
            order = [running[0].go, functools.partial(running[host].signal, number)]
            for do in order if chance.random() < 0.5 else reversed(order):  # in the middle of the next step, or before it
                do()
            for other in running:
                other.end()
            took = time.monotonic() - begun
        codes, text = [other.code for other in running], "\n".join(other.text for other in running)
        done, now = max(int(step) for step in re.findall(r"^step (\d+) of", text, re.MULTILINE)), saved(one)
        sys.stdout.write(
            f"{seed}.{kill} from {last}: {number.name} to host {host} of {hosts} at {at}: {codes} in {took:.1f} s, {now} of {done} saved\n"
        )
        assert (f"goes on after step {last}\n" in text) == (last > 0)
        if number == signal.SIGTERM:
            assert codes == [RESTART_EXIT] * hosts, text
            assert text.count(f"this machine is taken away: step {now} is saved") == hosts
            assert now == done
            assert took < NOTICE_SECONDS
        else:
            assert codes.pop(host) == -signal.SIGKILL
            assert set(codes) <= set(RESTARTS), text
            assert 0 <= done - now <= SAVE_EVERY
        if now and chance.random() < 0.3:
            damage(one, chance)
    last = saved(one)
    to_its_end(one, chance.choice((1, 2)))

    assert one.report["resumed_from"][-1] == last
    assert one.report["loss"] == undisturbed.report["loss"]
    assert one.report["metrics"] == undisturbed.report["metrics"]
    ours, theirs = weights(one), weights(undisturbed)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name])


class Apart(Job):
    """Hosts with a folder of their own each."""

    def _environment(self, host: int, hosts: int, port: int) -> dict[str, str]:
        found = super()._environment(host, hosts, port)
        return found | ({"WL_CHECKPOINTS": f"{found['WL_CHECKPOINTS']}-{host}"} if host else {})


def test_hosts_that_do_not_see_one_folder_are_told(job: Any) -> None:
    """One would go on and the other begin, with the same weights from the next step on: neither does a step."""
    one = job()
    with lives.begun(one, *ARGUMENTS) as (first,):
        assert first.until(9), first.text
        first.signal(signal.SIGTERM)
        first.go()
        first.end()
    assert (first.code, saved(one)) == (RESTART_EXIT, 9)
    shutil.copytree(one.place / "checkpoints", one.place / "checkpoints-1", ignore=lambda place, names: {"8", "9"} & set(names))

    with lives.begun(Apart(one.place, one.compiled, chips=2, save_every=SAVE_EVERY, data=one.data), *ARGUMENTS, hosts=2) as running:
        for host in running:
            host.end()
    for host in running:
        assert host.code == CONTRACT_EXIT, host.text
        assert "the last whole step is 9 of host 0, 0 of host 1: is it one folder, which all hosts see?" in host.text
