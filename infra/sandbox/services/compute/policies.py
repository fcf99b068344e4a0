"""Policies: placement and workload, who may call a backend, which ciphers, and sole-tenant nodes."""

from __future__ import annotations

from typing import Any

from infra.sandbox.refused import Refused
from infra.sandbox.service import Body, Call
from infra.sandbox.services.compute.actions import act
from infra.sandbox.services.compute.fingerprints import renewed
from infra.sandbox.services.compute.resources import kind, unused, wrong
from infra.sandbox.verbs import opened

LAST = 2147483647
"""Priority of the rule that is left when no other fits. Source: recorded traffic."""
TLS = ("ECDSA", "RSA")
RESTRICTED = [
    f"TLS_ECDHE_{key}_WITH_{rest}" for key in TLS for rest in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256")
]
MODERN = sorted([*RESTRICTED, *(f"TLS_ECDHE_{key}_WITH_AES_{bits}_CBC_SHA" for key in TLS for bits in (128, 256))])
CIPHERS = {"RESTRICTED": RESTRICTED, "MODERN": MODERN}
"""Source: recorded traffic."""
POLICIES = frozenset(
    {"workloadPolicy", "groupPlacementPolicy", "snapshotSchedulePolicy", "instanceSchedulePolicy", "diskConsistencyGroupPolicy"}
)


def _policy_defaults(call: Call, body: Body) -> None:
    body.setdefault("status", "READY")
    daily = body.get("snapshotSchedulePolicy", {}).get("schedule", {}).get("dailySchedule")
    if daily is not None:
        daily.setdefault("duration", "PT14400S")  # source: recorded traffic


def _check_policy(call: Call, body: Body, before: Body | None) -> None:
    if len(POLICIES & body.keys()) > 1:
        raise wrong("policy", sorted(POLICIES & body.keys()), "A resource policy holds one policy.")


def _security_defaults(call: Call, body: Body) -> None:
    body.setdefault("type", "CLOUD_ARMOR")
    rules = body.setdefault("rules", [])
    if not any(rule.get("priority") == LAST for rule in rules):
        matched = {"versionedExpr": "SRC_IPS_V1", "config": {"srcIpRanges": ["*"]}}
        rules.append({"action": "allow", "priority": LAST, "match": matched, "description": "default rule"})
    for rule in rules:
        _rule_defaults(rule)
    rules.sort(key=lambda rule: int(rule.get("priority", 0)))  # source: recorded traffic


def _rule_defaults(rule: Body) -> None:
    rule["kind"] = "compute#securityPolicyRule"
    rule.setdefault("description", "")
    rule.setdefault("preview", False)


def _priority(call: Call) -> int:
    return int(call.query.get("priority") or 0)


def _rule(body: Body, priority: int) -> Body:
    found = next((rule for rule in body.get("rules", []) if rule.get("priority") == priority), None)
    if found is None:
        raise Refused(
            400, f"Invalid value for field 'priority': '{priority}'. The security policy does not contain a rule at priority {priority}."
        )
    return found  # type: ignore[no-any-return]


def add_rule(call: Call) -> Any:
    body = opened(call)
    rule = dict(call.body)
    _rule_defaults(rule)
    if any(other.get("priority") == rule.get("priority") for other in body["rules"]):
        raise wrong("priority", rule.get("priority"), "Cannot have rules with the same priorities.")
    body["rules"].append(rule)
    return act(call, renewed(body))


def get_rule(call: Call) -> Any:
    call.target = call.owner
    return _rule(call.cloud.store.get(call.service.host, call.owner) or {}, _priority(call))


def patch_rule(call: Call) -> Any:
    body = opened(call)
    _rule(body, _priority(call)).update(call.body)
    return act(call, renewed(body))


def remove_rule(call: Call) -> Any:
    body = opened(call)
    gone = _rule(body, _priority(call))
    if gone["priority"] == LAST:
        raise wrong("priority", LAST, "Cannot remove default rule.")
    body["rules"] = [rule for rule in body["rules"] if rule is not gone]
    return act(call, renewed(body))


def _ssl_defaults(call: Call, body: Body) -> None:
    body.setdefault("profile", "COMPATIBLE")
    body.setdefault("minTlsVersion", "TLS_1_0")  # the default: the document's description
    if body["profile"] == "CUSTOM":
        body["enabledFeatures"] = body.get("customFeatures", [])
    elif body["profile"] in CIPHERS:
        body["enabledFeatures"] = CIPHERS[body["profile"]]


def _node_defaults(call: Call, body: Body) -> None:
    body.setdefault("status", "READY")
    body.setdefault("serverBinding", {}).setdefault("type", "RESTART_NODE_ON_ANY_SERVER")  # source: recorded traffic


def _rules_of(resource: str) -> dict[str, Any]:
    verbs = {"addRule": add_rule, "getRule": get_rule, "patchRule": patch_rule, "removeRule": remove_rule}
    return {f"{resource}.{verb}": handler for verb, handler in verbs.items()}


KINDS = (
    kind("resourcePolicies", defaults=_policy_defaults, check=_check_policy, release=unused("resource_policy")),
    kind("securityPolicies", defaults=_security_defaults, release=unused("security_policy")),
    kind("regionSecurityPolicies", defaults=_security_defaults, release=unused("security_policy")),
    kind("sslPolicies", defaults=_ssl_defaults, release=unused("ssl_policy")),
    kind("regionSslPolicies", defaults=_ssl_defaults, release=unused("ssl_policy")),
    kind("nodeTemplates", defaults=_node_defaults, release=unused("node_template")),
)
HANDLERS = {**_rules_of("securityPolicies"), **_rules_of("regionSecurityPolicies")}
