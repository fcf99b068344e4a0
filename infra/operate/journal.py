"""
How far a rollout or a job's run is: one object in the stack's bucket, written before each thing that is done. Whoever writes it owns
what it tells of.
"""

from __future__ import annotations

import os
import secrets
import socket
from typing import Any

from infra.provider.calls import FIRST_BACKOFF_SECONDS, UnclearError
from infra.provider.google import Google
from infra.provider.holds import moment
from infra.provider.json_object import ChangedError, JsonObject
from infra.provider.server import ProviderError

ENDED = ("done", "returned", "stopped")
"""Phases after which nothing is left to do."""
EVENTS_KEPT = 200
VERSION = 1
ATTEMPTS = 4


class TakenOverError(ProviderError):
    """Another run works on the same now."""


class Journal:
    """
    The journal of one endpoint's last rollout, or of a job's last run.

    Args:
        google: Google's APIs.
        address: `gs://BUCKET/NAME`.
        ended: Phases after which nothing is left to do.
        what: What it tells of, for people.
    """

    def __init__(self, google: Google, address: str, ended: tuple[str, ...] = ENDED, what: str = "rollout") -> None:
        self._google = google
        self._ended = ended
        self._what = what
        self._object = JsonObject(google, address)
        self._run = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        self.address = address
        self.generation, self.data = self._object.read()
        if self.data and self.data.get("version") != VERSION:
            raise ProviderError(
                f"{address}: was written by another version of accelform\n  fix: end that {what} with it, or remove the object"
            )

    @property
    def phase(self) -> str:
        """Empty where there was none."""
        return str(self.data.get("phase", ""))

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return bool(self.data) and self.phase not in self._ended

    def begin(self, data: dict[str, Any]) -> None:
        """
        A new one.

        Raises:
            TakenOverError: Somebody else began one meanwhile.
        """
        self._write({"version": VERSION, "events": [], **data})

    def to(self, phase: str, at: float, text: str, **more: Any) -> None:
        """
        The next phase, with what happened.

        Raises:
            TakenOverError: Another run works on it.
        """
        events = [*self.data["events"], {"at": moment(at), "phase": phase, "text": text}][-EVENTS_KEPT:]
        self._write({**self.data, "phase": phase, **more, "events": events})

    def note(self, **more: Any) -> None:
        """
        More of the same phase.

        Raises:
            TakenOverError: Another run works on it.
        """
        self._write({**self.data, **more})

    def look(self) -> None:
        """
        Raises:
            TakenOverError: Another run works on it.
        """
        generation, data = self._object.read()
        if generation != self.generation:
            raise self._taken_over(data)

    def _write(self, data: dict[str, Any]) -> None:
        """What could not be written is not in `data`: a lease that is not in the bucket is none."""
        content = data | {"run": self._run, "write": secrets.token_hex(8)}
        backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.generation = self._object.write(content, self.generation)
                self.data = content
                return
            except (ChangedError, UnclearError) as error:
                generation, there = self._object.read()
                if there.get("write") == content["write"]:  # it was this one, and its answer was lost
                    self.generation, self.data = generation, there
                    return
                if generation != self.generation:
                    raise self._taken_over(there) from None
                if attempt == ATTEMPTS:
                    raise error from None
            self._google.wait(backoff)
            backoff *= 2

    def _taken_over(self, data: dict[str, Any]) -> TakenOverError:
        who = data.get("run", "somebody")
        now = f"{who}, {data.get('phase', 'unknown')}"
        return TakenOverError(f"another run works on this {self._what} now: {now}\n  this one does nothing more")
