"""A program that runs against what stands: names that follow from others are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pulumi
import pytest

from infra import gcp
from infra.local.adopt.informed import look
from infra.local.adopt.lookup import DEPENDS, Answer, Lookup, OnlyReads
from infra.local.gcp.config import Config
from infra.provider.server import ProviderError

ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"


class There:
    """A cloud in which one account stands."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.asked_for: list[tuple[str, Mapping[str, Any]]] = []

    def look(self, token: str, inputs: Mapping[str, Any]) -> Answer:
        self.asked_for.append((token, inputs))
        if token != ACCOUNT or inputs["accountId"] == "gone":
            return Answer()
        return Answer("projects/p/serviceAccounts/a@p", {"id": "projects/p/serviceAccounts/a@p", "member": "serviceAccount:a@p"})

    def asked(self, token: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self.refuses:
            raise ProviderError("Google answers 403")
        return {"number": "7", "billingAccount": "B"}


def program() -> None:
    project = gcp.organizations.get_project_output(project_id="p")
    for name in ("there", "gone"):
        account = gcp.serviceaccount.Account(name, account_id=name, project="p")
        opts = pulumi.ResourceOptions(parent=account)
        gcp.projects.IAMMember(name, project=project.number, role="roles/viewer", member=account.member, opts=opts)


def test_what_is_found_is_what_the_program_goes_on_with() -> None:
    """The member of an account that stands is known, that of another is not; parents come first."""
    cloud = There()
    seen = look(program, "try", cloud)
    assert [(one.type, one.name, one.stands) for one in seen] == [
        (ACCOUNT, "gone", False),
        (ACCOUNT, "there", True),
        (MEMBER, "gone", False),
        (MEMBER, "there", False),
    ]
    members = {one.name: one.inputs["member"] for one in seen if one.type == MEMBER}
    assert members["there"] == "serviceAccount:a@p"
    assert repr(members["gone"]) == "UNKNOWN"
    assert seen[-1].inputs["project"] == "7"


def test_fails_where_a_question_is_refused() -> None:
    """With the cloud's words."""
    with pytest.raises(ProviderError, match="Google answers 403"):
        look(program, "try", There(refuses=True))


def test_a_look_changes_nothing_and_tells_a_refusal() -> None:
    """Whatever is asked for, nothing but a reading is sent; what Google refuses is told, and what hangs on the unknown is not looked for."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        return httpx.Response(403, json={"error": {"code": 403, "message": "no"}})

    lookup = Lookup("p", "us-east5", "http://127.0.0.1:1")
    lookup.close()
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        lookup._client = OnlyReads(Config(project="p", endpoints={"storage": "http://127.0.0.1:1/"}), http, lambda _: False)
        with pytest.raises(ProviderError, match="a look changes nothing"):
            lookup._client.call("DELETE", "storage", "b/x")
        found = lookup.look("gcp:storage/bucket:Bucket", {"name": "x", "location": "us-east5"})
        from infra.provider.values import UNKNOWN

        later = lookup.look(MEMBER, {"project": "p", "role": "roles/viewer", "member": UNKNOWN})
        nobody = lookup.look("aws:s3/bucket:Bucket", {})
    assert found.why.startswith("Google answers 403")
    assert (later.why, set(sent)) == (DEPENDS, {"GET"})
    assert "nobody here knows" in nobody.why
