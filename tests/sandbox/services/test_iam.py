"""Service accounts, keys, roles and workload identity pools of the sandbox."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud

HOST = "iam.googleapis.com"
ACCOUNTS = "v1/projects/{project}/serviceAccounts"
EMAIL = "acc-node@shop-prod.iam.gserviceaccount.com"
POOLS = "v1/projects/{project}/locations/global/workloadIdentityPools"


def _make(ask: Any, account: str = "acc-node", **fields: str) -> Answer:
    answer: Answer = ask("POST", HOST, ACCOUNTS, {"accountId": account, "serviceAccount": fields})
    return answer


def test_account_is_named_by_email_and_has_a_number(ask: Any) -> None:
    body = _make(ask, displayName="Accelerator nodes").body

    assert body["name"] == f"projects/shop-prod/serviceAccounts/{EMAIL}"
    assert (body["email"], body["projectId"], body["displayName"]) == (EMAIL, "shop-prod", "Accelerator nodes")
    assert len(body["uniqueId"]) == 21
    assert body["oauth2ClientId"] == body["uniqueId"]
    assert ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}").body == body


@pytest.mark.parametrize("project", ["-", "shop-prod", "number"])
@pytest.mark.parametrize("by", ["email", "uniqueId"])
def test_account_is_found_by_email_and_number_in_any_project(ask: Any, cloud: Cloud, project: str, by: str) -> None:
    body = _make(ask).body
    project = cloud.projects.number("shop-prod") if project == "number" else project

    assert ask("GET", HOST, f"v1/projects/{project}/serviceAccounts/{body[by]}").body == body


@pytest.mark.parametrize("account", ["short", "x" * 31])
def test_account_id_has_6_to_30_letters(ask: Any, account: str) -> None:
    answer = _make(ask, account)

    assert answer.status == 400
    assert answer.body["error"]["message"] == f'The account ID "{account}" does not have a length between 6 and 30.'


@pytest.mark.parametrize("account", ["Acc-node", "1acc-node", "acc-node-", "acc_node"])
def test_account_id_is_a_name_of_rfc_1035(ask: Any, account: str) -> None:
    assert _make(ask, account).status == 400


def test_account_is_made_once(ask: Any) -> None:
    _make(ask)

    error = _make(ask).body["error"]

    assert (error["code"], error["status"], error["errors"][0]["reason"]) == (409, "ALREADY_EXISTS", "alreadyExists")
    assert error["message"] == "Service account acc-node already exists within project projects/shop-prod."


def test_a_project_has_room_for_100_accounts(ask: Any) -> None:
    for count in range(100):
        assert _make(ask, f"account-{count}").status == 200

    assert _make(ask).status == 429


def test_unknown_account_is_404_in_its_project_and_403_elsewhere(ask: Any) -> None:
    known = ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}")
    anywhere = ask("GET", HOST, f"v1/projects/-/serviceAccounts/{EMAIL}")

    assert (known.status, known.body["error"]["message"]) == (404, "Unknown service account")
    assert (anywhere.status, anywhere.body["error"]["status"]) == (403, "PERMISSION_DENIED")


def test_patch_answers_the_name_and_what_changed(ask: Any) -> None:
    before = _make(ask, displayName="One", description="first").body

    answer = ask("PATCH", HOST, f"{ACCOUNTS}/{EMAIL}", {"serviceAccount": {"displayName": "Two"}, "updateMask": "display_name"})

    assert answer.body == {"name": before["name"], "displayName": "Two"}
    after = ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}").body
    assert (after["displayName"], after["description"]) == ("Two", "first")
    assert after["etag"] != before["etag"]


@pytest.mark.parametrize("mask", ["", "email", "display_name,disabled"])
def test_patch_changes_names_only(ask: Any, mask: str) -> None:
    _make(ask)

    assert ask("PATCH", HOST, f"{ACCOUNTS}/{EMAIL}", {"serviceAccount": {"displayName": "Two"}, "updateMask": mask}).status == 400


def test_account_is_disabled_and_enabled(ask: Any) -> None:
    _make(ask)

    assert ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}:disable").body == {}
    assert ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}").body["disabled"] is True
    ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}:enable")
    assert "disabled" not in ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}").body


def _grant(ask: Any) -> None:
    binding = {"role": "roles/logging.logWriter", "members": [f"serviceAccount:{EMAIL}"]}
    answer = ask("POST", "cloudresourcemanager.googleapis.com", "v1/projects/{project}:setIamPolicy", {"policy": {"bindings": [binding]}})
    assert answer.status == 200


def _members(ask: Any) -> list[str]:
    policy = ask("POST", "cloudresourcemanager.googleapis.com", "v1/projects/{project}:getIamPolicy").body
    members: list[str] = policy["bindings"][0]["members"]
    return members


def test_grants_of_a_deleted_account_fit_nobody_who_comes_later(ask: Any) -> None:
    first = _make(ask).body["uniqueId"]
    _grant(ask)

    assert ask("DELETE", HOST, f"{ACCOUNTS}/{EMAIL}").body == {}

    second = _make(ask).body["uniqueId"]
    assert first != second
    assert _members(ask) == [f"deleted:serviceAccount:{EMAIL}?uid={first}"]


def test_undeleted_account_has_its_grants_again(ask: Any) -> None:
    unique = _make(ask).body["uniqueId"]
    _grant(ask)
    ask("DELETE", HOST, f"{ACCOUNTS}/{EMAIL}")

    answer = ask("POST", HOST, f"v1/projects/-/serviceAccounts/{unique}:undelete")

    assert answer.body["restoredAccount"]["email"] == EMAIL
    assert _members(ask) == [f"serviceAccount:{EMAIL}"]
    assert ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}").status == 200


def test_account_is_not_undeleted_under_a_taken_name_or_after_30_days(ask: Any, cloud: Cloud) -> None:
    unique = _make(ask).body["uniqueId"]
    ask("DELETE", HOST, f"{ACCOUNTS}/{EMAIL}")
    _make(ask)

    assert ask("POST", HOST, f"{ACCOUNTS}/{unique}:undelete").status == 409
    ask("DELETE", HOST, f"{ACCOUNTS}/{EMAIL}")
    cloud.clock.advance(31 * 86400)
    assert ask("POST", HOST, f"{ACCOUNTS}/{unique}:undelete").status == 404


def test_policy_of_an_account_that_is_not_there_is_not_found(ask: Any) -> None:
    binding = {"role": "roles/iam.workloadIdentityUser", "members": ["serviceAccount:shop-prod.svc.id.goog[serving/ranker]"]}

    assert ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}:setIamPolicy", {"policy": {"bindings": [binding]}}).status == 404
    _make(ask)
    assert ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}:getIamPolicy").body == {"etag": "ACAB"}
    assert ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}:setIamPolicy", {"policy": {"bindings": [binding]}}).body["bindings"] == [binding]


def test_key_shows_its_private_part_once(ask: Any) -> None:
    _make(ask)

    made = ask("POST", HOST, f"v1/projects/-/serviceAccounts/{EMAIL}/keys", {}).body

    assert json.loads(base64.b64decode(made["privateKeyData"]))["client_email"] == EMAIL
    assert (made["keyAlgorithm"], made["keyOrigin"], made["keyType"]) == ("KEY_ALG_RSA_2048", "GOOGLE_PROVIDED", "USER_MANAGED")
    kept = ask("GET", HOST, f"v1/{made['name']}").body
    assert made.items() - kept.items() == {("privateKeyType", made["privateKeyType"]), ("privateKeyData", made["privateKeyData"])}
    assert ask("GET", HOST, f"{ACCOUNTS}/{EMAIL}/keys").body == {"keys": [kept]}


def test_account_has_at_most_10_keys_and_they_go_with_it(ask: Any) -> None:
    _make(ask)
    *_, name = [ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}/keys", {}).body["name"] for _ in range(10)]

    assert ask("POST", HOST, f"{ACCOUNTS}/{EMAIL}/keys", {}).body["error"]["status"] == "FAILED_PRECONDITION"
    ask("DELETE", HOST, f"{ACCOUNTS}/{EMAIL}")
    assert ask("GET", HOST, f"v1/{name}").status == 404


ROLE = {"roleId": "tpuWatcher", "role": {"title": "TPU watcher", "stage": "GA", "includedPermissions": ["tpu.nodes.get"]}}


@pytest.mark.parametrize("parent", ["projects/shop-prod", "organizations/1234"])
def test_custom_role(ask: Any, parent: str) -> None:
    made = ask("POST", HOST, f"v1/{parent}/roles", ROLE).body

    assert made == {**ROLE["role"], "name": f"{parent}/roles/tpuWatcher", "etag": made["etag"]}  # type: ignore[dict-item]
    assert "includedPermissions" not in ask("GET", HOST, f"v1/{parent}/roles").body["roles"][0]
    assert ask("GET", HOST, f"v1/{parent}/roles", view="FULL").body["roles"] == [made]
    assert ask("POST", HOST, f"v1/{parent}/roles", ROLE).status == 409


def test_role_is_changed_by_its_mask_and_etag(ask: Any) -> None:
    made = ask("POST", HOST, "v1/projects/{project}/roles", ROLE).body
    path = f"v1/{made['name']}"

    after = ask("PATCH", HOST, path, {"title": "Watcher", "stage": "BETA", "etag": made["etag"]}, updateMask="title").body

    assert (after["title"], after["stage"]) == ("Watcher", "GA")
    assert ask("PATCH", HOST, path, {"title": "Late", "etag": made["etag"]}, updateMask="title").body["error"]["status"] == "ABORTED"


def test_deleted_role_stays_its_id_blocked_for_37_days(ask: Any, cloud: Cloud) -> None:
    name = ask("POST", HOST, "v1/projects/{project}/roles", ROLE).body["name"]

    assert ask("DELETE", HOST, f"v1/{name}").body["deleted"] is True
    refused = ask("POST", HOST, "v1/projects/{project}/roles", ROLE).body["error"]
    assert refused["message"] == "You can't create a role_id (tpuWatcher) which has been marked for deletion."
    assert ask("GET", HOST, "v1/projects/{project}/roles").body == {}
    assert "deleted" not in ask("POST", HOST, f"v1/{name}:undelete").body
    ask("DELETE", HOST, f"v1/{name}")
    cloud.clock.advance(8 * 86400)
    assert ask("POST", HOST, f"v1/{name}:undelete").status == 400
    cloud.clock.advance(30 * 86400)
    assert ask("POST", HOST, "v1/projects/{project}/roles", ROLE).status == 200


def test_predefined_roles(ask: Any) -> None:
    assert ask("GET", HOST, "v1/roles/tpu.admin").body == {"name": "roles/tpu.admin", "title": "TPU Admin", "stage": "GA"}
    assert {"roles/logging.logWriter", "roles/viewer"} <= {role["name"] for role in ask("GET", HOST, "v1/roles").body["roles"]}
    assert ask("GET", HOST, "v1/roles/tpu.emperor").status == 404


def _pool(ask: Any, done: Any, pool: str = "github") -> Any:
    return done(HOST, "v1", ask("POST", HOST, POOLS, {"displayName": "GitHub"}, workloadIdentityPoolId=pool)).body["response"]


def test_pool_and_provider_are_named_by_the_projects_number(ask: Any, done: Any, cloud: Cloud) -> None:
    number = cloud.projects.number("shop-prod")

    pool = _pool(ask, done)
    oidc = {"oidc": {"issuerUri": "https://token.actions.githubusercontent.com"}}
    made = done(HOST, "v1", ask("POST", HOST, f"{POOLS}/github/providers", oidc, workloadIdentityPoolProviderId="actions"))

    assert pool["name"] == f"projects/{number}/locations/global/workloadIdentityPools/github"
    assert (pool["displayName"], pool["state"]) == ("GitHub", "ACTIVE")
    assert made.body["response"]["name"] == f"{pool['name']}/providers/actions"
    assert ask("GET", HOST, f"v1/{pool['name']}/providers/actions").body["oidc"] == oidc["oidc"]


@pytest.mark.parametrize("pool", ["gcp-pool", "abc", "Pool", "x" * 33])
def test_pool_id(ask: Any, pool: str) -> None:
    assert ask("POST", HOST, POOLS, {}, workloadIdentityPoolId=pool).status == 400


@pytest.mark.parametrize("body", [{}, {"oidc": {"issuerUri": "http://issuer.example"}}, {"oidc": {}, "aws": {"accountId": "1"}}])
def test_provider_has_one_issuer(ask: Any, done: Any, body: dict[str, Any]) -> None:
    _pool(ask, done)

    assert ask("POST", HOST, f"{POOLS}/github/providers", body, workloadIdentityPoolProviderId="actions").status == 400


def test_deleted_pool_keeps_its_name_for_30_days(ask: Any, done: Any, cloud: Cloud) -> None:
    _pool(ask, done)

    gone = done(HOST, "v1", ask("DELETE", HOST, f"{POOLS}/github")).body["response"]

    assert gone["state"] == "DELETED"
    assert gone["expireTime"].startswith("2026-12-30")
    assert ask("GET", HOST, POOLS).body == {}
    assert len(ask("GET", HOST, POOLS, showDeleted="true").body["workloadIdentityPools"]) == 1
    assert ask("PATCH", HOST, f"{POOLS}/github", {"displayName": "x"}, updateMask="displayName").status == 400
    assert ask("POST", HOST, POOLS, {}, workloadIdentityPoolId="github").status == 409
    assert done(HOST, "v1", ask("POST", HOST, f"{POOLS}/github:undelete")).body["response"]["state"] == "ACTIVE"
    ask("DELETE", HOST, f"{POOLS}/github")
    cloud.clock.advance(31 * 86400)
    assert _pool(ask, done)["state"] == "ACTIVE"
