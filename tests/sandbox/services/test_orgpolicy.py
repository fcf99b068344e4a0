"""Organisation policies of the sandbox: what a project says takes effect; the rest is Google's default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer

HOST = "orgpolicy.googleapis.com"
ALL = "v2/projects/{project}/policies"
NO_ADDRESS = "compute.vmExternalIpAccess"
SHIELDED = "compute.requireShieldedVm"
Ask = Callable[..., Answer]


def rules(ask: Ask, constraint: str) -> Any:
    return ask("GET", HOST, f"{ALL}/{constraint}:getEffectivePolicy").body


def test_what_nobody_says_is_googles_default(ask: Ask) -> None:
    assert rules(ask, NO_ADDRESS)["spec"] == {"rules": [{"allowAll": True}]}
    assert rules(ask, SHIELDED)["spec"] == {"rules": [{"enforce": False}]}
    assert rules(ask, "compute.requireVpcFlowLogs")["spec"] == {"rules": [{"allowAll": True}]}


def test_what_is_set_takes_effect_until_it_is_deleted(ask: Ask) -> None:
    body = {"name": f"projects/shop-prod/policies/{NO_ADDRESS}", "spec": {"rules": [{"denyAll": True}]}}
    made = ask("POST", HOST, ALL, body)
    assert (made.status, made.body["spec"]["rules"]) == (200, [{"denyAll": True}])
    assert ask("POST", HOST, ALL, body).status == 409
    found = rules(ask, NO_ADDRESS)
    assert (found["spec"], "etag" in found) == ({"rules": [{"denyAll": True}]}, False)
    tried = {"dryRunSpec": {"rules": [{"values": {"allowedValues": ["a"]}}]}, "etag": made.body["etag"]}
    assert ask("PATCH", HOST, f"{ALL}/{NO_ADDRESS}", tried, updateMask="dryRunSpec").status == 200
    assert rules(ask, NO_ADDRESS)["dryRunSpec"] == {"rules": [{"values": {"allowedValues": ["a"]}}]}
    assert ask("PATCH", HOST, f"{ALL}/{NO_ADDRESS}", tried, updateMask="dryRunSpec").status == 409  # somebody wrote in between
    assert len(ask("GET", HOST, ALL).body["policies"]) == 1
    assert ask("DELETE", HOST, f"{ALL}/{NO_ADDRESS}").status == 200
    assert rules(ask, NO_ADDRESS)["spec"] == {"rules": [{"allowAll": True}]}


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [(NO_ADDRESS, {"enforce": True}), (SHIELDED, {"denyAll": True}), (NO_ADDRESS, {}), (NO_ADDRESS, {"denyAll": True, "allowAll": True})],
)
def test_fails_on_a_rule_of_the_other_kind(constraint: str, rule: dict[str, Any], ask: Ask) -> None:
    body = {"name": f"projects/shop-prod/policies/{constraint}", "spec": {"rules": [rule]}}
    assert ask("POST", HOST, ALL, body).status == 400
