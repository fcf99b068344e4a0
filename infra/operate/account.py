"""The project, who pays for it, what the caller may do in it, and which APIs are on."""

from __future__ import annotations

from collections.abc import Iterator

from infra.findings import Found
from infra.operate.doctor_cloud import CloudNeeds
from infra.operate.google import Google
from infra.operate.refused import each, grant, grant_on_account

PROJECT_ROLES = {
    "roles/artifactregistry.admin": ("artifactregistry.repositories.create", "artifactregistry.repositories.setIamPolicy"),
    "roles/storage.admin": ("storage.buckets.create", "storage.buckets.setIamPolicy"),
    "roles/aiplatform.admin": ("aiplatform.endpoints.create", "aiplatform.endpoints.delete"),
    "roles/compute.admin": ("compute.networks.create", "compute.instances.create", "compute.routers.create"),
    "roles/tpu.admin": ("tpu.nodes.create",),
    "roles/iam.serviceAccountAdmin": ("iam.serviceAccounts.create",),
    "roles/iam.serviceAccountUser": ("iam.serviceAccounts.actAs",),
    "roles/resourcemanager.projectIamAdmin": ("resourcemanager.projects.setIamPolicy",),
    "roles/monitoring.notificationChannelEditor": ("monitoring.notificationChannels.create",),
    "roles/serviceusage.serviceUsageConsumer": ("serviceusage.services.use",),  # budgets charge the project with the quota
}
"""Permissions that making a stack takes, by the predefined role that grants them.
Source: https://cloud.google.com/iam/docs/roles-permissions, read 2026-11."""

FOUNDATION_ROLES = {
    "roles/serviceusage.serviceUsageAdmin": ("serviceusage.services.enable", "serviceusage.services.use"),
    "roles/storage.admin": ("storage.buckets.create", "storage.buckets.setIamPolicy"),
    "roles/cloudkms.admin": ("cloudkms.keyRings.create", "cloudkms.cryptoKeys.create", "cloudkms.cryptoKeys.setIamPolicy"),
    "roles/iam.workloadIdentityPoolAdmin": ("iam.workloadIdentityPools.create", "iam.workloadIdentityPoolProviders.create"),
    "roles/iam.serviceAccountAdmin": ("iam.serviceAccounts.create", "iam.serviceAccounts.setIamPolicy"),
    "roles/resourcemanager.projectIamAdmin": ("resourcemanager.projects.setIamPolicy",),
    "roles/monitoring.notificationChannelEditor": ("monitoring.notificationChannels.create",),
    "roles/servicemanagement.quotaAdmin": ("cloudquotas.quotas.update", "serviceusage.quotas.update"),
}
"""Permissions that making a foundation takes, as above. Of quotas: https://cloud.google.com/docs/quotas/permissions, read 2026-11."""

ROLE_NEEDS_SERVICE = {
    "roles/aiplatform.admin": "aiplatform.googleapis.com",
    "roles/compute.admin": "compute.googleapis.com",
    "roles/tpu.admin": "tpu.googleapis.com",
    "roles/servicemanagement.quotaAdmin": "cloudquotas.googleapis.com",
    "roles/iam.workloadIdentityPoolAdmin": "iam.googleapis.com",
    "roles/iam.serviceAccountAdmin": "iam.googleapis.com",
    "roles/iam.serviceAccountUser": "iam.googleapis.com",
    "roles/resourcemanager.projectIamAdmin": "iam.googleapis.com",
    "roles/monitoring.notificationChannelEditor": "monitoring.googleapis.com",
}
"""Roles that only stacks with that API need."""

MOST_SERVICES = 30
"""APIs that one call asks for. Source: discovery document serviceusage v1, `services.batchGet`."""

BUDGET_ROLE = "roles/billing.costsManager"
BUDGET_PERMISSIONS = (
    "billing.budgets.create",
    "billing.budgets.get",
    "billing.budgets.list",
    "billing.budgets.update",
    "billing.budgets.delete",
)


def project(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """That the project is there and alive. One that is not, and one that others own, answer alike."""
    answer = google.call("cloudresourcemanager", "v3", "projects.get", name=f"projects/{needs.project}")
    state = answer.get("state", "unknown")
    number = str(answer.get("name", "")).removeprefix("projects/")
    if state == "ACTIVE":
        yield Found("project", "ok", f"{needs.project}, number {number}")
    else:
        yield Found("project", "failed", f"{needs.project} is {state}", f"gcloud projects undelete {needs.project}")


def billing(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """That somebody pays, in the currency of the budgets; and what can be known of a free trial."""
    info = google.call("cloudbilling", "v1", "projects.getBillingInfo", name=f"projects/{needs.project}")
    name = str(info.get("billingAccountName", ""))
    if not info.get("billingEnabled"):
        link = f"gcloud billing projects link {needs.project} --billing-account=ACCOUNT"
        yield Found("billing", "failed", f"{name} is closed" if name else "no billing account is linked", link)
        return
    yield Found("billing", "ok", f"{name} is linked and open")
    yield _trial(name)
    if needs.currencies:
        yield from each([("currency", _currency(google, name, needs)), ("budgets", _budgets(google, name))])


def _trial(account: str) -> Found:
    """
    Always unknown: no field of the Cloud Billing API tells (discovery documents cloudbilling v1 and v1beta, read 2026-11). The Cloud Quotas
    API would give a hint by `quotaIncreaseEligibility`, but Google's Python client packages no document of it.
    Source of what a trial lacks: https://cloud.google.com/free/docs/free-cloud-features, read 2026-11.
    """
    return Found(
        "free trial",
        "warning",
        "unknown: no API says whether this is a trial or a paid account. A trial gets no GPUs and no more quota; quota of 0 is a hint",
        f"look at https://console.cloud.google.com/billing/{account.removeprefix('billingAccounts/')}",
    )


def _currency(google: Google, account: str, needs: CloudNeeds) -> Iterator[Found]:
    actual = str(google.call("cloudbilling", "v1", "billingAccounts.get", name=account).get("currencyCode", ""))
    wrong = [currency for currency in needs.currencies if currency != actual]
    if not actual:
        yield Found("currency", "unknown", "the billing account does not say its currency")
    elif wrong:
        said = f"the billing account is in {actual}, budgets are written in {', '.join(wrong)}"
        yield Found("currency", "failed", said, f"write budgets' amounts in {actual}; they are never converted or reinterpreted")
    else:
        yield Found("currency", "ok", actual)


def _budgets(google: Google, account: str) -> Iterator[Found]:
    body = {"permissions": list(BUDGET_PERMISSIONS)}
    permitted = google.call("cloudbilling", "v1", "billingAccounts.testIamPermissions", resource=account, body=body)
    if missing := sorted(set(BUDGET_PERMISSIONS) - set(permitted.get("permissions", []))):
        yield Found("budgets", "failed", f"you lack {', '.join(missing)} on {account}", grant_on_account(account, BUDGET_ROLE))
    else:
        yield Found("budgets", "ok", f"you may make budgets on {account}")


def permissions(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """That the caller may make what the stack declares; what is missing, by role."""
    every_role = FOUNDATION_ROLES if needs.is_foundation else PROJECT_ROLES
    wanted = {role: one for role, one in every_role.items() if role not in ROLE_NEEDS_SERVICE or ROLE_NEEDS_SERVICE[role] in needs.services}
    every = [permission for one in wanted.values() for permission in one]
    answer = google.call(
        "cloudresourcemanager", "v3", "projects.testIamPermissions", resource=f"projects/{needs.project}", body={"permissions": every}
    )
    granted = set(answer.get("permissions", []))
    for role, one in wanted.items():
        if missing := [permission for permission in one if permission not in granted]:
            yield Found("permissions", "failed", f"you lack {', '.join(missing)}", grant(needs.project, role))
    if granted >= set(every):
        yield Found("permissions", "ok", f"you have all {len(every)} that were asked for")


def services(google: Google, needs: CloudNeeds) -> Iterator[Found]:
    """That every API is on; one command for those that are not."""
    parent = f"projects/{needs.project}"
    names = [f"{parent}/services/{service}" for service in needs.services]
    enabled = set()
    for first in range(0, len(names), MOST_SERVICES):
        answer = google.call("serviceusage", "v1", "services.batchGet", parent=parent, names=names[first : first + MOST_SERVICES])
        enabled |= {str(one.get("name", "")).rpartition("/")[2] for one in answer.get("services", []) if one.get("state") == "ENABLED"}
    off = [service for service in needs.services if service not in enabled]
    if off:
        yield Found("APIs", "failed", f"off: {', '.join(off)}", f"gcloud services enable {' '.join(off)} --project={needs.project}")
    else:
        yield Found("APIs", "ok", f"all {len(needs.services)} are on")
