"""Lists, filters, places, operations and the two versions."""

from __future__ import annotations

from typing import Any

import pytest

LINK = "https://www.googleapis.com/compute/v1/projects/shop-prod/"


def test_empty_list_has_no_items(compute: Any) -> None:
    expected = {
        "kind": "compute#addressList",
        "id": "projects/shop-prod/regions/us-east5/addresses",
        "selfLink": LINK + "regions/us-east5/addresses",
    }

    assert compute.get("regions/us-east5/addresses") == expected


def test_list_comes_by_pages(compute: Any) -> None:
    for name in ("a", "b", "c"):
        compute.make("global/addresses", {"name": name})

    first = compute.get("global/addresses", maxResults="2")
    second = compute.get("global/addresses", maxResults="2", pageToken=first["nextPageToken"])

    assert [item["name"] for item in first["items"] + second["items"]] == ["a", "b", "c"]
    assert "nextPageToken" not in second


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("name eq b", ["b"]),
        ("name = b", ["b"]),
        ("name eq [ab]", ["a", "b"]),
        ("(name ne a)", ["b"]),
        ('name eq "(b|c).*"', ["b"]),
        ("labels.tier:*", ["a"]),
        ("(name = a) (labels.tier = x)", ["a"]),
    ],
)
def test_list_is_filtered(compute: Any, asked: str, names: list[str]) -> None:
    compute.make("global/addresses", {"name": "a", "labels": {"tier": "x"}})
    compute.make("global/addresses", {"name": "b"})

    assert [item["name"] for item in compute.get("global/addresses", filter=asked)["items"]] == names


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("what?", "what?"),
        ('name eq "("', 'name eq "("'),
        ("name = a OR name = b", "OR name = b"),
        ("(name = a", "(name = a"),
        ("no = a", "no = a"),
    ],
)
def test_filter_that_is_not_read_is_refused_by_its_text(compute: Any, asked: str, named: str) -> None:
    compute.make("global/addresses", {"name": "a"})

    status, said, _ = compute.refused("GET", "global/addresses", filter=asked)

    assert status == 501
    assert said.endswith(f": {named}")


def test_list_is_by_name_or_by_time(compute: Any) -> None:
    for name in ("b", "a"):
        compute.make("global/addresses", {"name": name})

    for order, names in (("", "ab"), ("name desc", "ba"), ("creationTimestamp desc", "ab"), ("creationTimestamp", "ba")):
        assert "".join(item["name"] for item in compute.get("global/addresses", orderBy=order)["items"]) == names
    assert compute.refused("GET", "global/addresses", orderBy="nothing")[0] == 501


def test_aggregated_list_names_every_place(compute: Any) -> None:
    """A place without anything says so. Source: recorded traffic."""
    compute.make("regions/us-east5/addresses", {"name": "a"})

    items = compute.get("aggregated/addresses")["items"]

    assert [item["name"] for item in items["regions/us-east5"]["addresses"]] == ["a"]
    assert items["zones/us-east5-a"] == {
        "warning": {
            "code": "NO_RESULTS_ON_PAGE",
            "message": "No results for the scope 'zones/us-east5-a'.",
            "data": [{"key": "scope", "value": "zones/us-east5-a"}],
        }
    }
    assert "global" in items


def test_aggregated_list_has_subnetworks_that_nobody_read(compute: Any) -> None:
    items = compute.get("aggregated/subnetworks")["items"]

    assert [item["name"] for item in items["regions/asia-east1"]["subnetworks"]] == ["default"]
    assert "warning" in items["regions/me-central2"]


def test_operation_runs_then_is_done(compute: Any) -> None:
    """Its shape. Source: recorded traffic."""
    started = compute.ask("POST", "regions/us-east5/addresses", {"name": "a"}).body

    assert (started["status"], started["progress"], started["operationType"]) == ("RUNNING", 0, "insert")
    assert started["region"] == LINK + "regions/us-east5"
    assert started["targetLink"] == LINK + "regions/us-east5/addresses/a"
    assert started["selfLink"] == LINK + "regions/us-east5/operations/" + started["name"]
    assert "endTime" not in started
    ended = compute.ask("POST", f"regions/us-east5/operations/{started['name']}/wait").body
    assert (ended["status"], ended["progress"]) == ("DONE", 100)
    assert ended["targetId"] == compute.get("regions/us-east5/addresses/a")["id"]


def test_beta_answers_with_beta_addresses(compute: Any) -> None:
    """One store for both versions; v1 takes fields of the beta too."""
    compute.make("global/addresses", {"name": "a"})

    found = compute.ask("GET", "global/addresses/a", version="beta").body

    assert found["selfLink"] == LINK.replace("/v1/", "/beta/") + "global/addresses/a"
    assert found["id"] == compute.get("global/addresses/a")["id"]


def test_zone_and_region_are_those_of_the_catalogue(compute: Any) -> None:
    zone = compute.get("zones/us-east5-a")

    assert (zone["status"], zone["region"]) == ("UP", LINK + "regions/us-east5")
    assert LINK + "zones/us-east5-a" in compute.get("regions/us-east5")["zones"]
    assert compute.refused("GET", "zones/us-east5-x")[0] == 404
    assert compute.refused("GET", "regions/us-east99")[0] == 404


def test_machine_types_of_a_zone_are_those_of_the_catalogue(compute: Any) -> None:
    names = [item["name"] for item in compute.get("zones/us-east5-a/machineTypes")["items"]]

    assert "ct6e-standard-4t" in names
    only = compute.get("zones/us-east5-a/machineTypes", filter="name = ct6e-standard-4t")["items"]
    assert [item["name"] for item in only] == ["ct6e-standard-4t"]
    assert compute.get("zones/us-east5-a/machineTypes/ct6e-standard-4t")["zone"] == "us-east5-a"
    assert compute.refused("GET", "zones/us-west8-a/machineTypes/ct6e-standard-4t")[0] == 404


def test_machine_types_with_gpus_are_there_too(compute: Any) -> None:
    """As the catalogue's zones of GPUs say; N1 is not among them, and what only a weak source has is not either."""
    names = [item["name"] for item in compute.get("zones/asia-east1-a/machineTypes")["items"]]

    assert {"g2-standard-4", "g2-standard-96"} <= set(names)
    assert not [name for name in names if name.startswith("n1")]
    assert compute.get("zones/us-central1-b/machineTypes", filter='name eq "a4x-maxgpu.*"').get("items") is None


def test_accelerator_types_of_a_zone_are_those_of_the_catalogue(compute: Any) -> None:
    names = [item["name"] for item in compute.get("zones/asia-east1-a/acceleratorTypes")["items"]]

    assert names == ["nvidia-l4", "nvidia-tesla-p100", "nvidia-tesla-t4"]
    one = compute.get("zones/asia-east1-a/acceleratorTypes/nvidia-l4")
    assert one["selfLink"] == LINK + "zones/asia-east1-a/acceleratorTypes/nvidia-l4"
    assert compute.refused("GET", "zones/asia-east1-a/acceleratorTypes/nvidia-b200")[0] == 404
    assert compute.refused("GET", "zones/us-west8-a/acceleratorTypes")[0] == 404


@pytest.mark.parametrize(("word", "name"), [("machineTypes", "ct6e-standard-4t"), ("acceleratorTypes", "nvidia-l4")])
def test_a_list_over_all_zones_has_what_each_zone_has(compute: Any, word: str, name: str) -> None:
    every = compute.get(f"aggregated/{word}", filter=f"name = {name}")["items"]

    zones = {scope.removeprefix("zones/") for scope, found in every.items() if word in found}
    assert len(zones) > 10
    for zone in zones:
        assert [item["name"] for item in compute.get(f"zones/{zone}/{word}", filter=f"name = {name}")["items"]] == [name]
    assert every["zones/us-central2-b"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"
    assert every["regions/us-east5"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"


@pytest.mark.parametrize("place", ["zones/us-east5-a", "regions/us-east5"])
def test_disk_types_are_there(compute: Any, place: str) -> None:
    found = compute.get(f"{place}/diskTypes/hyperdisk-ml")

    assert found["selfLink"] == LINK + f"{place}/diskTypes/hyperdisk-ml"
    assert found in compute.get(f"{place}/diskTypes")["items"]
    assert compute.refused("GET", f"{place}/diskTypes/floppy")[0] == 404


def test_project_is_found_by_number(compute: Any, cloud: Any, ask: Any) -> None:
    found = ask("GET", "compute.googleapis.com", f"compute/v1/projects/{cloud.projects.number('shop-prod')}").body

    assert found["name"] == "shop-prod"
    assert found["defaultServiceAccount"] == f"{cloud.projects.number('shop-prod')}-compute@developer.gserviceaccount.com"


def test_unknown_project_is_refused(compute: Any, ask: Any) -> None:
    answer = ask("GET", "compute.googleapis.com", "compute/v1/projects/nobody/global/networks")

    assert answer.status == 403
    assert "status" not in answer.body["error"]


def test_public_project_is_only_read(compute: Any, ask: Any) -> None:
    answer = ask("POST", "compute.googleapis.com", "compute/v1/projects/debian-cloud/global/networks", {"name": "mine"})

    assert answer.status == 403


def test_labels_need_the_current_fingerprint(compute: Any) -> None:
    """Source of the words: Google's answers in public issue threads."""
    made = compute.make("global/addresses", {"name": "a", "labels": {"one": "1"}})
    said = "Labels fingerprint either invalid or resource labels have changed"

    stale = {"labels": {"two": "2"}, "labelFingerprint": "AAAAAAAAAAA="}
    assert compute.refused("POST", "global/addresses/a/setLabels", stale) == (412, said, "conditionNotMet")
    compute.do("POST", "global/addresses/a/setLabels", stale | {"labelFingerprint": made["labelFingerprint"]})
    after = compute.get("global/addresses/a")
    assert after["labels"] == {"two": "2"}
    assert after["labelFingerprint"] != made["labelFingerprint"]
