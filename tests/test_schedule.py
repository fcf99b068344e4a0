"""When a schedule falls due: fields, time zones, changes of the clock, and what is refused."""

import datetime as dt
from decimal import Decimal
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from infra.schedule import DAYS, MONTHS, Schedule, ScheduleError

ZONES = ["Etc/UTC", "Asia/Taipei", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu"]


def at(text, zone="Etc/UTC"):
    return dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def local(schedule, moment):
    return dt.datetime.fromtimestamp(moment, ZoneInfo(schedule.timezone))


@st.composite
def field(draw, least, most, names=()):
    """A field, and the values that it stands for."""

    def spelt(value):
        return names[value - least] if names and value - least < len(names) and draw(st.booleans()) else str(value)

    terms, values = [], set()
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["star", "value", "range", "step"]))
        a, b = sorted((draw(st.integers(least, most)), draw(st.integers(least, most))))
        step = draw(st.integers(1, 5)) if kind == "step" else 1
        if kind == "star":
            terms.append("*")
            a, b = least, most
        elif kind == "value":
            terms.append(spelt(a))
            b = a
        else:
            a, b = (a, b) if a < b else (least, most)
            terms.append(f"{spelt(a)}-{spelt(b)}" + (f"/{step}" if kind == "step" else ""))
        values |= set(range(a, b + 1, step))
    return ",".join(terms), values


@st.composite
def schedules(draw):
    minute, hour, month = draw(field(0, 59)), draw(field(0, 23)), draw(field(1, 12, MONTHS))
    day, weekday = draw(field(1, 31)), draw(field(0, 7, DAYS))
    cron = " ".join(one[0] for one in (minute, hour, day, month, weekday))
    zone = draw(st.sampled_from(ZONES))
    try:
        schedule = Schedule(cron, zone)
    except ScheduleError:  # the 31st of a month of 30 days
        reject()
    return schedule, [one[1] for one in (minute, hour, day, month, weekday)]


MOMENTS = st.floats(at("2020-01-01"), at("2040-01-01"))


@settings(max_examples=40)
@given(schedules(), MOMENTS)
def test_the_next_run_is_later_and_as_the_fields_say(made, after):
    """Each run is after the one before, on a whole minute, and its local time is one of the schedule's, or the end of a leap."""
    schedule, (minutes, hours, days, months, weekdays) = made
    day_field, weekday_field = schedule.cron.split()[2], schedule.cron.split()[4]
    for _ in range(3):
        moment = schedule.next(after)
        assert moment > after
        assert moment % 60 == 0
        now, before = local(schedule, moment), local(schedule, moment - 60)
        leapt = now.utcoffset() != before.utcoffset()
        assert leapt or (now.minute in minutes and now.hour in hours)
        by_day, by_weekday = now.day in days, bool({now.isoweekday(), now.isoweekday() % 7} & weekdays)
        either = not (day_field.startswith("*") or weekday_field.startswith("*"))
        assert now.month in months
        assert (by_day or by_weekday) if either else (by_day and by_weekday)
        after = moment


@settings(max_examples=40)
@given(schedules(), MOMENTS)
def test_nothing_between_is_missed(made, after):
    """From every moment before the next run, it is the next run."""
    schedule, _ = made
    moment = schedule.next(after)
    for part in (0.25, 0.5, 0.999):
        between = after + (moment - after) * part
        assert between >= moment or schedule.next(between) == moment


@settings(max_examples=40)
@given(st.text(max_size=30))
@example("")
@example("٣ * * * *")
@example("* * * * *\n")
@example("\ud800 * * * *")
def test_any_text_is_a_schedule_or_refused_in_words(text):
    """No text makes another error."""
    for cron, zone in ((text, "Etc/UTC"), ("0 2 * * *", text), (f"{text} * * * *", "Etc/UTC")):
        try:
            schedule = Schedule(cron, zone)
        except ScheduleError as refused:
            said = str(refused)
        else:
            said = ""
            assert schedule.next(0.0) > 0
        assert not said or said.startswith(("cron", "timezone"))


@pytest.mark.parametrize(
    ("cron", "what", "got"),
    [
        ("every 24 hours", "cron", "every 24 hours"),
        ("every day 02:00", "cron", "every day 02:00"),
        ("1st,third monday of month 09:00", "cron", "1st,third monday of month 09:00"),
        ("@daily", "cron", "@daily"),
        ("0 0 2 * * *", "cron", "0 0 2 * * *"),
        ("0 2 * *", "cron", "0 2 * *"),
        ("0\t2 * * *", "cron", "0\t2 * * *"),
        ("60 * * * *", "cron: minute", "60"),
        ("0 24 * * *", "cron: hour", "24"),
        ("0 -1 * * *", "cron: hour", "-1"),
        ("0 2 0 * *", "cron: day of the month", "0"),
        ("0 2 L * *", "cron: day of the month", "L"),
        ("0 2 * 13 *", "cron: month", "13"),
        ("0 2 * jan *", "cron: month", "jan"),
        ("0 2 * * 8", "cron: day of the week", "8"),
        ("0 2 * * 5L", "cron: day of the week", "5L"),
        ("0 2 * * MON#1", "cron: day of the week", "MON#1"),
        ("0 2 * * FRI-MON", "cron: day of the week", "FRI-MON"),
        ("5/15 * * * *", "cron: minute", "5/15"),
        ("5-5 * * * *", "cron: minute", "5-5"),
        ("*/0 * * * *", "cron: minute", "*/0"),
        ("1,,2 * * * *", "cron: minute", ""),
        ("0 0 30 2 *", "cron", "0 0 30 2 *"),
        ("0 0 31 4,6 *", "cron", "0 0 31 4,6 *"),
        ("9" * 5000, "cron", "9" * 500),
    ],
)
def test_what_is_no_schedule(cron, what, got):
    """The part that is wrong is named, with what may stand there."""
    with pytest.raises(ScheduleError) as error:
        Schedule(cron)
    assert (error.value.what, error.value.got) == (what, got)


@pytest.mark.parametrize(
    "zone", ["", "asia/taipei", "Asia/Taipeh", "America", "localtime", "Factory", "../etc/passwd", "/etc/localtime", "UTC\0", "+08:00"]
)
def test_what_is_no_time_zone(zone):
    """Folders and files of this machine are none either."""
    with pytest.raises(ScheduleError) as error:
        Schedule("0 2 * * *", zone)
    assert error.value.what == "timezone"
    assert "IANA" in error.value.allowed


def test_the_nearest_time_zones_are_named():
    with pytest.raises(ScheduleError, match="Asia/Taipei"):
        Schedule("0 2 * * *", "Asia/Taipeh")


def test_it_is_due_by_the_clock_of_its_place():
    """02:00 in Taipei is 18:00 of the day before in UTC."""
    assert Schedule("0 2 * * *", "Asia/Taipei").next(at("2026-12-01T00:00")) == at("2026-12-01T18:00")


def test_a_week_has_seven_nights():
    schedule = Schedule("0 2 * * *", "Asia/Taipei")
    start = at("2026-12-01T02:00", "Asia/Taipei")
    runs = list(schedule.runs_between(start, start + 7 * 86400))
    assert runs == [start + day * 86400 for day in range(1, 8)]
    assert list(schedule.runs_between(start, start + 86399)) == []


def test_a_time_that_is_leapt_over_is_due_after_the_leap():
    """2027-03-28 in Berlin has no 02:30, and no run is lost: it is at 03:00; the next day it is at 02:30 again."""
    schedule = Schedule("30 2 * * *", "Europe/Berlin")
    first, second = islice(schedule.runs_between(at("2027-03-27T12:00"), at("2027-04-01")), 2)
    assert local(schedule, first).isoformat() == "2027-03-28T03:00:00+02:00"
    assert local(schedule, second).isoformat() == "2027-03-29T02:30:00+02:00"


def test_two_times_in_one_leap_are_one_run():
    schedule = Schedule("10,50 2 * * *", "Europe/Berlin")
    runs = [local(schedule, run).isoformat() for run in schedule.runs_between(at("2027-03-28T00:00"), at("2027-03-29T00:50"))]
    assert runs == ["2027-03-28T03:00:00+02:00", "2027-03-29T02:10:00+02:00", "2027-03-29T02:50:00+02:00"]


def test_a_time_that_comes_twice_is_meant_once():
    """2026-10-25 in Berlin has 02:30 twice: the first counts, also when it is asked between the two."""
    schedule = Schedule("30 2 * * *", "Europe/Berlin")
    first = schedule.next(at("2026-10-24T12:00"))
    assert local(schedule, first).isoformat() == "2026-10-25T02:30:00+02:00"
    assert local(schedule, schedule.next(first + 1800)).isoformat() == "2026-10-26T02:30:00+01:00"


def test_every_hour_is_every_hour_also_when_the_clock_is_changed():
    """Such a schedule has its 25 and its 23 runs."""
    schedule = Schedule("0 * * * *", "Europe/Berlin")
    for day, hours in (("2026-10-25", 25), ("2027-03-28", 23)):
        start, end = at(day, "Europe/Berlin"), at(day, "Europe/Berlin") + hours * 3600
        assert [*schedule.runs_between(start, end)] == [start + hour * 3600 for hour in range(1, hours + 1)]


def test_a_day_and_a_weekday_mean_either():
    """The first of the month, and every Saturday: as the page on the format says."""
    schedule = Schedule("0 0 1 * SAT")
    days = [local(schedule, run).day for run in schedule.runs_between(at("2026-12-01T00:01"), at("2027-01-02"))]
    assert days == [5, 12, 19, 26, 1, 2]


@pytest.mark.parametrize(
    ("cron", "month"),
    [
        ("0 2 * * *", Decimal(730) / 24),
        ("*/15 * * * *", Decimal(2920)),
        ("* * * * *", Decimal(43800)),
        ("0 2 * * MON-FRI", Decimal(730) / 24 * 5 / 7),
        ("0 2 1 * *", Decimal(12 * 28 * 730) / (10227 * 24)),
        ("0 2 29 2 *", Decimal(7 * 730) / (10227 * 24)),
    ],
)
def test_mean_runs_a_month(cron, month):
    """Of 730 hours, a twelfth of 365 days, as all of costs are."""
    assert abs(Schedule(cron).runs_a_month - month) < Decimal("1e-20")


@pytest.mark.parametrize(
    ("cron", "zone", "times"),
    [
        ("30 2 * * *", "Europe/Berlin", [("2027-03-28 02:30", True), ("2027-10-31 02:30", False)]),
        ("15 2 * * *", "Australia/Lord_Howe", [("2027-10-03 02:15", True)]),
        ("45 1 * * *", "Australia/Lord_Howe", [("2027-04-04 01:45", False)]),
        ("59 1 * * *", "Europe/Berlin", []),
        ("0 3 * * *", "Europe/Berlin", []),
        ("0 0 31 10 *", "Europe/Berlin", []),
        ("0 * * * *", "Europe/Berlin", []),
    ],
)
def test_times_that_never_come_or_come_twice_are_known(cron, zone, times):
    """Of fixed hours, where the clock is changed; on Lord Howe Island by half an hour."""
    found = Schedule(cron, zone).unsure(at("2026-12-01"), at("2027-12-01"))
    assert [(f"{time:%Y-%m-%d %H:%M}", never) for time, never in found] == times
