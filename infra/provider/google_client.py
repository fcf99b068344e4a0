"""
Google's client, imported without what it does first on a Python whose end is near: it reads what each installed package holds, for a third
of a second of every process that calls Google, to call itself by its package's name in a warning that no user of a command can do anything
about.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module, metadata


def quickly() -> None:
    """To be called before anything of `googleapiclient` is imported."""
    if "google.api_core" in sys.modules:
        return
    warnings.filterwarnings("ignore", "You are using a Python version", FutureWarning)
    read = metadata.packages_distributions
    metadata.packages_distributions = dict
    try:
        import_module("google.api_core")
    finally:
        metadata.packages_distributions = read
