"""Organisation policies that would refuse a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from infra.catalog.places import regions
from infra.components import gpu_host
from infra.components.tpu_host import IMAGE_PROJECT
from infra.findings import Found, Level
from infra.operate.doctor_cloud import CloudNeeds
from infra.operate.google import Google
from infra.operate.refused import RefusedError

Rules = list[dict[str, Any]]
Verdict = tuple[Level, str] | None
"""How effective rules stand in a stack's way, and why; None where they do not."""

RESTRICTABLE = ("aiplatform.googleapis.com", "artifactregistry.googleapis.com", "compute.googleapis.com", "storage.googleapis.com")
"""Services of a stack that `gcp.restrictServiceUsage` is known to govern; those that all of Google Cloud depends on are never restricted.
Source: https://cloud.google.com/resource-manager/docs/organization-policy/restricting-resources-supported-services, read 2026-11."""

CONTINENTS = ("africa", "asia", "australia", "europe", "me", "northamerica", "southamerica", "us")
"""Value groups of `gcp.resourceLocations` that go by the first part of a region's name; `northamerica` holds `us` too.
Source: https://cloud.google.com/resource-manager/docs/organization-policy/defining-locations, read 2026-11."""


def policies(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """Each constraint that could stand in the way, as it takes effect in the project; and what one that only watches would refuse."""
    fine = 0
    for constraint, verdict_of in CONSTRAINTS.items():
        show = f"gcloud org-policies describe {constraint} --project={needs.project} --effective"
        name = f"projects/{needs.project}/policies/{constraint}"
        try:
            answer = google.call("orgpolicy", "v2", "projects.policies.getEffectivePolicy", name=name)
        except RefusedError as refused:
            if refused.status not in (400, 404):  # the API, the permission or the network: it would be the same for every constraint
                raise
            yield refused.found(constraint)
            continue
        rules, tried = (answer.get(key, {}).get("rules", []) for key in ("spec", "dryRunSpec"))
        if any("condition" in rule for rule in rules):
            yield Found(constraint, "warning", "holds by resource tags, which are not looked at", show)
        elif verdict := verdict_of(rules, needs):
            yield Found(constraint, *verdict, f"ask an organisation policy administrator; {show}")
        elif tried and (verdict := verdict_of(tried, needs)):
            words = f"only watches so far (dry run); once it is enforced: {verdict[1]}"
            yield Found(constraint, "warning", words, f"tell an organisation policy administrator; {show}")
        else:
            fine += 1
    if fine:
        yield Found("organisation policies", "ok", f"{fine} of {len(CONSTRAINTS)} looked at do not stand in the way")
    kept = "; ".join(f"{constraint}: {why}" for constraint, why in KEPT.items())
    yield Found("organisation policies", "ok", f"not asked, since every stack keeps them: {kept}")


def _allows(rules: Rules, holds: Callable[[str], bool | None]) -> bool | None:
    """
    Whether list rules allow what *holds* recognises in one listed value; None where that cannot be known.

    Source: discovery document orgpolicy v2, `PolicyRule.values`: `is:` before a value changes nothing.
    """
    values = [rule.get("values", {}) for rule in rules]
    allowed = [holds(one.removeprefix("is:")) for value in values for one in value.get("allowedValues", [])]
    denied = [holds(one.removeprefix("is:")) for value in values for one in value.get("deniedValues", [])]
    if any(rule.get("denyAll") for rule in rules) or True in denied:
        return False
    if allowed and True not in allowed:
        return None if None in allowed else False
    return None if None in denied else True


def _listed(rules: Rules) -> str:
    """What list rules say, for people."""
    values = [rule.get("values", {}) for rule in rules]
    said = {
        "allowed": [one for value in values for one in value.get("allowedValues", [])],
        "denied": [one for value in values for one in value.get("deniedValues", [])],
    }
    return "; ".join(f"{what}: {', '.join(listed)}" for what, listed in said.items() if listed) or "all is denied"


def _service_accounts(rules: Rules, needs: CloudNeeds) -> Verdict:
    if needs.machines and any(rule.get("enforce") for rule in rules):
        return "failed", "service accounts cannot be made: every machine has one of its own"
    return None


def _secure_boot(rules: Rules, needs: CloudNeeds) -> Verdict:
    if _machines(needs) and any(rule.get("enforce") for rule in rules):
        return "failed", "Secure Boot is demanded, and TPU machines start without it: the TPU driver of Google's image is not signed"
    return None


def _locations(rules: Rules, needs: CloudNeeds) -> Verdict:
    continent = needs.region.partition("-")[0]
    holding = {needs.region, continent, "northamerica" if continent == "us" else continent}

    def holds(value: str) -> bool | None:
        group = value.removeprefix("in:").removesuffix("-locations")
        if value == needs.region or (value.startswith("in:") and group in holding):
            return True
        # A zone is a part of the region only. What other groups hold, such as `in:eu-locations`, only Google knows.
        part = value.startswith(f"{needs.region}-")
        return None if part or (value.startswith("in:") and group not in (*regions(), *CONTINENTS)) else False

    allowed = _allows(rules, holds)
    if allowed is None:
        return "unknown", f"whether {needs.region} is allowed is not known ({_listed(rules)})"
    return None if allowed else ("failed", f"{needs.region} is refused ({_listed(rules)})")


def _images(rules: Rules, needs: CloudNeeds) -> Verdict:
    booted = {IMAGE_PROJECT: "TPU machines"} if _machines(needs) else {}
    booted |= {gpu_host.IMAGE_PROJECT: "machines with GPUs"} if any(one.way != "gke" for one in needs.gpus) else {}
    found: list[tuple[Level, str]] = []
    for name, what in booted.items():
        project = f"projects/{name}"

        def holds(value: str, project: str = project) -> bool | None:
            return value.removeprefix("under:") == project or (None if value.startswith("under:") else False)

        allowed = _allows(rules, holds)
        if allowed is None:
            found.append(("unknown", f"whether images of {project} are trusted is not known ({_listed(rules)})"))
        elif not allowed:
            found.append(("failed", f"images of {project} are not trusted, and {what} boot from them ({_listed(rules)})"))
    return min(found, key=lambda one: one[0] != "failed", default=None)


def _services(rules: Rules, needs: CloudNeeds) -> Verdict:
    wanted = [service for service in needs.services if service in RESTRICTABLE]
    refused = [service for service in wanted if _allows(rules, service.__eq__) is False]
    return ("failed", f"these APIs are restricted: {', '.join(refused)}") if refused else None


def _own_keys(rules: Rules, needs: CloudNeeds) -> Verdict:
    denied = {one.removeprefix("is:") for rule in rules for one in rule.get("values", {}).get("deniedValues", [])}
    refused = [service for service in needs.services if service in denied]
    return ("failed", f"encryption keys of your own are demanded of {', '.join(refused)}: this version declares none") if refused else None


def _flow_logs(rules: Rules, needs: CloudNeeds) -> Verdict:
    demanded = [one for rule in rules for one in rule.get("values", {}).get("allowedValues", [])]
    if not _own_network(needs) or not demanded:
        return None
    return "warning", f"subnets must have flow logs ({', '.join(demanded)}), and the stack's own has none: set `network.existing`"


def _nat(rules: Rules, needs: CloudNeeds) -> Verdict:
    if not _own_network(needs) or _allows(rules, lambda value: value == f"under:projects/{needs.project}" or None):
        return None
    return "warning", f"Cloud NAT may be refused to the stack's own subnet ({_listed(rules)}): if so, set `network.existing`"


def _members(rules: Rules, needs: CloudNeeds) -> Verdict:
    limited = any(rule.get("denyAll") or rule.get("values") or (rule.get("enforce") and rule.get("parameters")) for rule in rules)
    if not needs.callers or not limited:
        return None
    return "warning", f"grants to members from elsewhere are refused ({_listed(rules)}): are {', '.join(needs.callers)} of those allowed?"


def _issuers(rules: Rules, needs: CloudNeeds) -> Verdict:
    refused = [issuer for issuer in needs.issuers if not _allows(rules, issuer.__eq__)]
    return ("failed", f"no pool may take tokens of {', '.join(refused)} ({_listed(rules)}): the pipeline's do") if refused else None


def _balancers(rules: Rules, needs: CloudNeeds) -> Verdict:
    def holds(kind: str, value: str) -> bool:
        return value == kind or (value.startswith("in:") and value.removeprefix("in:") in kind.split("_"))

    refused = [kind for kind in needs.balancers if not _allows(rules, lambda value, kind=kind: holds(kind, value))]  # type: ignore[misc]
    return ("failed", f"load balancers of {', '.join(refused)} are refused ({_listed(rules)}): routes make them") if refused else None


def _peering(rules: Rules, needs: CloudNeeds) -> Verdict:
    if not needs.peered or (allowed := _allows(rules, lambda value: None)):
        return None
    if allowed is None:
        return "unknown", f"whether the network may be peered with Google's is not known ({_listed(rules)}): {', '.join(needs.peered)}"
    return "failed", f"no network may be peered ({_listed(rules)}), which {', '.join(needs.peered)} needs"


def _subnets(rules: Rules, needs: CloudNeeds) -> Verdict:
    if needs.shared is None or needs.shared.host == needs.project:
        return None
    name, host = needs.shared.name, needs.shared.host

    def holds(value: str) -> bool | None:
        if value in (name, f"under:projects/{host}"):
            return True
        return None if value.startswith(("under:folders/", "under:organizations/")) else False

    allowed = _allows(rules, holds)
    if allowed is None:
        return "unknown", f"whether {name} may be used is not known ({_listed(rules)})"
    return None if allowed else ("failed", f"{name} may not be used ({_listed(rules)})")


def _confidential(rules: Rules, needs: CloudNeeds) -> Verdict:
    denied = {one.removeprefix("is:") for rule in rules for one in rule.get("values", {}).get("deniedValues", [])}
    if needs.machines and denied & {"compute.googleapis.com", "container.googleapis.com"}:
        return "failed", "Confidential VMs are demanded, and no machine of a stack is one"
    return None


def _retained(rules: Rules, needs: CloudNeeds) -> Verdict:
    seconds = [one for rule in rules for one in rule.get("values", {}).get("allowedValues", [])]
    if not seconds:
        return None
    return "failed", f"buckets must have a retention policy ({', '.join(seconds)} seconds), and a stack's have none: what is old must go"


def _own_network(needs: CloudNeeds) -> bool:
    return needs.machines and needs.shared is None


def _machines(needs: CloudNeeds) -> bool:
    return any(need.way == "compute-engine" for need in needs.tpus)


CONSTRAINTS: dict[str, Callable[[Rules, CloudNeeds], Verdict]] = {
    "gcp.resourceLocations": _locations,
    "gcp.restrictServiceUsage": _services,
    "gcp.restrictNonCmekServices": _own_keys,
    "compute.trustedImageProjects": _images,
    "compute.requireShieldedVm": _secure_boot,
    "compute.requireVpcFlowLogs": _flow_logs,
    "compute.restrictCloudNATUsage": _nat,
    "compute.restrictLoadBalancerCreationForTypes": _balancers,
    "compute.restrictNonConfidentialComputing": _confidential,
    "compute.restrictSharedVpcSubnetworks": _subnets,
    "compute.restrictVpcPeering": _peering,
    "iam.disableServiceAccountCreation": _service_accounts,
    "iam.managed.disableServiceAccountCreation": _service_accounts,
    "iam.allowedPolicyMemberDomains": _members,
    "iam.managed.allowedPolicyMembers": _members,
    "iam.workloadIdentityPoolProviders": _issuers,
    "storage.retentionPolicySeconds": _retained,
}
"""
Constraints that could refuse a stack. Sources, read 2026-11:
https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints; of load balancers, whose types may be named
one by one or by `in:EXTERNAL` and `in:INTERNAL`, https://cloud.google.com/load-balancing/docs/org-policy-constraints.
"""

KEPT = {
    "compute.vmExternalIpAccess": "no machine has an external address",
    "compute.requireOsLogin": "every machine of Compute Engine has it on",
    "compute.disableSerialPortAccess": "nothing reads a serial port",
    "compute.vmCanIpForward": "no machine forwards",
    "storage.uniformBucketLevelAccess": "every bucket has it",
    "storage.publicAccessPrevention": "every bucket enforces it",
    "iam.disableServiceAccountKeyCreation": "no account has a key",
}
"""Constraints that every stack keeps, whatever they say."""
