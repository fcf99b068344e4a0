"""Who holds a lock, by the engine's words: for files and buckets, and by a lock that an engine really holds."""

from __future__ import annotations

import datetime as dt
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.locked import Holder, holders, is_pulumi

SAID = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with \
`pulumi cancel`.
  {at}/.pulumi/locks/organization/accelform/try/22d8693a-7bae-4563-bc98-27045e703b9f.json: created by {user}@{host} (pid {pid}) at {since}"""


def said(at: str, *, pid: int, host: str = "", user: str = "ann", since: str = "2026-12-01T07:45:57Z") -> list[Holder]:
    text = SAID.format(at=at, user=user, host=host or socket.gethostname(), pid=pid, since=since)
    return list(holders(text))


@pytest.fixture
def working(tmp_path: Path) -> Iterator[int]:
    """A process that looks like an engine."""
    program = tmp_path / "pulumi"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "60"]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize("at", ["file:///home/ann/shop/.accelform/state", "gs://shop-state", "gs://shop-state/prefix", "s3://b"])
def test_every_backend_tells_the_same(at: str) -> None:
    (one,) = said(at, pid=285, host="6d33034d-39d7-41de", user="root")
    assert (one.stack, one.user, one.host, one.pid) == ("try", "root", "6d33034d-39d7-41de", 285)
    assert one.path == f"{at}/.pulumi/locks/organization/accelform/try/22d8693a-7bae-4563-bc98-27045e703b9f.json"
    assert one.line().startswith("stack try is locked by root at 6d33034d-39d7-41de since 2026-12-01 07:45:57 UTC (")
    assert one.line().endswith(", process 285 (on another host)")
    assert one.fix() == "wait for it; only where that process is known to be dead: pulumi cancel --stack try, then try again"


def test_the_engines_own_parameters_of_the_address_are_no_part_of_the_file() -> None:
    """As the engine says it of the backend of a checkout."""
    text = (
        "  file:///shop/.accelform/state/.pulumi/locks/organization/accelform/asia-east1/22d8693a.json?metadata=skip&no_tmp_dir=true: "
        "created by ann@vm (pid 7) at 2026-12-01T00:00:00Z"
    )
    (one,) = holders(text)
    assert (one.stack, one.path.rpartition("/")[2], one.host) == ("asia-east1", "22d8693a.json", "vm")


def test_who_works_here_is_waited_for(working: int) -> None:
    (one,) = said("file:///shop/.accelform/state", pid=working)
    assert one.state == "alive"
    assert one.fix() == "wait for it, or end it with ^C, then try again"


@pytest.mark.parametrize(
    ("at", "fix"), [("file:///shop/.accelform/state", "accelform recover: "), ("gs://state", "pulumi cancel --stack try, then try again: ")]
)
def test_what_a_dead_one_left_is_lifted_by_who_can(at: str, fix: str) -> None:
    (one,) = said(at, pid=4194305)
    assert one.state == "dead"
    assert one.fix().startswith(fix)


def test_how_long_ago_is_said_in_minutes() -> None:
    since = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=42, seconds=5)).isoformat(timespec="seconds")
    (one,) = said("gs://state", pid=1, host="elsewhere", since=since)
    assert "(42 min ago)" in one.line()


@pytest.mark.parametrize("since", ["yesterday", "", "0001-01-01T00:00:00Z", "2999-01-01T00:00:00+08:00"])
def test_an_odd_time_is_no_fault(since: str) -> None:
    one = Holder("try", "ann", "elsewhere", 1, since)
    assert "stack try is locked by ann at elsewhere" in one.line()


@pytest.mark.parametrize("text", ["", "the stack is currently locked by 1 lock(s)", "created by a@b (pid x) at y", "\x00"])
def test_words_without_a_holder_name_nobody(text: str) -> None:
    assert not list(holders(text))


@pytest.mark.parametrize("pid", [0, -1, 2**40, 4194305])
def test_no_process_is_no_engine(pid: int) -> None:
    assert not is_pulumi(pid)


def test_another_process_is_no_engine() -> None:
    assert not is_pulumi(os.getpid())


def test_a_dead_one_that_nobody_buried_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    try:
        assert not is_pulumi(process.pid)
    finally:
        process.wait()
