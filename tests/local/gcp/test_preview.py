"""A preview calls nobody, and says what is not known yet."""

from __future__ import annotations

import echo

from infra.provider.values import UNKNOWN, Decoded

ACCOUNT = "gcp:serviceaccount/account:Account"
BUCKET = "gcp:storage/bucket:Bucket"


def test_create_leaves_unknown_what_is_not_written() -> None:
    """Outputs that Google makes are unknown; inputs, places and labels are known."""
    google = echo.Echo()
    driver = echo.Driver(google, region="us-east5")
    answer = driver.create(BUCKET, driver.checked(BUCKET, {"name": "b", "location": "us-east5", "labels": {"a": "b"}}), preview=True)
    state = Decoded(answer.properties).values
    assert google.calls == []
    assert answer.id == ""
    assert {name: state[name] for name in ("name", "url", "selfLink", "project", "storageClass", "forceDestroy", "effectiveLabels")} == {
        "name": "b",
        "url": UNKNOWN,
        "selfLink": UNKNOWN,
        "project": echo.PROJECT,
        "storageClass": "STANDARD",
        "forceDestroy": False,
        "effectiveLabels": {"a": "b"},
    }


def test_create_of_unknown_inputs() -> None:
    """What other resources only make stays unknown."""
    driver = echo.Driver(echo.Echo())
    state = Decoded(driver.create(ACCOUNT, {"accountId": UNKNOWN}, preview=True).properties).values
    assert (state["accountId"], state["email"], state["member"]) == (UNKNOWN, UNKNOWN, UNKNOWN)


def test_update_keeps_what_does_not_change() -> None:
    """An update's outputs are the old ones with the new inputs."""
    google = echo.Echo()
    driver = echo.Driver(google)
    state = {"id": "x", "email": "e", "displayName": "old"}
    answer = driver.update(ACCOUNT, "x", state, {"displayName": "old"}, {"displayName": "new"}, preview=True)
    assert Decoded(answer.properties).values == {"id": "x", "email": "e", "displayName": "new"}
    assert google.calls == []


def test_update_to_unknown_labels() -> None:
    """Labels that are not known yet are so in all their forms."""
    state = {"labels": {"a": "b"}, "pulumiLabels": {"a": "b"}, "effectiveLabels": {"a": "b"}}
    answer = echo.Driver(echo.Echo()).update(BUCKET, "b", state, {"labels": {"a": "b"}}, {"labels": UNKNOWN}, preview=True)
    assert Decoded(answer.properties).values == dict.fromkeys(state, UNKNOWN)
