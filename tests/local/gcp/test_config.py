"""The provider speaks to the sandbox only, and to what it was told of."""

from __future__ import annotations

import echo
import pytest
from pulumi.runtime.proto import provider_pb2

from infra.local.gcp import config
from infra.local.gcp.provider import Gcp
from infra.provider.server import ProviderError
from infra.provider.values import UNKNOWN, Decoded, encode

NETWORK = "gcp:compute/network:Network"


def test_fails_on_an_endpoint_elsewhere() -> None:
    """An endpoint that is not on this machine is refused, with what to do."""
    with pytest.raises(echo.AbortedError) as refused:
        echo.Driver(echo.Echo(), computeCustomEndpoint="https://compute.googleapis.com/compute/v1/")
    assert str(refused.value).splitlines() == [
        "gcp:computeCustomEndpoint: https://compute.googleapis.com/compute/v1/ is not on this machine",
        "  this provider stands in for the official one on machines without it, and speaks to the sandbox only",
        "  fix: `make up` for the sandbox; for Google Cloud install the official one: pulumi plugin install resource gcp 10.2.0",
    ]


def test_fails_on_a_service_without_endpoint() -> None:
    """A service that is nowhere is refused when it is first used, and no call is made."""
    google = echo.Echo()
    driver = echo.Driver(google, computeCustomEndpoint="")
    with pytest.raises(echo.AbortedError, match="gcp:computeCustomEndpoint is not set"):
        driver.create(NETWORK, {"name": "n"})
    assert google.calls == []


def test_fails_before_it_is_configured() -> None:
    """A resource before the configuration is refused."""
    request = provider_pb2.CreateRequest(urn=echo.Driver.urn(NETWORK), properties=encode({"name": "n"}))
    with pytest.raises(echo.AbortedError, match="not configured"):
        Gcp().Create(request, echo.Context())


def test_environment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the official provider reads from the environment is not read here."""
    monkeypatch.setenv("GOOGLE_COMPUTE_CUSTOM_ENDPOINT", "http://127.0.0.1:9/")
    with pytest.raises(ProviderError, match="gcp:computeCustomEndpoint is not set"):
        config.read({"project": "p"}).endpoint("compute")


def test_variables_of_an_older_engine_are_read() -> None:
    """Without arguments, the variables say the same."""
    provider = Gcp()
    provider.Configure(
        provider_pb2.ConfigureRequest(variables={"gcp:config:computeCustomEndpoint": "http://127.0.0.1:9/x"}), echo.Context()
    )
    assert provider._configured().config.endpoint("compute") == "http://127.0.0.1:9/x/"


def test_reads_what_explicit_providers_send() -> None:
    """Booleans and objects come as JSON; what is not known yet is as if it were not there."""
    google = echo.Echo()
    args = {"userProjectOverride": "true", "billingProject": "payer", "defaultLabels": '{"team": "ml"}', "region": UNKNOWN}
    driver = echo.Driver(google, **args)
    read = driver.provider._configured().config
    assert (read.charged, read.labels, read.region) == ("payer", {"team": "ml"}, "")


def test_region_follows_from_the_zone() -> None:
    """A configured zone says the region, too."""
    read = config.read({"zone": "us-east5-a", "userProjectOverride": "false", "project": "p"})
    assert (read.default("region"), read.default("location"), read.charged) == ("us-east5", "us-east5", "")


def test_default_labels_are_sent_and_kept_apart() -> None:
    """Labels of the provider reach Google, and not the program's own."""
    google = echo.Echo()
    driver = echo.Driver(google, defaultLabels='{"team": "ml"}')
    made = driver.create("gcp:pubsub/topic:Topic", {"name": "t", "labels": {"a": "b"}})
    assert google.calls[0].body["labels"] == {"a": "b", "team": "ml"}
    state = Decoded(made.properties).values
    assert state["labels"] == {"a": "b"}
    assert state["pulumiLabels"] == state["effectiveLabels"] == {"a": "b", "team": "ml"}


@pytest.mark.parametrize(("port", "changed"), [(1, []), (2, ["computeCustomEndpoint"])])
def test_another_endpoint_replaces_nothing(port: int, changed: list[str]) -> None:
    """The sandbox may come up on another port: its resources stay."""
    old, new = ({"computeCustomEndpoint": f"http://127.0.0.1:{number}/", "project": "p"} for number in (1, port))
    answer = Gcp().DiffConfig(provider_pb2.DiffRequest(old_inputs=encode(old), news=encode(new)), echo.Context())
    assert list(answer.diffs) == changed
    assert list(answer.replaces) == []
    assert answer.changes == (provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE)
