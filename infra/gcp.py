"""
The official Google Cloud resources, imported one module at a time.

Importing `pulumi_gcp.compute` whole takes about 1.7 s, two thirds of it for resources that no stack of ours declares. Here a package is
entered without running its `__init__`, and a name is looked up in the file of its own. A test holds every name that is used against
the plain import.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulumi_gcp import (
        Provider,
        artifactregistry,
        billing,
        cloudrunv2,
        cloudscheduler,
        compute,
        monitoring,
        organizations,
        projects,
        serviceaccount,
        storage,
        tpu,
        vertex,
    )

__all__ = [
    "Provider",
    "artifactregistry",
    "billing",
    "cloudrunv2",
    "cloudscheduler",
    "compute",
    "monitoring",
    "organizations",
    "projects",
    "serviceaccount",
    "storage",
    "tpu",
    "vertex",
]

PACKAGES = tuple(name for name in __all__ if name.islower())


def file_of(name: str) -> str:
    """File of the provider's SDK that holds a class or function: `BucketIAMMember` is in `bucket_iam_member`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.removesuffix("_output")).lower()


class _Package(ModuleType):
    """A package of the SDK whose modules are imported when a name of theirs is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        module = import_module(f"{self.__name__}.{file_of(name)}")
        value = vars(module).get(name, module)  # `from . import outputs`, inside the SDK, asks for the module itself
        setattr(self, name, value)
        return value


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
