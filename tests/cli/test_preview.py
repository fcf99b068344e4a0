"""`accelform preview`, as far as it needs no engine. With it: tests/engine/test_preview.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from infra import stack_kinds
from infra.check import check, stack_files
from infra.cli import preview
from infra.cli.progress import Progress
from infra.local.engine import find
from infra.local.reach import Reach
from tests.cli.own_pulumi import OwnPulumi
from tests.gitops.conftest import summary

Accelform = Callable[..., Any]
BUCKET = "gcp:storage/bucket:Bucket"
STORAGE = "urn:pulumi:try::accelform::accelform:storage:Storage"
DATA = f"{STORAGE}${BUCKET}::data"
POOL = "gcp:container/nodePool:NodePool"
POOL_URN = f"urn:pulumi:try::accelform::accelform:node_pool:NodePool${POOL}::gpu"


def begun(op: str, urn: str, **more: Any) -> dict[str, Any]:
    return {"resourcePreEvent": {"metadata": {"op": op, "urn": urn, "type": urn.split("::")[2].rpartition("$")[2], **more}}}


def stored(urn: str, **more: Any) -> dict[str, Any]:
    return {"urn": urn, "type": urn.split("::")[2].rpartition("$")[2], "custom": True, **more}


def standing() -> list[dict[str, Any]]:
    """All that the stack of the test declares, as if it stood."""
    found = check(stack_files(["try"], Path("stacks"))[0]).resources
    return [
        stored(one.urn, parent=one.parent, inputs=json.loads(json.dumps(one.inputs, default=str)), protect=one.protect) for one in found
    ]


def test_a_stack_that_is_not_up_is_all_new_and_costs_what_check_says(accelform: Accelform, own_pulumi: OwnPulumi) -> None:
    """Nothing but a look is asked of the user's own CLI, with the pack."""
    own_pulumi.says("preview", begun("create", DATA), summary(create=1))
    ran = accelform("preview", "--cloud")
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.startswith("try: not up yet: 1 new (tw-shop-ml, us-east5, dev)\n")
    assert "Storage  1 new; us-east5" in ran.out
    assert "no such stack" in ran.out
    assert ran.out.endswith("make it so: accelform up --cloud try\n")
    assert own_pulumi.calls == [
        ["stack", "export", "--stack", "try", "--non-interactive", "--color", "never"],
        ["preview", "--policy-pack", "infra/policy", "--stack", "try", "--json", "--non-interactive"],
    ]
    data = accelform("preview", "--cloud", "--json").data["stacks"][0]
    assert (data["up"], data["counts"], data["cost"]["before_usd_month"]) == (False, {"create": 1, "same": 0}, None)
    assert accelform("cost", "--json").data["stacks"][0]["total_usd_month"] == {
        key: data["cost"]["after_usd_month"][key] for key in ("low", "expected", "high")
    }


def test_nothing_to_do_is_one_line(accelform: Accelform, own_pulumi: OwnPulumi) -> None:
    """What stays costs exactly what it did."""
    every = standing()
    own_pulumi.stands(*every)
    own_pulumi.says("preview", *(begun("same", one["urn"]) for one in every), summary(same=len(every)))
    ran = accelform("preview", "--cloud")
    assert ran.code == 0
    (line,) = ran.out.splitlines()
    assert line.startswith("try: no changes: ")
    data = accelform("preview", "--cloud", "--json").data["stacks"][0]
    assert [Decimal(amount) for amount in data["cost"]["difference_usd_month"].values()] == [0, 0, 0]
    assert data["changes"] == []


def test_what_is_lost_is_first_on_narrow_terminals_too(
    accelform: Accelform, own_pulumi: OwnPulumi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data that the state protects, held fields, and what differs, by the names of properties and no value."""
    old = "urn:pulumi:try::accelform::accelform:storage:Storage$gcp:storage/bucket:Bucket::old"
    own_pulumi.stands(stored(old, protect=True, inputs={"location": "us-east5", "storageClass": "STANDARD"}))
    note = {"urn": DATA, "severity": "info", "message": "kept as it is: traffic, by rollout until 09:00"}
    own_pulumi.says(
        "preview",
        begun("update", DATA, detailedDiff={"labels.owner": {"diffKind": "update"}}, new={"inputs": {"labels": {"owner": "s3cret"}}}),
        begun("delete", old),
        {"diagnosticEvent": note},
        summary(update=1, delete=1),
    )
    ran = accelform("preview", "--cloud")
    lines = ran.out.splitlines()
    assert lines[0] == "try: 1 deleted, 1 changed, 0 stay (tw-shop-ml, us-east5, dev)"
    assert lines[2].strip() == "lost"
    assert lines[3].startswith("deleted  Bucket old (data): every object in it goes; protected: it stays, and the update stops there")
    assert "labels.owner  Bucket data" in ran.out
    assert "gcp:storage/bucket:Bucket data: kept as it is: traffic, by rollout until 09:00" in ran.out
    assert "s3cret" not in ran.out + accelform("preview", "--cloud", "--json").out
    monkeypatch.setattr("infra.cli.preview.console", lambda: Console(width=44, highlight=False))
    narrow = accelform("preview", "--cloud").out.splitlines()
    assert max(len(line.rstrip()) for line in narrow if not line.startswith("make it so")) <= 44
    assert "deleted  Bucket old (data): every object" in narrow[4]


def test_a_pool_that_nobody_named_is_refused(
    accelform: Accelform, own_pulumi: OwnPulumi, write_stack: Callable[..., None], base: dict[str, Any]
) -> None:
    """As `up` refuses it; named in the file it passes."""
    gpu = {"cluster": "main", "machine_type": "g2-standard-8", "provisioning": "spot", "autoscale": {"max": 4}}
    clusters = {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}
    with_pool = base | clusters | {"accelform:node_pools": {"gpu": gpu}}
    write_stack(with_pool)
    own_pulumi.says(
        "preview", begun("replace", POOL_URN, detailedDiff={"nodeConfig.diskSizeGb": {"diffKind": "update-replace"}}), summary(replace=1)
    )
    ran = accelform("preview", "--cloud")
    assert ran.code == 3
    assert "made anew  NodePool gpu (accelerators), for nodeConfig.diskSizeGb: every node goes" in ran.out
    assert "--allow-replace gpu" in ran.out
    assert "once measured: 2 min (low trust, 2019-07-24)" in ran.out
    write_stack(with_pool | {"accelform:allow_replace": ["gpu"]})
    again = accelform("preview", "--cloud", "--json").data
    assert again["stacks"][0]["refused"] == []
    assert again["exit_code"] in (0, 4)


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ([{"diagnosticEvent": {"severity": "error", "message": "googleapi: Error 403: no"}}], 6, "googleapi: Error 403: no"),
        (["error: passphrase must be set"], 6, "passphrase must be set"),
        ([], 6, "the engine said nothing"),
        (
            [{"policyEvent": {"resourceUrn": DATA, "policyName": "labels", "message": "no owner", "enforcementLevel": "mandatory"}}],
            3,
            "labels: no owner",
        ),
    ],
)
def test_what_stops_an_update_stops_the_exit_code(
    lines: list[Any], code: int, said: str, accelform: Accelform, own_pulumi: OwnPulumi
) -> None:
    own_pulumi.says("preview", *lines, code=255)
    ran = accelform("preview", "--cloud")
    assert ran.code == code
    assert said in ran.out
    assert "make it so" not in ran.out


def test_a_wrong_file_is_told_and_no_engine_is_asked(
    accelform: Accelform, own_pulumi: OwnPulumi, base: dict[str, Any], write_stack: Callable[..., None]
) -> None:
    write_stack(base | {"accelform:regoin": "us-east5"})
    ran = accelform("preview", "--cloud")
    assert ran.code == 2
    assert "try: cannot be previewed" in ran.out
    assert "regoin" in ran.out
    assert accelform("preview", "--cloud", "--json").data["stacks"][0]["problems"][0]["path"] == "regoin"
    assert own_pulumi.calls == []


@pytest.mark.parametrize("command", [["preview"], ["up", "--yes"], ["down", "try", "--yes"]])
def test_a_state_of_the_sandbox_is_not_touched_in_google_cloud(command: list[str], accelform: Accelform, own_pulumi: OwnPulumi) -> None:
    own_pulumi.stands(cloud="sandbox")
    ran = accelform(*command, "--cloud")
    assert ran.code == 5
    assert "belongs to the sandbox on this machine" in ran.err
    assert [words[0] for words in own_pulumi.calls] == ["stack"]


def test_a_cli_that_is_not_there_or_is_not_the_users_is_not_asked(
    accelform: Accelform, own_pulumi: OwnPulumi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one whose backend does not know the stack."""
    own_pulumi.knows_nothing()
    ran = accelform("preview", "--cloud")
    assert ran.code == 5
    assert "pulumi stack init try" in ran.err
    monkeypatch.setenv("PULUMI_OPTION_CWD", "/somewhere")
    assert "prepared for the sandbox" in accelform("preview", "--cloud").err
    monkeypatch.delenv("PULUMI_OPTION_CWD")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "there is no Pulumi CLI" in accelform("preview", "--cloud").err
    assert [words[0] for words in own_pulumi.calls] == ["stack"]


def test_what_waits_for_its_region_is_told_by_its_file_alone(accelform: Accelform, capsys: pytest.CaptureFixture[str]) -> None:
    """The engine could not read the outputs of a stack that is not up; nothing is said to be looked at that was not."""
    (file,) = stack_files(["us-central1-apps"], Path("stacks"))
    there = Reach(find.Engine(Path("/nowhere"), "3.0.0", "built here"), {}, Path(), False, {file.stack: None})
    seen = preview.look(there, file, Progress(quiet=True), stack_kinds.load(file.path))
    assert (seen.waits_for, seen.outcome, seen.up) == ("us-central1", None, False)
    assert {one.op for one in seen.changed} == {"create"}
    preview.show(Console(width=200), file, seen, full=False)
    said = capsys.readouterr().out
    assert "by the file alone: it is looked at once us-central1 stands" in said
    assert len(said.splitlines()) < 40 < len(seen.changed)
    assert preview.as_data(file, seen)["looked_at"] is False
