"""Lost, damaged and wrong states, where the engine's own `gs://` backend keeps them in a foundation's bucket of the sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]
pytestmark = pytest.mark.soak
ONCE = {"accelform:kind": "foundation"}
TOLD = {"accelform:foundation": "once", "accelform:budgets": {"own": {"amount": "9 USD", "scope": "stack"}}}
BUCKET = "tw-shop-ml-once-state"
OBJECT = f".pulumi/stacks/accelform/{STACK}.json"


class Kept:
    """A region whose state is in the bucket of its foundation, moved there as the guide has it."""

    def __init__(self, here: Region) -> None:
        self.here = here
        self.url = f"gs://{BUCKET}"
        for stack in ("once", STACK):
            file = str(here.folder / "state.json")
            self.must("stack", "export", "--stack", stack, "--file", file, PULUMI_BACKEND_URL=here.shell()["PULUMI_BACKEND_URL"])
            self.must("stack", "init", stack)
            self.must("stack", "import", "--stack", stack, "--file", file)

    def must(self, *arguments: str, **env: str) -> None:
        """`pulumi ARGUMENTS` on the bucket; it must end well."""
        done = self.here.pulumi(*arguments, "--non-interactive", **{"PULUMI_BACKEND_URL": self.url} | env)
        assert done.code == 0, done.out + done.err

    def made(self) -> list[str]:
        """What stands, without the bucket's own objects: each step of an update makes some."""
        return [one for one in self.here.made() if f"{BUCKET}/o/" not in one]

    def is_whole(self) -> None:
        """What the guide says after a restore: look at the cloud, and nothing is to be done."""
        self.must("refresh", "--yes", "--skip-preview", "--stack", STACK)
        self.must("preview", "--expect-no-changes", "--stack", STACK)

    def ask(self, http: str, content: bytes | None = None) -> None:
        """Deletes the state's object, or writes over it, as somebody with the wrong command does."""
        base = f"{self.here.base}/storage.googleapis.com"
        if http == "DELETE":
            answer = httpx.delete(f"{base}/storage/v1/b/{BUCKET}/o/{quote(OBJECT, safe='')}", trust_env=False)
        else:
            address = f"{base}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={quote(OBJECT, safe='')}"
            answer = httpx.post(address, content=content, trust_env=False)
        assert answer.is_success, answer.text


def test_a_state_that_is_deleted_damaged_or_old_comes_back(base: dict[str, Any], region: Make) -> None:
    """Restored, looked at, and nothing is to be done; all that was made is in it; and all goes, leaving nothing."""
    here = region(base | TOLD)
    here.write(base | ONCE, "once")
    up = here.accelform("up", "--json")
    assert up.code == 0, up.out + up.err
    kept = Kept(here)
    kept.is_whole()
    made = kept.made()
    listed = here.accelform("state", "list", STACK, "--json").json
    newest = listed["versions"][0]
    assert (newest["newest"], newest["damaged"]) == (True, "")
    assert "@" in newest["by"]  # who holds the lock of an update, that is gone since
    first = newest["version"]

    kept.ask("DELETE")  # (a) deleted
    assert here.pulumi("stack", "export", "--stack", STACK, "--non-interactive", PULUMI_BACKEND_URL=kept.url).code != 0
    done = here.accelform("state", "restore", STACK, "--version", first, "--json")
    assert (done.code, done.json["made_since"], done.json["later_versions"]) == (0, [], 0), done.out + done.err
    kept.is_whole()

    kept.ask("POST", b'{"version": 3, "checkpoint": {"sta')  # (b) garbage
    damaged = here.accelform("state", "list", STACK, "--json").json["versions"][0]
    assert (damaged["damaged"], damaged["resources"]) == ("is no JSON", None)
    refused = here.accelform("state", "restore", STACK, "--version", damaged["version"])
    assert refused.code == 3
    fix = refused.err.partition("--version ")[2].partition(",")[0]
    assert here.accelform("state", "restore", STACK, "--version", fix).code == 0
    kept.is_whole()

    wanted = (
        base | TOLD | {"accelform:budgets": {"own": {"amount": "9 USD", "scope": "stack"}, "second": {"amount": "7 USD", "scope": "stack"}}}
    )
    old = here.accelform("state", "list", STACK, "--json").json["versions"][0]["version"]
    here.write(wanted)  # (c) an older one after an update
    kept.must("up", "--yes", "--skip-preview", "--stack", STACK)
    more = kept.made()
    assert len(more) == len(made) + 1
    tried = here.accelform("state", "restore", STACK, "--version", old, "--dry-run", "--json").json
    assert (tried["restored"], [one["name"] for one in tried["made_since"]]) == (None, ["second"])
    done = here.accelform("state", "restore", STACK, "--version", old, "--keep-later", "--json")
    assert (done.code, done.json["kept_later"]) == (0, True), done.out + done.err
    kept.is_whole()
    assert kept.made() == more

    kept.must("destroy", "--yes", "--skip-preview", "--stack", STACK)
    kept.must("stack", "rm", STACK, "--yes", "--preserve-config")
    (here.home.state / ".pulumi" / "stacks" / "accelform" / f"{STACK}.json").unlink()
    gone = here.accelform("down", "once", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err


def test_a_locked_state_stays_as_it_is(base: dict[str, Any], region: Make) -> None:
    """Somebody is at work, or died over it: who and since when is said, and nothing is written."""
    here = region(base | TOLD)
    here.write(base | ONCE, "once")
    assert here.accelform("up", "once").code == 0
    lock = f".pulumi/locks/organization/accelform/{STACK}/one.json"
    base_url = f"{here.base}/storage.googleapis.com/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name="
    state = {"version": 3, "checkpoint": {"stack": f"organization/accelform/{STACK}", "latest": {"resources": []}}}
    for name, content in ((OBJECT, state), (OBJECT, state), (lock, {"username": "ann", "hostname": "laptop", "pid": 1})):
        assert httpx.post(base_url + quote(name, safe=""), json=content, trust_env=False).is_success
    old = here.accelform("state", "list", STACK, "--all", "--json").json["versions"][1]["version"]
    calls = len(here.ask("GET", "calls")["calls"])
    refused = here.accelform("state", "restore", STACK, "--version", old)
    assert refused.code == 5
    assert "locked by ann@laptop since" in refused.err
    assert f"gcloud storage rm gs://{BUCKET}/{lock}" in refused.err
    assert {one["method"] for one in here.ask("GET", "calls")["calls"][calls:]} == {"GET"}
    assert json.loads(here.accelform("state", "list", STACK, "--json").out)["versions"][0]["version"] != old
