"""
What a plugin's process leaves out when it starts: the engine waits for it, and starts it at every command.

The protocol is a package within the SDK, and importing it runs all of the SDK, which only programs need; httpx brings a command line. A
plugin's `__main__` calls this before its other imports. Nobody else does: in another process somebody may want what is left out.
"""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec
from types import ModuleType

PACKAGES = ("pulumi", "pulumi.runtime", "pulumi.runtime.proto")
"""Entered without running their `__init__`: what is in them is imported by its own name."""


def lightly() -> None:
    """Makes the imports that follow light ones. Garbage is looked for again from when the plugin serves."""
    gc.disable()
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"the Pulumi SDK has no package {name}", name=name)
        package = ModuleType(name)
        package.__path__ = list(spec.submodule_search_locations)
        package.__spec__ = spec
        sys.modules[name] = package
    without_command_line()


def without_command_line() -> None:
    """httpx asks for its command line when it is imported, and does without where there is none."""
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
