"""Which cloud a program runs against."""

from __future__ import annotations

import inspect

import pytest

from infra.clouds import GOOGLE, cloud_of
from infra.local.owner import OwnerError
from infra.sandbox.endpoints import ENDPOINTS, environment, is_local, provider_config

BASE = "http://127.0.0.1:9555"
OWN = {"gcp:project": "tw-shop-ml", "accelform:region": "us-east5"}
SANDBOX = {"accelform:cloud": "sandbox"} | {f"gcp:{key}": value for key, value in provider_config(BASE).items()}


def test_plain_configuration_is_googles() -> None:
    assert cloud_of(OWN, {}) == (GOOGLE, OWN)


def test_sandbox_configuration_leaves_the_users_own_and_leads_every_provider_there() -> None:
    cloud, rest = cloud_of(OWN | SANDBOX, {})
    assert rest == OWN
    assert cloud.name == "sandbox"
    assert cloud.provider["access_token"] == "sandbox"
    endpoints = {key: value for key, value in cloud.provider.items() if key != "access_token"}
    assert len(endpoints) == len(ENDPOINTS)
    assert all(is_local(url) for url in endpoints.values())


def test_every_argument_is_one_of_the_official_provider() -> None:
    import pulumi_gcp

    known = inspect.signature(pulumi_gcp.Provider._internal_init).parameters
    assert set(cloud_of(SANDBOX, {})[0].provider) <= set(known)


def test_the_environment_leads_there_too() -> None:
    variables = environment(BASE)
    assert variables["GOOGLE_TPU_V2_CUSTOM_ENDPOINT"] == f"{BASE}/tpu.googleapis.com/v2/"
    assert variables["GOOGLE_ARTIFACT_REGISTRY_CUSTOM_ENDPOINT"] == f"{BASE}/artifactregistry.googleapis.com/v1/"
    assert cloud_of(SANDBOX, variables)[0].name == "sandbox"


@pytest.mark.parametrize(
    ("config", "env"),
    [
        (OWN, environment(BASE)),
        ({key: value for key, value in SANDBOX.items() if key != "gcp:tpuV2CustomEndpoint"}, {}),
        (SANDBOX | {"gcp:tpuV2CustomEndpoint": "https://tpu.googleapis.com/v2/"}, {}),
        (OWN | {"gcp:tpuV2CustomEndpoint": f"{BASE}/tpu.googleapis.com/v2/"}, {}),
        (SANDBOX | {"accelform:cloud": "azure"}, {}),
    ],
)
def test_two_clouds_at_once_are_refused(config: dict[str, str], env: dict[str, str]) -> None:
    with pytest.raises(OwnerError, match="fix:"):
        cloud_of(config, env)
