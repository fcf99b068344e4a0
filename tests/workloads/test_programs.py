"""The table of programs against what is there: a name that means nothing would be found out on a machine that was made for it."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from workloads.job import PROGRAMS, Program

IMAGES = Path(__file__).parents[2] / "workloads" / "images"
ALL = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


def functions(module: str) -> dict[str, ast.FunctionDef]:
    """What a module defines at its top, read and not imported: JAX and TensorFlow take seconds."""
    found = find_spec(module)
    assert found is not None, module
    assert found.origin is not None, module
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    return {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}


@ALL
def test_each_program_is_there_as_its_image_starts_it(program: Program) -> None:
    """`workloads.entry` calls `parser(program)` and `run(settings, options)`; the image has a folder with what it is built of."""
    there = functions(program.module)
    assert (IMAGES / program.image / "Dockerfile").is_file()
    if program.kind == "serve":
        assert not program.needs
        return
    assert {name: len(there[name].args.args) for name in ("parser", "run")} == {"parser": 1, "run": 2}


@ALL
def test_each_says_data_that_somebody_makes_up(program: Program) -> None:
    """A module that makes data up is run as a program; an argument that does is one of the program's own."""
    if program.example:
        assert "main" in functions(program.example)
    if program.alone:
        parser = functions(program.module)["parser"]
        assert program.alone in {one.value for one in ast.walk(parser) if isinstance(one, ast.Constant)}
        assert program.lacks([program.alone], {}) == ()
    assert program.lacks([], {}) == program.needs
    assert program.lacks([""], dict.fromkeys(program.needs, "x")) == ()
