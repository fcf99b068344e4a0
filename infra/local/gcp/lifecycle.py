"""Create, read, update and delete of a resource, as its row says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from infra.local.gcp import body as bodies
from infra.local.gcp import diff, refresh, schema
from infra.local.gcp.resource_type import Field, ResourceType, Update, last, placeholders
from infra.local.gcp.rest import Client
from infra.provider.calls import ATTEMPTS, FIRST_BACKOFF_SECONDS, GoogleError, OperationError, UnclearError
from infra.provider.server import ProviderError
from infra.provider.values import without_defaults


class Made(NamedTuple):
    """A resource as it is: its id and its outputs."""

    id: str
    outputs: dict[str, Any]


class FailedAfterMadeError(ProviderError):
    """The thing exists, though what made it failed."""

    def __init__(self, message: str, made: Made) -> None:
        super().__init__(message)
        self.made = made


class Lifecycle:
    """The plain one. Subclasses say what a row cannot."""

    def __init__(self, row: ResourceType, client: Client) -> None:
        self.row = row
        self.client = client
        self.schema = schema.of(row.token)

    # What the provider calls

    def create(self, inputs: dict[str, Any]) -> Made:
        """Makes the resource of checked *inputs*."""
        written, inputs = inputs, self._plain(inputs)
        names = self.names(inputs)
        answer = self._created_once(written, inputs, names)
        try:
            answer = self.client.finished(self.row.service, answer, names.get("project", ""))
        except OperationError as error:
            message = f"Error waiting for {self.row.noun} to create: {error}"
            if not self.row.named_by_google and (made := self._there(names, inputs)):
                raise FailedAfterMadeError(message, made) from None
            raise ProviderError(message) from None
        except ProviderError as error:
            raise self._begun(error, names, inputs) from None
        if self.row.named_by_google:
            names["name"] = str(last(answer.get("name", "")))
        try:
            self.created(names, inputs)
            made = self._there(names, inputs)
        except ProviderError as error:
            raise self._begun(error, names, inputs) from None
        if made is None:
            raise ProviderError(f"{self.row.noun} {self.fill(self.row.url, names)} is not there right after it was made")
        return made

    def read(self, id: str, state: dict[str, Any]) -> Made | None:
        """The resource of an id as it is now; None where there is none. *state* is empty at an import."""
        names = self.names_of(id, state)
        answer = self.get(names)
        if answer is None:
            return None
        found = self.labels_in(answer)
        written = state or {self.row.labels: found, "pulumiLabels": found}
        return Made(self.fill(self.row.id_template, names), self.outputs(answer, names, written))

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        """Changes what differs between the inputs *old* and *new*."""
        changed = {str(change.path[0]): None for change in diff.changes(self.row, old, new, state)}
        inputs = self._plain(new)
        names = self.names(inputs) | self.names_of(id, state)
        for update, mine in self._calls([name for name in changed if name in bodies.in_body(self.row)]):
            if update.reads_first:
                state = state | {key: value for key, value in (self.get(names) or {}).items() if key in update.kept}
            self._change(update, mine, self._with_others(inputs, state), state, names)
        return self._now(id, names, state | inputs)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        """Takes the resource away; that there is none is well."""
        names = self.names_of(id, state)
        try:
            answer = self.call("DELETE", self.fill(self.row.url, names), self.row.delete_query, None, names)
            self.client.finished(self.row.service, answer, names.get("project", ""))
        except OperationError as error:
            raise ProviderError(f"Error waiting for {self.row.noun} to delete: {error}") from None
        except GoogleError as error:
            if error.code != 404:
                raise

    def id_of(self, inputs: dict[str, Any]) -> str:
        """The id that a resource of these inputs has, if it is there and Google did not name it."""
        return self.fill(self.row.id_template, self.names(inputs))

    # What subclasses change

    def create_body(self, inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        made = bodies.body(self.row, inputs, names, bodies.in_body(self.row)) | dict(self.row.constants)
        return {self.row.create_wrap: made} if self.row.create_wrap else made

    def update_extra(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the body of an update has besides the inputs."""
        return {}

    def created(self, names: dict[str, Any], inputs: dict[str, Any]) -> None:
        """What is left to do after the create."""

    def get(self, names: dict[str, Any]) -> dict[str, Any] | None:
        """Google's form of the resource; None where there is none."""
        try:
            return self.call("GET", self.fill(self.row.url, names), self.row.read_query, None, names)
        except GoogleError as error:
            if error.code == 404:
                return None
            raise

    def labels_in(self, answer: dict[str, Any]) -> Any:
        """The labels in Google's form of the resource."""
        return answer.get(self.row.labels)

    def outputs(self, answer: dict[str, Any], names: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
        """The outputs that Google's answer says."""
        id = self.fill(self.row.id_template, names)
        return {"id": id} | bodies.outputs(self.row, answer, names, written)

    # What they share

    def _created_once(self, written: dict[str, Any], inputs: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        """
        What the create answers. Where that is lost, the thing may be there: it is looked for before it is asked for again.

        Raises:
            FailedAfterMadeError: It is there, as it was asked for; whether it is ready is not known.
        """
        path, sent = self.fill(self.row.created_in, names), self.create_body(self._sent(inputs), names)
        lost: ProviderError | None = None
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self.call(self.row.create_method, path, self.row.create_query, sent, names)
            except UnclearError as error:
                lost = error
            except GoogleError as error:
                if lost is None or error.code != 409:
                    raise
                lost = error  # the lost one was done after all, or somebody was there before
            if found := self._as_written(written, inputs):
                raise FailedAfterMadeError(f"{lost}\n  it was made all the same, and is kept: `pulumi up` again looks after it", found)
            if isinstance(lost, GoogleError) or attempt == ATTEMPTS:
                break
            self.client.wait(FIRST_BACKOFF_SECONDS * 2**attempt)
        assert lost is not None, "every attempt that ends well has returned"
        raise lost

    def _as_written(self, written: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        """The resource, if it is there and nothing about it is otherwise than in the inputs."""
        id = self.alike(inputs)
        made = self._there(self.names_of(id, inputs), inputs) if id else None
        return made if made and refresh.inputs(self.row, written, {}, made.outputs) == written else None

    def alike(self, inputs: dict[str, Any]) -> str | None:
        """
        The id that a resource of these inputs has, if it is there: by its name or, where Google makes that up, by its display name. Empty
        where there is none; None where several look alike.
        """
        names = self.names(inputs)
        if not self.row.named_by_google:
            return self.id_of(inputs)
        path = self.fill(self.row.created_in, names)
        found: list[str] = []
        query: dict[str, str] = {}
        while True:
            page = self.client.call("GET", self.row.service, path, query)
            items = page.get(path.rpartition("/")[2], [])
            found += [last(item["name"]) for item in items if item.get("displayName") == inputs.get("displayName")]
            if not page.get("nextPageToken"):
                break
            query = {"pageToken": page["nextPageToken"]}
        if len(found) > 1:
            return None
        return self.fill(self.row.id_template, names | {"name": found[0]}) if found else ""

    def _begun(self, error: ProviderError, names: dict[str, Any], inputs: dict[str, Any]) -> ProviderError:
        """What is told of a create that was taken, and whose end is not known: the state keeps it, so that nothing is lost."""
        if self.row.named_by_google and "name" not in names:
            return error
        id = self.fill(self.row.id_template, names)
        return FailedAfterMadeError(
            str(error), Made(id, {"id": id} | {name: inputs[name] for name in self.schema.outputs if name in inputs})
        )

    def _there(self, names: dict[str, Any], written: dict[str, Any]) -> Made | None:
        answer = self.get(names)
        if answer is None:
            return None
        id = self.fill(self.row.id_template, names)
        return Made(id, self.outputs(answer, names, written | {"pulumiLabels": self._labels(written)}))

    def _now(self, id: str, names: dict[str, Any], written: dict[str, Any]) -> Made:
        made = self._there(names, written)
        if made is None:
            raise ProviderError(f"{self.row.noun} {id} is gone: `pulumi refresh` takes note of it")
        return made

    def _labels(self, inputs: Mapping[str, Any]) -> dict[str, str]:
        return {**self.client.config.labels, **(inputs.get(self.row.labels) or {})}

    def _plain(self, inputs: dict[str, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = without_defaults(inputs)
        return plain

    def call(self, method: str, path: str, query: Mapping[str, str], body: Any, names: dict[str, Any]) -> dict[str, Any]:
        """One call to the row's service. Placeholders in the query are filled in."""
        return self.client.call(method, self.row.service, path, {key: self.fill(value, names) for key, value in query.items()}, body)

    def fill(self, template: str, names: Mapping[str, Any]) -> str:
        """A URL or query with its placeholders filled in."""

        def value(match: re.Match[str]) -> str:
            found = names.get(match[1])
            if found is None:
                raise ProviderError(f"{match[1]}: is missing, and the provider has no default for it\n  fix: set it, or gcp:{match[1]}")
            return str(found).lower() if isinstance(found, bool) else str(found)

        return re.sub(r"\{(\w+)\}", value, template)

    def names(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What the URLs' placeholders stand for, by the inputs and the configuration."""
        queries = [*self.row.create_query.values(), *self.row.delete_query.values()]
        wanted = {"project", *placeholders("".join([self.row.url, self.row.id_template, self.row.created_in, *queries]))}
        found: dict[str, Any] = {}
        for name in sorted(wanted):
            value = inputs.get(name)
            if value is None or value == "":
                value = self.client.config.default(name) or None
            if value is not None:
                found[name] = last(value) if name in ("region", "zone", "location") else value
        return found

    def names_of(self, id: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """What an id says, in any of the forms that the official provider takes."""
        template = self.row.id_template
        known = self.names({key: value for key, value in state.items() if key not in placeholders(template)})
        if found := self.row.names_of(id) or self.row.names_of(_relative(id)):
            return known | found
        wanted = placeholders(template)
        parts = id.split("/")
        for left_out in ([], ["project"], ["project", "region", "zone", "location"]):
            names = [name for name in wanted if name not in left_out]
            if names and len(names) == len(parts):
                return known | dict(zip(names, parts, strict=True))
        raise ProviderError(f"{id!r} is not the id of a {self.row.noun}\n  allowed: {template}, or its names alone: {'/'.join(wanted)}")

    def _calls(self, changed: list[str]) -> list[tuple[Update, list[str]]]:
        """The calls of an update, with the changed properties of each."""
        claimed = {name for update in self.row.updates for name in update.only}
        calls = []
        for update in self.row.updates:
            mine = [name for name in changed if (name in update.only if update.only else name not in claimed)]
            if mine:
                calls.append((update, mine))
        return calls

    def _change(self, update: Update, mine: list[str], inputs: dict[str, Any], state: dict[str, Any], names: dict[str, Any]) -> None:
        body: dict[str, Any] | None = None
        if update.body:
            body = bodies.body(self.row, self._sent(inputs), names, self._properties(update, mine))
            if update.changed_only:
                body |= self._unset(mine, body, state)
            kept = {key: state[key] for key in update.kept if state.get(key) is not None}
            extra = {} if update.only else self.update_extra(inputs)
            body = {**update.zeros, **body, **extra, **kept}
            body = {update.wrap: body} if update.wrap else body
        query = dict(update.query)
        if update.mask:
            query["updateMask"] = ",".join(self.row.mask_names.get(name, name) for name in mine)
        values = {**names, **{key: str(value) for key, value in inputs.items() if isinstance(value, str | int)}}
        path = self.fill(self.row.url, names) + update.suffix
        filled = {key: self.fill(value, values) for key, value in query.items()}
        answer = self.client.call(update.method, self.row.service, path, filled, body)
        try:
            self.client.finished(self.row.service, answer, names.get("project", ""))
        except OperationError as error:
            raise ProviderError(f"Error waiting for {self.row.noun} to update: {error}") from None

    def _unset(self, mine: list[str], body: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        """What takes away, in a body that is merged into what Google has: there, whatever is left out stays."""
        unset: dict[str, Any] = {}
        for name in mine:
            rest = self.row.by_path.get(name, Field(name)).rest or name
            if name == self.row.labels:
                unset[name] = dict.fromkeys(state.get("effectiveLabels") or {}) | (body.get(name) or {})
            elif bodies.dig(body, rest) is None:
                kind = schema.kind(self.schema.inputs[name])
                bodies.put(unset, rest, False if kind == "boolean" else None)
        return unset

    def _with_others(self, inputs: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        """Inputs with the labels that others gave the resource: they stay."""
        if not self.schema.labelled:
            return inputs
        mine = state.get("pulumiLabels") or {}
        others = {key: value for key, value in (state.get("effectiveLabels") or {}).items() if key not in mine}
        return inputs | {self.row.labels: others | (inputs.get(self.row.labels) or {})}

    def _properties(self, update: Update, mine: list[str]) -> list[str]:
        if update.changed_only:
            return mine
        if update.only:
            return list(update.only)
        claimed = {name for other in self.row.updates for name in other.only}
        fixed = {name for name, value in self.schema.inputs.items() if value.get("replaces")}
        return [name for name in bodies.in_body(self.row) if name not in claimed and name not in fixed]

    def _sent(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs with the provider's own labels among them."""
        return inputs | {self.row.labels: self._labels(inputs)} if self.schema.labelled else inputs


def _relative(id: str) -> str:
    """A full link without its host and version."""
    match = re.search(r"(?:^|/)((?:projects|billingAccounts)/.*)", id)
    return match[1] if match else id
