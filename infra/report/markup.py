"""HTML from Python: whatever is text is escaped, for names of a stack file may be anything."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

URL = re.compile(r"https?://[^\s;,)\"'<>]+")
VOID = ("link", "meta")


class Html(str):
    """Text that is HTML already. Only `h` and `joined` make it."""

    __slots__ = ()


def plain(text: str) -> str:
    """A text without what steers: control characters, and those that turn the direction of writing, stand as their escapes."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in text)


def escaped(text: str) -> Html:
    return text if isinstance(text, Html) else Html(html.escape(plain(text)))


def joined(parts: Iterable[str]) -> Html:
    return Html("".join(map(escaped, parts)))


def h(name: str, /, *children: str, **attributes: str | None) -> Html:
    """An element. `class_` is the attribute class, `aria_label` is aria-label; one that is None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(plain(value))}"' for key, value in attributes.items() if value is not None
    )
    return Html(f"<{name}{said}>" if name in VOID else f"<{name}{said}>{joined(children)}</{name}>")


def script(text: str, **attributes: str | None) -> Html:
    """A script of our own: its text is no HTML, and stands as it is."""
    return h("script", Html(text), **attributes)


def data(value: Any, **attributes: str | None) -> Html:
    """Data for a script. No letter in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return script(text, type="application/json", **attributes)


def linked(text: str) -> Html:
    """A source: its addresses can be followed, and nothing is asked of them before."""
    parts, end = [], 0
    for match in URL.finditer(text):
        parts += [escaped(text[end : match.start()]), h("a", match[0], href=match[0], rel="noreferrer noopener")]
        end = match.end()
    return joined([*parts, text[end:]])


def cell(content: str, *, number: bool = False, class_: str | None = None) -> Html:
    return h("td", content, class_="number" if number else class_)


def table(caption: str, columns: Sequence[str], bodies: Iterable[Html], *, numbers: Sequence[str] = (), foot: Html | None = None) -> Html:
    """A table that scrolls in its own box, by keyboard too."""
    head = [h("th", column, scope="col", class_="number" if column in numbers else None) for column in columns]
    inner = [h("caption", caption), h("thead", h("tr", *head)), *bodies, *([h("tfoot", foot)] if foot else [])]
    return h("div", h("table", *inner), class_="scroll", tabindex="0", role="region", aria_label=caption)


def row(first: str, *cells: Html, class_: str | None = None) -> Html:
    return h("tr", h("th", first, scope="row"), *cells, class_=class_)


def details(summary: str, *inside: str) -> Html:
    return h("details", h("summary", summary), *inside)
