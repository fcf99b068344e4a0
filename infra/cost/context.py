"""What a line may know besides its own resource: the region, what else is declared, and what is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from infra.catalog.prices import Item
from infra.cost.line import ALWAYS, LineItem, Triple, columns, joined, listed, scaled
from infra.cost.usage import DEFAULTS, HOURS, PER_RESOURCE, Range, ResourceUsage, Usage
from infra.declared import UNKNOWN, Declared
from infra.errors import Problem, nearest


@dataclass(frozen=True, slots=True)
class Assumption:
    """A quantity of `usage` that a line was computed with."""

    name: str
    value: Range
    is_default: bool


@dataclass(frozen=True, slots=True)
class Machines:
    """Machines of one resource: how many at least and at most, and their hours a month together."""

    least: Decimal
    most: Decimal
    hours: Triple


class Context:
    """One estimate in the making. It keeps which assumptions were used, and which of the user's cannot be."""

    def __init__(self, resources: Sequence[Declared], usage: Usage, region: str, *, autopilot: bool = False) -> None:
        """
        Args:
            autopilot: Whether what lives in a cluster lives in one that bills pods.
        """
        self.resources = resources
        self.region = region
        self.autopilot = autopilot
        self._usage = usage
        self._assumptions: dict[str, Assumption] = {}
        self._asked: dict[str, dict[str, None]] = {}
        self._outside: dict[tuple[str, str], Problem] = {}
        self.machines: list[Machines | None] = []
        """What stands behind a NAT gateway; None for what is not known."""
        self._free_left: dict[str, Triple] = {}
        self._seen: dict[str, int] = {}
        self._instead: dict[tuple[str, str], str] = {}
        self._referred: dict[tuple[int, str, tuple[str, ...]], tuple[Declared, Declared | None]] = {}
        """What was found, with who asked: kept, so that no other gets its id."""

    def assume(self, name: str) -> Range:
        """What the whole stack uses of something."""
        value = self.usage_of(name)
        self._assumptions[name] = Assumption(name, value, name not in self._usage.model_fields_set)
        return value

    def usage_of(self, name: str) -> Range:
        """What is assumed, without saying so: to ask whether there is any."""
        value: Range = getattr(self._usage, name)
        return value

    def given(self, name: str, field: str) -> Range | None:
        """What the stack file says of one thing, by its logical name; None where it says nothing."""
        self._asked.setdefault(name, {})[field] = None
        said: Range | None = getattr(self._usage.resources.get(name, ResourceUsage()), field)
        if said is not None:
            self._assumptions[f"resources.{name}.{field}"] = Assumption(f"resources.{name}.{field}", said, False)
        return said

    def between(self, name: str, field: str, least: Decimal, most: Decimal) -> Triple:
        """
        How many of something that stands between two bounds: low and high are the bounds, expected is what the stack file says.
        It says one number, or a range of its own. Where it says nothing, the lower bound is expected, and the assumption is shown.
        """
        said = self.given(name, field)
        if said is None:
            self.default(name, field, Range(least, least, most))
            return (least, least, most)
        if said.low < least or said.high > most:
            path = f"usage.resources.{name}.{field}"
            bounds = f"{least:f} to {most:f}, as declared"
            self._outside[name, field] = Problem(path, f"{said} is outside of what is declared", bounds, "change it, or the declaration")
        used = Range(min(least, said.low), said.expected, max(most, said.high)) if said.low == said.high else said
        self._assumptions[f"resources.{name}.{field}"] = Assumption(f"resources.{name}.{field}", used, False)
        return columns(used)

    def outside(self, name: str, field: str, message: str, allowed: str) -> None:
        """Refuses an assumption that the declaration does not allow."""
        path = f"usage.resources.{name}.{field}"
        self._outside[name, field] = Problem(path, message, allowed, "change it, or the declaration")

    def per_resource(self, name: str, field: str) -> Range:
        """What the stack file says of one thing, else the default of a small shop."""
        said = self.given(name, field)
        if said is None:
            said = DEFAULTS[field]
            self.default(name, field, said)
        return said

    def metered(self, resource: str, what: str, item: Item, region: str, amount: Triple, note: str = "") -> LineItem:
        """An item by amount, less what its price says is free: for a whole account or project, and so once for the whole stack."""
        line = listed(resource, what, item, region, amount, note)
        if line.price is None or not line.price.free:
            return line
        left = self._free_left.get(item, scaled(ALWAYS, line.price.free))
        taken = _three(min(one, most) for one, most in zip(amount, left, strict=True))
        quantity, self._free_left[item] = less(amount, taken), less(left, taken)
        said = f"first {line.price.free.normalize():f} a month free"
        return replace(line, quantity=quantity, note=joined(note, said))

    def ordinal(self, of: str) -> int:
        """How many of something came before this one."""
        self._seen[of] = self._seen.get(of, 0) + 1
        return self._seen[of] - 1

    def instead(self, name: str, field: str, other: str) -> None:
        """Remembers which assumption of the whole stack says what somebody may look for under a resource."""
        self._instead[name, field] = other

    def default(self, name: str, field: str, value: Range) -> None:
        """Says an assumption that nobody made in the stack file."""
        self._assumptions[f"resources.{name}.{field}"] = Assumption(f"resources.{name}.{field}", value, True)

    def hours(self, name: str, once: Decimal | None) -> tuple[Triple, str]:
        """
        Hours a month that one machine stands, and what is to be said of them.

        Args:
            once: Hours after which it is deleted; None where nothing ends it.
        """
        said = self.given(name, "hours_month")
        if said is not None:
            return columns(said), "hours as the stack file assumes"
        if once is None:
            return (HOURS, HOURS, HOURS), ""
        once = min(HOURS, once)
        return (once, once, HOURS), f"runs {once.quantize(Decimal('0.01')):f} h once; high: brought up again and again"

    def stand(self, count: Triple, hours: Triple) -> None:
        """Remembers machines, which a NAT gateway is billed by."""
        low, expected, high = (many * long for many, long in zip(count, hours, strict=True))
        self.machines.append(Machines(count[0], count[2], (low, expected, high)))

    def referred(self, resource: Declared, key: str, types: Sequence[str]) -> Declared | None:
        """
        The declared resource that an input names: by its name or the end of its path where that is known, else by what the program
        said that it depends on. None where that is nothing, or more than one.
        """
        asked = (id(resource), key, tuple(types))
        if asked not in self._referred:  # each group asks all autoscalers: without a memory that is cubic
            self._referred[asked] = (resource, self._look_up(resource, key, types))
        return self._referred[asked][1]

    def _look_up(self, resource: Declared, key: str, types: Sequence[str]) -> Declared | None:
        value = resource.get(key)
        able = [one for one in self.resources if one.type in types]
        if isinstance(value, str):
            last = value.rpartition("/")[2]
            found = [one for one in able if one.get("name") == last or (one.get("name") in (None, UNKNOWN) and one.name == last)]
        else:
            found = [one for one in able if one.urn and one.urn in resource.dependencies]
        return found[0] if len(found) == 1 else None

    @property
    def assumptions(self) -> list[Assumption]:
        return list(self._assumptions.values())

    @property
    def problems(self) -> list[Problem]:
        """What of `usage.resources` is of no use, each with its place."""
        return [*self._useless(), *self._outside.values()]

    def _useless(self) -> Iterable[Problem]:
        names = dict.fromkeys([*(one.name for one in self.resources), *self._asked])
        for name, said in self._usage.resources.items():
            path = f"usage.resources.{name}"
            if name not in names:
                useful = [one for one in names if one in self._asked]
                close = ", ".join(nearest(name, useful) or useful) or "none: no resource of this stack needs one"
                meant = [one.name for one in self.resources if one.get("name") == name and one.name in useful]
                fix = f"write {meant[0]}: {name} is its name in Google Cloud" if meant else ""
                yield Problem(path, "no declared resource has this name", close, fix)
                continue
            asked = self._asked.get(name, {})
            for field in PER_RESOURCE:
                if field in said.model_fields_set and getattr(said, field) is not None and field not in asked:
                    allowed = ", ".join(asked) or "none: what it costs needs no assumption, or is assumed for the whole stack"
                    other = self._instead.get((name, field))
                    fix = f"remove it, and say usage.{other}" if other else "remove it"
                    yield Problem(f"{path}.{field}", f"does nothing for {name}", allowed, fix)


def less(one: Triple, other: Triple) -> Triple:
    return _three(a - b for a, b in zip(one, other, strict=True))


def _three(values: Iterable[Decimal]) -> Triple:
    low, expected, high = values
    return (low, expected, high)


def whole(value: object) -> bool:
    """Whether an input is a whole number from 0: neither unknown, secret, text nor a truth value."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def parts(value: object) -> list[Any] | None:
    """The items of a list of objects, none where it is absent; None where one of them, or the list, is not known yet."""
    if value is None:
        return []
    known = isinstance(value, list | tuple) and all(isinstance(one, dict) for one in value)
    return [*value] if known and isinstance(value, list | tuple) else None


def bounds(least: object, most: object) -> tuple[Decimal, Decimal] | None:
    """Two declared bounds; None where one is not known, or they are upside down. What is not said at least is 0."""
    least = 0 if least is None else least
    if not (whole(least) and whole(most)):
        return None
    found = (Decimal(str(least)), Decimal(str(most)))
    return found if found[0] <= found[1] else None


def elsewhere(resource: Declared, region: str, key: str = "location") -> str:
    """Why a resource is not priced in the stack's region; empty where it stands there."""
    location = resource.get(key)
    return "" if isinstance(location, str) and location.lower() == region else f"no price of {key} {location}"


def short(resource: Declared) -> str:
    """The last word of its type, such as `Bucket`."""
    return resource.type.rpartition(":")[2]
