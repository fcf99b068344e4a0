"""Projects and the billing account of the sandbox. Nothing is real: the account's id and the numbers are made of the names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from infra.sandbox.clock import rfc3339
from infra.sandbox.refused import Refused
from infra.sandbox.service import Body

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

MANAGER = "cloudresourcemanager.googleapis.com"
BILLING = "cloudbilling.googleapis.com"
USAGE = "serviceusage.googleapis.com"
ACCOUNT = "billingAccounts/0A5A4D-B0C5E0-5A4DB0"
USD = "USD"
ALWAYS_ON = frozenset({MANAGER, BILLING, USAGE, "billingbudgets.googleapis.com"})
"""APIs that are charged to the caller's project, not to the one that a call names."""
RPC = "type.googleapis.com/google.rpc"


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
        if billing:
            self._cloud.mark_own(MANAGER, f"projects/{project}")
        self._cloud.store.set_fact(f"all services on {project}", billing)
        self.bill(project, ACCOUNT if billing else "")
        return body

    def bill(self, project: str, account: str) -> Body:
        """Has *account* pay for a project; nobody, where it is empty."""
        name = f"projects/{project}/billingInfo"
        info = {"name": name, "projectId": project, "billingAccountName": account, "billingEnabled": bool(account)}
        self._cloud.store.put(BILLING, name, info)
        self._cloud.mark_own(BILLING, name)
        return info

    @property
    def currency(self) -> str:
        """Of the billing account: ISO 4217."""
        return str(self._cloud.store.fact("currency") or USD)

    def set_currency(self, currency: str) -> None:
        self._cloud.store.set_fact("currency", currency)

    def is_active(self, project: str) -> bool:
        """Whether there is one that nobody deleted."""
        body = self.get(project)
        return body is not None and body["lifecycleState"] == "ACTIVE"

    def service_state(self, project: str, host: str) -> str:
        """`ENABLED` or `DISABLED` as somebody set an API; else on in the sandbox's own projects, and empty elsewhere."""
        set_to = self._cloud.store.get(USAGE, f"projects/{project}/services/{host}")
        if set_to is not None:
            return str(set_to["state"])
        return "ENABLED" if self._cloud.store.fact(f"all services on {project}") else ""

    def check_service(self, project: str, host: str, title: str) -> None:
        """
        Whether a project may call an API.

        Raises:
            Refused: Somebody disabled it there. Words and details: quoted in terraform-google-sql-db #593 and gemini-cli #1343.
        """
        if host in ALWAYS_ON or self.service_state(project, host) != "DISABLED":
            return
        number = self.number(project)
        link = f"https://console.developers.google.com/apis/api/{host}/overview?project={number}"
        info = {"service": host, "serviceTitle": title, "consumer": f"projects/{number}", "containerInfo": number, "activationUrl": link}
        raise Refused(
            403,
            f"{title} has not been used in project {number} before or it is disabled. Enable it by visiting {link} then retry. "
            "If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.",
            reason="accessNotConfigured",
            details=[
                {"@type": f"{RPC}.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com", "metadata": info},
                {"@type": f"{RPC}.Help", "links": [{"description": "Google developers console API activation", "url": link}]},
            ],
        )

    def get(self, project: str) -> Body | None:
        return self._cloud.store.get(MANAGER, f"projects/{project}")

    def all(self) -> list[str]:
        return [body["projectId"] for _, body in self._cloud.store.items(MANAGER, "projects")]

    def by_id(self, name: str) -> str:
        """A resource's name as it is kept: with the id of the project in it."""
        return _renamed(name, self.id)

    def by_number(self, name: str) -> str:
        """A resource's name as many services answer it: with the number of the project in it."""
        return _renamed(name, self.number)

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


def _renamed(name: str, rename: Callable[[str], str]) -> str:
    words = name.split("/", 2)
    if words[0] == "projects" and len(words) > 1:
        words[1] = rename(words[1])
    return "/".join(words)
