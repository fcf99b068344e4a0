"""Versions of a state in a bucket, and one of them made the newest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from infra.operate import states as kept
from infra.operate.state_file import DamagedError
from infra.operate.states import LockedError, States
from infra.provider.server import ProviderError
from tests.operate.state_bucket import BUCKET, LOCK, NAME, Bucket, state


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    found = Bucket()
    yield found
    found.google.close()


def test_each_update_ends_with_one_version_and_says_who_wrote_it(bucket: Bucket) -> None:
    """The steps between are hidden; a backup of the engine and the states of other stacks are none."""
    first = bucket.update("ann@laptop", 1, 2, 3)
    by_hand = bucket.put(NAME, state(4))
    bucket.wait(5)
    last = bucket.update("ci@runner", 5)
    bucket.put(f"{NAME}.bak", state(9))
    bucket.put(NAME.replace("try", "try-2"), state(9))
    versions = bucket.states.versions()
    assert [str(one.generation) for one in versions] == [*last, by_hand, *reversed(first)]
    assert [(str(one.generation), one.lock.who if one.lock else "") for one in kept.ends(versions)] == [
        (last[0], "ci@runner"),
        (by_hand, ""),
        (first[-1], "ann@laptop"),
    ]
    assert [one.is_live for one in versions] == [True, False, False, False, False]
    assert [len(bucket.states.read(one).resources) for one in versions] == [5, 4, 3, 2, 1]
    assert bucket.states.others() == ["try", "try-2"]


def test_what_it_was_at_a_moment(bucket: Bucket) -> None:
    """None before the first, and none while it was deleted."""
    before = bucket.now()
    bucket.wait(1)
    first = bucket.update("ann@laptop", 1)[0]
    between = bucket.now()
    second = bucket.update("ann@laptop", 2)[0]
    bucket.delete(NAME)
    bucket.wait(1)
    versions = bucket.states.versions()
    found = [kept.as_of(versions, moment) for moment in (before, between, bucket.now())]
    assert [str(one.generation) if one else None for one in found] == [None, first, None]
    assert str(versions[0].generation) == second


@pytest.mark.parametrize("lost", ["deleted", "damaged"])
def test_an_older_version_is_the_newest_again(bucket: Bucket, lost: str) -> None:
    """Its bytes are; every other version is still there; and the lock that was taken is gone."""
    good = bucket.update("ann@laptop", 3)[0]
    if lost == "deleted":
        bucket.delete(NAME)
    else:
        bucket.put(NAME, b"{")
    before = {one.generation for one in bucket.states.versions()}
    (version,) = [one for one in bucket.states.versions() if str(one.generation) == good]
    made = bucket.states.make_newest(version)
    versions = bucket.states.versions()
    assert (versions[0].generation, versions[0].is_live) == (made, True)
    assert {one.generation for one in versions} == before | {made}
    assert len(bucket.states.read(versions[0]).resources) == 3
    assert bucket.states.locks() == []
    assert versions[0].lock is not None
    if lost == "damaged":
        with pytest.raises(DamagedError, match="is no JSON"):
            bucket.states.read(versions[1])
        assert kept.whole(bucket.states, versions[1:]) is not None


def test_a_locked_stack_stays_as_it_is(bucket: Bucket) -> None:
    """Whoever has the lock is named; one that says nothing is a lock too."""
    bucket.update("ann@laptop", 1)
    bucket.put(f"{LOCK}x.json", b"{")
    (version,) = bucket.states.versions()
    with pytest.raises(LockedError, match=rf"locked by somebody since 2027-.*\n.*gcloud storage rm gs://{BUCKET}/{LOCK}x\.json"):
        bucket.states.make_newest(version)
    assert len(bucket.states.versions()) == 1


def test_a_version_that_somebody_writes_meanwhile_is_not_overwritten(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """By somebody who takes no lock: the restore names the generation that it looked at."""
    first, _ = bucket.update("ann@laptop", 1, 2)
    states = bucket.states
    (version,) = [one for one in states.versions() if str(one.generation) == first]
    listed = states.versions

    def late() -> Any:
        found = listed()
        bucket.put(NAME, state(7))
        return found

    monkeypatch.setattr(states, "versions", late)
    with pytest.raises(ProviderError, match="somebody wrote a newer version meanwhile: nothing was restored"):
        states.make_newest(version)
    assert len(bucket.states.read(bucket.states.versions()[0]).resources) == 7
    assert bucket.states.locks() == []


def test_a_backend_in_a_folder_of_the_bucket(bucket: Bucket) -> None:
    bucket.put(f"teams/ml/{NAME}", state(2))
    states = States(bucket.google, BUCKET, "teams/ml/", "accelform", "try")
    assert states.address == f"gs://{BUCKET}/teams/ml/{NAME}"
    assert [len(states.read(one).resources) for one in states.versions()] == [2]
    assert bucket.states.versions() == []
