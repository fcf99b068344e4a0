"""The accelform provider in this process, over a sandbox."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `driver` beside this file: test folders are no packages

from driver import Driver, Sandbox


@pytest.fixture
def sandbox() -> Sandbox:
    """A sandbox with one project."""
    return Sandbox()


@pytest.fixture
def provider(sandbox: Sandbox) -> Driver:
    """The provider before it."""
    return Driver(sandbox.http())
