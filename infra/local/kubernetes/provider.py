"""The stand-in Kubernetes provider, as the engine speaks to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import grpc
import httpx
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import provider_pb2

from infra.local.kubernetes import config, diff, kubeconfig, manifest, objects, ready, release, waits
from infra.local.kubernetes.check import Check
from infra.local.kubernetes.kinds import RELEASE, Kind, of_manifest, of_token, token_of
from infra.local.kubernetes.manifest import API_VERSION, INPUTS, Data, live_of, name_of, normal, pruned
from infra.local.kubernetes.objects import Objects, State
from infra.local.kubernetes.release import Releases
from infra.local.kubernetes.rest import Client, NoMatchError
from infra.provider.calls import CALL_SECONDS
from infra.provider.engine_log import EngineLog
from infra.provider.server import MadeButNotReadyError, Provider, ProviderError, sentences
from infra.provider.values import Decoded, Path, Unknown, encode, has_unknown

CONFIG_PREFIX = "kubernetes:config:"
LEADS = ("kubeconfig", "context", "cluster")
"""Configuration that says which cluster it is."""
IDENTIFIER = "clusterIdentifier"
UNREADY = "replaceUnready"
NOTED = ("deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration")
"""Annotations that the cluster and its clients write."""
STATE_LOST = (
    "If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the "
    'PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'
)
Say = Callable[[str, str, bool], None]


class Kubernetes(Provider):
    """
    The provider.

    Args:
        http: Sends the requests. (default: straight to the sandbox, by no proxy)
        pause: Waits for seconds; true when the user cancelled meanwhile. (default: on the event that Cancel sets)
        say: Shows a line to the user: URN, text, whether it warns. (default: in the log of the engine that shook hands)
        environ: Variables that stand for what the program does not say.
    """

    version = kubeconfig.VERSION

    def __init__(
        self,
        http: httpx.Client | None = None,
        pause: Callable[[float], bool] | None = None,
        say: Say | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__()
        self._http = http or httpx.Client(timeout=CALL_SECONDS, trust_env=False, verify=False)  # noqa: S501 - plain HTTP of this machine
        self._pause = pause or self.cancelled.wait
        self._say = say
        self._environ = environ
        self._client: Client | None = None

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        if self._say is None and request.engine_address:
            log = EngineLog(request.engine_address)
            self._say = lambda urn, text, warns: log.say(urn, text, warns=warns, passing=not warns)
        return super().Handshake(request, context)

    # Configuration

    @sentences
    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        """Another cluster makes everything in it anew, unless the program says by `clusterIdentifier` that it is the same one."""
        old, new = Decoded(request.olds).values, Decoded(request.news).values
        changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        anew = _leads_elsewhere(old, new, changed)
        if IDENTIFIER in old and IDENTIFIER in new:
            anew = [IDENTIFIER] if IDENTIFIER in changed else []
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=changed, replaces=anew)

    @sentences
    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        values = Decoded(request.args).values
        if not values:
            values = {key.removeprefix(CONFIG_PREFIX): value for key, value in request.variables.items()}
        self._client = Client(config.read(values, self._environ), self._http, self._pause)
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    # Resources

    @sentences
    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        client, news = self._configured(), Decoded(request.news)
        if client.config.skip_update_unreachable and request.olds.fields and client.unreachable:
            self._warn(request.urn, "Cluster is unreachable but skipUpdateUnreachable flag is set to true, skipping...")
            return provider_pb2.CheckResponse(inputs=request.olds)
        token = token_of(request.urn)
        if token == RELEASE:
            inputs, found = release.checked(news.values, client.config.namespace)
            marked = {path for path in news.secrets if path[0] in inputs}
        else:
            kind = of_token(token)
            check = Check(kind, client.config, namespaced=client.namespaced(kind), version=client.version)
            inputs, found = check.inputs(news.values), check.failures
            marked = manifest.secrets(inputs, news.secrets)
        failures = [provider_pb2.CheckFailure(property=path, reason=news.hide(reason)) for path, reason in found]
        return provider_pb2.CheckResponse(inputs=encode(inputs, marked), failures=failures)

    @sentences
    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        client, state, new = self._configured(), Decoded(request.olds).values, Decoded(request.news).values
        token, ignored = token_of(request.urn), list(request.ignoreChanges)
        if token == RELEASE:
            return diff.answer(release.changes(state, new, ignored))
        kind = of_token(token)
        found = diff.of_object(state, new, client.config, namespaced=client.namespaced(kind), ignored=ignored)
        if manifest.says_true(new, UNREADY) and self._failed(request, client, kind, live_of(state)):
            found.changes.append(diff.Change(("metadata", "annotations", f"{manifest.PREFIX}{UNREADY}"), "UPDATE", replaces=True))
        return diff.answer(found)

    @sentences
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        client, given, token = self._configured(), Decoded(request.properties), token_of(request.urn)
        if not request.preview:
            _reach(client)
        if token == RELEASE:
            return self._install(client, given, preview=request.preview)
        kind, inputs = of_token(token), given.values
        if request.preview and (has_unknown(inputs) or not client.has(kind)):
            return provider_pb2.CreateResponse(properties=request.properties)
        manager = objects.manager_of({}, inputs)
        try:
            live = self._objects(kind, request, client).create(_in_scope(inputs, client, kind), manager, preview=request.preview)
        except objects.NotPreviewedError:
            return provider_pb2.CreateResponse(properties=request.properties)
        except waits.NotReadyError as error:
            state = State(inputs, error.live, inputs["apiVersion"], manager)
            doing = "was successfully created, but the Kubernetes API server reported that it failed to fully initialize or become live"
            raise _not_ready(f"resource {name_of(inputs)!r} {doing}: {error}", state, given, error.reasons) from None
        except ProviderError as error:
            raise ProviderError(given.hide(_not_made(inputs, kind, error))) from None
        state = State(inputs, live, inputs["apiVersion"], manager)
        id = "" if request.preview else objects.id_of(live)
        return provider_pb2.CreateResponse(id=id, properties=_kept(state, given))

    @sentences
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        client, state, inputs = self._configured(), Decoded(request.properties), Decoded(request.inputs)
        if client.unreachable:
            return self._lost(request, client)
        if token_of(request.urn) == RELEASE:
            return self._found(client, request.id, state, inputs)
        namespace, name = objects.named(request.id)
        kind = _kind(request.urn, state.values)
        live = client.there(kind, namespace, name)
        if live is None:
            return provider_pb2.ReadResponse()
        imported = not inputs.values and not state.values
        found = _imported(live) if imported else pruned(live, normal(inputs.values or live_of(state.values)))
        manager = objects.manager_of(state.values, inputs.values)
        kept = State(found, live, str(state.values.get(API_VERSION) or live["apiVersion"]), manager)
        given = inputs if inputs.values else state
        answer = encode(found, manifest.secrets(found, given.secrets))
        if not imported:
            try:
                waits.once(client, kind, live, found)
            except waits.NotReadyError as error:
                raise _not_ready(str(error), kept, given, error.reasons, answer) from None
        return provider_pb2.ReadResponse(id=request.id, properties=_kept(kept, given), inputs=answer)

    @sentences
    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        client, state, given = self._configured(), Decoded(request.olds).values, Decoded(request.news)
        token = token_of(request.urn)
        if not request.preview:
            _reach(client)
        if token == RELEASE:
            return self._upgrade(client, state, given, preview=request.preview)
        kind, inputs = of_token(token), given.values
        if request.preview and (has_unknown(inputs) or not client.has(kind)):
            return provider_pb2.UpdateResponse(properties=request.news)
        manager, was = objects.manager_of(state, inputs), live_of(state)
        api_version = str(state.get(API_VERSION) or inputs["apiVersion"])
        life = self._objects(kind, request, client)
        try:
            live = life.update(was, _in_scope(inputs, client, kind), manager, request.ignoreChanges, preview=request.preview)
        except waits.NotReadyError as error:
            words = f"the Kubernetes API server reported that {objects.id_of(was)!r} failed to fully initialize or become live: {error}"
            raise _not_ready(words, State(inputs, error.live, api_version, manager), given, error.reasons) from None
        except ProviderError as error:
            raise ProviderError(given.hide(f"update of resource {objects.id_of(was)!r} failed: {error}")) from None
        return provider_pb2.UpdateResponse(properties=_kept(State(inputs, live, api_version, manager), given))

    @sentences
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        client, state = self._configured(), Decoded(request.properties)
        is_release = token_of(request.urn) == RELEASE
        if client.unreachable:
            if is_release:  # nor does the official provider give it up here: a refresh does
                raise ProviderError(f"can't delete Helm Release with unreachable cluster. Reason: {client.unreachable}")
            self._warn(request.urn, f"configured Kubernetes cluster is unreachable: {client.unreachable}")
            if client.config.delete_unreachable:
                return empty_pb2.Empty()
            raise ProviderError(f"configured Kubernetes cluster is unreachable. {STATE_LOST}")
        state.secrets.discard((INPUTS,))  # a release's are as a whole: of what is in them, the outputs say what is secret
        try:
            if is_release:
                Releases(client).delete(state.values["namespace"], state.values["name"])
            else:
                kind = _kind(request.urn, state.values)
                self._objects(kind, request, client).delete(*objects.named(request.id), state.values.get(INPUTS) or {})
        except ProviderError as error:
            raise ProviderError(state.hide(f"deletion of {request.id!r} failed: {error}")) from None
        return empty_pb2.Empty()

    @sentences
    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        raise ProviderError(f"{request.tok}: the stand-in provider makes no objects out of files or charts\n{kubeconfig.FIX}")

    @sentences
    def Construct(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        raise ProviderError(f"{request.type}: the stand-in provider makes no objects out of files or charts\n{kubeconfig.FIX}")

    def Call(self, request: Any, context: Any) -> Any:  # noqa: N802 - the RPC's name
        return context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{request.tok}: the stand-in provider has no methods")

    # Releases

    def _install(self, client: Client, given: Decoded, *, preview: bool) -> Any:
        inputs = given.values
        if preview:
            return provider_pb2.CreateResponse(properties=_kept_release(release.foreseen(inputs), given))
        try:
            state = Releases(client).create(inputs)
        except ProviderError as error:
            raise ProviderError(given.hide(str(error))) from None
        return provider_pb2.CreateResponse(id=release.id_of(inputs), properties=_kept_release(state, given))

    def _upgrade(self, client: Client, state: Data, given: Decoded, *, preview: bool) -> Any:
        if preview:
            return provider_pb2.UpdateResponse(properties=_kept_release(release.foreseen(given.values), given))
        try:
            found = Releases(client).update(given.values, state)
        except ProviderError as error:
            raise ProviderError(given.hide(str(error))) from None
        return provider_pb2.UpdateResponse(properties=_kept_release(found, given))

    def _found(self, client: Client, id: str, state: Decoded, inputs: Decoded) -> Any:
        namespace, name = objects.named(id)
        read = Releases(client).read(namespace or config.DEFAULT, name, state.values)
        if read is None:
            return provider_pb2.ReadResponse()
        found, would = read
        given = inputs if inputs.values else state
        answer = encode(would, manifest.secrets(would, given.secrets))
        return provider_pb2.ReadResponse(id=id, properties=_kept_release(found, given), inputs=answer)

    # What these share

    def _configured(self) -> Client:
        if self._client is None:
            raise ProviderError(f"the provider is not configured\n{kubeconfig.FIX}")
        return self._client

    def _objects(self, kind: Kind, request: Any, client: Client) -> Objects:
        urn = request.urn

        def tell(text: str) -> None:
            if self._say is not None:
                self._say(urn, text, False)

        return Objects(client, kind, tell, request.timeout)

    def _failed(self, request: Any, client: Client, kind: Kind, was: Data) -> bool:
        """Whether a job is not complete: the program wants it made anew then."""
        if kind[0::2] != ("batch", "Job"):
            self._warn(request.urn, "replaceUnready annotation is not supported for this resource")
        elif client.unreachable:
            self._warn(request.urn, "Cluster is unreachable, skipping replaceUnready check")
        elif live := client.there(kind, manifest.namespace_of(was), name_of(was)):
            return not ready.RULES["batch", "Job"].judge(client, live).ready
        return False

    def _warn(self, urn: str, text: str) -> None:
        if self._say is not None:
            self._say(urn, text, True)

    def _lost(self, request: Any, client: Client) -> Any:
        """What a read answers where no cluster does."""
        self._warn(request.urn, f"configured Kubernetes cluster is unreachable: {client.unreachable}")
        if client.config.delete_unreachable:
            return provider_pb2.ReadResponse()
        if client.config.skip_update_unreachable:
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        raise ProviderError(f"failed to read resource state due to unreachable cluster. {STATE_LOST}")


def _leads_elsewhere(old: Data, new: Data, changed: Iterable[str]) -> list[str]:
    """What of the configuration leads to another cluster. What is not known yet may."""
    if unknown := [key for key in LEADS if isinstance(new.get(key), Unknown)]:
        return unknown[:1]
    try:
        was, becomes = (kubeconfig.active_cluster(kubeconfig.parsed(one.get("kubeconfig") or {}), one) for one in (old, new))
    except ValueError as error:
        raise ProviderError(f"failed to parse kubeconfig: {error}") from None
    return [key for key in LEADS if key in changed] if was and becomes and was != becomes else []


def _kind(urn: str, state: Data) -> Kind:
    """Of what is read or taken away: as the state has it, which an alias may have brought from another version."""
    kind = of_token(token_of(urn))
    return of_manifest(state["apiVersion"], state["kind"]) if state.get("apiVersion") and state.get("kind") else kind


def _reach(client: Client) -> None:
    if client.unreachable:
        raise ProviderError(f"configured Kubernetes cluster is unreachable: {client.unreachable}")


def _in_scope(inputs: Data, client: Client, kind: Kind) -> Data:
    """Inputs without a namespace where the kind is in none: Check could not know that of a kind whose definition came later."""
    if client.namespaced(kind) or "namespace" not in inputs["metadata"]:
        return inputs
    return inputs | {"metadata": {key: value for key, value in inputs["metadata"].items() if key != "namespace"}}


def _kept(state: State, given: Decoded) -> struct_pb2.Struct:
    """The state as the engine keeps it: what was secret in the inputs is so here."""
    inner: set[Path] = {(INPUTS, *path) for path in manifest.secrets(state.inputs, given.secrets)}
    return encode(state.values, {*manifest.secrets(state.live, given.secrets), *inner})


def _kept_release(state: Data, given: Decoded) -> struct_pb2.Struct:
    return encode(state, {(INPUTS,), *manifest.secrets(state, given.secrets)})


def _imported(live: Data) -> Data:
    """Inputs that would make what was found."""
    found = normal({key: value for key, value in live.items() if key != "status"})
    metadata = dict(found.get("metadata") or {})
    noted = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if key not in NOTED}
    return found | {"metadata": metadata | ({"annotations": noted} if noted else {})}


def _not_made(inputs: Data, kind: Kind, error: ProviderError) -> str:
    if isinstance(error, NoMatchError):
        return (
            f"creation of resource {name_of(inputs)!r} with kind {kind} failed because the Kubernetes API server reported that the "
            f"apiVersion for this resource does not exist. Verify that any required CRDs have been created: {error}"
        )
    return f"resource {name_of(inputs)!r} was not successfully created by the Kubernetes API server: {error}"


def _not_ready(
    words: str, state: State, given: Decoded, reasons: tuple[str, ...], inputs: struct_pb2.Struct | None = None
) -> MadeButNotReadyError:
    """The object exists: the engine keeps it, with what keeps it from being ready."""
    kept = encode(state.inputs, manifest.secrets(state.inputs, given.secrets)) if inputs is None else inputs
    return MadeButNotReadyError(
        given.hide(words), objects.id_of(state.live), _kept(state, given), kept, [given.hide(reason) for reason in reasons]
    )
