"""A cluster in a sandbox, and its API server."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `k8s_calls` beside this file: test folders are no packages

from k8s_calls import K8s

from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud
from infra.sandbox.store import Store

NOON = 1_796_040_000.0


def _made() -> K8s:
    cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON))
    cloud.projects.make("shop-prod")
    found = K8s(cloud)
    found.get("version")
    return found


@pytest.fixture(scope="session")
def _template() -> K8s:
    """What every test gets a copy of: it is made once."""
    return _made()


@pytest.fixture
def k8s(_template: K8s) -> K8s:
    """With one node of the default pool."""
    store = Store()
    _template.cloud.store._db.backup(store._db)
    now = _template.cloud.clock.now()
    return K8s(Cloud(store, Clock(start=now, real=lambda: now)), _template.host)


@pytest.fixture(scope="module")
def standing() -> K8s:
    """The same with a ConfigMap `a`, for whoever changes nothing."""
    found = _made()
    found.make("api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
    return found
