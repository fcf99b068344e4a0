"""What a container's command is here: programs of this project, by this environment's interpreter. Nothing else is ever started."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence

MACHINES = ("workloads.entry",)
MODELS = ("workloads.serve",)
RUNNERS = ("infra.operate.jobs", "infra.operate.jobs.sweep")
"""Modules that a machine's container, a deployed model's and a Cloud Run job's may run."""
PYTHON = ("python", "python3")
WORKLOAD = re.compile(r"[a-z][a-z0-9_]*")
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "PYTHONSAFEPATH", "PYTHONWARNINGS", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
"""Variables of this process that a container's gets. No other: credentials of a real project among them."""

OF_THE_IMAGE = ("LD_", "PYTHON")
"""Beginnings of variables that say which code runs: those of a container hold in its image, and not here."""


class ForeignError(Exception):
    """A container is not one of this project's: a sentence for the user."""


def local(container: Mapping[str, object], modules: Sequence[str]) -> list[str]:
    """
    The command line here of a container: `{"image", "command", "args"}`.

    Raises:
        ForeignError: It runs something else than one of *modules*.
    """
    words = [*_words(container, "command"), *_words(container, "args")]
    if len(words) < 3 or words[0] not in PYTHON or words[1] != "-m" or words[2] not in modules:
        allowed = " or ".join(f"python -m {module}" for module in modules)
        raise ForeignError(
            f"the container {container.get('image', '')!r} runs {' '.join(words) or 'what its image says'!r}; allowed: {allowed}"
        )
    if words[2].startswith("workloads.") and (len(words) < 4 or not WORKLOAD.fullmatch(words[3])):
        raise ForeignError(f"{' '.join(words)!r} names no program of this project after {words[2]}")
    return [sys.executable, "-P", *words[1:]]


def _words(container: Mapping[str, object], key: str) -> list[str]:
    found = container.get(key) or []
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise ForeignError(f"{key} of the container {container.get('image', '')!r} is no list of words: {found!r}")
    return found


def environment(here: Mapping[str, str], own: Mapping[str, str], base: str) -> dict[str, str]:
    """
    Variables of a container's process: the container's own, and where the sandbox's Cloud Storage is.

    Args:
        here: This process's.
        own: The container's.
        base: Address of the sandbox.
    """
    kept = {name: here[name] for name in INHERITED if name in here}
    told = {name: value for name, value in own.items() if name not in INHERITED and not name.startswith(OF_THE_IMAGE)}
    fixed = {"STORAGE_EMULATOR_HOST": f"{base}/storage.googleapis.com", "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1,localhost"}
    return {**kept, **told, **fixed}


def simulated(own: Mapping[str, str]) -> dict[str, str]:
    """
    What lets devices of this machine's processor stand for the TPU chips of one host.

    Raises:
        ForeignError: The container is not told how many chips there are.
    """
    chips, hosts = own.get("WL_CHIPS", ""), own.get("WL_HOSTS", "1")
    if not (chips.isdigit() and hosts.isdigit() and int(hosts)):
        raise ForeignError(f"the container is told WL_CHIPS={chips!r} and WL_HOSTS={hosts!r}; both are whole numbers")
    devices = int(chips) // int(hosts)
    return {"WL_SIMULATED_TPU": "1", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
