"""Cloud Scheduler: jobs that call by the clock, as their account, and are retried."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox import executions
from infra.sandbox.cloud import Answer, Cloud
from infra.sandbox.faults import Fault
from infra.sandbox.services import cloudscheduler

HOST = "cloudscheduler.googleapis.com"
ALL = "v1/projects/{project}/locations/asia-east1/jobs"
NIGHT = f"{ALL}/night"
NAME = "projects/shop-prod/locations/asia-east1/jobs/night"
CALLER = "scheduler@shop-prod.iam.gserviceaccount.com"
RUN = "https://run.googleapis.com/v2/projects/shop-prod/locations/asia-east1/jobs/nightly:run"

Ask = Callable[..., Answer]
Done = Callable[[str, str, Answer], Answer]


def job(**more: Any) -> dict[str, Any]:
    target = {"uri": RUN, "oauthToken": {"serviceAccountEmail": CALLER}} | more.pop("target", {})
    return {"name": NAME, "schedule": "0 2 * * *", "timeZone": "Asia/Taipei", "httpTarget": target} | more


@pytest.fixture
def shop(ask: Ask, done: Done) -> None:
    """An account, and a job of Cloud Run that it may begin."""
    ask("POST", "iam.googleapis.com", "v1/projects/{project}/serviceAccounts", {"accountId": "scheduler"})
    body = {"template": {"template": {"containers": [{"image": "job:1"}]}}}
    done(
        "run.googleapis.com",
        "v2",
        ask("POST", "run.googleapis.com", "v2/projects/{project}/locations/asia-east1/jobs", body, jobId="nightly"),
    )


def made(ask: Ask, **more: Any) -> Any:
    answer = ask("POST", HOST, ALL, job(**more))
    assert answer.status == 200, answer.body
    return answer.body


def begun(cloud: Cloud) -> list[str]:
    """When each execution was begun, in the order of their making."""
    cloud.catch_up()
    return [one["created"][5:16] for one in executions.waiting(cloud)]


def test_a_job_gets_its_defaults(ask: Ask, shop: None) -> None:
    body = made(ask)
    assert body == ask("GET", HOST, NIGHT).body
    assert body == {
        "name": NAME,
        "schedule": "0 2 * * *",
        "timeZone": "Asia/Taipei",
        "attemptDeadline": "180s",
        "retryConfig": {"maxRetryDuration": "0s", "minBackoffDuration": "5s", "maxBackoffDuration": "3600s", "maxDoublings": 5},
        "httpTarget": {
            "uri": RUN,
            "httpMethod": "POST",
            "headers": {"User-Agent": "Google-Cloud-Scheduler"},
            "oauthToken": {"serviceAccountEmail": CALLER, "scope": "https://www.googleapis.com/auth/cloud-platform"},
        },
        "state": "ENABLED",
        "status": {"code": -1},
        "scheduleTime": "2026-11-30T18:00:00.000000Z",
        "userUpdateTime": body["userUpdateTime"],
    }


def test_a_week_has_seven_nights(cloud: Cloud, ask: Ask, shop: None) -> None:
    """Each fires at its own time, as the account, though the clock was moved over all of them at once."""
    made(ask)
    cloud.clock.advance(7 * 86400)
    assert begun(cloud) == [f"{day}T18:00" for day in ("11-30", "12-01", "12-02", "12-03", "12-04", "12-05", "12-06")]
    assert begun(cloud)[7:] == []
    body = ask("GET", HOST, NIGHT).body
    assert (body["status"], body["lastAttemptTime"][:16], body["scheduleTime"][:16]) == ({}, "2026-12-06T18:00", "2026-12-07T18:00")
    execution = ask("GET", "run.googleapis.com", f"v2/{executions.waiting(cloud)[0]['name']}").body
    assert execution["creator"] == CALLER
    assert [one["caller"] for one in cloud.calls if one["path"].endswith(":run")] == [CALLER] * 7


def test_it_fires_once_whatever_becomes_of_the_request_after(cloud: Cloud, ask: Ask, shop: None) -> None:
    """A request that is refused undoes what it did itself, and no night."""
    made(ask)
    cloud.clock.advance(86400)
    assert ask("GET", HOST, f"{ALL}/no").status == 404
    assert len([one for one in cloud.calls if one["path"].endswith(":run")]) == 1
    assert begun(cloud) == ["11-30T18:00"]


def test_jobs_fire_in_the_order_of_their_times_with_operations_between(cloud: Cloud, ask: Ask, shop: None) -> None:
    """A job that ends to be there before its time is there then; one that is deleted before is not."""
    made(ask)
    made(ask, name=f"{NAME}-noon", schedule="0 12 * * *")
    cloud.clock.advance(2 * 86400)
    assert begun(cloud) == ["11-30T18:00", "12-01T04:00", "12-01T18:00", "12-02T04:00"]
    ask("DELETE", "run.googleapis.com", "v2/projects/{project}/locations/asia-east1/jobs/nightly")
    cloud.clock.advance(86400)
    assert ask("GET", HOST, NIGHT).body["status"] == {"code": 5}
    entries = ask(
        "POST", "logging.googleapis.com", "v2/entries:list", {"resourceNames": ["projects/shop-prod"], "filter": "severity=ERROR"}
    )
    assert [one["jsonPayload"]["status"] for one in entries.body["entries"]] == ["NOT_FOUND"] * 2
    assert "nightly" in entries.body["entries"][0]["jsonPayload"]["debugInfo"]


def test_the_clock_of_the_place_counts(cloud: Cloud, ask: Ask, shop: None) -> None:
    """02:30 in Berlin is leapt over on 28 March 2027: that night's run is at 03:00 of the new time, 01:00 UTC."""
    made(ask, schedule="30 2 27-29 3 *", timeZone="Europe/Berlin")
    cloud.clock.advance(150 * 86400)
    assert begun(cloud) == ["03-27T01:30", "03-28T01:00", "03-29T00:30"]


def test_a_paused_job_does_not_fire(cloud: Cloud, ask: Ask, shop: None) -> None:
    """It fires again from when it was resumed on; what it missed is missed. To resume one that runs changes nothing."""
    made(ask)
    assert ask("POST", HOST, f"{NIGHT}:pause", {}).body["state"] == "PAUSED"
    assert "scheduleTime" not in ask("GET", HOST, NIGHT).body
    assert ask("POST", HOST, f"{NIGHT}:pause", {}).body["error"]["status"] == "FAILED_PRECONDITION"
    cloud.clock.advance(3 * 86400)
    assert begun(cloud) == []
    assert ask("POST", HOST, f"{NIGHT}:resume", {}).body["state"] == "ENABLED"
    assert ask("POST", HOST, f"{NIGHT}:resume", {}).status == 200
    cloud.clock.advance(86400)
    assert begun(cloud) == ["12-03T18:00"]


def test_a_changed_job_fires_by_its_new_schedule(cloud: Cloud, ask: Ask, shop: None) -> None:
    """Without a mask, what is sent is the job; its state stays."""
    made(ask, description="x", retryConfig={"retryCount": 3})
    body = ask("PATCH", HOST, NIGHT, job(schedule="0 3 * * *")).body
    assert (body["schedule"], "description" in body, "retryCount" in body["retryConfig"]) == ("0 3 * * *", False, False)
    assert ask("PATCH", HOST, NIGHT, {"schedule": "0 4 * * *"}, updateMask="schedule").body["timeZone"] == "Asia/Taipei"
    assert ask("PATCH", HOST, NIGHT, {}, updateMask="timeZone,retryConfig").body["timeZone"] == "Etc/UTC"
    cloud.clock.advance(86400)
    assert begun(cloud) == ["12-01T04:00"]
    ask("POST", HOST, f"{NIGHT}:pause", {})
    assert ask("PATCH", HOST, NIGHT, job()).body["state"] == "PAUSED"
    assert ask("DELETE", HOST, NIGHT).body == {}
    assert ask("GET", HOST, NIGHT).status == 404


def test_run_calls_now(cloud: Cloud, ask: Ask, shop: None) -> None:
    """Also a paused one, which is not due afterwards either."""
    made(ask)
    body = ask("POST", HOST, f"{NIGHT}:run", {}).body
    assert (body["status"], body["scheduleTime"][:16]) == ({}, "2026-11-30T18:00")
    ask("POST", HOST, f"{NIGHT}:pause", {})
    assert "scheduleTime" not in ask("POST", HOST, f"{NIGHT}:run", {}).body
    assert begun(cloud) == ["11-30T12:00", "11-30T12:00"]


def attempts(cloud: Cloud) -> list[float]:
    """Seconds after the first attempt, from the log that Cloud Scheduler writes."""
    cloud.catch_up()
    times = [dt.datetime.fromisoformat(body["timestamp"]) for _, body in cloud.store.items("entries", "projects/shop-prod")]
    return [(time - times[0]).total_seconds() for time in times]


@pytest.mark.parametrize(
    ("config", "waits"),
    [
        ({}, [0]),
        ({"retryCount": 3}, [0, 5, 15, 35]),
        ({"retryCount": 5, "minBackoffDuration": "10s", "maxBackoffDuration": "100s", "maxDoublings": 2}, [0, 10, 30, 70, 150, 250]),
        ({"maxRetryDuration": "12s"}, [0, 5, 15]),
        ({"retryCount": 1, "maxRetryDuration": "12s"}, [0, 5, 15]),
    ],
)
def test_a_failed_attempt_is_retried(cloud: Cloud, ask: Ask, shop: None, config: Any, waits: list[float]) -> None:
    """Doubled so often, then by the same more; each at its own time."""
    made(ask, retryConfig=config)
    cloud.faults.add(Fault(do="error", path="nightly:run"))
    cloud.clock.advance(0.5 * 86400)
    assert attempts(cloud) == waits
    body = ask("GET", HOST, NIGHT).body
    assert (body["status"], body["scheduleTime"][:16]) == ({"code": 14}, "2026-12-01T18:00")


def test_a_retry_that_succeeds_ends_the_retries(cloud: Cloud, ask: Ask, shop: None) -> None:
    """A lost answer is a failure too: the call counted, so there are two executions."""
    made(ask, retryConfig={"retryCount": 5})
    cloud.faults.add(Fault(do="lost", path="nightly:run", at=1))
    cloud.clock.advance(0.5 * 86400)
    assert attempts(cloud) == [0, 5]
    assert begun(cloud) == ["11-30T18:00", "11-30T18:00"]
    assert ask("GET", HOST, NIGHT).body["status"] == {}


def test_an_account_that_is_gone_calls_nothing(cloud: Cloud, ask: Ask, shop: None) -> None:
    made(ask)
    ask("DELETE", "iam.googleapis.com", f"v1/projects/{{project}}/serviceAccounts/{CALLER}")
    cloud.clock.advance(86400)
    assert begun(cloud) == []
    assert ask("GET", HOST, NIGHT).body["status"] == {"code": 7}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ({"uri": "https://shop.example/hook"}, 14),
        ({"uri": "http://127.0.0.1:1/x"}, 14),
        ({"uri": RUN, "oauthToken": None}, 16),
        ({"uri": RUN, "oauthToken": None, "oidcToken": {"serviceAccountEmail": CALLER}}, 16),
        ({"uri": RUN.replace("nightly", "no")}, 5),
        ({"uri": RUN, "body": "e30="}, 0),
        ({"uri": RUN, "body": "ew=="}, 3),
        ({"uri": RUN, "httpMethod": "GET"}, 5),
        ({"uri": RUN.replace("https://", "https://asia-east1-")}, 14),
        ({"uri": f"https://{HOST}/{NIGHT}:run".format(project="shop-prod")}, 12),
    ],
)
def test_what_an_attempt_ends_with(cloud: Cloud, ask: Ask, shop: None, target: Any, code: int) -> None:
    """An address outside of the sandbox is never called; a Google API wants an access token."""
    headers = {"headers": {"Content-Type": "application/json"}} if "body" in target else {}
    made(ask, target=target | headers)
    cloud.clock.advance(86400)
    assert ask("GET", HOST, NIGHT).body["status"] == ({"code": code} if code else {})


def test_a_job_may_delete_itself(cloud: Cloud, ask: Ask, shop: None) -> None:
    made(ask, target={"uri": f"https://{HOST}/v1/{NAME}", "httpMethod": "DELETE"})
    cloud.clock.advance(86400)
    assert ask("GET", HOST, NIGHT).status == 404


def test_a_clock_that_is_moved_by_years_ends(cloud: Cloud, ask: Ask, shop: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a job of each minute, only the last attempts are made."""
    monkeypatch.setattr(cloudscheduler, "MOST_AT_ONCE", 20)
    made(ask, schedule="* * * * *", target={"uri": "https://shop.example/"})
    cloud.clock.advance(50 * 365 * 86400)
    assert ask("GET", HOST, NIGHT).body["scheduleTime"][:4] == "2076"
    assert len(attempts(cloud)) == pytest.approx(20, abs=2)


@pytest.mark.parametrize(
    ("more", "status", "part"),
    [
        ({"name": "night"}, 400, "Job name"),
        ({"name": f"{NAME}/x"}, 400, "Job name"),
        ({"name": NAME.replace("night", "ni ght")}, 400, "Job name"),
        ({"name": NAME.replace("asia-east1", "us-east1")}, 400, "Job name"),
        ({"schedule": ""}, 400, "schedule"),
        ({"schedule": "0 25 * * *"}, 400, "Schedule or time zone is invalid."),
        ({"schedule": "every 24 hours"}, 501, "five fields"),
        ({"timeZone": "Taipei"}, 400, "Schedule or time zone is invalid."),
        ({"attemptDeadline": "14s"}, 400, "attempt_deadline"),
        ({"attemptDeadline": "1801s"}, 400, "attempt_deadline"),
        ({"attemptDeadline": "soon"}, 400, "attemptDeadline"),
        ({"retryConfig": {"retryCount": 6}}, 400, "retry_count"),
        ({"retryConfig": {"minBackoffDuration": "2s", "maxBackoffDuration": "1s"}}, 400, "min_backoff_duration"),
        ({"retryConfig": {"maxDoublings": -1}}, 400, "max_doublings"),
        ({"httpTarget": None}, 400, "target"),
        ({"httpTarget": None, "pubsubTarget": {"topicName": "x"}}, 501, "pubsubTarget"),
        ({"target": {"uri": "ftp://x"}}, 400, "uri"),
        ({"target": {"uri": ""}}, 400, "uri"),
        ({"target": {"uri": "https://[x"}}, 400, "uri"),
        ({"target": {"uri": "https://x.example/" + "x" * 2083}}, 400, "uri"),
        ({"target": {"httpMethod": "GET", "body": "e30="}}, 400, "body"),
        ({"target": {"body": "not base64"}}, 400, "body"),
        ({"target": {"oidcToken": {"serviceAccountEmail": CALLER}}}, 400, "either"),
        ({"target": {"oauthToken": {}}}, 400, "same project"),
        ({"target": {"oauthToken": {"serviceAccountEmail": CALLER.replace("shop-prod", "other")}}}, 400, "same project"),
        ({"target": {"oauthToken": {"serviceAccountEmail": f"x{CALLER}"}}}, 403, "iam.serviceAccounts.actAs"),
        ({"description": "x" * 501}, 400, "description"),
        ({"more": 1}, 400, "more"),
    ],
)
def test_fails_to_make(ask: Ask, shop: None, more: Any, status: int, part: str) -> None:
    answer = ask("POST", HOST, ALL, job(**more))
    assert (answer.status, part in answer.body["error"]["message"]) == (status, True), answer.body


def test_names_zones_and_lists(ask: Ask, shop: None) -> None:
    """A job without a name gets one; `utc` is the name of the zone in the API's own words; a name is there once."""
    assert ask("POST", HOST, ALL, job(name=None, timeZone="utc")).body["name"].startswith(NAME.removesuffix("night"))
    made(ask)
    assert ask("POST", HOST, ALL, job()).status == 409
    assert len(ask("GET", HOST, ALL).body["jobs"]) == 2
