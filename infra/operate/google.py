"""Google's API client: packaged discovery documents, application default credentials, and refusals in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.findings import Found, Level

TIMEOUT_SECONDS = 20
RETRIES = 1
SCOPES = (
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/cloud-billing.readonly",
)
"""The Cloud TPU API takes no read-only scope (discovery document tpu v2, read 2026-11); only reading methods are called."""

Connect = Callable[[], Any]
"""Makes an HTTP transport for the client: one for each thread, since they are not shared safely."""


class NoCredentialsError(Exception):
    """There are no application default credentials on this machine."""


@dataclass(frozen=True)
class RefusedError(Exception):
    """Google's API refused or did not answer."""

    level: Level
    message: str
    fix: str

    def found(self, check: str) -> Found:
        return Found(check, self.level, self.message, self.fix)


def default_connect(project: str) -> tuple[Connect, str]:
    """
    A transport maker over application default credentials, and who they are.

    Raises:
        NoCredentialsError: There are none.
    """
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(scopes=SCOPES)
    except DefaultCredentialsError as error:
        raise NoCredentialsError(str(error)) from None
    if hasattr(credentials, "with_quota_project"):
        credentials = credentials.with_quota_project(project)
    who = getattr(credentials, "service_account_email", "") or "your own login"

    def connect() -> Any:
        import google_auth_httplib2
        import httplib2

        return google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(timeout=TIMEOUT_SECONDS))

    return connect, who


class Google:
    """Google's APIs, as one thread sees them."""

    def __init__(self, connect: Connect, project: str) -> None:
        self._http = connect()
        self._project = project
        self._services: dict[tuple[str, str], Any] = {}

    def call(self, api: str, version: str, method: str, **arguments: Any) -> dict[str, Any]:
        """
        The answer to one method, such as `projects.locations.acceleratorTypes.list`.

        Raises:
            RefusedError: With what to do about it.
        """
        from google.auth.exceptions import GoogleAuthError
        from googleapiclient.discovery import build
        from googleapiclient.errors import HttpError

        if (api, version) not in self._services:
            self._services[api, version] = build(api, version, http=self._http, static_discovery=True, cache_discovery=False)
        service: Any = self._services[api, version]
        *collections, verb = method.split(".")
        for collection in collections:
            service = getattr(service, collection)()
        try:
            answer: dict[str, Any] = getattr(service, verb)(**arguments).execute(num_retries=RETRIES)
        except HttpError as error:
            raise self._refused(api, error) from None
        except GoogleAuthError as error:
            raise RefusedError("failed", f"the credentials were not accepted: {error}", "gcloud auth application-default login") from None
        except (TimeoutError, OSError) as error:
            said = str(error) or type(error).__name__
            raise RefusedError("unknown", f"{api} did not answer within {TIMEOUT_SECONDS} s: {said}", "try again") from None
        return answer

    def _refused(self, api: str, error: Any) -> RefusedError:
        body = _error_of(error.content)
        message = str(body.get("message") or error.reason or "no message").strip()
        service = f"{api}.googleapis.com"
        details = [one for one in body.get("details", []) if isinstance(one, Mapping)]
        if any(one.get("reason") == "SERVICE_DISABLED" for one in details) or "has not been used in project" in message:
            named = next((one["metadata"].get("service") for one in details if isinstance(one.get("metadata"), Mapping)), None)
            service = named or service
            return RefusedError(
                "failed", f"{service} is not enabled in {self._project}", f"gcloud services enable {service} --project={self._project}"
            )
        if "quota project" in message:
            return RefusedError("failed", message, f"gcloud auth application-default set-quota-project {self._project}")
        status = int(error.resp.status)
        if status == 403:
            return RefusedError("unknown", f"{service}: you may not look: {message}", "ask for roles/viewer, or for the permission named")
        return RefusedError("unknown", f"{service} answered {status}: {message}", "")


def _error_of(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}
