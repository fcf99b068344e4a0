"""
What the engine's file backend holds of a stack, read as it stands there: `pulumi stack export` says the same, in a third of a second of the
processor. The engine writes each file whole and renames it. Secrets stay encrypted, as in an export.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infra.errors import MachineError


def read(folder: Path, stack: str) -> dict[str, Any] | None:
    """
    The state of a stack, as an export has it; None where the backend knows no such stack.

    Args:
        folder: Of the backend.

    Raises:
        MachineError: It is damaged.
    """
    path = next((one for one in sorted(files(folder)) if one.stem == stack), None)
    if path is None:
        return None
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return {"version": said["version"], "deployment": said["checkpoint"].get("latest") or {}}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise MachineError(
            f"stack {stack}: its state cannot be read\n  {path}: {type(error).__name__}: {error}\n"
            "  fix: accelform down --force drops the sandbox with all that stands in it"
        ) from None


def files(folder: Path) -> list[Path]:
    """The file of each stack that a backend knows."""
    return list((folder / ".pulumi" / "stacks").glob("*/*.json"))
