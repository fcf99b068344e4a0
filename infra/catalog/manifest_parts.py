"""What rules of manifests are made of: forms of names and labels, and small questions about what may be anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from infra.catalog.manifest_words import ManifestFault, Path, place, quoted, short

Faults = Iterator[ManifestFault]
Rule = Callable[[Mapping[str, Any], Path], Faults]
"""Of a definition: what it says against a value of it, and where that is."""
KindRule = Callable[[Mapping[str, Any]], Faults]
"""Of a kind: what it says against an object of it."""

DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
DNS_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII)
DNS_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
LABEL = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?", re.ASCII)
PERCENT = re.compile(r"\d{1,9}%", re.ASCII)

LABEL_WORDS = "up to 63 of a-z, A-Z, 0-9, -, _ and ., with a letter or digit first and last"
NAME_WORDS = "up to 253 of a-z, 0-9, - and ., with a letter or digit first and last, such as shop-1"
DNS_LABEL_WORDS = "up to 63 of a-z, 0-9 and -, with a letter or digit first and last, such as shop-1"
PORT_WORDS = "1 to 65535, or the port's name: up to 15 of a-z, 0-9 and -, with a letter in it"


def name_faults(name: object, path: Path, form: re.Pattern[str] = DNS_NAME, words: str = NAME_WORDS, most: int = 253) -> Faults:
    """A name that is none."""
    if isinstance(name, str) and not (form.fullmatch(name) and len(name) <= most):
        yield ManifestFault(place(path), "is empty" if not name else f"is {quoted(name)}, which is no name", words)


def key_faults(key: str, path: Path, what: str) -> Faults:
    """A key of a label, an annotation or a taint that is none."""
    prefix, slash, name = key.rpartition("/")
    if not (name and LABEL.fullmatch(name)) or (slash and not (DNS_NAME.fullmatch(prefix) and len(prefix) <= 253)):
        yield ManifestFault(place(path), f"is no key of {what}", f"a name or example.com/name; the name is {LABEL_WORDS}")


def labels_faults(labels: object, path: Path) -> Faults:
    """Keys and values of labels."""
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        yield from key_faults(key, (*path, key), "a label")
        if isinstance(value, str) and not LABEL.fullmatch(value):
            yield ManifestFault(place((*path, key)), f"is {quoted(value)}, which is no value of a label", LABEL_WORDS)


def port_faults(port: object, path: Path) -> Faults:
    """A port by its number or its name that is none."""
    wrong = is_int(port) and not 1 <= port <= 65535
    if wrong or (isinstance(port, str) and not (PORT_NAME.fullmatch(port) and len(port) <= 15)):
        yield ManifestFault(place(path), f"is {quoted(port)}, no port", PORT_WORDS)


def share_faults(one: Mapping[str, Any], path: Path, *keys: str) -> Faults:
    """Numbers that may be parts of a hundred."""
    for key in keys:
        value = one.get(key)
        wrong_text = isinstance(value, str) and not PERCENT.fullmatch(value)
        if wrong_text or (is_int(value) and value < 0):
            yield ManifestFault(place((*path, key)), f"is {quoted(value)}", "a whole number, or a percentage such as 25%")


def doubled(value: Any, keys: Sequence[str], path: Path) -> Faults:
    """Entries of a list that is kept by these keys: two with the same are refused, by the server or by server-side apply."""
    seen: dict[tuple[str, ...], int] = {}
    for index, one in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(one, Mapping):
            continue
        own = tuple(short(one.get(key, "TCP" if key == "protocol" else "")) for key in keys)
        if own in seen:
            which = ", ".join(f"{key} {text}" for key, text in zip(keys, own, strict=True) if text)
            yield ManifestFault(place((*path, index)), f"has the {which} of entry {seen[own]} too", "each once")
        else:
            seen[own] = index


def one_of(one: Mapping[str, Any], path: Path, keys: Sequence[str]) -> Faults:
    """Fields of which exactly one is said."""
    said = [key for key in keys if one.get(key) is not None]
    if len(said) != 1:
        yield ManifestFault(place(path), f"says {' and '.join(said)}" if said else "says nothing to do", f"one of {', '.join(keys)}")


def apart(one: Mapping[str, Any], path: Path, keys: tuple[str, ...]) -> Faults:
    """Fields of which one at most may be said."""
    said = [key for key in keys if one.get(key) is not None]
    if len(said) > 1:
        yield ManifestFault(place((*path, said[1])), f"does not go with {said[0]}", "one of both")


def at_least(one: Mapping[str, Any], path: Path, **bounds: int) -> Faults:
    """Whole numbers below what they may be."""
    for key, least in bounds.items():
        value = one.get(key)
        if is_int(value) and value < least:
            yield ManifestFault(place((*path, key)), f"is {short(value)}, too small", f"{least} or more")


def is_int(value: object) -> TypeGuard[int]:
    """A whole number; truth values are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def whole(value: object, otherwise: int) -> int:
    """The number that is said, else another."""
    return value if is_int(value) else otherwise


def as_map(value: object) -> Mapping[str, Any]:
    """A map, and an empty one where something else is, which the schema refuses."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """A list, and an empty one where something else is."""
    return value if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Entries of a list that are texts."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def entries(value: object) -> list[tuple[int, Mapping[str, Any]]]:
    """Entries of a list that are maps, with their number; what else is there the schema refuses."""
    return [(index, one) for index, one in enumerate(value) if isinstance(one, Mapping)] if isinstance(value, list) else []
