"""Projects, folders and tags of the sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.cloud import Cloud

HOST = "cloudresourcemanager.googleapis.com"
NEW = {"projectId": "shop-test", "name": "Shop test", "labels": {"team": "ml"}, "parent": {"type": "folder", "id": "77"}}


def test_project_in_the_words_of_v1_and_v3(ask: Any, cloud: Cloud) -> None:
    number = cloud.projects.number("shop-prod")

    one = ask("GET", HOST, "v1/projects/{project}").body
    three = ask("GET", HOST, f"v3/projects/{number}").body

    assert (one["projectId"], one["projectNumber"], one["lifecycleState"]) == ("shop-prod", number, "ACTIVE")
    assert (three["name"], three["projectId"], three["state"]) == (f"projects/{number}", "shop-prod", "ACTIVE")
    assert ask("GET", HOST, f"v1/projects/{number}").body == one


def test_project_that_is_not_there_is_refused_as_one_that_may_not_be_seen(ask: Any) -> None:
    answer = ask("GET", HOST, "v1/projects/shop-test")

    assert (answer.status, answer.body["error"]["message"]) == (403, "The caller does not have permission")


def test_project_is_made_by_an_operation_and_has_no_billing(ask: Any, done: Any) -> None:
    started = ask("POST", HOST, "v1/projects", NEW)

    assert "done" not in started.body
    ended = done(HOST, "v1", started).body
    assert ended["metadata"]["ready"] is True
    assert ended["response"] == {"@type": "type.googleapis.com/google.cloudresourcemanager.v1.Project"} | ended["response"] | NEW
    info = ask("GET", "cloudbilling.googleapis.com", "v1/projects/shop-test/billingInfo").body
    assert info == {"name": "projects/shop-test/billingInfo", "projectId": "shop-test", "billingAccountName": "", "billingEnabled": False}


@pytest.mark.parametrize(
    ("field", "value"), [("projectId", "Shop"), ("projectId", "shop-"), ("projectId", "s" * 31), ("name", "a"), ("name", "x/y/z")]
)
def test_project_id_and_name(ask: Any, field: str, value: str) -> None:
    assert ask("POST", HOST, "v1/projects", NEW | {field: value}).status == 400


def test_deleted_project_is_shown_keeps_its_id_and_answers_for_nothing(ask: Any, done: Any) -> None:
    done(HOST, "v1", ask("POST", HOST, "v1/projects", NEW))

    assert ask("DELETE", HOST, "v1/projects/shop-test").body == {}

    assert ask("GET", HOST, "v1/projects/shop-test").body["lifecycleState"] == "DELETE_REQUESTED"
    assert ask("POST", HOST, "v1/projects", NEW).status == 409
    assert ask("GET", "iam.googleapis.com", "v1/projects/shop-test/serviceAccounts").status == 403
    assert ask("PUT", HOST, "v1/projects/shop-test", NEW).status == 400
    ask("POST", HOST, "v1/projects/shop-test:undelete")
    assert ask("GET", "iam.googleapis.com", "v1/projects/shop-test/serviceAccounts").status == 200


def test_project_is_changed_by_put_in_v1_and_by_mask_in_v3(ask: Any, done: Any) -> None:
    done(HOST, "v1", ask("POST", HOST, "v1/projects", NEW))

    whole = ask("PUT", HOST, "v1/projects/shop-test", NEW | {"name": "Shop two", "labels": {}}).body
    part = done(HOST, "v3", ask("PATCH", HOST, "v3/projects/shop-test", {"labels": {"a": "b"}, "displayName": "no"}, updateMask="labels"))

    assert (whole["name"], whole.get("labels")) == ("Shop two", None)
    assert (part.body["response"]["displayName"], part.body["response"]["labels"]) == ("Shop two", {"a": "b"})
    assert part.body["response"]["parent"] == "folders/77"
    assert ask("PATCH", HOST, "v3/projects/shop-test", {}, updateMask="project_id").status == 400


def test_projects_are_listed_by_parent_and_filter(ask: Any, done: Any) -> None:
    done(HOST, "v1", ask("POST", HOST, "v1/projects", NEW))

    assert [one["projectId"] for one in ask("GET", HOST, "v3/projects", parent="folders/77").body["projects"]] == ["shop-test"]
    assert [one["projectId"] for one in ask("GET", HOST, "v1/projects", filter="id:shop-prod").body["projects"]] == ["shop-prod"]
    assert ask("GET", HOST, "v1/projects", filter="labels.team:web").body == {}


def test_policy_is_changed_by_whoever_read_it_last(ask: Any) -> None:
    binding = {"role": "roles/viewer", "members": ["user:one@shop.example"]}
    first = ask("POST", HOST, "v1/projects/{project}:getIamPolicy").body["etag"]

    done = ask("POST", HOST, "v1/projects/{project}:setIamPolicy", {"policy": {"bindings": [binding], "etag": first}})
    late = ask("POST", HOST, "v1/projects/{project}:setIamPolicy", {"policy": {"bindings": [], "etag": first}})

    assert done.body["bindings"] == [binding]
    assert (late.status, late.body["error"]["status"]) == (409, "ABORTED")


@pytest.mark.parametrize("parent", [{}, {"type": "folder"}, {"id": "12"}, {"type": "shop", "id": "12"}])
def test_a_parent_without_type_or_id_is_refused(ask: Any, parent: dict[str, str]) -> None:
    body = {"projectId": "shop-new", "parent": parent}
    assert ask("POST", HOST, "v1/projects", body).status == 400
    assert ask("GET", HOST, "v1/projects/shop-new").status == 403


def test_audit_configs_of_a_policy_stay(ask: Any) -> None:
    audit = [{"service": "allServices", "auditLogConfigs": [{"logType": "DATA_READ"}]}]

    assert ask("POST", HOST, "v1/organizations/12:setIamPolicy", {"policy": {"auditConfigs": audit}}).body["auditConfigs"] == audit


def _folder(ask: Any, done: Any, name: str, parent: str) -> str:
    made = done(HOST, "v1", ask("POST", HOST, "v3/folders", {"displayName": name, "parent": parent})).body["response"]
    folder: str = made["name"]
    return folder


def test_folder_is_found_moved_and_deleted_when_it_is_empty(ask: Any, done: Any) -> None:
    outer = _folder(ask, done, "Machine learning", "organizations/12")
    inner = _folder(ask, done, "Training", outer)

    found = ask("GET", HOST, "v3/folders:search", query='state=ACTIVE AND displayName="Machine*"').body["folders"]
    assert [folder["name"] for folder in found] == [outer]
    assert ask("DELETE", HOST, f"v3/{outer}").body["error"]["status"] == "FAILED_PRECONDITION"
    moved = done(HOST, "v3", ask("POST", HOST, f"v3/{inner}:move", {"destinationParent": "organizations/12"}))
    assert moved.body["response"]["parent"] == "organizations/12"
    assert moved.body["metadata"]["@type"].endswith(".MoveFolderMetadata")
    assert ask("DELETE", HOST, f"v3/{outer}").body["response"]["state"] == "DELETE_REQUESTED"
    assert ask("GET", HOST, "v3/folders", parent="organizations/12").body["folders"][0]["name"] == inner


def test_folders_of_one_parent_have_different_names(ask: Any, done: Any) -> None:
    _folder(ask, done, "Training", "organizations/12")

    assert ask("POST", HOST, "v3/folders", {"displayName": "Training", "parent": "organizations/12"}).status == 400
    assert ask("POST", HOST, "v3/folders", {"displayName": "Training", "parent": "organizations/13"}).status == 200


def _key(ask: Any, done: Any) -> Any:
    return done(HOST, "v3", ask("POST", HOST, "v3/tagKeys", {"parent": "projects/shop-prod", "shortName": "env"})).body["response"]


def test_tag_key_stands_under_the_projects_number(ask: Any, done: Any, cloud: Cloud) -> None:
    key = _key(ask, done)

    assert key["parent"] == f"projects/{cloud.projects.number('shop-prod')}"
    assert key["namespacedName"] == "shop-prod/env"
    assert ask("GET", HOST, "v3/tagKeys/namespaced", name="shop-prod/env").body["name"] == key["name"]
    assert ask("GET", HOST, "v3/tagKeys", parent="projects/shop-prod").body["tagKeys"][0]["name"] == key["name"]
    assert ask("POST", HOST, "v3/tagKeys", {"parent": "projects/shop-prod", "shortName": "env"}).status == 409


def test_tags_are_deleted_from_the_binding_up(ask: Any, done: Any, cloud: Cloud) -> None:
    key = _key(ask, done)
    value = done(HOST, "v3", ask("POST", HOST, "v3/tagValues", {"parent": key["name"], "shortName": "prod"})).body["response"]
    bound = {"parent": f"//{HOST}/projects/{cloud.projects.number('shop-prod')}", "tagValue": value["name"]}
    binding = ask("POST", HOST, "v3/tagBindings", bound).body["response"]

    assert value["namespacedName"] == "shop-prod/env/prod"
    assert ask("DELETE", HOST, f"v3/{key['name']}").status == 400
    assert ask("DELETE", HOST, f"v3/{value['name']}").status == 400
    assert ask("GET", HOST, "v3/tagBindings", parent=bound["parent"]).body["tagBindings"][0]["name"] == binding["name"]
    assert ask("DELETE", HOST, f"v3/{binding['name']}").body["done"] is True
    assert done(HOST, "v3", ask("DELETE", HOST, f"v3/{value['name']}")).body["response"]["name"] == value["name"]
    assert done(HOST, "v3", ask("DELETE", HOST, f"v3/{key['name']}")).body["response"]["name"] == key["name"]
    assert ask("GET", HOST, f"v3/{key['name']}").status == 403


def test_tag_is_described_by_whoever_read_it_last(ask: Any, done: Any) -> None:
    key = _key(ask, done)
    path = f"v3/{key['name']}"

    assert ask("PATCH", HOST, path, {"description": "a", "etag": key["etag"]}).body["response"]["description"] == "a"
    assert ask("PATCH", HOST, path, {"description": "b", "etag": key["etag"]}).status == 409


def test_only_the_sandboxs_own_projects_come_with_it(ask: Any, done: Any, cloud: Cloud) -> None:
    done(HOST, "v1", ask("POST", HOST, "v1/projects", NEW))

    def others() -> list[str]:
        return [one["name"] for one in cloud.resources() if not one["own"]]

    assert others() == ["projects/shop-test"]
    ask("DELETE", HOST, "v1/projects/shop-test")
    assert others() == []
