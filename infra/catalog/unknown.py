"""Names that the catalogue does not know, and what may be meant by them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class UnknownWord(ValueError):  # noqa: N818 - reads as the finding it is
    """A name that is none of one kind of things."""

    kind: ClassVar[str]
    """What it is not: `a GPU of Google Cloud`."""

    def __init__(self, got: str, right: str, close: tuple[str, ...]) -> None:
        self.got = got
        self.right = right
        """The one that is meant; empty where none or several may be."""
        self.nearest = close
        """What may be meant, best first."""
        meant = right or ", ".join(close)
        super().__init__(f"{got} is not {self.kind}" + (f"; meant: {meant}" if meant else ""))


class NoMatch(ValueError):  # noqa: N818 - reads as the finding it is
    """A name that stands for no one thing, with the reason."""

    def __init__(self, got: str, message: str, close: Iterable[str]) -> None:
        self.got = got
        self.message = message
        self.nearest = tuple(close)
        """What may be meant, best first."""
        super().__init__(f"{got} {message}; nearest names: {', '.join(self.nearest) or 'none'}")
