"""What a server is told by its environment."""

from __future__ import annotations

import pytest

from workloads.contract import ContractError, ServeSettings


def test_vertex_ai_alone_says_enough() -> None:
    """What Vertex AI sets in a container is read; all else has a default. Its other variables are let be."""
    settings = ServeSettings.read(
        {
            "AIP_HTTP_PORT": "7080",
            "AIP_HEALTH_ROUTE": "/v1/endpoints/1/deployedModels/2",
            "AIP_PREDICT_ROUTE": "/v1/endpoints/1/deployedModels/2:predict",
            "AIP_STORAGE_URI": "gs://a-bucket/a/folder",
            "AIP_DEPLOYED_MODEL_ID": "2",
            "AIP_MODE": "PREDICTION",
            "PATH": "/usr/bin",
        }
    )

    assert settings == ServeSettings(
        model="gs://a-bucket/a/folder",
        port=7080,
        health_route="/v1/endpoints/1/deployedModels/2",
        predict_route="/v1/endpoints/1/deployedModels/2:predict",
        variant="2",
    )


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"AIP_STORAGE_URI": "", "WL_MODEL": "/models/7"}, "model", "/models/7"),
        ({"AIP_STORAGE_URI": "gs://a/b", "WL_MODEL": "/models/7"}, "model", "gs://a/b"),
        ({"PORT": "9000"}, "port", 9000),
        ({"PORT": "9000", "WL_PORT": "9001"}, "port", 9001),
        ({"PORT": "9000", "WL_PORT": "9001", "AIP_HTTP_PORT": "9002"}, "port", 9002),
        ({"WL_VARIANT": "green", "AIP_DEPLOYED_MODEL_ID": "2"}, "variant", "green"),
        ({"WL_LAMEDUCK_SECONDS": "0.5"}, "lameduck_seconds", 0.5),
        ({"WL_LAMEDUCK_SECONDS": "0"}, "lameduck_seconds", 0.0),
    ],
)
def test_precedence(given: dict[str, str], field: str, value: object) -> None:
    """Vertex AI's word comes first, then ours, then the platform's."""
    assert getattr(ServeSettings.read({"WL_MODEL": "/m"} | given), field) == value


def test_what_is_written_is_read() -> None:
    """Settings survive the environment."""
    settings = ServeSettings("/m", 1234, "/h", "/p", "blue", "7", 0.25, 1.5, 100, 10, 20, 3, "/clicks")

    assert ServeSettings.read(settings.environment()) == settings


def test_fails_with_all_problems_at_once() -> None:
    """Each wrong variable is named, with what it says."""
    with pytest.raises(ContractError) as raised:
        ServeSettings.read({"AIP_HTTP_PORT": "http", "WL_MODLE": "/m", "WL_DRAIN_SECONDS": "-1", "AIP_HEALTH_ROUTE": "health"})

    assert str(raised.value).splitlines() == [
        "WL_MODLE is none of the contract's",
        "AIP_HTTP_PORT='http' is no whole number of 1 to 65535",
        "AIP_HEALTH_ROUTE='health' is no path of HTTP: it begins with /",
        "WL_DRAIN_SECONDS='-1' is no number of seconds, such as 3 or 0.5, below 10000",
        "AIP_STORAGE_URI is missing, and WL_MODEL too: one of them names the folder of the model's files",
    ]


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        *(("AIP_HTTP_PORT", text) for text in ("0", "65536", "8080 ", "+80", "8_0", "٣", "9" * 5000, "1e3")),
        *(("WL_DRAIN_SECONDS", text) for text in ("nan", "inf", "1e3", "3s", "9" * 5000, "٣", ".5")),
        *(("AIP_PREDICT_ROUTE", text) for text in ("predict", "/a b", "/ü", " /a", "/a\n")),
        *(("WL_MAX_INSTANCES", text) for text in ("0", "-1", "1.5")),
        ("WL_CLICKS", "gs://a-bucket/clicks"),
        *((name, text) for name in ("WL_VARIANT", "WL_VERSION") for text in ("新版", "a\nb", "a" * 201, " a", "a\udcff")),
    ],
)
def test_fails_for_odd_values(variable: str, text: str) -> None:
    """What is not of its kind is refused in a line, however long it is."""
    with pytest.raises(ContractError, match=f"^{variable}=") as raised:
        ServeSettings.read({"WL_MODEL": "/m", variable: text})
    assert len(str(raised.value)) < 200
