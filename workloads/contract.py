"""
What a machine tells the program that runs on it: the environment, in one schema that infrastructure writes and programs read.

Locations are folders: `gs://BUCKET/NAME`, or a path on this machine. Nothing here imports more than the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

RESTART_EXIT = 143
"""Exit code of a program that saved its work and wants to be begun again: 128 + SIGTERM, as shells and Kubernetes have it."""
DEVICES_EXIT = 78
"""Exit code where the devices seen are not those declared: EX_CONFIG of sysexits.h. To begin again would not help."""

PREFIX = "WL_"
SIMULATED = "WL_SIMULATED_TPU"
"""With `1`, devices of this machine's processor stand for chips, which are counted nevertheless; the program says so. It is no setting of
a run but a permission of the machine, and only a machine of the local cloud gives it."""
DATA_PREFIX = "WL_DATA_"


class ContractError(Exception):
    """The environment is not what a machine of ours says: every problem of it, a line each."""


class InputError(Exception):
    """What a program was given to work on is not what it needs. A sentence for the user."""


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """What a training program is told. Field `run_id` is the variable `WL_RUN_ID`, and so on."""

    run_id: str
    """One night's run, such as `20261201T180000Z`; the same for each of its tries."""
    output: str
    """Folder of what this run makes: the artefact, and `report.json` with its metrics."""
    checkpoints: str
    """Folder of this run's checkpoints: a later try goes on from the last whole one."""
    accelerator_type: str
    """Cloud TPU accelerator type, such as `v5litepod-4`; `cpu` for this machine's processor, where somebody asked for that."""
    chips: int
    """Chips of all hosts together; with `cpu`, devices of the processor."""
    hosts: int = 1
    """Hosts that run the same program, one process each."""
    attempt: int = 1
    """Number of this try of the run, from 1."""
    save_every_steps: int = 200
    """Steps between two checkpoints at most."""
    coordinator: str = ""
    """`HOST:PORT` of process 0, where the platform does not tell JAX by itself."""
    process_id: int = 0
    """Number of this process, with `coordinator` only."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Folder by name: `WL_DATA_CLICKS` is `clicks`."""

    def environment(self) -> dict[str, str]:
        """These settings as variables: what the infrastructure writes."""
        found = {f"{PREFIX}{name.upper()}": str(getattr(self, name)) for name in self.__slots__ if name != "data"}
        return found | {f"{DATA_PREFIX}{name.upper().replace('-', '_')}": folder for name, folder in self.data.items()}

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> TrainSettings:
        """
        Reads the environment.

        Raises:
            ContractError: A variable is missing, unknown, or no whole number where one is wanted.
        """
        given = os.environ if environment is None else environment
        numbers = {name for name in cls.__slots__ if cls.__annotations__[name] == "int"}
        required = ("run_id", "output", "checkpoints", "accelerator_type", "chips")
        problems = [f"{PREFIX}{name.upper()} is missing" for name in required if not given.get(f"{PREFIX}{name.upper()}")]
        values: dict[str, object] = {}
        data: dict[str, str] = {}
        for variable, text in given.items():
            name = variable.removeprefix(PREFIX).lower()
            if not variable.startswith(PREFIX) or variable == SIMULATED:
                continue
            if variable.startswith(DATA_PREFIX):
                data[variable.removeprefix(DATA_PREFIX).lower()] = text
            elif name == "data" or name not in cls.__slots__:
                problems.append(f"{variable} is none of the contract's")
            elif name in numbers and not (text.isascii() and text.isdigit()):
                problems.append(f"{variable}={text!r} is no whole number")
            else:
                values[name] = int(text) if name in numbers else text
        if problems:
            raise ContractError("\n".join(problems))
        return cls(**values, data=data)  # type: ignore[arg-type]
