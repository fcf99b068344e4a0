"""The provider in this process, and an echo of Google, or the sandbox, before it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `echo` and `region` beside this file: test folders are no packages

from echo import Driver
from region import Region


@pytest.fixture
def region() -> Region:
    """A sandbox with one project."""
    return Region()


@pytest.fixture
def driver(region: Region) -> Driver:
    """The provider before it."""
    return region.driver()
