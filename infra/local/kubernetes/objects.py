"""
The life of an object: made by a plain create, so that what exists already is refused and not taken; changed by server-side apply.

Source: pulumi-kubernetes at 2026-07 (`pkg/await`, `pkg/provider`). Before 4.29 it made objects by applying them, over whatever there was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from infra.local.kubernetes import managers, waits
from infra.local.kubernetes.kinds import Kind
from infra.local.kubernetes.manifest import API_VERSION, INPUTS, MANAGER, Data, annotation, dig, name_of, namespace_of, pruned
from infra.local.kubernetes.paths import parsed
from infra.local.kubernetes.rest import APPLY, DRY_RUN, JSON_PATCH, NOT_FOUND, Client, KubernetesError, NoMatchError
from infra.provider.calls import UnclearError
from infra.provider.server import ProviderError

FIRST_RETRY_SECONDS = 0.2
RETRIES = 5
"""What an object needs, its namespace or its definition, may be on its way: it is asked for again, as the official provider does."""
CONFLICTS = (
    "https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/"
    "#handle-field-conflicts-on-existing-resources"
)
EXISTS = """

The resource already exists in the cluster. This can happen when:

  - a resource of the program was renamed: give it an alias, or delete it before
  - it was made by somebody else: `pulumi import` takes it over
  - it is meant to be taken over by a create: upsertExistingObjects of the provider"""


class NotPreviewedError(ProviderError):
    """The cluster cannot say yet what would be: the inputs stand for it."""


class Objects:
    """
    The objects of one kind, for one resource.

    Args:
        client: The cluster.
        kind: The kind.
        tell: Shows the user how far a wait is.
        seconds: The resource's own timeout; 0 where it has none.
    """

    def __init__(self, client: Client, kind: Kind, tell: waits.Tell, seconds: float = 0.0) -> None:
        self.client = client
        self.kind = kind
        self._tell = tell
        self._seconds = seconds

    def create(self, inputs: Data, manager: str, *, preview: bool) -> Data:
        """
        Makes the object.

        Raises:
            NotReadyError: It was made, and is not ready.
            NotPreviewedError: At a preview.
        """
        made = self._retried(lambda: self._create_once(inputs, manager, preview=preview), preview=preview)
        if preview:
            return {key: value for key, value in made.items() if key != "status"}
        return self._until_ready(made, inputs)

    def _create_once(self, inputs: Data, manager: str, *, preview: bool) -> Data:
        try:
            if self.client.config.upsert:
                force = managers.forced(inputs, None, always=self.client.config.patch_force, preview=preview)
                return self._apply(inputs, manager, force=force, preview=preview)
            query = {"fieldManager": managers.CREATOR} | (DRY_RUN if preview else {})
            return self.client.create(self.kind, inputs, query)
        except UnclearError:
            found = self.client.there(self.kind, namespace_of(inputs), name_of(inputs))
            if found is None or pruned(found, inputs) != inputs:
                raise
            return found  # the lost create was done: it is as it was asked for
        except KubernetesError as error:
            if preview and (error.namespace_missing or error.already_exists):
                raise NotPreviewedError(str(error)) from None
            if error.already_exists:
                raise ProviderError(f"{error}{EXISTS}") from None
            raise

    def _retried(self, do: Callable[[], Data], *, preview: bool) -> Data:
        delay = FIRST_RETRY_SECONDS
        for attempt in range(RETRIES + 1):
            try:
                return do()
            except (KubernetesError, NoMatchError) as error:
                missing = isinstance(error, NoMatchError) or error.code == NOT_FOUND
                if not missing or preview or attempt == RETRIES:
                    raise
                self._tell(f"Retry #{attempt}; creation failed: {error}")
            self.client.wait(delay)
            delay *= 2
        raise AssertionError("every attempt returns, raises or is followed by another")

    def update(self, live: Data, inputs: Data, manager: str, ignored: Iterable[str], *, preview: bool) -> Data:
        """
        Applies the inputs.

        Args:
            live: The object as it was seen last: it names it.
            manager: Who applies.
            ignored: Property paths that stay as they are in the cluster.

        Raises:
            NotReadyError: It was applied, and is not ready.
        """
        now = self.client.get(self.kind, namespace_of(live), name_of(live))
        if not preview and (patch := managers.takeover(now, manager)):
            now = self.client.patch(self.kind, now, patch, JSON_PATCH, {})
        inputs = _kept(inputs, now, manager, ignored)
        force = managers.forced(inputs, now, always=self.client.config.patch_force, preview=preview)
        applied = self._apply(inputs, manager, force=force, preview=preview)
        return applied if preview else self._until_ready(applied, inputs)

    def delete(self, namespace: str, name: str, inputs: Data) -> None:
        """Takes the object away, and what it owns; that there is none is well."""
        try:
            self.client.delete(self.kind, namespace, name, _propagation(inputs))
        except NoMatchError:
            return
        except KubernetesError as error:
            if error.code != NOT_FOUND:
                raise
            return
        waits.until_gone(self.client, self.kind, namespace, name, inputs, self._seconds, self._tell)

    def _apply(self, inputs: Data, manager: str, *, force: bool, preview: bool) -> Data:
        query = {"fieldManager": manager, "force": "true" if force else "false"} | (DRY_RUN if preview else {})
        try:
            return self.client.patch(self.kind, inputs, inputs, APPLY, query)
        except KubernetesError as error:
            if not error.conflict:
                raise
            raise ProviderError(
                f"server-side apply field conflict detected, see {CONFLICTS} for troubleshooting help\n"
                f'The resource managed by field manager "{manager}" had an apply conflict: {error}'
            ) from None

    def _until_ready(self, made: Data, inputs: Data) -> Data:
        try:
            return waits.until_ready(self.client, self.kind, made, inputs, self._seconds, self._tell)
        except waits.NotReadyError:
            raise
        except ProviderError as error:  # it is there, whatever has come between: the state keeps it
            raise waits.NotReadyError(str(error), made, ()) from None


class State(NamedTuple):
    """What the engine keeps of an object."""

    inputs: Data
    live: Data
    api_version: str
    """Of its creation."""
    manager: str

    @property
    def values(self) -> Data:
        return self.live | {INPUTS: self.inputs, API_VERSION: self.api_version, MANAGER: self.manager}


def manager_of(state: Data, inputs: Data) -> str:
    """Who applies: as the program says, else as the state has it."""
    return annotation(inputs, "patchFieldManager") or str(state.get(MANAGER) or "") or managers.new_name()


def id_of(live: Data) -> str:
    """`namespace/name`; the name alone of what is in no namespace."""
    return f"{namespace_of(live)}/{name_of(live)}" if namespace_of(live) else name_of(live)


def named(id: str) -> tuple[str, str]:
    """
    Namespace and name of an id.

    Raises:
        ProviderError: It is none.
    """
    namespace, _, name = id.rpartition("/")
    if not name or "/" in namespace:
        raise ProviderError(f"failed to read resource because of a failure to parse resource name from request ID: {id}")
    return namespace, name


def _propagation(inputs: Data) -> str:
    wanted = annotation(inputs, "deletionPropagationPolicy").lower()
    return {"orphan": "Orphan", "background": "Background"}.get(wanted, "Foreground")


def _kept(inputs: Data, live: Data, manager: str, ignored: Iterable[str]) -> Data:
    """
    Inputs in which what is ignored is as it is in the cluster: not written where somebody else alone manages it, since to write it would
    be a conflict, and as it is otherwise, since to leave it out would unset it.
    """
    for path in map(parsed, ignored):
        mine, theirs = managers.owned(live, manager, path)
        keys = [step for step in path if isinstance(step, str)]
        if len(keys) != len(path):
            continue  # a list is one value here, as the official provider has it
        found = dig(live, *keys)
        if theirs and not mine:
            inputs = _without(inputs, keys)
        elif found is not None:
            inputs = _with(inputs, keys, found)
    return inputs


def _without(value: Data, keys: list[str]) -> Data:
    first, *rest = keys
    if first not in value:
        return value
    if not rest:
        return {key: part for key, part in value.items() if key != first}
    return value | {first: _without(value[first], rest)} if isinstance(value[first], dict) else value


def _with(value: Data, keys: list[str], found: object) -> Data:
    first, *rest = keys
    if not rest:
        return value | {first: found}
    inner = value.get(first)
    return value | {first: _with(inner if isinstance(inner, dict) else {}, rest, found)}
