"""
Who owns a value for now: a controller that changes traffic, replicas or an alias writes a hold first, and programs leave the held fields.

Holds of a stack are one object, at `names.holds`. A hold always ends by itself: a killed controller keeps nothing for ever.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.provider.google import Google
from infra.provider.json_object import Data, JsonObject
from infra.provider.server import ProviderError

FIELDS = ("traffic", "model", "replicas")
"""What can be held. `model` is which version an alias means."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Some fields of one resource, which a controller decides until a moment."""

    resource: str
    """Full name in the cloud: `projects/P/locations/R/endpoints/E`."""
    fields: tuple[str, ...]
    """Some of `FIELDS`."""
    who: str
    """The controller, such as `rollout`: it has one hold on a resource."""
    why: str
    """For people, in a few words."""
    until: float
    """Seconds since 1970: it does not count from then on."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the controller set last, for people; nobody acts on it."""

    def counts(self, now: float) -> bool:
        return now < self.until

    def line(self) -> str:
        """What a person reads where it keeps something."""
        return f"{', '.join(self.fields)} of {short(self.resource)} held by {self.who} until {moment(self.until)}: {self.why}"

    def shown(self) -> Data:
        """As it is kept, and printed for machines."""
        return {
            "resource": self.resource,
            "fields": list(self.fields),
            "who": self.who,
            "why": self.why,
            "until": moment(self.until),
            "values": dict(self.values),
        }

    @classmethod
    def read(cls, kept: Any, where: str) -> Hold:
        """
        Raises:
            ProviderError: It is no hold: somebody wrote the object by hand.
        """
        try:
            if not isinstance(kept["fields"], list) or set(kept["fields"]) - set(FIELDS):
                raise ValueError(f"fields is not a list of {', '.join(FIELDS)}")
            return cls(
                resource=str(kept["resource"]),
                fields=tuple(kept["fields"]),
                who=str(kept["who"]),
                why=str(kept.get("why", "")),
                until=seconds(kept["until"]),
                values=dict(kept.get("values") or {}),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            fix = "mend it, or remove the object: then nothing is held"
            raise ProviderError(f"{where}: this is no hold: {kept!r} ({type(error).__name__}: {error})\n  fix: {fix}") from None


class Holds:
    """
    The holds of one stack.

    Args:
        google: Google's APIs.
        address: `gs://BUCKET/NAME`.
    """

    def __init__(self, google: Google, address: str) -> None:
        self.address = address
        self._object = JsonObject(google, address)

    def every(self) -> list[Hold]:
        """All that are kept, ended ones too."""
        return _read(self._object.read()[1], self.address)

    def on(self, resource: str, now: float) -> list[Hold]:
        """Those that count now, on one resource."""
        return [hold for hold in self.every() if hold.counts(now) and _same(hold.resource, resource)]

    def put(self, hold: Hold, now: float) -> None:
        """
        Writes a hold in the place of the controller's last one on that resource. Ended ones are swept.

        Raises:
            ProviderError: Another controller holds one of the fields.
        """

        def changed(kept: Data) -> Data:
            others = []
            for other in _read(kept, self.address):
                if not other.counts(now) or (other.who == hold.who and _same(other.resource, hold.resource)):
                    continue
                if _same(other.resource, hold.resource) and set(other.fields) & set(hold.fields):
                    raise ProviderError(f"{other.line()}\n  fix: wait until it ends, or `accelform up --release`")
                others.append(other)
            return _kept([*others, hold])

        self._object.change(changed)

    def release(self, resource: str = "", who: str = "") -> list[Hold]:
        """Ends holds: of a resource, of a controller, or all; and says which counted as kept."""
        ended: list[Hold] = []

        def changed(kept: Data) -> Data | None:
            every = _read(kept, self.address)
            gone = [one for one in every if (not resource or _same(one.resource, resource)) and who in ("", one.who)]
            ended.extend(one for one in gone if one not in ended)
            return _kept(one for one in every if one not in gone) if gone else None

        self._object.change(changed)
        return ended


def moment(seconds: float) -> str:
    """`2026-12-01T08:00:00Z`."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(moment: str) -> float:
    """The way back: seconds since 1970."""
    return dt.datetime.fromisoformat(moment).timestamp()


def short(resource: str) -> str:
    """`endpoints/E` of a full name."""
    return "/".join(resource.split("/")[-2:])


def _same(one: str, other: str) -> bool:
    """Whether both names are of one resource: of the project some say the id and some the number, and a stack has one project."""
    return one.split("/")[2:] == other.split("/")[2:]


def _read(kept: Data, where: str) -> list[Hold]:
    found = kept.get("holds", [])
    if not isinstance(found, list):
        raise ProviderError(f"{where}: `holds` is not a list\n  fix: mend it, or remove the object: then nothing is held")
    return [Hold.read(one, where) for one in found]


def _kept(holds: Iterable[Hold]) -> Data:
    return {"holds": [hold.shown() for hold in holds]}
