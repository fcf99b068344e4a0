"""Progress of long work: a bar for people, a line a resource for logs. It goes to standard error: the result is on standard output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infra.local.engine.events import Step

LONG_SECONDS = 60


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
    def steps(self, title: str, *, lines: bool, ahead: Sequence[Step] = (), cloud: bool = False) -> Iterator[Callable[[Step], None]]:
        """A line that says what runs and how long that usually takes; its last one stays. With *lines*, logs get a line a change too."""
        from rich.status import Status
        from rich.text import Text

        from infra.cli.under_way import UnderWay, lasted

        started = time.monotonic()
        under_way = UnderWay(title, ahead, cloud=cloud)

        class Now:
            """Asked at each refresh: seconds pass between events, too."""

            def __rich__(self) -> Text:
                return Text(under_way.line(), overflow="ellipsis", no_wrap=True)

        def step(one: Step) -> None:
            under_way.take(one)
            if (one.failed or (lines and not self._console.is_terminal)) and (line := under_way.log(one)):
                self.say(line)

        if begins := under_way.begins():
            self.say(begins)
        with Status(Now(), console=self._console):
            yield step
        seconds = time.monotonic() - started
        self.say(f"{title}: {lasted(seconds) if seconds >= LONG_SECONDS else f'{seconds:.1f} s'}")
