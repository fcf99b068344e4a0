"""What goes wrong on request, when, and how often."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infra.sandbox.cloud import Cloud
from infra.sandbox.faults import Fault, LostError

NODES = "v2/projects/{project}/locations/us-east5-a/nodes"
TPU = "tpu.googleapis.com"
NODE = {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e"}


def test_the_second_create_alone_is_refused(cloud: Cloud, ask) -> None:  # type: ignore[no-untyped-def]
    cloud.faults.add(Fault(do="error", at=2, method="POST", path="tpu.*nodes", code=429, message="Quota exceeded."))
    assert ask("GET", TPU, NODES).status == 200
    assert [ask("POST", TPU, NODES, NODE, nodeId=f"n{i}").status for i in range(3)] == [200, 429, 200]


def test_a_lost_answer_was_done_and_a_dropped_call_was_not(cloud: Cloud, ask) -> None:  # type: ignore[no-untyped-def]
    for kind, name in (("lost", "there"), ("drop", "not-there")):
        cloud.faults.clear()
        cloud.faults.add(Fault(do=kind, at=1))
        with pytest.raises(LostError):
            ask("POST", TPU, NODES, NODE, nodeId=name)
    cloud.faults.clear()
    assert ask("GET", TPU, f"{NODES}/there").status == 200
    assert ask("GET", TPU, f"{NODES}/not-there").status == 404


def test_an_operation_fails_and_what_it_made_is_gone(cloud: Cloud, ask, done) -> None:  # type: ignore[no-untyped-def]
    cloud.faults.add(Fault(do="fail", method="POST", path="us-east5-a", message="There is no more capacity in the zone."))
    ended = done(TPU, "v2", ask("POST", TPU, NODES, NODE, nodeId="n"))
    assert ended.body["error"] == {"code": 8, "message": "There is no more capacity in the zone.", "status": "RESOURCE_EXHAUSTED"}
    assert ask("GET", TPU, f"{NODES}/n").status == 404


def test_slow_operations_take_longer(cloud: Cloud, ask, done) -> None:  # type: ignore[no-untyped-def]
    cloud.faults.add(Fault(do="slow", factor=10))
    before = cloud.clock.now()
    done(TPU, "v2", ask("POST", TPU, NODES, NODE, nodeId="n"))
    assert cloud.clock.now() - before == pytest.approx(3000)


@pytest.mark.parametrize(("kind", "status"), [("kill", 404), ("kill-after", 200)])
def test_a_process_ends_before_or_after_the_call(kind: str, status: int, cloud: Cloud, ask) -> None:  # type: ignore[no-untyped-def]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as victim:
        cloud.faults.add(Fault(do=kind, at=1, pid=victim.pid))
        with pytest.raises(LostError):
            ask("POST", TPU, NODES, NODE, nodeId="n")
        assert victim.wait(10) == -9
    assert ask("GET", TPU, f"{NODES}/n").status == status


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ({"do": "explode"}, "explode"),
        ({"do": "error", "tmies": 1}, "tmies"),
        ({}, "`do`"),
        (["error"], "error"),
        ({"do": "error", "at": "2"}, "at: '2'"),
        ({"do": "error", "code": 299}, "299"),
        ({"do": "fail", "status": "BROKEN"}, "BROKEN"),
        ({"do": "error", "path": "("}, "path"),
    ],
)
def test_a_fault_that_is_none_is_refused(sent: object, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Fault.read(sent)
