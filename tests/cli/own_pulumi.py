"""A user's own Pulumi CLI, without Pulumi: it knows one stack, and says what a test tells it to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROGRAM = """\
#!{python} -SE
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
words = sys.argv[1:]
with (folder / "calls").open("a") as file:
    file.write(json.dumps(words) + "\\n")
if words == ["version"]:
    print("v3.274.1")
elif words[:2] == ["stack", "export"]:
    state = folder / "state.json"
    if not state.exists():
        sys.exit("error: no stack named 'try' found")
    print(state.read_text())
else:
    said = json.loads((folder / f"{{words[0]}}.json").read_text())
    for line in said["lines"]:
        print(line if isinstance(line, str) else json.dumps(line))
    sys.exit(said["code"])
"""


class OwnPulumi:
    """The CLI in a folder, which is the test's to put on PATH."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        path = folder / "pulumi"
        path.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
        path.chmod(0o700)
        self.stands()
        self.says("preview")
        self.says("up")
        self.says("destroy")

    def stands(self, *resources: dict[str, Any], cloud: str = "123456789012") -> None:
        """What the stack's state holds."""
        top = {
            "urn": "urn:pulumi:try::accelform::pulumi:pulumi:Stack::accelform-try",
            "type": "pulumi:pulumi:Stack",
            "outputs": {"cloud": cloud},
        }
        state = {"version": 3, "deployment": {"resources": [top, *resources] if resources or cloud == "sandbox" else []}}
        (self.folder / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def knows_nothing(self) -> None:
        (self.folder / "state.json").unlink()

    def says(self, command: str, *lines: dict[str, Any] | str, code: int = 0) -> None:
        """What a command prints."""
        (self.folder / f"{command}.json").write_text(json.dumps({"lines": lines, "code": code}), encoding="utf-8")

    @property
    def calls(self) -> list[list[str]]:
        """What was asked of it, but for its version."""
        calls = self.folder / "calls"
        text = calls.read_text(encoding="utf-8") if calls.exists() else ""
        return [words for line in text.splitlines() if (words := json.loads(line)) != ["version"]]
