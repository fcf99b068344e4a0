"""
The project that sandbox runs use: the checkout's own program, with generated copies of its stack files.

`stack init` and `config` write into a stack file; here they write into the copy, and tracked files stay as they are.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from infra.check import StackFile
from infra.clouds import CONFIG_KEY, COPY_KEY, SANDBOX, copy_of
from infra.errors import MachineError
from infra.local.engine import atomic, find
from infra.local.home import Home
from infra.sandbox.endpoints import provider_config

ALLOW_KEY = "accelform:allow_replace"


def checkout(folder: Path) -> Path:
    """
    The checkout that a folder is in.

    Raises:
        MachineError: It is in none.
    """
    for found in (folder, *folder.parents):
        if (found / "Pulumi.yaml").is_file() and (found / "infra" / "__main__.py").is_file():
            return found
    raise MachineError(f"{folder} is not in a checkout of this project: no Pulumi.yaml with infra/\n  fix: go to the checkout's folder")


def write(home: Home, root: Path, stacks: Sequence[StackFile], base: str, allow_replace: Mapping[str, Sequence[str]] | None = None) -> None:
    """
    Writes the project and a copy of each stack file, for a sandbox at *base*.

    Args:
        allow_replace: Node pools that may be made anew, by stack; the stack file may name more.
    """
    from ruamel.yaml import YAML

    home.project.mkdir(mode=0o700, exist_ok=True)
    _link(home.project / "infra", root / "infra")
    _link(home.project / ".venv", Path(sys.prefix))
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 4096
    settings = yaml.load((root / "Pulumi.yaml").read_text(encoding="utf-8"))
    settings["stackConfigDir"] = os.path.relpath(home.stacks, home.project)
    settings["runtime"]["options"]["virtualenv"] = sys.prefix
    atomic.write(home.project / "Pulumi.yaml", _text(yaml, settings))
    for stack in stacks:
        target = home.stacks / f"Pulumi.{stack.stack}.yaml"
        before = yaml.load(target.read_text(encoding="utf-8")) if target.exists() else {}
        config = yaml.load(stack.path.read_text(encoding="utf-8"))["config"]
        config[CONFIG_KEY] = SANDBOX
        if names := (allow_replace or {}).get(stack.stack):
            config[ALLOW_KEY] = list(names)
        config[COPY_KEY] = copy_of(stack.path)
        config.update({f"gcp:{key}": value for key, value in provider_config(base).items()})
        salt = {"encryptionsalt": before["encryptionsalt"]} if "encryptionsalt" in before else {}
        atomic.write(target, _text(yaml, salt | {"config": config}))


PULUMI = """\
#!/bin/sh
# Plain pulumi on the sandbox's stacks. Where a killed run left its lock, it says who mends it: the engine's own advice would orphan things.
{engine} "$@"
code=$?
if [ $code -ne 0 ] && ls {locks}/*/*/*/*.json >/dev/null 2>&1; then
  echo "accelform: a stack of the sandbox is locked. If no pulumi runs, a killed run left the lock: accelform recover" >&2
fi
exit $code
"""


def write_pulumi(home: Home, engine: find.Engine) -> None:
    """Puts `pulumi` into the home's `bin`, for shells that `accelform env` prepares."""
    text = PULUMI.format(engine=shlex.quote(str(engine.path)), locks=shlex.quote(str(home.state / ".pulumi" / "locks")))
    atomic.write(home.bin / "pulumi", text, mode=0o700)


def _text(yaml: Any, data: object) -> str:
    text = io.StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def _link(path: Path, target: Path) -> None:
    """A link to *target*, which may have moved since."""
    if path.is_symlink() and path.readlink() == target:
        return
    with suppress(FileNotFoundError):
        path.unlink()
    path.symlink_to(target)
