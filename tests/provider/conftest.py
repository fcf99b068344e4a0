"""The accelform provider in this process, over a sandbox."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `driver` beside this file: test folders are no packages

from driver import Driver, Sandbox
from vertex import Vertex


@pytest.fixture
def sandbox() -> Sandbox:
    """A sandbox with one project."""
    return Sandbox()


@pytest.fixture
def provider(sandbox: Sandbox) -> Driver:
    """The provider before it."""
    return Driver(sandbox.http())


@pytest.fixture
def vertex(sandbox: Sandbox) -> Vertex:
    """Somebody else in that sandbox, with an endpoint and two versions of a model: 1 is the champion, 2 the candidate."""
    made = Vertex(sandbox)
    made.endpoint()
    made.upload("champion")
    made.upload("candidate")
    made.calls()
    return made
