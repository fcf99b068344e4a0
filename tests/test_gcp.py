"""The lazy way into the provider's SDK gives what the plain way gives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra import gcp

USED = sorted(
    {
        match
        for path in (Path(__file__).parent.parent / "infra").rglob("*.py")
        for match in re.findall(r"\bgcp\.([a-z]+)\.(\w+)\(", path.read_text(encoding="utf-8"))
    }
)


def test_something_is_used() -> None:
    """The search above finds the project's own uses."""
    assert ("storage", "Bucket") in USED
    assert len(USED) > 12


def test_the_lazy_way_gives_the_same_files_as_the_plain_import() -> None:
    """Every name that the project uses comes from the file where the SDK itself defines it."""
    names = [f"{package}.{name}" for package, name in USED]
    program = "import importlib, sys; print(*[getattr(importlib.import_module('pulumi_gcp.' + n.split('.')[0]), n.split('.')[1]).__module__ for n in sys.argv[1:]])"
    plain = subprocess.run([sys.executable, "-c", program, *names], check=True, capture_output=True, text=True).stdout.split()
    assert [getattr(getattr(gcp, package), name).__module__ for package, name in USED] == plain


def test_types_survive_the_lazy_way() -> None:
    """Nested inputs get their camelCase names, which the SDK reads off its types."""
    from infra.collect import collect

    def program() -> None:
        gcp.compute.Instance(
            "one",
            machine_type="m",
            boot_disk={"auto_delete": True, "initialize_params": {"size": 1}},
            network_interfaces=[{"nic_type": "GVNIC"}],
        )

    assert collect(program, "try")[0].inputs["bootDisk"] == {"autoDelete": True, "initializeParams": {"size": 1}}


def test_fails_on_a_package_that_is_not_used() -> None:
    """A package that is not listed is an error here, not a slow import."""
    with pytest.raises(AttributeError, match="not among the packages"):
        gcp.sql  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        gcp.compute.Netwrk  # noqa: B018
