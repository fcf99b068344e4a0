"""
The engine's protocol for policy packs, without the SDK around it.

Importing the SDK takes 0.4 s of CPU, a tenth of a preview, and a pack needs two of its generated modules. Where the official language
host starts the pack it has imported the SDK already; ours has not.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOM = ("pulumi", "pulumi.runtime", "pulumi.runtime.proto")


def _rooms() -> None:
    """The packages that the two modules are in, empty: each would import all of the SDK."""
    spec = importlib.util.find_spec(ROOM[0])
    if spec is None or spec.origin is None:  # pragma: no cover - the project depends on it
        raise ImportError("pulumi is not installed")
    folder = Path(spec.origin).parent
    for name in ROOM:
        room = ModuleType(name)
        room.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = room


if ROOM[0] not in sys.modules:
    _rooms()

from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2  # noqa: E402

__all__ = ["analyzer_pb2", "analyzer_pb2_grpc", "plugin_pb2"]
