"""Plugins out of a process that has imported what they need: each is as one that starts anew, and none outlives its host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """\
import atexit, os, signal, sys, threading
print(__name__, sys.argv[1:], os.environ["SAYS"], os.getcwd(), sys.path[0], repr(sys.stdin.read()))
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGCHLD))
print("trouble", file=sys.stderr)
atexit.register(print, "at its end")
threading.Thread(target=print, args=("by a thread",)).start()
sys.exit(3)
"""
HOST = """\
import json, sys
from infra.local.engine.forks import Forks, Fresh
way, folder = json.loads(sys.argv[1])
start = Forks().start if way == "forked" else Fresh
both = [start([folder, str(one)], folder, {"SAYS": "hello"}) for one in range(2)]
said = [(one.stdout.read().decode(), one.stderr.read().decode(), one.wait()) for one in both]
for one in both:
    one.kill()  # does nothing any more
print(json.dumps(said))
"""


def ran(way: str, plugin: Path) -> Any:
    """Output, errors and exit code of two plugins beside each other, of a host of their own: the tests' process has threads."""
    host = [sys.executable, "-u", "-c", HOST, json.dumps([way, str(plugin)])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return json.loads(subprocess.run(host, capture_output=True, env=env, check=True).stdout)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder with a plugin."""
    (tmp_path / "__main__.py").write_text(PLUGIN, encoding="utf-8")
    return tmp_path


def test_what_is_forked_is_as_what_starts_anew(plugin: Path) -> None:
    """Arguments, environment, folder, signals, streams, threads, exit code: nothing differs."""
    forked = ran("forked", plugin)
    out, err, code = forked[0]
    assert out.startswith("__main__ ['0'] hello ")
    assert out.endswith("by a thread\nat its end\n")
    assert (err, code) == ("trouble\n", 3)
    assert forked == ran("fresh", plugin)


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [("pass", 0, ""), ("1 / 0", 1, "ZeroDivisionError: division by zero"), ("import os; os.kill(os.getpid(), 9)", -9, "")],
)
def test_how_one_ends_is_told(program: str, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(program, encoding="utf-8")
    for _, err, ended in ran("forked", tmp_path):
        assert ended == code
        assert said in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_none_outlives_its_host(number: int, tmp_path: Path) -> None:
    """However the host ends, all that it has forked ends too: what they share is closed only then."""
    (tmp_path / "__main__.py").write_text("import signal\nprint('up', flush=True)\nsignal.pause()\n", encoding="utf-8")
    program = (
        "import sys\nfrom infra.local.engine.forks import Forks\n"
        "forks = Forks()\none = forks.start([sys.argv[1]], sys.argv[1], {})\n"
        "print(one.stdout.read(2).decode(), flush=True)\none.wait()\n"
    )
    ours, theirs = os.pipe()
    with (
        os.fdopen(ours, "rb") as pipe,
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, pass_fds=[theirs]) as host,
    ):
        os.close(theirs)
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        host.send_signal(number)
        assert host.wait() == -number
        assert pipe.read() == b""
