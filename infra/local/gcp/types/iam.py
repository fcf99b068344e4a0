"""Service accounts, who may use them, and who comes from elsewhere."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import Policy, ResourceType, Update

MASKS = {"description": "description", "displayName": "display_name"}


class Account(Lifecycle):
    """Its email address is its name, and is made of the account's id and the project's."""

    def names(self, inputs: Any) -> dict[str, Any]:
        found = super().names(inputs)
        if "email" not in found and {"project"} <= found.keys() and inputs.get("accountId"):
            domain, _, project = found["project"].rpartition(":")
            found["email"] = f"{inputs['accountId']}@{project}{f'.{domain}' if domain else ''}.iam.gserviceaccount.com"
        return found

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        return {"accountId": inputs["accountId"], "serviceAccount": {key: inputs[key] for key in MASKS if inputs.get(key)}}

    def created(self, names: dict[str, Any], inputs: dict[str, Any]) -> None:
        if inputs.get("disabled"):
            self._switch(names, off=True)

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        email = answer.get("email") or names["email"]
        own = {"accountId": email.partition("@")[0], "email": email, "member": f"serviceAccount:{email}"}
        return super().outputs(answer, names, written) | own

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        names = self.names_of(id, state)
        changed = [key for key in MASKS if old.get(key) != new.get(key)]
        if changed:
            etag = (self.get(names) or {}).get("etag")
            account = {key: new[key] for key in changed if new.get(key)} | ({"etag": etag} if etag else {})
            body = {"serviceAccount": account, "updateMask": ",".join(MASKS[key] for key in changed)}
            self.call("PATCH", self.fill(self.row.url, names), {}, body, names)
        if bool(old.get("disabled")) != bool(new.get("disabled")):
            self._switch(names, off=bool(new.get("disabled")))
        return self._now(id, names, state | new)

    def _switch(self, names: dict[str, Any], *, off: bool) -> None:
        self.call("POST", self.fill(self.row.url, names) + (":disable" if off else ":enable"), {}, {}, names)


ACCOUNT = ResourceType(
    "gcp:serviceaccount/account:Account",
    "iam",
    "projects/{project}/serviceAccounts/{email}",
    virtual={"createIgnoreAlreadyExists": None},
    unsupported=("createIgnoreAlreadyExists",),
    lifecycle=Account,
)

ACCOUNT_IAM_MEMBER = ResourceType(
    "gcp:serviceaccount/iAMMember:IAMMember",
    "iam",
    "{serviceAccountId}",
    policy=Policy(
        "serviceAccountId",
        "{serviceAccountId}",
        get=("POST", ":getIamPolicy"),
        set=("POST", ":setIamPolicy"),
        get_query={"options.requestedPolicyVersion": "3"},
    ),
    lifecycle=IamMember,
)


class Federated(Lifecycle):
    """A deleted one stays for 30 days, and is gone."""

    def get(self, names: dict[str, Any]) -> dict[str, Any] | None:
        found = super().get(names)
        return None if found is None or found.get("state") == "DELETED" else found


POOLS = "projects/{project}/locations/global/workloadIdentityPools"

POOL = ResourceType(
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool",
    "iamBeta",
    f"{POOLS}/{{workloadIdentityPoolId}}",
    imported_by=("{project}/{workloadIdentityPoolId}",),
    create_query={"workloadIdentityPoolId": "{workloadIdentityPoolId}"},
    url_only=("workloadIdentityPoolId",),
    updates=(Update(mask=True),),
    lifecycle=Federated,
)

POOL_PROVIDER = ResourceType(
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",
    "iamBeta",
    f"{POOLS}/{{workloadIdentityPoolId}}/providers/{{workloadIdentityPoolProviderId}}",
    imported_by=("{project}/{workloadIdentityPoolId}/{workloadIdentityPoolProviderId}",),
    create_query={"workloadIdentityPoolProviderId": "{workloadIdentityPoolProviderId}"},
    url_only=("workloadIdentityPoolId", "workloadIdentityPoolProviderId"),
    updates=(Update(mask=True),),
    lifecycle=Federated,
)

ROWS = (ACCOUNT, ACCOUNT_IAM_MEMBER, POOL, POOL_PROVIDER)
