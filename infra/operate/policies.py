"""Organisation policies that would refuse a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds
from infra.operate.google import Google, RefusedError

IMAGE_PROJECT = "projects/ubuntu-os-accelerator-images"

Rules = list[dict[str, Any]]
Refuses = Callable[[Rules, CloudNeeds], str]
"""Why effective rules would refuse the stack; empty where they would not."""


def policies(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Each constraint that could stand in the way, as it takes effect in the project."""
    fine = []
    for constraint, refuses in CONSTRAINTS.items():
        name = f"projects/{needs.project}/policies/{constraint}"
        try:
            answer = google.call("orgpolicy", "v2", "projects.policies.getEffectivePolicy", name=name)
        except RefusedError as refused:
            if refused.level == "failed":  # the API is off: it is off for every constraint
                yield refused.found("organisation policies")
                return
            yield refused.found(constraint)
            continue
        why = refuses(answer.get("spec", {}).get("rules", []), needs)
        if why:
            show = f"gcloud org-policies describe {constraint} --project={needs.project} --effective"
            yield Found(constraint, "failed", why, f"ask an organisation policy administrator; {show}")
        else:
            fine.append(constraint)
    if fine:
        yield Found("organisation policies", "ok", f"{len(fine)} of {len(CONSTRAINTS)} looked at do not stand in the way")


def _enforced(why: str, needed: Callable[[CloudNeeds], bool] = lambda needs: True) -> Refuses:
    def refuses(rules: Rules, needs: CloudNeeds) -> str:
        return why if needed(needs) and any(rule.get("enforce") for rule in rules) else ""

    return refuses


def _values(rules: Rules) -> tuple[bool, list[str], list[str]]:
    """Whether all is denied; what is allowed; what is denied."""
    allowed, denied = [], []
    for rule in rules:
        values = rule.get("values", {})
        allowed += values.get("allowedValues", [])
        denied += values.get("deniedValues", [])
    return any(rule.get("denyAll") for rule in rules), allowed, denied


def _locations(rules: Rules, needs: CloudNeeds) -> str:
    deny_all, allowed, denied = _values(rules)
    if deny_all:
        return "no location is allowed"
    places = {needs.region, f"in:{needs.region}-locations"}
    if places & set(denied):
        return f"{needs.region} is denied"
    # A value group such as `in:asia-locations` holds regions that only Google lists.
    groups = [one for one in allowed if one.startswith("in:") and one not in places]
    if allowed and not places & set(allowed):
        return "" if any(_may_hold(group, needs.region) for group in groups) else f"only {', '.join(allowed)} are allowed"
    return ""


def _may_hold(group: str, region: str) -> bool:
    continent = region.partition("-")[0]
    return group in (f"in:{continent}-locations", f"in:{region.rpartition('-')[0]}-locations")


def _images(rules: Rules, needs: CloudNeeds) -> str:
    deny_all, allowed, denied = _values(rules)
    if not any(one.way == "compute-engine" for one in needs.tpus):
        return ""
    if deny_all or IMAGE_PROJECT in denied or (allowed and IMAGE_PROJECT not in allowed):
        return f"images of {IMAGE_PROJECT} are not trusted: TPU machines boot from them"
    return ""


def _services(rules: Rules, needs: CloudNeeds) -> str:
    deny_all, allowed, denied = _values(rules)
    refused = [one for one in needs.services if deny_all or one in denied or (allowed and one not in allowed)]
    return f"these APIs are restricted: {', '.join(refused)}" if refused else ""


def _machines(needs: CloudNeeds) -> bool:
    return bool(needs.tpus)


CONSTRAINTS: dict[str, Refuses] = {
    "gcp.resourceLocations": _locations,
    "gcp.restrictServiceUsage": _services,
    "compute.trustedImageProjects": _images,
    "iam.disableServiceAccountCreation": _enforced("service accounts cannot be made: every machine has one of its own", _machines),
    "compute.requireVpcFlowLogs": _enforced("subnets must have flow logs, which this version does not declare", _machines),
}
"""Constraints that could refuse a stack. Those that a stack keeps anyway (no external address, OS Login, uniform bucket access,
public access prevention) are not asked. Source: https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints,
read 2026-11."""
