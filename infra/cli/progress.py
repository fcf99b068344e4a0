"""Progress of long work: a bar for people, a line a resource for logs. It goes to standard error: the result is on standard output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.local.engine.events import Step


class Progress:
    """What `infra.local.up` tells a person."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, quiet=quiet)

    def say(self, text: str) -> None:
        """One line that stays."""
        from rich.text import Text

        self._console.print(Text(text), soft_wrap=True)

    @contextmanager
    def status(self, text: str) -> Iterator[Callable[[str], None]]:
        """A line that changes, below those that stay; logs see nothing of it."""
        from rich.status import Status
        from rich.text import Text

        with Status(Text(text), console=self._console) as status:
            yield lambda text: status.update(Text(text))

    @contextmanager
    def steps(self, title: str, *, lines: bool) -> Iterator[Callable[[Step], None]]:
        """A bar that names what is being made; its last line stays. With *lines*, logs get a line for each change too."""
        from rich.status import Status
        from rich.text import Text

        started = time.monotonic()
        running: dict[str, None] = {}
        done = 0

        def shown() -> Text:
            names = ", ".join(list(running)[:3]) + (f" and {len(running) - 3} more" if len(running) > 3 else "")
            return Text(f"{title}: {done} done, {time.monotonic() - started:.0f} s  {names}")

        def step(one: Step) -> None:
            nonlocal done
            key = f"{one.op} {one.name}"
            if one.done:
                running.pop(key, None)
                done += 1
            else:
                running[key] = None
            if one.failed or (lines and one.done and one.changes and not self._console.is_terminal):
                self.say(f"{title}: {'failed to ' if one.failed else ''}{one.op} {one.type} {one.name}")
            status.update(shown())

        with Status(shown(), console=self._console) as status:
            yield step
        self.say(f"{title}: {time.monotonic() - started:.1f} s")
