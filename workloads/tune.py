"""
Finds the batch for a machine: `python -m workloads.tune WORKLOAD [ARGUMENT ...]`, with training's contract in its environment.

It ends as `workloads.entry` does. What it finds is on stdout, and in `tune.json` in `WL_OUTPUT`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workloads import entry

WORKLOADS = {"train_recommender": "workloads.recommender.tuning"}
"""Module that measures each program, by the program's name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures one program."""
    return entry.main(arguments, workloads=WORKLOADS, program="workloads.tune")


if __name__ == "__main__":
    sys.exit(main())
