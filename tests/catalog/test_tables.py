"""Rules that every table holds, what reading costs, and that the copies are true."""

import csv
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest

from infra.catalog import gpu_machines, machine_prices, tables

KEYS = {
    "accelerators": ("name",),
    "alternative_chips": ("name",),
    "alternatives": ("name", "usd_low"),
    "cpu_prices": ("machine_type", "region"),
    "egress": ("region", "destination"),
    "fx": ("currency",),
    "gpu_attachments": ("accelerator_type", "gpus", "zones"),
    "gpu_machines": ("machine_type",),
    "gpu_names": ("wrong",),
    "gpu_partitions": ("accelerator_type", "partition_size"),
    "gpu_zones": ("accelerator_type", "series", "zone"),
    "gpus": ("accelerator_type",),
    "local_ssds": ("machine_type", "accelerator_type"),
    "machine_prices": ("item", "region", "provisioning"),
    "transfer": ("service", "path", "continent"),
    "usual_times": ("type", "operation"),
    "vertex_machines": ("machine_type", "accelerator"),
    "vertex_markup": ("machines", "region", "use"),
    "vertex_regions": ("accelerator", "region"),
    "tpu_chips": ("generation",),
    "tpu_hosts": ("machine_type",),
    "tpu_shapes": ("accelerator_type",),
    "zones": ("accelerator", "zone"),
    "prices": ("item", "region", "provisioning"),
    "regions": ("region",),
    "services": ("service", "region"),
    "sources": ("name",),
    "names": ("wrong",),
}

COLLECTED = date(2026, 11, 30)
COLLECTION = Path(__file__).parents[3] / "shared" / "data"

IMPORT = (
    "import csv, sys, time; from infra.catalog import accelerator, ages, alternatives, ask, cards, egress, fx, gpu, gpu_machines, gpu_zones, "
    "machine_prices, machine_size, named, peak, places, prices, services, table_file, tables, things, tpu, usual_times, vertex, vertex_prices, zones; "
)
LOAD = (
    "places.regions(); tpu.chips(); tpu.shapes(); tpu.single_hosts(); tpu.wrong_names(); zones.in_zone(''); prices.price('logging', 'us-east5'); "
    "gpu.gpus(); gpu._partitions(); gpu.wrong_names(); gpu_machines.machines(); gpu_machines.attachments(); gpu_machines.local_ssds('n1', ''); gpu_zones.in_zone(''); "
    "machine_prices.machine_hour('n2-standard-2', 'us-east5', 'spot'); machine_prices.gpu_hour('nvidia-tesla-t4', 'us-east1', 'spot'); "
    "vertex.machines(); vertex.regions(); accelerator.accelerators(); egress.tiers('us-east5'); egress.between('us-east5', 'us-east1'); "
    "fx.rates(); vertex_prices.vertex_hour('g2-standard-4', 'us-central1', 'training'); "
    "alternatives.rentals(); peak.peaks(); services.row('cloud-run', 'us-east5'); machine_size.size('ct6e-standard-8t'); "
    "usual_times.usual('gcp:container/cluster:Cluster', 'create'); "
)


def refreshed(row: dict[str, str]) -> bool:
    """Whether `accelform catalog refresh` wrote the row: it need no longer say what the collection says."""
    return row["source"].startswith("live list of") or "not in the live list of" in row.get("notes", "")


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
    """Every row says where it is from, of when, and how far to trust it: itself, or in the row of its source."""
    for row in tables.told(name):
        assert row["source"], row
        assert row["trust"] in get_args(tables.Trust), row


@pytest.mark.parametrize("row", ["1", "1,2,3"])
def test_a_row_with_another_number_of_cells_is_an_error(row, tmp_path, monkeypatch):
    """A cell too many or too few is never read as something else."""
    (tmp_path / "names.csv").write_text(f"wrong,right\n{row}\n", encoding="utf-8")
    monkeypatch.setattr(tables, "DATA", tmp_path)

    with pytest.raises(ValueError, match="zip"):
        tables.rows.__wrapped__("names")


@pytest.mark.parametrize("row", ["1,2", "1,2,3,4"])
def test_an_index_of_uneven_rows_is_an_error(row, tmp_path, monkeypatch):
    """The way to one row reads no table whose rows are uneven."""
    (tmp_path / "names.csv").write_text(f"wrong,right,source\n1,2,3\n{row}\n", encoding="utf-8")
    monkeypatch.setattr(tables, "DATA", tmp_path)

    with pytest.raises(ValueError, match=r"a row of names has [24] cells, not 3"):
        tables._index.__wrapped__("names", ("wrong", "right"))


@pytest.mark.parametrize("name", [name for name in KEYS if len(KEYS[name]) > 1])
def test_every_row_is_found_by_its_key(name):
    """Asking for a row by its key gives that row, and no row for another key."""
    for row in tables.rows(name)[::50]:
        assert tables.find(name, **{column: row[column] for column in KEYS[name]}) == row
    assert tables.find(name, **dict.fromkeys(KEYS[name], "none")) is None


@pytest.mark.parametrize("name", KEYS)
def test_dates_are_dates_of_the_past(name):
    """A date is a day, a month or a year, not after the collection, or of a live list since; else it is `undated`."""
    today = datetime.now(UTC).date()
    for as_of, live in {(row["as_of"], refreshed(row)) for row in tables.told(name) if row["as_of"] != "undated"}:
        assert re.fullmatch(r"\d{4}(-\d\d){0,2}", as_of)
        assert date.fromisoformat((as_of + "-01-01")[:10]) <= (today if live else COLLECTED)


@pytest.mark.parametrize("name", KEYS)
def test_no_row_is_said_twice(name):
    """The key of each table is unique."""
    keys = [tuple(row[column] for column in KEYS[name]) for row in tables.rows(name)]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", KEYS)
def test_lines_are_read_as_any_reader_of_csv_does(name):
    """Lines with quotes and those without give the cells that the standard library gives for the whole file."""
    with (tables.DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        assert tables._lines(name) == list(csv.reader(file))


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


def test_tpu_hosts_are_true_copies():
    """Each machine with TPUs is as large as the collection in ../shared/data has it, where it has it."""
    theirs = {row["gke_machine_type"]: (row["vm_vcpus"], row["vm_memory_gb"]) for row in collected("tpu_shapes") if row["vm_vcpus"]}
    ours = {row["machine_type"]: (row["vcpus"], row["memory_gib"]) for row in tables.rows("tpu_hosts")}

    assert {name: ours[name] for name in theirs} == theirs
    assert set(ours) == {row["machine_type"] for row in tables.rows("tpu_shapes") if row["machine_type"]}


def test_memory_of_chips_is_a_true_copy():
    """Each generation has the memory that the collection in ../shared/data has, where it has one."""
    theirs = {row["name"].split()[1].lower(): row["hbm_gib"] for row in collected("accelerators") if row["name"].startswith("TPU v")}
    ours = {row["generation"]: row["memory_gib"] for row in tables.rows("tpu_chips")}

    assert {name: memory for name, memory in theirs.items() if memory} == {name: ours[name] for name in ("v3", "v4", "v5e", "v5p", "v6e")}


def test_peaks_of_chips_are_true_copies():
    """Each generation has the peaks and the bandwidth that the collection in ../shared/data has."""
    theirs = {row["name"].split()[1].lower(): row for row in collected("accelerators") if row["kind"] == "tpu"}
    names = {"bf16_tflops": "bf16_tflops_dense", "int8_tops": "int8_tops_as_published", "memory_gb_s": "mem_bw_gb_s"}

    for row in tables.rows("tpu_chips"):
        other = theirs["(ironwood)" if row["generation"] == "tpu7x" else row["generation"]]
        assert {ours: row[ours] for ours in names} == {ours: other[name] for ours, name in names.items()}


def test_alternatives_are_true_copies():
    """Each price is that of the collection in ../shared/data; the launch price of the A100 server has a second, lower source here."""
    for ours, theirs in zip(tables.rows("alternatives"), collected("alternatives"), strict=True):
        if ours["kind"] == "aws":
            assert (ours["name"], ours["region"], ours["accelerators"]) == (theirs["name"], theirs["region"], theirs["accelerator_count"])
            block = ours["way"] == "capacity-block"
            assert ours["usd_low"] == ours["usd_high"] == ("858.26" if block else theirs["on_demand_usd_per_hour"])
            assert not block or "24 h block 858.26 USD" in theirs["notes"]
        else:
            low, _, high = theirs["capex_usd"].partition("-")
            low = "199000" if theirs["name"].startswith("NVIDIA DGX A100") else low
            assert (ours["usd_low"], ours["usd_high"]) == (low, high or theirs["capex_usd"])
            assert ours["power_kw"] in ("", theirs["power_kw"])


def test_zones_are_true_copies():
    """Each zone says what the collection in ../shared/data says of TPUs."""
    own = [row for row in tables.rows("zones") if not refreshed(row)]
    changed = {(row["accelerator"], row["zone"]) for row in tables.rows("zones") if refreshed(row)}
    tpus = [row for row in collected("zones") if row["kind"] == "tpu" and (row["accelerator"], row["zone"]) not in changed]

    for ours, theirs in zip(own, tpus, strict=True):
        assert {**facts(ours), "trust": ours["trust"]} == {key: theirs[key] for key in [*facts(ours), "trust"]}


def facts(row: dict[str, str]) -> dict[str, str]:
    """A row less our own judgement and the words about its source, which may be shorter here."""
    return {key: cell for key, cell in row.items() if key not in ("trust", "source", "notes")}


def test_prices_are_true_copies():
    """Every TPU price of the collection in ../shared/data is here with the same digits, and no other figure is."""
    chips = [row for row in collected("prices") if row["product"] == "tpu"]
    ours = [row for row in tables.rows("prices") if row["unit"] == "chip_hour"]
    lines = {row["usd"] for row in collected("prices_other")} | {row["usd_per_gib"] for row in collected("egress")} | {"74.4"}

    for way in ("on-demand", "spot", "flex-start"):
        theirs = [(row["region"], row[f"{way.replace('-', '_')}_usd_per_hour"]) for row in chips]
        assert [(row["region"], row["usd"]) for row in ours if row["provisioning"] == way] == [pair for pair in theirs if pair[1]]
    assert {row["usd"] for row in tables.rows("prices") if row["unit"] != "chip_hour"} <= lines


@pytest.mark.parametrize(
    ("item", "resource", "tier"),
    [
        ("pd-standard", "pd-standard", ""),
        ("pd-balanced", "pd-balanced", ""),
        ("pd-ssd", "pd-ssd", ""),
        ("pd-extreme", "pd-extreme", ""),
        ("hyperdisk-extreme", "hyperdisk-extreme", ""),
        ("pd-ssd-regional", "pd-ssd (regional)", ""),
        ("local-ssd", "local-ssd", "on-demand"),
        ("local-ssd-spot", "local-ssd", "spot"),
        ("storage-standard", "Standard storage", "region"),
        ("storage-nearline", "Nearline storage", "region"),
        ("storage-coldline", "Coldline storage", "region"),
        ("storage-archive", "Archive storage", "region"),
        ("external-address", "external IPv4 in use on a standard VM", ""),
        ("external-address-idle", "static external IPv4, reserved but unused", ""),
        ("bigquery-query", "on-demand query", "after 1 TiB free"),
        ("autopilot-vcpu", "pod vCPU, general purpose", "regular"),
        ("lb-data-out", "data processed, outbound", ""),
    ],
)
def test_prices_by_region_are_true_copies(item, resource, tier):
    """Each region of the collection in ../shared/data has the same figure here, and no region is left out."""
    renamed = {"us (multi-region)": "us"}
    theirs = {
        (renamed.get(row["region"], row["region"]), row["usd"])
        for row in collected("prices_other")
        if (row["resource"], row["tier"]) == (resource, tier)
    }

    ours = {
        (row["region"], row["usd"])
        for row in tables.rows("prices")
        if row["item"] == item and row["tier"] not in ("multi-region", "dual-region")
    }
    assert ours == theirs


def test_prices_without_gpus_are_true_copies():
    """Every machine without GPUs of the collection in ../shared/data is here, in every region, with every digit."""
    theirs = {
        (row["resource"], row["region"], row["on_demand_usd_per_hour"], row["spot_usd_per_hour"])
        for row in collected("prices")
        if row["includes"] == "machine without GPU"
    }

    ours = {(row["machine_type"], row["region"], row["on_demand"], row["spot"]) for row in tables.rows("cpu_prices")}
    assert ours == theirs


def test_egress_is_a_true_copy():
    """Each region, destination and tier of the collection in ../shared/data."""
    names = {"world": "worldwide except Australia and China", "australia": "Australia", "china": "China (not Hong Kong)"}
    theirs = {
        (row["source_region"], row["destination"], row["monthly_tier"], row["usd_per_gib"])
        for row in collected("egress")
        if row["path"] == "internet egress (Premium Tier)"
    }

    columns = {"first_tib": "0-1 TiB", "to_10_tib": "1-10 TiB", "above": "10n TiB"}
    ours = {
        (row["region"], names[row["destination"]], tier, row[column]) for row in tables.rows("egress") for column, tier in columns.items()
    }
    assert ours == theirs


def test_rates_are_true_copies():
    """Each currency of the collection in ../shared/data."""
    same = ("currency", "usd_per_unit", "as_of", "trust")
    assert [[row[key] for key in same] for row in tables.rows("fx")] == [[row[key] for key in same] for row in collected("fx")]


def test_gpu_zones_are_true_copies():
    """Each zone says what the collection in ../shared/data says of GPUs."""
    own = [row for row in tables.rows("gpu_zones") if not refreshed(row)]
    changed = [(row["accelerator_type"], row["zone"], row["series"]) for row in tables.rows("gpu_zones") if refreshed(row)]

    def is_changed(row: dict[str, str]) -> bool:
        return any(
            (row["accelerator"], row["zone"]) == (name, zone) and (series == "n1" or row["machine_family"].startswith(series))
            for name, zone, series in changed
        )

    theirs = [row for row in collected("zones") if row["kind"] == "gpu" and not is_changed(row)]
    for ours, row in zip(own, theirs, strict=True):
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
    """vCPUs and memory of N1, priced apart, give the prices of whole machines: so they may stand in where the list has none."""
    checked = 0
    for row in tables.rows("cpu_prices"):
        size = gpu_machines.n1_size(row["machine_type"])
        if size and row["on_demand"]:
            parts = [
                machine_prices._price(*part, row["region"], "on-demand").usd
                for part in (("n1-vcpu", "vcpu_hour"), ("n1-memory", "gib_hour"))
            ]
            assert abs((size[0] * parts[0] + size[1] * parts[1]) / Decimal(row["on_demand"]) - 1) < Decimal("0.0002"), row
            checked += 1
    assert checked > 700
