"""Calls to the API of a cluster: which kinds it has, and what is done to their objects, in its own words where it refuses."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import httpx

from infra.local.kubernetes.config import Config
from infra.local.kubernetes.kinds import Kind
from infra.local.kubernetes.manifest import Data, name_of, namespace_of
from infra.provider.calls import Calls, GoogleError, object_of
from infra.provider.server import ProviderError

NOT_FOUND = 404
CONFLICT = 409
NO_CLUSTER = 502
"""What the sandbox answers at a DNS name that is of no cluster, as a proxy does."""
UNREADABLE = "unable to load schema information from the API server"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
DRY_RUN = {"dryRun": "All"}


class KubernetesError(GoogleError):
    """The cluster refused, by a Status."""

    def __init__(self, status: Mapping[str, Any], code: int, text: str) -> None:
        ProviderError.__init__(self, str(status.get("message") or text))
        self.code = code
        self.reason = str(status.get("reason") or "")
        details = status.get("details")
        self.details: Mapping[str, Any] = details if isinstance(details, dict) else {}

    @property
    def namespace_missing(self) -> bool:
        return self.code == NOT_FOUND and self.details.get("kind") == "namespaces"

    @property
    def already_exists(self) -> bool:
        return self.code == CONFLICT and self.reason == "AlreadyExists"

    @property
    def conflict(self) -> bool:
        """Whether fields are somebody else's."""
        return self.code == CONFLICT and self.reason != "AlreadyExists"


class NoMatchError(ProviderError):
    """The cluster has no such kind: its definition was not made, or is gone."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f'no matches for kind "{kind.name}" in version "{kind.api_version}"')


class UnreachableError(ProviderError):
    """No cluster answers."""


class Served(NamedTuple):
    """How a cluster serves a kind."""

    plural: str
    namespaced: bool


class Client(Calls):
    """
    One cluster.

    Args:
        config: Where it is.
        http: Sends the requests.
        pause: Waits; true when the user cancelled meanwhile.
    """

    no_answer = "\n  fix: is the sandbox up?"
    longest_poll_seconds = 30.0

    def __init__(self, config: Config, http: httpx.Client, pause: Callable[[float], bool]) -> None:
        super().__init__(http, pause)
        self.config = config
        self._lock = threading.Lock()
        self._served: dict[str, dict[str, Served]] = {}
        self._unreachable: str | None = None
        self._version = ""

    # Whether there is one, and which kinds it has

    @property
    def unreachable(self) -> str:
        """Why the cluster cannot be reached; empty where it answers. It is asked once."""
        with self._lock:
            if self._unreachable is None:
                self._unreachable = self.config.unreachable or self._asked()
            return self._unreachable

    @property
    def version(self) -> str:
        """Of Kubernetes there, such as `1.35.2-gke.100`; empty where no cluster answers."""
        return "" if self.unreachable else self._version

    def _asked(self) -> str:
        """Where nobody listens, or a proxy knows no such cluster, that is said at once; passing trouble passes."""
        address = f"{self.config.server}/version"
        try:
            answer = self._http.get(address)
            if answer.status_code == NO_CLUSTER:
                return f"{UNREADABLE}: {self.refusal(answer)}"
            found = object_of(answer) if answer.is_success else self.call("GET", "/version")
        except httpx.TransportError as error:
            return f"{UNREADABLE}: GET {address}: no answer: {error or type(error).__name__}{self.no_answer}"
        except ProviderError as error:
            return f"{UNREADABLE}: {error}"
        self._version = str(found.get("gitVersion") or "").removeprefix("v")
        return ""

    def served(self, kind: Kind) -> Served:
        """
        Raises:
            NoMatchError: The cluster does not have the kind.
        """
        with self._lock:
            known = self._served.get(kind.path, {}).get(kind.name)
        if known is not None:
            return known
        try:
            listed = self.call("GET", kind.path).get("resources") or []
        except KubernetesError as error:
            if error.code != NOT_FOUND:
                raise
            listed = []
        found = {one["kind"]: Served(one["name"], bool(one.get("namespaced"))) for one in listed if "/" not in one["name"]}
        with self._lock:
            self._served[kind.path] = found
        if kind.name not in found:
            raise NoMatchError(kind)
        return found[kind.name]

    def has(self, kind: Kind) -> bool:
        """Whether the cluster is reached and has the kind."""
        if self.unreachable:
            return False
        try:
            self.served(kind)
        except NoMatchError:
            return False
        return True

    def namespaced(self, kind: Kind) -> bool:
        """Whether objects of the kind are in namespaces: where nobody can tell yet, they are taken to be."""
        if kind.of_cluster:
            return False
        try:
            return True if kind.own or self.unreachable else self.served(kind).namespaced
        except NoMatchError:
            return True

    def time(self, seconds: float = 0.0) -> float:
        """
        Lets time pass in the sandbox, and answers what time it is there, in seconds since 1970. Nobody waits for that: its clock is moved;
        while somebody works in real time it is not, and the answer takes a while.

        Raises:
            CancelledError: The user cancelled.
            ProviderError: No answer came.
        """
        parts = urlsplit(self.config.server)
        address = f"{parts.scheme}://{parts.netloc}/sandbox/clock"
        answer = self.sent("POST", address, lambda: self._http.post(address, json={"seconds": seconds}), safe=True)
        return dt.datetime.fromisoformat(str(object_of(answer)["time"])).timestamp()

    # Objects

    def get(self, kind: Kind, namespace: str, name: str) -> Data:
        """
        Raises:
            KubernetesError: There is none, or the cluster refused.
            NoMatchError: The cluster does not have the kind.
        """
        return self.call("GET", self._path(kind, namespace, name))

    def there(self, kind: Kind, namespace: str, name: str) -> Data | None:
        """The same; None where there is none, and where there cannot be."""
        try:
            return self.get(kind, namespace, name)
        except NoMatchError:
            return None
        except KubernetesError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def list(self, kind: Kind, namespace: str, labels: Mapping[str, str]) -> list[Data]:
        """Objects with these labels; none where the cluster does not have the kind."""
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        try:
            found = self.call("GET", self._path(kind, namespace), {"labelSelector": selector} if selector else {})
        except NoMatchError:
            return []
        return [one for one in found.get("items") or [] if isinstance(one, dict)]

    def create(self, kind: Kind, manifest: Data, query: Mapping[str, str]) -> Data:
        return self.call("POST", self._path(kind, namespace_of(manifest)), query, manifest)

    def patch(self, kind: Kind, manifest: Data, body: Any, form: str, query: Mapping[str, str]) -> Data:
        """A patch of *form* on the object that *manifest* names."""
        return self.call("PATCH", self._path(kind, namespace_of(manifest), name_of(manifest)), query, body, form)

    def delete(self, kind: Kind, namespace: str, name: str, propagation: str) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        self.call("DELETE", self._path(kind, namespace, name), {}, options)

    def _path(self, kind: Kind, namespace: str, name: str = "") -> str:
        served = self.served(kind)
        scope = f"/namespaces/{_escaped(namespace or 'default')}" if served.namespaced else ""
        return f"{kind.path}{scope}/{served.plural}" + (f"/{_escaped(name)}" if name else "")

    def call(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None, form: str = "application/json"
    ) -> Data:
        """
        One call, and what it answers. What is made is asked for once: whether a lost one was done is not known.

        Raises:
            KubernetesError: The answer was a refusal.
            UnclearError: It may have been done, or not.
            CancelledError: The user cancelled.
            ProviderError: No answer came.
        """
        if not self.config.server:
            raise UnreachableError(f"configured Kubernetes cluster is unreachable: {self.config.unreachable}")
        address = f"{self.config.server}{path}"
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {"accept": "application/json", **({"content-type": form} if content is not None else {})}

        def send() -> httpx.Response:
            return self._http.request(method, address, params=query or None, content=content, headers=headers)

        return object_of(self.sent(method, address, send))

    def refusal(self, answer: httpx.Response) -> GoogleError:
        """The cluster's words; another server's, such as of a sandbox that has no such cluster, as they are."""
        found = object_of(answer)
        inner = found.get("error")
        status = inner if isinstance(inner, dict) else found
        return KubernetesError(status, answer.status_code, answer.text.strip()[:200] or answer.reason_phrase)


def _escaped(name: str) -> str:
    return quote(name, safe="")
