"""Google Cloud and the sandbox never share a state, and no run speaks to both."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from infra.clouds import COPY_KEY, GOOGLE, GOOGLE_CLOUD, SANDBOX, OwnerError, check_owner, check_program, cloud_of, copy_of, recorded
from infra.errors import ExitCode
from infra.sandbox.endpoints import ENDPOINTS, environment, is_local, provider_config

BASE = "http://127.0.0.1:9555"
NUMBER = "123456789012"
PROJECT = {"gcp:project": "tw-shop-ml", "accelform:region": "us-east5"}


def sandbox_config(base: str = BASE) -> dict[str, str]:
    return PROJECT | {"accelform:cloud": "sandbox"} | {f"gcp:{key}": value for key, value in provider_config(base).items()}


def state(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": list(resources)}}


def stack(**outputs: Any) -> dict[str, Any]:
    return {"type": "pulumi:pulumi:Stack", "outputs": outputs}


def provider(**inputs: str) -> dict[str, Any]:
    return {"type": "pulumi:providers:gcp", "inputs": inputs}


@pytest.mark.parametrize(
    ("resources", "cloud"),
    [
        ([stack(cloud="sandbox")], SANDBOX),
        ([stack(cloud=NUMBER)], NUMBER),
        ([stack(cloud=int(NUMBER))], NUMBER),
        ([stack(cloud=NUMBER), provider(**provider_config(BASE))], NUMBER),
        ([stack()], None),
        ([], None),
        ([stack(), provider(**provider_config(BASE))], SANDBOX),
        ([stack(), provider(project="tw-shop-ml"), provider(**provider_config(BASE))], SANDBOX),
        ([stack(), provider(project="tw-shop-ml")], GOOGLE),
        ([stack(), provider(storageCustomEndpoint="https://storage-psc.p.googleapis.com/storage/v1/")], GOOGLE),
    ],
)
def test_a_state_says_whose_it_is(resources: list[dict[str, Any]], cloud: str | None) -> None:
    """By its output; of an update that never came to its end, by where the provider's calls went."""
    assert recorded(state(*resources)) == cloud


def test_a_state_without_a_deployment_is_nobody_s() -> None:
    """So is a stack just made."""
    assert recorded({"version": 3, "deployment": None}) is None


@pytest.mark.parametrize(("says", "wanted"), [(None, SANDBOX), (None, NUMBER), (SANDBOX, SANDBOX), (NUMBER, NUMBER), (GOOGLE, NUMBER)])
def test_the_same_cloud_passes(says: str | None, wanted: str) -> None:
    """A new stack belongs to nobody yet."""
    check_owner("prod", says, wanted)


@pytest.mark.parametrize(
    ("says", "wanted", "words"),
    [
        (NUMBER, SANDBOX, f"belongs to Google Cloud project number {NUMBER}, and this command works on the sandbox on this machine"),
        (GOOGLE, SANDBOX, "belongs to Google Cloud, and this command works on the sandbox on this machine"),
        (SANDBOX, NUMBER, f"belongs to the sandbox on this machine, and this command works on Google Cloud project number {NUMBER}"),
        (NUMBER, "99", f"fix: set gcp:project to the project it was made in, number {NUMBER}"),
    ],
)
def test_the_other_cloud_is_refused(says: str, wanted: str, words: str) -> None:
    """In a sentence with both clouds and the ways out, and with the exit code of the environment."""
    with pytest.raises(OwnerError) as refused:
        check_owner("prod", says, wanted)
    assert str(refused.value).startswith("stack prod: its state ")
    assert words in str(refused.value)
    assert "\n  fix: " in str(refused.value)
    assert refused.value.exit_code == ExitCode.ENVIRONMENT


def test_a_run_leads_to_one_cloud() -> None:
    """Plain configuration, an endpoint of Google's own, and what `accelform up` writes, with or without its environment."""
    check_program(PROJECT, {"PATH": "/bin", "GOOGLE_STORAGE_CUSTOM_ENDPOINT": ""})
    check_program(PROJECT | {"gcp:storageCustomEndpoint": "https://storage-psc.p.googleapis.com/storage/v1/"}, {})
    check_program(sandbox_config(), {})
    check_program(sandbox_config("http://localhost:1"), environment(BASE))


@pytest.mark.parametrize(
    ("config", "env", "words"),
    [
        (PROJECT, environment(BASE), "GOOGLE_ARTIFACT_REGISTRY_CUSTOM_ENDPOINT: http://127.0.0.1:9555"),
        (
            PROJECT | {"gcp:storageCustomEndpoint": f"{BASE}/storage/v1/"},
            {},
            "remove gcp:storageCustomEndpoint from the stack's configuration",
        ),
        (PROJECT, {"GOOGLE_TPU_V2_CUSTOM_ENDPOINT": "http://[::1]:1/"}, "unset GOOGLE_TPU_V2_CUSTOM_ENDPOINT"),
        (sandbox_config() | {"gcp:computeCustomEndpoint": "https://compute.googleapis.com/"}, {}, "is not on this machine"),
        (sandbox_config(), {"GOOGLE_DNS_CUSTOM_ENDPOINT": "https://dns.googleapis.com/"}, "unset GOOGLE_DNS_CUSTOM_ENDPOINT"),
        (sandbox_config() | {"gcp:computeCustomEndpoint": "http://[bad"}, {}, "is not on this machine"),
        (PROJECT | {"accelform:cloud": "sandbox"}, environment(BASE), "gcp:computeCustomEndpoint: is not set"),
        (PROJECT | {"accelform:cloud": "aws"}, {}, "'aws' is no cloud; allowed: sandbox"),
    ],
)
def test_a_run_that_would_lead_to_two_is_refused(config: dict[str, str], env: dict[str, str], words: str) -> None:
    """Which key is wrong, why, and what to do."""
    with pytest.raises(OwnerError) as refused:
        check_program(config, env)
    assert words in str(refused.value)
    assert "\n  fix: " in str(refused.value)


def test_one_missing_endpoint_is_enough() -> None:
    """Every service that the sandbox has must lead to it: a single call to Google would be one too many."""
    for key in provider_config(BASE):
        if key.endswith("CustomEndpoint"):
            config = sandbox_config()
            del config[f"gcp:{key}"]
            with pytest.raises(OwnerError, match=f"gcp:{key}: is not set"):
                check_program(config, {})


def test_a_copy_of_what_has_changed_is_refused(tmp_path: Path) -> None:
    """Plain pulumi in a prepared shell runs on a copy of the stack file: an old one, or one without its file, is no help."""
    file = tmp_path / "Pulumi.try.yaml"
    file.write_text("config: {}", encoding="utf-8")
    config = sandbox_config() | {COPY_KEY: copy_of(file)}
    assert COPY_KEY not in cloud_of(config, {})[1]
    file.write_text("config: {a: 1}", encoding="utf-8")
    with pytest.raises(OwnerError, match="accelform env"):
        cloud_of(config, {})
    file.unlink()
    with pytest.raises(OwnerError, match="accelform env"):
        cloud_of(config, {})


def test_plain_configuration_is_googles() -> None:
    assert cloud_of(PROJECT, {}) == (GOOGLE_CLOUD, PROJECT)


def test_sandbox_configuration_leaves_the_users_own_and_leads_every_provider_there() -> None:
    cloud, rest = cloud_of(sandbox_config(), {})
    assert rest == PROJECT
    assert cloud.name == "sandbox"
    assert cloud.provider["access_token"] == "sandbox"
    endpoints = {key: value for key, value in cloud.provider.items() if key != "access_token"}
    assert len(endpoints) == len(ENDPOINTS)
    assert all(is_local(url) for url in endpoints.values())


def test_every_argument_is_one_of_the_official_provider() -> None:
    import pulumi_gcp

    known = inspect.signature(pulumi_gcp.Provider._internal_init).parameters
    assert set(cloud_of(sandbox_config(), {})[0].provider) <= set(known)


def test_the_environment_leads_there_too() -> None:
    variables = environment(BASE)
    assert variables["GOOGLE_TPU_V2_CUSTOM_ENDPOINT"] == f"{BASE}/tpu.googleapis.com/v2/"
    assert variables["GOOGLE_ARTIFACT_REGISTRY_CUSTOM_ENDPOINT"] == f"{BASE}/artifactregistry.googleapis.com/v1/"
    assert cloud_of(sandbox_config(), variables)[0].name == "sandbox"
