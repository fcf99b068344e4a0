"""
Writes what each example stack is by this release: brought up on the sandbox by the engine, exported, and stored for the test that the next
release replaces nothing of it.

    python tools/release.py [STACK...]

Run it when a version is released, and commit what it writes. Files of older versions stay for as long as an update from them is meant to
work.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from infra.local.home import Home  # noqa: E402
from infra.sandbox import process  # noqa: E402
from tests.conftest import BASE  # noqa: E402
from tests.engine.region import Region  # noqa: E402
from tests.upgrade import store  # noqa: E402


def version() -> str:
    """That of the package."""
    match = re.search(r'^version = "([^"]+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert match
    return match[1]


def needs(path: Path) -> set[str]:
    """Stacks that a file names."""
    return set(re.findall(r"^  accelform:(?:region_stack|foundation): (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stacks", nargs="*", metavar="STACK", help="example stacks (default: all)")
    wanted = parser.parse_args().stacks or list(store.examples())
    store.FOLDER.mkdir(exist_ok=True)
    for stack in wanted:
        with tempfile.TemporaryDirectory() as folder:
            here = Region(Path(folder), BASE | {"gcp:project": "shop-apart"})  # a file of its own, which shells are made for
            files = {name: store.examples()[name] for name in sorted({stack, *needs(store.examples()[stack])})}
            for path in files.values():
                shutil.copy(path, here.folder / "stacks")
            try:
                up = here.accelform("up", *files, "--json")
                if up.code:
                    raise SystemExit(f"{stack}: {up.out}{up.err}")
                done = here.pulumi("stack", "export", "--stack", stack, "--show-secrets", "--non-interactive")
                if done.code:
                    raise SystemExit(f"{stack}: {done.err}")
                path = store.write(json.loads(done.out), stack, version(), here.base)
            finally:
                process.stop(Home.of(here.folder).sandbox)
            sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
