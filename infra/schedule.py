"""
When a schedule falls due, as Cloud Scheduler reads one: five fields of unix-cron and a time zone of the IANA database.

Sources, read 2026-11: https://cloud.google.com/scheduler/docs/configuring/cron-job-schedules for the fields; crontab(5) for steps, lists
and ranges, which that page names by example only. At a change of the clock Google says no more than that a job may run or not run
unexpectedly. Here it is as crontab(5) has it: a run at a time that the clock leaps over is due once the clock has leapt; a time that
comes twice is meant once, the first time, unless the schedule is one of every minute or every hour.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from infra.errors import nearest

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, MONTHS),
    ("day of the week", 0, 7, DAYS),
)
"""Name, least, most, and the names that stand for least, least + 1 and so on."""
LONGEST = 500
"""Letters of a schedule. All fields written out are shorter."""
NO_ZONES = ("localtime", "Factory")
"""In the database's folder, but of this machine, and no place's."""
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
DAY = 86_400
"""Seconds. No clock is changed twice within it."""
HOURS_A_MONTH = 730
CYCLE = (dt.date(2001, 1, 1), dt.date(2029, 1, 1))
"""28 years: after them, weekdays and leap years are as they were, from 1901 to 2099."""


class ScheduleError(Exception):
    """What is no schedule, or no time zone."""

    def __init__(self, what: str, got: str, allowed: str) -> None:
        """
        Args:
            what: Which part of it: `cron`, `cron: hour`, `timezone`.
            got: What stands there.
            allowed: What may stand there, in a sentence.
        """
        self.what, self.got, self.allowed = what, got, allowed
        super().__init__(f"{what}: {got!r} is not allowed; {allowed}")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule in a time zone."""

    cron: str
    """Minute, hour, day of the month, month, day of the week, such as `30 2 * * MON-FRI`."""
    timezone: str = "Etc/UTC"
    """Such as `Asia/Taipei`."""

    def __post_init__(self) -> None:
        """
        Raises:
            ScheduleError: One of both is none.
        """
        _check_cron(self.cron)
        _check_zone(self.timezone)

    def next(self, after: float) -> float:
        """The first moment after *after* at which it is due, both in seconds since 1970."""
        zone = ZoneInfo(self.timezone)
        minute, hour = self.cron.split()[:2]
        return (_next_by_wall if minute.startswith("*") or hour.startswith("*") else _next_once)(self.cron, zone, after)

    def runs_between(self, a: float, b: float) -> Iterator[float]:
        """Each moment after *a* and not after *b* at which it is due, in order."""
        moment = a
        while (moment := self.next(moment)) <= b:
            yield moment

    def unsure(self, a: float, b: float) -> Iterator[tuple[dt.datetime, bool]]:
        """
        Times on the wall between *a* and *b*, in seconds since 1970, at which it would be due and that never come (True) or come twice: of
        fixed hours only. What a clock makes of them, each clock says for itself.
        """
        zone, moment = ZoneInfo(self.timezone), a
        if any(field.startswith("*") for field in self.cron.split()[:2]):
            return
        while (change := _change(zone, moment, math.floor(b))) is not None:
            before, after = _wall(zone, change - 1) + dt.timedelta(seconds=1), _wall(zone, change)
            first = next(CronSim(self.cron, min(before, after) - dt.timedelta(seconds=1)))
            if first < max(before, after):
                yield first, after > before
            moment = change

    @property
    def runs_a_month(self) -> Decimal:
        """How often it is due in a month of 730 hours, in the mean of 28 years; changes of the clock are not reckoned."""
        return _runs_a_month(self.cron)


def _next_once(cron: str, zone: ZoneInfo, after: float) -> float:
    """For fixed hours: each time of the fields is one run, on days with a change of the clock as on others."""
    moment = after
    times = CronSim(cron, _wall(zone, after))
    while moment <= after:
        time = next(times)
        while _wall(zone, moment := time.replace(tzinfo=zone).timestamp()) != time:  # the clock leaps over it
            time += dt.timedelta(minutes=1)
    return moment


def _next_by_wall(cron: str, zone: ZoneInfo, after: float) -> float:
    """For each minute or each hour: whenever the clock on the wall shows a time of the fields."""
    moment, wall = after, _wall(zone, after)
    while True:
        due = round(moment + (next(CronSim(cron, wall)) - wall).total_seconds())
        change = _change(zone, after, due)
        if change is None:
            return float(due)
        after = change
        moment, wall = change - 1, _wall(zone, change) - dt.timedelta(seconds=1)  # the second before, by the clock as it is then


def _change(zone: ZoneInfo, after: float, until: int) -> int | None:
    """The first second after *after* and not after *until* at which the clock is changed."""
    low = math.floor(after)
    while low < until:
        high = min(low + DAY, until)
        if _offset(zone, high) != (offset := _offset(zone, low)):
            return low + bisect_left(range(high - low), True, key=lambda seconds: _offset(zone, low + seconds) != offset)
        low = high
    return None


def _wall(zone: ZoneInfo, moment: float) -> dt.datetime:
    """What the clock on the wall shows."""
    return dt.datetime.fromtimestamp(moment, zone).replace(tzinfo=None)


def _offset(zone: ZoneInfo, moment: float) -> dt.timedelta | None:
    return dt.datetime.fromtimestamp(moment, zone).utcoffset()


@lru_cache(maxsize=64)
def _runs_a_month(cron: str) -> Decimal:
    due = CronSim(cron, dt.datetime(2001, 1, 1, tzinfo=dt.UTC))
    first, end = (day.toordinal() for day in CYCLE)
    days = sum(day.month in due.months and due.match_day(day) for day in map(dt.date.fromordinal, range(first, end)))
    return Decimal(days * len(due.hours) * len(due.minutes) * HOURS_A_MONTH) / Decimal((end - first) * 24)


def _check_cron(cron: str) -> None:
    fields = "five fields: minute, hour, day of the month, month, day of the week, such as 30 2 * * MON-FRI"
    words = cron.split(" ")
    if re.match(r"\s*every\b|.*\bof\b", cron, re.IGNORECASE) or ":" in cron:
        raise ScheduleError("cron", cron[:LONGEST], f"the words of App Engine's schedules are not read here; it has {fields}")
    if len(cron) > LONGEST or len([word for word in words if word]) != len(FIELDS):
        raise ScheduleError("cron", cron[:LONGEST], f"it has {fields}")
    for (name, least, most, names), word in zip(FIELDS, (word for word in words if word), strict=True):
        _check_field(name, word, least, most, names)
    try:
        next(CronSim(cron, dt.datetime(2001, 1, 1, tzinfo=dt.UTC)))
    except (CronSimError, StopIteration):
        raise ScheduleError("cron", cron, "a day that there is: no month of these has such a day") from None


def _check_field(name: str, word: str, least: int, most: int, names: tuple[str, ...]) -> None:
    spelt = f"{least} to {most}" + (f", {names[0]} to {names[-1]} in capitals" if names else "")
    allowed = f"{spelt}, a range such as {least}-{most}, * for all, either with a step such as */2, or several of these with commas"
    for term in word.split(","):
        match = re.fullmatch(r"(?:\*|([0-9A-Z]+)-([0-9A-Z]+))(?:/([0-9]{1,2}))?|([0-9A-Z]+)", term, re.ASCII)
        if match is None:
            raise ScheduleError(f"cron: {name}", term, allowed)
        start, end, step, single = match.groups()
        values = [_value(one, least, most, names) for one in (start, end, single) if one is not None]
        if -1 in values or (start and values[0] >= values[1]) or (step and not int(step)):
            raise ScheduleError(f"cron: {name}", term, allowed)


def _value(word: str, least: int, most: int, names: tuple[str, ...]) -> int:
    """What a word of a field stands for; -1 where it is none."""
    if word in names:
        return least + names.index(word)
    value = int(word) if word.isdigit() and len(word) <= 2 else -1
    return value if least <= value <= most else -1


def _check_zone(name: str) -> None:
    try:
        known = bool(ZONE.fullmatch(name)) and name not in NO_ZONES and bool(ZoneInfo(name))
    except (LookupError, ValueError, OSError):
        known = False
    if not known:
        near = nearest(name[:LONGEST], _zones())
        raise ScheduleError("timezone", name[:LONGEST], f"a name of the IANA time zone database, such as {', '.join(near or ['Etc/UTC'])}")


@lru_cache(maxsize=1)
def _zones() -> list[str]:
    return sorted(available_timezones() - {*NO_ZONES})
