"""Secret Manager: secrets, versions, and who may read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "secretmanager.googleapis.com"
ALL = "v1/projects/{project}/secrets"
TOKEN = f"{ALL}/hf-token"
EVERYWHERE: dict[str, Any] = {"replication": {"automatic": {}}}

Ask = Callable[..., Answer]


@pytest.fixture
def secret(ask: Ask) -> Any:
    answer = ask("POST", HOST, ALL, EVERYWHERE, secretId="hf-token")
    assert answer.status == 200, answer.body
    return answer.body


def add(ask: Ask, data: str) -> Answer:
    return ask("POST", HOST, f"{TOKEN}:addVersion", {"payload": {"data": data}})


def test_a_secret_is_named_by_its_projects_number(ask: Ask, secret: Any) -> None:
    """As the service answers; it is found by the id too, and once."""
    assert ask("GET", HOST, TOKEN).body == secret
    assert secret["name"].split("/")[1].isdigit()
    assert [one["name"] for one in ask("GET", HOST, ALL).body["secrets"]] == [secret["name"]]
    assert ask("POST", HOST, ALL, EVERYWHERE, secretId="hf-token").status == 409
    assert ask("POST", HOST, ALL, {}, secretId="other").status == 400


def test_a_secret_that_is_not_there_is_said_as_the_service_says_it(ask: Ask) -> None:
    answer = ask("GET", HOST, TOKEN)
    assert answer.status == 404
    assert answer.body["error"]["message"].endswith("/secrets/hf-token] not found.")


@pytest.mark.usefixtures("secret")
def test_a_secret_is_no_resource_that_is_left_over(ask: Ask, cloud: Cloud) -> None:
    """It is its owner's; a grant on it is a stack's."""
    add(ask, "b25l")
    assert [one["name"] for one in cloud.resources() if not one["own"]] == []
    grant = {"policy": {"bindings": [{"role": "roles/secretmanager.secretAccessor", "members": ["user:a@example.com"]}]}}
    assert ask("POST", HOST, f"{TOKEN}:setIamPolicy", grant).status == 200
    assert [one["service"] for one in cloud.resources() if not one["own"]] == ["policies"]


def test_versions_are_counted_read_and_destroyed(ask: Ask, secret: Any) -> None:
    """The latest is the last that was added; what is disabled or destroyed is not read."""
    assert ask("GET", HOST, f"{TOKEN}/versions/latest").status == 404
    assert add(ask, "b25l").body["name"].endswith("/versions/1")
    assert add(ask, "dHdv").body["state"] == "ENABLED"
    assert ask("GET", HOST, f"{TOKEN}/versions/latest:access").body["payload"] == {"data": "dHdv"}
    assert len(ask("GET", HOST, f"{TOKEN}/versions").body["versions"]) == 2
    assert ask("POST", HOST, f"{TOKEN}/versions/2:disable", {}).body["state"] == "DISABLED"
    assert ask("GET", HOST, f"{TOKEN}/versions/2:access").status == 400
    assert ask("POST", HOST, f"{TOKEN}/versions/2:enable", {}).body["state"] == "ENABLED"
    assert "destroyTime" in ask("POST", HOST, f"{TOKEN}/versions/1:destroy", {}).body
    assert ask("POST", HOST, f"{TOKEN}/versions/1:enable", {}).status == 400
    assert add(ask, "").status == 400


def test_a_secret_goes_with_its_versions(ask: Ask, secret: Any) -> None:
    add(ask, "b25l")
    assert ask("DELETE", HOST, TOKEN).status == 200
    assert ask("POST", HOST, ALL, EVERYWHERE, secretId="hf-token").status == 200
    assert ask("GET", HOST, f"{TOKEN}/versions/1").status == 404


def test_who_may_read_is_kept_with_it(ask: Ask, secret: Any) -> None:
    bindings = [{"role": "roles/secretmanager.secretAccessor", "members": ["user:a@shop.example"]}]
    assert ask("POST", HOST, f"{TOKEN}:setIamPolicy", {"policy": {"bindings": bindings}}).status == 200
    assert ask("GET", HOST, f"{TOKEN}:getIamPolicy").body["bindings"] == bindings
    assert ask("GET", HOST, f"{ALL}/none:getIamPolicy").status == 404
