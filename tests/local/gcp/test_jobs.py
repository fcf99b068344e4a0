"""Jobs of Cloud Run and of Cloud Scheduler: what is the provider's own about them, over the sandbox."""

from __future__ import annotations

import echo
import pytest
from region import REGION, Region

from infra.provider.values import Decoded

RUN, SCHEDULER = "gcp:cloudrunv2/job:Job", "gcp:cloudscheduler/job:Job"


def test_a_protected_job_is_not_deleted(region: Region) -> None:
    """It is protected unless the program says otherwise."""
    region.bring_up(RUN)
    driver = region.driver()
    inputs = driver.checked(RUN, {key: value for key, value in dict(REGION)[RUN].items() if key != "deletionProtection"})
    assert inputs["deletionProtection"] is True
    made = driver.create(RUN, inputs)
    with pytest.raises(echo.AbortedError, match="deletion_protection=false"):
        driver.delete(RUN, made.id, Decoded(made.properties).values)
    new = driver.checked(RUN, dict(REGION)[RUN])
    state = Decoded(driver.update(RUN, made.id, Decoded(made.properties).values, inputs, new).properties).values
    driver.delete(RUN, made.id, state)
    assert driver.read(RUN, made.id, state).id == ""


def test_a_job_without_retries_keeps_none(region: Region) -> None:
    """0 is sent, and is not the default of 3."""
    inputs = region.bring_up(RUN)
    state = Decoded(region.driver().create(RUN, inputs).properties).values
    assert state["template"]["template"]["maxRetries"] == 0


def test_a_schedule_is_paused_and_resumed(region: Region) -> None:
    """By a call of its own, at the create and at an update; what somebody paused is left so where the program does not say."""
    driver = region.driver()
    inputs = driver.checked(SCHEDULER, region.bring_up(SCHEDULER) | {"paused": True})
    made = driver.create(SCHEDULER, inputs)
    state = Decoded(made.properties).values
    assert (state["paused"], state["state"]) == (True, "PAUSED")
    new = driver.checked(SCHEDULER, dict(REGION)[SCHEDULER] | {"paused": False, "schedule": "0 5 * * *"})
    state = Decoded(driver.update(SCHEDULER, made.id, state, inputs, new).properties).values
    assert (state["paused"], state["state"], state["schedule"]) == (False, "ENABLED", "0 5 * * *")


def test_a_refused_schedule_is_said_in_the_words_of_the_api(region: Region) -> None:
    driver = region.driver()
    inputs = driver.checked(SCHEDULER, region.bring_up(SCHEDULER) | {"schedule": "0 25 * * *"})
    with pytest.raises(echo.AbortedError, match="Schedule or time zone is invalid"):
        driver.create(SCHEDULER, inputs)
