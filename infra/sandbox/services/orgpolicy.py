"""
Organisation policies of a project, which nobody stands above here: what it says itself is what takes effect, and what it does not say is
Google's default. Of the sandbox's own calls no policy refuses any: `accelform doctor --sandbox` reads them.

Source of what is not said otherwise: discovery document orgpolicy v2.
"""

from __future__ import annotations

from typing import Any

from infra.sandbox import etags, operations
from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import invalid, no_entity, same_entity
from infra.sandbox.service import Body, Call, Kind, Service

POLICIES = "projects.policies"
BOOLEANS = ("disable", "require", "enforce", "skip", "uniformBucketLevelAccess", "publicAccessPrevention", "managed.")
"""Beginnings of what boolean constraints are called after their service; all others are lists."""
LISTS = ("requireVpcFlowLogs",)
SPECS = ("spec", "dryRunSpec")


def _constraint(name: str) -> str:
    return name.rpartition("/")[2]


def _is_boolean(constraint: str) -> bool:
    short = constraint.partition(".")[2]
    return short.startswith(BOOLEANS) and not short.startswith(LISTS)


def effective(call: Call) -> Any:
    """`getEffectivePolicy`: without etag, and with the default where nothing is said."""
    kept = call.cloud.store.get(HOST, call.owner) or {}
    usual = {"enforce": False} if _is_boolean(_constraint(call.owner)) else {"allowAll": True}
    spec = {"rules": kept.get("spec", {}).get("rules") or [usual]}
    tried = {"dryRunSpec": {"rules": rules}} if (rules := kept.get("dryRunSpec", {}).get("rules")) else {}
    return {"name": _by_number(call, call.owner), "spec": spec} | tried


def _by_number(call: Call, name: str) -> str:
    _, _, rest = name.split("/", 2)
    return f"projects/{call.number}/{rest}"


def _check(call: Call, body: Body, before: Body | None) -> None:
    constraint = _constraint(call.target)
    for key in SPECS:
        for rule in body.get(key, {}).get("rules", []):
            said = [one for one in ("values", "allowAll", "denyAll", "enforce") if one in rule]
            if len(said) != 1 or (said == ["enforce"]) != _is_boolean(constraint):
                kind = "enforce" if _is_boolean(constraint) else "one of values, allowAll and denyAll"
                raise invalid(f"A rule of {constraint} must have {kind}.", f"policy.{key}.rules")


def _fill(call: Call, body: Body) -> None:
    _stamp(call, body)


def _changed(call: Call, body: Body, before: Body) -> None:
    etags.check(call.cloud, call.body.get("etag", ""), before["etag"])
    _stamp(call, body)


def _stamp(call: Call, body: Body) -> None:
    body["etag"] = etags.new(call.cloud)
    for key in SPECS:
        if key in body:
            body[key] = body[key] | {"updateTime": rfc3339(call.now), "etag": body["etag"]}


HOST = "orgpolicy.googleapis.com"
SERVICE = Service(
    host=HOST,
    apis=("orgpolicy.v2",),
    operations=operations.LongRunning(),
    kinds=(Kind(POLICIES, id_from="body:name", required=("name",), fill=_fill, check=_check, changed=_changed),),
    handlers={f"{POLICIES}.getEffectivePolicy": effective},
    not_found=no_entity,
    exists=same_entity,
)
