"""Documents say what is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
TEXTS = [path for path in ROOT.rglob("*.md") if not {".venv", ".git", ".hypothesis"} & set(path.relative_to(ROOT).parts)]


def test_generated_parts_are_fresh() -> None:
    """Tables, output, help and schema are what the code gives now."""
    done = subprocess.run([sys.executable, "tools/docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_chinese_readme_has_the_same_sections() -> None:
    """Same headings by level, same generated blocks, same links to code and documents."""

    def shape(name: str) -> tuple[list[int], list[str], list[str]]:
        text = (ROOT / name).read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        levels = [len(marks) for marks in re.findall(r"^(#+) ", prose, flags=re.MULTILINE)]
        return levels, re.findall(r"^cog\.outl\(.*$", text, flags=re.MULTILINE), sorted(re.findall(r"\]\(([^)]+)\)", text))

    assert shape("README.md") == shape("README.zh-CN.md")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link of a document is there."""
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


@cache
def schema() -> jsonschema.Draft202012Validator:
    """What an editor holds a file against: read and checked once."""
    found = json.loads((ROOT / "stacks" / "stack.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("path", sorted((ROOT / "stacks").glob("*.yaml")), ids=lambda path: path.name)
def test_the_schema_accepts_the_stacks(path: Path) -> None:
    """What the program accepts, an editor accepts."""
    document = YAML(typ="safe", pure=True).load(re.sub(r"(\d{4}-\d\d-\d\d)", r'"\1"', path.read_text(encoding="utf-8")))
    assert not list(schema().iter_errors(document))
    document["config"]["accelform:nonsense"] = 1
    assert not schema().is_valid(document)


@pytest.mark.parametrize("path", ["stacks/Pulumi.asia-east1.yaml", "docs/examples/Pulumi.jobs.yaml"])
def test_jobs_of_examples_name_the_data_that_their_programs_read(path: str) -> None:
    """A program that misses a folder ends at once, on a machine that was made for it."""
    from infra.stack import StackSpec

    jobs = StackSpec.load(ROOT / path).jobs
    assert jobs
    assert {name: set(job.program.needs) - set(job.data) for name, job in jobs.items()} == {name: set() for name in jobs}


def test_the_project_names_no_machine_of_its_makers() -> None:
    """No tracked text holds a path of the machine that it was written on."""
    parent = f"{ROOT.parent}/"
    for path in ROOT.rglob("*"):
        if (
            path.is_file()
            and path.suffix in (".py", ".md", ".yaml", ".toml", ".csv", ".json", ".lock")
            and not {".venv", ".git", ".accelform"} & set(path.relative_to(ROOT).parts)
        ):
            assert parent == "/" or parent not in path.read_text(encoding="utf-8"), path
