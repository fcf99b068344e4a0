"""`accelform catalog refresh`: what it says, what it writes, and what it refuses. The lists are canned: nothing is asked."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.catalog import tables
from infra.cli import catalog_refresh as command
from infra.findings import Found
from infra.local import project
from infra.operate import google, live
from infra.operate.live import GPUS, MACHINES, RUNTIMES, TPU_TYPES, ZONES, Listed

Accelform = Callable[..., Any]
ZONES_CSV = """\
accelerator,zone,region,trust,capacity_types,source,capacity_source,as_of,notes
tpu-v5e,us-west4-a,us-west4,high,on-demand;spot,a list,"a page, copied",2026-07,
tpu-v6e,us-east1-d,us-east1,high,,a list,,2026-07,"one, two"
tpu-v6e,us-east5-a,us-east5,low,on-demand,a list,a page,2026-07,not on the page
"""
GPU_ZONES_CSV = """\
accelerator_type,series,zone,region,trust,capacity_types,source,as_of,notes
nvidia-l4,g2-standard,us-east1-b,us-east1,high,on-demand;spot,a list,undated,
"""
REGIONS_CSV = "region,trust,source,as_of\nus-east1,high,a list,2026\n"
SOURCES = "| `zones.csv` | 3 | one |\n| `gpu_zones.csv` | 1 | one |\n| `regions.csv` | 1 | one |\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of a checkout of their own."""
    folder = tmp_path / "infra" / "catalog" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "infra" / "__main__.py").touch()
    for name, text in {"zones.csv": ZONES_CSV, "gpu_zones.csv": GPU_ZONES_CSV, "regions.csv": REGIONS_CSV, "SOURCES.md": SOURCES}.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o644)
    real = tables.DATA
    for path in real.glob("*.csv"):
        if not (folder / path.name).exists():
            (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(tables, "DATA", folder)
    for table in ("zones", "gpu_zones", "regions"):
        tables.rows.cache_clear()
        tables.rows(table)  # type: ignore[arg-type]
    return folder


@pytest.fixture(autouse=True)
def fresh_tables() -> Any:
    """What a test read of its own tables is forgotten."""
    yield
    tables.rows.cache_clear()


def canned(monkeypatch: pytest.MonkeyPatch, **lists: Listed) -> list[Any]:
    """Google's lists, and what is asked of them."""
    names = {"tpus": TPU_TYPES, "runtimes": RUNTIMES, "machines": MACHINES, "gpus": GPUS, "regions": ZONES}
    asked: list[Any] = []

    def look(connect: Any, project: str, groups: Any, **named: Any) -> live.Live:
        asked.append((connect, project, tuple(groups), named["region"]))
        return {method: lists.get(name, Listed()) for name, method in names.items()}

    monkeypatch.setattr(live, "look", look)
    monkeypatch.setattr(google, "default_connect", lambda project: ("connect", [Found("credentials", "ok", "you")]))
    return asked


def at(**places: str) -> Listed:
    return Listed({place.replace("_", "-"): frozenset(names.split()) for place, names in places.items()})


SAME = {"machines": at(us_west4_a="ct5lp-hightpu-1t", us_east1_d="ct6e-standard-1t", us_east1_b="g2-standard-4")}
SAME |= {"regions": at(us_east1="us-east1-b")}
OTHER = {
    "machines": at(us_east5_a="ct6e-standard-1t", us_central1_ai1a="tpu7x-standard-4t", us_east1_b="g2-standard-4 g2-future-1"),
    "tpus": at(us_west1_c="v5litepod-4"),
    "runtimes": at(us_west1_c="v2-alpha-tpuv5-lite"),
    "gpus": at(us_east1_b="nvidia-l4"),
    "regions": at(us_east1="us-east1-b"),
}


def files(data: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode() for path in data.iterdir()}


def run(*, write: bool = False, only: str | None = None, named: str | None = "tw-shop-ml") -> int:
    today = lambda: dt.date(2026, 12, 1)  # noqa: E731
    return command.run(named, only, None, Path("stacks"), sandbox=False, write=write, as_json=False, today=today)


def test_no_difference_leaves_every_byte(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether it may write or not; and it says how old the prices are."""
    canned(monkeypatch, **SAME)
    before = files(data)
    assert run() == run(write=True) == 0
    assert files(data) == before
    out = capsys.readouterr().out
    assert "Google Cloud as project tw-shop-ml sees it: no difference; rows unchanged: zones 3, gpu_zones 1, regions 1\n" in out
    assert "nothing to write: every file is as it was\n" in out
    assert "prices are not refreshed: prices as of 2024-03-07 to 2026-11; machine_prices as of 2025-08 to 2026-07-30\n" in out


def test_a_difference_is_shown_and_not_written(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, and each kind says what it is."""
    canned(monkeypatch, **OTHER)
    before = files(data)
    assert run() == 3
    assert files(data) == before
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("zones ")] == [
        "zones  tpu-v5e us-west1-c      high   tpu.projects.locations.acceleratorTypes.list",
        "zones  tpu7x us-central1-ai1a  high   compute.machineTypes.aggregatedList",
        "zones  tpu-v6e us-east5-a  low to high  compute.machineTypes.aggregatedList",
        "zones  tpu-v5e us-west4-a  high to medium  compute.machineTypes.aggregatedList,",
        "zones  tpu-v6e us-east1-d  high to medium  compute.machineTypes.aggregatedList,",
    ]
    assert "A project sees only what it is let see" in out
    assert "g2-future-1  us-east1-b  compute.machineTypes.aggregatedList" in out
    assert "not written; write it: --write\n" in out


def test_what_is_written(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exactly this: rows beside their kin, how they are sold kept, no project named, the number of rows true; the second time nothing."""
    asked = canned(monkeypatch, **OTHER)
    before = files(data)
    assert run(write=True) == 0
    types, machines = "tpu.projects.locations.acceleratorTypes.list", "compute.machineTypes.aggregatedList"
    gone = f"not in the live list of {machines} or {types} on 2026-12-01, as one project sees it"
    zones = f"""\
accelerator,zone,region,trust,capacity_types,source,capacity_source,as_of,notes
tpu-v5e,us-west1-c,us-west1,high,,live list of {types},,2026-12-01,
tpu-v5e,us-west4-a,us-west4,medium,on-demand;spot,a list,"a page, copied",2026-07,"{gone}"
tpu-v6e,us-east1-d,us-east1,medium,,a list,,2026-07,"one, two; {gone}"
tpu-v6e,us-east5-a,us-east5,high,on-demand,live list of {machines},a page,2026-12-01,
tpu7x,us-central1-ai1a,us-central1,high,,live list of {machines},,2026-12-01,
"""
    after = files(data)
    assert after == before | {"zones.csv": zones, "SOURCES.md": SOURCES.replace("| 3 |", "| 5 |")}
    assert (data / "zones.csv").stat().st_mode & 0o777 == 0o644
    assert f"written: {data / 'zones.csv'}, {data / 'SOURCES.md'}\n" in capsys.readouterr().out
    assert asked == [("connect", "tw-shop-ml", ("tpus", "gpus", "regions"), None)]
    tables.rows.cache_clear()
    assert run(write=True) == 0
    assert files(data) == after


def test_only_the_tables_that_are_asked_for_change(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference of TPUs is none of GPUs'."""
    canned(monkeypatch, machines=at(us_east1_c="ct6e-standard-1t g2-standard-4"))
    before = files(data)
    assert run(write=True, only="gpus") == 0
    changed = {name for name, text in files(data).items() if text != before[name]}
    assert changed == {"gpu_zones.csv", "SOURCES.md"}


def test_what_did_not_answer_is_told_and_left_alone(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 6, even where the rest was written."""
    silent = Listed(silent={"us-west4-a": Found("list", "unknown", "us-west4-a is away", "try again")})
    canned(monkeypatch, **(OTHER | {"tpus": silent, "runtimes": Listed()}))
    assert run(write=True) == 6
    text = (data / "zones.csv").read_text(encoding="utf-8")
    assert ZONES_CSV.splitlines()[1] in text.splitlines()
    assert "tpu7x,us-central1-ai1a" in text
    out = capsys.readouterr().out
    assert "tpu.projects.locations.acceleratorTypes.list: the zone is away, in us-west4-a\n  fix: try again\n" in out
    assert "; not known, left alone: zones 1\n" in out


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_write_that_is_stopped_leaves_the_file_whole(data: Path, monkeypatch: pytest.MonkeyPatch, stop: Any) -> None:
    """As it was, at whatever step it stops."""
    canned(monkeypatch, **OTHER)
    before = files(data)

    def fail(*ignored: Any) -> None:
        raise stop

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((KeyboardInterrupt, command.MachineError)):
        run(write=True)
    assert {name: text for name, text in files(data).items() if name in before} == before


def test_fails_where_it_may_not_write(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which files, before anything is asked."""
    asked = canned(monkeypatch, **OTHER)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "zones.csv" and may(path, mode))
    with pytest.raises(command.MachineError, match=r"(?s)--write would change .*zones\.csv, .*fix: chmod u\+w .*zones\.csv") as refused:
        run(write=True, only="tpus")
    assert str(refused.value).count("zones.csv") == 3
    assert refused.value.exit_code == 5
    assert asked == []


def test_fails_where_it_is_no_checkout(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package is not written: the next install would undo it."""
    asked = canned(monkeypatch, **OTHER)
    (data.parents[2] / "Pulumi.yaml").unlink()
    with pytest.raises(project.MachineError, match=r"(?s)regions\.csv, .*not a checkout.*fix: run it from a checkout"):
        run(write=True, only="regions")
    assert asked == []
    assert run(only="regions") == 3


def test_machines_get_all_of_it(data: Path, accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows before and after, names, silence, counts, and the age of prices."""
    canned(monkeypatch, **(OTHER | {"gpus": Listed(refused=Found(GPUS, "unknown", "no", "grant it"))}))
    ran = accelform("catalog", "refresh", "--project=tw-shop-ml", "--json")
    assert (ran.code, ran.err) == (6, "")
    told = ran.data
    assert (told["exit_code"], told["project"], told["written"], told["difference"]) == (6, "tw-shop-ml", [], True)
    assert [(one["kind"], *one["key"]) for one in told["changes"]] == [
        ("new", "tpu-v5e", "us-west1-c"),
        ("new", "tpu7x", "us-central1-ai1a"),
        ("confirmed", "tpu-v6e", "us-east5-a"),
        ("gone", "tpu-v5e", "us-west4-a"),
        ("gone", "tpu-v6e", "us-east1-d"),
    ]
    assert told["credentials"] == [{"check": "credentials", "level": "ok", "message": "you", "fix": ""}]
    assert (told["changes"][0]["before"], told["changes"][2]["before"]["trust"]) == (None, "low")
    assert told["new_names"] == [{"name": "g2-future-1", "list": MACHINES, "zones": ["us-east1-b"]}]
    assert told["no_answer"] == [{"list": GPUS, "places": [], "level": "unknown", "message": "no", "fix": "grant it"}]
    assert told["unchanged"] == {"zones": 0, "gpu_zones": 1, "regions": 1}
    assert told["prices"]["prices"] == {"refreshed": False, "oldest": "2024-03-07", "newest": "2026-11"}


@pytest.mark.parametrize(
    ("arguments", "code", "first", "fix"),
    [
        (("--only", "vertex"), 2, "--only: 'vertex': no API lists what Vertex AI has", "accelform catalog show NAME"),
        (("--only", "tpus,,moon"), 2, "--only: '' is no group of lists", "--only tpus,gpus"),
        (("--only", ""), 2, "--only: '' is no group", "--only tpus,gpus"),
        (("--region", "us-east55"), 2, "--region: 'us-east55' is not", "--region us-east5"),
        (("--region", "us-east5-a"), 2, "--region: 'us-east5-a' is not", "--region us-east5"),
        (("--region", "\x1b[31m"), 2, "--region: '\\x1b[31m' is not", "leave --region out"),
        (("--project", "No Project"), 2, "--project: 'No Project' ", ""),
        (("--project", ""), 2, "--project: '' ", ""),
        (("--stacks", "docs"), 2, "--project: is not named", ""),
        (("--write", "--sandbox"), 2, "--write: the sandbox answers from these tables", "leave --write out, or --sandbox"),
    ],
)
def test_fails_on_a_wrong_command_line(
    arguments: tuple[str, ...], code: int, first: str, fix: str, accelform: Accelform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where, what and fix; nothing is asked."""
    asked = canned(monkeypatch)
    ran = accelform("catalog", "refresh", *arguments)
    assert (ran.code, ran.out, asked) == (code, "", [])
    assert ran.err.startswith(f"accelform catalog refresh: {first}")
    assert fix in ran.err
    assert accelform("catalog", "refresh", *arguments, "--json").data["exit_code"] == code


def test_fails_on_several_projects(tmp_path: Path, accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the stack files name several, one must be said."""
    canned(monkeypatch)
    for name in ("b", "a"):
        (tmp_path / f"Pulumi.{name}.yaml").write_text(f"config:\n  gcp:project: shop-{name}-ml\n", encoding="utf-8")
    ran = accelform("catalog", "refresh", "--stacks", str(tmp_path))
    assert ran.code == 2
    assert "name 2 projects\n  allowed: shop-a-ml, shop-b-ml\n  fix: --project shop-a-ml\n" in ran.err


def test_fails_without_credentials(accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `doctor --cloud` does: exit code 6, and how to log in."""

    def none(project: str) -> Any:
        raise google.NoCredentialsError("there are none")

    monkeypatch.setattr(google, "default_connect", none)
    ran = accelform("catalog", "refresh", "--project=tw-shop-ml")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.endswith("fix: gcloud auth application-default login; or ask the sandbox of this machine: --sandbox\n")


def test_fails_where_no_sandbox_runs(accelform: Accelform, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to start one."""
    monkeypatch.setattr("infra.sandbox.process.running", lambda folder: None)
    ran = accelform("catalog", "refresh", "--sandbox", "--project", "shop-prod")
    assert ran.code == 5
    assert ran.err.endswith("fix: accelform sandbox start --project shop-prod\n")
