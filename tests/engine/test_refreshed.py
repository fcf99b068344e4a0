"""What goes wrong between a state and its cloud, by the real engine: another account finds nothing, and somebody else holds the lock."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.local.recover import RecoverError, lift
from infra.translated import translated
from tests.engine.region import STACK, Region

pytestmark = pytest.mark.soak

FAULTS: dict[str, dict[str, Any]] = {
    "no permission": {"code": 403, "status": "PERMISSION_DENIED", "message": "The caller does not have permission"},
    "no project": {"code": 404, "status": "NOT_FOUND", "message": "The resource 'projects/another' was not found"},
    "nothing there": {"code": 404, "status": "NOT_FOUND", "message": "Not found"},
}


@pytest.fixture
def there(region: Callable[[dict[str, Any]], Region], base: dict[str, Any]) -> Iterator[Region]:
    """A stack that is up, with what every stack has: buckets, a repository and a budget."""
    found = region(base)
    ran = found.accelform("up", "--json")
    assert ran.code == 0, ran.out + ran.err
    yield found
    found.ask("DELETE", "faults")


def urns(region: Region) -> list[str]:
    path = next((region.home.state / ".pulumi" / "stacks").glob(f"*/{STACK}.json"))
    return [one["urn"] for one in json.loads(path.read_text(encoding="utf-8"))["checkpoint"]["latest"]["resources"]]


def test_no_answer_of_another_account_empties_the_state(there: Region) -> None:
    before = urns(there)
    assert len(before) > 4
    for said, fault in FAULTS.items():
        there.ask("POST", "faults", {"do": "error", "method": "GET", "path": "googleapis", **fault})
        ran = there.accelform("refresh")
        there.ask("DELETE", "faults")
        assert ran.code == 5, (said, ran)
        assert "its state stays as it is" in ran.err, said
        assert urns(there) == before, said
    assert "are not found" in ran.err
    assert "--allow-gone" in ran.err
    ran = there.accelform("refresh")
    assert ran.code == 0, ran.err
    assert urns(there) == before

    there.ask("POST", "faults", {"do": "error", "method": "GET", "path": "googleapis", **FAULTS["nothing there"]})
    assert there.accelform("refresh", "--allow-gone").code == 0
    there.ask("DELETE", "faults")
    assert len(urns(there)) < len(before)


def test_a_lock_that_is_held_says_by_whom_and_the_way_out(there: Region) -> None:
    folder = there.home.state / ".pulumi" / "locks" / "organization" / "accelform" / STACK
    folder.mkdir(parents=True, exist_ok=True)
    holder = {"pid": 4194305, "username": "ann", "hostname": socket.gethostname(), "timestamp": "2026-12-01T00:00:00Z"}
    path = folder / "22d8693a-7bae-4563-bc98-27045e703b9f.json"
    path.write_text(json.dumps(holder), encoding="utf-8")
    ran = there.pulumi("up", "--yes", "--skip-preview", "--stack", STACK)
    assert ran.code != 0
    found = translated(ran.out + ran.err)
    assert found is not None
    assert found.key == "locked"
    assert f"stack {STACK} is locked by ann at {socket.gethostname()} since 2026-12-01 00:00:00 UTC" in found.what
    assert "process 4194305 (dead)" in found.what
    assert found.fix.startswith("accelform recover")
    path.write_text(json.dumps(holder | {"hostname": "elsewhere"}), encoding="utf-8")
    with pytest.raises(RecoverError, match=r"locked by ann at elsewhere .* \(on another host\)\n  fix: wait for it"):
        list(lift(there.home, STACK))
    path.write_text(json.dumps(holder), encoding="utf-8")
    assert there.accelform("recover").code == 0
    assert not path.exists()
