"""A cluster in a sandbox, and its API server."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `k8s_calls` beside this file: test folders are no packages

from k8s_calls import K8s

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud

NOON = 1_796_040_000.0


@pytest.fixture
def k8s(cloud: Cloud) -> K8s:
    """With one node of the default pool."""
    return K8s(cloud)


@pytest.fixture(scope="module")
def standing() -> K8s:
    """The same with a ConfigMap `a`, for whoever changes nothing."""
    cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON))
    cloud.projects.make("shop-prod")
    found = K8s(cloud)
    found.make("api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
    return found
