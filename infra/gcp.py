"""
The official Google Cloud resources, imported one module at a time.

Importing `pulumi_gcp.compute` whole takes about 1.7 s, nearly all of it for resources that no stack of ours declares. Here a package is
entered without running its `__init__`, and a name is looked up in the file of its own. The types of nested values stand in two files for
the whole package (`_inputs` and `outputs`; 3,300 classes in compute): of these a class is made when a resource that is used needs it.
Tests hold every name that is used, and the type of every value in it, against the plain import.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from types import CodeType, ModuleType, new_class
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from pulumi_gcp import (
        Provider,
        artifactregistry,
        billing,
        cloudquota,
        cloudrunv2,
        cloudscheduler,
        compute,
        container,
        iam,
        kms,
        monitoring,
        organizations,
        projects,
        secretmanager,
        serviceaccount,
        storage,
        tpu,
        vertex,
    )

__all__ = [
    "Provider",
    "artifactregistry",
    "billing",
    "cloudquota",
    "cloudrunv2",
    "cloudscheduler",
    "compute",
    "container",
    "iam",
    "kms",
    "monitoring",
    "organizations",
    "projects",
    "secretmanager",
    "serviceaccount",
    "storage",
    "tpu",
    "vertex",
]

PACKAGES = tuple(name for name in __all__ if name.islower())
TYPES = ("_inputs", "outputs")
"""Files of a package that hold the types of nested values."""


def file_of(name: str) -> str:
    """File of the provider's SDK that holds a class or function: `BucketIAMMember` is in `bucket_iam_member`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.removesuffix("_output")).lower()


class _Package(ModuleType):
    """A package of the SDK whose modules are imported when a name of theirs is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in TYPES:
            return _types(f"{self.__name__}.{name}")
        file = file_of(name)
        self._inputs.offer(file)
        value = getattr(import_module(f"{self.__name__}.{file}"), name)
        setattr(self, name, value)
        return value


class _Types(ModuleType):
    """A file of types, with nothing else in it: a class is made, of its compiled body, when it is asked for."""

    _bodies: dict[str, CodeType]

    def offer(self, file: str) -> None:
        """What the file of a resource gets by `from ._inputs import *`: names of its own types begin with the resource's."""
        self.__all__ = [name for name in self._bodies if name.lower().startswith(file.replace("_", ""))]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._bodies:
            raise AttributeError(name)
        import pulumi

        body = self._bodies[name]
        is_output, is_dict = self.__name__.endswith(".outputs"), name.endswith("ArgsDict")
        bases = (dict,) if is_output else (TypedDict,) if is_dict else ()
        made = new_class(name, bases, exec_body=lambda namespace: exec(body, vars(self), namespace))  # noqa: S102 - the SDK's own
        value = made if is_dict else pulumi.output_type(made) if is_output else pulumi.input_type(made)
        setattr(self, name, value)
        return value


def _types(full: str) -> _Types:
    spec = find_spec(full)
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    module = _Types(full)
    module.__package__ = spec.parent or ""
    module.__spec__ = spec
    sys.modules[full] = module
    setattr(sys.modules[module.__package__], full.rpartition(".")[2], module)  # as an import does; `outputs` imports itself
    path = Path(spec.loader.get_filename())
    with path.open(encoding="utf-8") as file:
        head = "".join(takewhile(lambda line: not line.startswith(("@", "class ")), file))
    exec(compile(head, path, "exec"), vars(module))  # noqa: S102 - its imports
    code = spec.loader.get_code(full)
    assert code is not None
    module._bodies = {one.co_name: one for one in code.co_consts if isinstance(one, CodeType)}
    return module


def _enter(package: str) -> ModuleType:
    full = f"pulumi_gcp.{package}"
    known = sys.modules.get(full)
    # The SDK's own placeholder for a package that was not imported yet is replaced; a package that was imported whole is kept.
    if known is not None and type(known) is ModuleType and getattr(known, "__file__", None):
        return known
    spec = find_spec(full)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"the Google Cloud SDK has no package {package}", name=full)
    module = _Package(full)
    module.__path__ = list(spec.submodule_search_locations)
    module.__package__ = full
    module.__spec__ = spec
    sys.modules[full] = module
    return module


def __getattr__(name: str) -> Any:
    if name == "Provider":
        value: Any = import_module("pulumi_gcp").Provider
    elif name in PACKAGES:
        import_module("pulumi_gcp")
        value = _enter(name)
    else:
        raise AttributeError(f"{name} is not among the packages this project uses: {', '.join(PACKAGES)}")
    globals()[name] = value
    return value
