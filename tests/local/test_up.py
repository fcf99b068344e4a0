"""What `down` takes away besides what the engine made. The runs themselves are in tests/engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from infra.apps import AppsSpec
from infra.check import StackFile
from infra.errors import MachineError, SpecError
from infra.local import up
from infra.sandbox import process
from infra.stack import StackSpec

STORAGE = "storage.googleapis.com"


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[process.Running]:
    yield process.start(tmp_path / "sandbox", ["shop-prod"])
    process.stop(tmp_path / "sandbox")


def test_what_is_in_a_stacks_buckets_goes_and_only_that(sandbox: process.Running) -> None:
    """Its own buckets are emptied, older versions too; elsewhere only what controllers wrote about it goes."""

    def ask(path: str, body: Any, **query: str) -> None:
        httpx.post(f"{sandbox.base}/{STORAGE}/{path}", json=body, params=query, trust_env=False).raise_for_status()

    for bucket in ("own", "shared"):
        ask("storage/v1/b", {"name": f"shop-{bucket}", "versioning": {"enabled": True}}, project="shop-prod")
    put = {
        "shop-own": ["clicks/a.csv", "clicks/a.csv", "pictures/p 1.png"],
        "shop-shared": ["clicks/b.csv", ".accelform/jobs/try/train/job.json", ".accelform/holds/try.json", ".accelform/holds/tryout.json"],
    }
    for bucket, names in put.items():
        for name in names:
            ask(f"upload/storage/v1/b/{bucket}/o", {"a": 1}, uploadType="media", name=name)

    up._forget(cast(up.Place, SimpleNamespace(sandbox=sandbox)), "try", {"shop-own"})

    found = [
        one["name"] for one in process.ask(sandbox, "GET", "resources")["resources"] if one["service"] == STORAGE and "/o/" in one["name"]
    ]
    assert sorted(found) == ["b/shop-shared/o/.accelform%2Fholds%2Ftryout.json", "b/shop-shared/o/clicks%2Fb.csv"]


def test_fails_where_accelerators_would_be_made_anew() -> None:
    """
    Whatever makes a pool anew is named with it, and only the pools that the stack file names may be: changing the driver of GPUs would give
    them back (hashicorp/terraform-provider-google issue 23248).
    """
    urn = "urn:pulumi:try::accelform::accelform:node_pool:NodePool$gcp:container/nodePool:NodePool::{}"
    driver = "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion"
    system = (
        "urn:pulumi:try::accelform::accelform:cluster:Cluster$gcp:container/cluster:Cluster$gcp:container/nodePool:NodePool::main-system"
    )
    replaced = {urn.format("serve"): [driver], urn.format("train"): [], system: ["name"]}
    with pytest.raises(up.ReplaceError) as caught:
        up.check_replaced("try", replaced, ["train"])
    assert f"node_pools.serve: {driver}\n" in str(caught.value)
    assert "`accelform:allow_replace: [serve]`" in str(caught.value)
    assert "main-system" not in str(caught.value)
    up.check_replaced("try", replaced, ["serve", "train"])


def test_fails_where_what_lives_in_a_cluster_would_outlive_it_or_come_before_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Regions come first and go last, whatever they are called; one without the other is refused with the command that does."""
    reference = {"type": "pulumi:pulumi:StackReference", "inputs": {"name": "organization/accelform/there"}}
    states = {"a-apps": {"deployment": {"resources": [reference]}}, "there": {"deployment": {"resources": []}}, "new": None}
    monkeypatch.setattr(up, "standing", lambda home: list(states))
    monkeypatch.setattr(up, "_state", lambda place, stack: states[stack])
    place = cast(up.Place, SimpleNamespace(home=None))
    assert up.last_first(place, ["there", "new", "a-apps"]) == ["a-apps", "there", "new"]
    assert up.last_first(place, ["a-apps"]) == ["a-apps"]
    with pytest.raises(MachineError, match="fix: accelform down there a-apps"):
        up.last_first(place, ["there"])

    apps = AppsSpec.model_construct(region_stack="there")
    up._check_before({"a-apps": apps}, ["there"])
    with pytest.raises(MachineError, match="fix: accelform up there a-apps"):
        up._check_before({"a-apps": apps}, ["elsewhere"])


@pytest.mark.parametrize(
    ("stacks", "reads", "order"),
    [
        (["once", "here", "apps"], {"here": {"once"}, "apps": {"here"}}, ["apps", "here", "once"]),
        (["a", "b"], {}, ["a", "b"]),
        (["once", "here"], {"here": {"once", "gone"}}, ["here", "once"]),
        (["a", "b", "c"], {"a": {"b"}, "b": {"a"}}, ["b", "a", "c"]),
        ([], {}, []),
    ],
    ids=["chain", "nothing read", "one that is not named", "circle", "none"],
)
def test_stacks_go_after_those_that_read_them(stacks: list[str], reads: dict[str, set[str]], order: list[str]) -> None:
    """Of a circle, none waits for ever."""
    assert up.in_turn(stacks, reads) == order


def test_fails_where_a_region_loses_what_stands_in_its_cluster(base: dict[str, Any], stack_file: Callable[..., Path]) -> None:
    """Also where only the region is brought up: the file beside it, of what stands there, no longer fits. What does not stand is left alone."""
    region = base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}
    own = ("gcp:project", "accelform:schema", "accelform:region", "accelform:environment", "accelform:owner")
    ladder = {"machine_type": "g2-standard-8", "provisioning": ["spot"], "max_nodes": 1, "node_pools": ["l4"]}
    apps = {key: region[key] for key in own} | {"accelform:kind": "apps", "accelform:region_stack": "there"}
    stack_file(apps | {"accelform:compute_classes": {"any": ladder}}, "there-apps")
    there = [StackFile("there", stack_file(region, "there"))]
    up._check_apps(there, {"there": StackSpec.load(there[0].path)}, ["there"])
    with pytest.raises(SpecError, match="l4 is no node pool of the cluster"):
        up._check_apps(there, {"there": StackSpec.load(there[0].path)}, ["there", "there-apps"])


def test_what_a_stopped_run_left_in_a_cluster_that_is_gone_holds_no_destroy_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run in a cluster that does not answer fails, and is looked at anew by the next: where that destroys, nothing is asked of it."""
    asked: list[tuple[list[str], object, bool]] = []
    monkeypatch.setattr("infra.local.recover.recover", lambda *_, **__: SimpleNamespace(lines=list))
    monkeypatch.setattr(up.refreshed, "refresh", lambda stack, *, env, allow_gone, **_: asked.append(([stack], env, allow_gone)))
    home = SimpleNamespace(folder=tmp_path, project=tmp_path, env=lambda engine: {})
    place = cast(up.Place, SimpleNamespace(home=home, engine=None, sandbox=SimpleNamespace(base="")))
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "apps").write_text("[]")
    progress = cast(up.Progress, SimpleNamespace(say=lambda text: None))
    [said] = up.recovered(place, "apps", progress, env=up.GONE)
    assert (asked, "looked at everything anew" in said) == ([(["apps"], up.GONE, True)], True)
    assert not list((tmp_path / "begun").iterdir())
