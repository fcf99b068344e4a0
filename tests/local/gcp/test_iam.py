"""A member of a policy: others' members stay, and others' writes in between are not lost."""

from __future__ import annotations

import json
from concurrent import futures
from typing import Any

import echo
import httpx
import pytest

from infra.provider.values import Decoded

BUCKET = "gcp:storage/bucketIAMMember:BucketIAMMember"
ENDPOINT = "gcp:vertex/aiEndpointIamMember:AiEndpointIamMember"
PROJECT = "gcp:projects/iAMMember:IAMMember"
MINE = {"bucket": "b", "role": "roles/storage.objectViewer", "member": "user:me@shop.example"}
PATH = "storage/v1/b/b/iam"


def google(*bindings: dict[str, Any]) -> echo.Echo:
    made = echo.Echo()
    made.policies[PATH] = {"etag": "abc", "kind": "storage#policy", "bindings": list(bindings)}
    return made


def binding(*members: str, **more: Any) -> dict[str, Any]:
    return {"role": MINE["role"], "members": list(members)} | more


def test_others_stay_beside_it() -> None:
    """A member is added to the binding of its role, and taken out of it alone."""
    cloud = google(binding("user:other@shop.example"), {"role": "roles/x", "members": ["user:me@shop.example"]})
    driver = echo.Driver(cloud)
    made = driver.create(BUCKET, MINE)
    assert cloud.policies[PATH]["bindings"][0]["members"] == ["user:other@shop.example", "user:me@shop.example"]
    driver.delete(BUCKET, made.id, Decoded(made.properties).values)
    assert cloud.policies[PATH]["bindings"] == [
        binding("user:other@shop.example"),
        {"role": "roles/x", "members": ["user:me@shop.example"]},
    ]


def test_a_condition_is_another_binding() -> None:
    """A grant under a condition is neither found nor changed by the one without."""
    cloud = google(binding("user:me@shop.example"))
    condition = {"title": "soon", "expression": "request.time < timestamp('2027-01-01T00:00:00Z')"}
    made = echo.Driver(cloud).create(BUCKET, MINE | {"condition": condition})
    assert made.id == f"b/b/roles/storage.objectViewer/user:me@shop.example/soon//{condition['expression']}"
    assert cloud.policies[PATH]["bindings"] == [binding("user:me@shop.example"), binding("user:me@shop.example", condition=condition)]


def test_a_conditions_title_is_enough_to_import_it() -> None:
    """The one of the bindings with that title that has the member; none is none."""
    soon, late = ({"title": "by day", "expression": expression} for expression in ("a", "b"))
    driver = echo.Driver(google(binding("user:other@shop.example", condition=soon), binding("user:me@shop.example", condition=late)))
    found = driver.read(BUCKET, "b/b roles/storage.objectViewer user:me@shop.example by day")
    assert Decoded(found.inputs).values["condition"] == late | {"__defaults": []}
    assert driver.read(BUCKET, "b/b roles/storage.objectViewer user:me@shop.example by night").id == ""


@pytest.mark.parametrize(
    ("written", "kept", "same"),
    [
        ("user:Me@Shop.example", "user:me@shop.example", True),
        ("principal://iam.googleapis.com/P/subject/Me", "principal://iam.googleapis.com/P/subject/me", False),
    ],
)
def test_google_keeps_members_in_small_letters(written: str, kept: str, same: bool) -> None:
    """A person is one in any letters; a principal's subject is not."""
    cloud = google(binding(kept))
    driver = echo.Driver(cloud)
    made = driver.create(BUCKET, MINE | {"member": written})
    assert cloud.policies[PATH]["bindings"][0]["members"] == ([kept] if same else [kept, written])
    state = Decoded(made.properties).values
    assert (state["member"], driver.read(BUCKET, made.id, state).id) == (written, made.id)
    driver.delete(BUCKET, made.id, state)
    assert cloud.policies[PATH].get("bindings", []) == ([] if same else [binding(kept)])


@pytest.mark.parametrize("code", [409, 412])
def test_somebody_elses_write_is_not_lost(code: int) -> None:
    """A conflict of etags is met by doing all of it again, from the policy that is there then."""
    cloud = google()
    conflicts = iter((True, True))

    def refuse(call: echo.Call) -> httpx.Response | None:
        if call.method == "PUT" and next(conflicts, False):
            cloud.policies[PATH] = {"etag": f"{len(cloud.calls)}", "bindings": [binding("user:other@shop.example")]}
            return httpx.Response(code, json={"error": {"message": "at another etag"}})
        return None

    cloud.before = refuse
    driver = echo.Driver(cloud)
    driver.create(BUCKET, MINE)
    assert [call.method for call in cloud.calls] == ["GET", "PUT"] * 3 + ["GET"]
    assert cloud.calls[5].body["etag"] == "4"
    assert cloud.policies[PATH]["bindings"] == [binding("user:other@shop.example", "user:me@shop.example")]
    assert [wait for wait in driver.waits if wait] == [0.1, 0.2]


def test_fails_when_the_conflict_stays() -> None:
    """The attempts have an end."""
    cloud = google()
    cloud.before = lambda call: httpx.Response(409, json={"error": {"message": "at another etag"}}) if call.method == "PUT" else None
    with pytest.raises(echo.AbortedError, match="Error 409: at another etag"):
        echo.Driver(cloud).create(BUCKET, MINE)


def test_many_at_once_do_not_meet() -> None:
    """Grants on one policy, made at the same time by one provider, are all in it, without a conflict."""
    cloud = google()
    driver = echo.Driver(cloud)
    members = [f"user:{number}@shop.example" for number in range(8)]
    with futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda member: driver.create(BUCKET, MINE | {"member": member}), members))
    assert sorted(cloud.policies[PATH]["bindings"][0]["members"]) == members


@pytest.mark.parametrize(
    "id", ["b/b/roles/storage.objectViewer/user:me@shop.example", "b/b roles/storage.objectViewer user:me@shop.example"]
)
def test_is_read_and_imported(id: str) -> None:
    """Both forms of an id are taken; a member who is not there any more is gone."""
    driver = echo.Driver(google(binding("user:me@shop.example")))
    found = driver.read(BUCKET, id)
    assert found.id == "b/b/roles/storage.objectViewer/user:me@shop.example"
    assert Decoded(found.inputs).values == MINE | {"bucket": "b/b"}
    assert driver.read(BUCKET, found.id, Decoded(found.properties).values | {"member": "user:gone@shop.example"}).id == ""


def test_fails_on_an_id_of_something_else() -> None:
    """An id that names no grant is refused with the form that is taken."""
    with pytest.raises(echo.AbortedError, match=r"allowed: b/\{bucket\} ROLE MEMBER"):
        echo.Driver(google()).read(BUCKET, "b")


def test_of_a_resource_that_is_gone() -> None:
    """A grant on what is gone is gone, too."""
    cloud = echo.Echo(statuses={("GET", PATH): 404})
    driver = echo.Driver(cloud)
    assert driver.read(BUCKET, "b/b/roles/x/user:me@shop.example", MINE).id == ""
    driver.delete(BUCKET, "b/b/roles/x/user:me@shop.example", MINE)


def test_of_a_vertex_endpoint() -> None:
    """An endpoint's policy is asked for by POST; the endpoint may be said by its number alone."""
    cloud = echo.Echo()
    grant = {
        "endpoint": "77",
        "location": "us-east5",
        "role": "roles/aiplatform.user",
        "member": "serviceAccount:a@p.iam.gserviceaccount.com",
    }
    made = echo.Driver(cloud).create(ENDPOINT, grant)
    full = f"projects/{echo.PROJECT}/locations/us-east5/endpoints/77"
    assert made.id == f"{full}/roles/aiplatform.user/serviceAccount:a@p.iam.gserviceaccount.com"
    assert [(call.method, call.path) for call in cloud.calls] == [
        ("POST", f"v1/{full}:getIamPolicy"),
        ("POST", f"v1/{full}:setIamPolicy"),
        ("POST", f"v1/{full}:getIamPolicy"),
    ]
    assert Decoded(made.properties).values["endpoint"] == full


def test_reading_by_post_is_retried() -> None:
    """To ask for a policy twice asks for one."""
    cloud = echo.Echo()
    troubles = iter((503,))
    cloud.before = lambda call: httpx.Response(code, content=json.dumps({})) if (code := next(troubles, 0)) else None
    driver = echo.Driver(cloud)
    driver.create(PROJECT, {"project": "p", "role": "roles/x", "member": "user:me@shop.example"})
    assert [call.path.partition(":")[2] for call in cloud.calls] == ["getIamPolicy", "getIamPolicy", "setIamPolicy", "getIamPolicy"]


@pytest.mark.parametrize("done", [False, True])
def test_a_write_whose_answer_is_lost_is_looked_after(done: bool) -> None:
    """The policy is read again: the member is in it, or is written once more."""
    cloud = echo.Echo()
    troubles = iter((True,))

    def cut(call: echo.Call) -> httpx.Response | None:
        if call.path.endswith(":setIamPolicy") and next(troubles, False):
            if done:
                cloud.policies[call.path.partition(":")[0]] = call.body["policy"] | {"etag": "new"}
            raise httpx.ReadError("cut")
        return None

    cloud.before = cut
    echo.Driver(cloud).create(PROJECT, {"project": "p", "role": "roles/x", "member": "user:me@shop.example"})
    (policy,) = cloud.policies.values()
    assert policy["bindings"] == [{"role": "roles/x", "members": ["user:me@shop.example"]}]
