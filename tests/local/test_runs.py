"""Before a stack goes, its runs' machines do."""

from __future__ import annotations

import pytest

from infra.local import runs
from infra.provider.server import ProviderError
from infra.sandbox.executions import waiting
from infra.sandbox.faults import Fault
from tests.in_process import KilledError
from tests.operate.jobs.night import PROJECT, REGION, Night


@pytest.fixture(params=["instance", "group", "node", "custom-job"])
def night(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Night:
    """A run whose runner was killed: its machine stands."""
    night = Night(form=request.param, **({"hosts": 4, "chips": 16, "accelerator_type": "v6e-16"} if request.param == "group" else {}))
    night.exits = lambda number: None
    night.kill_at = 45
    with pytest.raises(KilledError):
        night.run()
    assert len(night.machines) == 1
    monkeypatch.setattr(runs, "Google", lambda settings, pause: night.google(night.answer))
    monkeypatch.setattr(runs, "SandboxTime", lambda google, base: night)
    monkeypatch.setattr(runs, "Settings", lambda base: None)
    monkeypatch.setattr(runs.process, "ask", lambda sandbox, method, what: {"resources": night.cloud.resources()})
    return night


class Here:
    base = "http://sandbox.test"


def labelled(night: Night, stack: str) -> None:
    """As the program's templates and nodes have it."""
    for service, name, body in list(night.cloud.store.every()):
        if "accelform-run" in body.get("labels", {}):
            night.cloud.store.put(service, name, body | {"labels": body["labels"] | {"accelform-stack": stack}})


def test_the_machine_of_a_run_that_nobody_works_on_goes(night: Night) -> None:
    """Whatever form it has; said, and gone when it is over."""
    labelled(night, "shop")
    said: list[str] = []
    runs.end(Here(), "shop", said.append)  # type: ignore[arg-type]
    assert night.machines == {}
    assert any("the machine of a run, is deleted" in text for text in said)


def test_other_stacks_machines_stay(night: Night) -> None:
    """By its label, or of a group by its name."""
    labelled(night, "shop")
    runs.end(Here(), "sho", lambda text: None)  # type: ignore[arg-type]
    assert len(night.machines) == 1


def test_executions_are_cancelled_and_one_that_does_not_go_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this stack alone."""
    night = Night(form="node")  # an instance ends by itself
    at = f"run.googleapis.com/v2/projects/{PROJECT}/locations/{REGION}/jobs"
    for stack in ("shop", "other"):
        body = {"labels": {"accelform-stack": stack}, "template": {"template": {"containers": [{"image": "i"}]}}}
        night.ask("POST", at, body, jobId=f"{stack}-job")
        night.wait(60)
        night.ask("POST", f"{at}/{stack}-job:run", {})
    monkeypatch.setattr(runs, "Google", lambda settings, pause: night.google(night.answer))
    monkeypatch.setattr(runs, "SandboxTime", lambda google, base: night)
    monkeypatch.setattr(runs.process, "ask", lambda sandbox, method, what: {"resources": night.cloud.resources()})
    runs.end(Here(), "shop", lambda text: None)  # type: ignore[arg-type]
    (left,) = [one["name"] for one in waiting(night.cloud)]
    assert "/other-job/" in left

    night.exits = lambda number: None
    night.kill_at = night.sent + 45
    with pytest.raises(KilledError):
        night.run()
    labelled(night, "shop")
    night.cloud.faults.add(Fault(do="error", method="DELETE", code=400, message="not ready"))
    with pytest.raises(ProviderError, match="does not go"):
        runs.end(Here(), "shop", lambda text: None)  # type: ignore[arg-type]
