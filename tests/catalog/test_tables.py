"""Rules that every table holds, what reading costs, and that the copies are true."""

import csv
import re
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest

from infra.catalog import machine_prices, tables

KEYS = {
    "accelerators": ("name",),
    "cpu_prices": ("machine_type", "region"),
    "gpu_attachments": ("accelerator_type", "gpus", "zones"),
    "gpu_machines": ("machine_type",),
    "gpu_names": ("wrong",),
    "gpu_partitions": ("accelerator_type", "partition_size"),
    "gpu_zones": ("accelerator_type", "series", "zone"),
    "gpus": ("accelerator_type",),
    "machine_prices": ("item", "region", "provisioning"),
    "vertex_machines": ("machine_type", "accelerator"),
    "vertex_regions": ("accelerator", "region"),
    "tpu_chips": ("generation",),
    "tpu_shapes": ("accelerator_type",),
    "zones": ("accelerator", "zone"),
    "prices": ("item", "region", "provisioning"),
    "regions": ("region",),
    "sources": ("name",),
    "names": ("wrong",),
}

COLLECTED = date(2026, 11, 30)
COLLECTION = Path(__file__).parents[3] / "shared" / "data"

IMPORT = (
    "import csv, sys, time; from infra.catalog import accelerator, ask, cards, gpu, gpu_machines, gpu_zones, "
    "machine_prices, named, places, prices, tables, things, tpu, vertex, zones; "
)
LOAD = (
    "places.regions(); tpu.chips(); tpu.shapes(); tpu.single_hosts(); tpu.wrong_names(); zones.in_zone(''); prices.price('logging', 'us-east5'); "
    "gpu.gpus(); gpu._partitions(); gpu.wrong_names(); gpu_machines.machines(); gpu_machines.attachments(); gpu_zones.in_zone(''); "
    "machine_prices.machine_hour('n2-standard-2', 'us-east5', 'spot'); machine_prices.gpu_hour('nvidia-tesla-t4', 'us-east1', 'spot'); vertex.machines(); vertex.regions(); accelerator.accelerators(); "
)


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_no_table_is_without_rules():
    """Each file of the data folder is held to the rules below, and named in SOURCES.md with its number of rows."""
    sources = (tables.DATA / "SOURCES.md").read_text(encoding="utf-8")

    assert {path.stem for path in tables.DATA.glob("*.csv")} == set(KEYS)
    assert {name: int(rows) for name, rows in re.findall(r"\| `(\w+)\.csv` \| (\d+) \|", sources)} == {
        name: len(tables.rows(name)) for name in KEYS
    }


@pytest.mark.parametrize("name", KEYS)
def test_every_row_has_source_date_and_trust(name):
    """Every row says where it is from, of when, and how far to trust it."""
    for row in tables.rows(name):
        assert row["source"], row
        assert row["trust"] in get_args(tables.Trust), row


@pytest.mark.parametrize("row", ["1", "1,2,3"])
def test_a_row_with_another_number_of_cells_is_an_error(row, tmp_path, monkeypatch):
    """A cell too many or too few is never read as something else."""
    (tmp_path / "names.csv").write_text(f"wrong,right\n{row}\n", encoding="utf-8")
    monkeypatch.setattr(tables, "DATA", tmp_path)

    with pytest.raises(ValueError, match="zip"):
        tables.rows.__wrapped__("names")


@pytest.mark.parametrize("name", KEYS)
def test_dates_are_dates_of_the_past(name):
    """A date is a day, a month or a year, not after the collection; else it is `undated`."""
    for as_of in {row["as_of"] for row in tables.rows(name)} - {"undated"}:
        assert re.fullmatch(r"\d{4}(-\d\d){0,2}", as_of)
        assert date.fromisoformat((as_of + "-01-01")[:10]) <= COLLECTED


@pytest.mark.parametrize("name", KEYS)
def test_no_row_is_said_twice(name):
    """The key of each table is unique."""
    keys = [tuple(row[column] for column in KEYS[name]) for row in tables.rows(name)]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", KEYS)
def test_cells_carry_no_stray_space(name):
    """A cell has no space around it, so that it compares equal to what a user writes."""
    assert [cell for row in tables.rows(name) for cell in row.values() if cell != cell.strip()] == []


def test_import_reads_no_table():
    """Importing the catalogue opens no data file; asking it does."""
    watch = "import sys; seen = []; sys.addaudithook(lambda event, args: event == 'open' and seen.append(str(args[0]))); "
    count = "print(sum(name.endswith('.csv') for name in seen)); "

    assert run(watch + IMPORT + count + LOAD + count).split() == ["0", str(len(KEYS))]


def test_loads_fast():
    """The whole catalogue is read in less than 0.05 s of CPU time."""
    assert float(run(IMPORT + "start = time.process_time(); " + LOAD + "print(time.process_time() - start)")) < 0.05


def collected(name: str) -> list[dict[str, str]]:
    if not COLLECTION.is_dir():
        pytest.skip(f"the collection that the tables were copied from is not here ({COLLECTION})")
    with (COLLECTION / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_shapes_are_true_copies():
    """Each shape says what the collection in ../shared/data says of the usual way to build it."""
    renamed = {
        "machine_type": "gke_machine_type",
        "runtime_version": "tpu_vm_runtime",
        "image_family": "compute_engine_image_family",
    }
    default = [row for row in collected("tpu_shapes") if row["variant"] == "default"]

    for ours, theirs in zip(tables.rows("tpu_shapes"), default, strict=True):
        assert facts(ours) == {key: theirs[renamed.get(key, key)] for key in facts(ours)}


def test_memory_of_chips_is_a_true_copy():
    """Each generation has the memory that the collection in ../shared/data has, where it has one."""
    theirs = {row["name"].split()[1].lower(): row["hbm_gib"] for row in collected("accelerators") if row["name"].startswith("TPU v")}
    ours = {row["generation"]: row["memory_gib"] for row in tables.rows("tpu_chips")}

    assert {name: memory for name, memory in theirs.items() if memory} == {name: ours[name] for name in ("v3", "v4", "v5e", "v5p", "v6e")}


def test_zones_are_true_copies():
    """Each zone says what the collection in ../shared/data says of TPUs."""
    tpus = [row for row in collected("zones") if row["kind"] == "tpu"]

    for ours, theirs in zip(tables.rows("zones"), tpus, strict=True):
        assert {**facts(ours), "trust": ours["trust"]} == {key: theirs[key] for key in [*facts(ours), "trust"]}


def facts(row: dict[str, str]) -> dict[str, str]:
    """A row less our own judgement and the words about its source, which may be shorter here."""
    return {key: cell for key, cell in row.items() if key not in ("trust", "source", "notes")}


def test_prices_are_true_copies():
    """Every TPU price of the collection in ../shared/data is here with the same digits, and no other figure is."""
    chips = [row for row in collected("prices") if row["product"] == "tpu"]
    ours = [row for row in tables.rows("prices") if row["unit"] == "chip_hour"]
    lines = {row["usd"] for row in collected("prices_other")} | {row["usd_per_gib"] for row in collected("egress")}

    for way in ("on-demand", "spot", "flex-start"):
        theirs = [(row["region"], row[f"{way.replace('-', '_')}_usd_per_hour"]) for row in chips]
        assert [(row["region"], row["usd"]) for row in ours if row["provisioning"] == way] == [pair for pair in theirs if pair[1]]
    assert {row["usd"] for row in tables.rows("prices") if row["unit"] != "chip_hour" and row["usd"]} <= lines


def test_gpu_zones_are_true_copies():
    """Each zone says what the collection in ../shared/data says of GPUs."""
    theirs = [row for row in collected("zones") if row["kind"] == "gpu"]

    for ours, row in zip(tables.rows("gpu_zones"), theirs, strict=True):
        same = ("zone", "region", "trust")
        assert (ours["accelerator_type"], *(ours[key] for key in same)) == (row["accelerator"], *(row[key] for key in same))
        assert ours["series"] == "n1" or row["machine_family"].startswith(ours["series"])
        assert {*tables.words(ours["capacity_types"])} - {"on-demand"} == {*tables.words(row["capacity_types"].removeprefix("only:"))} - {
            "on-demand"
        }


def test_gpu_machines_are_true_copies():
    """Each machine says what the collection in ../shared/data says."""
    theirs = [row for row in collected("gpu_shapes") if row["record"] == "machine"]
    names = {
        "machine_type": "machine_type",
        "accelerator_type": "gpu_type",
        "gpus": "gpu_count",
        "vcpus": "vcpus_max",
        "memory_gib": "memory_gb_max",
        "gpu_memory_gib": "gpu_memory_total_gb",
        "local_ssd_gib": "local_ssd_gib",
    }

    for ours, row in zip(tables.rows("gpu_machines"), theirs, strict=True):
        assert {key: ours[key] for key in names} == {key: row[name] for key, name in names.items()}


def test_machine_prices_are_true_copies():
    """Every figure is one that the collection in ../shared/data has for that region and way of selling."""
    ways = {"on-demand": "on_demand", "spot": "spot", "flex-start": "flex_start"}
    theirs = {
        (row["region"], row["unit"], way, row[f"{column}_usd_per_hour"])
        for row in collected("prices")
        if row["product"] == "compute"
        for way, column in ways.items()
    }

    assert {(row["region"], row["unit"], row["provisioning"], row["usd"]) for row in tables.rows("machine_prices")} <= theirs


def test_whole_machines_of_n1_cost_what_their_parts_do():
    """vCPUs and memory of N1, priced apart, give the prices that the collection in ../shared/data has for whole machines."""
    checked = 0
    for row in collected("prices"):
        if (
            row["product"] == "compute"
            and row["resource"].startswith("n1-")
            and row["unit"] == "instance_hour"
            and row["on_demand_usd_per_hour"]
        ):
            ours = machine_prices.machine_hour(row["resource"], row["region"], "on-demand").usd
            assert abs(ours / Decimal(row["on_demand_usd_per_hour"]) - 1) < Decimal("0.0002"), row
            checked += 1
    assert checked > 700
