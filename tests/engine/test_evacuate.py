"""A region that is left by the files that `accelform evacuate` writes: the new one comes up, data and model are copied, the old one goes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from infra import names
from tests.engine.region import ROOT, Region

Make = Callable[[dict[str, Any]], Region]
pytestmark = pytest.mark.soak
PROJECT = "tw-shop-ml"
APART = {"gcp:project": "shop-apart"}
"""The fixture's own file is of no project that is left: stacks of one project are of one environment."""
SECONDS = 60


class Cloud:
    """What the commands that are printed do, by the calls that they make."""

    def __init__(self, here: Region) -> None:
        self._client = httpx.Client(base_url=here.base, trust_env=False, timeout=SECONDS)

    def __enter__(self) -> Cloud:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def call(self, http: str, path: str, **arguments: Any) -> Any:
        answer = self._client.request(http, path, **arguments)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else {}

    def put(self, bucket: str, *objects: str) -> None:
        for name in objects:
            query = {"uploadType": "media", "name": name}
            self.call("POST", f"/storage.googleapis.com/upload/storage/v1/b/{bucket}/o", params=query, content=name.encode())

    def names(self, bucket: str) -> set[str]:
        found = self.call("GET", f"/storage.googleapis.com/storage/v1/b/{bucket}/o")
        return {one["name"] for one in found.get("items", [])}

    def rsync(self, source: str, target: str) -> None:
        """`gcloud storage rsync --exclude='^\\.accelform/'`: objects are rewritten in the cloud."""
        for name in self.names(source):
            if not name.startswith(".accelform/"):
                path = quote(name, safe="")
                self.call("POST", f"/storage.googleapis.com/storage/v1/b/{source}/o/{path}/rewriteTo/b/{target}/o/{path}", json={})

    def upload(self, region: str, model: str, image: str, files: str) -> None:
        """`gcloud ai models upload`, with the alias by which endpoints find it."""
        container = {"imageUri": image, "ports": [{"containerPort": 8080}], "predictRoute": "/predict", "healthRoute": "/health"}
        body = {"displayName": model, "artifactUri": files, "containerSpec": container, "versionAliases": ["champion"]}
        parent = f"/{region}-aiplatform.googleapis.com/v1/projects/{PROJECT}/locations/{region}"
        done = self.call("POST", f"{parent}/models:upload", json={"modelId": model, "model": body})
        while not done.get("done"):
            done = self.call("GET", f"/{region}-aiplatform.googleapis.com/v1/{done['name']}")
        assert "error" not in done, done

    def endpoint(self, region: str, stack: str, name: str) -> Any:
        number = names.endpoint_id(PROJECT, stack, name)
        return self.call("GET", f"/{region}-aiplatform.googleapis.com/v1/projects/{PROJECT}/locations/{region}/endpoints/{number}")


def checkout(here: Region, *stacks: str) -> None:
    """Stack files of this project, in the checkout; commands name them, so that the fixture's own is left alone."""
    for stack in stacks:
        shutil.copy(ROOT / "stacks" / f"Pulumi.{stack}.yaml", here.folder / "stacks")


def of(made: list[str], stack: str) -> list[str]:
    """What stands of a stack that has it in its name, without who may do what with it, and what the sandbox keeps of objects besides."""
    return [one for one in made if stack in one and not one.startswith(("policies/", "storage bytes/"))]


def test_a_region_with_a_job_and_an_endpoint_is_left(base: dict[str, Any], region: Make) -> None:
    """Data is protected there: the old region goes but for what the command names, until a person takes that away too."""
    here = region(base | APART)
    checkout(here, "asia-east1")
    old, new, to = "asia-east1", "asia-northeast1", "asia-northeast1"
    assert here.accelform("up", old, "--json").code == 0
    with Cloud(here) as cloud:
        cloud.put(f"{PROJECT}-{old}-data", "clicks/1.csv", "pictures/2.png")
        cloud.put(f"{PROJECT}-{old}-models", "jobs/train/1/model.keras", f".accelform/holds/{old}.json")
        told = here.accelform("evacuate", old, "--to", to, "--json")
        assert told.code == 0, told.out + told.err
        assert here.accelform("check", new).code == 0
        up = here.accelform("up", new, "--json")
        assert up.code == 0, up.out + up.err

        for purpose in ("data", "models"):
            cloud.rsync(f"{PROJECT}-{old}-{purpose}", f"{PROJECT}-{new}-{purpose}")
        assert cloud.names(f"{PROJECT}-{new}-data") == {"clicks/1.csv", "pictures/2.png"}
        assert cloud.names(f"{PROJECT}-{new}-models") == {"jobs/train/1/model.keras"}
        image = f"{to}-docker.pkg.dev/{PROJECT}/{new}-images/serve@sha256:{64 * '0'}"
        cloud.upload(to, f"{new}-recommender", image, f"gs://{PROJECT}-{new}-models/jobs/train/1")
        again = here.pulumi("up", "--refresh", "--yes", "--skip-preview", "--stack", new, "--non-interactive")
        assert again.code == 0, again.out + again.err
        answers = cloud.endpoint(to, new, "recommend")
        assert [one["modelVersionId"] for one in answers["deployedModels"]] == ["1"]
        assert here.accelform("up", new, "--json").changes.keys() == {"same"}

        destroy = next(step["commands"] for step in told.json["steps"] if "destroy" in "".join(step["commands"]))[0].split()
        gone = here.pulumi(*destroy[1:], "--yes", "--skip-preview", "--non-interactive")
        assert gone.code == 0, gone.out + gone.err
        subprocess.run(["git", "rm", "--quiet", "--force", "--ignore-unmatch", f"stacks/Pulumi.{old}.yaml"], cwd=here.folder, check=True)
        (here.folder / "stacks" / f"Pulumi.{old}.yaml").unlink(missing_ok=True)
        assert cloud.endpoint(to, new, "recommend")["deployedModels"] == answers["deployedModels"]
    left = {one.partition("/o/")[0] for one in of(here.made(), f"{old}-")}
    assert left == {
        f"storage.googleapis.com/b/{PROJECT}-{old}-data",
        f"storage.googleapis.com/b/{PROJECT}-{old}-models",
        f"artifactregistry.googleapis.com/projects/{PROJECT}/locations/{old}/repositories/{old}-images",
    }
    assert {Path(one).name for one in left} == {Path(one).name for one in told.json["stays"]}
    down = here.accelform("down", "--json")
    assert (down.code, down.json["left"]) == (0, []), down.out + down.err


def test_a_region_with_a_cluster_is_left_with_what_lives_in_it(base: dict[str, Any], region: Make) -> None:
    """Two files, of which the region lacks one pool: a person takes it out, and the service that asks for it."""
    here = region(base | APART)
    checkout(here, "us-central1", "us-central1-apps")
    assert here.accelform("up", "us-central1", "us-central1-apps").code == 0
    lacks = here.accelform("evacuate", "us-central1", "--to", "us-east4", "--dry-run", "--json")
    assert lacks.code == 3
    assert [one["path"] for one in lacks.json["files"][0]["undecided"]] == ["node_pools.a100-parts.zones"]
    out = ["node_pools.a100-parts=", "usage.resources.a100-parts=", "us-east4-apps:services.tags="]
    told = here.accelform("evacuate", "us-central1", "--to", "us-east4", "--json", *(part for one in out for part in ("--set", one)))
    assert told.code == 0, told.out + told.err
    up = here.accelform("up", "us-east4", "us-east4-apps", "--json")
    assert up.code == 0, up.out + up.err
    gone = here.accelform("down", "us-central1", "us-central1-apps", "--json")
    assert gone.code == 0, gone.out + gone.err
    assert not of(here.made(), "us-central1")
    assert here.accelform("up", "us-east4", "us-east4-apps", "--json").changes.keys() == {"same"}
    down = here.accelform("down", "--json")
    assert (down.code, down.json["left"]) == (0, []), down.out + down.err
