"""Cloud Build: how builds end, and that what they say of it is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.sandbox.cloud import Answer, Cloud, Request
from tests.sandbox.conftest import PROJECT

HOST = "cloudbuild.googleapis.com"
BUILDS = "v1/projects/{project}/locations/us-east5/builds"
IMAGE = f"us-east5-docker.pkg.dev/{PROJECT}/images/serve"

Ask = Callable[..., Answer]
Done = Callable[[str, str, Answer], Answer]


def build(**more: Any) -> dict[str, Any]:
    """A build of one image from an object."""
    source = {"storageSource": {"bucket": "sources", "object": "a.tar.gz"}}
    return {"source": source, "steps": [{"name": "gcr.io/cloud-builders/docker", "args": ["build", "."]}], "images": [f"{IMAGE}:1"], **more}


@pytest.fixture
def ready(ask: Ask, done: Done, cloud: Cloud) -> Callable[[bytes], None]:
    """A repository, a bucket, and what puts the source there."""
    host = "artifactregistry.googleapis.com"
    where = "v1/projects/{project}/locations/us-east5/repositories"
    done(host, "v1", ask("POST", host, where, {"format": "DOCKER"}, repositoryId="images"))
    ask("POST", "storage.googleapis.com", "storage/v1/b", {"name": "sources", "location": "us-east5"}, project=PROJECT)

    def put(content: bytes) -> None:
        query = {"uploadType": "media", "name": "a.tar.gz"}
        assert cloud.handle(Request("POST", "storage.googleapis.com", "upload/storage/v1/b/sources/o", query, content)).status == 200

    put(b"first")
    return put


@pytest.mark.usefixtures("ready")
def test_a_build_is_queued_and_ends_with_a_digest(ask: Ask, done: Done) -> None:
    """Its operation has the build inside, before and after; its state says that nothing was built."""
    begun = ask("POST", HOST, BUILDS, build())
    number = begun.body["metadata"]["build"]["id"]
    assert begun.body["metadata"]["build"]["status"] == "QUEUED"
    ended = done(HOST, "v1", begun).body["response"]
    got = ask("GET", HOST, f"{BUILDS}/{number}").body

    assert ended["status"] == got["status"] == "SUCCESS"
    assert got["name"].endswith(f"/locations/us-east5/builds/{number}")
    assert [image["name"] for image in got["results"]["images"]] == [f"{IMAGE}:1"]
    assert got["results"]["images"][0]["digest"].startswith("sha256:")
    assert "built nothing" in got["statusDetail"]
    assert [one["id"] for one in ask("GET", HOST, BUILDS).body["builds"]] == [number]


def test_the_digest_is_of_the_source(ask: Ask, done: Done, ready: Callable[[bytes], None]) -> None:
    """The same source has the same digest whatever its tag; another has another."""

    def digest(tag: str) -> str:
        ended = done(HOST, "v1", ask("POST", HOST, BUILDS, build(images=[f"{IMAGE}:{tag}"])))
        return str(ended.body["response"]["results"]["images"][0]["digest"])

    first, same = digest("1"), digest("2")
    ready(b"second")

    assert first == same
    assert digest("2") != first


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"source": {"storageSource": {"bucket": "sources", "object": "b.tar.gz"}}}, "FETCH_SOURCE_FAILED"),
        ({"images": [f"us-east5-docker.pkg.dev/{PROJECT}/others/serve:1"]}, "PUSH_FAILED"),
        ({"images": ["serve:1"]}, "PUSH_FAILED"),
    ],
)
def test_fails_without_its_source_or_repository(ask: Ask, done: Done, change: dict[str, Any], kind: str) -> None:
    """The build stays, with what failed; its operation ends with an error."""
    ended = done(HOST, "v1", ask("POST", HOST, BUILDS, build(**change)))
    got = ask("GET", HOST, f"{BUILDS}/{ended.body['metadata']['build']['id']}").body

    assert "error" in ended.body
    assert (got["status"], got["failureInfo"]["type"]) == ("FAILURE", kind)
    assert "results" not in got


@pytest.mark.usefixtures("ready")
def test_a_build_is_no_resource_that_is_left_over(ask: Ask, cloud: Cloud) -> None:
    """No method deletes a build: a stack that is gone leaves it, as at Google's."""
    ask("POST", HOST, BUILDS, build())

    assert [one["own"] for one in cloud.resources() if one["service"] == HOST] == [True]


@pytest.mark.usefixtures("ready")
def test_a_build_is_cancelled(ask: Ask) -> None:
    """It ends at once, and stays so."""
    name = ask("POST", HOST, BUILDS, build()).body["metadata"]["build"]["name"]

    assert ask("POST", HOST, f"v1/{name}:cancel", {}).body["status"] == "CANCELLED"
    assert ask("GET", HOST, f"v1/{name}").body["status"] == "CANCELLED"


def test_fails_without_a_step(ask: Ask) -> None:
    assert ask("POST", HOST, BUILDS, {"images": []}).status == 400


def test_what_is_not_here_says_so(ask: Ask) -> None:
    """Nothing is kept that would be no worker pool."""
    assert ask("POST", HOST, "v1/projects/{project}/locations/us-east5/workerPools", {}, workerPoolId="a").status == 501
