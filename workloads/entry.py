"""
What a container runs: `python -m workloads.entry WORKLOAD [ARGUMENT ...]`, with the contract in its environment.

It ends with 0 when the work is done, 143 when it saved its work and wants to be begun again, 78 where the devices are not those declared,
2 for a wrong environment or command line, and 1 when the work failed. Of several hosts, one that loses another ends with 143, or with 134
where JAX notices first.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from workloads.contract import DEVICES_EXIT, RESTART_EXIT, SIMULATED, ContractError, InputError, TrainSettings
from workloads.job import PROGRAMS
from workloads.say import say

WRONG_EXIT = 2
"""Exit code of a wrong environment, command line or input: to begin again would not help."""

WORKLOADS = {one.name: one.module for one in PROGRAMS.values() if one.kind != "serve"}
"""Module by name of the program. A module has `parser()`, and `run(settings, arguments)` that answers the exit code. One that is not on JAX
has `OWN_DEVICES` besides, and `run` looks at the devices by itself."""


def main(arguments: Sequence[str] | None = None, *, workloads: Mapping[str, str] = WORKLOADS, program: str = "workloads.entry") -> int:
    """Runs one program. A user's mistake is told without a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    names = ", ".join(sorted(workloads))
    if not given or given[0] in ("-h", "--help"):
        say(f"usage: python -m {program} WORKLOAD [ARGUMENT ...]\nworkloads: {names}")
        return 0 if given else WRONG_EXIT
    name, *rest = given
    if name not in workloads:
        say(f"{name!r} is no workload; there are: {names}")
        return WRONG_EXIT
    # The first process of a container is deaf to signals that it does not ask for, also while it imports libraries.
    # Until there is something to save, this is enough.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(RESTART_EXIT))
    os.environ.setdefault("KERAS_BACKEND", "jax")
    # Of Python 3.11's end, at every import of Google's client: nothing that a log needs.
    warnings.filterwarnings("ignore", message="You are using a Python version", category=FutureWarning)
    module = importlib.import_module(workloads[name])
    try:
        options = module.parser(f"python -m {program} {name}").parse_args(rest)
    except SystemExit as end:
        return WRONG_EXIT if end.code else 0
    return _run(name, module, options)


def _run(name: str, module: Any, options: Any) -> int:
    from workloads.devices import DevicesError, HostLostError, start
    from workloads.files import FilesError

    try:
        settings = TrainSettings.read()
        if os.environ.get(SIMULATED) == "1":
            say(f"{SIMULATED}=1: devices of this machine's processor stand for {settings.chips} chips of {settings.accelerator_type}")
        if not getattr(module, "OWN_DEVICES", False):
            start(settings)
        return int(module.run(settings, options))
    except ContractError as error:
        say(f"{name}: the environment is not what the contract says:\n  " + str(error).replace("\n", "\n  "))
        return WRONG_EXIT
    except HostLostError as error:
        say(f"{name}: {error}")
        # At once: an orderly end would wait for the host that is gone.
        os._exit(RESTART_EXIT)
    except DevicesError as error:
        say(f"{name}: {error}")
        return DEVICES_EXIT
    except (FilesError, InputError) as error:
        say(f"{name}: {error}")
        return WRONG_EXIT


if __name__ == "__main__":
    sys.exit(main())
