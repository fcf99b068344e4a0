"""
Words that a shell completes: stacks, and what their files name. Read line by line, since a shell asks at each TAB: a parser takes longer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

FILE = re.compile(r"Pulumi\.([a-z][a-z0-9-]*)\.yaml")
KINDS = (
    "tpu_slices",
    "gpu_vms",
    "clusters",
    "node_pools",
    "models",
    "endpoints",
    "jobs",
    "services",
    "ray_clusters",
    "budgets",
    "quota_requests",
)
"""Keys whose names are things that can be looked at. See `operate/things.py`."""
KEY = re.compile(r"  accelform:([a-z_]+):")
NAME = re.compile(r"    ([a-z][a-z0-9-]*):")


def stack_names(incomplete: str) -> list[str]:
    """Stacks whose name begins so."""
    return sorted(name for name, _ in _files() if name.startswith(incomplete))


def thing_names(incomplete: str) -> list[str]:
    """Things of all stack files that begin so, alone or with their kind."""
    found: set[str] = set()
    for _, path in _files():
        for kind, name in _named(path):
            found |= {word for word in (name, f"{kind}.{name}") if word.startswith(incomplete)}
    return sorted(found)


def _files() -> Iterator[tuple[str, Path]]:
    """The stack files of the checkout that the shell is in, or of the folder that the environment names."""
    here = Path.cwd()
    own = next((one / "stacks" for one in (here, *here.parents) if (one / "stacks").is_dir()), here)
    folder = Path(os.environ.get("ACCELFORM_STACKS") or own)
    try:
        paths = sorted(folder.glob("Pulumi.*.yaml"))
    except OSError:
        return
    yield from ((match[1], path) for path in paths if (match := FILE.fullmatch(path.name)))


def _named(path: Path) -> Iterator[tuple[str, str]]:
    """Kind and name of each thing of a file, where it is written as `accelform init` and the examples write it."""
    kind = ""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if line[:2] == "  " and line[2:3] not in (" ", "#", ""):
            match = KEY.match(line)
            kind = match[1] if match and match[1] in KINDS else ""
        elif kind and (name := NAME.match(line)):
            yield kind, name[1]
