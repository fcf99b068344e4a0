"""
Guides, walked through: what a guide says to type is typed, in its order, in a copy of the project, and what it shows must be printed.

A guide has fenced blocks of these kinds, and no other, so that nothing in it stays untried:

| fence | is |
|---|---|
| `sh` | commands; the first line may be a mark, which says where they can be typed |
| `text` | what the commands above it print. `...` on a line of its own stands for lines, within a line for words |
| `yaml`, `python`, `toml` | a file, where the first line is a comment with its path; else a part of one, which other tests read |
| `diff` | a change of a file whose path is behind `---`: the lines with `-` are there, and those with `+` take their place |
| none, `$ accelform` first | what `tools/docs.py` wrote, and checks |
| `sql` | what another program is told |
"""

from __future__ import annotations

import gc
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer
import typer.main

from infra.cli.app import app, main

ROOT = Path(__file__).parent.parent
GUIDES = ROOT / "docs" / "guides"
CLOUD = "# on Google Cloud"
"""Mark of commands that need a project there, its tools, or credentials: nobody has typed them here. Those of ours are parsed."""
INTERNET = "# from the internet"
"""Mark of commands that fetch something, which no test does."""
MARKS = (CLOUD, INTERNET)
KINDS = ("sh", "text", "yaml", "python", "toml", "diff", "sql")
ENDS = re.compile(r"  # ends with ([0-9]+)$", re.MULTILINE)
"""Said behind a command that does not end with 0."""
FILE = re.compile(r"# ([\w.-]+(?:/[\w.-]+)+)")
NOW = "1796083200"
"""2026-12-01: the day of everything that the documents show."""
SECONDS = 900
QUICK = {
    ("check",),
    ("compare",),
    ("cost",),
    ("explain",),
    ("init",),
    ("promote",),
    ("report",),
    ("gitops", "init", "github"),
    ("gitops", "init", "operator"),
    ("image", "sbom"),
    *(("catalog", name) for name in ("ages", "fits", "region", "search", "show", "zone", "zones")),
}
"""Commands of ours that need no engine and start nothing: typed in each run of the tests."""
SHELL = re.compile(r"[|&;<>$`]")
JOINS = {"&&", "||", "|", ";", "&"}
"""Between two commands of a line: where there is one, only a shell can type the line."""
PLAIN = ("cat", "cp", "mkdir", "export")
SLOW = {"--actual", "--against", "--open"}
"""Options with which they need more: a bill, a repository, a browser."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    line: int
    kind: str
    text: str

    @property
    def mark(self) -> str:
        first = self.text.partition("\n")[0]
        return next((mark for mark in MARKS if self.kind == "sh" and first.startswith(mark)), "")

    @property
    def file(self) -> str:
        """Path of the whole file that it is; nothing, where it is a part."""
        first = FILE.fullmatch(self.text.partition("\n")[0])
        return first[1] if first and self.kind in ("yaml", "python", "toml") else ""

    @property
    def commands(self) -> list[list[str]]:
        """Each line's words, continued lines as one; those that only a shell can read are left out."""
        found = []
        for line in self.text.replace("\\\n", " ").splitlines():
            try:
                words = shlex.split(line, comments=True)
            except ValueError:
                continue
            for joined, part in groupby(words, JOINS.__contains__):
                if not joined:
                    found.append(list(part))
        return found


def blocks(path: Path) -> list[Block]:
    """
    All of a guide, in order.

    Raises:
        AssertionError: One is of no kind that is known, or code is indented instead of fenced: nobody would try it.
    """
    found: list[Block] = []
    kind, lines, began, before = None, list[str](), 0, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path.relative_to(ROOT)}:{number}"
        fence = re.fullmatch(r"\s*```(.*)", line)
        if fence and kind is None:
            kind, lines, began = fence[1], [], number
        elif fence:
            text = "\n".join(lines)
            assert kind in KINDS or (kind == "" and text.startswith("$ accelform")), (
                f"{where}: a block of the kind {kind!r}, which no test tries; allowed: {', '.join(KINDS)} (tests/walk.py says what each is)"
            )
            found.append(Block(began, str(kind), text))
            kind = None
        elif kind is not None:
            lines.append(line)
        else:
            indented = re.match(r"    \S", line) and before in ("", "\n")
            assert not indented, f"{where}: indented code, which no test tries: put it between ```sh and ```"
            before = line
    assert kind is None, f"{path.relative_to(ROOT)}: its last block does not end"
    return found


def parsed(words: list[str]) -> tuple[str, ...]:
    """
    The path of the command that a line of ours names, by its own parser.

    Raises:
        click.UsageError: There is no such command or option.
    """
    command: Any = typer.main.get_command(app)
    path: list[str] = []
    with redirect_stdout(io.StringIO()), suppress(typer.Exit):  # the second ends `--help`
        context = command.make_context("accelform", list(words))
        while hasattr(command, "commands"):
            name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            path.append(name)
            context = command.make_context(name, list(rest), parent=context)
    return tuple(path)


class Walk:
    """
    A newcomer in a fresh copy of the project.

    Args:
        whole: Whether everything is typed, in a shell; else the quick commands alone, in this process, and the others are parsed.
    """

    def __init__(self, folder: Path, *, whole: bool) -> None:
        self.folder = folder
        self.whole = whole
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("ACCELFORM", "PULUMI", "GOOGLE", "WL_"))},
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
            "PYTHONSAFEPATH": "1",
            "SOURCE_DATE_EPOCH": NOW,
        }
        self._printed: str | None = None
        self._exported: dict[str, str] = {}
        self._own_code = False
        """Whether the guide has changed the program: what it then prints, only a process of its own tells."""
        ignore = shutil.ignore_patterns("__pycache__")
        for part in ("stacks", "docs", *(("infra", "workloads", "tests", "tools", "requirements") if whole else ())):
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        for name in ("Pulumi.yaml", "Makefile", "README.md", "README.zh-CN.md", "pyproject.toml", "CHANGELOG.md", "CONTRIBUTING.md"):
            shutil.copy(ROOT / name, folder / name)
        if not whole:
            (folder / "infra").mkdir()
            shutil.copy(ROOT / "infra" / "__main__.py", folder / "infra")  # a checkout has it
        else:
            (folder / ".gitignore").write_text(".accelform\n__pycache__\n.venv\n", encoding="utf-8")
            (folder / ".venv").symlink_to(sys.prefix)
            for git in (["init", "--quiet"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "-m", "t"]):
                subprocess.run(["git", *git], cwd=folder, check=True)

    def through(self, path: Path) -> None:
        """Reads the guide to its end, and does what it says."""
        for block in blocks(path):
            where = f"{path.relative_to(ROOT)}:{block.line}"
            if block.kind == "sh":
                self._type(block, where)
            elif block.kind == "text":
                self._look(block, where)
            elif block.kind == "diff":
                self._change(block, where)
            elif block.file:
                target = self.folder / block.file
                self._own_code |= block.file.startswith("infra/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(f"{block.text}\n", encoding="utf-8")

    def _type(self, block: Block, where: str) -> None:
        for words in block.commands:
            if words[0] == "accelform":
                try:
                    parsed(words[1:])
                except Exception as error:
                    raise AssertionError(f"{where}: {shlex.join(words)}: {error}") from None
            if words[0] == "make":
                targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
                assert set(words[1:]) <= set(targets), f"{where}: {shlex.join(words)}: no such target"
        self._printed = None
        if block.mark:
            return
        if self.whole:
            self._printed = self._in_a_shell(block, where)
        elif not (self._own_code or SHELL.search(block.text)) and all(self._is_quick(words) for words in block.commands):
            self._printed = "".join(self._here(words, block, where) for words in block.commands)

    @staticmethod
    def _is_quick(words: list[str]) -> bool:
        return words[0] in PLAIN or (
            words[0] == "accelform" and parsed(words[1:]) in QUICK and not SLOW & set(words) and not {">", "|", "&&"} & set(words)
        )

    def _here(self, words: list[str], block: Block, where: str) -> str:
        """Types one of our commands, in this process, or one that copies or shows files."""
        if words[0] == "export":
            self._exported |= dict(word.split("=", 1) for word in words[1:])
            return ""
        if words[0] in PLAIN:
            return subprocess.run(words, cwd=self.folder, check=True, capture_output=True, text=True).stdout
        printed = io.StringIO()
        code: object = 0
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        environment = patch.dict(os.environ, {"SOURCE_DATE_EPOCH": NOW, **self._exported})
        with chdir(self.folder), environment, patch.object(sys, "argv", words), redirect_stdout(printed), redirect_stderr(printed):
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                gc.unfreeze()
                gc.enable()
        assert code == expected(block), f"{where}: {shlex.join(words)} ended with {code}:\n{printed.getvalue()}"
        return printed.getvalue()

    def _in_a_shell(self, block: Block, where: str) -> str:
        """Types the block into a shell that has what the blocks before it exported."""
        kept = self.folder.parent / f"{self.folder.name}.environment"
        script = f"set -euo pipefail\n{block.text}\nenv -0 > {shlex.quote(str(kept))}\n"
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            began = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = began.wait(SECONDS)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(began.pid, signal.SIGKILL)  # what it left in the background
                began.wait()
            said.seek(0)
            printed = said.read()
        assert code == expected(block), f"{where}: ended with {code}:\n{block.text}\n\n{printed}"
        if code == 0:
            pairs = (line.partition("=") for line in kept.read_text(encoding="utf-8").split("\0") if line)
            self._environment = {name: value for name, _, value in pairs if name not in ("_", "SHLVL", "PWD", "OLDPWD")}
        return printed

    def _look(self, block: Block, where: str) -> None:
        """What the guide shows is what was printed."""
        if self._printed is not None:
            assert shows(block.text, self._printed), f"{where}: shows\n{block.text}\n\nand printed is\n{self._printed}"

    def _change(self, block: Block, where: str) -> None:
        head, *lines = block.text.splitlines()
        assert head.startswith("--- "), f"{where}: the first line of a diff is --- and the path"
        target = self.folder / head[4:].strip()
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / target.relative_to(self.folder), target)
        before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
        after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
        text = target.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{where}: {target.name} has these lines {text.count(before)} times, and should once:\n{before}"
        target.write_text(text.replace(before, after), encoding="utf-8")


def expected(block: Block) -> int:
    """The exit code that the guide tells."""
    found = ENDS.findall(block.text)
    assert len(found) < 2, block.text
    assert not found or len(block.commands) == 1, f"a command that fails stands alone in its block:\n{block.text}"
    return int(found[0]) if found else 0


def shows(said: str, printed: str) -> bool:
    """Whether printed lines are those that are said; spaces count as one."""

    def tidy(text: str) -> Iterator[str]:
        for line in text.splitlines():
            if words := " ".join(line.split()):
                yield words

    pattern = ""
    for line in tidy(said):
        pattern += r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", r"[^\n]*?") + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in tidy(printed))) is not None
