"""The rules as a CrossGuard pack: per resource, mandatory, and with an explicit unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi.runtime
import pulumi_policy.policy
import pulumi_policy.secret
from pulumi_policy import EnforcementLevel, PolicyPack, ReportViolation, ResourceValidationArgs, ResourceValidationPolicy, Severity
from pulumi_policy.policy import _PolicyAnalyzerServicer
from pulumi_policy.proxy import _is_unknown

from infra.catalog import confirmed
from infra.declared import UNKNOWN, Declared, Secret
from infra.policy import excepted
from infra.policy.rule import Rule, find
from infra.policy.rules import RULES

NAME = "accelform"


def main() -> None:
    """Serves the pack until the engine ends it."""
    keep_stack_config()
    keep_secrets()
    PolicyPack(NAME, policies=[policy(rule) for rule in RULES], enforcement_level=EnforcementLevel.MANDATORY)


def keep_stack_config() -> None:
    """
    Makes the stack's configuration readable in policies. The engine sends it with ConfigureStack; the SDK keeps the tags of that
    request and drops the rest (pulumi-policy 1.21), and the environment variable that it reads instead is no longer set (engine 3.274).
    """
    drops = _PolicyAnalyzerServicer.ConfigureStack

    def keeps(servicer: Any, request: Any, context: Any) -> Any:
        for key, value in request.config.items():
            pulumi.runtime.set_config(key, value)
        return drops(servicer, request, context)

    _PolicyAnalyzerServicer.ConfigureStack = keeps


def keep_secrets() -> None:
    """Lets rules see which values are secret: the SDK opens them before a policy reads them, and a message might show one."""
    opens = pulumi_policy.policy.deserialize_properties

    def keeps(props: Any, proxy_secrets: bool = True) -> Any:
        return opens(props, True)

    pulumi_policy.policy.deserialize_properties = keeps


def policy(rule: Rule) -> ResourceValidationPolicy:
    """A rule as a policy of one resource: policies over a whole stack run only after it was made."""
    return ResourceValidationPolicy(
        name=rule.name,
        description=rule.description,
        validate=validation(rule),
        enforcement_level=EnforcementLevel.MANDATORY,
        remediation_steps=rule.remediation,
        severity=Severity(rule.severity),
    )


def validation(rule: Rule) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        config = pulumi.Config("accelform")
        region = config.get("region")
        if not region and rule.name == "same-region":
            report("accelform:region: is not set: without it nothing can be held to one region", None)
            return
        resource = declared(args)
        if next(rule.find(resource, region or ""), None) is None:  # most resources: what overrules a finding is read for one only
            return
        if excepted.covers(excepted.parse(config.get("exceptions")), rule.name, args.name, excepted.this_day()):
            return
        for broken in find(rule, resource, region or "", confirmed.parse(config.get("confirmed"))):
            report(f"{broken}\n  fix: {rule.remediation}", None)

    return validate


def declared(args: ResourceValidationArgs) -> Declared:
    """The engine's resource in the neutral form."""
    return Declared(type=args.resource_type, name=args.name, inputs=_mapping(args.props), urn=args.urn, protect=args.opts.protect)


def _mapping(props: Mapping[str, Any]) -> dict[str, Any]:
    value = plain(props)
    return value if isinstance(value, dict) else {}


def plain(value: Any) -> Any:
    """
    A property as plain data. Reading an unknown through the SDK's proxies raises, which would turn a mandatory rule into a note:
    so the proxies are opened, and what is unknown says so.
    """
    # The proxies keep what they guard under this name, and hand it out for no other.
    target = getattr(value, f"_{type(value).__name__.lstrip('_')}__target", None)
    if target is not None:
        return plain(target)
    if isinstance(value, pulumi_policy.secret.Secret):
        return Secret(plain(value.value))
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if _is_unknown(value) else value
