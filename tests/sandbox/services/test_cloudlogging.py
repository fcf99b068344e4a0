"""Cloud Logging: entries are read as they were written, by the filters that a job's logs need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "logging.googleapis.com"
LOG = "projects/shop-prod/logs/run.googleapis.com%2Fstdout"
RESOURCE = {"type": "cloud_run_job", "labels": {"job_name": "nightly", "location": "asia-east1"}}

Ask = Callable[..., Answer]


def write(ask: Ask, *entries: Any, **more: Any) -> Answer:
    return ask("POST", HOST, "v2/entries:write", {"logName": LOG, "resource": RESOURCE, "entries": list(entries)} | more)


def read(ask: Ask, filter: str = "", **more: Any) -> Answer:
    return ask("POST", HOST, "v2/entries:list", {"resourceNames": ["projects/shop-prod"], "filter": filter} | more)


def texts(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [one["textPayload"] for one in answer.body.get("entries", [])]


@pytest.fixture
def written(ask: Ask) -> None:
    """Four entries of two logs, not in the order of their times."""
    labels = {"run.googleapis.com/execution_name": "nightly-abcde"}
    write(
        ask,
        {"textPayload": "begun", "timestamp": "2026-11-30T10:00:00Z", "severity": "INFO", "labels": labels},
        {"textPayload": "ended", "timestamp": "2026-11-30T11:00:00.5+00:00", "severity": "ERROR", "labels": labels},
        {"textPayload": "between", "timestamp": "2026-11-30T10:30:00Z"},
    )
    other = {"logName": "projects/shop-prod/logs/other", "resource": {"type": "global"}, "textPayload": "Other job"}
    write(ask, other, logName="", resource=None)


def test_an_entry_gets_its_time_and_its_number(cloud: Cloud, ask: Ask) -> None:
    assert write(ask, {"jsonPayload": {"loss": 0.5}}, labels={"a": "b"}).body == {}
    assert read(ask).body["entries"] == [
        {
            "logName": LOG,
            "resource": RESOURCE,
            "jsonPayload": {"loss": 0.5},
            "labels": {"a": "b"},
            "timestamp": "2026-11-30T12:00:00.000000Z",
            "receiveTimestamp": "2026-11-30T12:00:00.000000Z",
            "insertId": "s000000000001",
        }
    ]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("", ["begun", "between", "ended", "Other job"]),
        ('resource.type="cloud_run_job"', ["begun", "between", "ended"]),
        ('resource.type = "cloud_run_job" AND resource.labels.job_name = "nightly" AND severity>=ERROR', ["ended"]),
        ('resource.type="cloud_run_job"\nseverity>=info', ["begun", "ended"]),
        ("severity=DEFAULT", ["between", "Other job"]),
        ("severity!=DEFAULT severity<ERROR", ["begun"]),
        (f'logName="{LOG}"', ["begun", "between", "ended"]),
        ("logName=projects/shop-prod/logs/other", ["Other job"]),
        ('labels."run.googleapis.com/execution_name"="nightly-abcde"', ["begun", "ended"]),
        ('labels."run.googleapis.com/execution_name":*', ["begun", "ended"]),
        ('labels."run.googleapis.com/execution_name"!="nightly-abcde"', ["between", "Other job"]),
        ('timestamp>="2026-11-30T10:30:00Z" AND timestamp<="2026-11-30T12:00:00+01:00"', ["between"]),
        ('timestamp > "2026-11-30T10:30:00Z"', ["ended", "Other job"]),
        ("timestamp<2026-11-30T10:00:00.000000001Z", []),
        ("textPayload:JOB", ["Other job"]),
        ('textPayload="other job"', ["Other job"]),
        ("jsonPayload.loss=1", []),
        ("textPayload.deeper=1", []),
    ],
)
def test_a_filter_finds(ask: Ask, written: None, filter: str, found: list[str]) -> None:
    """Comparisons joined by AND, or side by side; texts are the same whatever their case."""
    assert texts(read(ask, filter)) == found


@pytest.mark.parametrize(
    ("filter", "status"),
    [
        ("severity>=ERROR OR severity=DEBUG", 501),
        ("NOT severity=ERROR", 501),
        ("-severity=ERROR", 501),
        ('(severity="ERROR")', 501),
        ('textPayload=~"a.*"', 501),
        ('textPayload>"a"', 501),
        ("severity:ERROR", 501),
        ("sample(insertId, 0.1)=1", 501),
        ('"only words"', 501),
        ("AND", 501),
        ("severity>=LOUD", 400),
        ("timestamp>=yesterday", 400),
        ("color=red", 400),
    ],
)
def test_what_is_not_read_in_a_filter_is_said(ask: Ask, written: None, filter: str, status: int) -> None:
    """Never as if it were not there."""
    assert read(ask, filter).status == status


def test_pages_in_both_orders(ask: Ask, written: None) -> None:
    first = read(ask, orderBy="timestamp desc", pageSize=3)
    assert texts(first) == ["Other job", "ended", "between"]
    second = read(ask, orderBy="timestamp desc", pageSize=3, pageToken=first.body["nextPageToken"])
    assert (texts(second), "nextPageToken" in second.body) == (["begun"], False)
    for wrong in ({"orderBy": "severity"}, {"pageSize": -1}, {"pageToken": "x"}, {"resourceNames": []}):
        assert read(ask, **wrong).status == 400
    assert read(ask, resourceNames=["organizations/1"]).status == 501
    assert read(ask, resourceNames=["projects/nobodys"]).status == 403


def test_the_same_entry_twice_is_one(ask: Ask) -> None:
    """As its time and its id say; entries of one moment are in the order of their ids."""
    for text in ("first", "second"):
        write(ask, {"textPayload": text, "timestamp": "2026-11-30T10:00:00Z", "insertId": "b"})
    write(ask, {"textPayload": "third", "timestamp": "2026-11-30T10:00:00Z", "insertId": "a"})
    assert texts(read(ask)) == ["third", "second"]


def test_what_is_old_or_far_ahead_is_not_read(cloud: Cloud, ask: Ask) -> None:
    times = ("2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-12-02T00:00:00Z")
    write(ask, *({"textPayload": time, "timestamp": time} for time in times))
    assert texts(read(ask)) == [times[1]]
    cloud.clock.advance(2 * 86400)
    assert texts(read(ask)) == [times[2]]


@pytest.mark.parametrize(
    ("entry", "status", "part"),
    [
        ({"logName": "stdout"}, 400, "entries[1]: Log name"),
        ({"logName": "projects/shop-prod/logs/a/b"}, 400, "Log name"),
        ({"logName": "projects/nobodys/logs/a"}, 403, "permission"),
        ({"resource": {"labels": {}}}, 400, "monitored resource"),
        ({"severity": "LOUD"}, 400, "severity"),
        ({"timestamp": "now"}, 400, "timestamp"),
        ({"timestamp": "2026-13-40T00:00:00Z"}, 400, "moment"),
    ],
)
def test_fails_to_write(ask: Ask, entry: Any, status: int, part: str) -> None:
    """None is written where one is wrong; with `partialSuccess`, the others are, but for a body that no schema has."""
    good = {"textPayload": "good"}
    answer = write(ask, good, entry)
    assert (answer.status, part in answer.body["error"]["message"]) == (status, True), answer.body
    assert texts(read(ask)) == []
    write(ask, good, entry, partialSuccess=True)
    assert texts(read(ask)) == ([] if part in ("severity", "timestamp") else ["good"])


def test_only_checked(ask: Ask) -> None:
    assert write(ask, {"textPayload": "x"}, dryRun=True).body == {}
    assert texts(read(ask)) == []


def test_logs_are_listed_and_deleted(cloud: Cloud, ask: Ask, written: None) -> None:
    logs = "v2/projects/{project}/logs"
    assert ask("GET", HOST, logs).body == {"logNames": ["projects/shop-prod/logs/other", LOG]}
    assert ask("DELETE", HOST, f"{logs}/other").body == {}
    assert ask("DELETE", HOST, f"{logs}/other").status == 404
    assert ask("GET", HOST, logs).body == {"logNames": [LOG]}
    assert [one for one in cloud.resources() if one["service"] == "entries"] == []


def test_an_api_that_is_off_and_what_is_not_here(ask: Ask, written: None) -> None:
    """Sinks, metrics and buckets are not in the sandbox: better no answer than one that is not true."""
    assert ask("GET", HOST, "v2/projects/{project}/sinks").status == 501
    ask("POST", "serviceusage.googleapis.com", f"v1/projects/{{project}}/services/{HOST}:disable", {})
    assert (read(ask).status, write(ask, {"textPayload": "x"}).status) == (403, 403)
