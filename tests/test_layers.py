"""Imports go down only: cli > program, operate, local > components, cost, policy > catalog > spec, errors."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent

LEVELS = [
    {
        "errors",
        "declared",
        "findings",
        "names",
        "labels",
        "currencies",
        "schedule",
        "accept_if",
        "gcp",
        "kubernetes",
        "accelform",
        "queued_nodes",
        "documents",
        "environments",
        "answering",
        "wire",
    },
    {"spec", "job_plan", "planned_jobs"},
    {"catalog", "locked"},
    {"translations", "translated"},
    {"sandbox"},
    {"clouds", "components", "in_cluster", "cost", "policy", "provider"},
    {
        "confirmed",
        "exceptions",
        "stack",
        "stack_file",
        "apps",
        "foundation",
        "keys",
        "refusals",
        "yaml_file",
        "one_project",
        "collect",
        "operate",
    },
    {"program", "apps_program", "apps_training", "foundation_program"},
    {"check", "stack_kinds", "twice", "apps_beside", "whole_project", "promotion"},
    {"report"},
    {"local"},
    {"gitops"},
    {"cli", "__main__"},
]
"""Rooms and single files, lowest first. A room may import from its own level and from those below."""


def level_of(room: str) -> int:
    return next(index for index, rooms in enumerate(LEVELS) if room in rooms)


def imported(path: Path) -> set[str]:
    """Rooms that a file imports from, lazily or not."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "infra":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("infra."):
            found.add(str(node.module).split(".")[1])
    return found


def test_imports_go_down_only() -> None:
    """No file imports from a room above its own."""
    for path in (ROOT / "infra").rglob("*.py"):
        parts = path.relative_to(ROOT / "infra").parts
        room = parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for other in imported(path):
            assert level_of(other) <= level_of(room), f"{path.relative_to(ROOT)} imports infra.{other}"


def test_workloads_know_nothing_of_infra() -> None:
    """The jobs run where no infrastructure code is."""
    for path in (ROOT / "workloads").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not imported(path), path
        assert "import pulumi" not in text, path


def test_command_modules_import_nothing_heavy_at_their_top() -> None:
    """What `--help` loads has no pulumi, google, pydantic or rich."""
    for path in (ROOT / "infra" / "cli").glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [str(node.module)]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not [
                name for name in names if name.split(".")[0] in ("pulumi", "google", "pydantic", "rich", "ruamel", "googleapiclient")
            ], path
