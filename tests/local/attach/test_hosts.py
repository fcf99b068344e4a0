"""Machines of jobs, and the local processes that run for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.errors import MachineError
from infra.local.attach import Attached
from infra.operate.times import SandboxTime
from tests.local.attach.conftest import COMPUTE, ZONE, Shop


@pytest.fixture
def lines(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, str], str]]:
    """What goes to Cloud Logging: labels and line."""
    found: list[tuple[dict[str, str], str]] = []
    monkeypatch.setattr(
        "infra.local.attach.cloud.Sandbox.log", lambda _, speaker, lines: found.extend((speaker.labels, one) for one in lines)
    )
    return found


def test_machine_of_a_job_runs_its_program(shop: Shop, lines: list[Any]) -> None:
    """With the try's variables over the container's, four devices for four chips, and the sandbox's Cloud Storage."""
    shop.make("vm", "exit", "0")
    with shop.attached() as attached:
        attached.run(once=True)

    said = shop.host()
    assert (said["host"], said["exit_code"]) == (0, 0)
    assert said["ended"].startswith("20")
    labels, line = lines[0]
    assert (labels["machine"], labels["zone"], labels["host"], labels["accelform-run"]) == ("vm", ZONE, "0", "r1")
    assert json.loads(line.removeprefix("told ")) == {
        "WL_RUN_ID": "R1",
        "WL_CHIPS": "4",
        "WL_HOSTS": "1",
        "WL_SIMULATED_TPU": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "STORAGE_EMULATOR_HOST": f"{shop.base}/storage.googleapis.com",
    }
    assert any("4 devices of this machine's processor stand for the chips of ct6e-standard-4t" in one for one in shop.said)


def test_exit_code_is_the_programs(shop: Shop, lines: list[Any]) -> None:
    shop.make("vm", "exit", "78")
    with shop.attached() as attached:
        attached.run(once=True)

    assert shop.host()["exit_code"] == 78


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["bash", "-c", "id"]},
        {"command": ["python", "-m", "http.server"]},
        {"command": ["python", "-m", "workloads.entry", "../x"]},
        {"command": []},
        {"command": "python -m workloads.entry train_recommender"},
        {"env": {"WL_CHIPS": "four"}},
    ],
)
def test_program_that_is_not_ours_is_never_started(shop: Shop, lines: list[Any], container: dict[str, Any]) -> None:
    """The host says that its container did not start, as it does where an image cannot be run."""
    shop.make("vm", "exit", "0", container=container)
    with shop.attached() as attached:
        attached.run(once=True)

    assert shop.host()["exit_code"] == 125
    assert not any(line.startswith("told ") for _, line in lines)


def test_hosts_of_a_slice_begin_together_and_are_numbered(shop: Shop, lines: list[Any]) -> None:
    with shop.attached() as attached:
        shop.make("vm-a", "exit", "0", hosts=2)
        attached.step()
        assert shop.said == []
        shop.make("vm-b", "exit", "0", hosts=2)
        attached.run(once=True)

    seen = [json.loads(line.removeprefix("told ")) for _, line in lines]
    assert sorted(one["WL_PROCESS_ID"] for one in seen) == ["0", "1"]
    assert len({one["WL_COORDINATOR"] for one in seen}) == 1
    assert seen[0]["XLA_FLAGS"].endswith("=4")
    assert [shop.host(number)["exit_code"] for number in (0, 1)] == [0, 0]


def test_node_has_a_process_for_each_of_its_hosts(shop: Shop, lines: list[Any]) -> None:
    container = {
        "command": ["python", "-m", "workloads.entry", "train_recommender"],
        "args": ["exit", "0"],
        "env": {"WL_CHIPS": "8", "WL_HOSTS": "2"},
    }
    run = {"env": {}, "state": "gs://shop-models/jobs/nightly/runs/R1/try-1"}
    metadata = {"accelform-container": json.dumps(container), "accelform-run": json.dumps(run)}
    where = f"tpu.googleapis.com/v2/projects/shop-prod/locations/{ZONE}/nodes"
    operation = shop.ask("POST", where, {"acceleratorType": "v6e-16", "runtimeVersion": "x", "metadata": metadata}, nodeId="n")
    shop.ask("GET", f"tpu.googleapis.com/v2/{operation['name']}")
    with shop.attached() as attached:
        attached.run(once=True)

    assert [shop.host(number)["exit_code"] for number in range(4)] == [0, 0, 0, 0]


def test_preempted_machine_tells_its_program_which_may_save(shop: Shop, lines: list[Any], tmp_path: Path) -> None:
    """SIGTERM while it is STOPPING; what it says then is heard."""
    shop.make("vm", "saves", str(tmp_path / "go"), scheduling={"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"})
    with shop.attached() as attached:
        attached.run(until=lambda: any(line == "waits" for _, line in lines))
        shop.ask("POST", "sandbox/faults", {"do": "preempt", "path": "instances/vm", "times": 1})
        attached.run(until=lambda: shop.host() is not None)

    assert shop.host()["exit_code"] == 143


def test_program_of_a_machine_that_is_gone_is_killed_after_the_notice_and_says_nothing(
    shop: Shop, lines: list[Any], tmp_path: Path
) -> None:
    shop.make("vm", "stubborn", str(tmp_path / "go"))
    with shop.attached(notice=0.1) as attached:
        attached.run(until=lambda: any(line == "waits" for _, line in lines))
        shop.wait(shop.ask("DELETE", f"{COMPUTE}/zones/{ZONE}/instances/vm"))
        attached.run(once=True)

    assert shop.host() is None
    assert "vm: host 0 ended with 137, after its machine was gone" in shop.said


def test_clock_is_held_while_a_program_works(shop: Shop, lines: list[Any], tmp_path: Path) -> None:
    """Who waits for an hour waits as long as the program takes; and from the machine's first moment on, before it is even noticed."""
    go = tmp_path / "go"
    with shop.attached() as attached:
        attached.step()
        before = shop.cloud.clock.now()
        shop.make("vm", "waits", str(go))
        assert shop.ask("POST", "sandbox/clock", {"seconds": 3600})["held"]
        attached.run(until=lambda: any(line == "waits" for _, line in lines))
        assert shop.ask("POST", "sandbox/clock", {"seconds": 3600})["held"]
        assert shop.cloud.clock.now() - before < 600
        go.touch()
        attached.run(once=True)
        attached.step()
        assert "held" not in shop.ask("POST", "sandbox/clock", {"seconds": 3600})
        assert shop.cloud.clock.now() - before >= 3600


def test_wait_of_a_runner_lasts_as_long_as_the_clock_is_held(shop: Shop, lines: list[Any]) -> None:
    """In real time: no more than what is waited for, by this machine's clock."""
    shop.make("vm", "exit", "0")
    shop.ask("POST", "sandbox/busy", {"holder": "test", "seconds": 30})
    walls = iter((100.0, 130.0, 159.0, 160.0))
    before = shop.cloud.clock.now()

    SandboxTime(None, shop.base, wall=lambda: next(walls)).wait(60)  # type: ignore[arg-type]

    assert next(walls, None) is None
    assert shop.cloud.clock.now() - before < 30


def test_attach_that_was_killed_holds_the_clock_no_longer(shop: Shop) -> None:
    shop.make("vm", "exit", "0")
    shop.ask("POST", "sandbox/busy", {"holder": "dead", "seconds": 30})
    assert shop.cloud.machines.held
    shop.ask("POST", "sandbox/busy", {"holder": "dead", "seconds": 0})
    assert not shop.cloud.machines.held


@pytest.mark.parametrize(
    "sent", [[], {"holder": 1, "seconds": 1}, {"holder": "a", "seconds": 61}, {"holder": "a", "seconds": "nan"}, {"seconds": 1}]
)
def test_hold_that_is_none_is_refused(shop: Shop, sent: Any) -> None:
    answer = shop.http.post(f"{shop.base}/sandbox/busy", json=sent)

    assert answer.status_code == 400


def test_nothing_of_a_real_cloud_is_attached_to() -> None:
    with pytest.raises(MachineError, match="no address of this machine"):
        Attached("https://compute.googleapis.com")


def test_sandbox_that_does_not_answer_is_said() -> None:
    with Attached("http://127.0.0.1:1") as attached, pytest.raises(MachineError, match="does not answer"):
        attached.step()
