"""
Google's APIs for the provider: Google's own client makes each request, and this sends it. Retried where that is safe, in Google's words
where it fails, operations awaited, and ended when the user cancels.

The client's own transport sends a call again whose answer was lost, a second deployment too; so the bytes go by httpx.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from time import monotonic
from time import time as wall_time
from types import SimpleNamespace
from typing import Any

import httpx

from infra import documents
from infra.provider import google_client
from infra.provider.calls import CALL_SECONDS, Calls, GoogleError, OperationError, UnclearError, object_of, response_of
from infra.provider.server import ProviderError

OPERATION_SECONDS = 60 * 60.0
"""How long an operation may take where the program sets no timeout: a deployment on accelerators takes up to an hour."""
NOT_THERE = 404
REGIONAL = ("aiplatform",)
"""APIs whose host has the location in front. Source: `endpoints` of the discovery documents."""
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the provider's calls go, and who pays for them."""

    sandbox: str = ""
    """Address of the local cloud; empty for Google's."""
    charged: str = ""
    """Project that is charged with the quota; empty: the one of the credentials."""

    def root(self, api: str, place: str) -> str:
        """Where an API is, for a location."""
        host = f"{api}.googleapis.com"
        if self.sandbox:
            return f"{self.sandbox.rstrip('/')}/{host}/"
        return f"https://{place}-{host}/" if place and api in REGIONAL else f"https://{host}/"


class Google(Calls):
    """
    Google's APIs, as one configuration sees them.

    Args:
        settings: Where they are.
        pause: Waits for seconds; true when the user cancelled meanwhile.
        now: A clock in seconds, for deadlines.
        http: Sends the requests. (default: with Google's credentials; to the sandbox with none)
        time: What time it is there, in seconds since 1970. (default: this machine's; of the sandbox its own, which is ahead)
    """

    longest_poll_seconds = 5.0

    def __init__(
        self,
        settings: Settings,
        pause: Callable[[float], bool],
        now: Callable[[], float] = monotonic,
        http: httpx.Client | None = None,
        time: Callable[[], float] | None = None,
    ) -> None:
        # A sandbox is plain HTTP of this machine: nothing of the environment is asked, and no certificates are read for it.
        is_far = not settings.sandbox
        super().__init__(http or httpx.Client(timeout=CALL_SECONDS, trust_env=is_far, verify=is_far), pause, now)
        self.settings = settings
        self.time = time or (self._sandbox_time if settings.sandbox else wall_time)
        self._lock = threading.Lock()
        self._credentials: Any = None

    def call(self, api: str, method: str, *, place: str = "", safe: bool | None = None, **arguments: Any) -> dict[str, Any]:
        """
        One call, and what it answers.

        Args:
            api: With its version: `aiplatform.v1`.
            method: `projects.locations.endpoints.deployModel`.
            place: Location whose host is asked, where the API has one for each.
            safe: Whether it may be sent twice. (default: by the HTTP method)
            arguments: The method's parameters, and `body`.

        Raises:
            GoogleError: The answer was a refusal.
            UnclearError: What may not be sent twice may have been done, or not.
            CancelledError: The user cancelled.
            ProviderError: No answer came.
        """
        return object_of(self._answered(api, method, place, safe, arguments))

    def found(self, api: str, method: str, **arguments: Any) -> dict[str, Any] | None:
        """The same; None where Google answers that there is no such thing."""
        try:
            return self.call(api, method, **arguments)
        except GoogleError as error:
            if error.code == NOT_THERE:
                return None
            raise

    def content(self, api: str, method: str, **arguments: Any) -> bytes:
        """The same of a call that answers what an object holds, whatever that is."""
        return self._answered(api, method, "", None, arguments).content

    def _answered(self, api: str, method: str, place: str, safe: bool | None, arguments: Mapping[str, Any]) -> httpx.Response:
        request = self._request(api, method, place, arguments)

        def send() -> httpx.Response:
            return self._http.request(request.method, request.uri, content=request.body, headers=self._headers(request))

        return self.sent(request.method, request.uri, send, safe=safe)

    def post(self, address: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """
        One request, sent once, to an address that no document has, such as an endpoint's own.

        Raises:
            GoogleError: The answer was a refusal.
            UnclearError: No answer came.
        """
        sent = httpx.Request("POST", address, json=dict(body))
        request = SimpleNamespace(method="POST", uri=address, headers=dict(sent.headers))
        try:
            answer = self._http.request("POST", address, content=sent.content, headers=self._headers(request))
        except httpx.TransportError as error:
            raise UnclearError(f"POST {address}: no answer: {error or type(error).__name__}") from None
        if not answer.is_success:
            raise self.refusal(answer)
        return object_of(answer)

    def read(self, host: str, path: str) -> dict[str, Any] | None:
        """
        What stands at an address that no document has, such as an object of a cluster's API; None where there is none.

        Raises:
            GoogleError: The answer was a refusal.
            ProviderError: No answer came.
        """
        root = f"{self.settings.sandbox.rstrip('/')}/{host}" if self.settings.sandbox else f"https://{host}"
        address = f"{root}/{path}"
        request = SimpleNamespace(method="GET", uri=address, headers={})
        try:
            return object_of(self.sent("GET", address, lambda: self._http.get(address, headers=self._headers(request))))
        except GoogleError as error:
            if error.code == NOT_THERE:
                return None
            raise

    def finished(self, api: str, operation: dict[str, Any], *, place: str = "", seconds: float | None = None) -> dict[str, Any]:
        """
        What a long-running operation ends with.

        Raises:
            OperationError: It failed.
            UnfinishedError: It did not end within *seconds*.
        """
        method = ".".join([*operation["name"].split("/")[0::2], "get"])

        def ask() -> dict[str, Any]:
            return self.call(api, method, place=place, name=operation["name"])

        ended = self.awaited(operation["name"], operation, _is_done, ask, seconds or OPERATION_SECONDS)
        if error := ended.get("error"):
            raise OperationError(f"{error.get('code', '')}: {error.get('message', '')}".strip(": "))
        return response_of(ended)

    def pages(self, api: str, method: str, items: str, *, place: str = "", **arguments: Any) -> list[dict[str, Any]]:
        """Every item of a list. A page may be empty and still not the last."""
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {}
        while True:
            answer = self.call(api, method, place=place, **arguments, **page)
            found += answer.get(items, [])
            if not answer.get("nextPageToken"):
                return found
            page = {"pageToken": answer["nextPageToken"]}

    def waiting(self, waited: Callable[[], bool]) -> Google:
        """
        The same, with something else done at each wait.

        Args:
            waited: Is called after it; true where all is to end, as if the user had cancelled.
        """
        ends = False

        def pause(seconds: float) -> bool:
            nonlocal ends
            cancelled = self._pause(seconds)
            ends = ends or (seconds > 0 and waited())
            return cancelled or ends

        return Google(self.settings, pause, self.now, self._http, self.time)

    def close(self) -> None:
        """Ends its connections."""
        self._http.close()

    def _sandbox_time(self) -> float:
        try:
            answer = self._http.get(f"{self.settings.sandbox.rstrip('/')}/sandbox/status").raise_for_status()
            return dt.datetime.fromisoformat(answer.json()["time"]).timestamp()
        except httpx.HTTPError as error:
            raise ProviderError(f"the sandbox does not say what time it is: {error or type(error).__name__}") from None

    def _request(self, api: str, method: str, place: str, arguments: Mapping[str, Any]) -> Any:
        name, _, version = api.partition(".")
        *collections, verb = method.split(".")
        with self._lock:  # the client makes its classes when they are first asked for
            root = self.settings.root(name, place)
            try:
                request = getattr(_collection(name, version, root, tuple(collections)), verb)(**arguments)
            except TypeError as error:  # a name that is none: the client holds it against the document's pattern
                raise ProviderError(f"{method}: {error}") from None
        request.uri = _at(request.uri, root)
        return request

    def _headers(self, request: Any) -> dict[str, str]:
        headers = {**request.headers, "accept-encoding": "gzip"}
        if self.settings.charged:
            headers["x-goog-user-project"] = self.settings.charged
        if not self.settings.sandbox:
            self._authorize(request, headers)
        return headers

    def _authorize(self, request: Any, headers: dict[str, str]) -> None:
        import google.auth
        import google_auth_httplib2
        import httplib2
        from google.auth.exceptions import GoogleAuthError

        try:
            with self._lock:
                if self._credentials is None:
                    self._credentials, _ = google.auth.default(scopes=SCOPES)
                transport = google_auth_httplib2.Request(httplib2.Http(timeout=int(CALL_SECONDS)))
                self._credentials.before_request(transport, request.method, request.uri, headers)
        except GoogleAuthError as error:
            raise ProviderError(f"no credentials for Google Cloud: {error}\n  fix: gcloud auth application-default login") from None


def _is_done(operation: dict[str, Any]) -> bool:
    return bool(operation.get("done"))


@cache
def _collection(name: str, version: str, root: str, words: tuple[str, ...]) -> Any:
    """Google's client of one collection. It is kept: the client makes its classes anew each time, for some 50 ms."""
    found = _service(name, version, root)
    for word in words:
        found = getattr(found, word)()
    return found


@cache
def _service(name: str, version: str, root: str) -> Any:
    """Google's client of one API at an address. The address of the document is replaced, the path below it stays."""
    google_client.quickly()
    import httplib2
    from googleapiclient.discovery import build_from_document
    from googleapiclient.discovery_cache import get_static_doc

    own = documents.find(f"{name}.{version}")  # one that the client does not bring
    document = json.loads(own.read_text(encoding="utf-8") if own else get_static_doc(name, version))  # megabytes: read once
    return build_from_document(document, http=httplib2.Http(), client_options={"api_endpoint": root + document["servicePath"]})


def _at(uri: str, root: str) -> str:
    """Uploads go to the address of the document, whichever the client was given: they are sent where all else is."""
    return uri if uri.startswith(root) else root + uri.split("/", 3)[3]
