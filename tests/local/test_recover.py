"""What a killed run leaves is mended: by the real engine, killed with -9, and a provider whose cloud is a folder."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.local import recover as recovering
from infra.local.engine import call, find
from infra.local.engine.state import read
from infra.local.home import Home
from infra.local.recover import RecoverError, adopt, lift, recover

BUCKET = "gcp:storage/bucket:Bucket"
B = f"urn:pulumi:try::folder::{BUCKET}::b"
SECONDS = 120
PROGRAM = """
import json, pathlib, pulumi

for name, inputs in json.loads(pathlib.Path(__file__).with_name("program.json").read_text()).items():
    first = inputs.pop("delete_before_replace", None)
    pulumi.CustomResource("gcp:storage/bucket:Bucket", name, {"name": name, **inputs}, pulumi.ResourceOptions(delete_before_replace=first))
pulumi.export("cloud", "sandbox")
"""


def by_name(kind: str, inputs: Mapping[str, Any]) -> str | None:
    """A resource's id is its name."""
    return inputs["name"] if kind == BUCKET else None


class Stack:
    """A stack of buckets `a` and, as the test wants it, `b`."""

    def __init__(self, folder: Path, engine: find.Engine) -> None:
        self.engine = engine
        self.home = Home(folder / "home")
        self.folder = folder / "project"
        self.cloud = folder / "cloud"

    def make(self) -> None:
        self.home.prepare()
        self.folder.mkdir()
        self.cloud.mkdir()
        plugin = shutil.copytree(Path(__file__).parent / "provider", self.home.pulumi_home / "plugins" / "resource-gcp-v10.2.0")
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        (plugin / "PulumiPlugin.yaml").write_text(json.dumps({"runtime": runtime}), encoding="utf-8")
        (self.folder / "Pulumi.yaml").write_text(json.dumps({"name": "folder", "runtime": runtime}), encoding="utf-8")
        (self.folder / "__main__.py").write_text(PROGRAM, encoding="utf-8")
        self.run("stack", "init", "try")
        self.want(None)
        self.up()

    def want(self, b: dict[str, Any] | None) -> None:
        buckets = {"a": {}} | ({} if b is None else {"b": b})
        (self.folder / "program.json").write_text(json.dumps(buckets), encoding="utf-8")

    def run(self, *arguments: str) -> str:
        done = call.call(arguments, engine=self.engine, env=self.home.env(self.engine), folder=self.folder, seconds=SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self) -> None:
        self.run("up", "--stack", "try", "--yes", "--skip-preview")

    def kill(self, moment: str) -> None:
        """Runs `up` and kills the engine with -9 when the provider has come to *moment*."""
        (self.cloud / "stop").write_text(f"{moment} b", encoding="utf-8")
        command = [str(self.engine.path), "up", "--stack", "try", "--yes", "--skip-preview", "--non-interactive"]
        stopped = os.open(self.cloud / "stopped", os.O_RDWR)
        ended, theirs = os.pipe()
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=self.home.env(self.engine), stdout=log, stderr=log, pass_fds=[theirs])
        os.close(theirs)
        ready = select.select([stopped, ended], [], [], SECONDS)[0]
        process.kill()
        process.wait()
        os.close(stopped)
        os.close(ended)
        (self.cloud / "stop").unlink()
        assert ready == [stopped], (self.folder / "log").read_text(encoding="utf-8")

    def recover(self, find_id: recovering.FindId = by_name, **options: bool) -> recovering.Recovered:
        return recover(self.home, "try", engine=self.engine, folder=self.folder, find_id=find_id, **options)

    @property
    def pending(self) -> list[Any]:
        state = read(self.home.state, "try")
        assert state is not None
        return state["deployment"].get("pending_operations") or []

    @property
    def made(self) -> list[str]:
        return sorted(path.stem for path in self.cloud.glob("*.json"))

    def changes(self) -> set[str]:
        return {kind for kind, count in json.loads(self.run("preview", "--stack", "try", "--json"))["changeSummary"].items() if count}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stack of one bucket, made once."""
    engine = find.find()
    if engine is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    folder = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDER_CLOUD", str(folder / "cloud"))
        Stack(folder, engine).make()
    return folder


@pytest.fixture
def stack(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A copy of that stack."""
    folder = shutil.copytree(first, tmp_path / "copy")
    os.mkfifo(folder / "cloud" / "stopped")
    monkeypatch.setenv("FOLDER_CLOUD", str(folder / "cloud"))
    engine = find.find()
    assert engine is not None
    return Stack(folder, engine)


def test_a_create_that_happened_is_adopted(stack: Stack) -> None:
    """The lock is lifted, the bucket is in the state, nothing is pending; the next preview is empty, and a destroy takes all away."""
    stack.want({})
    stack.kill("after create")
    done = stack.recover()
    assert (len(done.lifted), done.adopted, done.absent, done.settled) == (1, (B,), (), ())
    assert done.lines()[1] == f"adopted {BUCKET} b: it was made when the run was killed"
    assert stack.pending == []
    assert stack.changes() == {"same"}
    assert stack.recover() == recovering.Recovered()
    stack.run("destroy", "--stack", "try", "--yes", "--skip-preview")
    assert stack.made == []


def test_a_create_that_did_not_happen_is_cleared(stack: Stack) -> None:
    """What is not there is not believed to be: the next run makes it."""
    stack.want({})
    stack.kill("before create")
    done = stack.recover()
    assert (done.adopted, done.absent) == ((), (B,))
    assert stack.pending == []
    assert stack.changes() == {"same", "create"}


@pytest.mark.parametrize("delete_first", [False, True])
def test_a_replacement_is_finished(delete_first: bool, stack: Stack) -> None:
    """Killed when the new one was made, before or after the old one went: in the end there is the new one alone."""
    stack.want({"delete_before_replace": delete_first})
    stack.up()
    stack.want({"delete_before_replace": delete_first, "name": "new"})
    stack.kill("after create")
    stack.recover()
    stack.up()
    assert (stack.made, stack.pending) == (["a", "new"], [])


@pytest.mark.parametrize("moment", ["before update", "after delete"])
def test_an_update_and_a_delete_are_settled(moment: str, stack: Stack) -> None:
    """The cloud says what became of them: an update that did not happen is still to be done, a delete that did is done."""
    stack.want({"color": "red"})
    stack.up()
    stack.want({"color": "blue"} if "update" in moment else None)
    stack.kill(moment)
    assert stack.recover().settled == (B,)
    assert stack.pending == []
    assert stack.changes() == ({"same", "update"} if "update" in moment else {"same"})


def test_recovery_can_be_killed_too(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between its two steps, it goes on with the second: what is not there is still found out."""
    stack.want({})
    stack.kill("before create")
    plain = recovering.call

    def killed(arguments: list[str], **how: Any) -> Any:
        if arguments[0] == "refresh":
            raise KeyboardInterrupt
        return plain(arguments, **how)

    monkeypatch.setattr(recovering, "call", killed)
    with pytest.raises(KeyboardInterrupt):
        stack.recover()
    monkeypatch.setattr(recovering, "call", plain)
    assert stack.pending == []
    assert stack.recover().settled == (B,)
    assert stack.changes() == {"same", "create"}


def test_what_cannot_be_told_is_said_and_kept(stack: Stack) -> None:
    """A create whose id nobody knows is named, and stays pending; forgetting is a word of its own."""
    stack.want({})
    stack.kill("before create")
    with pytest.raises(RecoverError, match=rf"(?s){BUCKET} b\n.*--forget"):
        stack.recover(recovering.cannot_tell)
    assert [one["type"] for one in stack.pending] == ["creating"]
    assert stack.recover(recovering.cannot_tell, forget=True).absent == (B,)
    assert stack.pending == []


def test_there_is_nothing_to_do_for_a_stack_that_is_not_there(stack: Stack) -> None:
    """A stack that was never made needs no mending."""
    assert recover(stack.home, "other", engine=stack.engine, folder=stack.folder) == recovering.Recovered()


# Locks, without the engine


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.prepare()
    return made


def lock(home: Home, **change: Any) -> Path:
    said = {"pid": 2**22 + 1, "username": "ann", "hostname": socket.gethostname(), "timestamp": "2026-11-30T07:45:57.451198564Z"}
    path = home.state / ".pulumi" / "locks" / "organization" / "folder" / "try" / f"{len(change)}-{id(change)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(said | change), encoding="utf-8")
    return path


@pytest.fixture
def working(tmp_path: Path) -> Iterator[int]:
    """A process that is called pulumi, and works."""
    program = shutil.copy("/bin/sleep", tmp_path / "pulumi-at-work")
    with subprocess.Popen([program, "600"]) as process:
        yield process.pid
        process.kill()


def test_dead_locks_are_lifted(home: Home) -> None:
    """Of a process that is gone, and of a number that another program has now."""
    paths = [lock(home), lock(home, pid=os.getpid())]
    assert sorted(one.pid for one in lift(home, "try")) == sorted([2**22 + 1, os.getpid()])
    assert not any(path.exists() for path in paths)


def test_a_dead_process_that_nobody_buried_is_dead(home: Home) -> None:
    """In a container without an init process, killed engines stay in the list of processes."""
    process = subprocess.Popen([shutil.copy("/bin/true", home.folder / "pulumi-dead")])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    lock(home, pid=process.pid)
    assert [one.pid for one in lift(home, "try")] == [process.pid]
    process.wait()


def test_a_lock_at_work_stays(home: Home, working: int) -> None:
    """Who works on the stack, since when, is said; the lock stays."""
    path = lock(home, pid=working)
    with pytest.raises(
        RecoverError, match=rf"try is locked by ann at {socket.gethostname()} since 2026-11-30 07:45:57 UTC .*, process {working} \(alive\)"
    ):
        list(lift(home, "try"))
    assert path.exists()


@pytest.mark.parametrize(
    ("change", "said"), [({"hostname": "elsewhere"}, "ann at elsewhere.*on another host"), ({"pid": None}, "does not say whose")]
)
def test_a_lock_that_cannot_be_judged_stays(change: dict[str, Any], said: str, home: Home) -> None:
    """Another machine's processes cannot be seen from here."""
    path = lock(home, **change)
    with pytest.raises(RecoverError, match=said):
        list(lift(home, "try"))
    assert path.exists()


def test_a_lock_that_was_never_written_goes(home: Home) -> None:
    """Killed while it wrote the file, the engine leaves one that would stop every later run; one just being written stays."""
    old, new = (lock(home).with_name(f"{name}.json.18c.tmp") for name in ("a", "b"))
    old.touch()
    os.utime(old, (0, 0))
    new.touch()
    with pytest.raises(RecoverError, match="does not say whose"):
        list(lift(home, "try"))
    assert (old.exists(), new.exists()) == (False, True)


def test_locks_of_other_stacks_are_left_alone(home: Home) -> None:
    """Each stack is mended by itself."""
    path = lock(home)
    assert list(lift(home, "other")) == []
    assert path.exists()


# States, without the engine

PROVIDER = {"urn": "urn:pulumi:try::folder::pulumi:providers:gcp::default", "id": "7", "custom": True, "type": "pulumi:providers:gcp"}


def bucket(**more: Any) -> dict[str, Any]:
    return {"urn": B, "custom": True, "type": BUCKET, "inputs": {"name": "b"}, "provider": f"{PROVIDER['urn']}::7"} | more


def mended(pending: list[dict[str, Any]], *resources: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, str | None]]:
    operations = [{"type": "creating", "resource": one} for one in pending]
    state = {"version": 3, "deployment": {"resources": [PROVIDER, *resources], "pending_operations": operations}}
    before = json.dumps(state)
    result, creates = adopt(state, by_name, stack="try")
    assert json.dumps(state) == before
    assert result["deployment"]["pending_operations"] == []
    return result["deployment"]["resources"][1:], creates


def test_a_later_run_made_it_all_the_same() -> None:
    """The engine keeps a pending create even when a later run has made the thing: it is only cleared."""
    assert mended([bucket()], bucket(id="b")) == ([bucket(id="b")], {})


def test_an_older_leftover_is_for_the_next_run_to_delete() -> None:
    """A later run made it under another name: the one that the killed run made is deleted, not the one in use."""
    now = bucket(id="new", created="2026-11-30T08:00:00.5Z")
    then = bucket(created="2026-11-30T08:00:00.451198564Z")
    assert mended([then], now) == ([now, then | {"id": "b", "delete": True}], {B: "b"})


def test_a_provider_that_was_made_anew_is_taken() -> None:
    """The provider is meant, not its number at the time."""
    resources, _ = mended([bucket(provider=f"{PROVIDER['urn']}::6")])
    assert resources == [bucket(id="b")]


def test_what_is_the_engine_s_own_is_made_anew() -> None:
    """Components and providers exist in the state alone: they are not looked for."""
    component = bucket(custom=False, type="accelform:storage:Storage")
    assert mended([component, PROVIDER | {"id": ""}]) == ([], {})


def test_what_surely_is_not_there_is_not_adopted() -> None:
    """An empty id: whoever looked has seen that there is none, whatever became of its provider."""
    assert mended([bucket(inputs={"name": ""}, provider="")]) == ([], {B: None})


def test_two_killed_runs_are_both_mended() -> None:
    """Each left its create: the same thing once, another thing as a leftover."""
    first, again = bucket(created="2026-11-30T07:00:00Z"), bucket(created="2026-11-30T08:00:00Z")
    assert mended([first, again]) == ([first | {"id": "b"}], {B: "b"})
    renamed = again | {"inputs": {"name": "new"}}
    assert mended([first, renamed]) == ([renamed | {"id": "new"}, first | {"id": "b", "delete": True}], {B: "new"})
