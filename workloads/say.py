"""What a program tells whoever reads its log."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Writes at once: a machine that is taken away loses what waits."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
