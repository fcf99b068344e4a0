"""
One queued resource at Google: asked for, watched, and taken away with whatever it left.

Its id is ours, so a second request under it cannot be: whatever answer was lost, asking once more is safe.
Source of states and of `force`: discovery document tpu v2, revision 20261001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infra.provider.calls import FIRST_POLL_SECONDS, GoogleError, OperationError, UnfinishedError
from infra.provider.google import OPERATION_SECONDS, Google
from infra.provider.resource import Note
from infra.provider.server import ProviderError

API = "tpu.v2"
QUEUES = "projects.locations.queuedResources"
NODES = "projects.locations.nodes"
OPERATIONS = "projects.locations.operations"

FAILED, SUSPENDED, DELETING, ACTIVE = "FAILED", "SUSPENDED", "DELETING", "ACTIVE"
ENDED = (FAILED, SUSPENDED)
"""States that nothing follows: Google puts none back into the queue, and each counts against the quota until it is deleted."""
NOT_TAKEN_YET = ("CREATING", "STATE_UNSPECIFIED", "SUSPENDING", DELETING)
WAITING = ("ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING")
LOST_STATES = ("GONE", "PREEMPTED", "TERMINATED")
"""States of a node that will not serve again. `GONE` is ours: there is none."""
LOST_SECONDS = 120.0
"""How long a node of an active request may be lost before the request counts as lost: a preemption shows late, and so does a new node."""
DELETE_TRIES = 3

Body = dict[str, Any]


class Queue:
    """
    One queued resource.

    Args:
        google: Google's APIs.
        place: Its project and zone: `projects/P/locations/Z`.
        id: Its id.
        node_ids: Ids of the nodes that it brings about.
        seconds: How long all of it together may take. (default: an hour)
        say: Tells the user what becomes of it.
    """

    def __init__(
        self, google: Google, place: str, id: str, node_ids: Sequence[str], seconds: float | None, say: Callable[[Note], None]
    ) -> None:
        self.google = google
        self.place = place
        self.id = id
        self.name = f"{place}/queuedResources/{id}"
        self.last: Body | None = None
        """It as it was last seen; None where there was none."""
        self._node_ids = node_ids
        self._seconds = seconds or OPERATION_SECONDS
        self._deadline = google.now() + self._seconds
        self._say = say
        self._asked: Body | None = None

    # As it is

    def look(self) -> Body | None:
        """It as it is."""
        self.last = self._get(QUEUES, self.name)
        return self.last

    def nodes(self) -> dict[str, Body]:
        """Nodes under its nodes' ids, whosever they are."""
        every = self.google.pages(API, f"{NODES}.list", "nodes", parent=self.place)
        found = {one["name"].rpartition("/")[2]: one for one in every}
        return {id: found[id] for id in self._node_ids if id in found}

    def states(self, queued: Body, nodes: Mapping[str, Body]) -> dict[str, Body]:
        """Its nodes as they are; where it is active, those that are missing too."""
        shown = {id: _shown(node) for id, node in nodes.items() if self.owns(node)}
        if state_of(queued) == ACTIVE:
            missing = {"state": "GONE", "health": "", "addresses": [], "externalAddresses": []}
            shown |= {id: {"name": f"{self.place}/nodes/{id}"} | missing for id in self._node_ids if id not in shown}
        return shown

    def owns(self, node: Body) -> bool:
        """Whether a node came of it. The project may be written by its number."""
        return bool(str(node.get("queuedResource", "")).split("/")[2:] == self.name.split("/")[2:])

    # Asked for

    def ask(self, body: Body) -> None:
        """
        Asks for it, where its nodes' ids are free.

        Raises:
            GoogleError: It was refused; of code 409, there is one.
            ProviderError: Something else is in its place; or no answer came, and `last` says that it may be there.
        """
        self._free_ids()
        asked = body | {"name": self.name, "state": {"state": "STATE_UNSPECIFIED"}}
        try:
            self._asked = self.google.call(API, f"{QUEUES}.create", safe=True, parent=self.place, queuedResourceId=self.id, body=body)
        except GoogleError as error:
            if error.code >= 500:
                self.last = asked
            raise
        except ProviderError:
            self.last = asked
            raise
        self.last = asked

    def _free_ids(self) -> None:
        """Nothing is under its nodes' ids: what an earlier request left goes; what is another's stays, and is said."""
        others, delay = {id: node for id, node in self.nodes().items() if not self.owns(node)}, FIRST_POLL_SECONDS
        while any(node.get("state") == DELETING for node in others.values()):
            delay = self._pause(f"{', '.join(sorted(others))}: other nodes of these ids are being deleted", delay)
            others = {id: node for id, node in self.nodes().items() if not self.owns(node)}
        if others:
            where = "\n".join(f"  there: {node['name']}" for _, node in sorted(others.items()))
            raise ProviderError(
                f"{self.name}: nodes that are not its own have its nodes' ids\n{where}\n  fix: delete them, or choose other ids"
            )
        self._remove_nodes()

    # Watched

    def wait(self, *, for_nodes: bool) -> Body:
        """
        It, once it is in the queue, or its nodes stand; or once it has failed, was suspended, or lost a node for good.

        Raises:
            UnfinishedError: It is not so far: it stays.
            OperationError: It was refused after all, or somebody deleted it.
        """
        told, lost_since, delay = "", None, FIRST_POLL_SECONDS
        while True:
            found = self.look()
            if found is None:
                raise OperationError(self._refused() or f"{self.name}: somebody deleted it meanwhile")
            state = state_of(found)
            if state not in ("", told):
                told = self._tell(state, found)
            if state in ENDED or (not for_nodes and state not in NOT_TAKEN_YET):
                return found
            if state == ACTIVE:
                if not self.lost(found):
                    return found
                lost_since = self.google.now() if lost_since is None else lost_since
                if self.google.now() - lost_since > LOST_SECONDS:
                    return found
            said = f"{self.name}: is still {state or 'without a state'}: it stays in the queue, and the next run goes on waiting"
            delay = self._pause(said, delay)

    def lost(self, queued: Body) -> list[str]:
        """Nodes that an active one no longer has."""
        return sorted(id for id, node in self.states(queued, self.nodes()).items() if node["state"] in LOST_STATES)

    def _tell(self, state: str, found: Body) -> str:
        known = state in (*WAITING, *NOT_TAKEN_YET, *ENDED, ACTIVE)
        self._say(
            Note(f"{self.id}: {state}{'' if known else ', a state that is not known here: it counts as waiting'}", warns=state in ENDED)
        )
        return state

    def _refused(self) -> str:
        """What the operation that was to make it failed with."""
        if self._asked is None:
            return ""
        operation = self.google.call(API, f"{OPERATIONS}.get", name=self._asked["name"])
        error = operation.get("error")
        return f"{self.name}: {error.get('code', '')}: {error.get('message', '')}" if error else ""

    # Gone

    def remove(self) -> None:
        """
        Takes it away with its nodes, and waits until both are gone. That there is none is well.

        Raises:
            OperationError: It is there still.
        """
        running: Body | None = None
        refused, failures, delay = "", 0, FIRST_POLL_SECONDS
        while (found := self.look()) is not None:
            state = state_of(found)
            if running is not None:
                running = self._poll(running)
                if error := running.get("error"):
                    running, failures = None, failures + 1
                    refused = f"{error.get('code', '')}: {error.get('message', '')}"
                    if failures == DELETE_TRIES:
                        raise OperationError(f"{self.name}: could not be deleted, and is {state_of(self.look() or {})}: {refused}")
                elif running.get("done"):
                    running = None
            if running is None and state != DELETING:
                if state in ENDED:
                    self._remove_nodes()
                running, refused = self._delete(refused)
                if running is not None and running.get("done"):
                    continue
            why = f"; Google said: {refused}" if refused else ""
            delay = self._pause(f"{self.name}: waits to be deleted, and is {state}{why}", delay)
        self._remove_nodes()

    def _delete(self, refused: str) -> tuple[Body | None, str]:
        """The operation; or none, and why: some states refuse it for a while."""
        try:
            return self.google.call(API, f"{QUEUES}.delete", name=self.name, force=True), refused
        except GoogleError as error:
            if error.code == 404:
                return None, refused
            if error.code not in (400, 409):
                raise
            return None, str(error)

    def _poll(self, operation: Body) -> Body:
        if operation.get("done"):
            return operation
        return self.google.call(API, f"{OPERATIONS}.get", name=operation["name"])

    def _remove_nodes(self) -> None:
        """Its own nodes, one after the other."""
        failures, delay = 0, FIRST_POLL_SECONDS
        while own := {id: node for id, node in self.nodes().items() if self.owns(node)}:
            refused = ""
            for node in own.values():
                if node.get("state") == DELETING:
                    continue
                try:
                    running = self.google.call(API, f"{NODES}.delete", name=f"{self.place}/nodes/{node['name'].rpartition('/')[2]}")
                    self.google.finished(API, running, seconds=self._left())
                except UnfinishedError:
                    raise
                except (GoogleError, OperationError) as error:
                    if isinstance(error, GoogleError) and error.code not in (400, 404, 409):
                        raise
                    refused = str(error)
            failures += bool(refused)
            if failures > DELETE_TRIES:
                raise OperationError(f"{self.name}: its nodes {', '.join(sorted(own))} could not be deleted: {refused}")
            delay = self._pause(f"{self.name}: its nodes {', '.join(sorted(own))} are being deleted", delay)

    # What these share

    def _get(self, resource: str, name: str) -> Body | None:
        return self.google.found(API, f"{resource}.get", name=name)

    def _left(self) -> float:
        return max(self._deadline - self.google.now(), 0.001)

    def _pause(self, said: str, delay: float) -> float:
        """
        Waits, and answers how long to wait the next time.

        Raises:
            UnfinishedError: With *said*: the time is up.
        """
        if self.google.now() >= self._deadline:
            raise UnfinishedError(f"{said}\n  waited: {self._seconds / 60:.0f} minutes")
        self.google.wait(delay)
        return min(delay * 1.6, self.google.longest_poll_seconds)


def state_of(queued: Mapping[str, Any]) -> str:
    """Google's word for its state; empty where it says none."""
    return str(queued.get("state", {}).get("state", ""))


def error_of(queued: Mapping[str, Any]) -> Body:
    """What it failed with."""
    found: Body = queued.get("state", {}).get("failedData", {}).get("error", {})
    return found


def _shown(node: Body) -> Body:
    ends = node.get("networkEndpoints", [])
    return {
        "name": node["name"],
        "state": node.get("state", ""),
        "health": node.get("health", ""),
        "addresses": [end["ipAddress"] for end in ends if end.get("ipAddress")],
        "externalAddresses": [found for end in ends if (found := end.get("accessConfig", {}).get("externalIp"))],
    }
