"""Google's API client: packaged discovery documents and application default credentials."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from infra import documents
from infra.findings import Found
from infra.operate.refused import RefusedError, explained
from infra.provider import google_client

TIMEOUT_SECONDS = 20
RETRIES = 1
SCOPES = (
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/cloud-billing.readonly",
)
"""The Cloud TPU API takes no read-only scope (discovery document tpu v2, read 2026-11); only reading methods are called."""

LOGIN = "gcloud auth application-default login"

Connect = Callable[[], Any]
"""Makes an HTTP transport for the client: one for each thread, since they are not shared safely."""


class NoCredentialsError(Exception):
    """There are no application default credentials on this machine."""


def default_connect(project: str) -> tuple[Connect, list[Found]]:
    """
    A transport maker over application default credentials that charges *project* with the quota, and what there is to say of them.

    Raises:
        NoCredentialsError: There are none, or they cannot be read.
    """
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Your application has authenticated using end user credentials")  # said below, as a finding
            credentials, _ = google.auth.default(scopes=SCOPES)
    except DefaultCredentialsError as error:
        raise NoCredentialsError(str(error).partition("\n")[0]) from None
    found = _of_credentials(credentials, project)
    if hasattr(credentials, "with_quota_project"):
        credentials = credentials.with_quota_project(project)

    def connect() -> Any:
        import google_auth_httplib2
        import httplib2

        return google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(timeout=TIMEOUT_SECONDS))

    return connect, found


def _of_credentials(credentials: Any, project: str) -> list[Found]:
    """Who they are, and which project they charge with the quota. Without one, the budgets API refuses a person's own login."""
    account = getattr(credentials, "service_account_email", "")
    who = account or getattr(credentials, "account", "") or "your own login; application default credentials do not say whose"
    charged = getattr(credentials, "quota_project_id", None)
    found = [Found("credentials", "ok", who)]
    if charged:
        found.append(Found("quota project", "ok", f"your credentials charge {charged}; this look and the stack's budgets charge {project}"))
    elif not account:
        said = f"your login names none: other tools are refused by the budgets API; this look and the stack's budgets charge {project}"
        found.append(Found("quota project", "warning", said, f"gcloud auth application-default set-quota-project {project}"))
    return found


_making = threading.Lock()
"""The client makes its classes when they are first asked for, and threads share them."""


@cache
def _collection(api: str, version: str, words: tuple[str, ...]) -> Any:
    """
    Google's client of one collection, by the packaged document. It is kept: making one takes longer than a call. What is called on it must
    be executed with the transport of the thread that calls.
    """
    if words:
        return getattr(_collection(api, version, words[:-1]), words[-1])()
    google_client.quickly()
    import httplib2
    from googleapiclient.discovery import build, build_from_document

    if own := documents.find(f"{api}.{version}"):
        return build_from_document(own.read_text(encoding="utf-8"), http=httplib2.Http())
    return build(api, version, http=httplib2.Http(), static_discovery=True, cache_discovery=False)


class Google:
    """Google's APIs, as one thread sees them."""

    def __init__(self, connect: Connect, project: str) -> None:
        self._connect, self._http = connect, connect()
        self._project = project

    def of(self, project: str) -> Google:
        """The same, where what is looked at is another project's: who may not is told so of that one."""
        return Google(self._connect, project)

    def call(self, api: str, version: str, method: str, **arguments: Any) -> dict[str, Any]:
        """
        The answer to one method, such as `projects.locations.acceleratorTypes.list`.

        Raises:
            RefusedError: With what to do about it.
        """
        from http.client import HTTPException

        from google.auth.exceptions import GoogleAuthError, TransportError
        from googleapiclient.errors import HttpError
        from httplib2 import HttpLib2Error

        *collections, verb = method.split(".")
        with _making:
            call = getattr(_collection(api, version, tuple(collections)), verb)(**arguments)
        try:
            answer = call.execute(http=self._http, num_retries=RETRIES)
        except HttpError as error:
            raise explained(api, method, self._project, int(error.resp.status), str(error.reason), error.content) from None
        except TimeoutError:
            raise RefusedError("unknown", f"{api}.googleapis.com did not answer within {TIMEOUT_SECONDS} s", "try again") from None
        except (OSError, HTTPException, HttpLib2Error, TransportError) as error:
            said = f"{api}.googleapis.com could not be reached: {error or type(error).__name__}"
            raise RefusedError("unknown", said, "look at this machine's network, name server and proxy") from None
        except GoogleAuthError as error:
            raise RefusedError("failed", f"the credentials were not accepted: {error}", LOGIN) from None
        if not isinstance(answer, dict):
            said = f"{api}.googleapis.com answered with something that is not JSON: not Google, but a proxy or a sign-in page?"
            raise RefusedError("unknown", said, "look at this machine's network and proxy")
        return answer

    def pages(self, api: str, version: str, method: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """
        Every page of a list. A page may be empty and still not the last.

        Raises:
            RefusedError: With what to do about it.
        """
        page: dict[str, Any] = {}
        while True:
            answer = self.call(api, version, method, **arguments, **page)
            yield answer
            if not answer.get("nextPageToken"):
                return
            page = {"pageToken": answer["nextPageToken"]}

    def items(self, api: str, version: str, method: str, items: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """
        Every item of a list, page by page.

        Raises:
            RefusedError: With what to do about it.
        """
        for page in self.pages(api, version, method, **arguments):
            yield from page.get(items, [])
