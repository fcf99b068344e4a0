"""The Kubernetes provider in this process, and a cluster of the sandbox, or none, before it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `talk` and `cluster` beside this file: test folders are no packages

from cluster import Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """With one node."""
    made = Cluster()
    yield made
    made.close()
