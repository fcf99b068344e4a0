"""`accelform init` writes a file that passes, or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import stack_kinds

Accelform = Callable[..., Any]
LEAST = [
    "init",
    "--yes",
    "--project=tw-shop-ml",
    "--region=us-east5",
    "--environment=dev",
    "--owner=ml-team",
    "--monthly-limit=3500 USD",
]
SLICE = ["--run=v6e-1", "--zone=us-east5-a", "--provisioning=spot", "--max-run-minutes=unlimited", "--because=it is tried on"]


@pytest.mark.parametrize(
    "more",
    [
        ["--run=nothing"],
        ["--run=endpoint", "--callers=none"],
        ["--run=endpoint", "--callers=user:a@shop.example", "--callers=group:ml@shop.example", "--notify=email:ml@shop.example"],
        SLICE,
        [*SLICE, "--run=endpoint", "--callers=none"],
        ["--run=v6e-4", "--zone=us-east5-b", "--provisioning=flex-start", "--max-run-minutes=120"],
    ],
)
def test_writes_a_file_that_passes(more: list[str], accelform: Accelform, tmp_path: Path) -> None:
    """Every answer is an option, and what is written is checked."""
    ran = accelform(*LEAST, *more, "--stacks", str(tmp_path))
    assert ran.code == 0, ran.err
    path = tmp_path / "Pulumi.us-east5.yaml"
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=stack.schema.json\n")
    assert accelform("check", str(path)).code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ["--project=My Shop"],
        ["--region=taiwan"],
        ["--owner=ML: team\n  x"],
        ["--monthly-limit=350"],
        ["--run=v5e-4", "--zone=us-east5-a", "--provisioning=spot", "--max-run-minutes=unlimited", "--because=it is"],
        ["--run=endpoint", "--callers=allUsers"],
        ["--stack=Prod_1"],
        ["--zone=us-east5-a"],
        ["--callers=user:a@shop.example"],
        [*SLICE, "--run=v6e-1"],
        ["--run=v6e-1", "--zone=us-east5-a", "--provisioning=spot", "--max-run-minutes=0060"],
        ["--stack=../up"],
        ["--run=v6e-1: {}\n    x", *SLICE[1:]],
        ["--notify=ml@shop.example"],
    ],
)
def test_fails_on_a_wrong_answer_and_writes_nothing(wrong: list[str], accelform: Accelform, tmp_path: Path) -> None:
    """An answer that would not pass leaves no file behind, not even a draft."""
    ran = accelform(*LEAST, "--run=nothing", *wrong, "--stacks", str(tmp_path))
    assert ran.code == 2
    assert list(tmp_path.iterdir()) == []


def test_writes_each_kind_of_file(accelform: Accelform, tmp_path: Path) -> None:
    """A region with a cluster, what lives in it with all that the region's file says, and what the project has once: each passes."""
    folder = ["--stacks", str(tmp_path)]
    assert accelform(*LEAST, "--run=cluster", *folder).code == 0
    assert accelform("init", "--yes", "--kind=apps", "--region-stack=us-east5", *folder).code == 0
    assert accelform(*LEAST, "--kind=foundation", "--notify=email:ml@shop.example", *folder).code == 0
    for stack, kind in (("us-east5", "region"), ("us-east5-apps", "apps"), ("foundation", "foundation")):
        path = tmp_path / f"Pulumi.{stack}.yaml"
        assert stack_kinds.kind_of(path) == kind
        assert accelform("check", str(path)).code == 0


@pytest.mark.parametrize(
    ("said", "path"),
    [
        (["--kind=cluster"], "--kind"),
        (["--kind=Apps"], "--kind"),
        (["--kind=apps"], "--region-stack"),
        (["--kind=apps", "--region-stack=nowhere"], "--region-stack"),
        (["--kind=apps", "--region-stack=../x"], "x"),
        (["--kind=apps", "--region-stack=bare"], "--region-stack"),
        (["--kind=apps", "--region-stack=bare", "--owner=ml-team"], "--owner"),
        ([*LEAST[2:], "--run=nothing", "--region-stack=bare"], "--region-stack"),
        ([*LEAST[2:], "--kind=foundation", "--run=endpoint", "--callers=none"], "--run"),
    ],
    ids=str,
)
def test_fails_on_what_a_kind_does_not_have(said: list[str], path: str, accelform: Accelform, tmp_path: Path) -> None:
    """It says which option is wrong, and writes nothing."""
    accelform(*LEAST, "--run=nothing", "--stack=bare", "--stacks", str(tmp_path))
    ran = accelform("init", "--yes", *said, "--stack=other", "--stacks", str(tmp_path))
    assert ran.code == 2
    assert path in ran.err
    assert [one.name for one in tmp_path.iterdir()] == ["Pulumi.bare.yaml"]


def test_fails_on_all_missing_answers_at_once(accelform: Accelform, tmp_path: Path) -> None:
    """Where nobody can be asked, every missing option is named."""
    ran = accelform("init", "--yes", "--stacks", str(tmp_path))
    assert ran.code == 2
    for option in ("--project", "--region", "--environment", "--owner", "--run", "--monthly-limit"):
        assert f"{option}: is missing" in ran.err


def test_fails_where_the_file_is_there_already(accelform: Accelform, tmp_path: Path) -> None:
    """A stack file is overwritten only by name of the option."""
    where = ["--run=nothing", "--stacks", str(tmp_path)]
    assert accelform(*LEAST, *where).code == 0
    before = (tmp_path / "Pulumi.us-east5.yaml").read_text(encoding="utf-8")
    assert accelform(*LEAST, *where, "--owner=others").code == 2
    assert (tmp_path / "Pulumi.us-east5.yaml").read_text(encoding="utf-8") == before
    assert accelform(*LEAST, *where, "--force", "--json").data["written"] == str(tmp_path / "Pulumi.us-east5.yaml")


def test_asks_in_words_what_was_not_said(accelform: Accelform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a person sits at the terminal, only what is missing is asked."""
    import rich.prompt

    asked = []
    said = {"region": "us-east5", "what to run": "v6e-1", "zone": "us-east5-a", "how its": "spot", "minutes": "60", "monthly": "350 USD"}

    def answer(question: str, **ignored: Any) -> str:
        asked.append(question)
        return next(value for key, value in said.items() if question.startswith(key))

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(rich.prompt.Prompt, "ask", answer)
    ran = accelform("init", "--project=tw-shop-ml", "--environment=dev", "--owner=ml-team", "--stacks", str(tmp_path))
    assert ran.code == 0, ran.err
    assert len(asked) == 6
    assert "max_run_minutes: 60" in (tmp_path / "Pulumi.us-east5.yaml").read_text(encoding="utf-8")


def test_keeps_what_only_the_engine_could_write(accelform: Accelform, tmp_path: Path) -> None:
    """A file with the stack's salt is not overwritten, even by force; a folder in its place is a sentence."""
    path = tmp_path / "Pulumi.us-east5.yaml"
    path.write_text("encryptionsalt: v1:x\nconfig: {}\n", encoding="utf-8")
    ran = accelform(*LEAST, "--run=nothing", "--force", "--stacks", str(tmp_path))
    assert (ran.code, "encryptionsalt" in ran.err) == (2, True)
    assert path.read_text(encoding="utf-8").startswith("encryptionsalt")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert accelform(*LEAST, "--run=nothing", "--stacks", str(tmp_path / "file")).code == 2
