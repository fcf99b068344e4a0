"""Building images: what is sent, what comes of it, and what is said where it cannot be."""

from __future__ import annotations

import io
import json
import re
import stat
import tarfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.errors import MachineError, SpecError
from infra.operate import images
from infra.operate.images import BuildError, CloudBuild, LocalBuild, archive, build, check, names, tag
from infra.provider.google import Google, Settings
from infra.sandbox.services.storage import objects
from tests.in_process import InProcess

PROJECT = "tw-shop-ml"
PREFIX = f"us-east5-docker.pkg.dev/{PROJECT}/images"
HOST = "http://sandbox"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one image."""
    folder = tmp_path / "checkout" / "workloads" / "images" / "serve"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("FROM x\nCOPY requirements/image-serve.lock lock\nCOPY workloads workloads\n")
    (folder.parents[1] / "a.py").write_text("a = 1\n")
    (folder.parents[1] / "__pycache__").mkdir()
    (folder.parents[1] / "__pycache__" / "a.pyc").write_bytes(b"x")
    (tmp_path / "checkout" / "requirements").mkdir()
    (tmp_path / "checkout" / "requirements" / "image-serve.lock").write_text("a==1\n")
    (tmp_path / "checkout" / "secret.txt").write_text("x")
    return tmp_path / "checkout"


@pytest.fixture
def sent() -> list[httpx.Request]:
    return []


@pytest.fixture
def google(sent: list[httpx.Request]) -> Iterator[Google]:
    """A sandbox with a bucket and a repository."""
    sandbox = InProcess(PROJECT)

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return sandbox(request)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    found = Google(Settings(HOST), lambda _: False, http=http, time=lambda: 0.0)
    found.call("storage.v1", "buckets.insert", project=PROJECT, body={"name": "models", "location": "us-east5"})
    parent = f"projects/{PROJECT}/locations/us-east5"
    made = found.call(
        "artifactregistry.v1", "projects.locations.repositories.create", parent=parent, repositoryId="images", body={"format": "DOCKER"}
    )
    found.finished("artifactregistry.v1", made)
    yield found
    http.close()
    sandbox.close()


def test_a_source_is_what_the_dockerfile_copies(root: Path) -> None:
    """Nothing else, and the same bytes for the same files."""
    source = archive("serve", root)
    with tarfile.open(fileobj=io.BytesIO(source)) as tar:
        assert tar.getnames() == ["requirements/image-serve.lock", "workloads/a.py", "workloads/images/serve/Dockerfile"]
    for path in root.rglob("*.py"):
        path.touch()
    assert archive("serve", root) == source
    (root / "workloads" / "a.py").write_text("a = 2\n")
    assert tag(archive("serve", root)) != tag(source)


def test_what_is_hidden_is_not_sent(root: Path) -> None:
    """Somebody's secrets and an editor's files would be in a layer."""
    source = archive("serve", root)
    (root / "workloads" / ".env").write_text("TOKEN=x")
    (root / "workloads" / ".ipynb_checkpoints").mkdir()
    (root / "workloads" / ".ipynb_checkpoints" / "a.py").write_text("x")
    assert archive("serve", root) == source


def test_fails_for_a_file_that_is_not_there(root: Path) -> None:
    """It is named, with what brings it back."""
    (root / "requirements" / "image-serve.lock").unlink()
    with pytest.raises(MachineError, match=r"image-serve.lock: cannot be read, .* serve .*\n  fix: git checkout requirements/"):
        archive("serve", root)


@pytest.mark.parametrize("name", names())
def test_every_image_of_this_checkout_can_be_packed(name: str) -> None:
    """Within a few megabytes: no virtual environment, no cache."""
    assert 0 < len(archive(name)) < 5_000_000


def test_cloud_build_is_asked_for_verified_provenance(google: Google, root: Path, sent: list[httpx.Request]) -> None:
    """The source goes to the stack's bucket, the build says which generation, and its digest comes back as a reference."""
    said: list[str] = []
    (built,) = build(CloudBuild(google, PROJECT, "us-east5", "models", PREFIX, root=root), ["serve", "serve"], said.append)
    asked = next(request for request in sent if request.url.path.endswith("/builds") and request.method == "POST")
    body: dict[str, Any] = json.loads(asked.content)

    assert re.fullmatch(rf"{PREFIX}/serve@sha256:[0-9a-f]{{64}}", built.reference)
    assert built.tag == f"{PREFIX}/serve:{tag(archive('serve', root))}"
    assert "built nothing" in built.said
    assert body["options"] == {"requestedVerifyOption": "VERIFIED", "sourceProvenanceHash": ["SHA256"], "logging": "CLOUD_LOGGING_ONLY"}
    assert body["steps"][0]["args"] == ["build", "--file", "workloads/images/serve/Dockerfile", "--tag", built.tag, "."]
    assert int(body["source"]["storageSource"]["generation"]) > 0
    assert body["images"] == [built.tag]
    assert "serviceAccount" not in body
    assert said[0].startswith("serve: 0.0 MB of source to gs://models/.accelform/sources/serve-src-")


def test_the_same_source_is_the_same_reference(google: Google, root: Path) -> None:
    """A second build of it changes nothing; another source is another reference."""
    builder = CloudBuild(google, PROJECT, "us-east5", "models", PREFIX, "builds@tw-shop-ml.iam.gserviceaccount.com", root)
    first, again = (builder.build("serve", lambda _: None).reference for _ in range(2))
    (root / "workloads" / "a.py").write_text("a = 2\n")

    assert first == again
    assert builder.build("serve", lambda _: None).reference != first


def test_fails_with_the_reason_of_the_build(google: Google, root: Path) -> None:
    """A repository that is not there is named, with where the log is."""
    builder = CloudBuild(google, PROJECT, "us-east5", "models", PREFIX.replace("images", "others"), root=root)

    with pytest.raises(BuildError, match=r"serve: the build ended with FAILURE: the repository of .* is not there\n  log: https://"):
        list(build(builder, ["serve"], lambda _: None))


def test_fails_without_a_bucket(google: Google, root: Path) -> None:
    """What Google refuses is an error of the build."""
    with pytest.raises(BuildError, match="serve: "):
        list(build(CloudBuild(google, PROJECT, "us-east5", "nowhere", PREFIX, root=root), ["serve"], lambda _: None))


def sources(google: Google) -> list[str]:
    """Names of sources that are in the bucket, earlier generations among them."""
    return [one["name"] for one in google.pages("storage.v1", "objects.list", "items", bucket="models", versions=True)]


@pytest.mark.parametrize("prefix", [PREFIX, PREFIX.replace("images", "others")])
def test_no_source_is_left(google: Google, root: Path, prefix: str) -> None:
    """However its build ends; not even as an earlier version of the object. Nor that of a command that was killed the day before."""
    body = MediaInMemoryUpload(b"old", mimetype="application/gzip")
    google.call("storage.v1", "objects.insert", bucket="models", name=f"{images.SOURCES}/train-src-0.tar.gz", media_body=body)
    google.call("storage.v1", "objects.insert", bucket="models", name="jobs/train/report.json", media_body=body)
    builder = CloudBuild(google, PROJECT, "us-east5", "models", prefix, root=root)
    with nullcontext() if prefix == PREFIX else pytest.raises(BuildError):
        builder.build("serve", lambda _: None)
    assert sources(google) == [f"{images.SOURCES}/train-src-0.tar.gz", "jobs/train/report.json"]
    google.time = lambda: time.time() + 25 * 3600
    (root / "workloads" / "a.py").write_text("a = 3\n")
    with nullcontext() if prefix == PREFIX else pytest.raises(BuildError):
        builder.build("serve", lambda _: None)
    assert sources(google) == ["jobs/train/report.json"]


def test_no_source_is_left_on_any_page(google: Google, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket may list them in several."""
    monkeypatch.setattr(objects, "PAGE", 1)
    for number in range(3):
        body = MediaInMemoryUpload(b"old", mimetype="application/gzip")
        google.call("storage.v1", "objects.insert", bucket="models", name=f"{images.SOURCES}/train-src-{number}.tar.gz", media_body=body)
    google.time = lambda: time.time() + 25 * 3600
    CloudBuild(google, PROJECT, "us-east5", "models", PREFIX, root=root).build("serve", lambda _: None)
    assert sources(google) == []


def test_a_build_that_is_interrupted_is_cancelled(google: Google, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it, and its source is gone."""

    def interrupted(*words: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(google, "awaited", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CloudBuild(google, PROJECT, "us-east5", "models", PREFIX, root=root).build("serve", lambda _: None)
    parent = f"projects/{PROJECT}/locations/us-east5"
    (build,) = google.call(images.API, "projects.locations.builds.list", parent=parent)["builds"]
    assert (build["status"], sources(google)) == ("CANCELLED", [])


DIGEST = f"sha256:{'cd' * 32}"


@pytest.mark.parametrize("tool", [None, "docker"])
def test_what_was_built_before_is_not_built_again(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Any) -> None:
    """The repository lets no tag move: a second push of it would be refused, after all of the build."""
    a_tool(tmp_path / "bin", "docker", code=1)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        where = f"projects/{PROJECT}/locations/us-east5/repositories/images/packages/serve"
        return httpx.Response(200, json={"version": f"{where}/versions/{DIGEST}"})

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        google = Google(Settings(HOST), lambda _: False, http=http, time=lambda: 0.0)
        one = LocalBuild(tool, PREFIX, root, google) if tool else CloudBuild(google, PROJECT, "us-east5", "models", PREFIX, root=root)
        (built,) = build(one, ["serve"], lambda _: None)
    assert (built.reference, built.said) == (f"{PREFIX}/serve@{DIGEST}", images.SAME)
    tag_of = f"projects/{PROJECT}/locations/us-east5/repositories/images/packages/serve/tags/{tag(archive('serve', root))}"
    assert asked == [f"GET /artifactregistry.googleapis.com/v1/{tag_of}"]


@pytest.mark.parametrize("said", [{}, {"version": "x"}, {"version": f"a/{DIGEST}x"}, {"version": 3}])
def test_an_odd_answer_is_no_image(root: Path, said: dict[str, Any]) -> None:
    with httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, json=said))) as http:
        google = Google(Settings(HOST), lambda _: False, http=http, time=lambda: 0.0)
        assert images.pushed(google, PREFIX, "serve", "src-0") == ""


def test_the_stacks_own_account_builds_where_there_is_one(google: Google) -> None:
    """Else nobody is named, and Cloud Build takes the project's own."""
    email = f"try-builder@{PROJECT}.iam.gserviceaccount.com"
    assert images.account_of(google, PROJECT, email) == ""
    google.call("iam.v1", "projects.serviceAccounts.create", name=f"projects/{PROJECT}", body={"accountId": "try-builder"})
    assert images.account_of(google, PROJECT, email) == email


SCRIPT = """#!/bin/sh
echo "$@" >> "{log}"
[ "$1" = push ] || exit {code}
case "$2" in
  --digestfile) echo "sha256:{digest}" > "$3";;
  *) echo "src: digest: sha256:{digest} size: 1234";;
esac
"""


def a_tool(folder: Path, name: str, *, code: int = 0) -> Path:
    """A program of that name, which writes down what it is asked."""
    folder.mkdir(exist_ok=True)
    log = folder / f"{name}.log"
    (folder / name).write_text(SCRIPT.format(log=log, digest="ab" * 32, code=code))
    (folder / name).chmod(stat.S_IRWXU)
    return log


@pytest.mark.parametrize("tool", images.TOOLS)
def test_a_tool_of_this_machine_builds_and_pushes(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Any) -> None:
    """Each is asked in its own words; the digest is that of what was pushed."""
    log = a_tool(tmp_path / "bin", tool)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    built = LocalBuild(tool, PREFIX, root).build("serve", lambda _: None)
    lines = log.read_text().splitlines()

    assert built.reference == f"{PREFIX}/serve@sha256:{'ab' * 32}"
    # Whatever this machine's own processor is.
    assert re.fullmatch(
        rf"build --platform linux/amd64 --file \S+/workloads/images/serve/Dockerfile --tag {built.tag} \S+/context", lines[0]
    )
    assert lines[1].startswith("push ")
    assert lines[1].endswith(built.tag)


def test_fails_with_the_last_words_of_a_tool(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_tool(tmp_path / "bin", "docker", code=7)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    with pytest.raises(BuildError, match="docker build ended with 7"):
        LocalBuild("docker", PREFIX, root).build("serve", lambda _: None)


def test_fails_for_a_tool_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names one that is."""
    a_tool(tmp_path / "bin", "podman")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(MachineError, match="docker is not on this machine\n  fix: install it, or --with podman"):
        LocalBuild("docker", PREFIX)


@pytest.mark.parametrize("wanted", [["sreve"], ["serve", ""], ["../serve"], ["SERVE"], ["\ud800"], [], ["x" * 5000]])
def test_fails_for_a_name_that_is_no_image(wanted: list[str]) -> None:
    """It names those that there are."""
    with pytest.raises(SpecError) as raised:
        check(wanted)
    assert "serve" in str(raised.value)
    assert len(str(raised.value)) < 500


def test_fails_outside_of_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="build images in a checkout"):
        check(["serve"], tmp_path)
