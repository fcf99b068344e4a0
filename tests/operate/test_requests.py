"""What stands in the queue of the Cloud TPU API, what is dead there, and how it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from infra.findings import Found
from infra.operate import requests
from infra.operate.doctor_cloud import CloudNeeds
from infra.provider.google import Google, Settings
from infra.sandbox.faults import Fault
from tests.in_process import InProcess

PROJECT = "tw-shop-ml"
PLACE = f"projects/{PROJECT}/locations/us-east5-a"
NOW = 1_800_000_000.0
"""2027-01-15T08:00:00Z."""


def body(state: str = "WAITING_FOR_RESOURCES", **more: Any) -> dict[str, Any]:
    """A queued resource for one v6e-8, made an hour ago."""
    node = {"node": {"acceleratorType": "v6e-8"}, "nodeId": "night"}
    return {
        "name": f"{PLACE}/queuedResources/night",
        "createTime": "2027-01-15T07:00:00Z",
        "state": {"state": state},
        "tpu": {"nodeSpec": [node]},
        **more,
    }


@pytest.mark.parametrize(
    ("made", "dead"),
    [
        (body(), ""),
        (body("ACTIVE"), ""),
        (body("A_STATE_OF_TOMORROW"), ""),
        (body("SUSPENDED"), "SUSPENDED: Google does not ask again"),
        (body("FAILED"), "FAILED: Google does not ask again"),
        (body(queueingPolicy={"validUntilTime": "2027-01-15T07:59:00Z"}), "expired: it was to wait until 2027-01-15T07:59:00Z"),
        (body(queueingPolicy={"validUntilTime": "2027-01-15T08:01:00Z"}), ""),
        (body("ACTIVE", queueingPolicy={"validUntilTime": "2027-01-15T07:59:00Z"}), ""),
    ],
    ids=["waits", "stands", "unknown state", "suspended", "failed", "expired", "not expired yet", "stands, its wait is over"],
)
def test_says_what_nothing_comes_of(made: dict[str, Any], dead: str) -> None:
    """A state that nobody knows is one that something may follow."""
    assert requests.read(made, NOW).dead == dead


def test_counts_the_chips_of_all_nodes() -> None:
    """Of a Multislice group, of a topology; and says that it does not know where a type is new."""

    def chips(*specs: dict[str, Any]) -> int | None:
        return requests.read(body(tpu={"nodeSpec": list(specs)}), NOW).chips

    group = {"node": {"acceleratorType": "v6e-8"}, "multisliceParams": {"nodeCount": 3, "nodeIdPrefix": "n"}}
    shaped = {"node": {"acceleratorConfig": {"type": "V4", "topology": "2x2x2"}}, "nodeId": "a"}
    assert chips(group) == 24
    assert chips(shaped, group) == 32
    assert chips({"node": {"acceleratorType": "v9-8"}, "nodeId": "a"}, group) is None
    assert chips() is None


@pytest.mark.parametrize(("seconds", "age"), [(0, "0 min"), (3599, "59 min"), (3600, "1 h"), (90000, "1 d")])
def test_tells_an_age_in_one_unit(seconds: float, age: str) -> None:
    """The largest that fits."""
    assert requests.read(body(), NOW - 3600 + seconds).age == age


@pytest.fixture
def google() -> Google:
    """The sandbox's APIs."""
    here = InProcess(PROJECT)
    http = httpx.Client(transport=httpx.MockTransport(here))
    found = Google(Settings("http://sandbox"), lambda seconds: False, http=http, time=here.cloud.clock.now)
    found.here = here  # type: ignore[attr-defined]
    return found


def test_removes_the_dead_with_what_they_left(google: Google) -> None:
    """One that was preempted goes with its node; one that waits stays."""
    here: InProcess = google.here  # type: ignore[attr-defined]
    for id in ("first", "second"):
        node = {"acceleratorType": "v6e-8", "runtimeVersion": "v2-alpha-tpuv6e"}
        spec = {"parent": PLACE, "nodeId": id, "node": node}
        asked = google.call(
            requests.API,
            f"{requests.QUEUES}.create",
            parent=PLACE,
            queuedResourceId=id,
            body={"tpu": {"nodeSpec": [spec]}, "spot": {}},
        )
        google.finished(requests.API, asked)
    here.cloud.faults.add(Fault(do="preempt", path="nodes/first", times=1))
    for _ in range(4):  # PROVISIONING, ACTIVE, its node is taken, SUSPENDING
        requests.listed(google, PROJECT, here.cloud.clock.now())
        here.cloud.clock.advance(3600)

    first, second = requests.listed(google, PROJECT, here.cloud.clock.now())
    assert (first.id, first.dead, first.chips) == ("first", "SUSPENDED: Google does not ask again", 8)
    assert (second.id, second.state, second.dead) == ("second", "ACTIVE", "")

    requests.remove(google, first)
    requests.remove(google, first)  # it is gone already
    assert [one.id for one in requests.listed(google, PROJECT, here.cloud.clock.now())] == ["second"]
    nodes = google.pages(requests.API, "projects.locations.nodes.list", "nodes", parent=PLACE)
    assert [node["name"].rpartition("/")[2] for node in nodes] == ["second"]


def test_doctor_says_how_much_quota_the_dead_hold(
    answers: dict[str, Any], needs: CloudNeeds, look: Callable[..., dict[str, Found]], cloud: SimpleNamespace
) -> None:
    """Thirty suspended requests hold 240 chips, and the command that frees them is said."""
    wants = replace(needs, services=(*needs.services, "tpu.googleapis.com"))
    answers[f"tpu/v2/projects/{cloud.project}/locations/-/queuedResources"] = {"queuedResources": [body("SUSPENDED")] * 30}
    found = look(answers, wants)[requests.CHECK]
    assert found.level == "warning"
    assert found.message == "30 requests are suspended, failed or expired, and hold 240 chips of the quota"
    assert "accelform queue --cloud --remove-dead" in found.fix
