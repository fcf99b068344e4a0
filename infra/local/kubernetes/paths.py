"""Property paths as programs write them in `ignoreChanges`: `spec.replicas`, `spec.containers[0].image`, `metadata.labels["a.b"]`."""

from __future__ import annotations

import re

from infra.provider.server import ProviderError
from infra.provider.values import Path

STEP = re.compile(r"""\.?(?P<name>[^.\[\]"]+)|\[(?P<index>\d+)\]|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|(?P<any>\[\*\])""")


def parsed(text: str) -> Path:
    """
    Raises:
        ProviderError: It is no property path.
    """
    path: list[str | int] = []
    at = 0
    while at < len(text):
        match = STEP.match(text, at)
        if match is None:
            raise ProviderError(f"failed to parse ignore path: {text!r}")
        if match["index"] is not None:
            path.append(int(match["index"]))
        elif match["quoted"] is not None:
            path.append(re.sub(r"\\(.)", r"\1", match["quoted"]))
        else:
            path.append("*" if match["any"] else match["name"])
        at = match.end()
    return tuple(path)


def within(path: Path, hidden: Path) -> bool:
    """Whether *path* is at or below *hidden*, in which `*` is any step."""
    return len(hidden) <= len(path) and all(one in ("*", other) for one, other in zip(hidden, path, strict=False))
