"""Projects and the billing account of the sandbox. Nothing is real: the account's id and the numbers are made of the names."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from infra.sandbox.clock import rfc3339
from infra.sandbox.service import Body

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

MANAGER = "cloudresourcemanager.googleapis.com"
BILLING = "cloudbilling.googleapis.com"
USAGE = "serviceusage.googleapis.com"
ACCOUNT = "billingAccounts/0A5A4D-B0C5E0-5A4DB0"
USD = "USD"


class Projects:
    """Which projects there are. A name that is none is refused as Google refuses it: with 403."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def make(self, project: str, *, billing: bool = True) -> Body:
        """
        A project. One that is there is left as it is.

        Args:
            billing: Whether the account pays for it and every API is on, as for the sandbox's own. (default: they are)
        """
        known = self.get(project)
        if known is not None:
            return known
        body = {
            "projectId": project,
            "projectNumber": self.number(project),
            "name": project,
            "lifecycleState": "ACTIVE",
            "createTime": rfc3339(self._cloud.clock.now()),
        }
        self._cloud.store.put(MANAGER, f"projects/{project}", body)
        self._cloud.store.put(
            BILLING,
            f"projects/{project}/billingInfo",
            {"name": f"projects/{project}/billingInfo", "projectId": project, "billingAccountName": ACCOUNT, "billingEnabled": True},
        )
        self._cloud.mark_own(MANAGER, f"projects/{project}")
        self._cloud.mark_own(BILLING, f"projects/{project}/billingInfo")
        return body

    def get(self, project: str) -> Body | None:
        return self._cloud.store.get(MANAGER, f"projects/{project}")

    def all(self) -> list[str]:
        return [body["projectId"] for _, body in self._cloud.store.items(MANAGER, "projects")]

    def number(self, project: str) -> str:
        """Twelve digits, always the same for a name."""
        if re.fullmatch(r"\d+", project):
            return project
        return str(10**11 + int.from_bytes(hashlib.sha256(project.encode()).digest()[:8]) % (9 * 10**11))

    def id(self, project: str) -> str:
        """Id of a project named by id or number; what is no project's number is answered as it came."""
        if not re.fullmatch(r"\d+", project):
            return project
        return next((name for name in self.all() if self.number(name) == project), project)
