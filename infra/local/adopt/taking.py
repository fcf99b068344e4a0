"""Takes what an import file names into a stack's state in the sandbox. The cloud is only read."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.local.adopt.import_file import COMMAND
from infra.local.engine import atomic
from infra.local.engine.call import call, failed
from infra.local.engine.find import Engine
from infra.local.engine.state import read
from infra.local.home import Home


def files(folder: Path, stack: str) -> list[Path]:
    """Import files of a stack, in the order in which they are imported; all places, whether there is a file or not."""
    return [folder / f"{stack}.import-first.json", folder / f"{stack}.import.json"]


def take(home: Home, engine: Engine, folder: Path, stack: str) -> int | None:
    """
    Imports a stack's files, and removes them; what is in the state already stays as it is. Killed, the next call goes on from there.

    Returns:
        How many resources the state has then; None where there is no file.

    Raises:
        MachineError: The engine refused: something that the file names is not there any more.
    """
    every = files(folder, stack)
    if not every[-1].is_file():
        return None
    env = home.env(engine)
    for file in every:
        if file.is_file():
            arguments = ["import", "--file", str(file.resolve()), "--stack", stack, *COMMAND]
            done = call(arguments, engine=engine, env=env, folder=home.project)
            if done.returncode:
                what = f"stack {stack}: {file} cannot be imported; nothing was made or changed in the cloud"
                raise failed(f"{what}\n  fix: look again: accelform import --stack {stack}; or remove the file", done)
    state = read(home.state, stack)
    assert state is not None, "it was imported into"
    said = json.loads(every[-1].read_text(encoding="utf-8"))["resources"]
    told = settled(state, said)
    if told != state:
        beside = home.folder / "recovering" / f"{stack}.state"
        atomic.write(beside, json.dumps(told))
        done = call(["stack", "import", "--stack", stack, "--file", str(beside)], engine=engine, env=env, folder=home.project)
        beside.unlink()
        if done.returncode:
            raise failed(f"stack {stack}: the state cannot be written", done)
    for file in every:
        file.unlink(missing_ok=True)
    return len(told["deployment"]["resources"])


def settled(state: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """
    A state in which the providers' own inputs are as the program says: at an import a provider takes its defaults for what no cloud
    keeps, such as whether it refuses a delete, and the next preview would show that as a change.
    """
    made = copy.deepcopy(dict(state))
    own = {(one["type"], one["id"]): one["inputs"] for one in said if one.get("id") and one.get("inputs") and "outputs" not in one}
    for resource in made["deployment"].get("resources") or []:
        for key, value in own.get((resource["type"], resource.get("id")), {}).items():
            resource["inputs"][key] = value
            resource["outputs"][key] = value
    return made
