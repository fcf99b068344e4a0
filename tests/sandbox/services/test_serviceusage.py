"""Which APIs a project of the sandbox has on, and what a call of one that is off is told."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sandbox.cloud import Cloud

HOST = "serviceusage.googleapis.com"
SERVICES = "v1/projects/{project}/services"
TPU = "tpu.googleapis.com"
NODES = "v2/projects/{project}/locations/us-central1-a/nodes"


def test_every_api_of_the_sandbox_is_on(ask: Any, cloud: Cloud) -> None:
    listed = ask("GET", HOST, SERVICES, filter="state:ENABLED", pageSize="200").body["services"]

    assert {one["name"].rpartition("/")[2] for one in listed} >= set(cloud.services)
    assert ask("GET", HOST, SERVICES, filter="state:DISABLED").body == {}
    number = cloud.projects.number("shop-prod")
    assert ask("GET", HOST, f"{SERVICES}/{TPU}").body == {
        "name": f"projects/{number}/services/{TPU}",
        "parent": f"projects/{number}",
        "state": "ENABLED",
        "config": {"name": TPU, "title": "Cloud TPU API"},
    }


def test_list_comes_by_pages(ask: Any) -> None:
    whole = ask("GET", HOST, SERVICES, pageSize="200").body["services"]

    first = ask("GET", HOST, SERVICES, pageSize="3").body
    second = ask("GET", HOST, SERVICES, pageSize="200", pageToken=first["nextPageToken"]).body

    assert first["services"] + second["services"] == whole
    assert "nextPageToken" not in second
    assert ask("GET", HOST, SERVICES, filter="name:tpu").status == 400


def test_call_of_a_disabled_api_is_refused_in_googles_words(ask: Any, done: Any, cloud: Cloud) -> None:
    number = cloud.projects.number("shop-prod")
    assert ask("GET", TPU, NODES).status == 200

    off = done(HOST, "v1", ask("POST", HOST, f"{SERVICES}/{TPU}:disable")).body["response"]["service"]
    refused = ask("GET", TPU, NODES)

    assert off["state"] == "DISABLED"
    error = refused.body["error"]
    link = f"https://console.developers.google.com/apis/api/{TPU}/overview?project={number}"
    assert (refused.status, error["status"]) == (403, "PERMISSION_DENIED")
    assert error["message"].startswith(
        f"Cloud TPU API has not been used in project {number} before or it is disabled. Enable it by visiting {link} then retry."
    )
    info = error["details"][0]
    assert (info["reason"], info["metadata"]["service"], info["metadata"]["consumer"]) == ("SERVICE_DISABLED", TPU, f"projects/{number}")


def test_enabled_api_answers_again(ask: Any, done: Any) -> None:
    done(HOST, "v1", ask("POST", HOST, f"{SERVICES}/{TPU}:disable"))

    started = ask("POST", HOST, f"{SERVICES}/{TPU}:enable")

    assert "done" not in started.body
    assert done(HOST, "v1", started).body["response"]["service"]["state"] == "ENABLED"
    assert ask("GET", TPU, NODES).status == 200


def test_what_is_on_is_enabled_at_once_and_what_is_off_not_disabled_again(ask: Any) -> None:
    assert ask("POST", HOST, f"{SERVICES}/{TPU}:enable").body["done"] is True
    ask("POST", HOST, f"{SERVICES}/{TPU}:disable")
    assert ask("POST", HOST, f"{SERVICES}/{TPU}:disable").body["error"]["status"] == "FAILED_PRECONDITION"


def test_many_are_enabled_and_asked_for_at_once(ask: Any, done: Any) -> None:
    names = ["runtimeconfig.googleapis.com", "dns.googleapis.com"]

    done(HOST, "v1", ask("POST", HOST, f"{SERVICES}:batchEnable", {"serviceIds": names}))

    got = ask("GET", HOST, f"{SERVICES}:batchGet", names=",".join(f"projects/shop-prod/services/{name}" for name in [*names, TPU]))
    assert [one["state"] for one in got.body["services"]] == ["ENABLED"] * 3
    assert ask("POST", HOST, f"{SERVICES}:batchEnable", {"serviceIds": []}).status == 400
    assert ask("POST", HOST, f"{SERVICES}:batchEnable", {"serviceIds": [f"s{count}.example.com" for count in range(21)]}).status == 400


def test_project_that_was_made_by_a_call_has_few_apis_on(ask: Any) -> None:
    ask("POST", "cloudresourcemanager.googleapis.com", "v1/projects", {"projectId": "shop-test"})

    states = {name: ask("GET", HOST, f"v1/projects/shop-test/services/{name}.googleapis.com").body["state"] for name in ("logging", "tpu")}

    assert states == {"logging": "ENABLED", "tpu": "DISABLED"}


@pytest.mark.parametrize(
    ("service", "domain"), [("container", "container-engine-robot"), ("pubsub", "gcp-sa-pubsub"), ("run", "serverless-robot-prod")]
)
def test_identity_of_a_service(ask: Any, cloud: Cloud, service: str, domain: str) -> None:
    answer = ask("POST", HOST, f"v1beta1/projects/{{project}}/services/{service}.googleapis.com:generateServiceIdentity").body

    assert answer["done"] is True
    assert answer["response"]["email"] == f"service-{cloud.projects.number('shop-prod')}@{domain}.iam.gserviceaccount.com"
