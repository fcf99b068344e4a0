"""The questions that programs ask."""

from __future__ import annotations

from typing import Any

import echo
import pytest
from pulumi.runtime.proto import provider_pb2

from infra.provider.values import Decoded, encode


def ask(cloud: echo.Echo, token: str, **args: Any) -> dict[str, Any]:
    request = provider_pb2.InvokeRequest(tok=token, args=encode(args))
    answer = echo.Driver(cloud).provider.Invoke(request, echo.Context())
    return Decoded(getattr(answer, "return")).values


def test_a_project_has_its_number_and_its_billing_account() -> None:
    """Both of Google's answers are one."""
    cloud = echo.Echo()
    cloud.kept["v1/projects/p"] = {"projectNumber": "12", "name": "Shop", "projectId": "p", "parent": {"type": "folder", "id": "9"}}
    cloud.kept["v1/projects/p/billingInfo"] = {"billingAccountName": "billingAccounts/01-02"}
    found = ask(cloud, "gcp:organizations/getProject:getProject", projectId="p")
    assert {name: found[name] for name in ("number", "billingAccount", "name", "projectId", "folderId", "orgId", "id")} == {
        "number": "12",
        "billingAccount": "01-02",
        "name": "Shop",
        "projectId": "p",
        "folderId": "9",
        "orgId": "",
        "id": "projects/p",
    }
    assert [call.service for call in cloud.calls] == ["cloudresourcemanager.googleapis.com", "cloudbilling.googleapis.com"]


def test_a_billing_account_has_its_currency() -> None:
    """Its projects are asked for only where they are wanted."""
    cloud = echo.Echo()
    cloud.kept["v1/billingAccounts/01-02"] = {"name": "billingAccounts/01-02", "currencyCode": "TWD", "open": True, "displayName": "Shop"}
    cloud.kept["v1/billingAccounts/01-02/projects"] = {"projectBillingInfo": [{"projectId": "p"}]}
    token = "gcp:organizations/getBillingAccount:getBillingAccount"
    found = ask(cloud, token, billingAccount="01-02", lookupProjects=False)
    assert (found["currencyCode"], found["open"], found["projectIds"]) == ("TWD", True, [])
    assert len(cloud.taken()) == 1
    assert ask(cloud, token, billingAccount="billingAccounts/01-02")["projectIds"] == ["p"]


def test_fails_on_an_unknown_question() -> None:
    """The nearest that are known are said."""
    with pytest.raises(echo.AbortedError, match=r"does not know this function(?s:.)*getProject:getProject"):
        ask(echo.Echo(), "gcp:organizations/getProjects:getProjects")


def test_fails_without_an_account() -> None:
    """An account is known by its id only."""
    with pytest.raises(echo.AbortedError, match="billingAccount: is missing"):
        ask(echo.Echo(), "gcp:organizations/getBillingAccount:getBillingAccount", displayName="Shop")
