"""Runs the server as in its image: `python only_locked.py PROGRAM`. What the image's lock does not have cannot be imported here either."""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "image-serve.lock"


class Absent(importlib.abc.MetaPathFinder):
    """Finds nothing of the packages that are not in the lock."""

    def __init__(self) -> None:
        locked = set(re.findall(r"^([a-z0-9._-]+)==", LOCK.read_text(), re.MULTILINE))
        owners = importlib.metadata.packages_distributions()
        names = {top: {re.sub(r"[-_.]+", "-", one).lower() for one in ones} for top, ones in owners.items()}
        self.tops = {top for top, ones in names.items() if not ones & locked} | {"infra"}

    def find_spec(self, name: str, *_: Any) -> None:
        if name.split(".")[0] in self.tops:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    absent = Absent()
    sys.meta_path.insert(0, absent)
    from workloads import serve

    code = serve.main(sys.argv[1:])
    print(json.dumps({"absent": sorted(absent.tops), "imported": sorted(sys.modules)}))  # noqa: T201
    sys.exit(code)
