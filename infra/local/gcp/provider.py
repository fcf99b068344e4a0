"""The stand-in gcp provider, as the engine speaks to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc
import httpx
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import provider_pb2

from infra.errors import nearest
from infra.local.gcp import config, diff, invokes, refresh, schema, types
from infra.local.gcp.check import Check
from infra.local.gcp.lifecycle import FailedAfterMadeError, Lifecycle, Made
from infra.local.gcp.resource_type import ResourceType
from infra.local.gcp.rest import Client
from infra.provider.calls import CALL_SECONDS, GoogleError
from infra.provider.server import MadeButNotReadyError, Provider, ProviderError, old_inputs, sentences
from infra.provider.values import UNKNOWN, Decoded, Unknown, encode, is_empty, without_defaults, written

CONFIG_PREFIX = "gcp:config:"
COPIES = dict.fromkeys(("labels", "resourceLabels"), ("pulumiLabels", "effectiveLabels"))
"""Outputs that repeat an input: what is secret in one is so in the others."""


class Gcp(Provider):
    """
    The provider.

    Args:
        http: Sends the requests. (default: straight to the sandbox, by no proxy)
        pause: Waits for seconds; true when the user cancelled meanwhile. (default: on the event that Cancel sets)
    """

    version = "10.2.0"

    def __init__(self, http: httpx.Client | None = None, pause: Callable[[float], bool] | None = None) -> None:
        super().__init__()
        self._http = http or httpx.Client(timeout=CALL_SECONDS, trust_env=False, verify=False)  # noqa: S501 - plain HTTP of this machine
        self._pause = pause or self.cancelled.wait
        self._client: Client | None = None

    # Configuration

    @sentences
    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        values = Decoded(request.args).values
        if not values:
            values = {key.removeprefix(CONFIG_PREFIX): value for key, value in request.variables.items()}
        known = {key: value for key, value in values.items() if not isinstance(value, Unknown)}
        self._client = Client(config.read(known), self._http, self._pause)
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    # Resources

    @sentences
    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        news = Decoded(request.news)
        row = self._row(request.urn)
        check = Check(row, {*news.secrets, *schema.secrets(schema.of(row.token).inputs, news.values)})
        inputs = check.inputs(news.values)
        failures = [provider_pb2.CheckFailure(property="", reason=failure.reason) for failure in check.failures]
        return provider_pb2.CheckResponse(inputs=encode(inputs, news.secrets), failures=failures)

    @sentences
    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        old, new = Decoded(old_inputs(request)), Decoded(request.news)
        found = diff.changes(self._row(request.urn), old.values, new.values, Decoded(request.olds).values)
        # A thing of the same name cannot stand beside the old one: the official provider sees that by the name alone, too.
        same_name = bool(old.values.get("name")) and old.values["name"] == new.values.get("name")
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE,
            diffs=sorted({str(change.path[0]) for change in found}),
            replaces=sorted({str(change.path[0]) for change in found if change.replaces}),
            detailedDiff={written(change.path): change.diff for change in found},
            hasDetailedDiff=True,
            deleteBeforeReplace=same_name and any(change.replaces for change in found),
        )

    @sentences
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        row = self._row(request.urn)
        given = Decoded(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=self._state(row, self._foreseen(row, given.values), given))
        try:
            made = self._lifecycle(row).create(given.values)
        except FailedAfterMadeError as error:
            properties = self._state(row, error.made.outputs, given)
            raise MadeButNotReadyError(given.hide(str(error)), error.made.id, properties, request.properties) from None
        except ProviderError as error:
            raise _told(error, f"Error creating {row.noun}", given) from None
        return provider_pb2.CreateResponse(id=made.id, properties=self._state(row, made.outputs, given))

    @sentences
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        row = self._row(request.urn)
        state, inputs = Decoded(request.properties), Decoded(request.inputs)
        try:
            made = self._lifecycle(row).read(request.id, without_defaults(state.values))
        except GoogleError as error:
            raise ProviderError(f"Error reading {row.noun} {request.id}: {error}") from None
        if made is None:
            return provider_pb2.ReadResponse()
        if inputs.values and "id" in state.values:
            found = refresh.inputs(row, inputs.values, state.values, made.outputs)
        else:
            found = self._imported(row, made)
        given = inputs if inputs.values else state
        return provider_pb2.ReadResponse(
            id=made.id,
            properties=self._state(row, made.outputs, given),
            inputs=encode(found, {*given.secrets, *schema.secrets(schema.of(row.token).inputs, found)}),
        )

    @sentences
    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        row = self._row(request.urn)
        state, old, new = Decoded(request.olds), Decoded(old_inputs(request)), Decoded(request.news)
        if request.preview:
            foreseen = state.values | self._labelled(row, without_defaults(new.values))
            return provider_pb2.UpdateResponse(properties=self._state(row, foreseen, new))
        try:
            made = self._lifecycle(row).update(request.id, state.values, old.values, new.values)
        except ProviderError as error:
            raise _told(error, f"Error updating {row.noun} {request.id}", new) from None
        return provider_pb2.UpdateResponse(properties=self._state(row, made.outputs, new))

    @sentences
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        state = Decoded(request.properties).values
        policy = state.get("deletionPolicy")
        if policy == "PREVENT":
            raise ProviderError(f"{request.id}: deletionPolicy is PREVENT\n  fix: set deletionPolicy: DELETE, `pulumi up`, then destroy")
        if policy == "ABANDON":
            return empty_pb2.Empty()
        row = self._row(request.urn)
        try:
            self._lifecycle(row).delete(request.id, state)
        except GoogleError as error:
            raise ProviderError(f"Error deleting {row.noun} {request.id}: {error}") from None
        return empty_pb2.Empty()

    @sentences
    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        asked = Decoded(request.args)
        return provider_pb2.InvokeResponse(**{"return": encode(invokes.answer(self._configured(), request.tok, asked.values))})

    def Call(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.tok}: the stand-in provider has no methods")

    # What these share

    def _configured(self) -> Client:
        if self._client is None:
            raise ProviderError(f"the provider is not configured\n{config.FIX}")
        return self._client

    def _row(self, urn: str) -> ResourceType:
        token = urn.split("::")[2].rpartition("$")[2]
        if token not in types.TABLE:
            like = ", ".join(nearest(token, types.TABLE))
            raise ProviderError(f"{token}: the stand-in provider does not know this type; nearest: {like}\n{config.FIX}")
        return types.TABLE[token]

    def _lifecycle(self, row: ResourceType) -> Lifecycle:
        return (row.lifecycle or Lifecycle)(row, self._configured())

    def _state(self, row: ResourceType, outputs: dict[str, Any], given: Decoded) -> struct_pb2.Struct:
        """Outputs as they are kept: what was secret in the inputs is so here, and what the schema says is."""
        copied = {(copy, *path[1:]) for path in given.secrets for copy in COPIES.get(str(path[0]), ())}
        return encode(outputs, {*given.secrets, *copied, *schema.secrets(schema.of(row.token).inputs, outputs)})

    def _foreseen(self, row: ResourceType, given: dict[str, Any]) -> dict[str, Any]:
        """Outputs of a create that has not happened: what was not written is unknown."""
        inputs: dict[str, Any] = without_defaults(given)
        defaults = {name: self._configured().config.default(name) for name in ("project", "region", "zone", "location")}
        own = {"deletionPolicy": "DELETE"} | dict(row.virtual) | {name: value for name, value in defaults.items() if value}
        foreseen = {name: inputs.get(name, own.get(name, UNKNOWN)) for name in schema.of(row.token).outputs}
        return foreseen | self._labelled(row, inputs)

    def _labelled(self, row: ResourceType, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs, and the labels that follow from them."""
        if not schema.of(row.token).labelled:
            return inputs
        mine = inputs.get(row.labels)
        if isinstance(mine, Unknown):
            return inputs | {"pulumiLabels": UNKNOWN, "effectiveLabels": UNKNOWN}
        all_of_them = {**self._configured().config.labels, **(mine or {})}
        return inputs | {row.labels: mine, "pulumiLabels": all_of_them, "effectiveLabels": all_of_them}

    def _imported(self, row: ResourceType, made: Made) -> dict[str, Any]:
        """Inputs that would make what was found: all that is not empty, as Check would leave it."""
        known = schema.of(row.token).inputs
        found = {name: value for name, value in made.outputs.items() if name in known and name != "deletionPolicy"}
        return Check(row).inputs(_pruned(found, row.defaults))


def _told(error: ProviderError, doing: str, given: Decoded) -> ProviderError:
    """The error as the user reads it: Google's with what was being done, and nothing secret of what was given."""
    return ProviderError(given.hide(f"{doing}: {error}" if isinstance(error, GoogleError) else str(error)))


def _pruned(value: Any, defaults: Mapping[str, Any], dotted: str = "") -> Any:
    """*value* without what is empty in it. What has a default stays: without it, the default would stand there."""
    if isinstance(value, dict):
        paths = {key: f"{dotted}.{key}" if dotted else key for key in value}
        pruned = {key: _pruned(part, defaults, paths[key]) for key, part in value.items()}
        return {key: part for key, part in pruned.items() if not is_empty(part) or (part is not None and paths[key] in defaults)}
    return [_pruned(part, defaults, dotted) for part in value] if isinstance(value, list) else value
