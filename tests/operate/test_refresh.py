"""The tables against live lists: of the sandbox, where nothing may differ, and of canned answers, where all that can go wrong does."""

from __future__ import annotations

import csv
import datetime as dt
import json
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httplib2
import pytest

from infra.catalog import gpu_machines, gpu_zones, tables, tpu, zones
from infra.catalog.table_file import edited
from infra.operate import live
from infra.operate.live import GPUS, GROUPS, LOCATIONS, MACHINES, RUNTIMES, TPU_TYPES, ZONES, Group, Listed, Live
from infra.operate.refresh import KEYS, Difference, Row, compare
from infra.sandbox.clock import Clock
from infra.sandbox.cloud import Cloud, Request

NOON = 1_796_040_000.0
TODAY = dt.date(2026, 12, 1)
PROJECT = "tw-shop-ml"

V6E = {"accelerator": "tpu-v6e", "zone": "us-east5-a", "region": "us-east5", "trust": "high", "capacity_types": "on-demand"}
V6E |= {"source": "a page", "capacity_source": "a page", "as_of": "2026-07", "notes": ""}
T4 = {"accelerator_type": "nvidia-tesla-t4", "series": "n1", "zone": "us-east4-a", "region": "us-east4", "trust": "high"}
T4 |= {"capacity_types": "on-demand;spot", "source": "a list", "as_of": "2026", "notes": "seen once"}
US_EAST5 = {"region": "us-east5", "trust": "high", "source": "a list", "as_of": "2026"}


def in_sandbox(region: str | None = None, groups: Sequence[Group] = GROUPS) -> Live:
    """The lists of a sandbox with nothing in it but what every sandbox has."""
    cloud = Cloud(clock=Clock(start=NOON, real=lambda: NOON))
    cloud.projects.make(PROJECT)
    one_at_a_time = threading.Lock()

    class Transport:
        def request(self, uri: str, method: str = "GET", **ignored: Any) -> tuple[httplib2.Response, bytes]:
            url = urlsplit(uri)
            with one_at_a_time:
                answer = cloud.handle(Request(method, url.netloc, url.path.lstrip("/"), dict(parse_qsl(url.query)), b""))
            return httplib2.Response({"status": answer.status, "content-type": "application/json"}), json.dumps(answer.body).encode()

    return live.look(Transport, PROJECT, groups, region=region)


@pytest.fixture(scope="module")
def stock() -> Live:
    return in_sandbox()


def only(**given: Sequence[Row]) -> Callable[[tables.Table], Sequence[Row]]:
    """Tables with these rows alone."""
    return lambda table: given.get(table, ())


def said(difference: Difference) -> list[tuple[str, ...]]:
    return [(one.kind, one.table, *one.key) for one in difference.changes]


def test_a_stock_sandbox_differs_in_nothing(stock: Live) -> None:
    """It serves the tables: every row is judged, and none is otherwise."""
    found = compare(stock, GROUPS, today=TODAY)

    assert not found
    assert found.silent == ()
    assert found.unchanged == {table: len(tables.rows(table)) for table in KEYS}
    assert set(found.unknown.values()) == {0}


@pytest.mark.parametrize(
    ("table", "key", "lists"),
    [
        ("zones", ("tpu-v6e", "us-east5-a"), (MACHINES, TPU_TYPES)),
        ("zones", ("tpu7x", "us-central1-ai1a"), (MACHINES,)),
        ("zones", ("tpu-v2-pod", "us-central1-a"), (TPU_TYPES,)),
        ("gpu_zones", ("nvidia-tesla-t4", "n1", "asia-east1-a"), (GPUS,)),
        ("gpu_zones", ("nvidia-l4", "g2-standard", "asia-east1-a"), (MACHINES,)),
        ("regions", ("asia-east1",), (ZONES,)),
    ],
)
def test_one_row_less_or_more_is_all_that_differs(stock: Live, table: tables.Table, key: tuple[str, ...], lists: tuple[str, ...]) -> None:
    """A row that a table lacks is new, one that it doubts is confirmed, and one of a place that no list has is gone: nothing else."""

    def with_row(change: Callable[[Row], list[Row]]) -> Difference:
        def read(asked: tables.Table) -> list[Row]:
            rows = tables.rows(asked)
            matches = [asked == table and tuple(row[column] for column in KEYS[table]) == key for row in rows]
            return [one for row, match in zip(rows, matches, strict=True) for one in (change(row) if match else [row])]

        return compare(stock, GROUPS, today=TODAY, tables=read)

    (new,) = with_row(lambda row: []).changes
    assert (new.kind, new.table, new.key, new.lists) == ("new", table, key, lists)
    (confirmed,) = with_row(lambda row: [{**row, "trust": "low"}]).changes
    assert (confirmed.kind, confirmed.key, confirmed.lists) == ("confirmed", key, lists)
    away = "us-west9" if table == "regions" else "us-west2-z"
    gone = with_row(lambda row: [row, {**row, KEYS[table][-1]: away}])
    assert said(gone) == [("gone", table, *key[:-1], away)]


def test_a_sandbox_asked_for_one_region_tells_that_region() -> None:
    """Only its zones are asked and only its rows are judged."""
    asked = in_sandbox("us-east5", ["tpus"])
    found = compare(asked, ["tpus"], today=TODAY, region="us-east5")

    assert set(asked[TPU_TYPES].names) == {"us-east5-a", "us-east5-b"}
    assert not found
    assert found.unchanged == {"zones": len([row for row in tables.rows("zones") if row["region"] == "us-east5"])}


def lists(**changed: Listed) -> Live:
    """All lists, without anything in them but what is given: `tpus`, `runtimes`, `machines`, `gpus` or `regions`."""
    names = {"tpus": TPU_TYPES, "runtimes": RUNTIMES, "machines": MACHINES, "gpus": GPUS, "regions": ZONES}
    return {method: changed.get(name, Listed()) for name, method in names.items()}


def at(**places: str) -> Listed:
    """What places have: `at(us_east5_a="v6e-8 v6e-4")`."""
    return Listed({place.replace("_", "-"): frozenset(names.split()) for place, names in places.items()})


def test_a_new_row_says_what_the_lists_tell_and_no_more() -> None:
    """How it is sold there is blank; its source names the method and no project."""
    found = compare(lists(machines=at(us_central1_ai1a="ct6e-standard-4t")), GROUPS, today=TODAY, tables=only())

    assert found.written("zones") == [
        {
            "accelerator": "tpu-v6e",
            "zone": "us-central1-ai1a",
            "region": "us-central1",
            "trust": "high",
            "capacity_types": "",
            "capacity_source": "",
            "source": "live list of compute.machineTypes.aggregatedList",
            "as_of": "2026-12-01",
            "notes": "",
        }
    ]


def test_a_confirmed_row_keeps_how_it_is_sold() -> None:
    """Trust, source and date change, and what the note doubted is gone."""
    low = V6E | {"trust": "low", "notes": "not on the page"}
    found = compare(lists(tpus=at(us_east5_a="v6e-8")), ["tpus"], today=TODAY, tables=only(zones=[low]))

    source = "live list of tpu.projects.locations.acceleratorTypes.list"
    assert found.written("zones") == [V6E | {"source": source, "as_of": "2026-12-01"}]


def test_a_row_that_no_list_has_is_marked_once() -> None:
    """Trust goes down one step, the note says of which list and when; the next look finds nothing to do; and it may come back."""
    found = compare(lists(), ["gpus"], today=TODAY, tables=only(gpu_zones=[T4]))

    note = "seen once; not in the live list of compute.acceleratorTypes.aggregatedList on 2026-12-01, as one project sees it"
    marked = T4 | {"trust": "medium", "notes": note}
    assert said(found) == [("gone", "gpu_zones", "nvidia-tesla-t4", "n1", "us-east4-a")]
    assert found.written("gpu_zones") == [marked]
    assert not compare(lists(), ["gpus"], today=TODAY, tables=only(gpu_zones=[marked]))
    back = compare(lists(gpus=at(us_east4_a="nvidia-tesla-t4")), ["gpus"], today=TODAY, tables=only(gpu_zones=[marked]))
    assert [(one["trust"], one["notes"]) for one in back.written("gpu_zones")] == [("high", "")]


def test_a_region_that_is_gone_is_shown_and_not_written() -> None:
    """Its table has no room for the mark."""
    found = compare(lists(), ["regions"], today=TODAY, tables=only(regions=[US_EAST5]))

    assert said(found) == [("gone", "regions", "us-east5")]
    assert found.written("regions") == []


def test_a_doubted_row_that_no_list_has_stays_doubted() -> None:
    """The lists agree with the doubt."""
    found = compare(lists(), ["tpus"], today=TODAY, tables=only(zones=[V6E | {"trust": "low"}]))

    assert not found
    assert found.unchanged == {"zones": 1}


REFUSED = live.Found("list", "unknown", "no", "try again")


@pytest.mark.parametrize(
    "changed",
    [
        {"machines": Listed(refused=REFUSED)},
        {"tpus": Listed(refused=REFUSED)},
        {"machines": Listed(silent={"us-east5-a": REFUSED})},
        {"tpus": Listed(silent={"us-east5-a": REFUSED})},
        {"machines": Listed(silent={"us-east5": REFUSED})},
    ],
    ids=["machines", "types", "machines of the zone", "types of the zone", "machines of the region"],
)
def test_nothing_is_gone_where_a_list_did_not_answer(changed: dict[str, Listed]) -> None:
    """Both APIs make v6e: one silent list is enough to leave the row alone; what another has still counts."""
    found = compare(lists(**changed), ["tpus"], today=TODAY, tables=only(zones=[V6E]))

    assert found.changes == ()
    assert (found.unchanged, found.unknown) == ({"zones": 0}, {"zones": 1})
    assert [one.found.message for one in found.silent] == ["no"]
    other = {"tpus": at(us_east5_a="v6e-1")} if "machines" in changed else {"machines": at(us_east5_a="ct6e-standard-1t")}
    assert compare(lists(**changed, **other), ["tpus"], today=TODAY, tables=only(zones=[V6E])).unchanged == {"zones": 1}


def test_a_silent_zone_spoils_no_other() -> None:
    """Of two zones that no list has, the one that answered is gone."""
    two = [V6E, V6E | {"zone": "us-east5-b"}]
    silent = Listed(silent={"us-east5-a": REFUSED})
    found = compare(lists(machines=silent), ["tpus"], today=TODAY, tables=only(zones=two))

    assert said(found) == [("gone", "zones", "tpu-v6e", "us-east5-b")]


def test_names_without_facts_are_never_rows() -> None:
    """A new generation's types and machines are told by name and zone; licences and TPUs in the list of GPUs are no news."""
    found = compare(
        lists(
            tpus=at(us_east5_a="v9z-8", us_east5_b="v9z-8"),
            machines=at(us_east5_a="ct9z-standard-4t a3-highgpu-1g-nolssd a5-ultragpu-8g"),
            gpus=at(us_east4_a="nvidia-gb999 nvidia-tesla-t4-vws nvidia-l4 ct6e nvidia-l4-vws"),
        ),
        GROUPS,
        today=TODAY,
        tables=only(),
    )

    assert found.changes == ()
    assert bool(found)
    assert [(one.method, one.name, one.zones) for one in found.names] == [
        (GPUS, "nvidia-gb999", ("us-east4-a",)),
        (MACHINES, "a3-highgpu-1g-nolssd", ("us-east5-a",)),
        (MACHINES, "a5-ultragpu-8g", ("us-east5-a",)),
        (MACHINES, "ct9z-standard-4t", ("us-east5-a",)),
        (TPU_TYPES, "v9z-8", ("us-east5-a", "us-east5-b")),
    ]


def test_a_runtime_that_a_zone_lacks_is_told() -> None:
    """Only of zones that list the accelerator and answered for runtimes."""
    listed = at(us_east5_a="v6e-8", us_east5_b="v6e-8 v5litepod-4", us_east5_c="v6e-8")
    runtimes = Listed({"us-east5-a": frozenset({"v2-alpha-tpuv6e"})}, {"us-east5-c": REFUSED})
    found = compare(lists(tpus=listed, runtimes=runtimes), ["tpus"], today=TODAY, tables=only())

    assert [(one.runtime, one.zones) for one in found.runtimes] == [
        ("v2-alpha-tpuv5-lite", ("us-east5-b",)),
        ("v2-alpha-tpuv6e", ("us-east5-b",)),
    ]


def test_a_difference_is_told_in_one_order() -> None:
    """New, confirmed, gone; then by table and key, however the lists came."""
    tables_of = only(zones=[V6E, V6E | {"zone": "us-east5-c", "trust": "low"}], gpu_zones=[T4])
    seen = lists(machines=at(us_west1_a="ct6e-standard-1t", us_east5_c="ct6e-standard-1t", us_east1_b="g2-standard-4"))
    turned = {method: seen[method] for method in reversed(list(seen))}

    found = compare(seen, GROUPS, today=TODAY, tables=tables_of)
    assert compare(turned, list(reversed(GROUPS)), today=TODAY, tables=tables_of) == found
    assert said(found) == [
        ("new", "zones", "tpu-v6e", "us-west1-a"),
        ("new", "gpu_zones", "nvidia-l4", "g2-standard", "us-east1-b"),
        ("confirmed", "zones", "tpu-v6e", "us-east5-c"),
        ("gone", "zones", "tpu-v6e", "us-east5-a"),
        ("gone", "gpu_zones", "nvidia-tesla-t4", "n1", "us-east4-a"),
    ]


def test_what_is_written_is_what_the_lists_said(stock: Live) -> None:
    """Half of each table is dropped and the rest doubted: written from the lists, it has the same keys, and then nothing differs."""
    texts = {}
    for table, key in KEYS.items():
        kept = [{**row, "trust": "low"} if index % 4 else row for index, row in enumerate(tables.rows(table)) if index % 2]
        found = compare(
            stock, GROUPS, today=TODAY, tables=lambda asked, table=table, kept=kept: kept if asked == table else tables.rows(asked)
        )
        text = (tables.DATA / f"{table}.csv").read_text(encoding="utf-8")
        texts[table] = edited(text.splitlines(keepends=True)[0], key, [*kept, *found.written(table)])

    def reread(table: tables.Table) -> list[Row]:
        first, *lines = texts[table].splitlines()
        return [dict(zip(first.split(","), cells, strict=True)) for cells in csv.reader(lines)]

    assert not compare(stock, GROUPS, today=TODAY, tables=reread)


def test_every_row_can_be_judged() -> None:
    """Each row of the tables has a list that would have it, and each name that the tables know leads back to a row's kind."""
    kinds = {row["accelerator"] for row in tables.rows("zones")}
    assert kinds == {shape.sold_as for shape in tpu.shapes().values() if shape.cloud_tpu_api or shape.machine_type}
    attached = {rule.accelerator_type for rule in gpu_machines.attachments()}
    built_in = {(host.accelerator_type, host.series) for host in gpu_machines.machines().values()}
    for row in tables.rows("gpu_zones"):
        assert row["accelerator_type"] in attached if row["series"] == "n1" else (row["accelerator_type"], row["series"]) in built_in


LOOKED = f"tpu/v2/projects/{PROJECT}/locations"


@pytest.fixture
def answers() -> dict[str, Any]:
    """A project that sees two zones."""
    compute = f"/compute/v1/projects/{PROJECT}"
    types = {"acceleratorTypes": [{"name": "projects/1/locations/us-east5-a/acceleratorTypes/v6e-8", "type": "v6e-8"}]}
    empty = {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "No results for the scope"}}
    return {
        LOOKED: {
            "locations": [{"locationId": "us-east5-a"}, {"name": "projects/1/locations/us-central1-ai1a"}, {"locationId": "us-east5"}]
        },
        f"{LOOKED}/us-east5-a/acceleratorTypes": types,
        f"{LOOKED}/us-east5-a/runtimeVersions": {"runtimeVersions": [{"version": "v2-alpha-tpuv6e"}]},
        f"{LOOKED}/us-central1-ai1a/acceleratorTypes": {},
        f"{LOOKED}/us-central1-ai1a/runtimeVersions": {},
        f"{compute}/aggregated/machineTypes": {
            "items": {
                "zones/us-east5-a": {"machineTypes": [{"name": "ct6e-standard-8t"}, {"name": "ct6e-standard-8t"}]},
                "zones/us-central1-ai1a": {"machineTypes": [{"name": "tpu7x-standard-4t", "deprecated": {"state": "DEPRECATED"}}]},
                "zones/us-east5-b": {"machineTypes": [{"name": "ct5p-hightpu-4t", "deprecated": {"state": "OBSOLETE"}}]},
                "regions/us-east5": {"machineTypes": [{"name": "ct9z-standard-4t"}]},
                "zones/us-east5-c": empty,
                "zones/nowhere": {"machineTypes": [{"name": "ct6e-standard-8t"}]},
            }
        },
        f"{compute}/aggregated/acceleratorTypes": {"items": {"zones/us-east5-a": {"acceleratorTypes": [{"name": "nvidia-tesla-t4"}]}}},
        f"{compute}/zones": {
            "items": [
                {"name": "us-east5-a", "region": f"https://compute.googleapis.com{compute}/regions/us-east5"},
                {"name": "us-central1-ai1a", "region": f"https://compute.googleapis.com{compute}/regions/us-central1"},
                {"name": "us-central1-b"},
                {"name": "=moon(1)"},
            ]
        },
    }


def test_lists_are_read_place_by_place(answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """What can no longer be made, and what is in no zone, is left out; a zone of another shape is a zone."""
    transport = cloud.transport(answers)
    found = live.look(transport, PROJECT, GROUPS)

    names = {method: {place: sorted(has) for place, has in listed.names.items() if has} for method, listed in found.items()}
    assert names == {
        TPU_TYPES: {"us-east5-a": ["v6e-8"]},
        RUNTIMES: {"us-east5-a": ["v2-alpha-tpuv6e"]},
        MACHINES: {"us-east5-a": ["ct6e-standard-8t"], "us-central1-ai1a": ["tpu7x-standard-4t"]},
        GPUS: {"us-east5-a": ["nvidia-tesla-t4"]},
        ZONES: {"us-east5": ["us-east5-a"], "us-central1": ["us-central1-ai1a", "us-central1-b"]},
    }
    assert all(listed.answered("us-east5-c") for listed in found.values())
    assert {method for method, _ in transport.asked} == {"GET"}
    assert "us-east5/acceleratorTypes" not in " ".join(path for _, path in transport.asked)


@pytest.mark.parametrize(
    ("groups", "filter_", "methods"),
    [
        (["tpus"], "%28ct%7Ctpu%29.%2A", {TPU_TYPES, RUNTIMES, MACHINES}),
        (["gpus"], "%28a%5B2-9%5D%7Cg%5B2-9%5D%29.%2A", {MACHINES, GPUS}),
        (["regions"], "", {ZONES}),
        (["gpus", "tpus"], "%28ct%7Ctpu%7Ca%5B2-9%5D%7Cg%5B2-9%5D%29.%2A", {TPU_TYPES, RUNTIMES, MACHINES, GPUS}),
    ],
)
def test_only_what_is_wanted_is_asked(
    answers: dict[str, Any], cloud: SimpleNamespace, groups: list[Group], filter_: str, methods: set[str]
) -> None:
    """Machines are asked for by the series of the groups."""
    transport = cloud.transport(answers)
    assert set(live.look(transport, PROJECT, groups)) == methods
    asked = transport.queries.get(f"/compute/v1/projects/{PROJECT}/aggregated/machineTypes", "")
    assert f"%22{filter_}%22" in asked if filter_ else not asked


WHOLE = {TPU_TYPES: 1, RUNTIMES: 1, MACHINES: 2, GPUS: 1, ZONES: 3}
"""Names in each of the answers."""


@pytest.mark.parametrize("refusal", ["403", "shape"])
@pytest.mark.parametrize(
    ("path", "method", "place"),
    [
        (LOOKED, TPU_TYPES, None),
        (f"{LOOKED}/us-east5-a/acceleratorTypes", TPU_TYPES, "us-east5-a"),
        (f"{LOOKED}/us-east5-a/runtimeVersions", RUNTIMES, "us-east5-a"),
        (f"/compute/v1/projects/{PROJECT}/aggregated/machineTypes", MACHINES, None),
        (f"/compute/v1/projects/{PROJECT}/aggregated/acceleratorTypes", GPUS, None),
        (f"/compute/v1/projects/{PROJECT}/zones", ZONES, None),
    ],
)
def test_one_refusal_spoils_nothing_else(
    answers: dict[str, Any], cloud: SimpleNamespace, path: str, method: str, place: str | None, refusal: str
) -> None:
    """Whatever is refused, and however, the rest is as it was, and what is refused says why."""
    odd = {"items": [1]} if method == ZONES else {"items": [1], "locations": [1], "acceleratorTypes": [1], "runtimeVersions": [1]}
    refused = {"403": cloud.error(403, "PERMISSION_DENIED", "no"), "shape": odd}[refusal]
    after = live.look(cloud.transport(answers | {path: refused}), PROJECT, GROUPS)

    spoilt = {method, *({RUNTIMES} if path == LOOKED else ())}
    for one, listed in after.items():
        assert bool(listed.refused or listed.silent) == (one in spoilt)
        assert sum(map(len, listed.names.values())) == (0 if one in spoilt else WHOLE[one])
    assert not after[method].answered(place or "us-east5-a")
    found = after[method].silent[place] if place else after[method].refused
    assert found is not None
    assert found.check == (LOCATIONS if path == LOOKED else method)
    assert found.fix
    assert after[method].answered("us-central1-ai1a") == bool(place)


def test_what_google_could_not_reach_is_not_known(answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """Warnings and unreachable places, of both APIs: nothing is concluded from their silence."""
    machines = answers[f"/compute/v1/projects/{PROJECT}/aggregated/machineTypes"]
    machines["items"]["zones/us-east5-b"] = {"warning": {"code": "UNREACHABLE", "message": "down"}}
    machines["unreachables"] = ["projects/p/zones/us-west1-c"]
    answers[f"/compute/v1/projects/{PROJECT}/aggregated/acceleratorTypes"]["warning"] = {"code": "PARTIAL_SUCCESS"}
    answers[f"{LOOKED}/us-east5-a/acceleratorTypes"]["unreachable"] = ["us-east5-a"]
    found = live.look(cloud.transport(answers), PROJECT, GROUPS)

    known = {zone: found[MACHINES].answered(zone) for zone in ("us-east5-a", "us-east5-b", "us-east5-c", "us-west1-c")}
    assert known == {"us-east5-a": True, "us-east5-b": False, "us-east5-c": True, "us-west1-c": False}
    assert not found[GPUS].answered("us-east5-a")
    assert not found[TPU_TYPES].answered("us-east5-a")
    assert found[TPU_TYPES].has("us-east5-a") == {"v6e-8"}
    assert found[MACHINES].silent["us-east5-b"].message == "Compute Engine warns of us-east5-b: UNREACHABLE: down"


def test_zones_that_say_the_same_are_told_together(answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """One line for a refusal of many zones."""
    for zone in ("us-east5-a", "us-central1-ai1a"):
        answers[f"{LOOKED}/{zone}/acceleratorTypes"] = cloud.error(403, "PERMISSION_DENIED", f"no {zone}")
    found = compare(live.look(cloud.transport(answers), PROJECT, ["tpus"]), ["tpus"], today=TODAY)

    assert [(one.method, one.places) for one in found.silent] == [(TPU_TYPES, ("us-central1-ai1a", "us-east5-a"))]
    refused = compare(live.look(cloud.transport({}), PROJECT, ["tpus"]), ["tpus"], today=TODAY)
    assert [(one.method, one.places) for one in refused.silent] == [(MACHINES, ()), (LOCATIONS, ())]


def test_an_empty_page_is_not_the_end(answers: dict[str, Any]) -> None:
    """Pages are read to the last, and a zone may be on several."""
    path = f"/compute/v1/projects/{PROJECT}/aggregated/machineTypes"
    first = {"items": {"zones/us-east5-a": {"machineTypes": [{"name": "ct6e-standard-1t"}]}}, "nextPageToken": "2"}
    pages = [first, {"items": {}, "nextPageToken": "3"}, answers[path]]

    class Paged:
        def request(self, uri: str, *ignored: Any, **named: Any) -> tuple[httplib2.Response, bytes]:
            assert urlsplit(uri).path == path
            page = int(dict(parse_qsl(urlsplit(uri).query)).get("pageToken", "1"))
            return httplib2.Response({"status": 200, "content-type": "application/json"}), json.dumps(pages[page - 1]).encode()

    from infra.operate.google import Google

    listed = live._aggregated(MACHINES, "machineTypes", live._machines(Google(Paged, PROJECT), PROJECT, ".*"))
    assert listed.has("us-east5-a") == {"ct6e-standard-1t", "ct6e-standard-8t"}


def test_progress_ends_with_all_answers_in(answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """It never counts back, and ends at the number of all: four lists, and two for each zone."""
    told: list[tuple[int, int]] = []
    live.look(cloud.transport(answers), PROJECT, GROUPS, progress=lambda done, every: told.append((done, every)))

    assert told[-1] == (8, 8)
    assert told == sorted(told)


def test_an_interrupt_asks_nothing_more(answers: dict[str, Any], cloud: SimpleNamespace) -> None:
    """^C while answers come in: it is passed on, and zones that were not begun are not asked."""
    answers[LOOKED] = {"locations": [{"locationId": f"us-east5-{letter}"} for letter in "abcdefghijklmnopqrstuvwxyz"]}
    transport = cloud.transport(answers)

    def interrupt(done: int, every: int) -> None:
        if every > 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        live.look(transport, PROJECT, ["tpus"], progress=interrupt)
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join()
    assert len(transport.asked) < 2 + 2 * 26


def test_a_transport_to_the_sandbox_changes_the_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host and path are kept behind the sandbox's address."""
    asked: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(httplib2.Http, "request", lambda self, uri, **named: asked.append((uri, named)))
    live.ToSandbox("http://127.0.0.1:9555").request("https://tpu.googleapis.com/v2/projects/p/locations?pageSize=5", method="GET")

    assert asked == [("http://127.0.0.1:9555/tpu.googleapis.com/v2/projects/p/locations?pageSize=5", {"method": "GET"})]


def test_stock_lists_leave_weak_rows_out(stock: Live) -> None:
    """What only a weak source has is in no list of the sandbox."""
    weak_tpus = [offer for offer in zones.every() if offer.trust == "low"]
    for offer in weak_tpus:
        of_kind = [shape for shape in tpu.shapes().values() if shape.sold_as == offer.sold_as]
        assert not stock[TPU_TYPES].has(offer.zone) & {shape.accelerator_type for shape in of_kind}
        assert not stock[MACHINES].has(offer.zone) & {shape.machine_type for shape in of_kind}
    assert len(weak_tpus) > 20
    weak_gpus = [offer for offer in gpu_zones.every() if offer.trust == "low"]
    assert {bool(stock[GPUS].has(offer.zone) & {offer.accelerator_type}) for offer in weak_gpus} == {False}
