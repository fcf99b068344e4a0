"""Cloud Storage: buckets, objects and what else lies in a bucket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from infra.sandbox.cloud import Answer, Cloud, Request
from infra.sandbox.server import Server

HOST = "storage.googleapis.com"
DATA = "storage/v1/b/data"
OBJECTS = f"{DATA}/o"

Ask = Callable[..., Answer]


@pytest.fixture
def make(ask: Ask) -> Callable[..., Answer]:
    """Makes a bucket."""
    return lambda name="data", project="shop-prod", **body: ask("POST", HOST, "storage/v1/b", {"name": name, **body}, project=project)


@pytest.fixture
def put(cloud: Cloud) -> Callable[..., Answer]:
    """Uploads an object in one go."""

    def put(name: str, data: bytes = b"x", **query: str) -> Answer:
        query = {"uploadType": "media", "name": name, **query}
        return cloud.handle(Request("POST", HOST, f"upload/{OBJECTS}", query, data, query.pop("type", "text/plain")))

    return put


def test_a_bucket_in_a_region_gets_its_defaults(cloud: Cloud, ask: Ask, make: Callable[..., Answer]) -> None:
    made = make(location="asia-east1").body
    assert made == ask("GET", HOST, DATA).body
    assert made | {"etag": "", "generation": ""} == {
        "kind": "storage#bucket",
        "id": "data",
        "name": "data",
        "selfLink": "https://www.googleapis.com/storage/v1/b/data",
        "projectNumber": cloud.projects.number("shop-prod"),
        "generation": "",
        "metageneration": "1",
        "etag": "",
        "location": "ASIA-EAST1",
        "locationType": "region",
        "storageClass": "STANDARD",
        "satisfiesPZI": True,
        "timeCreated": "2026-11-30T12:00:00.000Z",
        "updated": "2026-11-30T12:00:00.000Z",
        "softDeletePolicy": {"retentionDurationSeconds": "604800", "effectiveTime": "2026-11-30T12:00:00.000Z"},
        "iamConfiguration": {
            "publicAccessPrevention": "inherited",
            "uniformBucketLevelAccess": {"enabled": False},
            "bucketPolicyOnly": {"enabled": False},
        },
    }


@pytest.mark.parametrize(
    ("location", "kind", "rpo"), [(None, "multi-region", "DEFAULT"), ("nam4", "dual-region", "DEFAULT"), ("us-east5", "region", None)]
)
def test_its_location_says_how_it_is_kept(make: Callable[..., Answer], location: str | None, kind: str, rpo: str | None) -> None:
    made = make(**({"location": location} if location else {})).body
    assert (made["locationType"], made.get("rpo")) == (kind, rpo)


def test_uniform_access_is_locked_after_a_while_and_autoclass_is_standard(make: Callable[..., Answer]) -> None:
    made = make(iamConfiguration={"uniformBucketLevelAccess": {"enabled": True}}, autoclass={"enabled": True}, storageClass="NEARLINE").body
    uniform = made["iamConfiguration"]["uniformBucketLevelAccess"]
    assert (uniform["lockedTime"], made["iamConfiguration"]["bucketPolicyOnly"]) == ("2027-02-28T12:00:00.000000Z", uniform)
    assert (made["storageClass"], made["autoclass"]["terminalStorageClass"]) == ("STANDARD", "NEARLINE")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"name": "Data"}, 400, "Invalid bucket name: 'Data'"),
        ({"name": "a" * 64}, 400, f"Invalid bucket name: '{'a' * 64}'"),
        ({"location": "Taipei"}, 400, "The specified location constraint is not valid."),
        ({"hierarchicalNamespace": {"enabled": True}}, 400, "Hierarchical namespace buckets must use uniform bucket-level access."),
    ],
)
def test_fails_to_make(make: Callable[..., Answer], body: dict[str, Any], status: int, message: str) -> None:
    answer = make(**body)
    assert (answer.status, answer.body["error"]["message"]) == (status, message)
    assert "status" not in answer.body["error"]


def test_names_are_one_space_for_all_projects(cloud: Cloud, ask: Ask, make: Callable[..., Answer]) -> None:
    cloud.projects.make("other")
    make()
    own, foreign = make(), make(project="other")
    assert (own.status, "you already own it" in own.body["error"]["message"]) == (409, True)
    assert foreign.body["error"]["message"].startswith("The requested bucket name is not available.")
    assert ask("GET", HOST, "storage/v1/b", project="other").body == {"kind": "storage#buckets"}
    assert [item["name"] for item in ask("GET", HOST, "storage/v1/b", project="shop-prod").body["items"]] == ["data"]


def test_null_takes_a_label_away_and_the_others_stay(ask: Ask, make: Callable[..., Answer]) -> None:
    make(labels={"a": "1", "b": "2"}, lifecycle={"rule": [{"action": {"type": "Delete"}, "condition": {"age": 7}}]})
    changed = ask("PATCH", HOST, DATA, {"labels": {"a": None, "c": "3"}, "lifecycle": {"rule": []}}).body
    assert (changed["labels"], changed["metageneration"], "lifecycle" in changed) == ({"b": "2", "c": "3"}, "2", False)
    assert "labels" not in ask("PATCH", HOST, DATA, {"labels": None}).body


def test_soft_delete_is_turned_off_and_versions_on(ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    body = {"softDeletePolicy": {"retentionDurationSeconds": "0"}, "versioning": {"enabled": True}}
    changed = ask("PATCH", HOST, DATA, body).body
    assert (changed["softDeletePolicy"], changed["versioning"]) == ({"retentionDurationSeconds": "0"}, {"enabled": True})


@pytest.mark.parametrize("http", ["PATCH", "PUT"])
def test_what_goes_away_goes_back_to_its_default(ask: Ask, make: Callable[..., Answer], http: str) -> None:
    made = make(storageClass="COLDLINE", softDeletePolicy={"retentionDurationSeconds": "0"}, location="eu").body
    body = {"storageClass": None, "softDeletePolicy": None, "generation": "7", "name": "other"}
    changed = ask(http, HOST, DATA, body).body
    assert (changed["storageClass"], changed["softDeletePolicy"]["retentionDurationSeconds"]) == ("STANDARD", "604800")
    same = ("name", "generation", "location", "projectNumber", "rpo", "timeCreated")
    assert {key: changed[key] for key in same} == {key: made[key] for key in same}


@pytest.mark.parametrize("body", [{"location": "EU"}, {"hierarchicalNamespace": {"enabled": True}}])
def test_fails_to_change_what_is_fixed(ask: Ask, make: Callable[..., Answer], body: dict[str, Any]) -> None:
    make()
    assert ask("PATCH", HOST, DATA, body).status == 400


def test_a_change_of_another_state_is_refused(ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    refused = ask("PATCH", HOST, DATA, {"labels": {"a": "b"}}, ifMetagenerationMatch="2")
    assert (refused.status, refused.body["error"]["errors"][0]["reason"]) == (412, "conditionNotMet")


def test_access_lists_are_shown_on_request_where_there_are_any(ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    make("uniform", iamConfiguration={"uniformBucketLevelAccess": {"enabled": True}})
    assert "acl" not in ask("GET", HOST, DATA).body
    roles = [item["role"] for item in ask("GET", HOST, DATA, projection="full").body["acl"]]
    assert roles == ["OWNER", "OWNER", "READER"]
    assert "acl" not in ask("GET", HOST, "storage/v1/b/uniform", projection="full").body
    assert ask("GET", HOST, "storage/v1/b/uniform/acl").status == 400


def test_a_policy_is_read_changed_and_written(ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    policy = ask("GET", HOST, f"{DATA}/iam", optionsRequestedPolicyVersion="3").body
    assert (policy["kind"], policy["resourceId"]) == ("storage#policy", "projects/_/buckets/data")
    assert [item["role"] for item in policy["bindings"]] == ["roles/storage.legacyBucketOwner", "roles/storage.legacyBucketReader"]
    own = {"role": "roles/storage.objectUser", "members": ["user:a@shop.example"]}
    written = ask("PUT", HOST, f"{DATA}/iam", {"bindings": [*policy["bindings"], own], "etag": policy["etag"], "version": 3}).body
    assert (written["bindings"][-1], written["etag"] != policy["etag"]) == (own, True)
    assert ask("PUT", HOST, f"{DATA}/iam", {"bindings": [], "etag": policy["etag"]}).status == 412
    assert ask("GET", HOST, f"{DATA}/iam/testPermissions", permissions="a,b").body["permissions"] == ["a", "b"]


def test_a_project_is_named(ask: Ask) -> None:
    for answer in (ask("GET", HOST, "storage/v1/b"), ask("POST", HOST, "storage/v1/b", {"name": "data"})):
        assert (answer.status, answer.body["error"]["message"]) == (400, "Required parameter: project")


def test_what_is_not_there(ask: Ask, make: Callable[..., Answer]) -> None:
    said = "The specified bucket does not exist."
    error = {"code": 404, "message": said, "errors": [{"message": said, "domain": "global", "reason": "notFound"}]}
    for path in (DATA, f"{DATA}/iam", OBJECTS, f"{OBJECTS}/x", f"{DATA}/anywhereCaches"):
        assert ask("GET", HOST, path).body == {"error": error}
    make()
    missing = ask("GET", HOST, f"{OBJECTS}/x").body["error"]
    assert (missing["message"], missing["status"]) == ("No such object: data/x", "NOT_FOUND")


def test_a_bucket_with_objects_is_not_deleted(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make(versioning={"enabled": True})
    put("x")
    ask("DELETE", HOST, f"{OBJECTS}/x")
    refused = ask("DELETE", HOST, DATA)
    assert (refused.status, refused.body["error"]["message"]) == (409, "The bucket you tried to delete is not empty.")
    (old,) = ask("GET", HOST, OBJECTS, versions="true").body["items"]
    assert ask("DELETE", HOST, f"{OBJECTS}/x", generation=old["generation"]).status == 204
    gone = ask("DELETE", HOST, DATA)
    assert (gone.status, gone.body, ask("GET", HOST, DATA).status) == (204, None, 404)


def test_an_upload_comes_back_as_it_was(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make(location="asia-east1")
    made = put("dir/a b.txt", b"123456789").body
    assert (made["size"], made["contentType"], made["storageClass"]) == ("9", "text/plain", "STANDARD")
    assert (made["md5Hash"], made["crc32c"]) == ("JfnnlDI7RTiF9RgfG2JNCw==", "4waSgw==")
    assert made["selfLink"] == "https://www.googleapis.com/storage/v1/b/data/o/dir%2Fa%20b.txt"
    assert ask("GET", HOST, f"{OBJECTS}/dir%2Fa%20b.txt").body == made
    read = ask("GET", HOST, f"download/{OBJECTS}/dir%2Fa%20b.txt", alt="media")
    assert (read.body, read.headers["Content-Type"]) == (b"123456789", "text/plain")


def test_json_is_an_object_like_another(put: Callable[..., Answer], make: Callable[..., Answer], ask: Ask) -> None:
    make()
    put("x.json", b"[1, 2]", type="application/json")
    assert ask("GET", HOST, f"{OBJECTS}/x.json", alt="media").body == b"[1, 2]"


def test_a_multipart_upload_says_what_it_is(cloud: Cloud, ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    meta = json.dumps({"name": "x", "metadata": {"step": "7"}, "cacheControl": "no-store"}).encode()
    parts = [b"Content-Type: application/json\r\n\r\n" + meta, b"Content-Type: image/png\r\n\r\n\x89PNG\r\n"]
    data = b"".join(b"--cut\r\n" + part + b"\r\n" for part in parts) + b"--cut--\r\n"
    request = Request("POST", HOST, f"upload/{OBJECTS}", {"uploadType": "multipart"}, data, 'multipart/related; boundary="cut"')
    made: Any = cloud.handle(request).body
    assert (made["contentType"], made["metadata"], made["cacheControl"]) == ("image/png", {"step": "7"}, "no-store")
    assert ask("GET", HOST, f"{OBJECTS}/x", alt="media").body == b"\x89PNG\r\n"
    assert cloud.handle(Request("POST", HOST, f"upload/{OBJECTS}", {"uploadType": "multipart"}, b"", "multipart/related")).status == 400


def test_a_resumable_upload_has_two_halves(cloud: Cloud, ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    begun = ask("POST", HOST, f"upload/{OBJECTS}", {"contentType": "text/css"}, uploadType="resumable", name="x", ifGenerationMatch="0")
    path, _, query = begun.headers["Location"].removeprefix(f"/{HOST}/").partition("?")
    pairs = dict(pair.split("=") for pair in query.split("&"))
    made: Any = cloud.handle(Request("PUT", HOST, path, pairs, b"{}", "application/json")).body
    assert (begun.status, made["contentType"], made["size"]) == (200, "text/css", "2")
    assert cloud.handle(Request("PUT", HOST, path, pairs, b"{}")).status == 404


def test_over_http_the_second_half_has_an_address_and_bytes_come_back(cloud: Cloud, make: Callable[..., Answer]) -> None:
    make()

    async def session() -> None:
        transport = httpx.ASGITransport(app=Server(cloud))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9") as client:
            begun = await client.post(f"/{HOST}/upload/{OBJECTS}?uploadType=resumable&name=a%2Fb", json={})
            assert begun.headers["Location"].startswith(f"http://127.0.0.1:9/{HOST}/upload/storage/v1/b/data/o?")
            assert (await client.put(begun.headers["Location"], content=b"\x00\x01")).json()["name"] == "a/b"
            read = await client.get(f"/{HOST}/download/{OBJECTS}/a%2Fb?alt=media")
            assert (read.content, read.headers["Content-Type"]) == (b"\x00\x01", "application/octet-stream")
            asked = await client.get(f"/{HOST}/{DATA}/iam/testPermissions?permissions=a&permissions=b&alt=json")
            assert asked.json()["permissions"] == ["a", "b"]

    asyncio.run(session())


def test_an_object_is_made_only_once_where_that_is_asked(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make()
    first = put("x", ifGenerationMatch="0").body
    again = put("x", ifGenerationMatch="0")
    said = "At least one of the pre-conditions you specified did not hold."
    assert (again.status, again.body["error"]["message"]) == (412, said)
    second = put("x", b"y", ifGenerationMatch=first["generation"]).body
    assert int(second["generation"]) > int(first["generation"])
    assert ask("DELETE", HOST, f"{OBJECTS}/x", ifGenerationMatch=first["generation"]).status == 412
    unchanged = ask("GET", HOST, f"{OBJECTS}/x", ifGenerationNotMatch=second["generation"])
    assert (unchanged.status, unchanged.body) == (304, None)


def test_versions_are_kept_where_the_bucket_keeps_them(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make(versioning={"enabled": True})
    first = put("x", b"1").body["generation"]
    put("x", b"2")
    assert ask("GET", HOST, f"{OBJECTS}/x", alt="media").body == b"2"
    assert ask("GET", HOST, f"{OBJECTS}/x", alt="media", generation=first).body == b"1"
    assert len(ask("GET", HOST, OBJECTS).body["items"]) == 1
    assert ["timeDeleted" in item for item in ask("GET", HOST, OBJECTS, versions="true").body["items"]] == [True, False]
    ask("PATCH", HOST, DATA, {"versioning": {"enabled": False}})
    put("x", b"3")
    assert len(ask("GET", HOST, OBJECTS, versions="true").body["items"]) == 2


def test_a_delimiter_makes_folders_of_names(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make()
    for name in ("a/1", "a/2", "a/b/3", "c", "ab"):
        put(name)
    top = ask("GET", HOST, OBJECTS, delimiter="/").body
    assert ([item["name"] for item in top["items"]], top["prefixes"]) == (["ab", "c"], ["a/"])
    deep = ask("GET", HOST, OBJECTS, delimiter="/", prefix="a/").body
    assert ([item["name"] for item in deep["items"]], deep["prefixes"]) == (["a/1", "a/2"], ["a/b/"])
    assert ask("GET", HOST, OBJECTS, prefix="z").body == {"kind": "storage#objects"}
    names = []
    token = ""
    while token is not None:
        page = ask("GET", HOST, OBJECTS, maxResults="2", pageToken=token).body
        names += [item["name"] for item in page["items"]]
        token = page.get("nextPageToken")
    assert names == ["a/1", "a/2", "a/b/3", "ab", "c"]


def test_an_object_is_not_inside_another(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make()
    put("a")
    put("a/b")
    ask("DELETE", HOST, f"{OBJECTS}/a")
    assert ask("GET", HOST, f"{OBJECTS}/a%2Fb", alt="media").body == b"x"


def test_an_objects_metadata_changes_and_its_bytes_stay(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make()
    made = put("x").body
    changed = ask("PATCH", HOST, f"{OBJECTS}/x", {"metadata": {"a": "1"}, "size": "99"}).body
    assert (changed["metadata"], changed["metageneration"], changed["size"]) == ({"a": "1"}, "2", "1")
    assert changed["generation"] == made["generation"]
    assert "metadata" not in ask("PUT", HOST, f"{OBJECTS}/x", {"contentType": "text/css"}).body


@pytest.mark.parametrize("word", ["copyTo", "rewriteTo"])
def test_a_copy_has_the_bytes_and_what_is_said_of_them(
    ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer], word: str
) -> None:
    make()
    make("other")
    put("dir/x", b"123")
    answer = ask("POST", HOST, f"{OBJECTS}/dir%2Fx/{word}/b/other/o/y%2Fz").body
    copied = answer if word == "copyTo" else answer["resource"]
    assert (copied["bucket"], copied["name"], copied["contentType"]) == ("other", "y/z", "text/plain")
    assert ask("GET", HOST, "storage/v1/b/other/o/y%2Fz", alt="media").body == b"123"
    assert (word == "copyTo") or (answer["done"], answer["totalBytesRewritten"]) == (True, "3")


def test_objects_are_moved_and_put_together(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make()
    put("a", b"1")
    put("b", b"2")
    ask("POST", HOST, f"{OBJECTS}/b/moveTo/o/c")
    assert ask("GET", HOST, f"{OBJECTS}/b").status == 404
    ask("POST", HOST, f"{OBJECTS}/all/compose", {"sourceObjects": [{"name": "a"}, {"name": "c"}]})
    assert ask("GET", HOST, f"{OBJECTS}/all", alt="media").body == b"12"


def test_a_managed_folder_is_known_with_and_without_its_slash(ask: Ask, make: Callable[..., Answer], put: Callable[..., Answer]) -> None:
    make()
    made = ask("POST", HOST, f"{DATA}/managedFolders", {"name": "team"}).body
    assert (made["name"], made["selfLink"]) == ("team/", "https://www.googleapis.com/storage/v1/b/data/managedFolders/team%2F")
    assert ask("GET", HOST, f"{DATA}/managedFolders/team").body == made
    assert ask("GET", HOST, f"{DATA}/managedFolders").body == {"kind": "storage#managedFolders", "items": [made]}
    listed = ask("GET", HOST, OBJECTS, delimiter="/", includeFoldersAsPrefixes="True").body
    assert listed["prefixes"] == ["team/"]
    path = f"{DATA}/managedFolders/team"
    bindings = [{"role": "roles/storage.objectViewer", "members": ["user:a@shop.example"]}]
    written = ask("PUT", HOST, f"{path}/iam", {"bindings": bindings}).body
    assert written == ask("GET", HOST, f"{path}%2F/iam").body
    assert written["resourceId"] == "projects/_/buckets/data/managedFolders/team/"
    put("team/x")
    assert ask("DELETE", HOST, f"{DATA}/managedFolders/team%2F").status == 409
    assert ask("DELETE", HOST, f"{DATA}/managedFolders/team%2F", allowNonEmpty="true").status == 204
    assert ask("GET", HOST, f"{path}/iam").status == 404


def test_folders_are_for_hierarchical_buckets_each_in_its_parent(ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    make("deep", iamConfiguration={"uniformBucketLevelAccess": {"enabled": True}}, hierarchicalNamespace={"enabled": True})
    assert ask("POST", HOST, f"{DATA}/folders", {"name": "a/"}).status == 409
    folders = "storage/v1/b/deep/folders"
    assert ask("POST", HOST, folders, {"name": "a/b/"}).status == 404
    assert ask("POST", HOST, folders, {"name": "a/b/"}, recursive="true").body["name"] == "a/b/"
    assert [item["name"] for item in ask("GET", HOST, folders).body["items"]] == ["a/", "a/b/"]
    assert ask("DELETE", HOST, f"{folders}/a%2F").status == 409
    assert ask("POST", HOST, folders, {"name": "a/b"}).status == 409


def test_a_notification_names_a_topic_that_is_there(ask: Ask, make: Callable[..., Answer]) -> None:
    make()
    topic = "projects/shop-prod/topics/news"
    path = f"{DATA}/notificationConfigs"
    assert ask("POST", HOST, path, {"topic": topic}).status == 400
    ask("PUT", "pubsub.googleapis.com", f"v1/{topic}", {})
    made = ask("POST", HOST, path, {"topic": topic, "payload_format": "NONE"}).body
    assert (made["id"], made["topic"], made["payload_format"]) == ("1", f"//pubsub.googleapis.com/{topic}", "NONE")
    assert ask("GET", HOST, path).body["items"] == [made]
    assert ask("DELETE", HOST, f"{path}/1").status == 204
    assert ask("GET", HOST, f"{path}/1").body["error"]["message"] == "The specified key does not exist."


def test_a_project_has_a_service_agent(cloud: Cloud, ask: Ask) -> None:
    number = cloud.projects.number("shop-prod")
    agent = ask("GET", HOST, "storage/v1/projects/{project}/serviceAccount").body["email_address"]
    assert agent == f"service-{number}@gs-project-accounts.iam.gserviceaccount.com"
