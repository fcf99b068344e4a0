"""A project's APIs and its IAM policy."""

from __future__ import annotations

from typing import Any

from infra.local.gcp.iam import IamMember
from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import Policy, ResourceType
from infra.provider.calls import GoogleError

ENABLED = {"fields": "services/name,nextPageToken", "filter": "state:ENABLED", "pageSize": "200"}


class Service(Lifecycle):
    """An enabled API. It is asked for by the list of all that are enabled."""

    def create(self, inputs: dict[str, Any]) -> Made:
        inputs = self._plain(inputs)
        names = self.names(inputs)
        if not self._enabled(names):
            answer = self.call("POST", self.fill(self.row.url, names) + ":enable", {}, {}, names)
            self.client.finished(self.row.service, answer, names["project"])
            self._enabled(names)
        return self._now(self.fill(self.row.id_template, names), names, inputs)

    def get(self, names: dict[str, Any]) -> dict[str, Any] | None:
        try:
            self.client.call("GET", "resourceManager", self.fill("projects/{project}", names))
        except GoogleError as error:
            if error.code == 404:
                return None
            raise
        return {} if self._enabled(names) else None

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        return self._now(id, self.names_of(id, state), state | self._plain(new))

    def delete(self, id: str, state: dict[str, Any]) -> None:
        if not state.get("disableOnDestroy"):
            return
        names = self.names_of(id, state)
        check = "CHECK" if state.get("checkIfServiceHasUsageOnDestroy") else "SKIP"
        body = {"disableDependentServices": bool(state.get("disableDependentServices")), "checkIfServiceHasUsage": check}
        try:
            answer = self.call("POST", self.fill(self.row.url, names) + ":disable", {}, body, names)
            self.client.finished(self.row.service, answer, names["project"])
        except GoogleError as error:
            if error.code != 404:
                raise

    def _enabled(self, names: dict[str, Any]) -> bool:
        query = dict(ENABLED)
        while True:
            page = self.client.call("GET", self.row.service, self.fill("projects/{project}/services", names), query)
            if any(service.get("name", "").endswith(f"/{names['service']}") for service in page.get("services", [])):
                return True
            if not page.get("nextPageToken"):
                return False
            query["pageToken"] = page["nextPageToken"]


SERVICE = ResourceType(
    "gcp:projects/service:Service",
    "serviceUsage",
    "projects/{project}/services/{service}",
    id="{project}/{service}",
    virtual={"checkIfServiceHasUsageOnDestroy": None, "disableDependentServices": None, "disableOnDestroy": None},
    lifecycle=Service,
)

IAM_MEMBER = ResourceType(
    "gcp:projects/iAMMember:IAMMember",
    "resourceManager",
    "projects/{project}",
    policy=Policy(
        "project",
        "{project}",
        get=("POST", ":getIamPolicy"),
        set=("POST", ":setIamPolicy"),
        get_body={"options": {"requestedPolicyVersion": 3}},
        set_extra={"updateMask": "bindings,etag,auditConfigs"},
    ),
    lifecycle=IamMember,
)

ROWS = (SERVICE, IAM_MEMBER)
