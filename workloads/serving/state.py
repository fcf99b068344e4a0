"""Where a server is between its start and its end, as one object that its threads share."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.serving.engine import Engine


@dataclass(slots=True)
class State:
    """Loading until there is an engine; then ready; draining from the first SIGTERM on."""

    engine: Engine | None = None
    draining: bool = False
    failure: str = ""
    """Why the model could not be loaded."""
    exit_code: int = 0
    """What the process ends with."""

    def failed(self, why: str, exit_code: int) -> None:
        """Remembers why this server will never be ready."""
        self.failure, self.exit_code = why, exit_code

    @property
    def ready(self) -> bool:
        """Whether requests should be sent here."""
        return self.engine is not None and not self.draining

    @property
    def word(self) -> str:
        """The same in one word."""
        return "draining" if self.draining else "loading" if self.engine is None else "ready"
