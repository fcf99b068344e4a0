"""Whether what a program declares stands, asked by its inputs: only reading, in the sandbox or in Google Cloud."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from infra.local.adopt.import_ids import import_id
from infra.local.gcp import config, invokes, types
from infra.local.gcp.lifecycle import Lifecycle
from infra.local.gcp.resource_type import ResourceType, placeholders
from infra.local.gcp.rest import Client
from infra.provider.calls import CALL_SECONDS, GoogleError
from infra.provider.google import SCOPES, Google, Settings
from infra.provider.resources import RESOURCES
from infra.provider.server import ProviderError
from infra.provider.values import Unknown, has_unknown
from infra.sandbox.endpoints import ENDPOINTS, provider_config

READS = ("GET", "HEAD")
ASKS = (":getIamPolicy",)
"""What is asked by a POST, and changes nothing."""
DEPENDS = "what it depends on does not stand"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one look."""

    id: str = ""
    """Id of what stands; empty where nothing does, or nobody can tell."""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What the accelform provider would read of it: the engine need not ask again."""
    why: str = ""
    """Why it is not taken; empty where it stands, and where it plainly does not."""


class OnlyReads(Client):
    """A client that changes nothing, whatever it is asked for."""

    def call(
        self,
        method: str,
        service: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        idempotent: bool | None = None,
    ) -> dict[str, Any]:
        if method not in READS and not path.endswith(ASKS):
            raise ProviderError(f"{method} {path}: a look changes nothing")
        return super().call(method, service, path, query, body, idempotent=idempotent)


class Lookup:
    """
    Looks for things.

    Args:
        project: Whose things are looked for, and who is charged with the quota.
        region: Where they stand.
        sandbox: Address of the local cloud; empty for Google's.
    """

    def __init__(self, project: str, region: str, sandbox: str) -> None:
        wait = threading.Event().wait
        self._http = httpx.Client(timeout=CALL_SECONDS, trust_env=not sandbox, verify=not sandbox)
        self._google = Google(Settings(sandbox) if sandbox else Settings(charged=project), wait, http=self._http)
        if sandbox:
            known = config.read({**provider_config(sandbox), "project": project})
        else:
            known = config.Config(project=project, region=region, token=_token(), charged=project, endpoints=_google_cloud(region))
        self._client = OnlyReads(known, self._http, wait)

    def close(self) -> None:
        """Ends its connections."""
        self._http.close()

    def asked(self, token: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question of the program's, such as for the number of its project."""
        return invokes.answer(self._client, token, dict(arguments))

    def look(self, token: str, inputs: Mapping[str, Any]) -> Answer:
        """What stands of a type, by the inputs that a program has for it."""
        plain = {key: value for key, value in inputs.items() if value is not None}
        try:
            if token in types.TABLE:
                return self._gcp(types.TABLE[token], plain)
            if token in RESOURCES:
                return self._own(token, plain)
        except GoogleError as error:
            return Answer(why=f"Google answers {error.code}: {str(error).partition(chr(10))[0]}")
        except ProviderError as error:
            return Answer(why=str(error).partition("\n")[0])
        return Answer(why=f"nobody here knows how {token} is looked for")

    def _gcp(self, row: ResourceType, plain: dict[str, Any]) -> Answer:
        lifecycle = (row.lifecycle or Lifecycle)(row, self._client)
        naming = {*placeholders(row.url + row.id_template + row.created_in)}
        naming |= {"role", "member", row.policy.parent} if row.policy else set()
        naming |= {"displayName"} if row.named_by_google else set()
        if any(has_unknown(plain.get(name)) for name in naming):
            return Answer(why=DEPENDS)
        id = lifecycle.alike(plain)
        if id is None:
            return Answer(why="several look alike: nobody can tell which is meant")
        made = lifecycle.read(id, plain) if id else None
        if made is None:
            return Answer()
        return Answer(import_id(row, made.id, made.outputs), made.outputs)

    def _own(self, token: str, plain: dict[str, Any]) -> Answer:
        resource = RESOURCES[token](self._google)
        known = {key: value for key, value in plain.items() if not isinstance(value, Unknown)}
        if token == "accelform:vertex:DeployedModels":  # noqa: S105 - a type's name
            id = known.get("endpoint", "")
        elif token == "accelform:vertex:Model":  # noqa: S105 - a type's name
            id = "projects/{project}/locations/{location}/models/{modelId}".format(**known)
        elif has_unknown(plain):
            return Answer(why=DEPENDS)
        else:
            id = resource.there(known) or ""
        if not id:
            return Answer(why=DEPENDS if has_unknown(plain) else "")
        made = resource.read(id, {}, known)
        if made is None:
            return Answer()
        return Answer(made.id, made.outputs, {} if made.secrets else made.inputs)


def _google_cloud(region: str) -> dict[str, str]:
    """Where Google's own services are. Vertex AI's host has the region in front."""
    hosts = {name: f"https://{path}" for name, path in ENDPOINTS.items()}
    return hosts | {"vertexAi": f"https://{region}-{ENDPOINTS['vertexAi']}"}


def _token() -> str:
    """An access token of the caller's own."""
    import google.auth
    import google_auth_httplib2
    import httplib2
    from google.auth.exceptions import GoogleAuthError

    try:
        credentials, _ = google.auth.default(scopes=SCOPES)
        credentials.refresh(google_auth_httplib2.Request(httplib2.Http(timeout=int(CALL_SECONDS))))
    except GoogleAuthError as error:
        raise ProviderError(f"no credentials for Google Cloud: {error}\n  fix: gcloud auth application-default login") from None
    return str(credentials.token)
