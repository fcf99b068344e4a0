"""What stands already is taken by the real engine, and nothing of it is changed: a lost state, and what others made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.engine.region import STACK, Region

pytestmark = pytest.mark.soak

P = "projects/tw-shop-ml"


def send(region: Region, path: str, body: Any, **query: str) -> Any:
    """One call to the sandbox's cloud, as somebody else makes it."""
    answer = httpx.post(f"{region.base}/{path}", json=body, params=query, trust_env=False)
    return answer.raise_for_status().json() if answer.content else None


def things(region: Region, *arguments: str) -> dict[str, list[dict[str, str]]]:
    """What an import says, by what became of each thing."""
    ran = region.accelform("import", *arguments, "--json")
    assert ran.code == 0, ran.out + ran.err
    found: dict[str, list[dict[str, str]]] = {}
    for one in ran.json["things"]:
        found.setdefault(one["how"], []).append(one)
    return found


def test_a_lost_state_is_found_again(region: Callable[[dict[str, Any]], Region], everything: dict[str, Any]) -> None:
    """
    All that stands is adopted, grants and resources of the accelform provider too; what is gone stays a create; what nobody declares any
    more is told. Nothing is changed, and the next preview is empty.
    """
    here = region(everything)
    count = here.accelform("up", "--json").changes["create"]
    label = {"labels": {"accelform-stack": STACK}, "name": "tw-shop-ml-forgotten", "location": "us-east5"}
    send(here, "storage.googleapis.com/storage/v1/b", label, project="tw-shop-ml")
    before = here.made()
    assert here.pulumi("stack", "rm", STACK, "--force", "--yes", "--preserve-config").code == 0
    endpoints = everything["accelform:endpoints"]
    here.write(everything | {"accelform:endpoints": endpoints | {"new": {"callers": []}}})

    found = things(here, "--stack", STACK)
    assert [one["name"] for one in found["stays a create"]] == ["new"]
    assert [one["id"] for one in found["left over"]] == ["tw-shop-ml-forgotten"]
    assert {one["type"].partition(":")[0] for one in found["adopted"]} == {"gcp", "accelform"}
    assert sorted(path.name for path in (here.folder / "stacks").glob("*.json")) == ["try.import-first.json", "try.import.json"]

    changes = here.accelform("up", "--json").changes
    assert changes == {"create": 2, "same": count}  # the new endpoint, and its group
    assert set(here.made()) > set(before)
    assert set(here.accelform("up", "--json").changes) == {"same"}
    assert [path.name for path in (here.folder / "stacks").glob("*.json")] == []


def test_what_others_made_is_named_and_only_read(region: Callable[[dict[str, Any]], Region], base: dict[str, Any]) -> None:
    """Each thing is `existing` in a file that passes; the update reads, and makes only what the file says besides."""
    here = region(base)
    here.accelform("up", "--json")
    send(here, "storage.googleapis.com/storage/v1/b", {"name": "shop-data", "location": "us-east5"}, project="tw-shop-ml")
    send(here, "storage.googleapis.com/storage/v1/b", {"name": "shop-far-data", "location": "us-east4"}, project="tw-shop-ml")
    where = f"{P}/locations/us-east5"
    send(here, f"aiplatform.googleapis.com/v1/{where}/endpoints", {"displayName": "What's next?"}, endpointId="77")
    send(here, f"artifactregistry.googleapis.com/v1/{where}/repositories", {"format": "DOCKER"}, repositoryId="theirs")
    channel = {"type": "email", "labels": {"email_address": "a@shop.example"}, "displayName": "a"}
    send(here, f"monitoring.googleapis.com/v3/{P}/notificationChannels", channel)
    made = here.made()

    options = ["--stack", "theirs", "--project", "tw-shop-ml", "--region", "us-east5", "--environment", "dev", "--owner", "ml"]
    found = things(here, *options)
    assert {one["name"] for one in found["read only"]} == {
        "storage.data",
        "storage.images",
        "endpoints.what-s-next",
        "budgets.try-monthly",
        "notify",
    }
    assert any(one["name"] == "shop-far-data" and "stands in us-east4" in one["why"] for one in found["not taken"])
    assert [one["name"] for one in found["stays a create"]] == ["models"]
    assert here.made() == made
    text = (here.folder / "stacks" / "Pulumi.theirs.yaml").read_text(encoding="utf-8")
    assert here.accelform("check", "theirs").code in (0, 4), text

    ran = here.accelform("up", "theirs", "--json")
    assert ran.code == 0, ran.err
    changes = json.loads(ran.out)["stacks"][0]["changes"]
    assert set(changes) <= {"create", "same", "read"}
    own = {one for one in set(here.made()) - set(made) if not one.startswith("policies/")}
    assert own == {"storage.googleapis.com/b/tw-shop-ml-theirs-models"}
    again = json.loads(here.accelform("up", "theirs", "--json").out)["stacks"][0]["changes"]
    assert not {"create", "update", "replace", "delete"} & set(again)
    assert here.accelform("down", "theirs").code == 0
    assert here.made() == made
