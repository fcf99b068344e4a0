"""Credentials: who they are and what they charge; lists are read to their last page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.oauth2.credentials import Credentials

from infra.operate.doctor_cloud import CloudNeeds, inspect
from infra.operate.google import Google, default_connect


def login(monkeypatch: pytest.MonkeyPatch, **known: str) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **ignored: (Credentials(token="t", **known), None))


def test_fails_without_credentials(needs: CloudNeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without credentials nothing is called, and the command that makes them is named."""

    def none(**ignored: Any) -> Any:
        raise DefaultCredentialsError("File key.json was not found.\nSee the documentation")

    monkeypatch.setattr(google.auth, "default", none)
    found = inspect(needs)
    assert (found[0].level, found[0].fix) == ("failed", "gcloud auth application-default login")
    assert found[0].message.endswith("File key.json was not found.")
    assert {one.level for one in found[1:]} == {"unknown"}


def test_warns_of_a_login_without_quota_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's own login that charges no project is refused by the budgets API elsewhere; the command that mends it is named."""
    login(monkeypatch)
    found = {one.check: one for one in default_connect("tw-shop-ml")[1]}
    assert found["credentials"].message.startswith("your own login")
    assert found["quota project"].level == "warning"
    assert found["quota project"].fix == "gcloud auth application-default set-quota-project tw-shop-ml"


def test_names_who_looks_and_what_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account is named where credentials name it, and the project that they charge."""
    login(monkeypatch, account="ada@shop.example", quota_project_id="other")
    found = {one.check: one for one in default_connect("tw-shop-ml")[1]}
    assert found["credentials"].message == "ada@shop.example"
    assert (found["quota project"].level, "other" in found["quota project"].message) == ("ok", True)


def test_charges_the_project_that_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls carry the project as their quota project, and wait twenty seconds at most."""
    login(monkeypatch, quota_project_id="other")
    transport = default_connect("tw-shop-ml")[0]()
    assert transport.credentials.quota_project_id == "tw-shop-ml"
    assert transport.http.timeout == 20


def test_fails_on_credentials_that_cannot_be_renewed(needs: CloudNeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials without a way to renew them are a finding of every check, with the command that makes new ones."""
    monkeypatch.setattr(google.auth, "default", lambda **ignored: (Credentials(token=None), None))
    found = [one for one in inspect(needs) if one.check not in ("credentials", "quota project")]
    assert {(one.level, one.fix) for one in found} == {("failed", "gcloud auth application-default login")}


def test_reads_to_the_last_page(cloud: SimpleNamespace) -> None:
    """A page without an item is not the last one while it names a next."""
    pages = iter([{"nextPageToken": "a"}, {"items": [{"name": "x"}], "nextPageToken": "b"}, {"items": [{"name": "y"}]}])
    transport = cloud.transport({"/compute/v1/projects/p/zones/z/machineTypes": lambda body: next(pages)})
    every = Google(transport, "p").items("compute", "v1", "machineTypes.list", "items", project="p", zone="z")
    assert [one["name"] for one in every] == ["x", "y"]


def test_shared_documents_call_by_each_ones_own_transport(answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """Threads share what was made of Google's documents; transports are not shared."""
    transports = [cloud.transport(answers) for _ in range(2)]
    for transport in transports:
        Google(transport, cloud.project).call("compute", "v1", "projects.get", project=cloud.project)

    assert [transport.asked for transport in transports] == [[("GET", f"/compute/v1/projects/{cloud.project}")]] * 2
