"""The `accelform` provider, as the engine speaks to it: what the official one lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import grpc
import httpx
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import provider_pb2

from infra.errors import nearest
from infra.provider import held, schema
from infra.provider.check import Check
from infra.provider.engine_log import EngineLog
from infra.provider.google import Google, Settings
from infra.provider.holds import Hold
from infra.provider.resource import Change, FailedAfterMadeError, Made, Note, Resource
from infra.provider.resources import RESOURCES
from infra.provider.server import MadeButNotReadyError, Provider, ProviderError, old_inputs, sentences
from infra.provider.values import Decoded, Unknown, encode, written


class Accelform(Provider):
    """
    The provider.

    Args:
        http: Sends the requests. (default: to where the configuration says)
        pause: Waits for seconds; true when the user cancelled meanwhile. (default: on the event that Cancel sets)
        say: Shows a note to the user, for a URN. (default: in the log of the engine that shook hands)
        time: What time it is, in seconds since 1970. (default: where the calls go)
        now: A clock in seconds, for deadlines.
    """

    version = "0.1.0"

    def __init__(
        self,
        http: httpx.Client | None = None,
        pause: Callable[[float], bool] | None = None,
        say: Callable[[str, Note], None] | None = None,
        time: Callable[[], float] | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self._http = http
        self._time = time
        self._now = now
        self._pause = pause or self.cancelled.wait
        self._say = say
        self._google: Google | None = None
        self._holds = ""

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        if self._say is None and request.engine_address:
            log = EngineLog(request.engine_address)
            self._say = lambda urn, note: log.say(urn, note.text, warns=note.warns)
        return super().Handshake(request, context)

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return provider_pb2.GetSchemaResponse(schema=json.dumps(schema.package()))

    # Configuration

    @sentences
    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        given = {key: value for key, value in Decoded(request.args).values.items() if not isinstance(value, Unknown)}
        settings = Settings(sandbox=str(given.get("sandbox", "")), charged=str(given.get("billingProject", "")))
        self._google = Google(settings, self._pause, self._now, self._http, self._time)
        self._holds = str(given.get("holds", ""))
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    # Resources

    @sentences
    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        news = Decoded(request.news)
        kind = _kind(request.urn)
        known = schema.resource(kind.token)["inputProperties"]
        check = Check({*news.secrets, *schema.secrets(known, news.values)})
        inputs = check.inputs(kind.token, news.values)
        found = [*check.failures, *kind.check(inputs)]
        failures = [
            provider_pb2.CheckFailure(property=written(one.path), reason=news.hide(f"{written(one.path)}: {one.reason}")) for one in found
        ]
        return provider_pb2.CheckResponse(inputs=encode(inputs, news.secrets), failures=failures)

    @sentences
    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        old, new, state = Decoded(old_inputs(request)), Decoded(request.news), Decoded(request.olds)
        kind = _kind(request.urn)
        holds = self._held(kind, new.values)
        wanted = held.added(new.values, holds)
        found = list(kind.changes(old.values, wanted, state.values))
        if self._say is not None:
            for hold in holds:
                self._say(request.urn, Note(f"kept as it is: {hold.line()}"))
            if not any(change.replaces for change in found):
                for note in kind.notes(old.values, wanted, state.values):
                    self._say(request.urn, note)
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE,
            diffs=sorted({str(change.path[0]) for change in found}),
            replaces=sorted({str(change.path[0]) for change in found if change.replaces}),
            detailedDiff={written(change.path): _property_diff(change) for change in found},
            hasDetailedDiff=True,
            deleteBeforeReplace=any(change.replaces for change in found),  # names are fixed: two cannot stand at once
        )

    @sentences
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        given = Decoded(request.properties)
        kind = _kind(request.urn)
        if request.preview:
            return provider_pb2.CreateResponse(properties=_state(kind, Made("", kind.foreseen(given.values, {})), given))
        wanted = held.added(given.values, self._held(kind, given.values))
        made = self._done(lambda: self._resource(kind, request).create(wanted), kind, given, request.properties)
        return provider_pb2.CreateResponse(id=made.id, properties=_state(kind, made, given))

    @sentences
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        state, inputs = Decoded(request.properties), Decoded(request.inputs)
        kind = _kind(request.urn)
        found = self._resource(kind, request).read(request.id, state.values, held.added(inputs.values, self._held(kind, inputs.values)))
        if found is None:
            return provider_pb2.ReadResponse()
        given = inputs if inputs.values else state
        known = schema.resource(kind.token)["inputProperties"]
        would = held.removed(found.inputs, given.values) if kind.token in held.NAMED_BY else found.inputs
        marked = {*given.secrets, *schema.secrets(known, would), *found.secrets}
        return provider_pb2.ReadResponse(id=found.id, properties=_state(kind, found, given), inputs=encode(would, _present(marked, would)))

    @sentences
    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        state, old, new = Decoded(request.olds), Decoded(old_inputs(request)), Decoded(request.news)
        kind = _kind(request.urn)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=_state(kind, Made("", kind.foreseen(new.values, state.values)), new))
        resource = self._resource(kind, request)
        wanted = held.added(new.values, self._held(kind, new.values))
        made = self._done(lambda: resource.update(request.id, state.values, old.values, wanted), kind, new, request.news)
        return provider_pb2.UpdateResponse(properties=_state(kind, made, new))

    @sentences
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        state = Decoded(request.properties)
        try:
            self._resource(_kind(request.urn), request).delete(request.id, state.values)
        except ProviderError as error:
            raise ProviderError(state.hide(str(error))) from None
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.tok}: the accelform provider has no functions")

    def Call(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.tok}: the accelform provider has no methods")

    # What these share

    def _configured(self) -> Google:
        if self._google is None:
            raise ProviderError("the provider is not configured")
        return self._google

    def _resource(self, kind: type[Resource], request: Any) -> Resource:
        say = self._say
        tell = None if say is None else lambda note: say(request.urn, note)
        return kind(self._configured(), getattr(request, "timeout", 0) or None, tell)

    def _held(self, kind: type[Resource], inputs: Mapping[str, Any]) -> list[Hold]:
        return held.on(self._configured(), self._holds, kind.token, inputs)

    def _done(self, do: Callable[[], Made], kind: type[Resource], given: Decoded, inputs: struct_pb2.Struct) -> Made:
        try:
            return do()
        except FailedAfterMadeError as error:
            properties = _state(kind, error.made, given)
            raise MadeButNotReadyError(given.hide(str(error)), error.made.id, properties, inputs) from None
        except ProviderError as error:
            raise ProviderError(given.hide(str(error))) from None


def _kind(urn: str) -> type[Resource]:
    token = urn.split("::")[2].rpartition("$")[2]
    if token not in RESOURCES:
        like = ", ".join(nearest(token, RESOURCES)) or ", ".join(RESOURCES)
        raise ProviderError(f"{token}: the accelform provider has no such resource\n  allowed: {like}")
    return RESOURCES[token]


def _state(kind: type[Resource], made: Made, given: Decoded) -> struct_pb2.Struct:
    """Outputs as they are kept: what was secret in the inputs is so here, what the schema says is, and what may be."""
    known = schema.resource(kind.token)["properties"]
    kept = held.removed(made.outputs, given.values) if kind.token in held.NAMED_BY else made.outputs
    return encode(kept, _present({*given.secrets, *schema.secrets(known, kept), *made.secrets}, kept))


def _present(paths: set[tuple[str | int, ...]], values: Any) -> set[tuple[str | int, ...]]:
    """Those of the paths that there are."""

    def there(path: tuple[str | int, ...]) -> bool:
        found = values
        for step in path:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return False
        return True

    return {path for path in paths if there(path)}


def _property_diff(change: Change) -> Any:
    kind = provider_pb2.PropertyDiff.Kind.Value(f"{change.kind}_REPLACE" if change.replaces else change.kind)
    return provider_pb2.PropertyDiff(kind=kind, inputDiff=change.input)
