"""
`accelform:tpu:QueuedResource`: a request for Cloud TPU nodes that waits in Google's queue.

Google puts no request back into the queue: one that failed, expired or lost its nodes counts against the quota until it is deleted. So a
dead one is deleted, its nodes first, and asked for again; a refresh sees it die, and the next update does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.provider import queued_check, queued_spec
from infra.provider.calls import FIRST_BACKOFF_SECONDS, GoogleError, OperationError
from infra.provider.queue import ACTIVE, DELETING, ENDED, LOST_STATES, NOT_TAKEN_YET, Queue, error_of, state_of
from infra.provider.resource import Change, FailedAfterMadeError, Failure, Made, Note, Resource, differences
from infra.provider.schema import resource
from infra.provider.server import ProviderError
from infra.provider.values import UNKNOWN, has_unknown

NAME = re.compile(r"projects/([^/]+)/locations/([^/]+)/queuedResources/([^/]+)")
DEFAULTS = {"waitFor": "active", "retries": 2}
EXPIRED, EXHAUSTED = 4, 8
HOPELESS = (3, 5, 7, 12, 16)
"""Codes of google.rpc that asking again does not change: invalid, not found, not permitted, not implemented, not signed in."""


class QueuedResource(Resource):
    """A request for nodes."""

    token = "accelform:tpu:QueuedResource"  # noqa: S105 - a type's name

    @classmethod
    def check(cls, inputs: Mapping[str, Any]) -> Iterator[Failure]:
        return queued_check.failures(inputs)

    @classmethod
    def changes(cls, old: Mapping[str, Any], new: Mapping[str, Any], state: Mapping[str, Any]) -> Iterable[Change]:
        """Differences of the inputs; and a request that is dead, or not yet as far as it was to be."""
        before, after = ({**one, **{name: queued_spec.plain(one.get(name)) for name in queued_spec.SPEC}} for one in (old, new))
        yield from differences(resource(cls.token)["inputProperties"], before, after)
        if lost := _lost(state):
            yield Change(("nodeStates", lost[0], "state"), "UPDATE", input=False)
        elif _is_short(state, new):
            yield Change(("state",), "UPDATE", input=False)

    @classmethod
    def notes(cls, old: Mapping[str, Any], new: Mapping[str, Any], state: Mapping[str, Any]) -> Iterator[Note]:
        if lost := _lost(state):
            yield Note(f"its nodes {', '.join(lost)} are lost: it is deleted with all its nodes, and asked for again", warns=True)
        elif state.get("state") in (*ENDED, "SUSPENDING"):
            by = {"USER": " by somebody", "SERVICE": " by Google"}.get(state.get("stateInitiator", ""), "")
            yield Note(f"it is {state['state']}{by}: it is deleted with its nodes, and asked for again", warns=True)
        elif _is_short(state, new):
            yield Note(
                f"it is {state['state']}: the run waits until it is {'ACTIVE' if new.get('waitFor') == 'active' else 'in the queue'}"
            )

    @classmethod
    def foreseen(cls, inputs: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
        found = {**inputs, **dict.fromkeys(("name", "state", "stateInitiator", "createTime", "nodeStates"), UNKNOWN)}
        place = (inputs["project"], inputs["zone"], inputs["queuedResourceId"])
        if not has_unknown(list(place)):
            found["name"] = "projects/{}/locations/{}/queuedResources/{}".format(*place)
        if state and not _lost(state) and not _is_short(state, inputs):
            found |= {name: state[name] for name in ("state", "stateInitiator", "createTime", "nodeStates")}
        return found

    def create(self, inputs: dict[str, Any]) -> Made:
        return self._reach(inputs)

    def there(self, inputs: dict[str, Any]) -> str:
        queue = self._queue(inputs)
        found = queue.look()
        return "" if found is None or queued_spec.unlike(inputs, found) else queue.name

    def update(self, id: str, state: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> Made:
        return self._reach(new)

    def read(self, id: str, state: dict[str, Any], inputs: dict[str, Any]) -> Made | None:
        match = NAME.fullmatch(id)
        if match is None or match[1].isdigit():
            allowed = "projects/shop-prod/locations/us-east5-a/queuedResources/eval: the project by its id"
            raise ProviderError(f"{id!r} is no name of a queued resource here\n  allowed: {allowed}")
        place = {"project": match[1], "zone": match[2], "queuedResourceId": match[3]}
        found = self._queue(place).look()
        if found is None:
            return None
        given = inputs or {name: state[name] for name in resource(self.token)["inputProperties"] if state.get(name) is not None}
        if not given or queued_spec.unlike(given, found):
            ways = DEFAULTS | {name: given[name] for name in DEFAULTS if name in given}
            given = place | queued_spec.inputs_of(found) | ways
        queue = self._queue(given)
        return _made(queue, found, queue.states(found, queue.nodes()), given)

    def delete(self, id: str, state: dict[str, Any]) -> None:
        self._queue(state).remove()

    # Asked for until it is as it was to be

    def _queue(self, inputs: Mapping[str, Any]) -> Queue:
        place = f"projects/{inputs['project']}/locations/{inputs['zone']}"
        return Queue(self.google, place, inputs["queuedResourceId"], queued_spec.node_ids(inputs), self.seconds, self.say)

    def _reach(self, inputs: dict[str, Any]) -> Made:
        """
        Makes it, or goes on with what is there.

        Raises:
            FailedAfterMadeError: It is there, or may be, and is not as far as it was to be.
            ProviderError: It is not there; or another is.
        """
        queue = self._queue(inputs)
        found = queue.look()
        if found is not None and (differs := queued_spec.unlike(inputs, found)):
            fix = "import it, delete it, or choose another queuedResourceId"
            raise ProviderError(f"queuedResourceId: {queue.name} is there, and is another: see {', '.join(differs)}\n  fix: {fix}")
        try:
            found = self._waited(queue, inputs)
            return _made(queue, found, queue.states(found, queue.nodes()), inputs)
        except ProviderError as error:
            if queue.last is None:
                raise
            raise FailedAfterMadeError(str(error), _made(queue, queue.last, self._seen(queue), inputs)) from None

    def _waited(self, queue: Queue, inputs: dict[str, Any]) -> dict[str, Any]:
        """
        It, once it is as far as it was to be.

        Raises:
            ProviderError: It died as often as it was asked for, or the time is up.
        """
        asked, backoff = 0, FIRST_BACKOFF_SECONDS
        while True:
            if queue.last is not None and state_of(queue.last) == DELETING:
                queue.remove()
            if queue.last is None:
                self._check_until(inputs)
                try:
                    queue.ask(queued_spec.body(inputs))
                except GoogleError as error:
                    if error.code != 409 or (found := queue.look()) is None:
                        raise ProviderError(_explained(str(error), inputs)) from None
                    if differs := queued_spec.unlike(inputs, found):
                        raise ProviderError(f"{queue.name}: somebody made another meanwhile: see {', '.join(differs)}") from None
                asked += 1
            try:
                found = queue.wait(for_nodes=inputs["waitFor"] == "active")
            except OperationError as error:
                raise type(error)(_explained(str(error), inputs)) from None
            why, may_ask = _death(found, inputs, queue.lost(found) if state_of(found) == ACTIVE else [])
            if not why:
                return found
            queue.remove()
            if asked > inputs["retries"] or not may_ask:
                times = "once" if asked == 1 else f"{asked} times"
                raise ProviderError(f"{queue.name}: {why}\n  asked for: {times}; what was left of it is deleted")
            self.say(Note(f"{queue.id}: {why.splitlines()[0]}: deleted, and asked for again", warns=True))
            if asked:
                self.google.wait(backoff)
                backoff *= 2

    def _check_until(self, inputs: Mapping[str, Any]) -> None:
        """A time that has passed fulfils nothing."""
        until = inputs.get("validUntil")
        if until and not queued_spec.is_duration(until) and queued_spec.moment(until) <= self.google.time():
            raise ProviderError(f"validUntil: {until} has passed: no request can be fulfilled by then\n  allowed: a time to come")

    def _seen(self, queue: Queue) -> dict[str, Any]:
        """Its nodes, as far as they can be asked for still."""
        try:
            return queue.states(queue.last or {}, queue.nodes())
        except ProviderError:
            return {}


def _death(found: Mapping[str, Any], inputs: Mapping[str, Any], lost: list[str]) -> tuple[str, bool]:
    """Why a request is dead, and whether asking again may help; empty where it lives."""
    state, error = state_of(found), error_of(found)
    if lost and inputs["waitFor"] == "active":
        return f"is {state}, and its nodes {', '.join(lost)} are lost", True
    if state not in ENDED:
        return "", True
    code = error.get("code")
    if code == EXPIRED:
        until = inputs.get("validUntil") or ""
        return f"expired: not fulfilled by validUntil, {until}: {error.get('message', '')}", queued_spec.is_duration(until)
    by = {"USER": " by somebody", "SERVICE": " by Google"}.get(found.get("state", {}).get("stateInitiator", ""), "")
    said = f": {code}: {error.get('message', '')}" if error else ""
    return _explained(f"is {state}{by}{said}", inputs), code not in HOPELESS


def _explained(said: str, inputs: Mapping[str, Any]) -> str:
    """Google answers some shortages with words about reservations, though none was asked for."""
    if "reserved capacity" in said.lower() and inputs["tier"] != "reservation":
        means = f"no {inputs['tier']} capacity there now; nothing is wrong with what was asked for"
        return f"{said}\n  means: {means}\n  fix: try another tier or zone, or later"
    return said


def _lost(state: Mapping[str, Any]) -> list[str]:
    nodes = state.get("nodeStates")
    if state.get("waitFor") != "active" or state.get("state") != ACTIVE or not isinstance(nodes, dict):
        return []
    return sorted(id for id, node in nodes.items() if node.get("state") in LOST_STATES)


def _is_short(state: Mapping[str, Any], inputs: Mapping[str, Any]) -> bool:
    """Whether a request is dead, or not yet as far as a run was to wait for."""
    word = state.get("state")
    if word is None:
        return False
    return word != ACTIVE if inputs.get("waitFor") == "active" else word in (*ENDED, *NOT_TAKEN_YET)


def _made(queue: Queue, found: Mapping[str, Any], nodes: Mapping[str, Any], inputs: dict[str, Any]) -> Made:
    state = {
        "name": queue.name,
        "state": state_of(found),
        "stateInitiator": found.get("state", {}).get("stateInitiator", ""),
        "createTime": found.get("createTime", ""),
        "nodeStates": dict(nodes),
    }
    return Made(queue.name, inputs | state, inputs)
