"""
Whether a subnet that others own is ready for a stack, and what its owner must type where it is not.

Of a Shared VPC the subnet, its firewall rules and its NAT are the host project's: a stack of a service project declares none of them, but,
where its file says so, the grants on the subnet. Sources, read 2026-11: https://cloud.google.com/vpc/docs/provisioning-shared-vpc;
https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc (GKE's agent, ranges, firewall rules);
https://cloud.google.com/tpu/docs/shared-vpc-networks (`roles/tpu.xpnAgent`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.components.network import IAP_SSH_RANGE, USES
from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds, SharedSubnet
from infra.operate.google import Google
from infra.operate.refused import each

MANAGES, RULES, TPU = "roles/container.hostServiceAgentUser", "roles/compute.securityAdmin", "roles/tpu.xpnAgent"
CHECK = "shared VPC"


def shared_vpc(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """The subnet, its project, its way out, and who may use it. Each part fails by itself."""
    shared = needs.shared
    assert shared, "who has none is not looked at"
    host = google.of(shared.host)
    subnet = host.call("compute", "v1", "subnetworks.get", **_of(shared, "subnetwork"))
    parts = {
        "shared VPC: subnet": _subnet(subnet, shared, needs),
        "shared VPC: way out": _nat(host, subnet, shared),
        "shared VPC: ssh": _ssh(host, subnet, shared),
    }
    if shared.host != needs.project:
        parts |= {
            "shared VPC: host project": _attached(google, shared, needs),
            "shared VPC: you": _yours(host, shared),
            "shared VPC: grants": _grants(google, host, shared, needs),
        }
    yield from each(parts.items())


def _of(shared: SharedSubnet, key: str) -> dict[str, str]:
    _, project, _, region, _, short = shared.name.split("/")
    return {"project": project, "region": region, key: short}


def _flags(shared: SharedSubnet) -> str:
    of = _of(shared, "subnet")
    return f"{of['subnet']} --project={of['project']} --region={of['region']}"


def _subnet(subnet: dict[str, Any], shared: SharedSubnet, needs: CloudNeeds) -> Iterator[Found]:
    """Private access to Google's services, and ranges for pods and services of the clusters."""
    check, update = "shared VPC: subnet", f"gcloud compute networks subnets update {_flags(shared)}"
    fine = True
    if not subnet.get("privateIpGoogleAccess"):
        fine = False
        words = f"{shared.name} has no Private Google Access: machines could not reach Google's services"
        yield Found(check, "failed", words, f"{update} --enable-private-ip-google-access")
    there = {str(one.get("rangeName")) for one in subnet.get("secondaryIpRanges", [])}
    for cluster in shared.clusters:
        ranges = shared.ranges.get(cluster)
        if ranges is None and shared.host != needs.project:
            fine = False
            words = f"clusters.{cluster}: GKE makes no ranges in another project's subnet: it needs some that are there"
            yield Found(
                check, "failed", words, f"write clusters.{cluster}.secondary_ranges; the subnet has: {', '.join(sorted(there)) or 'none'}"
            )
        for name in (one for one in ranges or () if one not in there):
            fine = False
            words = f"clusters.{cluster}.secondary_ranges: {name} is no range of the subnet, which has {', '.join(sorted(there)) or 'none'}"
            yield Found(check, "failed", words, f"{update} --add-secondary-ranges={name}=RANGE")
    if fine:
        yield Found(check, "ok", f"{shared.name}: {subnet.get('ipCidrRange', 'its range is not known')}")


def _nat(host: Google, subnet: dict[str, Any], shared: SharedSubnet) -> Iterator[Found]:
    """A Cloud NAT of the network that takes the subnet."""
    of = _of(shared, "subnet")
    routers = list(host.items("compute", "v1", "routers.list", "items", project=of["project"], region=of["region"]))
    network = _short(subnet.get("network"))
    mine = [one for one in routers if _short(one.get("network")) == network]
    for router in mine:
        for nat in router.get("nats", []):
            every = str(nat.get("sourceSubnetworkIpRangesToNat", "")).startswith("ALL_SUBNETWORKS")
            if every or any(str(one.get("name", "")).endswith(f"/{of['subnet']}") for one in nat.get("subnetworks", [])):
                yield Found("shared VPC: way out", "ok", f"Cloud NAT {nat.get('name')} of router {router.get('name')}")
                return
    where = f"--project={of['project']} --region={of['region']}"
    which = str(mine[0].get("name")) if mine else f"{of['subnet']}-router"
    make = "" if mine else f"gcloud compute routers create {which} {where} --network={network} && "
    nats = f"gcloud compute routers nats create {of['subnet']}-nat --router={which} {where}"
    nats += f" --nat-custom-subnet-ip-ranges={of['subnet']} --auto-allocate-nat-external-ips"
    words = "no Cloud NAT takes the subnet: machines without an external address reach Google's services only, and install nothing"
    yield Found("shared VPC: way out", "failed", words, make + nats)


def _ssh(host: Google, subnet: dict[str, Any], shared: SharedSubnet) -> Iterator[Found]:
    """The one firewall rule that a network of the stack's own would have."""
    network = _short(subnet.get("network"))
    for rule in host.items("compute", "v1", "firewalls.list", "items", project=shared.host):
        opens = any(one.get("IPProtocol") in ("tcp", "all") and _has_ssh(one.get("ports", [])) for one in rule.get("allowed", []))
        inward = rule.get("direction", "INGRESS") == "INGRESS" and not rule.get("disabled")
        if _short(rule.get("network")) == network and inward and opens and IAP_SSH_RANGE in rule.get("sourceRanges", []):
            yield Found("shared VPC: ssh", "ok", f"firewall rule {rule.get('name')}")
            return
    make = f"gcloud compute firewall-rules create {network}-iap-ssh --project={shared.host} --network={network} --direction=INGRESS"
    words = f"no firewall rule of {network} lets IAP's ssh in: nobody reaches the machines"
    yield Found("shared VPC: ssh", "warning", words, f"{make} --source-ranges={IAP_SSH_RANGE} --allow=tcp:22")


def _has_ssh(ports: list[str]) -> bool:
    bounds = [port.partition("-") for port in ports]
    return not ports or any(int(low) <= 22 <= int(high or low) for low, _, high in bounds)


def _short(link: object) -> str:
    return str(link or "").rpartition("/")[2]


def _attached(google: Google, shared: SharedSubnet, needs: CloudNeeds) -> Iterator[Found]:
    """The project is a service project of the subnet's."""
    host = str(google.call("compute", "v1", "projects.getXpnHost", project=needs.project).get("name", ""))
    check = "shared VPC: host project"
    if host == shared.host:
        yield Found(check, "ok", f"{needs.project} is a service project of {host}")
    elif host:
        yield Found(
            check, "failed", f"{needs.project} is a service project of {host}, and the subnet is of {shared.host}", "name a subnet of it"
        )
    else:
        add = f"gcloud compute shared-vpc associated-projects add {needs.project} --host-project={shared.host}"
        words = f"{needs.project} is no service project of {shared.host}: its machines cannot stand in that subnet"
        yield Found(check, "failed", words, f"gcloud compute shared-vpc enable {shared.host} && {add}")


def _yours(host: Google, shared: SharedSubnet) -> Iterator[Found]:
    """Whoever updates the stack uses the subnet, and grants on it where the file says so."""
    wanted = ["compute.subnetworks.use", *(["compute.subnetworks.setIamPolicy"] if shared.granted else [])]
    answer = host.call("compute", "v1", "subnetworks.testIamPermissions", **_of(shared, "resource"), body={"permissions": wanted})
    missing = [one for one in wanted if one not in answer.get("permissions", [])]
    for one in missing:
        fix = _bind(shared, "user:YOUR_EMAIL", USES) if one == "compute.subnetworks.use" else "remove `network.grants`, or have it granted"
        yield Found("shared VPC: you", "failed", f"you lack {one} on {shared.name}", fix)
    if not missing:
        yield Found("shared VPC: you", "ok", f"you may use {shared.name}{' and grant on it' if shared.granted else ''}")


def _bind(shared: SharedSubnet, member: str, role: str) -> str:
    return f"gcloud compute networks subnets add-iam-policy-binding {_flags(shared)} --member={member} --role={role}"


def _bind_host(shared: SharedSubnet, member: str, role: str) -> str:
    return f"gcloud projects add-iam-policy-binding {shared.host} --member={member} --role={role}"


def _grants(google: Google, host: Google, shared: SharedSubnet, needs: CloudNeeds) -> Iterator[Found]:
    """Google's service agents, and accounts of the stack, that make machines in the subnet."""
    number = str(google.call("cloudresourcemanager", "v3", "projects.get", name=f"projects/{needs.project}")["name"]).rpartition("/")[2]
    on_host = _members(host.call("cloudresourcemanager", "v3", "projects.getIamPolicy", resource=f"projects/{shared.host}", body={}))
    on_subnet = _members(host.call("compute", "v1", "subnetworks.getIamPolicy", **_of(shared, "resource")))
    gke, tpu = (
        f"serviceAccount:service-{number}@container-engine-robot.iam.gserviceaccount.com",
        f"serviceAccount:service-{number}@gcp-sa-tpu.iam.gserviceaccount.com",
    )
    apis = f"serviceAccount:{number}@cloudservices.gserviceaccount.com"
    check, fine = "shared VPC: grants", True
    users = [(apis, one) for one in [*shared.groups, *shared.clusters][:1]] + [(gke, one) for one in shared.clusters[:1]]
    users += [(f"serviceAccount:{one}", "machines of jobs") for one in shared.accounts]
    for member, what in users:
        if shared.granted or member in on_subnet.get(USES, ()) or member in on_host.get(USES, ()):
            continue
        fine = False
        yield Found(check, "failed", f"{member} makes {what}, and may not use {shared.name}", _bind(shared, member, USES))
    wanted = [(gke, MANAGES, "failed", "GKE's agent may not manage the network of its clusters")] if shared.clusters else []
    wanted += [(tpu, TPU, "failed", "the Cloud TPU API's agent may not make nodes in another project's network")] if shared.nodes else []
    if shared.clusters:
        words = "GKE's agent may not make firewall rules in the host project: those that it lacks, its owner must make by hand"
        wanted.append((gke, RULES, "warning", words))
    for member, role, level, words in wanted:
        if member not in on_host.get(role, ()):
            fine = False
            yield Found(check, "failed" if level == "failed" else "warning", words, _bind_host(shared, member, role))
    if fine:
        yield Found(check, "ok", "whoever makes machines in the subnet may use it")


def _members(policy: dict[str, Any]) -> dict[str, set[str]]:
    """Members by role; those under a condition are none: what it says is not looked at."""
    found: dict[str, set[str]] = {}
    for binding in policy.get("bindings", []):
        if not binding.get("condition"):
            found.setdefault(str(binding.get("role")), set()).update(binding.get("members", []))
    return found
