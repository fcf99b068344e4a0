"""The lazy way into the provider's SDK gives what the plain way gives."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

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


def described(used: Iterable[tuple[str, str]], enter: Callable[[str], Any]) -> dict[str, Any]:
    """The file of every name that is used, and the types of all that can stand in it, at every depth. Runs in a plain process too."""
    import sys
    from typing import get_args

    from pulumi import _types

    def shape(found: Any) -> Any:
        for is_so, types in ((_types.is_input_type, _types.input_type_types), (_types.is_output_type, _types.output_type_types)):
            if is_so(found):
                return [f"{found.__module__}.{found.__name__}", {key: shape(value) for key, value in sorted(types(found).items())}]
        return [shape(one) for one in get_args(found)] or str(found)

    answer: dict[str, Any] = {}
    for package, name in used:
        value = getattr(enter(package), name)
        arguments = getattr(sys.modules[value.__module__], f"{name}Args", None)
        answer[f"{package}.{name}"] = [value.__module__]
        if arguments is not None:
            answer[f"{package}.{name}"] += [shape(arguments), [shape(one) for one in _types.resource_types(value).values()]]
    return answer


def test_the_lazy_way_gives_the_same_as_the_plain_import() -> None:
    """Every name that the project uses comes from the file where the SDK itself defines it, with the types that it has there."""
    program = f"""
from __future__ import annotations
import importlib, json, sys
{inspect.getsource(described)}
print(json.dumps(described(json.loads(sys.argv[1]), lambda package: importlib.import_module("pulumi_gcp." + package))))
"""
    plain = subprocess.run([sys.executable, "-c", program, json.dumps(USED)], check=True, capture_output=True, text=True).stdout
    lazy = described(USED, lambda package: getattr(gcp, package))
    assert "pulumi_gcp.compute._inputs.InstanceBootDiskInitializeParamsArgs" in json.dumps(lazy)
    assert lazy == json.loads(plain)


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
