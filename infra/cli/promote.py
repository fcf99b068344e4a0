"""`accelform promote`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli.output import console, print_json
from infra.errors import ExitCode

if TYPE_CHECKING:
    from infra.promotion import Promotion


def run(source: str, target: str, folder: Path, *, check: bool, as_json: bool) -> int:
    """Writes what the one file gets from the other; with *check*, says whether anything would change."""
    from infra.check import stack_files
    from infra.promotion import promote

    [first] = stack_files([source], folder)
    [second] = stack_files([target], folder)
    found = promote(first, second, write=not check)
    code = ExitCode.FINDINGS if check and found.changes else ExitCode.OK
    if as_json:
        print_json(
            {
                "exit_code": int(code),
                "from": found.source.stack,
                "to": found.target.stack,
                "file": str(found.target.path),
                "written": bool(found.changes) and not check,
                "changes": [asdict(one) for one in found.changes],
                "copies": [{"image": one.image, "to": one.to, "command": one.command} for one in found.copies],
                "left": [{"key": key, "because": why} for key, why in found.left.items()],
            }
        )
        return code
    _print(found, check=check)
    return code


def _print(found: Promotion, *, check: bool) -> None:
    from rich.text import Text

    out = console()

    def say(line: str = "", style: str = "") -> None:
        out.print(Text(line, style), soft_wrap=True)

    if not found.changes:
        say(f"{found.target.stack} has all that {found.source.stack} has to give ({found.target.path})")
    else:
        what = "would get" if check else "gets"
        say(f"{found.target.stack} {what} from {found.source.stack} ({found.target.path})", "bold")
    for one in found.changes:
        say()
        say(f"  {one.key}")
        if one.before is not None:
            say(f"- {_shown(one.before)}", "red")
        if one.after is not None:
            say(f"+ {_shown(one.after)}", "green")
    if found.left:
        say()
        say("not promoted:")
    for key, why in found.left.items():
        say(f"  {key}: {why}", "yellow")
    if found.copies:
        say()
        say("copy first, each by its digest:")
    for copy in found.copies:
        say(f"  {copy.command}")
    if found.changes and not check:
        say()
        say(f"written, and not committed: git diff {found.target.path}; then a pull request")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
